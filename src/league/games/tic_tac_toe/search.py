"""A perfect player of tic-tac-toe: it looks at every way the match can go on."""

from __future__ import annotations

from functools import cache
from typing import Any

from league.games.tic_tac_toe.rules import BIT, COMPLETE, FREE, MARKS


def search(turn: Any) -> str:
    """Never loses; takes any win that the opponent allows. Any: a `league.player.strategies.Turn`."""
    own = 0
    other = 0
    for cell, mark in enumerate(turn.view["board"]):
        if mark == turn.view["your_mark"]:
            own |= 1 << cell
        elif mark in MARKS:
            other |= 1 << cell
    values = {cell: -_value(other, own | BIT[cell]) for cell in turn.options}
    best = max(values.values())
    # Equal cells are drawn, so that not every match is the same.
    choice: str = turn.random.choice([cell for cell, value in values.items() if value == best])
    return choice


@cache
def _value(own: int, other: int) -> int:
    """What the position is worth for the player who moves: 1 wins, 0 draws, -1 loses."""
    if COMPLETE[other]:
        return -1
    free = FREE[own | other]
    if not free:
        return 0
    return max(-_value(other, own | BIT[cell]) for cell in free)
