"""Many matches between strategies without servers: the rules of a game, two strategies, and a seed."""
