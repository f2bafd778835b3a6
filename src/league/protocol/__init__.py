"""What may be said: messages, envelope, errors, exchanges, versions and timestamps of league.v2. Pure data."""
