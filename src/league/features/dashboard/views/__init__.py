"""A league, a match and a player as values that templates show.

The server, the exported folder and `league view` render them. They read and never change a league.
"""
