"""What may be said: messages, envelope, errors, exchanges, versions and timestamps of league.v2.

Everything may use it, and it uses nothing of ours. It is pure data: it keeps nothing and touches nothing.
"""

PUBLIC = (
    "conventions",
    "endpoints",
    "errors",
    "message.consistency",
    "message.envelope",
    "message.exchanges",
    "message.experiment",
    "message.fields",
    "message.findings",
    "message.judge",
    "message.messages",
    "message.parts",
    "order_table",
    "safe_text",
    "signing.choices",
    "signing.keys",
    "signing.rounds",
    "signing.tokens",
    "table_key",
    "timestamps",
    "versions",
    "wire.canonical_json",
    "wire.jsonrpc",
    "wire.quick_read",
    "wire.strict_json",
)
"""The modules that other packages may import."""
