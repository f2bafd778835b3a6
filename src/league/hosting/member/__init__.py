"""Referees and players as processes: they listen, find their manager, and stay until the league is over.

`league referee`, `league player` and the SDK start them. It knows how a role is built, and leaves to the role what it
does.
"""
