"""Folds of the journal for people: views, explanations, exports."""
