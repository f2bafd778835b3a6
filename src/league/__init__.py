"""Leagues of game-playing agents: the reference implementation of the league.v2 protocol."""
