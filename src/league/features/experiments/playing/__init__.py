"""Series are planned and played here: strategies, limits, processes and machines.

Tournaments and comparisons use it, and `league grade`. A series depends on its plan alone, so it can be played
anywhere and again.
"""
