"""What several tests share: builders, scripted peers, readers of the specification."""
