"""The bad-input catalogue: input that nobody should send to an agent.

A row says what is sent, which clause it breaks and the exact answer it must get. `league check --hostile` sends all of
it, and compares the agent's state before and after.
"""
