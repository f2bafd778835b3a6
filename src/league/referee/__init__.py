"""The Referee: it plays a match with two players by a game's rules and reports how it ended."""

PUBLIC = ("assigned_matches", "desk", "match", "referee_context")
"""The modules that other packages may import."""
