"""Calling others: one engine for the calls of all three roles."""
