"""The course of a league: its schedule and rounds, and the way of a report to the table.

The manager and the pages about a league use it. It changes the league by events alone, and tells nobody: `telling`
does.
"""
