"""The one shell that drives any role: its decisions without I/O (pump), and the I/O."""

PUBLIC = ("agent", "log", "probing", "pump", "recovery", "sources", "thinking", "watch")
"""The modules that other packages may import."""
