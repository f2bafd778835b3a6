"""Journals in PostgreSQL: their tables, the fence that keeps a second writer out, and copies.

`storage.opening` chooses between files and databases; nothing else needs to know the difference. It imports the
driver when a database is opened.
"""
