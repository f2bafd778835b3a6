"""Letters that were received and sent, without tokens, and how old ones are removed.

The shell writes them, and whatever explains or checks a match reads them. No role depends on them.
"""
