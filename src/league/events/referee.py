"""What becomes true at a Referee: the life of its matches."""

from __future__ import annotations

from typing import Any, ClassVar

from league.events.base import Event, Phase, Status
from league.protocol.experiment import Provenance


class MatchTaken(Event, frozen=True, kw_only=True):
    """An assignment was acknowledged. Tokens are kept as secrets `match/{match_id}/{attempt}`.

    `seed` is journalled before any invitation leaves, and drawn once per attempt (promise 12).
    """

    league_id: str
    round_id: int
    match_id: str
    attempt: int
    game_type: str
    players: tuple[str, str]
    endpoints: tuple[str, str]
    """Empty where the assignment does not say."""
    records: tuple[dict[str, int], dict[str, int]]
    suspended: tuple[bool, bool] = (False, False)
    move_seconds: float = 30.0
    retry_delays_s: tuple[float, ...] = (2.0, 2.0, 2.0)
    seed: str
    conventions: tuple[str, str] = ("SPEC", "SPEC")
    """How the manager says the players speak: the way to begin with."""
    known_as: tuple[str, str] = ("", "")
    """What the players may call themselves, too."""
    told: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    """Of which deviations the players were told by other referees of the league."""
    round_name: str = ""
    """What the manager calls the round, if not by its number."""
    record_wanted: bool = False
    """Does the manager take the record of the match within its report?"""


class PlayersLocated(Event, frozen=True, kw_only=True):
    """The assignment did not say where its players live; now it is known. `source` is what told it last."""

    match_id: str
    attempt: int
    endpoints: tuple[str, str]
    source: str


class RecordsShown(Event, frozen=True, kw_only=True):
    """The assignment did not have its players' records; these are what every call of this attempt says of them."""

    match_id: str
    attempt: int
    records: tuple[dict[str, int], dict[str, int]]


class MatchBegun(Event, frozen=True, kw_only=True):
    """The match left the queue: invitations go out."""

    match_id: str
    attempt: int


class AttemptFailed(Event, frozen=True, kw_only=True):
    """A call to a player failed: no answer (E001) or no connection (E009); `retry` is the retry it leads to, None after
    the last. Counted failures only.

    Of a timeout the record has what document 1 records (spec section 10.1): `rpc_code` -1 and the `timeout_seconds`.
    """

    match_id: str
    attempt: int
    player_id: str
    phase: Phase
    turn: int
    code: str
    detail: str
    retry: int | None
    rpc_code: int | None = None
    timeout_seconds: float | None = None
    max_retries: int | None = None


class WrongAnswer(Event, frozen=True, kw_only=True):
    """A player's answer was read and wrong (R-39 c); `left` corrections remain in the same window. `path` names the
    field, `requirement` the violated clause."""

    match_id: str
    attempt: int
    player_id: str
    phase: Phase
    turn: int
    code: str
    detail: str
    left: int
    path: str = ""
    requirement: str = ""


class PlayerJoined(Event, frozen=True, kw_only=True):
    """`convention`: how the invitation was put that it answered."""

    is_lazy: ClassVar[bool] = True

    match_id: str
    attempt: int
    player_id: str
    convention: str = "SPEC"


class MoveMade(Event, frozen=True, kw_only=True):
    """A legal choice; nobody else learns of it before the phase is over (promise 13)."""

    is_lazy: ClassVar[bool] = True

    match_id: str
    attempt: int
    player_id: str
    turn: int
    choice: str
    provenance: Provenance | None = None


class PlayerDeviated(Event, frozen=True, kw_only=True):
    """`compat` let an answer of a player pass: once per player and kind, with the clause."""

    match_id: str
    attempt: int
    player_id: str
    code: str
    requirement: str
    detail: str


class PlayerFaulted(Event, frozen=True, kw_only=True):
    """A final fault: this player loses the match for technical reasons."""

    match_id: str
    attempt: int
    player_id: str
    phase: Phase
    turn: int
    code: str
    detail: str


class NumberDrawn(Event, frozen=True, kw_only=True):
    match_id: str
    attempt: int
    number: int


class MatchDecided(Event, frozen=True, kw_only=True):
    """The result, before anybody is told (R-31). `game_result` and `details` go out as they stand here, always."""

    match_id: str
    attempt: int
    status: Status
    winner: str | None
    points: dict[str, int]
    reason: str
    game_result: dict[str, Any]
    details: dict[str, Any]


class PlayersTold(Event, frozen=True, kw_only=True):
    """Both calls with GAME_OVER have ended: the match gives up its place at the referee, and its report is due."""

    is_lazy: ClassVar[bool] = True

    match_id: str
    attempt: int


class ReportSettled(Event, frozen=True, kw_only=True):
    """The manager answered the report for good: ACCEPTED, or the code that ends reporting."""

    is_lazy: ClassVar[bool] = True

    match_id: str
    attempt: int
    answer: str


class MatchDropped(Event, frozen=True, kw_only=True):
    """A newer attempt of the same match arrived, or the league ended."""

    match_id: str
    attempt: int
    why: str
