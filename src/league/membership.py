"""Membership in a league, shared by referee and player (spec section 7.2).

Theory of operation. `Membership` is what we know of our manager and what it knows of us: ids, tokens, and how it wants
to be spoken to. Only the events Registered, ConventionLearned and DeviationRecorded change it, live and in replay.

`Registration` is the request to become a member. It is in one of these states, none of which survives a crash:

- *calling*: a request is on its way, and repeated until the manager answers;
- *pending*: the operator must approve us first, so we ask again every few seconds;
- *rejected*: the manager does not want us, and we have stopped asking;
- *at rest*: we are a member, or nobody has started us yet.

`resume` begins to register at the start of the process if the journal says that it is necessary. Later, a manager that
does not know our token makes us register again (`request_refused`), once until it accepts a request. If it has begun
another league meanwhile, `on_new_league` is called before Registered becomes true. Registering also finds out how a
third-party manager is spoken to (spec section 13.1): to register twice is harmless.

A league may have several managers, of which one works at a time: the others stand by. We know their endpoints from the
command line and from the answer to our registration. Requests go to one of them until it does not answer, or answers
that it cannot serve us now; the next request goes to the next one. Which one that is, is not journalled.

What must never happen: a token is shown to anybody but the manager that gave it; we register again and again while the
manager refuses us; a token of an earlier league opens anything in this one.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple

from msgspec import Struct, structs

from league.calling.delivery import (
    Delivery,
    Ending,
    FailedAttempt,
    Interpretation,
    Policy,
    Reaction,
)
from league.calling.line import Line, Purpose
from league.calling.role import Context, RoleMachine
from league.events import AgentState, ConventionLearned, DeviationRecorded, Registered
from league.machine import Address, Content, Failure, Letter, Refusal, Step
from league.protocol.conventions import Convention
from league.protocol.errors import (
    ERRORS,
    PeerError,
    Retry,
    Stage,
    Violation,
    as_error,
)
from league.protocol.message.envelope import Unsealed, seal
from league.protocol.message.exchanges import EXCHANGES
from league.protocol.message.messages import (
    LeagueRegisterRequest,
    LeagueRegisterResponse,
    Message,
    RefereeRegisterRequest,
    RefereeRegisterResponse,
)
from league.protocol.message.parts import PlayerMeta, RefereeMeta
from league.protocol.signing import tokens
from league.protocol.versions import CURRENT, SHARED_DRAWS, TROUBLE

DERIVED: Final = "derived"
"""`token_scheme` of a manager whose tokens can be checked, and of a referee that shows them (sections 9.2, 9.3)."""
REGISTRATIONS: Final = 2
"""Number of registrations whose manager's tokens we accept: a message from before the newest may be on its way."""
APPROVAL_S: Final = 5.0
"""How often to ask again while the operator has not decided (R-89)."""
MANAGERS: Final = 8
"""Maximum number of managers of one league that we know."""
DEVIATIONS: Final = 1_000
"""Maximum number of deviations recorded, of all agents together."""
EARLY: Final = 16
"""Maximum number of letters held until our registration is answered; third-party managers say some things only once."""
NO_MANAGER: Final = ": this is "
"""How an agent that is no manager begins to say who it is when somebody registers with it."""
LONGEST_WORD: Final = 200
LONGEST_DETAIL: Final = 300
LONGEST_NAME: Final = 80
_MAY_HELP: Final = (Retry.YES, Retry.LATER)
_UNREAD: Final = frozenset({"E003", "E007", "E034", "E035", "E036", "E038"})
"""The errors of a manager that looked for our message in the wrong place: it lacks nothing."""
_FOR_PLAYERS_ONLY: Final = "6001"
"""How managers by D1 refuse every question of a referee (D1 7.1): it says nothing about our token."""
_BUG: Final = "E099"

OF_MEMBERSHIP: Final = frozenset({Registered, ConventionLearned, DeviationRecorded})
"""The events that change a membership."""
Answer = RefereeRegisterResponse | LeagueRegisterResponse
FindKey = Callable[[str], str | None]
"""Returns the enrolment key of a league, if we have it."""
MayPlay = Callable[[str], bool]
"""True for a game that we play if a league asks for it."""


class Agreement(NamedTuple):
    """What our manager and we agreed on when we registered. Third-party managers agree to nothing of it."""

    derived_tokens: bool = False
    """The manager's tokens can be derived from ours."""
    asks_before_losses: bool = False
    """We ask the manager before we decide a technical loss."""


class Registrations(Struct):
    """Our registrations, by their numbers."""

    newest: int = 0
    """0 before the first one."""
    first: int = 1
    """The first one in this league."""
    endpoint: str = ""
    """Where we are, as the newest one says."""


class Membership:
    """What we know of our manager, and what it knows of us."""

    def __init__(
        self,
        meta: PlayerMeta | RefereeMeta,
        manager_endpoint: str,
        context: Context,
        *,
        wished_id: str = "",
        find_key: FindKey = lambda _: None,
        may_play: MayPlay = lambda _: False,
    ) -> None:
        self.meta = _complete(meta)
        self._may_play = may_play
        self.agent_id = ""
        self.league_id = ""
        self.registrations = Registrations()
        self.agreement = Agreement()
        self.token: str | None = None
        """Our token for the manager; third-party managers may give none."""
        self.manager_key = ""
        """The public key of the manager; empty if it named none."""
        self.managers = ManagerEndpoints(manager_endpoint.split(","))
        context.calls.on_failure = self._call_failed
        self.registration = Registration(self, context, find_key)
        self._context = context
        self.sender = f"{self.role}:{wished_id or '-'.join(self.meta.display_name.split())}"
        """Our name in messages; before we have an id, the id we wish for (R-37) or our display name without blanks."""
        self._deviations: set[tuple[str, str, str]] = set()
        self._manager_tokens: deque[str] = deque(maxlen=REGISTRATIONS)

    # --- who we are ---------------------------------------------------------------------------------------------------

    @property
    def role(self) -> str:
        if isinstance(self.meta, RefereeMeta):
            return "referee"
        return "player"

    @property
    def is_registered(self) -> bool:
        return self.registrations.newest > 0

    def plays(self, game_type: str) -> bool:
        """Return True if we play this game, whether we said so or not."""
        return game_type in self.meta.game_types or self._may_play(game_type)

    def sealed(self, now: float, conversation_id: str) -> dict[str, Any]:
        """Return the envelope of a message of ours (Any: as `seal` has it)."""
        return seal(self.sender, now, conversation_id)

    # --- who our manager is -------------------------------------------------------------------------------------------

    @property
    def endpoint(self) -> str:
        """The endpoint of the manager that we turn to."""
        return self.managers.current

    def _call_failed(self, delivery: Delivery) -> None:
        to = delivery.attempt.to
        if delivery.peer == tokens.MANAGER and to is not None:
            self.managers.failed(to.endpoint)

    def move(self, endpoint: str, now: float, *, registers: bool) -> None:
        """Take note that others reach us at another endpoint from now on; tell the manager, if we register at all."""
        self.meta = structs.replace(self.meta, contact_endpoint=endpoint)
        if registers:
            self.registration.stop()
            self.registration.rejected = None
            self.registration.register(now)

    @property
    def manager(self) -> Address:
        """The address for requests to the manager, with the token and the convention."""
        return Address(tokens.MANAGER, self.endpoint, self.token, self.convention)

    @property
    def convention(self) -> Convention:
        """The convention in which the manager is called."""
        return self._context.book.conventions.get(tokens.MANAGER) or Convention.SPEC

    def line(self) -> Line:
        """Open a line for a message that the manager must understand, and that may arrive twice."""
        return self._context.book.line(self.manager, Purpose.TELL)

    def is_managers(self, token: str | None) -> bool:
        """Return True if this is our manager's token. Only for managers that derive their tokens."""
        return any(tokens.same(token, right) for right in self._manager_tokens)

    def check_manager(self, read: Unsealed) -> None:
        """Check envelope, token, role and league, in this order, before the message's own fields (section 10.3)."""
        _raise(read.until(Stage.ENVELOPE))
        token = read.field("auth_token")
        if not isinstance(token, str | None):
            _raise(read.until(Stage.AUTHORITY))
        if self.agreement.derived_tokens:
            if not token:
                raise PeerError("E011", "auth_token is missing")
            if not self.is_managers(str(token)):
                raise PeerError(
                    "E012",
                    "this is not our manager's token",
                    tokens.refused(str(token)),
                )
        _raise(read.until(Stage.AUTHORITY))
        league_id = read.field("league_id")
        # Third-party managers may call one league by several names.
        if self.agreement.derived_tokens and isinstance(league_id, str) and league_id not in ("", self.league_id):
            raise PeerError(
                "E028",
                f"this {self.role} plays in {self.league_id!r}",
                {"league_id": league_id[:80]},
            )

    def record(
        self,
        violations: Iterable[Violation],
        now: float,
        agent_id: str = tokens.MANAGER,
    ) -> None:
        """Record that the manager, or this agent, deviates from the documents: once per agent and kind."""
        agent_id = agent_id[:LONGEST_NAME]
        for violation in violations:
            kind = (agent_id, violation.code, violation.requirement)
            # A peer that does everything wrong must not fill the journal.
            if kind not in self._deviations and len(self._deviations) < DEVIATIONS:
                self._context.happened(
                    DeviationRecorded(
                        at=now,
                        agent_id=agent_id,
                        code=violation.code,
                        requirement=violation.requirement,
                        detail=violation.detail[:LONGEST_DETAIL],
                    )
                )

    # --- what events make true ----------------------------------------------------------------------------------------

    def apply(self, event: Registered | ConventionLearned | DeviationRecorded) -> None:
        """Make an event true. The token of a registration is among the secrets already."""
        if isinstance(event, DeviationRecorded):
            self._deviations.add((event.agent_id, event.code, event.requirement))
            return
        self._context.book.apply(event)
        if isinstance(event, Registered):
            self._registered(event)

    def _registered(self, event: Registered) -> None:
        self.agent_id = event.agent_id
        self.league_id = event.league_id
        self.sender = f"{self.role}:{event.agent_id}"
        self.registrations.newest = event.serial
        self.agreement = Agreement(event.derived_tokens, event.asks_before_losses)
        if event.new_league:
            self.registrations.first = event.serial
            self.token = None
            self._deviations.clear()
            self._manager_tokens.clear()
        self.registrations.endpoint = event.endpoint
        self.managers.add(event.manager_endpoints)
        self.manager_key = event.manager_key
        # A registration without a token leaves us with the one we had.
        self.token = self._context.secrets.get(f"token/{event.serial}", self.token)
        if self.agreement.derived_tokens and self.token is not None:
            key = tokens.deriver(self.token)
            manager_token = tokens.derive(key, tokens.MANAGER, self.agent_id, self.league_id)
            self._manager_tokens.append(manager_token)

    def snapshot(self) -> dict[str, Any]:
        """Return what events built, as plain data."""
        return {
            "agent_id": self.agent_id,
            "league_id": self.league_id,
            "serial": self.registrations.newest,
            "registered_at": self.registrations.endpoint,
            "manager_key": self.manager_key,
            **self.agreement._asdict(),
            "convention": self.convention.value,
            "deviations": sorted(self._deviations),
        }


class ManagerEndpoints:
    """The endpoints of the managers of a league, and the one that we turn to."""

    def __init__(self, endpoints: Sequence[str]) -> None:
        self._endpoints = list(endpoints)
        self.current = self._endpoints[0]

    @property
    def known(self) -> Sequence[str]:
        """All of them."""
        return self._endpoints

    def __contains__(self, endpoint: str) -> bool:
        return endpoint in self._endpoints

    def add(self, endpoints: Iterable[str]) -> None:
        """Learn of more managers."""
        for endpoint in endpoints:
            if endpoint not in self._endpoints and len(self._endpoints) < MANAGERS:
                self._endpoints.append(endpoint)

    def failed(self, endpoint: str) -> None:
        """Turn to the next one, unless we have done so since that call was made."""
        # A manager may register agents at another path than its own.
        if endpoint == self.current or endpoint not in self._endpoints:
            place = self._endpoints.index(self.current) + 1
            self.current = self._endpoints[place % len(self._endpoints)]


class Registration:
    """The request to become a member, repeated until the manager answers it."""

    def __init__(self, membership: Membership, context: Context, find_key: FindKey) -> None:
        self.rejected: Refusal | None = None
        """Why the manager does not want us; we have stopped asking."""
        self.pending: Refusal | None = None
        """The manager's answer while its operator must approve us first; we go on asking."""
        self.trouble = ""
        """Why the last attempt failed, for people."""
        self.findings = ""
        """What the manager found out about our endpoint, or says about our name."""
        self.token_refused = False
        """True if our manager does not know the token it gave us."""
        self.on_registered: Callable[[float], None] = lambda _: None
        self.on_new_league: Callable[[float], None] = lambda _: None
        """Called before it becomes true that we are in another league."""
        self.on_call_ended: Callable[[float], None] = lambda _: None
        self._membership = membership
        self._context = context
        self._find_key = find_key
        self._delivery: Delivery | None = None
        self._may_come_back = True
        self._shows_token = True
        self._count = 0

    @property
    def is_calling(self) -> bool:
        """True while an answer may come at any moment."""
        return self._delivery is not None and self._delivery.attempt.key is not None

    @property
    def is_under_way(self) -> bool:
        return self._delivery is not None or self._context.timers.is_set(self)

    def resume(self, now: float) -> None:
        """Register, unless we have done so from this address already."""
        member = self._membership
        # The manager calls us at the endpoint we registered with. Journals that began in format 1 do not name it;
        # to register once more does no harm.
        has_moved = member.registrations.endpoint != member.meta.contact_endpoint
        if not member.is_registered or has_moved:
            self.register(now)

    def stop(self) -> None:
        """Stop asking: the league is over."""
        self._context.timers.clear(self)
        if self._delivery is not None:
            self._context.calls.drop(self._delivery)
            self._delivery = None

    def request_refused(self, code: str, now: float) -> None:
        """Note that a request of ours got this error. After E012 we register again, once."""
        if code != "E012":
            return
        self.token_refused = True
        if self._may_come_back and not self.is_under_way:
            self._may_come_back = False
            self.register(now)

    def question_refused(self, refusal: Refusal, now: float) -> None:
        """Note that a referee's question got this error."""
        if not refusal.words.startswith(_FOR_PLAYERS_ONLY):
            self.request_refused(refusal.code, now)

    def request_accepted(self) -> None:
        """Note that a request of ours was accepted: the token works."""
        self._may_come_back = True
        self.token_refused = False

    def register(self, now: float) -> None:
        """Send the request."""
        message = self._request(now)
        row = EXCHANGES[message.type]
        self._delivery = Delivery(
            tokens.MANAGER,
            "register",
            message,
            Policy(row.limit_s, row.retries, if_not_understood=Reaction.FAILED),
            address=self._address,
            on_end=self._ended,
            on_attempt_failed=self._attempt_failed,
            interpret=self._interpret,
            compose=lambda _, then: self._request(then),
            line=self._context.book.line(self._address(), Purpose.REGISTER),
        )
        self._context.calls.deliver([self._delivery], now)

    def _address(self) -> Address:
        return Address(
            tokens.MANAGER,
            self._membership.endpoint,
            self._token,
            self._membership.convention,
        )

    @property
    def _token(self) -> str | None:
        if not self._shows_token:
            return None
        return self._membership.token

    def _request(self, now: float) -> Message:
        self._count += 1
        meta = self._membership.meta
        envelope = self._membership.sealed(now, f"conv-register-{self._count}")
        if isinstance(meta, RefereeMeta):
            return RefereeRegisterRequest(**envelope, referee_meta=meta)
        return LeagueRegisterRequest(**envelope, player_meta=meta)

    # --- answers ------------------------------------------------------------------------------------------------------

    def _interpret(self, delivery: Delivery, content: Content, now: float) -> Interpretation:
        if isinstance(content, Refusal):
            return self._refused(delivery, content)
        answer = content.message if isinstance(content, Unsealed) else None
        if not isinstance(answer, Answer):
            return Interpretation(Reaction.NOT_UNDERSTOOD, _first_violation(content))
        if answer.status == "REJECTED":
            return self._rejected(delivery, answer)
        if _id_in(answer) is None:
            return Interpretation(Reaction.NOT_UNDERSTOOD, "an acceptance without an id")
        return Interpretation(Reaction.ANSWERED)

    def _rejected(self, delivery: Delivery, answer: Answer) -> Interpretation:
        if answer.error_code == "E043" and self._finds_new_key(answer.league_id or ""):
            return Interpretation(Reaction.CALL_AGAIN)
        if answer.error_code == "E027" and self._finds_game(answer):
            return Interpretation(Reaction.CALL_AGAIN)
        if _is_pending(answer):
            return Interpretation(Reaction.REFUSED)
        return self._refused(delivery, _refusal_in(answer))

    def _finds_new_key(self, league_id: str) -> bool:
        """Return True if we have an enrolment key of this league that we have not shown; we show it from now on."""
        meta = self._membership.meta
        if not isinstance(meta, RefereeMeta):
            return False
        key = self._find_key(league_id)
        if not key or key == meta.enrolment_key:
            return False
        self._membership.meta = structs.replace(meta, enrolment_key=key)
        return True

    def _finds_game(self, answer: Answer) -> bool:
        """Return True if the league plays games that we play and have not named; we name them from now on."""
        member = self._membership
        games = (answer.context or {}).get("supported_game_types")
        if not isinstance(games, list):
            return False
        found = [game for game in games if isinstance(game, str) and member.plays(game)]
        if not found or set(found) <= set(member.meta.game_types):
            return False
        member.meta = structs.replace(member.meta, game_types=found)
        return True

    def _refused(self, delivery: Delivery, refusal: Refusal) -> Interpretation:
        if refusal.code == "E012" and self._token is not None:
            # The manager does not know the token we come back with: it may know our name and address.
            self._shows_token = False
            self.token_refused = True
            return Interpretation(Reaction.CALL_AGAIN)
        if not refusal.understood or refusal.code in _UNREAD:
            return Interpretation(Reaction.NOT_UNDERSTOOD, refusal.detail)
        if not refusal.code or ERRORS[refusal.code].retry not in _MAY_HELP:
            return Interpretation(Reaction.REFUSED)
        if refusal.code == _BUG:
            # Something broke there, perhaps over the form of our call.
            delivery.line.rule_out()
        return Interpretation(
            Reaction.FAILED,
            f"the manager says {refusal.in_words()[:LONGEST_WORD]}",
        )

    def _attempt_failed(self, delivery: Delivery, failed: FailedAttempt, now: float) -> None:
        if failed.failure is Failure.NOT_UNDERSTOOD:
            self.trouble = "the manager answers, but understands none of the ways to register that we know"
            _, names_itself, name = failed.detail.partition(NO_MANAGER)
            if names_itself:
                self.trouble = f"{self._membership.endpoint}{NO_MANAGER}{name[:LONGEST_NAME]}"
            elif failed.detail:
                self.trouble += f" (to the documents' own: {failed.detail[:LONGEST_WORD]})"
            delivery.line.forget()
        elif failed.failure is Failure.ERROR:
            self.trouble = failed.detail
        else:
            self.trouble = f"{_endpoint_of(delivery)}: {failed.in_words}"
        if failed.failure is Failure.REFUSED:
            # Nobody is there. The next one to listen there may understand another form.
            delivery.line.forget()
        if failed.retry_at is not None:
            self.trouble += f"; next try in {failed.retry_at - now:.0f} s"
        self.on_call_ended(now)

    def _ended(self, delivery: Delivery, outcome: Ending, now: float) -> None:
        self._delivery = None
        answer = delivery.answer
        response = answer.message if isinstance(answer, Unsealed) else None
        if not isinstance(response, Answer):
            self._rejected_by(answer if isinstance(answer, Refusal) else None)
        elif outcome is Ending.ANSWERED:
            self._accepted(delivery, response, now)
        elif _is_pending(response):
            self.pending = _refusal_in(response)
            self._context.timers.set(self, now + APPROVAL_S, self.register)
        else:
            self._rejected_by(_refusal_in(response))
        if isinstance(answer, Unsealed):
            self._membership.record(answer.deviations, now)
        self.on_call_ended(now)

    def _rejected_by(self, refusal: Refusal | None) -> None:
        """Stop asking. A member stays one where a third-party manager knows no coming back: to it our second request
        is that of somebody else, for whom there is no place, or whose name is taken."""
        self.pending = None
        member = self._membership
        if not member.is_registered or member.agreement.derived_tokens:
            self.rejected = refusal

    def _accepted(self, delivery: Delivery, answer: Answer, now: float) -> None:
        member = self._membership
        to = delivery.attempt.to
        assert to is not None, "it was called"
        serial = member.registrations.newest + 1
        new_league = self._is_new_league(answer)
        if new_league:
            # The role drops what belongs to the old league while it still knows which one that is.
            self.on_new_league(now)
        if answer.auth_token:
            self._context.keep_secret(f"token/{serial}", answer.auth_token)
        self._shows_token = True
        self.token_refused = False
        self.rejected = None
        self.pending = None
        self.trouble = ""
        self.findings = answer.findings or ""
        self._context.happened(
            Registered(
                at=now,
                agent_id=_id_in(answer) or "",
                league_id=answer.league_id or member.league_id,
                serial=serial,
                derived_tokens=answer.token_scheme == DERIVED and bool(answer.auth_token),
                # A manager that registers agents at another path follows the documents everywhere else.
                convention=(to.convention if to.endpoint in member.managers else Convention.SPEC).value,
                endpoint=member.meta.contact_endpoint,
                asks_before_losses=_agrees_to_be_asked(member.meta, answer),
                new_league=new_league,
                manager_endpoints=_managers_in(answer),
                manager_key=answer.manager_key or "",
            )
        )
        self.on_registered(now)
        if self._membership.agreement.derived_tokens and self._finds_new_key(member.league_id):
            # We came in openly, and are the operator's own: the manager gives us matches that it gives no stranger.
            self.register(now)

    def _is_new_league(self, answer: Answer) -> bool:
        """Return True if the manager has begun another league."""
        member = self._membership
        if not member.is_registered:
            return False
        if answer.league_id and member.league_id and answer.league_id != member.league_id:
            return True
        # A manager that derives tokens never forgets one of this league.
        return member.agreement.derived_tokens and self.token_refused


class EarlyLetters:
    """Letters that overtook the answer to our registration.

    Nobody can judge them before that answer, so they wait for it. Then `take` gets each of them.
    """

    def __init__(self, membership: Membership, take: Callable[[Letter, float], None]) -> None:
        self._membership = membership
        self._take = take
        self._letters: list[Letter] = []
        membership.registration.on_call_ended = self._take_all

    def hold(self, letter: Letter) -> bool:
        """Keep a letter if it is early, and return whether it is."""
        registration = self._membership.registration
        is_member = self._membership.is_registered and not registration.token_refused
        # Nothing is held unless an answer is sure to come, or the letter would never be answered.
        if not is_member and registration.is_calling and len(self._letters) < EARLY:
            self._letters.append(letter)
            return True
        return False

    def _take_all(self, now: float) -> None:
        letters = self._letters
        self._letters = []
        for letter in letters:
            self._take(letter, now)


class MemberMachine(RoleMachine):
    """The machine of a member: what it shows of its membership, and how it follows its address."""

    _membership: Membership

    @property
    @abstractmethod
    def state(self) -> AgentState:
        """Our state in the life of every agent."""

    @property
    @abstractmethod
    def trouble(self) -> str:
        """What keeps us waiting; empty if nothing is wrong."""

    @property
    @abstractmethod
    def is_asking(self) -> bool:
        """True while the manager has not answered a question of ours."""

    @property
    def agent_id(self) -> str:
        """The id the manager gave us; empty before we are registered."""
        return self._membership.agent_id

    @property
    def sender(self) -> str:
        """Our name in messages."""
        return self._membership.sender

    @property
    def rejected(self) -> Refusal | None:
        """Why the manager rejected us for good, if it did."""
        return self._membership.registration.rejected

    @property
    def findings(self) -> str:
        """What the manager found out about us when we registered, for people."""
        return self._membership.registration.findings

    @property
    def pending(self) -> Refusal | None:
        """The manager's answer while its operator has not approved us."""
        return self._membership.registration.pending

    @property
    def managers(self) -> Sequence[str]:
        """The endpoints of our managers."""
        return self._membership.managers.known

    def moved(self, endpoint: str, now: float) -> Step:
        """Register again: others reach us at this endpoint from now on."""
        self._step = Step()
        self._membership.move(endpoint, now, registers=self.state != "SHUTDOWN")
        return self._conclude(now)


def _complete(meta: PlayerMeta | RefereeMeta) -> PlayerMeta | RefereeMeta:
    """Add everything to a registration that an author may leave out."""
    if meta.protocol_version is None:
        meta = structs.replace(meta, protocol_version=CURRENT)
    if isinstance(meta, RefereeMeta):
        meta = structs.replace(
            meta,
            max_concurrent_matches=meta.max_concurrent_matches or 1,
            token_scheme=DERIVED,
            # An empty word declares nothing: then losses are decided unasked, as third-party referees do.
            trouble=TROUBLE if meta.trouble is None else meta.trouble or None,
            draw_scheme=SHARED_DRAWS if meta.draw_scheme is None else meta.draw_scheme or None,
        )
    return meta


def _first_violation(content: Content) -> str:
    """Return what is wrong with an answer that is not a registration response, if anything is named."""
    if isinstance(content, Unsealed) and content.violations:
        return content.violations[0].detail
    return ""


def _refusal_in(answer: Answer) -> Refusal:
    """Return the refusal in a REJECTED answer; its code is empty if it is not in the catalogue."""
    code = answer.error_code or ""
    reason = answer.reason or "the manager gave no reason"
    if code in ERRORS:
        return Refusal(code, reason)
    return Refusal("", f"{code} {reason}".strip())


def _is_pending(answer: Answer) -> bool:
    """Return True if the operator must approve us first."""
    if answer.status != "REJECTED" or answer.error_code != "E043":
        return False
    return (answer.context or {}).get("pending") is True


def _agrees_to_be_asked(meta: PlayerMeta | RefereeMeta, answer: Answer) -> bool:
    """Return True if manager and referee both declared that losses are asked about before they are decided."""
    if not isinstance(meta, RefereeMeta) or not isinstance(answer, RefereeRegisterResponse):
        return False
    return meta.trouble == TROUBLE and answer.trouble == TROUBLE


def _managers_in(answer: Answer) -> tuple[str, ...]:
    """Return the endpoints of the league's managers, as far as they are endpoints."""
    endpoints = (answer.manager_endpoints or ())[:MANAGERS]
    return tuple(endpoint for endpoint in endpoints if endpoint.startswith(("http://", "https://")))


def _endpoint_of(delivery: Delivery) -> str:
    to = delivery.attempt.to
    assert to is not None, "it was called"
    return to.endpoint


def _id_in(answer: Answer) -> str | None:
    if isinstance(answer, RefereeRegisterResponse):
        return answer.referee_id or None
    return answer.player_id or None


def _raise(violation: Violation | None) -> None:
    if violation is not None:
        raise as_error(violation)
