"""A league read back: its journals (`journals`), its pages and tables as plain data (`views`), and how language models
played (`models`).
"""

PUBLIC = ("awaited", "endings", "evidence_words", "journals", "models", "views")
"""The modules that other packages may import."""
