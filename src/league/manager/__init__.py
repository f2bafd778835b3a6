"""The League Manager: who plays, when, before which referee, and where everybody stands. Pure."""

PUBLIC = (
    "league_manager",
    "members.secret_rotation",
    "orders",
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
