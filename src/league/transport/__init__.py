"""Bytes to letters and back: the strict JSON-RPC codec, and what carries it."""
