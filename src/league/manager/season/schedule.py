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
    pairings = [_numbered(round_id, plan.pairs) for round_id, plan in enumerate(planned, start=1)]
    byes = [plan.bye for plan in planned]
    return Schedule(tuple(pairings), tuple(byes))


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
    pairings = [_numbered(round_id, pairs) for round_id, pairs in enumerate(missed, after + 1)]
    return Schedule(tuple(pairings), (None,) * len(missed))


def _all_rounds(players: Sequence[str], double: bool) -> list[PlannedRound]:
    if len(players) < 2:
        return []
    planned = list(_single(players))
    if not double:
        return planned
    second_half = []
    for plan in planned:
        swapped = [(player_b, player_a) for player_a, player_b in plan.pairs]
        second_half.append(PlannedRound(swapped, plan.bye))
    return planned + second_half


def _single(players: Sequence[str]) -> Iterator[PlannedRound]:
    if len(players) == 4:
        for places in FOUR:
            pairs = [(players[first], players[second]) for first, second in places]
            yield PlannedRound(pairs, None)
        return
    staying, turning = _seats(players)
    count = len(turning)
    for turn in range(count):
        pairs = []
        meets_staying = turning[turn]
        bye = None
        # The seat that stays changes sides with every turn.
        if staying is None:
            bye = meets_staying
        elif turn % 2 == 0:
            pairs.append((meets_staying, staying))
        else:
            pairs.append((staying, meets_staying))
        # Seats at the same distance from the turning point meet. Odd and even distances take opposite sides.
        for distance in range(1, (count + 1) // 2):
            ahead = turning[(turn + distance) % count]
            behind = turning[(turn - distance) % count]
            if distance % 2:
                pairs.append((ahead, behind))
            else:
                pairs.append((behind, ahead))
        yield PlannedRound(pairs, bye)


def _seats(players: Sequence[str]) -> tuple[str | None, list[str]]:
    """Return the seat that stays and those that turn, so that the first two players meet first.

    With an odd number of players the seat that stays is empty: the player that meets it has the bye.
    """
    first, second, *rest = players
    if len(players) % 2 == 0:
        return second, [first, *rest]
    return None, [rest[-1], first, *rest[:-1], second]


def _numbered(round_id: int, pairs: Sequence[Pair]) -> tuple[Pairing, ...]:
    pairings = []
    for place, (player_a, player_b) in enumerate(pairs, start=1):
        match_id = f"R{round_id}M{place}"
        pairings.append(Pairing(match_id, player_a, player_b))
    return tuple(pairings)
