"""The driver: the kit as manager and referee of the agent that it checks, and the record of what passed between them.

It sends and answers, and judges nothing. Scenarios and bad input use it; checks and reports read its record.
"""
