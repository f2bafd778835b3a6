"""The conformance kit: plays manager and referee against somebody's agent and judges what comes back, clause by clause.

It knows the protocol and raw bytes, never a role, the shell or a journal of ours.
"""
