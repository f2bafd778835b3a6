"""A league read back: its journals (`journals`), its pages and tables as plain data (`views`), and how language models
played (`models`).

Pages, commands, tools for MCP, exports and statistics show what is folded here. It opens journals for reading, and
changes no league.
"""

PUBLIC = ("awaited", "endings", "evidence_words", "journals", "models", "views")
"""The modules that other packages may import."""
