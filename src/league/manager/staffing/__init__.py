"""Which referee plays which match, how it learns of it, and how long it may keep it.

`season` hands it matches and takes them back. It knows referees by their records, and results only as the end of a
lease.
"""
