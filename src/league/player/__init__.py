"""The player as a pure machine, what it remembers, and the strategies that need nothing but their input.

Hosting and tournaments make players of it. It touches its own state by events alone, and asks a strategy for choices.
"""

PUBLIC = ("competitor", "history", "league_queries", "memory", "news", "strategies")
"""The modules that other packages may import."""
