"""The news for a player's own code: rounds, tables, errors, and the end of the league. `mine` is always the player's
own part."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

from msgspec import Struct

from league.protocol.errors import BY_NAME, ERRORS
from league.protocol.message.messages import (
    GameError,
    LeagueCompleted,
    LeagueErrorReply,
    LeagueStandingsUpdate,
    RoundAnnouncement,
)
from league.protocol.message.parts import AnnouncedMatch, FinalRow, StandingsRow

Row = TypeVar("Row", StandingsRow, FinalRow)


class Standings(Struct, frozen=True):
    """A table: its rows in order, each with `rank`, `player_id`, `display_name`, `played`, `wins`, `draws`, `losses`
    and `points`."""

    rows: tuple[StandingsRow, ...]
    round_id: int
    """The round of the newest result in the table."""
    my_id: str

    @property
    def mine(self) -> StandingsRow | None:
        """Your own row; None if you are not in the table."""
        return self.of(self.my_id)

    def of(self, player_id: str) -> StandingsRow | None:
        """Return the row of a player; None if the player is not in the table."""
        return _row_of(self.rows, player_id)

    def __iter__(self) -> Iterator[StandingsRow]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)


class RoundMatch(Struct, frozen=True):
    """A match of a round. `opponent_id` is your opponent; None in matches between other players."""

    match_id: str
    game_type: str
    player_a_id: str
    player_b_id: str
    referee_endpoint: str
    opponent_id: str | None

    @property
    def players(self) -> tuple[str, str]:
        return self.player_a_id, self.player_b_id


class Round(Struct, frozen=True):
    """An announced round, with all its matches."""

    round_id: int
    _announced: Sequence[AnnouncedMatch]
    """The matches as the manager announced them."""
    my_id: str

    @property
    def matches(self) -> tuple[RoundMatch, ...]:
        """All matches of the round."""
        # In a large league most players never ask for them, so they are made only then.
        return tuple(_match(match, self.my_id) for match in self._announced)

    @property
    def mine(self) -> RoundMatch | None:
        """Your match; the first one if you have two, None if you have none."""
        return next(iter(self.of(self.my_id)), None)

    def of(self, player_id: str) -> tuple[RoundMatch, ...]:
        """Return the matches of a player."""
        return tuple(
            _match(match, self.my_id)
            for match in self._announced
            if player_id in (match.player_A_id, match.player_B_id)
        )

    def __iter__(self) -> Iterator[RoundMatch]:
        return iter(self.matches)

    def __len__(self) -> int:
        return len(self._announced)


class ReceivedError(Struct, frozen=True):
    """A GAME_ERROR or LEAGUE_ERROR that you received. Fields that its sender left out are None."""

    message_type: str
    code: str
    """The error code, such as "E004"; docs/reference/errors.md explains them all."""
    name: str
    """The name of the error, such as "INVALID_PARITY_CHOICE"."""
    detail: str
    """A sentence that explains this case."""
    match_id: str | None
    """The match the error is about; None for an error of the league."""
    sender: str
    action_required: str | None
    retryable: bool | None
    consequence: str | None
    trusted: bool
    """False if the sender's token should prove who it is and does not."""


class LeagueQueryError(Exception):
    """Raised when a query to the manager fails: `code` and `name` are those of the error, `detail` is a sentence."""

    def __init__(self, code: str, detail: str) -> None:
        self.code = code
        self.detail = detail
        self.name = ERRORS[code].name if code in ERRORS else ""
        super().__init__(f"{code} {self.name}: {detail}")


class LeagueResult(Struct, frozen=True):
    """The end of the league: the champion, the final table, and your place in it.

    Third-party managers may name only `rank`, `player_id` and `points` in each row: then the other fields are None.
    """

    champion_id: str
    champion_name: str
    champion_points: int
    table: tuple[FinalRow, ...]
    total_rounds: int
    total_matches: int
    my_id: str

    @property
    def mine(self) -> FinalRow | None:
        """Your own row; None if you are not in the table."""
        return _row_of(self.table, self.my_id)

    @property
    def rank(self) -> int | None:
        """Your rank; None if you are not in the table."""
        row = self.mine
        if row is None:
            return None
        return row.rank

    @property
    def points(self) -> int | None:
        """Your points; None if you are not in the table."""
        row = self.mine
        if row is None:
            return None
        return row.points

    @property
    def is_mine(self) -> bool:
        """True if you are the champion."""
        return self.champion_id == self.my_id


def _row_of(rows: tuple[Row, ...], player_id: str) -> Row | None:
    for row in rows:
        if row.player_id == player_id:
            return row
    return None


# --- from the messages ------------------------------------------------------------------------------------------------


def standings_in(message: LeagueStandingsUpdate, player_id: str) -> Standings:
    return Standings(tuple(message.standings), message.round_id, player_id)


def round_in(message: RoundAnnouncement, player_id: str) -> Round:
    return Round(message.round_id, tuple(message.matches), player_id)


def _match(match: AnnouncedMatch, player_id: str) -> RoundMatch:
    opponent_id = None
    if player_id == match.player_A_id:
        opponent_id = match.player_B_id
    elif player_id == match.player_B_id:
        opponent_id = match.player_A_id
    return RoundMatch(
        match.match_id,
        match.game_type,
        match.player_A_id,
        match.player_B_id,
        match.referee_endpoint,
        opponent_id,
    )


def result_in(message: LeagueCompleted, player_id: str) -> LeagueResult:
    champion = message.champion
    # Third-party managers may name nothing but its id.
    best = max((row.points for row in message.final_standings), default=0)
    return LeagueResult(
        champion.player_id,
        champion.display_name or champion.player_id,
        best if champion.points is None else champion.points,
        table=tuple(message.final_standings),
        total_rounds=message.total_rounds,
        total_matches=message.total_matches,
        my_id=player_id,
    )


def error_in(message: GameError | LeagueErrorReply, trusted: bool) -> ReceivedError:
    code = message.error_code
    row = ERRORS.get(code)
    description = message.error_description
    name = message.error_name
    if not name and description in BY_NAME:
        # One document puts the name into the description, another a sentence.
        name = description
    if not name:
        name = (row.name if row else description) or ""
    detail = message.error_detail
    if not detail and description != name:
        detail = description
    if not detail:
        detail = row.when if row else ""
    match_id = None
    consequence = None
    if isinstance(message, GameError):
        match_id = message.match_id
        consequence = message.consequence
    return ReceivedError(
        message.type,
        code,
        name,
        detail=detail,
        match_id=match_id,
        sender=message.sender or "",
        action_required=message.action_required,
        retryable=message.retryable,
        consequence=consequence,
        trusted=trusted,
    )
