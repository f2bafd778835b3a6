"""Games: their rules as pure functions, and their fields on the wire."""

PUBLIC = (
    "boards",
    "contract",
    "draw",
    "even_odd.rules",
    "evidence",
    "moves",
    "registry",
    "report_judging",
    "wire_fields",
)
"""The modules that other packages may import."""
