"""The events of the League Manager: the course of a league, in the order in which it usually happens."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from msgspec import Raw, Struct, ValidationError, field, json, structs

from league.events.base import AgentRole, AgentState, Event, Evidence, LeagueState, Status
from league.protocol.order_table import Order
from league.settings import LeagueSettings

# --- members ----------------------------------------------------------------------------------------------------------


class LeagueCreated(Event, frozen=True, kw_only=True):
    settings: LeagueSettings
    manager_key: str = ""
    """The public key of the manager; empty in journals from before managers had one."""


class SettingsChanged(Event, frozen=True, kw_only=True):
    """The operator restarted the manager with other rules about where agents may be or what proves a sender, with any
    other settings before somebody had registered, or without the secret of its key. None: the same as before."""

    settings: LeagueSettings | None = None

    endpoints: tuple[str, ...] | None = None
    trust: Literal["tokens", "class"] | None = None
    manager_key: str | None = None

    def applied_to(self, settings: LeagueSettings) -> LeagueSettings:
        """Return the settings after the change."""
        settings = self.settings or settings
        return structs.replace(
            settings,
            endpoints=self.endpoints or settings.endpoints,
            trust=self.trust or settings.trust,
        )


class AgentRegistered(Event, frozen=True, kw_only=True):
    """An agent became a member. `verify` is V of its token; K is stored as the secret `derive/{agent_id}/{serial}`."""

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
    """The id that it asked for but did not get; it may go on using it (R-104)."""
    shows_derived_tokens: bool = False
    """This referee says that it shows derived tokens: players can check that it is theirs (spec section 9.2)."""
    asks_before_losses: bool = False
    """This referee asks before it decides a technical loss (spec section 8.15)."""
    applicant_id: str = ""
    """The applicant it was before its approval, if it needed one."""
    came_openly: bool = False
    """A referee that showed neither the enrolment key nor the operator's approval."""
    public_key: str = ""
    """The key with which this player signs its choices (spec section 9.6)."""
    asked_name: str = ""
    """The name it asked for, if that was taken and it got a number (T-13)."""
    shares_draws: bool = False
    """This referee said that it can share its draws with the manager (spec section 12.1)."""
    shares_every_draw: bool = False
    """It can do so in every game."""


class AgentApplied(Event, frozen=True, kw_only=True):
    """An agent that needs the operator's approval tried to register (R-89, R-90).

    Recorded once for each name, endpoint and origin. The operator's approval names `applicant_id`.
    """

    applicant_id: str
    role: AgentRole
    display_name: str
    endpoint: str
    origin: str


class TokenRenewed(Event, frozen=True, kw_only=True):
    """A member registered again and got another token, beside its earlier ones (S-25)."""

    agent_id: str
    serial: int
    verify: str
    shows_derived_tokens: bool = False
    asks_before_losses: bool = False
    queries_only: bool = False
    """It was recognised by name and address alone, so the token is good for queries only."""
    readmitted: bool = False
    """It came back by the operator's order: its earlier tokens are not valid any more."""
    applicant_id: str = ""
    """The applicant it was before its approval, if it needed one."""
    public_key: str = ""
    shares_draws: bool = False
    shares_every_draw: bool = False
    shows_key: bool = False
    """It is a referee that showed the enrolment key."""


class AgentMoved(Event, frozen=True, kw_only=True):
    """A member has a new endpoint; it showed a token that is good for more than queries."""

    agent_id: str
    endpoint: str
    origin: str


class AgentProbed(Event, frozen=True, kw_only=True):
    """A probe before the start, or a match that the member refuses or does not report, showed something that people
    should know; or that is over."""

    is_lazy: ClassVar[bool] = True

    agent_id: str
    findings: str
    """In full sentences; empty if an earlier trouble is over."""
    is_trouble: bool = False
    """True if the agent cannot take part as it is."""
    unreported: tuple[str, ...] = ()
    """Matches that this referee has acknowledged and not reported in the usual time. It may be no fault, and says
    nothing about earlier findings."""


class TokenTakenUp(Event, frozen=True, kw_only=True):
    """The agent uses this one of its tokens; what others show it is derived from this token from now on."""

    agent_id: str
    serial: int


class IdentityContested(Event, frozen=True, kw_only=True):
    """Two agents seem to use one identity (S-25). Recorded once for each agent and sign."""

    agent_id: str
    sign: Literal["unproven", "unknown token", "two tokens"]
    detail: str


class AgentStateChanged(Event, frozen=True, kw_only=True):
    agent_id: str
    state: AgentState
    why: str


class DeviationRecorded(Event, frozen=True, kw_only=True):
    """`compat` accepted a deviation. Recorded once for each agent and kind."""

    agent_id: str
    code: str
    requirement: str
    detail: str


class RequestRefused(Event, frozen=True, kw_only=True):
    """A registration or a report was rejected, or a request showed a token derived for others (S-32).

    Recorded once for each sender, match and code, up to a limit. An answer that a referee refused is never recorded
    like this: it is in the record of its match.
    """

    request: Literal["registration", "report", "token", "answer"]
    role: AgentRole
    name: str
    """The sender's name for itself."""
    endpoint: str
    """The sender's endpoint, or the address it called from."""
    code: str
    detail: str
    match_id: str = ""
    attempt: int = 0


class DispatchLearned(Event, frozen=True, kw_only=True):
    """We learned how a third-party referee gets its matches: by which message, or by asking for them.

    Its next matches are dispatched by the same method (spec section 13.4).
    """

    agent_id: str
    method: str


# --- schedule and matches ---------------------------------------------------------------------------------------------


class Pairing(Struct, frozen=True):
    """A match of the schedule."""

    match_id: str
    player_a: str
    player_b: str


class ScheduleMade(Event, frozen=True, kw_only=True):
    """The rounds of the league. A second such event adds rounds at the end, for players that came late."""

    rounds: tuple[tuple[Pairing, ...], ...]
    byes: tuple[str | None, ...]
    """The player without a match in each round, if any."""


class RefereesNamed(Event, frozen=True, kw_only=True):
    """A plan of which referee conducts which match of later rounds; MatchAssigned decides.

    Recorded with the schedule, and whenever referees come or go.
    """

    referees: dict[str, str]
    """By match id."""


# States are recorded beside the facts that caused them, so that readers need no rules to follow a league.
class LeagueStateChanged(Event, frozen=True, kw_only=True):
    state: LeagueState


class RoundOpened(Event, frozen=True, kw_only=True):
    """The manager announces the round to players."""

    round_id: int


class MatchAssigned(Event, frozen=True, kw_only=True):
    """The referee got a lease for this attempt. It replaces every earlier attempt."""

    match_id: str
    referee_id: str
    attempt: int
    share_commitment: str = ""
    """The promise of the manager's share of the draws, if they are shared; itself it is a secret until then."""
    keys: dict[str, str] | None = None
    """The public keys of the players that sign, in force for this attempt; None in journals of 0.3.0."""


class DrawReleased(Event, frozen=True, kw_only=True):
    """A referee handed in the choices so far and its seed, and gets the manager's share. If nobody chooses after that
    draw, the match is decided."""

    match_id: str
    attempt: int
    referee_id: str
    handed_in: dict[str, Any]
    """`choices`, and `moves` in games with more than one turn."""
    draw_seed: str
    draw_commitment: str
    draw_share: str
    signatures: dict[str, Any] = field(default_factory=dict)
    """The last signature of each player."""


class AssignmentsSent(Event, frozen=True, kw_only=True):
    """The announcement's lead is over, and referees get their matches of this round."""

    # If the event is lost, referees get their matches once more.
    is_lazy: ClassVar[bool] = True

    round_id: int


class MatchLost(Event, frozen=True, kw_only=True):
    """The manager gave up the referee of this attempt (R-52); the match waits for another one."""

    match_id: str
    attempt: int
    why: str
    counts: bool = True
    """False if the referee never acknowledged the match (S-28): the attempt is not one of the three."""
    is_silent: bool = False
    """True if the referee does not answer any more, which people were told when it was noticed."""


class MatchParked(Event, frozen=True, kw_only=True):
    """Three attempts failed, so the operator must decide (R-52)."""

    match_id: str


class MatchUnparked(Event, frozen=True, kw_only=True):
    """A parked match got three more attempts: by the operator's order, or (without a key) because a referee is back."""

    match_id: str
    key: str = ""


class ResultAccepted(Event, frozen=True, kw_only=True):
    """A match has this result, as reported and judged."""

    match_id: str
    attempt: int
    referee_id: str
    status: Status
    winner: str | None
    points: dict[str, int]
    details: dict[str, Any]
    verified: bool
    """The report does not deviate, and its seed gives its number. What that rests on says `ResultJudged`."""
    reported_at: str
    by_margin: bool = False
    """The points are the game's own, not those of wins and draws."""
    corrected: tuple[str, ...] = ()
    """What the manager changed in the report, because the report itself contradicts it."""
    origin: str = ""
    """`--trust class`: the address that a report without a token came from."""


class ResultJudged(Event, frozen=True, kw_only=True):
    """What the result of a match rests on, as it was found at the end of its round, or later (spec section 8.18)."""

    match_id: str
    attempt: int
    evidence: Evidence
    unsigned: tuple[str, ...] = ()
    doubt: str = ""


class MatchRecordKept(Event, frozen=True, kw_only=True):
    """The referee's own events of a match, fetched after its report."""

    # If the event is lost, the manager asks for the record again.
    is_lazy: ClassVar[bool] = True

    match_id: str
    attempt: int
    referee_id: str
    written: Raw = field(name="record")
    """As JSON, because few readers of a journal look into it."""

    @property
    def record(self) -> tuple[dict[str, Any], ...]:
        """The referee's events (Any: they may contain anything); none if what is stored is not a list of objects."""
        try:
            return _RECORD.decode(self.written)
        except ValidationError:
            return ()

    @property
    def lines(self) -> list[Raw]:
        """The referee's events, each as JSON; none if what is stored is not a list."""
        try:
            return _LINES.decode(self.written)
        except ValidationError:
            return []


# Made once: a journal may contain thousands of records.
_RECORD = json.Decoder(tuple[dict[str, Any], ...])
_LINES = json.Decoder(list[Raw])


class WalkoverDecided(Event, frozen=True, kw_only=True):
    """A match is decided without play, because a player was withdrawn (R-48)."""

    match_id: str
    winner: str | None
    withdrawn: tuple[str, ...]
    points: dict[str, int] = field(default_factory=dict)
    by_margin: bool = False
    """The points are the game's own, not those of wins and draws."""


class ResultVoided(Event, frozen=True, kw_only=True):
    """The operator voided a result; the match is played again."""

    match_id: str
    key: str = ""
    why: str = ""
    """In leagues before format 5: why the manager voided it, without a key."""


# --- silent players ---------------------------------------------------------------------------------------------------

PauseCause = Literal["outage", "player"]
"""At whose expense a match waits: at nobody's while many players are silent, or on the account of this player."""


class MatchPaused(Event, frozen=True, kw_only=True):
    """A player would lose, but its match waits a minute for it: the referee asks it again, in the same position."""

    match_id: str
    attempt: int
    turn: int
    player_id: str
    code: str
    cause: PauseCause
    why: str
    behind: bool = False
    """The opponent was ahead, according to the referee."""


class LossAllowed(Event, frozen=True, kw_only=True):
    """A referee asked before it decided a technical loss, and there is nothing to wait for."""

    match_id: str
    attempt: int
    turn: int
    player_id: str
    code: str
    reached: bool | None = None
    """Whether the player answered a probe of our own; None if it was not probed."""
    pauses_left: int | None = None
    """How often a match could still have waited on the account of the player; None before format 5."""


# --- the end, and the operator's orders -------------------------------------------------------------------------------


class RoundFinished(Event, frozen=True, kw_only=True):
    round_id: int
    statement: dict[str, Any] = field(default_factory=dict)
    """What the manager signed (spec section 9.8), as it was signed; empty before managers had keys."""
    signature: str = ""


class LeagueFinished(Event, frozen=True, kw_only=True):
    champion: str
    statement: dict[str, Any] = field(default_factory=dict)
    """What became true since the last round was signed; empty if nothing did."""
    signature: str = ""


class LeagueReopened(Event, frozen=True, kw_only=True):
    """The operator has a match played again after the end, so there will be another end."""


class OrderCarriedOut(Event, frozen=True, kw_only=True):
    """The operator's order is carried out. Orders that change a match have events of their own, with the same key."""

    order: Order
    target: str = ""
    """The id of whom or what it is about."""
    key: str
    named: str = ""
    """The target as the operator named it, if that was not its id."""


# --- bulletins --------------------------------------------------------------------------------------------------------

BulletinKind = Literal["standings_update", "final_standings", "round_completed", "round_announced", "league_completed"]


class Bulletin(Struct, frozen=True, cache_hash=True):
    """A message for every member. Members get their bulletins in order.

    For each round: the announcement, the final standings (for players) and ROUND_COMPLETED; at the end LEAGUE_COMPLETED
    with the number of the last round. Updates of the standings belong to no round (0).
    """

    kind: BulletinKind
    round_id: int
    edition: int = 0
    """For LEAGUE_COMPLETED: how often the league was reopened before."""


class BulletinsDelivered(Event, frozen=True, kw_only=True):
    """The delivery of a bulletin to each of these members has ended, answered or not.

    After a restart, only later bulletins are sent again.
    """

    bulletins: dict[str, Bulletin]
