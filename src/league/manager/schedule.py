"""The round-robin schedule, by the circle method: one seat stays, the others turn around it (spec section 8.7). The
first match is that of the first two players.

Sides alternate, so that after any number of rounds nobody was PLAYER_A more than once more often than PLAYER_B, or the
other way round. Only the schedule of four players is that of the documents, with the lower number as PLAYER_A. The
second half of a double round robin is the first half with the sides swapped.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from league.events import Pairing

Pair = tuple[str, str]
FOUR = (((0, 1), (2, 3)), ((0, 2), (1, 3)), ((0, 3), (1, 2)))
"""The rounds of four players, by their places."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """The rounds in order, and the player that rests in each (None: nobody)."""

    rounds: tuple[tuple[Pairing, ...], ...]
    byes: tuple[str | None, ...]


class PlannedRound(NamedTuple):
    """The pairs of a round, and the player that rests in it."""

    pairs: list[Pair]
    bye: str | None


def round_robin(players: Sequence[str], double: bool = False, rounds: int | None = None) -> Schedule:
    """Schedule everybody against everybody, once or twice. `rounds` limits the number of rounds."""
    planned = _all_rounds(players, double)[:rounds]
    return Schedule(
        tuple(_numbered(round_id, plan.pairs) for round_id, plan in enumerate(planned, start=1)),
        tuple(plan.bye for plan in planned),
    )


def extra_rounds(
    players: Sequence[str],
    late: Collection[str],
    after: int,
    double: bool = False,
    rounds: int | None = None,
) -> Schedule:
    """Schedule what late players missed, in rounds that come after the first `after` ones.

    It is a round robin of all players without the matches in which no late player plays. A player without a match in
    such a round does not count as having a bye.
    """
    missed = []
    for plan in _all_rounds(players, double):
        pairs = [pair for pair in plan.pairs if not set(pair).isdisjoint(late)]
        if pairs:
            missed.append(pairs)
    missed = missed[:rounds]
    return Schedule(
        tuple(_numbered(round_id, pairs) for round_id, pairs in enumerate(missed, after + 1)),
        (None,) * len(missed),
    )


def _all_rounds(players: Sequence[str], double: bool) -> list[PlannedRound]:
    if len(players) < 2:
        return []
    planned = list(_single(players))
    if double:
        planned += [PlannedRound([(b, a) for a, b in plan.pairs], plan.bye) for plan in planned]
    return planned


def _single(players: Sequence[str]) -> Iterator[PlannedRound]:
    if len(players) == 4:
        for places in FOUR:
            yield PlannedRound([(players[a], players[b]) for a, b in places], None)
        return
    staying, turning = _seats(players)
    count = len(turning)
    for turn in range(count):
        pairs = []
        first = turning[turn]
        # The seat that stays changes sides with every turn.
        if staying is not None:
            pairs.append((first, staying) if turn % 2 == 0 else (staying, first))
        # Seats at the same distance from the turning point meet. Odd and even distances take opposite sides.
        for distance in range(1, (count + 1) // 2):
            ahead = turning[(turn + distance) % count]
            behind = turning[(turn - distance) % count]
            pairs.append((ahead, behind) if distance % 2 else (behind, ahead))
        yield PlannedRound(pairs, first if staying is None else None)


def _seats(players: Sequence[str]) -> tuple[str | None, list[str]]:
    """Return the seat that stays and those that turn, so that the first two players meet first.

    With an odd number of players the seat that stays is empty: the player that meets it has the bye.
    """
    first, second, *rest = players
    if len(players) % 2 == 0:
        return second, [first, *rest]
    return None, [rest[-1], first, *rest[:-1], second]


def _numbered(round_id: int, pairs: Sequence[Pair]) -> tuple[Pairing, ...]:
    return tuple(Pairing(f"R{round_id}M{place}", a, b) for place, (a, b) in enumerate(pairs, start=1))
