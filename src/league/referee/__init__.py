"""The Referee: it plays a match with two players by a game's rules and reports how it ended."""
