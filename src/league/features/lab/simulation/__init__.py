"""Whole leagues in one thread and virtual time, with seeded faults, driving the same pump as life does."""
