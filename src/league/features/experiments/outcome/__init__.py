"""The results of tournaments: kept while they are played, merged, and shown.

Tournaments write them; commands, scripts and notebooks read them. It plays nothing.
"""
