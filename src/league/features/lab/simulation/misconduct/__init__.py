"""Players and referees that misbehave in simulated leagues, and who did what in the end.

The simulated world puts them in the place of honest ones. They act only through messages, as real ones would.
"""
