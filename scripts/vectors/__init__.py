"""What `scripts/make_vectors.py` writes: tables of messages and fields, and the right and wrong cases made of them."""
