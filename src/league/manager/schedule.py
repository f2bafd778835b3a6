"""The round-robin schedule, by the circle method: one seat stays, the others turn around it (spec section 8.7).

Sides alternate so that after any number of rounds nobody was PLAYER_A more than once oftener than PLAYER_B, or the
other way round; the second half of a double round robin is the first with the sides swapped.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from league.events import Pairing

Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Schedule:
    """The rounds in order, and who rests in each (None: nobody)."""

    rounds: tuple[tuple[Pairing, ...], ...]
    byes: tuple[str | None, ...]


def round_robin(players: Sequence[str], double: bool = False, rounds: int | None = None) -> Schedule:
    """Everybody against everybody, once or twice; only the first so many rounds if that is fewer."""
    half = list(_single(players))
    if double:
        half += [([(b, a) for a, b in pairs], bye) for pairs, bye in half]
    played = half[:rounds]
    return Schedule(
        tuple(_numbered(round_id, pairs) for round_id, (pairs, _) in enumerate(played, start=1)),
        tuple(bye for _, bye in played),
    )


def _single(players: Sequence[str]) -> Iterator[tuple[list[Pair], str | None]]:
    """With an odd number the seat that stays is empty: whoever meets it has the bye."""
    turning = list(players) if len(players) % 2 else list(players[:-1])
    staying = None if len(players) % 2 else players[-1]
    count = len(turning)
    for turn in range(count):
        pairs = []
        if staying is not None:
            pairs.append((turning[turn], staying) if turn % 2 == 0 else (staying, turning[turn]))
        for distance in range(1, (count + 1) // 2):
            one, other = turning[(turn + distance) % count], turning[(turn - distance) % count]
            pairs.append((one, other) if distance % 2 else (other, one))
        yield pairs, turning[turn] if staying is None else None


def _numbered(round_id: int, pairs: Sequence[Pair]) -> tuple[Pairing, ...]:
    return tuple(Pairing(f"R{round_id}M{place}", a, b) for place, (a, b) in enumerate(pairs, start=1))
