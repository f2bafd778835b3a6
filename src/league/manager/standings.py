"""Where everybody stands. A result costs the same whatever is stored already; the table is computed when needed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

from msgspec import Struct

from league.games.contract import DRAW_POINTS, LOSS_POINTS, WIN_POINTS


class Decided(NamedTuple):
    """How a match counts in the table. Technical without a winner: both lost it."""

    players: tuple[str, str]
    winner: str | None
    technical: bool = False

    def points(self, player: str) -> int:
        if self.winner is None:
            return LOSS_POINTS if self.technical else DRAW_POINTS
        return WIN_POINTS if player == self.winner else LOSS_POINTS


class Tally(Struct):
    """One player's numbers."""

    played: int = 0
    wins: int = 0
    draws: int = 0
    losses: int = 0
    points: int = 0


class StandingsTable(Struct):
    """The sum of all results in force."""

    tallies: dict[str, Tally] = {}
    against: dict[str, dict[str, int]] = {}
    """Player, opponent, the points won against it."""
    version: int = 0
    """Grows with every change."""
    round_id: int = 0
    """The round of the newest change."""

    def enter(self, player: str) -> None:
        self.tallies[player] = Tally()
        self.against[player] = {}

    def add(self, decided: Decided, times: int = 1) -> None:
        """Count a result; -1 times takes a voided one back."""
        drawn = decided.winner is None and not decided.technical
        for player, opponent in (decided.players, decided.players[::-1]):
            tally, points = self.tallies[player], decided.points(player)
            tally.played += times
            tally.points += times * points
            if drawn:
                tally.draws += times
            elif decided.winner == player:
                tally.wins += times
            else:
                tally.losses += times
            won = self.against[player]
            won[opponent] = won.get(opponent, 0) + times * points

    def ranking(self, tiebreakers: Sequence[str]) -> list[str]:
        """The players from the first to the last: each tiebreaker splits the groups still tied, then the number."""
        groups = [sorted(self.tallies, key=number_of)]
        for name in tiebreakers:
            if len(groups) == len(self.tallies):
                break
            criterion = _CRITERIA[name]
            parts: list[list[str]] = []
            for group in groups:
                parts += _split(group, criterion(self, group)) if len(group) > 1 else [group]
            groups = parts
        return list(chain.from_iterable(groups))

    def head_to_head(self, group: Sequence[str]) -> Mapping[str, int]:
        """The points these players won against each other."""
        members = set(group)
        return {player: self._won_within(player, members) for player in group}

    def _won_within(self, player: str, members: set[str]) -> int:
        won = self.against[player]
        return sum(map(won.__getitem__, won.keys() & members))


@lru_cache(maxsize=4096)
def number_of(agent_id: str) -> tuple[int, str]:
    """Ids in the order of their numbers: P99 before P100."""
    digits = agent_id.lstrip("PREF")
    return (int(digits) if digits.isdecimal() else 0, agent_id)


def _column(name: str) -> Callable[[StandingsTable, Sequence[str]], Mapping[str, int]]:
    def criterion(standings: StandingsTable, group: Sequence[str]) -> Mapping[str, int]:
        return {player: getattr(standings.tallies[player], name) for player in group}

    return criterion


_CRITERIA: Mapping[str, Callable[[StandingsTable, Sequence[str]], Mapping[str, int]]] = {
    "points": _column("points"),
    "wins": _column("wins"),
    "draws": _column("draws"),
    "head_to_head": StandingsTable.head_to_head,
}
TIEBREAKERS = frozenset(_CRITERIA)


def _split(group: list[str], values: Mapping[str, int]) -> Iterable[list[str]]:
    """The group in parts of equal value, the highest first, each in the order the group had."""
    parts: dict[int, list[str]] = {}
    for player in group:
        parts.setdefault(values[player], []).append(player)
    return [parts[value] for value in sorted(parts, reverse=True)]
