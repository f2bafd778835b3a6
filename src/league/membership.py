"""Membership in a league, shared by referee and player (spec section 7.2): registering, and registering again; who our
manager is, which tokens it shows, and what was found out about how it speaks.

Registered, ConventionLearned and DeviationRecorded are applied here too; everything else is lost in a crash and taken
up by `resume`. How a manager is spoken to is found out by registering (spec section 13.1): twice is harmless.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, Final

from msgspec import structs

from league.calling.delivery import Delivery, Ending, FailedAttempt, Interpretation, Policy, Reaction
from league.calling.line import Line, Purpose
from league.calling.role import Context
from league.events import ConventionLearned, DeviationRecorded, Registered
from league.machine import Address, Content, Failure, Letter, Refusal
from league.protocol import tokens
from league.protocol.conventions import Convention
from league.protocol.envelope import Unsealed, seal
from league.protocol.errors import ERRORS, PeerError, Retry, Stage, Violation, as_error
from league.protocol.exchanges import EXCHANGES
from league.protocol.messages import (
    LeagueRegisterRequest,
    LeagueRegisterResponse,
    Message,
    RefereeRegisterRequest,
    RefereeRegisterResponse,
)
from league.protocol.parts import PlayerMeta, RefereeMeta
from league.protocol.versions import CURRENT

DERIVED: Final = "derived"
"""`token_scheme` of a manager whose tokens can be checked, and of a referee that shows them (sections 9.2, 9.3)."""
REGISTRATIONS: Final = 2
"""The manager's tokens of so many registrations are known: one it sent before we came back may still be on its way."""
APPROVAL_S: Final = 5.0
"""How often to ask again while the operator has not decided (R-89)."""
DEVIATIONS: Final = 1_000
"""So many are recorded in all, whoever deviates."""
EARLY: Final = 16
"""So many letters may come before the answer to our registration does; managers by others say some things only once."""
LONGEST_WORD: Final = 200
LONGEST_DETAIL: Final = 300
LONGEST_NAME: Final = 80
_MAY_HELP: Final = (Retry.YES, Retry.LATER)
_UNREAD: Final = frozenset({"E003", "E007", "E034", "E035", "E036", "E038"})
"""What is said of a message that was looked for where it is not: ours lacks nothing."""
_BUG: Final = "E099"

OF_MEMBERSHIP: Final = frozenset({Registered, ConventionLearned, DeviationRecorded})
"""The events that `Membership.apply` makes true."""
Answer = RefereeRegisterResponse | LeagueRegisterResponse
FindKey = Callable[[str], str | None]
"""The enrolment key of this league, if it is known."""


class Membership:
    """What we are to our manager, and what it is to us."""

    def __init__(
        self,
        meta: PlayerMeta | RefereeMeta,
        manager_endpoint: str,
        context: Context,
        *,
        wished_id: str = "",
        find_key: FindKey = lambda _: None,
    ) -> None:
        self.meta = _complete(meta)
        self.agent_id = ""
        self.league_id = ""
        self.serial = 0
        self.first_serial = 1
        """Of the registrations in this league."""
        self.registered_at = ""
        """The endpoint that we told our manager."""
        self.derived_tokens = False
        self.token: str | None = None
        """What the manager is shown; managers of others may have given none."""
        self.registration = Registration(self, manager_endpoint, context)
        self.endpoint = manager_endpoint
        self._context = context
        self.sender = f"{self.role}:{wished_id or self.meta.display_name.strip()}"
        """What we call ourselves: the id we wish for (R-37) or our own name before we have an id."""
        self._find_key = find_key
        self._deviations: set[tuple[str, str, str]] = set()
        self._of_manager: deque[str] = deque(maxlen=REGISTRATIONS)

    # --- who we are ---------------------------------------------------------------------------------------------------

    @property
    def role(self) -> str:
        return "referee" if isinstance(self.meta, RefereeMeta) else "player"

    @property
    def is_registered(self) -> bool:
        return self.serial > 0

    def sealed(self, now: float, conversation_id: str) -> dict[str, Any]:
        """The envelope of a message of ours (Any: as `seal` has it)."""
        return seal(self.sender, now, conversation_id)

    def finds_key(self, league_id: str) -> bool:
        """Do we know an enrolment key of this league that we have not shown? From now on we show it."""
        key = self._find_key(league_id) if isinstance(self.meta, RefereeMeta) else None
        if not key or key == getattr(self.meta, "enrolment_key", None):
            return False
        self.meta = structs.replace(self.meta, enrolment_key=key)
        return True

    # --- who our manager is -------------------------------------------------------------------------------------------

    @property
    def manager(self) -> Address:
        """Where requests to the manager go, with the token they carry, and how they are put."""
        return Address(tokens.MANAGER, self.endpoint, self.token, self.convention)

    @property
    def convention(self) -> Convention:
        """How the manager is spoken to."""
        return self._context.book.conventions.get(tokens.MANAGER) or Convention.SPEC

    def line(self) -> Line:
        """Open a line for a message that the manager must understand: twice is as good as once."""
        return self._context.book.line(self.manager, Purpose.TELL)

    def is_managers(self, token: str | None) -> bool:
        """Is this what our manager shows us? Only to be asked where it derives its tokens."""
        return any(tokens.same(token, one) for one in self._of_manager)

    def check_manager(self, read: Unsealed) -> None:
        """Envelope, token, role and league, in this order, before the message's own fields (section 10.3)."""
        _raise(read.until(Stage.ENVELOPE))
        token = read.field("auth_token")
        if not isinstance(token, str | None):
            _raise(read.until(Stage.AUTHORITY))
        if self.derived_tokens and not token:
            raise PeerError("E011", "auth_token is missing")
        if self.derived_tokens and not self.is_managers(str(token)):
            raise PeerError("E012", "this is not our manager's token", tokens.refused(str(token)))
        _raise(read.until(Stage.AUTHORITY))
        league_id = read.field("league_id")
        # Only our manager is sure to call the league the same everywhere.
        if self.derived_tokens and isinstance(league_id, str) and league_id not in ("", self.league_id):
            raise PeerError("E028", f"this {self.role} plays in {self.league_id!r}", {"league_id": league_id[:80]})

    def record(self, found: Iterable[Violation], now: float, agent_id: str = tokens.MANAGER) -> None:
        """The manager, or whom we are told, deviates from the documents: recorded once per agent and kind."""
        for one in found:
            kind = (agent_id[:LONGEST_NAME], one.code, one.requirement)
            if kind not in self._deviations and len(self._deviations) < DEVIATIONS:
                about = dict(zip(("agent_id", "code", "requirement"), kind, strict=True))
                self._context.happened(DeviationRecorded(at=now, **about, detail=one.detail[:LONGEST_DETAIL]))

    # --- what events make true ----------------------------------------------------------------------------------------

    def apply(self, event: Registered | ConventionLearned | DeviationRecorded) -> None:
        """Make it true. The token of a registration has been kept as a secret before."""
        if isinstance(event, DeviationRecorded):
            self._deviations.add((event.agent_id, event.code, event.requirement))
            return
        self._context.book.apply(event)
        if isinstance(event, Registered):
            self._registered(event)

    def _registered(self, event: Registered) -> None:
        self.agent_id, self.league_id = event.agent_id, event.league_id
        self.sender = f"{self.role}:{self.agent_id}"
        self.serial, self.derived_tokens = event.serial, event.derived_tokens
        if event.new_league:
            self.first_serial, self.token = event.serial, None
            self._deviations.clear()
            self._of_manager.clear()
        self.registered_at = event.endpoint
        given = self._context.secrets.get(f"token/{event.serial}")
        if given is not None:
            self.token = given
        if self.derived_tokens and self.token is not None:
            key = tokens.deriver(self.token)
            self._of_manager.append(tokens.derive(key, tokens.MANAGER, self.agent_id, self.league_id))

    def snapshot(self) -> dict[str, Any]:
        """What events built, as plain data."""
        return {
            "agent_id": self.agent_id,
            "league_id": self.league_id,
            "serial": self.serial,
            "registered_at": self.registered_at,
            "derived_tokens": self.derived_tokens,
            "convention": self.convention.value,
            "deviations": sorted(self._deviations),
        }


class Registration:
    """The request to become a member, repeated until the manager answers it."""

    def __init__(self, membership: Membership, endpoint: str, context: Context) -> None:
        self.rejected: Refusal | None = None
        """Why the manager does not want us; we have stopped asking."""
        self.pending: Refusal | None = None
        """What the manager says while its operator must approve us first; we go on asking."""
        self.trouble = ""
        """Why the last attempt came to nothing, for people."""
        self.on_registered: Callable[[float], None] = lambda _: None
        self.on_new_league: Callable[[float], None] = lambda _: None
        """Told before the manager's word that we are in another league now becomes true."""
        self.on_call_ended: Callable[[float], None] = lambda _: None
        self._membership, self._endpoint, self._context = membership, endpoint, context
        self._delivery: Delivery | None = None
        self._may_come_back = True
        self._shows_token = True
        self.token_refused = False
        """Our manager does not know the token it gave us."""
        self._count = 0

    @property
    def is_calling(self) -> bool:
        """An answer may come at any moment."""
        return self._delivery is not None and self._delivery.attempt.key is not None

    @property
    def is_under_way(self) -> bool:
        return self._delivery is not None or self._context.timers.is_set(self)

    def resume(self, now: float) -> None:
        """Register, unless the journal says that we have, and that we lived here."""
        member = self._membership
        has_moved = bool(member.registered_at) and member.registered_at != member.meta.contact_endpoint
        if not member.is_registered or has_moved:
            self.register(now)

    def stop(self) -> None:
        """The league is over."""
        self._context.timers.clear(self)
        if self._delivery is not None:
            self._context.calls.drop(self._delivery)
            self._delivery = None

    def request_refused(self, code: str, now: float) -> None:
        """A request of ours got this error: after E012 we register again, once."""
        self.token_refused |= code == "E012"
        if code == "E012" and self._may_come_back and not self.is_under_way:
            self._may_come_back = False
            self.register(now)

    def request_accepted(self) -> None:
        """A request of ours was taken: the token works."""
        self._may_come_back, self.token_refused = True, False

    def register(self, now: float) -> None:
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
        return Address(tokens.MANAGER, self._endpoint, self._token, self._membership.convention)

    @property
    def _token(self) -> str | None:
        return self._membership.token if self._shows_token else None

    def _request(self, now: float) -> Message:
        self._count += 1
        meta, envelope = self._membership.meta, self._membership.sealed(now, f"conv-register-{self._count}")
        if isinstance(meta, RefereeMeta):
            return RefereeRegisterRequest(**envelope, referee_meta=meta)
        return LeagueRegisterRequest(**envelope, player_meta=meta)

    # --- what comes of it ---------------------------------------------------------------------------------------------

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
        if answer.error_code == "E043" and self._membership.finds_key(answer.league_id or ""):
            return Interpretation(Reaction.CALL_AGAIN)
        return Interpretation(Reaction.REFUSED) if _is_pending(answer) else self._refused(delivery, _refusal_in(answer))

    def _refused(self, delivery: Delivery, refusal: Refusal) -> Interpretation:
        if refusal.code == "E012" and self._token is not None:
            # The manager does not know the token we come back with: it may know our name and address.
            self._shows_token, self.token_refused = False, True
            return Interpretation(Reaction.CALL_AGAIN)
        if not refusal.understood or refusal.code in _UNREAD:
            return Interpretation(Reaction.NOT_UNDERSTOOD, refusal.detail)
        if not refusal.code or ERRORS[refusal.code].retry not in _MAY_HELP:
            return Interpretation(Reaction.REFUSED)
        if refusal.code == _BUG:
            # Something broke there, perhaps over the form of our call.
            delivery.line.rule_out()
        return Interpretation(Reaction.FAILED, f"the manager says {refusal.code} {refusal.detail[:LONGEST_WORD]}")

    def _attempt_failed(self, delivery: Delivery, failed: FailedAttempt, now: float) -> None:
        if failed.failure is Failure.NOT_UNDERSTOOD:
            why = f" (to the documents' own: {failed.detail[:LONGEST_WORD]})" if failed.detail else ""
            self.trouble = f"the manager answers, but understands none of the ways to register that we know{why}"
            delivery.line.forget()
        elif failed.failure is Failure.ERROR:
            self.trouble = failed.detail
        else:
            self.trouble = f"{self._endpoint}: {failed.in_words}"
        if failed.failure is Failure.REFUSED:
            # Nobody is there: the next one may speak in another way.
            delivery.line.forget()
        self.on_call_ended(now)

    def _ended(self, delivery: Delivery, outcome: Ending, now: float) -> None:
        self._delivery = None
        answer = delivery.answer
        response = answer.message if isinstance(answer, Unsealed) else None
        if outcome is Ending.ANSWERED and isinstance(response, Answer):
            self._accepted(delivery, response, now)
        elif isinstance(response, Answer) and _is_pending(response):
            self.pending = _refusal_in(response)
            self._context.timers.set(self, now + APPROVAL_S, self.register)
        else:
            self.rejected = answer if isinstance(answer, Refusal) else None
            self.rejected = _refusal_in(response) if isinstance(response, Answer) else self.rejected
            self.pending = None
        if isinstance(answer, Unsealed):
            self._membership.record(answer.deviations, now)
        self.on_call_ended(now)

    def _accepted(self, delivery: Delivery, answer: Answer, now: float) -> None:
        member, to = self._membership, delivery.attempt.to
        assert to is not None, "it was called"
        serial, new_league = member.serial + 1, self._is_new_league(answer)
        if new_league:
            self.on_new_league(now)
        if answer.auth_token:
            self._context.keep_secret(f"token/{serial}", answer.auth_token)
        self._shows_token, self.token_refused = True, False
        self.rejected, self.pending, self.trouble = None, None, ""
        self._context.happened(
            Registered(
                at=now,
                agent_id=_id_in(answer) or "",
                league_id=answer.league_id or member.league_id,
                serial=serial,
                derived_tokens=answer.token_scheme == DERIVED and bool(answer.auth_token),
                # Who registers agents at a path of its own is spoken to by the documents everywhere else.
                convention=(to.convention if to.endpoint == self._endpoint else Convention.SPEC).value,
                endpoint=member.meta.contact_endpoint,
                new_league=new_league,
            )
        )
        self.on_registered(now)

    def _is_new_league(self, answer: Answer) -> bool:
        """Another id, or the same from a manager that forgot our token: one that derives tokens never forgets any."""
        member = self._membership
        has_other_id = bool(answer.league_id and member.league_id) and answer.league_id != member.league_id
        return member.is_registered and (has_other_id or (member.derived_tokens and self.token_refused))


class EarlyLetters:
    """Letters that overtook the answer to our registration: before that nobody can say what they are worth, so they
    wait for it. `take` is given each when the call has ended."""

    def __init__(self, membership: Membership, take: Callable[[Letter, float], None]) -> None:
        self._membership, self._take = membership, take
        self._letters: list[Letter] = []
        membership.registration.on_call_ended = self._take_all

    def hold(self, letter: Letter) -> bool:
        """Keep it, if it is early."""
        registration = self._membership.registration
        is_member = self._membership.is_registered and not registration.token_refused
        if not is_member and registration.is_calling and len(self._letters) < EARLY:
            self._letters.append(letter)
            return True
        return False

    def _take_all(self, now: float) -> None:
        letters, self._letters = self._letters, []
        for letter in letters:
            self._take(letter, now)


def _complete(meta: PlayerMeta | RefereeMeta) -> PlayerMeta | RefereeMeta:
    """Everything a registration says, also what an author may leave out."""
    if meta.protocol_version is None:
        meta = structs.replace(meta, protocol_version=CURRENT)
    if isinstance(meta, RefereeMeta):
        meta = structs.replace(meta, max_concurrent_matches=meta.max_concurrent_matches or 1, token_scheme=DERIVED)
    return meta


def _first_violation(content: Content) -> str:
    """Why an answer is no membership, as far as it says so."""
    violations = content.violations if isinstance(content, Unsealed) else ()
    return violations[0].detail if violations else ""


def _refusal_in(answer: Answer) -> Refusal:
    """A registration that was answered with REJECTED; without a code of the catalogue, its code is empty."""
    code, reason = answer.error_code or "", answer.reason or "the manager gave no reason"
    return Refusal(code, reason) if code in ERRORS else Refusal("", f"{code} {reason}".strip())


def _is_pending(answer: Answer) -> bool:
    """Must the operator approve us first?"""
    return (answer.status, answer.error_code) == ("REJECTED", "E043") and (answer.context or {}).get("pending") is True


def _id_in(answer: Answer) -> str | None:
    return (answer.referee_id if isinstance(answer, RefereeRegisterResponse) else answer.player_id) or None


def _raise(violation: Violation | None) -> None:
    if violation is not None:
        raise as_error(violation)
