"""The round-robin schedule, by the circle method: one seat stays, the others turn around it (spec section 8.7). The
first match is that of the first two players.

Sides alternate so that after any number of rounds nobody was PLAYER_A more than once oftener than PLAYER_B, or the
other way round; only the schedule of four is the documents' own, with the lower number as PLAYER_A. The second half of
a double round robin is the first with the sides swapped.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from league.events import Pairing

Pair = tuple[str, str]
FOUR = (((0, 1), (2, 3)), ((0, 2), (1, 3)), ((0, 3), (1, 2)))
"""The rounds of four players, by their places."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """The rounds in order, and who rests in each (None: nobody)."""

    rounds: tuple[tuple[Pairing, ...], ...]
    byes: tuple[str | None, ...]


def round_robin(players: Sequence[str], double: bool = False, rounds: int | None = None) -> Schedule:
    """Everybody against everybody, once or twice; only the first so many rounds if that is fewer."""
    played = _all_rounds(players, double)[:rounds]
    return Schedule(
        tuple(_numbered(round_id, pairs) for round_id, (pairs, _) in enumerate(played, start=1)),
        tuple(bye for _, bye in played),
    )


def extra_rounds(
    players: Sequence[str], late: Collection[str], after: int, double: bool = False, rounds: int | None = None
) -> Schedule:
    """What late players missed, in rounds that come after so many: a round robin of all players, of which only their
    matches are left. Nobody who has no match then counts as having a bye."""
    found = ([pair for pair in pairs if not set(pair).isdisjoint(late)] for pairs, _ in _all_rounds(players, double))
    played = [pairs for pairs in found if pairs][:rounds]
    return Schedule(
        tuple(_numbered(round_id, pairs) for round_id, pairs in enumerate(played, after + 1)), (None,) * len(played)
    )


def _all_rounds(players: Sequence[str], double: bool) -> list[tuple[list[Pair], str | None]]:
    if len(players) < 2:
        return []
    half = list(_single(players))
    return half + [([(b, a) for a, b in pairs], bye) for pairs, bye in half] if double else half


def _single(players: Sequence[str]) -> Iterator[tuple[list[Pair], str | None]]:
    if len(players) == 4:
        yield from (([(players[a], players[b]) for a, b in pairs], None) for pairs in FOUR)
        return
    staying, turning = _seats(players)
    count = len(turning)
    for turn in range(count):
        pairs = []
        if staying is not None:
            pairs.append((turning[turn], staying) if turn % 2 == 0 else (staying, turning[turn]))
        for distance in range(1, (count + 1) // 2):
            one, other = turning[(turn + distance) % count], turning[(turn - distance) % count]
            pairs.append((one, other) if distance % 2 else (other, one))
        yield pairs, turning[turn] if staying is None else None


def _seats(players: Sequence[str]) -> tuple[str | None, list[str]]:
    """The seat that stays and those that turn, so that the first two players meet first. With an odd number the seat
    that stays is empty: whoever meets it has the bye."""
    first, second, *others = players
    if len(players) % 2 == 0:
        return second, [first, *others]
    return None, [others[-1], first, *others[:-1], second]


def _numbered(round_id: int, pairs: Sequence[Pair]) -> tuple[Pairing, ...]:
    return tuple(Pairing(f"R{round_id}M{place}", a, b) for place, (a, b) in enumerate(pairs, start=1))
