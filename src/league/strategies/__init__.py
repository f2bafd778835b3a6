"""Strategies that wait for somebody outside; the shell asks each of them in a thread of its own."""
