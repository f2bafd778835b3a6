"""The player as a pure machine, what it remembers, and the strategies that need nothing but their input."""
