"""The League Manager: who plays, when, before which referee, and where everybody stands. Pure."""
