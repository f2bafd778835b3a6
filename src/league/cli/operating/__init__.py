"""Commands of the operator: orders to a running league, its secrets, and the keeping of journals.

Only `league` runs them. Orders go through the HTTP interface of the manager; nothing here changes a running journal.
"""
