"""What a message says: its class, its fields and clauses, and who may send it to whom.

Everything that reads or writes messages uses it. It is pure data: it knows no bytes, no clock and no state.
"""
