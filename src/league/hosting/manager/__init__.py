"""The League Manager as a process: its machine, its journal, and its HTTP interface.

`league manager`, the demo and scripts start it. It holds the league's secrets, and no rule of the league.
"""
