"""How a message looks on the wire: strict JSON, JSON-RPC, and JSON in one spelling for digests.

The shell, the gateway and the kit read and write bytes with it. It raises errors of the catalogue and keeps nothing.
"""
