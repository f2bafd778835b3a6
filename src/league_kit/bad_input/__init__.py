"""The bad-input catalogue: input that nobody should send to an agent (`league check --hostile` sends all of it)."""
