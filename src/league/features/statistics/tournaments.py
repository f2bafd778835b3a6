"""The statistics of a tournament, from its document, which is also the file `tournament.json` of its folder.

The rows of pairs count the matches that say something about strength, by seat: `rated` leaves out technical losses, and
counts a match that two strategies always repeat, move for move, once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from math import erfc, sqrt
from pathlib import Path
from statistics import fmean
from typing import Annotated, Any, Final, NamedTuple

import msgspec

from league.features.statistics.analysis import analyse, measure_of
from league.features.statistics.findings import Interval, LeagueStatistics, LeftOut, PlayerPoints
from league.features.statistics.methods.chance import SURE, coin_tosses, holm
from league.features.statistics.methods.points import in_returns
from league.features.statistics.methods.strata import Z
from league.features.statistics.observations import Observation, Observations, records_of
from league.games import registry
from league.terminal import CommandError

Count = Annotated[int, msgspec.Meta(ge=0)]


class RatedSeat(msgspec.Struct, frozen=True):
    """The rated matches of a pair in which `player_a` had seat A. Wins are those of the pair's first strategy."""

    player_a: str
    wins: Count
    draws: Count
    losses: Count


class PairRow(msgspec.Struct, frozen=True):
    """The results of two strategies."""

    first: str
    second: str
    matches: Count
    distinct_matches: Count
    rated: tuple[RatedSeat, ...]


class StandingRow(msgspec.Struct, frozen=True):
    """The results of one strategy."""

    strategy: str
    technical_losses: Count
    points_per_match: float | None
    """None without a match that counts."""
    interval: Interval | None
    not_rated: str = ""
    """Why its choices were not its own; empty if they were."""


class Measured(NamedTuple):
    """The points of a strategy that has matches that count."""

    strategy: str
    points_per_match: float
    interval: Interval


class Tournament(msgspec.Struct, frozen=True):
    """The part of a tournament's document that statistics are made of."""

    game: str
    standings: tuple[StandingRow, ...]
    pairs: tuple[PairRow, ...]


FILE: Final = "tournament.json"
OLD: Final = "this is not the document of a tournament of this version; play it again with the same seed"


def read(document: Mapping[str, Any]) -> Tournament:
    """Read the document of a tournament (Any: JSON). CommandError if it is not one."""
    try:
        tournament = msgspec.convert(document, Tournament)
    except msgspec.ValidationError as error:
        raise CommandError(f"{OLD} ({error})") from error
    # The file may come from anybody.
    strategies = {row.strategy for row in tournament.standings}
    if len(strategies) < len(tournament.standings) or len(strategies) < 2:
        raise CommandError("the standings of the tournament need a row for each strategy, and at least two")
    for pair in tournament.pairs:
        players = {pair.first, pair.second}
        seats = {seat.player_a for seat in pair.rated}
        if len(players) < 2 or not players <= strategies or not seats <= players:
            raise CommandError(f"the pair {pair.first} and {pair.second} does not fit the standings of the tournament")
    return tournament


def file_in(place: Path) -> Path | None:
    """Return the file with the document of a tournament: this one, or the one in this folder; None if there is none."""
    if place.name == FILE and place.is_file():
        return place
    if (place / FILE).is_file():
        return place / FILE
    return None


def read_file(file: Path) -> Tournament:
    """Read the file of a tournament. CommandError if it is not one."""
    try:
        document = msgspec.json.decode(file.read_bytes())
    except OSError as error:
        raise CommandError(f"{file} cannot be read: {error.strerror}") from error
    except msgspec.DecodeError as error:
        raise CommandError(f"{file} is not the JSON of a tournament: {error}") from error
    return read(document)


def statistics(tournament: Tournament, title: str) -> LeagueStatistics:
    """Return the statistics of a tournament: ratings, or points as its game declares."""
    observations = observe(tournament, title)
    game = registry.find(tournament.game)
    measure = measure_of(tournament.game)
    if measure == "rating":
        return analyse(observations)
    records = {record.player_id: record for record in observations.records()}
    rows = [
        Measured(row.strategy, row.points_per_match, row.interval)
        for row in tournament.standings
        if row.points_per_match is not None and row.interval is not None
    ]
    if measure == "margin":
        # If all were equally good, each would get the average of all.
        mean = fmean(row.points_per_match for row in rows) if rows else 0.0
        p_values = [_far_from(mean, row) for row in rows]
    else:
        tossed = [records[row.strategy] for row in rows]
        p_values = [coin_tosses(record.wins, record.losses) for record in tossed]
    points = []
    for row, p_value in zip(rows, holm(p_values), strict=True):
        record = records[row.strategy]
        player = PlayerPoints(record, row.points_per_match, row.interval, p_value, p_value >= SURE)
        points.append(in_returns(player, game.scoring) if game and measure == "margin" else player)
    return analyse(observations, tuple(points))


def _far_from(mean: float, row: Measured) -> float:
    """Return how often chance moves the points of a strategy at least this far from a mean."""
    low, high = row.interval
    # An interval reaches Z standard deviations to both sides.
    deviation = (high - low) / (2 * Z)
    if deviation <= 0:
        return 1.0
    return erfc(abs(row.points_per_match - mean) / deviation / sqrt(2))


def observe(tournament: Tournament, title: str) -> Observations:
    """Return the results that count, in the form in which a league's are analysed."""
    observed = tuple(_observations(tournament))
    distinct = sum(pair.distinct_matches for pair in tournament.pairs)
    played = sum(pair.matches for pair in tournament.pairs)
    rated = {row.strategy: row.strategy for row in tournament.standings if not row.not_rated}
    unrated = {row.strategy: row.strategy for row in tournament.standings if row.not_rated}
    technical_losses = {row.strategy: row.technical_losses for row in tournament.standings}
    matches = tuple(match for match in observed if unrated.keys().isdisjoint(match.players))
    return Observations(
        league_id=title,
        game_type=tournament.game,
        names=rated,
        technical_losses=technical_losses,
        matches=matches,
        left_out=LeftOut(
            technical_losses=distinct - _times(observed),
            walkovers=0,
            repeated=played - distinct,
            not_rated=_times(observed) - _times(matches),
        ),
        draws={},
        unrated=tuple(records_of(unrated, technical_losses, observed)),
    )


def _times(matches: Iterable[Observation]) -> int:
    return sum(match.times for match in matches)


def _observations(tournament: Tournament) -> Iterator[Observation]:
    for pair in tournament.pairs:
        for seat in pair.rated:
            # Wins are those of the first strategy, in whichever seat it is.
            player_b = pair.second
            if seat.player_a == pair.second:
                player_b = pair.first
            winners = {pair.first: seat.wins, None: seat.draws, pair.second: seat.losses}
            for winner, times in winners.items():
                if times:
                    yield Observation(seat.player_a, player_b, winner, times=times)
