"""Which results of a league show how well its players play, and which numbers its referees drew.

Results are left out if they say nothing about playing strength: technical losses, walkovers, matches that repeat an
earlier one move for move, and matches of players that are not rated.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec

from league.events import ResultAccepted, WalkoverDecided
from league.features.statistics.findings import LeftOut, PlayerRecord
from league.manager.league_manager import LeagueManager
from league.manager.state.ledger import ScheduledMatch
from league.reading.models import ModelPlay, models


@dataclass(frozen=True, slots=True)
class Observation:
    """A match that counts: the players in seat A and seat B, the winner (None for a draw), and their points."""

    player_a: str
    player_b: str
    winner: str | None
    score: tuple[int, int] = (0, 0)
    """The points of both, in games that are scored by their margin."""
    times: int = 1
    """How many such matches there were. A league has each of its matches once, a tournament counts equal ones."""

    @property
    def players(self) -> tuple[str, str]:
        return self.player_a, self.player_b


class RefereedMatch(NamedTuple):
    """A match that a referee decided; without a winner it is a draw, or lost by both."""

    referee_id: str
    players: tuple[str, str]
    winner: str | None
    is_draw: bool


@dataclass(frozen=True, slots=True)
class Observations:
    """The results of a league that are analysed, in the order of its schedule."""

    league_id: str
    game_type: str
    names: Mapping[str, str]
    """The name of every rated player, by id."""
    technical_losses: Mapping[str, int]
    """By player. They are left out of the matches."""
    matches: tuple[Observation, ...]
    left_out: LeftOut
    draws: Mapping[str, tuple[int, ...]]
    """The numbers that every referee drew, in matches that were played to their end."""
    refereed: tuple[RefereedMatch, ...] = ()
    """All matches that a referee decided, technical losses included: those are its decisions, too."""
    models: tuple[ModelPlay, ...] = ()
    unrated: tuple[PlayerRecord, ...] = ()
    """The records of players that are not rated. They count for nobody."""
    gone_behind: Mapping[str, int] = field(default_factory=dict)
    """How often each player was gone from a match in which its opponent was ahead; only players that were."""

    def records(self) -> list[PlayerRecord]:
        """Return the record of every rated player in the matches that count."""
        return records_of(self.names, self.technical_losses, self.matches)


class ReportedMatch(NamedTuple):
    """A match with its result as a referee reported it."""

    observation: Observation
    result: ResultAccepted


def observe(manager: LeagueManager) -> Observations:
    """Look at the results in force of a league."""
    ledger = manager.ledger
    players = ledger.roster.of_role("player")
    by_models = models(manager)
    unrated = {model.player_id: model.display_name for model in by_models if model.not_rated}
    technical_losses = {player.agent_id: player.attendance.technical_losses for player in players}
    played: list[ReportedMatch] = []
    refereed: list[RefereedMatch] = []
    technical = 0
    walkovers = 0
    for match in ledger.matches.values():
        if isinstance(match.result, ResultAccepted):
            result = match.result
            refereed.append(RefereedMatch(result.referee_id, match.players, result.winner, result.status == "DRAW"))
        if isinstance(match.result, WalkoverDecided):
            walkovers += 1
        elif match.result is not None and match.result.status == "TECHNICAL_LOSS":
            technical += 1
        elif match.result is not None:
            observation = Observation(match.player_a, match.player_b, match.result.winner, _score(match))
            played.append(ReportedMatch(observation, match.result))
    # First the repetitions, then the players that are not rated: each match is left out for one reason only.
    distinct = list(_distinct(played))
    counted = [match for match in distinct if unrated.keys().isdisjoint(match.players)]
    return Observations(
        league_id=ledger.settings.league_id,
        game_type=ledger.settings.game_type,
        names={player.agent_id: player.name.display_name for player in players if player.agent_id not in unrated},
        technical_losses=technical_losses,
        matches=tuple(counted),
        left_out=LeftOut(
            technical_losses=technical,
            walkovers=walkovers,
            repeated=len(played) - len(distinct),
            not_rated=len(distinct) - len(counted),
        ),
        draws=_draws(match.result for match in played),
        refereed=tuple(refereed),
        models=by_models,
        unrated=tuple(records_of(unrated, technical_losses, distinct)),
        gone_behind={
            player.agent_id: player.attendance.gone_behind for player in players if player.attendance.gone_behind
        },
    )


def _score(match: ScheduledMatch) -> tuple[int, int]:
    result = match.result
    if result is None or not result.by_margin:
        return 0, 0
    return result.points.get(match.player_a, 0), result.points.get(match.player_b, 0)


def records_of(
    names: Mapping[str, str],
    technical_losses: Mapping[str, int],
    matches: Sequence[Observation],
) -> list[PlayerRecord]:
    """Return the records of these players in matches."""
    won: Counter[str] = Counter()
    drawn: Counter[str] = Counter()
    played: Counter[str] = Counter()
    for match in matches:
        # A tournament counts equal matches instead of listing them.
        for player in match.players:
            played[player] += match.times
            if match.winner is None:
                drawn[player] += match.times
        if match.winner is not None:
            won[match.winner] += match.times
    return [
        PlayerRecord(
            player_id=player,
            display_name=name,
            wins=won[player],
            draws=drawn[player],
            losses=played[player] - won[player] - drawn[player],
            technical_losses=technical_losses[player],
        )
        for player, name in names.items()
    ]


def _distinct(played: Iterable[ReportedMatch]) -> Iterator[Observation]:
    """Yield the matches without repetitions: a match that two players played before says nothing new."""
    earlier: set[tuple[frozenset[str], bytes]] = set()
    for match in played:
        # With chance, every match is a new observation. A referee may report anything as moves, so they are compared
        # as JSON.
        details = match.result.details
        moves = None if details.get("draws") else details.get("moves")
        written = msgspec.json.encode(moves, order="deterministic")
        course = (frozenset(match.observation.players), written)
        if moves is None or course not in earlier:
            earlier.add(course)
            yield match.observation


def _draws(results: Iterable[ResultAccepted]) -> dict[str, tuple[int, ...]]:
    """Return the drawn numbers by referee."""
    draws: dict[str, list[int]] = {}
    for result in results:
        number = result.details.get("drawn_number")
        # A referee may report anything as a number, and in Python True is an int.
        if type(number) is int:
            draws.setdefault(result.referee_id, []).append(number)
    return {referee_id: tuple(numbers) for referee_id, numbers in sorted(draws.items())}
