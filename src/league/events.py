"""What has become true: the events of the three journals. State changes only by applying them; everything that people
look at later is a fold of them. No event ever holds a token: secrets are kept beside the events (machine.Step.secrets).
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

AgentRole = Literal["player", "referee"]
AgentState = Literal["INIT", "REGISTERED", "ACTIVE", "SUSPENDED", "SHUTDOWN"]
LeagueState = Literal["WAITING_FOR_REGISTRATIONS", "CREATING_SCHEDULE", "RUNNING_LEAGUE", "LEAGUE_COMPLETED"]
Status = Literal["WIN", "DRAW", "TECHNICAL_LOSS"]
Phase = Literal["join", "move"]


class Event(Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="event", tag=True):
    """Something that happened, and when (seconds since the epoch)."""

    at: float


# --- any agent --------------------------------------------------------------------------------------------------------


class Enrolled(Event, frozen=True, kw_only=True):
    """The manager accepted us. The token is kept as the secret `token/{serial}`."""

    agent_id: str
    league_id: str
    serial: int
    derived_tokens: bool
    """The manager derives its tokens as section 9 says, so that what it sends can be checked."""


class LeagueEnded(Event, frozen=True, kw_only=True):
    """LEAGUE_COMPLETED reached this agent."""

    champion: str


# --- the manager ------------------------------------------------------------------------------------------------------


class LeagueSettings(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a league is played by; fixed when its journal is made."""

    league_id: str
    game_type: str = "even_odd"
    players: int = 4
    referees: int = 1
    max_referees: int = 10
    double: bool = False
    rounds: int | None = None
    start: Literal["when-full", "manual"] = "when-full"
    profile: Literal["compat", "strict"] = "compat"
    move_seconds: float = 30.0
    retry_delays_s: tuple[float, ...] = (2.0, 2.0, 2.0)
    announcement_wait_s: float = 1.0
    announcement_lead_s: float = 0.0
    standings_interval_s: float = 1.0
    unique_names: bool = True
    late_referees: bool = True
    max_concurrent_matches_limit: int = 10
    tiebreakers: tuple[str, ...] = ("points", "wins", "draws", "head_to_head")
    enrolment: Literal["open", "key"] = "open"


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


class TokenRenewed(Event, frozen=True, kw_only=True):
    """The same agent came back (R-36): a new token beside the old one."""

    agent_id: str
    serial: int
    verify: str


class TokenTakenUp(Event, frozen=True, kw_only=True):
    """The newest token was used for the first time: older ones are void."""

    agent_id: str
    serial: int


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


class Pairing(Struct, frozen=True):
    """A match of the schedule."""

    match_id: str
    player_a: str
    player_b: str


class ScheduleMade(Event, frozen=True, kw_only=True):
    rounds: tuple[tuple[Pairing, ...], ...]
    byes: tuple[str | None, ...]


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
    """The lead is over: referees get their matches of this round."""

    round_id: int


class MatchLost(Event, frozen=True, kw_only=True):
    """The referee of this attempt is given up (R-52); the match waits for another."""

    match_id: str
    attempt: int
    why: str


class MatchParked(Event, frozen=True, kw_only=True):
    """Three attempts failed: the operator must decide (R-52)."""

    match_id: str


class MatchUnparked(Event, frozen=True, kw_only=True):
    """The operator gave a parked match three more attempts."""

    match_id: str
    key: str


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

    match_id: str
    attempt: int
    referee_id: str
    record: tuple[dict[str, Any], ...]


class WalkoverDecided(Event, frozen=True, kw_only=True):
    """A match that is not played because a player was withdrawn (R-48)."""

    match_id: str
    winner: str | None
    withdrawn: tuple[str, ...]


class ResultVoided(Event, frozen=True, kw_only=True):
    """The operator ended a result's force; the match is played again."""

    match_id: str
    key: str


class RoundFinished(Event, frozen=True, kw_only=True):
    round_id: int


class LeagueFinished(Event, frozen=True, kw_only=True):
    champion: str


class PlayerWithdrawn(Event, frozen=True, kw_only=True):
    agent_id: str
    key: str


class LeaguePaused(Event, frozen=True, kw_only=True):
    key: str


class LeagueResumed(Event, frozen=True, kw_only=True):
    key: str


class LeagueStartOrdered(Event, frozen=True, kw_only=True):
    key: str


class Told(Event, frozen=True, kw_only=True):
    """Deliveries of completions to an agent have ended up to this number (2r-1 final standings of round r,
    2r ROUND_COMPLETED r, then LEAGUE_COMPLETED): after a restart only later ones go out again."""

    agent_id: str
    upto: int


# --- a referee --------------------------------------------------------------------------------------------------------


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
    records: tuple[dict[str, int], dict[str, int]]
    suspended: tuple[bool, bool] = (False, False)
    move_seconds: float = 30.0
    seed: str


class MatchBegun(Event, frozen=True, kw_only=True):
    """The match left the queue: invitations go out."""

    match_id: str
    attempt: int


class AttemptFailed(Event, frozen=True, kw_only=True):
    """A call to a player failed: no answer (E001) or no connection (E009); `retry` is the retry it leads to, None after
    the last. Counted failures only."""

    match_id: str
    attempt: int
    player_id: str
    phase: Phase
    turn: int
    code: str
    detail: str
    retry: int | None


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
    match_id: str
    attempt: int
    player_id: str


class MoveMade(Event, frozen=True, kw_only=True):
    """A legal choice; nobody else learns of it before the phase is over (promise 13)."""

    match_id: str
    attempt: int
    player_id: str
    turn: int
    choice: str


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

    match_id: str
    attempt: int


class ReportSettled(Event, frozen=True, kw_only=True):
    """The manager answered the report for good: ACCEPTED, or the code that ends reporting."""

    match_id: str
    attempt: int
    answer: str


class MatchDropped(Event, frozen=True, kw_only=True):
    """A newer attempt of the same match arrived, or the league ended."""

    match_id: str
    attempt: int
    why: str


# --- a player ---------------------------------------------------------------------------------------------------------


class RoundTold(Event, frozen=True, kw_only=True):
    """The manager announced a round to us, or told us that it is completed."""

    round_id: int
    completed: bool


class InvitationAnswered(Event, frozen=True, kw_only=True):
    """`said`: the attempt as the invitation numbers it, 0 if it does not; `attempt` is told apart by referee and
    conversation then. `trusted`: the referee proved who it is, or under this manager nobody can."""

    match_id: str
    attempt: int
    game_type: str
    opponent_id: str
    role: str
    accepted: bool
    round_id: int
    referee_id: str
    conversation_id: str
    player_id: str = ""
    said: int = 0
    trusted: bool = True


class ChoiceGiven(Event, frozen=True, kw_only=True):
    """What we answered: the same call again gets the same answer."""

    match_id: str
    attempt: int
    turn: int
    choice: str
    referee_id: str = ""


class ChoiceRefused(Event, frozen=True, kw_only=True):
    """The referee called this choice wrong: the next call asks the strategy anew."""

    match_id: str
    attempt: int
    code: str
    referee_id: str = ""
    turn: int = 1


class ChoiceFailed(Event, frozen=True, kw_only=True):
    """The strategy raised, or answered with something that is no text: the referee got an error instead."""

    match_id: str
    attempt: int
    turn: int
    detail: str


class GameEnded(Event, frozen=True, kw_only=True):
    """GAME_OVER: what the referee said, for history and strategies. `trusted` as in InvitationAnswered."""

    match_id: str
    attempt: int
    game_type: str
    opponent_id: str
    status: Status
    winner: str | None
    game_result: dict[str, Any]
    referee_id: str = ""
    trusted: bool = True


EVENTS: tuple[type[Event], ...] = tuple(Event.__subclasses__())
