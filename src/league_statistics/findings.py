"""The statistics of a league as data. `words.EXPLAINED` has one sentence for every number here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from league.games.contract import Measure
from league.reports.models import ModelPlay

Interval = tuple[float, float]
"""From, to: a 95 % interval."""
OpenInterval = tuple[float | None, float | None]
"""A 95 % interval of which the matches may set only one end: whoever won every match has no upper one."""
RankRange = tuple[int, int]
"""Best, worst: in 95 % of the cases the rank is one of these."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """The decided matches that tell nothing of how well somebody plays."""

    technical_losses: int
    """One player, or both, failed for technical reasons."""
    walkovers: int
    """Nobody played: a player was withdrawn."""
    repeated: int
    """The same two players played the same match before, move for move."""
    not_rated: int = 0
    """A player of it is not rated."""


@dataclass(frozen=True, slots=True)
class Record:
    """What a player made of the matches that count, and how many it lost by faults of its own, which do not."""

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
    """A player's points per match, and whether its wins look like more or less than luck."""

    record: Record
    points_per_match: float
    interval: Interval
    p_value: float
    """How often coin tosses would be at least this uneven; corrected for the number of players."""
    is_luck: bool
    """Coin tosses explain it."""


@dataclass(frozen=True, slots=True)
class PlayerRating:
    """A player's rating. All of it is None for a player without a match that counts; `rank_range` and `first` are None
    as long as the matches do not connect all players."""

    record: Record
    rating: float | None
    interval: OpenInterval | None
    rank_range: RankRange | None
    first: float | None
    """The probability that nobody here is better."""
    tied_with: tuple[str, ...]
    """Whom the matches do not tell it apart from."""


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Two players next to each other in the table."""

    better: str
    worse: str
    apart: bool
    """The matches tell them apart."""
    more_matches: int | None
    """So many more between the two would; 0 if they are apart, None if it would take too many to play."""


@dataclass(frozen=True, slots=True)
class RatingTable:
    """The ratings of a league, best first."""

    players: tuple[PlayerRating, ...]
    neighbours: tuple[Neighbours, ...]
    seat_advantage: float
    """What it is worth to be PLAYER_A, in rating points."""
    seat_interval: Interval
    groups: int
    """Between players of different groups there is no chain of matches: they are not compared."""


@dataclass(frozen=True, slots=True)
class RefereeDraws:
    """The numbers a referee drew."""

    referee_id: str
    draws: int
    counts: tuple[int, ...]
    """How often each number from 1 on."""
    p_value: float | None
    """How often uniform draws would be at least this uneven; corrected for the number of referees. None: too few."""
    verdict: Literal["uniform", "not uniform", "too few"]


@dataclass(frozen=True, slots=True)
class LeagueStatistics:
    """What the results of a league tell: `points` or `rating`, by the measure its game declares."""

    league_id: str
    game_type: str
    measure: Measure
    matches: int
    """The matches that count."""
    left_out: LeftOut
    points: tuple[PlayerPoints, ...] | None
    rating: RatingTable | None
    missing: str | None
    """Why there is no rating though the game has one: NumPy is not installed."""
    referees: tuple[RefereeDraws, ...]
    models: tuple[ModelPlay, ...] = ()
    """Players that leave their choices to a language model."""
    unrated: tuple[Record, ...] = ()
    """Those of them that are not rated, with results that count for nobody."""
