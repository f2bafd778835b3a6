"""A player in a match: whom it believes, what it chooses, what it signs, and what it objects to.

The player passes requests of referees to it. It knows the matches of one player and nothing of the table.
"""
