"""Calling others: one engine for the calls of all three roles.

Roles hand it deliveries and hear how they ended. It is pure: it asks for calls and timers, and makes none.
"""

PUBLIC = ("delivery", "engine", "fair_places", "line", "rate_limit", "role")
"""The modules that other packages may import."""
