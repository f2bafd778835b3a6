"""Registering, and registering again (spec section 7.2): a part of the machines of referee and player.

The machine hands over answers, failures and ticks of the calls this part `owns`, applies Enrolled here too, and says
when a request was refused or accepted. What is not in Enrolled is lost in a crash and taken up by `resume`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Final

from msgspec import structs

from league.events import Enrolled, Event
from league.machine import Address, Letter, Outgoing, Refusal, Undelivered
from league.protocol import tokens
from league.protocol.envelope import Unsealed, seal
from league.protocol.errors import ERRORS, Retry
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
_MAY_HELP: Final = (Retry.YES, Retry.LATER)

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
        self._endpoint = manager_endpoint
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
    def is_under_way(self) -> bool:
        return self._key is not None or self.deadline is not None

    @property
    def sender(self) -> str:
        """What we call ourselves: the id we wish for (R-37) or our own name before we have an id."""
        return f"{self.role}:{self.agent_id or self._wished_id or self.meta.display_name.strip()}"

    @property
    def manager(self) -> Address:
        """Where requests to the manager go, with the token they carry."""
        return Address(tokens.MANAGER, self._endpoint, self.token)

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
        }

    # --- what the machine tells ---------------------------------------------------------------------------------------

    def apply(self, event: Enrolled) -> None:
        """Make it true. Its token has been kept as a secret before."""
        self.agent_id, self.league_id = event.agent_id, event.league_id
        self.serial, self.derived_tokens = event.serial, event.derived_tokens
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
        else:
            self._again(now)

    def failed(self, failed: Undelivered, now: float) -> None:
        """A registration got no answer."""
        if failed.key == self._key:
            self._key = None
            self._again(now, failed.retry_after or 0.0)

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
        to = self.manager if self._showing else Address(tokens.MANAGER, self._endpoint)
        self._send(Outgoing(self._key, (to,), request, now + self._row.limit_s))

    def _again(self, now: float, at_least: float = 0.0) -> None:
        self._failures += 1
        pause = self._row.repetition.pause_before(self._failures)
        assert pause is not None, "registrations are repeated until they are answered"
        self.deadline = now + max(pause, at_least)

    def _refused(self, refusal: Refusal, now: float) -> None:
        if refusal.code == "E012" and self.token is not None and self._showing:
            # The manager does not know the token we come back with: it may know our name and address.
            self._showing = False
            self._call(now)
        elif ERRORS[refusal.code].retry in _MAY_HELP:
            self._again(now)
        else:
            self.rejected = refusal

    def _read(self, answer: Answer, now: float) -> None:
        agent_id = _id_in(answer)
        if answer.status == "REJECTED":
            code = answer.error_code or ""
            known = code if code in ERRORS else "E032"
            self._refused(Refusal(known, answer.reason or "the manager gave no reason"), now)
        elif agent_id is None:
            self._again(now)
        else:
            self._enrol(answer, agent_id, now)

    def _enrol(self, answer: Answer, agent_id: str, now: float) -> None:
        serial = self.serial + 1
        if answer.auth_token:
            self._keep_secret(f"token/{serial}", answer.auth_token)
        self._failures, self._showing, self.rejected = 0, True, None
        self._happened(
            Enrolled(
                at=now,
                agent_id=agent_id,
                league_id=answer.league_id or self.league_id,
                serial=serial,
                derived_tokens=answer.token_scheme == DERIVED and bool(answer.auth_token),
            )
        )


def _complete(meta: PlayerMeta | RefereeMeta) -> PlayerMeta | RefereeMeta:
    """Everything a registration says, also what an author may leave out."""
    if meta.protocol_version is None:
        meta = structs.replace(meta, protocol_version=CURRENT)
    if isinstance(meta, RefereeMeta) and meta.max_concurrent_matches is None:
        meta = structs.replace(meta, max_concurrent_matches=1)
    return meta


def _id_in(answer: RegisterResponse) -> str | None:
    named = answer.referee_id if isinstance(answer, RefereeRegisterResponse) else None
    named = answer.player_id if isinstance(answer, LeagueRegisterResponse) else named
    return named or None
