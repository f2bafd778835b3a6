"""The command line of the core: each command parses, calls and prints."""

PUBLIC = ("main", "pages", "source")
"""The modules that other packages may import."""
