"""Games: their rules as pure functions, and their fields on the wire.

Roles, audits and strategies play by them. They know no player, no message and no league; chance is handed to them.
"""

PUBLIC = (
    "boards",
    "contract",
    "draw",
    "even_odd",
    "evidence",
    "moves",
    "registry",
    "report_judging",
    "wire_fields",
)
"""The modules that other packages may import."""
