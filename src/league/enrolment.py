"""Registering, and registering again (spec section 7.2): a part of the machines of referee and player.

The machine hands over answers, failures and ticks of the calls this part `owns`, applies Enrolled and
DeviationRecorded here too, and says when a request was refused or accepted. What is in neither event is lost in a crash
and taken up by `resume`. How a manager is spoken to is found out by registering (spec section 13.1): twice is harmless.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from msgspec import structs

from league.events import DeviationRecorded, Enrolled, Event
from league.machine import Address, Blame, Content, Failure, Letter, Outgoing, Refusal, Undelivered
from league.protocol import tokens
from league.protocol.conventions import Convention, convention_of, ways
from league.protocol.envelope import Profile, Unsealed, seal
from league.protocol.errors import ERRORS, Retry, Violation
from league.protocol.exchanges import EXCHANGES
from league.protocol.messages import (
    LeagueRegisterRequest,
    LeagueRegisterResponse,
    RefereeRegisterRequest,
    RefereeRegisterResponse,
    RegisterResponse,
)
from league.protocol.parts import PlayerMeta, RefereeMeta
from league.protocol.versions import CURRENT

DERIVED: Final = "derived"
"""`token_scheme` of a manager whose tokens can be checked (section 9.3)."""
REGISTRATIONS: Final = 2
"""The manager's tokens of so many registrations are known: one it sent before we came back may still be on its way."""
APPROVAL_S: Final = 5.0
"""How often to ask again while the operator has not decided (R-89)."""
REGISTER_PATH: Final = "/register"
"""Where some managers take registrations, and nothing else, as a bare object."""
DEVIATIONS: Final = 100
LONGEST_WORD: Final = 200
_MAY_HELP: Final = (Retry.YES, Retry.LATER)
_UNREAD: Final = frozenset({"E003", "E007", "E034", "E035", "E036", "E038"})
"""What is said of a message that was looked for where it is not: ours lacks nothing."""
_SILENCE: Final[Mapping[Failure, str]] = {Failure.BUSY: "the manager is busy"}

Answer = RefereeRegisterResponse | LeagueRegisterResponse


class Enrolment:
    """`happened`, `send` and `keep_secret` write into the step the machine is building."""

    def __init__(
        self,
        meta: PlayerMeta | RefereeMeta,
        manager_endpoint: str,
        secrets: Mapping[str, str],
        *,
        happened: Callable[[Event], None],
        send: Callable[[Outgoing], None],
        keep_secret: Callable[[str, str], None],
        wished_id: str = "",
        profile: Profile = "compat",
    ) -> None:
        self.meta = _complete(meta)
        self.role = "referee" if isinstance(meta, RefereeMeta) else "player"
        self.agent_id = ""
        self.league_id = ""
        self.serial = 0
        self.derived_tokens = False
        self.token: str | None = None
        """What the manager is shown; managers of others may have given none."""
        self.rejected: Refusal | None = None
        """Why the manager does not want us; we have stopped asking."""
        self.pending: Refusal | None = None
        """What we wait for, when the manager says that its operator must approve us first; we go on asking."""
        self.trouble = ""
        """Why the last attempt came to nothing, for people."""
        self.convention = Convention.SPEC
        """How the manager was spoken to when it accepted us."""
        self._endpoint = manager_endpoint
        self._finds_out = profile == "compat"
        self._tried = 0
        """How many ways of registering were not understood."""
        self._said = ""
        """What the manager said to the first of them."""
        self._reported = 0
        """How many ways of reporting were not."""
        self._deviations: set[tuple[str, str]] = set()
        self._wished_id = wished_id
        self._secrets = secrets
        self._happened, self._send, self._keep_secret = happened, send, keep_secret
        self._of_manager: deque[str] = deque(maxlen=REGISTRATIONS)
        self._row = EXCHANGES["REFEREE_REGISTER_REQUEST" if self.role == "referee" else "LEAGUE_REGISTER_REQUEST"]
        self._calls = 0
        self._key: str | None = None
        self._failures = 0
        self._may_come_back = True
        self._showing = True
        self.deadline: float | None = None
        """When the next attempt is due."""

    # --- what the machine asks ----------------------------------------------------------------------------------------

    @property
    def is_enrolled(self) -> bool:
        return self.serial > 0

    @property
    def is_calling(self) -> bool:
        """An answer may come at any moment."""
        return self._key is not None

    @property
    def is_under_way(self) -> bool:
        return self._key is not None or self.deadline is not None

    @property
    def sender(self) -> str:
        """What we call ourselves: the id we wish for (R-37) or our own name before we have an id."""
        return f"{self.role}:{self.agent_id or self._wished_id or self.meta.display_name.strip()}"

    @property
    def manager(self) -> Address:
        """Where requests to the manager go, with the token they carry, and how they are put."""
        order = ways(self.convention)
        return Address(tokens.MANAGER, self._endpoint, self.token, order[self._reported % len(order)])

    def is_managers(self, token: str | None) -> bool:
        """Is this what our manager shows us? Only to be asked where it derives its tokens."""
        return any(tokens.same(token, one) for one in self._of_manager)

    def owns(self, key: str) -> bool:
        """Is this a call of ours?"""
        return key.startswith("register/")

    def snapshot(self) -> dict[str, Any]:
        """What Enrolled built, as plain data."""
        return {
            "agent_id": self.agent_id,
            "league_id": self.league_id,
            "serial": self.serial,
            "derived_tokens": self.derived_tokens,
            "convention": self.convention.value,
            "deviations": sorted(self._deviations),
        }

    # --- what the machine tells ---------------------------------------------------------------------------------------

    def apply(self, event: Enrolled | DeviationRecorded) -> None:
        """Make it true. The token of a registration has been kept as a secret before."""
        if isinstance(event, DeviationRecorded):
            if event.agent_id == tokens.MANAGER:
                self._deviations.add((event.code, event.requirement))
            return
        self.agent_id, self.league_id = event.agent_id, event.league_id
        self.serial, self.derived_tokens = event.serial, event.derived_tokens
        self.convention, self._reported = convention_of(event.convention), 0
        given = self._secrets.get(f"token/{event.serial}")
        if given is not None:
            self.token = given
        if self.derived_tokens and self.token is not None:
            key = tokens.deriver(self.token)
            self._of_manager.append(tokens.derive(key, tokens.MANAGER, self.agent_id, self.league_id))

    def resume(self, now: float) -> None:
        """Register, unless the journal says that we have."""
        if not self.is_enrolled:
            self._call(now)

    def refused(self, code: str, now: float) -> None:
        """A request of ours got this error: after E012 we register again, once."""
        if code == "E012" and self._may_come_back and not self.is_under_way:
            self._may_come_back = False
            self._call(now)

    def accepted(self) -> None:
        """A request of ours was taken: the token works."""
        self._may_come_back = True

    def misunderstood(self) -> None:
        """A report of ours was not understood: the next is put otherwise. Twice is as good as once (E017)."""
        if self._finds_out:
            self._reported += 1

    def deviated(self, found: Iterable[Violation], now: float) -> None:
        """The manager said something otherwise than the documents: recorded once per kind."""
        for one in found:
            if (one.code, one.requirement) not in self._deviations and len(self._deviations) < DEVIATIONS:
                said = {"code": one.code, "requirement": one.requirement, "detail": one.detail[:LONGEST_WORD]}
                self._happened(DeviationRecorded(at=now, agent_id=tokens.MANAGER, **said))

    def answered(self, letter: Letter, now: float) -> None:
        """The manager answered a registration."""
        if letter.answers != self._key:
            return
        self._key = None
        content = letter.content
        if isinstance(content, Refusal):
            self._refused(content, now)
        elif isinstance(content, Unsealed) and isinstance(content.message, Answer):
            self._read(content.message, now)
            self.deviated(content.deviations, now)
        else:
            self._put_otherwise(_said_in(content), now)

    def failed(self, failed: Undelivered, now: float) -> None:
        """A registration got no answer."""
        if failed.key != self._key:
            return
        self._key = None
        # Some hang up on what they do not know; from a manager that accepted us before, that is a failure.
        broke = failed.failure is Failure.BROKEN and not self.is_enrolled and failed.blame is Blame.PEER
        if failed.failure is Failure.NOT_UNDERSTOOD or broke:
            self._put_otherwise(failed.detail or "it hung up", now)
            return
        if failed.failure is Failure.REFUSED:
            # Nobody is there: who comes may speak otherwise.
            self._tried = 0
        silence = _SILENCE.get(failed.failure, "the manager does not answer")
        self._again(silence, now, failed.retry_after or 0.0)

    def tick(self, now: float) -> None:
        """Make the next attempt, if it is due."""
        if self.deadline is not None and self.deadline <= now:
            self._call(now)

    # --- attempts -----------------------------------------------------------------------------------------------------

    def _call(self, now: float) -> None:
        self._calls += 1
        self._key, self.deadline = f"register/{self._calls}", None
        envelope = seal(self.sender, now, f"conv-register-{self._calls}")
        request: RefereeRegisterRequest | LeagueRegisterRequest
        if isinstance(self.meta, RefereeMeta):
            request = RefereeRegisterRequest(**envelope, referee_meta=self.meta)
        else:
            request = LeagueRegisterRequest(**envelope, player_meta=self.meta)
        endpoint, convention = self._ways[self._tried]
        to = Address(tokens.MANAGER, endpoint, self.token if self._showing else None, convention)
        self._send(Outgoing(self._key, (to,), request, now + self._row.limit_s))

    @property
    def _ways(self) -> list[tuple[str, Convention]]:
        """Where and how a registration may be put, the likeliest first."""
        order = ways(self.convention) if self._finds_out else (self.convention,)
        known = [(self._endpoint, one) for one in order]
        return [*known, (_elsewhere(self._endpoint), Convention.BARE)] if self._finds_out else known

    def _put_otherwise(self, said: str, now: float) -> None:
        """It was not understood: at once in the next way, which counts as no failure; after the last from the start."""
        if self._tried == 0:
            self._said = said[:LONGEST_WORD]
        self._tried += 1
        if self._tried < len(self._ways):
            self._call(now)
            return
        self._tried = 0
        why = f" (to the documents' own: {self._said})" if self._said else ""
        self._again(f"the manager answers, but understands none of the ways to register that we know{why}", now)

    def _again(self, trouble: str, now: float, at_least: float = 0.0) -> None:
        self.trouble = trouble
        self._failures += 1
        pause = self._row.repetition.pause_before(self._failures)
        assert pause is not None, "registrations are repeated until they are answered"
        self.deadline = now + max(pause, at_least)

    def _refused(self, refusal: Refusal, now: float) -> None:
        if refusal.code == "E012" and self.token is not None and self._showing:
            # The manager does not know the token we come back with: it may know our name and address.
            self._showing = False
            self._call(now)
        elif not refusal.understood or refusal.code in _UNREAD:
            self._put_otherwise(refusal.detail, now)
        elif ERRORS[refusal.code].retry in _MAY_HELP:
            if refusal.code == "E099":
                # Something broke there, perhaps over the way we put it.
                self._tried = (self._tried + 1) % len(self._ways)
            self._again(f"the manager says {refusal.code} {refusal.detail[:LONGEST_WORD]}", now)
        else:
            self.rejected, self.pending = refusal, None

    def _read(self, answer: Answer, now: float) -> None:
        agent_id = _id_in(answer)
        if answer.status == "REJECTED":
            code = answer.error_code or ""
            known = code if code in ERRORS else "E032"
            refusal = Refusal(known, answer.reason or "the manager gave no reason")
            if known == "E043" and (answer.context or {}).get("pending") is True:
                self.pending, self.deadline = refusal, now + APPROVAL_S
            else:
                self._refused(refusal, now)
        elif agent_id is None:
            self._put_otherwise("an acceptance without an id", now)
        else:
            self._enrol(answer, agent_id, now)

    def _enrol(self, answer: Answer, agent_id: str, now: float) -> None:
        serial = self.serial + 1
        if answer.auth_token:
            self._keep_secret(f"token/{serial}", answer.auth_token)
        endpoint, convention = self._ways[self._tried]
        self._failures, self._tried, self._showing = 0, 0, True
        self.rejected, self.pending, self.trouble = None, None, ""
        self._happened(
            Enrolled(
                at=now,
                agent_id=agent_id,
                league_id=answer.league_id or self.league_id,
                serial=serial,
                derived_tokens=answer.token_scheme == DERIVED and bool(answer.auth_token),
                # Who registers agents at a path of its own is spoken to by the documents everywhere else.
                convention=(convention if endpoint == self._endpoint else Convention.SPEC).value,
            )
        )


def _complete(meta: PlayerMeta | RefereeMeta) -> PlayerMeta | RefereeMeta:
    """Everything a registration says, also what an author may leave out."""
    if meta.protocol_version is None:
        meta = structs.replace(meta, protocol_version=CURRENT)
    if isinstance(meta, RefereeMeta) and meta.max_concurrent_matches is None:
        meta = structs.replace(meta, max_concurrent_matches=1)
    return meta


def _elsewhere(endpoint: str) -> str:
    """The same server's other path."""
    scheme, _, rest = endpoint.partition("://")
    return f"{scheme}://{re.split('[/?]', rest, maxsplit=1)[0]}{REGISTER_PATH}"


def _said_in(content: Content) -> str:
    """Why an answer is no membership, as far as it says so."""
    violations = content.violations if isinstance(content, Unsealed) else ()
    return violations[0].detail if violations else ""


def _id_in(answer: RegisterResponse) -> str | None:
    named = answer.referee_id if isinstance(answer, RefereeRegisterResponse) else None
    named = answer.player_id if isinstance(answer, LeagueRegisterResponse) else named
    return named or None
