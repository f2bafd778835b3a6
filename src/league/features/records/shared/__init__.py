"""The shared files of a league: what they hold, and how they are kept up to date from journals.

Agents with `--shared` and `league export` write them. They follow journals, and no agent waits for them.
"""
