"""What happened: journals of events, and the secrets kept beside them."""
