"""How a game is judged: pure rules, and each game's words on the wire."""
