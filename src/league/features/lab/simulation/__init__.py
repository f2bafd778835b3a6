"""Whole leagues in one thread and virtual time, with seeded faults, driving the same pump as life does.

The command and the tests of properties use it. It touches no real clock, socket or file.
"""
