"""Journals of events, the secrets kept beside them, and transcripts of letters."""
