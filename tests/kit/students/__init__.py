"""Small players as people write them after an evening with the documents: programs of their own, no code of ours."""
