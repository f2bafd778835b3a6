"""Journals in SQLite files: how they are opened, locked, written, checked and copied.

`storage.opening` chooses between files and databases; nothing else needs to know the difference. It touches the file
system alone.
"""
