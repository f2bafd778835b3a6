"""Calling others: one engine for the calls of all three roles."""

PUBLIC = ("breaker", "delivery", "fair_places", "line", "rate_limit", "role")
"""The modules that other packages may import."""
