"""The members of the league: registrations, the operator's approval, names, tokens, and probes of agents.

The manager asks it about every agent that wants to join or speaks to it. It decides and records; it sends nothing
but probes and answers.
"""
