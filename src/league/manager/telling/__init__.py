"""What members and viewers hear: announcements, tables, answers to queries, and news of live matches.

Every room of the manager may ask it to tell something. It reads the ledger and decides nothing.
"""
