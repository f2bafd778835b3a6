"""The events of a Referee: the course of its matches, in the order in which it usually happens."""

from __future__ import annotations

from typing import Any, ClassVar

from league.events.base import Event, Phase, Status
from league.protocol.message.experiment import Provenance


class MatchTaken(Event, frozen=True, kw_only=True):
    """The referee acknowledged an assignment. Tokens are stored as secrets `match/{match_id}/{attempt}`."""

    league_id: str
    round_id: int
    match_id: str
    attempt: int
    game_type: str
    players: tuple[str, str]
    endpoints: tuple[str, str]
    """Empty where the assignment does not name them."""
    records: tuple[dict[str, int], dict[str, int]]
    suspended: tuple[bool, bool] = (False, False)
    move_seconds: float = 30.0
    retry_delays_s: tuple[float, ...] = (2.0, 2.0, 2.0)
    seed: str
    """Drawn once for each attempt, and journalled before any invitation leaves (promise 12)."""
    conventions: tuple[str, str] = ("SPEC", "SPEC")
    """The players' calling conventions according to the manager; the referee tries them first."""
    known_as: tuple[str, str] = ("", "")
    """Other ids that the players may use for themselves."""
    told: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    """The deviations about which other referees of the league have already warned the players."""
    round_name: str = ""
    """What the manager calls the round, if not by its number."""
    record_wanted: bool = False
    """The manager accepts the record of the match within its report."""
    trusts_addresses: bool = False
    """The league runs with `--trust class`: an answer may count by the address it came from (spec section 9.7)."""
    fallbacks_refused: bool = False
    """A player whose language model did not choose loses the match."""
    signs: tuple[bool, bool] = (False, False)
    """The players that declared a key: they are held to their tokens (spec section 9.2)."""
    share_commitment: str = ""
    """The manager's promise of its share of the draw; empty if the referee draws alone (spec section 12.1)."""


class AssignmentCompleted(Event, frozen=True, kw_only=True):
    """The assignment did not name the players' endpoints, which `source` completed, or not their records: every call of
    this attempt shows these. None: as before."""

    match_id: str
    attempt: int
    endpoints: tuple[str, str] | None = None
    source: str = ""
    records: tuple[dict[str, int], dict[str, int]] | None = None


class MatchBegun(Event, frozen=True, kw_only=True):
    """The match left the queue, and invitations go out."""

    match_id: str
    attempt: int


class AttemptFailed(Event, frozen=True, kw_only=True):
    """A call to a player failed without an answer (E001) or a connection (E009), and the failure counts."""

    match_id: str
    attempt: int
    player_id: str
    phase: Phase
    turn: int
    code: str
    detail: str
    retry: int | None
    """The number of the retry that follows; None after the last."""
    reached: bool = False
    """The player answered, if only with an error."""
    # For a timeout, what document 1 records (spec section 10.1): the code -1 and the limit.
    rpc_code: int | None = None
    timeout_seconds: float | None = None
    max_retries: int | None = None


class WrongAnswer(Event, frozen=True, kw_only=True):
    """A player's answer could be read, but was wrong (R-39 c)."""

    match_id: str
    attempt: int
    player_id: str
    phase: Phase
    turn: int
    code: str
    detail: str
    left: int
    """The number of corrections that remain in the same window."""
    path: str = ""
    """The wrong field."""
    requirement: str = ""
    """The violated clause."""


class AnswerRefused(Event, frozen=True, kw_only=True):
    """An answer came as a request of its own and was refused. That costs nobody anything: its sender is not proven.

    Recorded once for each player, turn and code, up to a limit.
    """

    is_lazy: ClassVar[bool] = True

    match_id: str
    attempt: int
    player_id: str
    """The player that it names; empty if it names none of this match."""
    phase: Phase
    turn: int
    origin: str
    """The address it came from."""
    code: str
    detail: str


class PlayerJoined(Event, frozen=True, kw_only=True):
    """A player accepted its invitation."""

    is_lazy: ClassVar[bool] = True

    match_id: str
    attempt: int
    player_id: str
    convention: str = "SPEC"
    """The calling convention of the invitation that it answered."""
    by_address: bool = False
    """Only the address shows whose answer it is (`--trust class`)."""


class MoveMade(Event, frozen=True, kw_only=True):
    """A player made a legal choice. Nobody else learns it before the phase is over (promise 13)."""

    is_lazy: ClassVar[bool] = True

    match_id: str
    attempt: int
    player_id: str
    turn: int
    choice: str
    provenance: Provenance | None = None
    by_address: bool = False
    """Only the address shows whose choice it is (`--trust class`)."""
    signature: str | None = None
    """The player's signature under this choice and all before it."""
    talk: str = ""
    """What the player said to the other one with it."""
    took: float = 0.0
    """Seconds that the player took, in games with a clock."""


class PlayerDeviated(Event, frozen=True, kw_only=True):
    """`compat` accepted a deviation in a player's answer. Recorded once for each player and kind."""

    match_id: str
    attempt: int
    player_id: str
    code: str
    requirement: str
    detail: str


class PlayerFaulted(Event, frozen=True, kw_only=True):
    """A player's fault is final: the player loses the match for technical reasons."""

    match_id: str
    attempt: int
    player_id: str
    phase: Phase
    turn: int
    code: str
    detail: str
    reached: bool = False
    """The player answered, if only with an error."""
    provenance: Provenance | None = None
    """How the choice came about that is the fault."""


class DrawRequested(Event, frozen=True, kw_only=True):
    """All choices are in, and we hand them in with our seed. The choices are durable with this event, before that."""

    match_id: str
    attempt: int


class ShareReceived(Event, frozen=True, kw_only=True):
    """The manager holds all choices and our seed, and gave us its share of the draw: the match is decided."""

    match_id: str
    attempt: int
    share: str


class PlayerAwaited(Event, frozen=True, kw_only=True):
    """A player would lose, but the manager has the match wait: the player is asked again, in the same position."""

    match_id: str
    attempt: int
    player_id: str
    phase: Phase
    turn: int
    code: str
    why: str


class NumberDrawn(Event, frozen=True, kw_only=True):
    match_id: str
    attempt: int
    number: int


class MatchDecided(Event, frozen=True, kw_only=True):
    """The result, recorded before anybody learns it (R-31). `game_result` is always sent as it is, and
    `details` with the commitment and the last signatures of the match."""

    match_id: str
    attempt: int
    status: Status
    winner: str | None
    points: dict[str, int]
    reason: str
    game_result: dict[str, Any]
    details: dict[str, Any]


class PlayersTold(Event, frozen=True, kw_only=True):
    """Both calls with GAME_OVER have ended: the match frees its place at the referee, and its report goes out."""

    is_lazy: ClassVar[bool] = True

    match_id: str
    attempt: int


class ReportSettled(Event, frozen=True, kw_only=True):
    """The manager's final answer to the report: ACCEPTED, or the error code that ends reporting."""

    is_lazy: ClassVar[bool] = True

    match_id: str
    attempt: int
    answer: str
    corrected: tuple[str, ...] = ()
    """What the manager changed in the report."""


class MatchDropped(Event, frozen=True, kw_only=True):
    """The referee dropped a match, because a newer attempt arrived or the league ended."""

    match_id: str
    attempt: int
    why: str
