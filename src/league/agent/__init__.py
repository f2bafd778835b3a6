"""The one shell that drives any role: its decisions without I/O (pump), and the I/O."""
