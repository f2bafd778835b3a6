"""What is true in a league: the ledger, which only events change, and its members.

Every room of the manager reads it; only `LeagueManager.apply` writes it. It touches nothing but events and messages.
"""
