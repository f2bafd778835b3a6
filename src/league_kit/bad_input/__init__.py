"""The bad-input catalogue: what nobody should send, sent to an agent all the same (`league check --hostile`)."""
