"""What promises are judged by: journals, traffic, the rules again, and the findings.

Every promise uses it, and only promises do. It computes facts with code of its own, because a check that uses the code
it checks finds nothing.
"""
