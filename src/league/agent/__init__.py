"""The one shell that drives any role: its decisions without I/O (pump), and the I/O.

Hosting builds an agent here around a machine; the simulator drives the same pump. It touches the disk, the clock and
the network through what it is given, and knows no role.
"""

PUBLIC = ("agent", "error_notes", "log", "probing", "pump", "recovery", "sources", "thinking")
"""The modules that other packages may import."""
