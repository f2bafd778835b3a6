"""The command line of the core: each command parses, calls and prints."""

PUBLIC = (
    "pages",
    "source",
    "main",
)
"""The modules that other packages may import."""
