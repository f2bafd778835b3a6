"""Strategies that talk to somebody: they may take their time, so the shell gives each question a thread."""
