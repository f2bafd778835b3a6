"""What a player's own code is told beside its calls: rounds, tables, errors, and how the league ended. Each knows which
part of it is the player's own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

from msgspec import Struct

from league.protocol.errors import BY_NAME, ERRORS
from league.protocol.messages import GameError, LeagueCompleted, LeagueError, LeagueStandingsUpdate, RoundAnnouncement
from league.protocol.parts import AnnouncedMatch, FinalRow, StandingsRow

Row = TypeVar("Row", StandingsRow, FinalRow)


class Standings(Struct, frozen=True):
    """A table: its rows in order, each with `rank`, `player_id`, `display_name`, `played`, `wins`, `draws`, `losses`
    and `points`."""

    rows: tuple[StandingsRow, ...]
    round_id: int
    """The round of the newest result in it."""
    my_id: str

    @property
    def mine(self) -> StandingsRow | None:
        """Your own row."""
        return self.of(self.my_id)

    def of(self, player_id: str) -> StandingsRow | None:
        """The row of a player."""
        return _row_of(self.rows, player_id)

    def __iter__(self) -> Iterator[StandingsRow]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)


class RoundMatch(Struct, frozen=True):
    """A match of a round. `opponent_id` is who you play against; None in the matches of others."""

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
    """A round that was announced, with all its matches."""

    round_id: int
    _announced: Sequence[AnnouncedMatch]
    """The matches as the manager named them."""
    my_id: str

    @property
    def matches(self) -> tuple[RoundMatch, ...]:
        """All its matches. In a large league nobody may ask for them: they are made when somebody does."""
        return tuple(_match(one, self.my_id) for one in self._announced)

    @property
    def mine(self) -> RoundMatch | None:
        """Your match (in a round in which you stand twice, the first); None if you have none."""
        return next(iter(self.of(self.my_id)), None)

    def of(self, player_id: str) -> tuple[RoundMatch, ...]:
        """The matches of a player."""
        its = (one for one in self._announced if player_id in (one.player_A_id, one.player_B_id))
        return tuple(_match(one, self.my_id) for one in its)

    def __iter__(self) -> Iterator[RoundMatch]:
        return iter(self.matches)

    def __len__(self) -> int:
        return len(self._announced)


class ReceivedError(Struct, frozen=True):
    """A GAME_ERROR or a LEAGUE_ERROR that came to us. What its sender left out is None."""

    message_type: str
    code: str
    """As in "E004"; what each means is in docs/reference/errors.md."""
    name: str
    """As in "INVALID_PARITY_CHOICE"."""
    detail: str
    """A sentence about this case."""
    match_id: str | None
    """The match it is about; None for an error of the league."""
    sender: str
    action_required: str | None
    retryable: bool | None
    consequence: str | None
    trusted: bool
    """Did its sender prove who it is? Also true where no token can be checked."""


class LeagueQueryError(Exception):
    """A question to the manager came to nothing: `code` and `name` as in the table of errors, `detail` a sentence."""

    def __init__(self, code: str, detail: str) -> None:
        self.code, self.detail = code, detail
        self.name = ERRORS[code].name if code in ERRORS else ""
        super().__init__(f"{code} {self.name}: {detail}")


class LeagueResult(Struct, frozen=True):
    """How the league ended: who won, the final table, and where you stand in it. Managers by others may leave all but
    `rank`, `player_id` and `points` out of its rows: then they are None."""

    champion_id: str
    champion_name: str
    champion_points: int
    table: tuple[FinalRow, ...]
    total_rounds: int
    total_matches: int
    my_id: str

    @property
    def mine(self) -> FinalRow | None:
        """Your own row."""
        return _row_of(self.table, self.my_id)

    @property
    def rank(self) -> int | None:
        """Your rank; None if you are not in the table."""
        mine = self.mine
        return mine.rank if mine else None

    @property
    def points(self) -> int | None:
        """Your points."""
        mine = self.mine
        return mine.points if mine else None

    @property
    def is_mine(self) -> bool:
        """Are you the champion?"""
        return self.champion_id == self.my_id


def _row_of(rows: tuple[Row, ...], player_id: str) -> Row | None:
    return next((row for row in rows if row.player_id == player_id), None)


# --- from the messages ------------------------------------------------------------------------------------------------


def standings_in(message: LeagueStandingsUpdate, me: str) -> Standings:
    return Standings(tuple(message.standings), message.round_id, me)


def round_in(message: RoundAnnouncement, me: str) -> Round:
    return Round(message.round_id, tuple(message.matches), me)


def _match(one: AnnouncedMatch, me: str) -> RoundMatch:
    players = (one.player_A_id, one.player_B_id)
    opponent = players[1 - players.index(me)] if me in players else None
    return RoundMatch(one.match_id, one.game_type, *players, one.referee_endpoint, opponent)


def result_in(message: LeagueCompleted, me: str) -> LeagueResult:
    champion = message.champion
    return LeagueResult(
        champion.player_id,
        champion.display_name,
        champion.points,
        tuple(message.final_standings),
        message.total_rounds,
        message.total_matches,
        me,
    )


def error_in(message: GameError | LeagueError, trusted: bool) -> ReceivedError:
    code, said = message.error_code, message.error_description
    known = ERRORS[code].name if code in ERRORS else ""
    # One document puts the name into the description, another a sentence.
    name = message.error_name or (said if said in BY_NAME else None) or known or said or ""
    sentence = message.error_detail or (said if said != name else None)
    return ReceivedError(
        message.type,
        code,
        name,
        sentence or (ERRORS[code].when if code in ERRORS else ""),
        message.match_id if isinstance(message, GameError) else None,
        message.sender or "",
        message.action_required,
        message.retryable,
        message.consequence if isinstance(message, GameError) else None,
        trusted,
    )
