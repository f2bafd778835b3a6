"""The Referee: it plays a match with two players by a game's rules and reports how it ended.

Hosting and the simulator make a `RefereeDesk`; nobody else needs more than its matches. It is pure: it touches its own
state by events alone, and asks the engine for calls.
"""

PUBLIC = ("assigned_matches", "desk", "match", "referee_context")
"""The modules that other packages may import."""
