"""The command line of the core: each command parses, calls and prints."""
