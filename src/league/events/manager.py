"""What becomes true at the League Manager: the life of a league."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from msgspec import Raw, Struct, field, json

from league.events.base import AgentRole, AgentState, Event, LeagueState, Status
from league.settings import LeagueSettings


class LeagueCreated(Event, frozen=True, kw_only=True):
    settings: LeagueSettings


class AgentRegistered(Event, frozen=True, kw_only=True):
    """An agent became a member. `verify` is V of its token; K is the secret `derive/{agent_id}/{serial}`."""

    role: AgentRole
    agent_id: str
    display_name: str
    version: str
    endpoint: str
    origin: str
    game_types: tuple[str, ...]
    capacity: int = 1
    serial: int
    verify: str
    convention: str = "SPEC"
    known_as: str = ""
    """The id it asked for and did not get; it may go on using it (R-104)."""
    shows_derived_tokens: bool = False
    """A referee that says so: players can check that it is theirs (spec section 9.2)."""
    applicant_id: str = ""
    """What it waited for approval as, if it did."""


class AgentApplied(Event, frozen=True, kw_only=True):
    """Somebody who may not register without the operator tried to (R-89, R-90): once for each name, endpoint and
    origin. The operator's approval names `applicant_id`."""

    applicant_id: str
    role: AgentRole
    display_name: str
    endpoint: str
    origin: str


class AgentApproved(Event, frozen=True, kw_only=True):
    """The operator lets an applicant in: its next registration, and only that one, is judged as any other."""

    applicant_id: str
    key: str
    target: str
    """How the order named it."""


class AgentRejected(Event, frozen=True, kw_only=True):
    """The operator turns an applicant away: its registrations are refused, unless it is approved after all."""

    applicant_id: str
    key: str
    target: str
    """How the order named it."""


class TokenRenewed(Event, frozen=True, kw_only=True):
    """The same agent came back (S-25): a new token beside the earlier ones. Got by name and address alone, it is good
    for queries only."""

    agent_id: str
    serial: int
    verify: str
    shows_derived_tokens: bool = False
    queries_only: bool = False
    applicant_id: str = ""
    """What it waited for approval as, if it did."""


class AgentMoved(Event, frozen=True, kw_only=True):
    """A member that showed a token of full standing lives elsewhere now."""

    agent_id: str
    endpoint: str
    origin: str


class TokenTakenUp(Event, frozen=True, kw_only=True):
    """The agent goes by this one of its tokens: what it is shown is derived from it."""

    agent_id: str
    serial: int


class IdentityContested(Event, frozen=True, kw_only=True):
    """Two agents seem to go by one name (S-25): once per agent and sign of it."""

    agent_id: str
    sign: Literal["unproven", "unknown token", "two tokens"]
    detail: str


class AgentStateChanged(Event, frozen=True, kw_only=True):
    agent_id: str
    state: AgentState
    why: str


class DeviationRecorded(Event, frozen=True, kw_only=True):
    """`compat` let something pass: once per agent and kind, with the clause."""

    agent_id: str
    code: str
    requirement: str
    detail: str


class RequestRefused(Event, frozen=True, kw_only=True):
    """A registration or a report was refused, or a request that showed a token derived for others (S-32): once per
    sender, match and code, and so many at most. `name` is how the sender calls itself, `endpoint` where it lives or
    comes from."""

    request: Literal["registration", "report", "token"]
    role: AgentRole
    name: str
    endpoint: str
    code: str
    detail: str
    match_id: str = ""
    attempt: int = 0


class DispatchLearned(Event, frozen=True, kw_only=True):
    """What made a referee by others play a match: the message it was given it by, or that it asked for its matches.
    Its next ones are dispatched by the same method (spec section 13.4)."""

    agent_id: str
    method: str


class Pairing(Struct, frozen=True):
    """A match of the schedule."""

    match_id: str
    player_a: str
    player_b: str


class ScheduleMade(Event, frozen=True, kw_only=True):
    """The rounds of the league; made again, it adds rounds at the end, for players that came late."""

    rounds: tuple[tuple[Pairing, ...], ...]
    byes: tuple[str | None, ...]


class RefereesNamed(Event, frozen=True, kw_only=True):
    """Who will play which match of the rounds to come, by match id: when the schedule was made, and again when referees
    came or went. MatchAssigned decides."""

    referees: dict[str, str]


class LeagueStateChanged(Event, frozen=True, kw_only=True):
    state: LeagueState


class RoundOpened(Event, frozen=True, kw_only=True):
    """The round is being announced to players."""

    round_id: int


class MatchAssigned(Event, frozen=True, kw_only=True):
    """A lease: this referee, this attempt. Every earlier attempt is superseded."""

    match_id: str
    referee_id: str
    attempt: int


class AssignmentsSent(Event, frozen=True, kw_only=True):
    """The lead is over: referees get their matches of this round. If it is lost, they get them once more."""

    is_lazy: ClassVar[bool] = True

    round_id: int


class MatchLost(Event, frozen=True, kw_only=True):
    """The referee of this attempt is given up (R-52); the match waits for another."""

    match_id: str
    attempt: int
    why: str
    counts: bool = True
    """Is it one of the three attempts? Not if its referee never acknowledged it (S-28)."""


class MatchParked(Event, frozen=True, kw_only=True):
    """Three attempts failed: the operator must decide (R-52)."""

    match_id: str


class MatchUnparked(Event, frozen=True, kw_only=True):
    """A parked match has three more attempts: by the operator's order, or (without a key) because a referee is back."""

    match_id: str
    key: str = ""


class ResultAccepted(Event, frozen=True, kw_only=True):
    """The result in force of a match, as reported and judged."""

    match_id: str
    attempt: int
    referee_id: str
    status: Status
    winner: str | None
    points: dict[str, int]
    details: dict[str, Any]
    verified: bool
    reported_at: str


class MatchRecordKept(Event, frozen=True, kw_only=True):
    """What only the referee knew of a match, fetched after its report: its events, as it gave them."""

    is_lazy: ClassVar[bool] = True

    match_id: str
    attempt: int
    referee_id: str
    written: Raw = field(name="record")
    """As JSON: hardly anybody who reads a journal looks into it."""

    @property
    def record(self) -> tuple[dict[str, Any], ...]:
        """The referee's events (Any: they may say anything)."""
        return _RECORD.decode(self.written)

    @property
    def lines(self) -> list[Raw]:
        """The referee's events, each as JSON."""
        return _LINES.decode(self.written)


_RECORD = json.Decoder(tuple[dict[str, Any], ...])
_LINES = json.Decoder(list[Raw])


class WalkoverDecided(Event, frozen=True, kw_only=True):
    """A match that is not played because a player was withdrawn (R-48)."""

    match_id: str
    winner: str | None
    withdrawn: tuple[str, ...]


class ResultVoided(Event, frozen=True, kw_only=True):
    """The operator ended a result's force, or an outage did (`why`, without a key); the match is played again."""

    match_id: str
    key: str = ""
    why: str = ""


class OutageBegan(Event, frozen=True, kw_only=True):
    """Half of the players, or more, are gone at once: the league waits for them (spec section 8.15)."""

    round_id: int
    missing: tuple[str, ...]
    reason: str


class OutageEnded(Event, frozen=True, kw_only=True):
    """The league goes on: they answered, the operator said so (`key`), or the time is over. `missing`: who still is."""

    why: Literal["answered", "operator", "time"]
    missing: tuple[str, ...] = ()
    lasted_s: float
    key: str = ""


class PlayersProbed(Event, frozen=True, kw_only=True):
    """After a technical loss of somebody out of reach all players were probed: too few are gone for an outage."""

    missing: tuple[str, ...] = ()


class MatchInterrupted(Event, frozen=True, kw_only=True):
    """While this attempt was played, its manager or its referee was gone: nobody loses it by having been out of
    reach."""

    match_id: str
    attempt: int
    why: str


class MatchHeld(Event, frozen=True, kw_only=True):
    """A technical loss of somebody out of reach was reported during an outage, or of an interrupted attempt, or one of
    a player that declined: it is refused, and the match is played again."""

    match_id: str
    attempt: int
    players: tuple[str, ...] = ()
    """Who could not be reached."""
    declined: tuple[str, ...] = ()
    """For whom a service thinks that did not answer (spec section 8.17)."""
    why: str


class RoundFinished(Event, frozen=True, kw_only=True):
    round_id: int


class LeagueFinished(Event, frozen=True, kw_only=True):
    champion: str


class LeagueReopened(Event, frozen=True, kw_only=True):
    """The operator plays a match again after the end: there will be another end."""


class LeagueClosed(Event, frozen=True, kw_only=True):
    """The operator closed the league: nothing is played again any more."""

    key: str


class PlayerWithdrawn(Event, frozen=True, kw_only=True):
    agent_id: str
    key: str


class LeaguePaused(Event, frozen=True, kw_only=True):
    key: str


class LeagueResumed(Event, frozen=True, kw_only=True):
    key: str


class LeagueStartOrdered(Event, frozen=True, kw_only=True):
    key: str


BulletinKind = Literal["standings_update", "final_standings", "round_completed", "round_announced", "league_completed"]


class Bulletin(Struct, frozen=True, cache_hash=True):
    """What every member is sent in order: each round's announcement, its final standings (players only) and
    ROUND_COMPLETED; at the end LEAGUE_COMPLETED, with the number of the last round. An update of the standings belongs
    to no round (0). Only completions are journalled."""

    kind: BulletinKind
    round_id: int
    edition: int = 0
    """Of LEAGUE_COMPLETED: how often the league was reopened before."""


class BulletinsDelivered(Event, frozen=True, kw_only=True):
    """The delivery of a bulletin to each of these members has ended, answered or not: after a restart only later ones
    go out again."""

    bulletins: dict[str, Bulletin]
