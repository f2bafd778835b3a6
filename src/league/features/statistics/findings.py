"""The statistics of a league as data. `words.EXPLAINED` has one sentence for every number here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from league.games.contract import Measure
from league.reading.models import ModelPlay

Interval = tuple[float, float]
"""The ends of a 95 % interval."""
OpenInterval = tuple[float | None, float | None]
"""A 95 % interval that may have only one end: a player who won every match has no upper end."""
RankRange = tuple[int, int]
"""Best and worst: with 95 % certainty the rank is within this range."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """The decided matches that say nothing about playing strength."""

    technical_losses: int
    """A player, or both, failed for technical reasons."""
    walkovers: int
    """Not played, because a player was withdrawn."""
    repeated: int
    """The same two players had played the same match before, move for move."""
    not_rated: int = 0
    """One of the players is not rated."""


@dataclass(frozen=True, slots=True)
class PlayerRecord:
    """A player's results in the matches that count, and its technical losses, which do not count."""

    player_id: str
    display_name: str
    wins: int
    draws: int
    losses: int
    technical_losses: int

    @property
    def played(self) -> int:
        return self.wins + self.draws + self.losses


@dataclass(frozen=True, slots=True)
class PlayerPoints:
    """A player's points per match, and whether they may be luck."""

    record: PlayerRecord
    points_per_match: float
    interval: Interval
    p_value: float
    """How often coin tosses would be at least this uneven, corrected for the number of players."""
    is_luck: bool
    """True if coin tosses explain it."""
    return_per_match: float | None = None
    """The average return, in a game scored by its margin."""
    return_interval: Interval | None = None


@dataclass(frozen=True, slots=True)
class PlayerRating:
    """A player's rating.

    All fields are None for a player without a match that counts. `rank_range` and `first` are None as long as the
    matches do not connect all players.
    """

    record: PlayerRecord
    rating: float | None
    interval: OpenInterval | None
    rank_range: RankRange | None
    first: float | None
    """The probability that nobody in the league is better."""
    tied_with: tuple[str, ...]
    """The players that the matches do not tell apart from this one."""


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Two players next to each other in the table."""

    better: str
    worse: str
    apart: bool
    """True if the matches tell them apart."""
    more_matches: int | None
    """How many more matches would tell them apart: 0 if they are apart, None if it would take too many."""


@dataclass(frozen=True, slots=True)
class RatingTable:
    """The ratings of a league, the best player first."""

    players: tuple[PlayerRating, ...]
    neighbours: tuple[Neighbours, ...]
    seat_advantage: float
    """The advantage of PLAYER_A, in rating points."""
    seat_interval: Interval
    groups: int
    """The number of groups. No chain of matches connects players of different groups, so they are not compared."""


@dataclass(frozen=True, slots=True)
class RefereeDraws:
    """The numbers that a referee drew."""

    referee_id: str
    draws: int
    counts: tuple[int, ...]
    """How often each number came, from 1 on."""
    p_value: float | None
    """How often uniform draws would be at least this uneven, corrected for the number of referees. None: too few."""
    verdict: Literal["uniform", "not uniform", "too few"]


@dataclass(frozen=True, slots=True)
class Favouritism:
    """Whether players do better under a referee than under all others."""

    referee_id: str
    tested: int
    """The number of players with enough matches under this referee, and under others."""
    player_id: str | None
    """The tested player that did best here, compared with its matches elsewhere."""
    p_value: float | None
    """How often chance gives at least one player of the league so much better results under a referee."""
    verdict: Literal["no sign", "favours", "too few"]


@dataclass(frozen=True, slots=True)
class LeagueStatistics:
    """The statistics of a league: `points` or `rating`, as its game declares."""

    league_id: str
    game_type: str
    measure: Measure
    matches: int
    """The number of matches that count."""
    left_out: LeftOut
    points: tuple[PlayerPoints, ...] | None
    rating: RatingTable | None
    missing: str | None
    """The reason why there is no rating in a game that has one: NumPy is not installed."""
    referees: tuple[RefereeDraws, ...]
    favouritism: tuple[Favouritism, ...] = ()
    models: tuple[ModelPlay, ...] = ()
    """Players whose choices a language model makes."""
    unrated: tuple[PlayerRecord, ...] = ()
    """Players that are not rated, with results that count for nobody."""
    gone_behind: Mapping[str, int] = field(default_factory=dict)
    """How often each player was gone from a match in which its opponent was ahead; only players that were."""
