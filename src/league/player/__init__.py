"""The player as a pure machine, what it remembers, and the strategies that need nothing but their input."""

PUBLIC = ("competitor", "history", "league_queries", "memory", "news", "strategies")
"""The modules that other packages may import."""
