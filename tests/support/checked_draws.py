"""What anybody can check of a draw: that the seed is the promised one, and gives the number."""

from league.games.draw import number, opened


def verify(promised: str, seed_hex: str, league_id: str, match_id: str, attempt: int, drawn: int | None = None) -> bool:
    seed = opened(seed_hex, None, "", promised, league_id, match_id, attempt)
    return seed is not None and (drawn is None or drawn == number(seed, league_id, match_id, attempt))
