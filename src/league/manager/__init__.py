"""The League Manager: who plays, when, before which referee, and where everybody stands. Pure."""

PUBLIC = (
    "address_reports",
    "broadcasts",
    "dispatch",
    "league_manager",
    "leases",
    "ledger",
    "orders",
    "roster",
    "rounds",
    "secret_rotation",
    "standings",
)
"""The modules that other packages may import."""
