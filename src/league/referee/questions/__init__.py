"""Questions to players: what is asked, how answers are read, what a failure costs, and who is told.

`conduct` asks, and gets a join, a choice or a loss back. It knows one match and no league.
"""
