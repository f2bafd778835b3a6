"""The command line of the core: each command parses, calls and prints.

Only `league` runs these commands. They reach everything below them, and nothing imports them.
"""

PUBLIC = (
    "pages",
    "source",
    "main",
)
"""The modules that other packages may import."""
