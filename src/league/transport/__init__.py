"""Bytes to letters and back: the strict JSON-RPC codec, and what carries it.

Agents listen and call through it, and commands fetch pages. It opens sockets and looks up names; it judges no message.
"""

PUBLIC = (
    "broadcast_reading",
    "http",
    "http_call",
    "http_client",
    "http_router",
    "http_server",
    "http_tls",
    "mcp_door",
    "resolving",
)
"""The modules that other packages may import."""
