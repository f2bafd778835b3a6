"""The table of a league: each player's numbers, and the order of the players.

A result costs the same however many are counted already. The order is computed only when somebody needs it, and once
until the table changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain, pairwise
from typing import NamedTuple

from msgspec import Struct, structs

from league.games.contract import DRAW_POINTS, LOSS_POINTS, WIN_POINTS

TIEBREAKERS = frozenset({"points", "wins", "draws", "head_to_head"})
BY_NUMBER = "number"
"""The players' numbers, which break ties that no tiebreaker breaks."""


class Decided(NamedTuple):
    """How a match counts in the table. A technical loss without a winner was lost by both players."""

    players: tuple[str, str]
    winner: str | None
    technical: bool = False
    score: Mapping[str, int] | None = None
    """The points of each player, if the game does not give league points."""

    def points(self, player: str) -> int:
        if self.score is not None:
            return self.score[player]
        if self.winner is None:
            # Two players at fault do not share the points of a draw.
            return LOSS_POINTS if self.technical else DRAW_POINTS
        return WIN_POINTS if player == self.winner else LOSS_POINTS


class Tally(Struct):
    """The numbers of one player."""

    played: int = 0
    wins: int = 0
    draws: int = 0
    losses: int = 0
    points: int = 0


class StandingsTable(Struct, dict=True):
    """The sum of all results in force. What is worked out from it is in `__dict__`, which is no part of the state."""

    tallies: dict[str, Tally] = {}
    against: dict[str, dict[str, int]] = {}
    """For each player, the points won against each opponent."""
    version: int = 0
    """Grows with every change."""
    round_id: int = 0
    """The round of the newest change."""

    def enter(self, player: str) -> None:
        self.__dict__.clear()
        self.tallies[player] = Tally()
        self.against[player] = {}

    def without(self, results: Iterable[Decided]) -> StandingsTable:
        """Return the table that these results of it are not counted in."""
        tallies = {player: structs.replace(tally) for player, tally in self.tallies.items()}
        against = {player: dict(points) for player, points in self.against.items()}
        table = StandingsTable(tallies, against)
        for result in results:
            table.add(result, -1)
        return table

    def add(self, decided: Decided, times: int = 1) -> None:
        """Count a result. With `times=-1` a voided result is taken back."""
        self.__dict__.clear()
        is_draw = decided.winner is None and not decided.technical
        player_a, player_b = decided.players
        for player, opponent in (decided.players, (player_b, player_a)):
            tally = self.tallies[player]
            points = times * decided.points(player)
            tally.played += times
            tally.points += points
            if is_draw:
                tally.draws += times
            elif decided.winner == player:
                tally.wins += times
            else:
                tally.losses += times
            points_won = self.against[player]
            points_won[opponent] = points_won.get(opponent, 0) + points

    def ranking(self, tiebreakers: Sequence[str]) -> list[str]:
        """Return the players from first to last."""
        return list(self.deciders(tiebreakers))

    def deciders(self, tiebreakers: Sequence[str]) -> Mapping[str, str]:
        """Return, for each player from first to last, the tiebreaker that puts it before the next one.

        Each tiebreaker splits the groups that are still tied. The players' numbers break the last ties.
        """
        rules = " ".join(tiebreakers)
        if rules not in self.__dict__:
            self.__dict__[rules] = self._decide(tiebreakers)
        deciders: Mapping[str, str] = self.__dict__[rules]
        return deciders

    def _decide(self, tiebreakers: Sequence[str]) -> Mapping[str, str]:
        # Groups of one are settled. Head-to-head points, the slowest to compute, are needed for the few that are tied.
        groups = [sorted(self.tallies, key=number_of)]
        # Two neighbours are decided by the first tiebreaker that puts them into different groups.
        group_numbers: dict[str, list[int]] = {player: [] for player in self.tallies}
        for tiebreaker in tiebreakers:
            groups = [part for group in groups for part in self._split(group, tiebreaker)]
            for number, group in enumerate(groups):
                for player in group:
                    group_numbers[player].append(number)
        ranking = list(chain.from_iterable(groups))
        deciders = dict.fromkeys(ranking, BY_NUMBER)
        for player, following in pairwise(ranking):
            for tiebreaker, number, next_number in zip(
                tiebreakers, group_numbers[player], group_numbers[following], strict=True
            ):
                if number != next_number:
                    deciders[player] = tiebreaker
                    break
        return deciders

    def _split(self, group: list[str], tiebreaker: str) -> list[list[str]]:
        """Split a group by value, the highest value first. Tied players keep the order they had."""
        if len(group) == 1:
            return [group]
        if tiebreaker == "head_to_head":
            values = self.head_to_head(group)
        else:
            values = {player: getattr(self.tallies[player], tiebreaker) for player in group}
        parts: dict[int, list[str]] = {}
        for player in group:
            parts.setdefault(values[player], []).append(player)
        return [parts[value] for value in sorted(parts, reverse=True)]

    def head_to_head(self, group: Sequence[str]) -> Mapping[str, int]:
        """Return the points these players won against each other."""
        # Within a group of tied players only: points won against others do not count.
        members = set(group)
        points = {}
        for player in group:
            points_won = self.against[player]
            points[player] = sum(map(points_won.__getitem__, points_won.keys() & members))
        return points


@lru_cache(maxsize=4096)
def number_of(agent_id: str) -> tuple[int, str]:
    """A sort key that puts ids in the order of their numbers: P99 before P100."""
    digits = agent_id.lstrip("PREF")
    number = 0
    if digits.isdecimal():
        number = int(digits)
    return number, agent_id
