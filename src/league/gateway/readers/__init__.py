"""Readers of what third-party agents say: pure functions from their words to the documents' messages.

The other half of the gateway, the shell and the kit use them. They keep no state, and repair no value.
"""
