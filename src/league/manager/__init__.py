"""The League Manager: who plays, when, before which referee, and where everybody stands.

Hosting, the simulator and whatever replays a journal make a `LeagueManager`; pages read its ledger. It is pure: it
touches nothing but its own state, and that by events alone.
"""

PUBLIC = (
    "league_manager",
    "members.secret_rotation",
    "season.address_reports",
    "season.rounds",
    "season.standings",
    "staffing.dispatch",
    "staffing.leases",
    "state.ledger",
    "state.roster",
    "telling.broadcasts",
)
"""The modules that other packages may import."""
