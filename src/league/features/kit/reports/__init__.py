"""Reports of a run: for the terminal, as a page, as JSON and as JUnit XML.

They read a finished report and its record, and decide nothing. What comes from an agent is escaped here, and the tokens
of others are masked.
"""
