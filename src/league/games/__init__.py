"""Games: their rules as pure functions, and their fields on the wire."""
