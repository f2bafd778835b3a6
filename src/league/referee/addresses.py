"""Where the players of a match live, when the manager's assignment does not say (spec section 13.5): each source of
addresses is asked in turn, and again after a while, until every player is found.

The matches are journalled like any others; what was asked and answered is lost in a crash and asked again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from league.calling.delivery import Delivery, Ending, FailedAttempt, Interpretation, Policy, Reaction
from league.dialects import assignments as foreign
from league.dialects.assignments import REGISTRATIONS, Fields, GetAssignedMatches
from league.events import PlayersLocated
from league.machine import Content, Information, Refusal
from league.membership import Membership
from league.protocol.errors import Violation
from league.protocol.exchanges import EXCHANGES
from league.protocol.messages import LeagueQuery, Message
from league.protocol.parts import QueryParams
from league.protocol.tokens import MANAGER
from league.referee.context import RefereeContext, shortened
from league.referee.match import Match

AGAIN_S: Final = 3.0
SLOWLY_S: Final = 15.0
IN_VAIN: Final = 3
"""After so many searches in vain the next begins later."""

Envelope = dict[str, Any]
"""As `seal` has it."""


@dataclass(frozen=True, slots=True)
class AddressSource:
    """One place where addresses may be found. `ask` is the question to the manager (without one, nobody is asked), and
    `read` finds the players' endpoints in its answer."""

    name: str
    ask: Callable[[Membership, Envelope], Message] | None
    read: Callable[[Fields], dict[str, str]]


def _registrations(membership: Membership, envelope: Envelope) -> Message:
    league_id = membership.league_id or foreign.UNNAMED_LEAGUE
    return LeagueQuery(**envelope, league_id=league_id, query_type=REGISTRATIONS, query_params=QueryParams())


def _assigned(membership: Membership, envelope: Envelope) -> Message:
    return GetAssignedMatches(**envelope, referee_id=membership.agent_id, league_id=membership.league_id or None)


SOURCES: Final = (
    AddressSource(REGISTRATIONS, _registrations, foreign.addresses_in),
    AddressSource("get_assigned_matches", _assigned, foreign.addresses_in_matches),
)
"""In the order they are asked."""


class AddressBook:
    """Looks for the players of all open matches that have no address yet. `on_located` is called when a match can be
    played."""

    def __init__(
        self,
        context: RefereeContext,
        on_located: Callable[[float], None],
        sources: Sequence[AddressSource] = SOURCES,
    ) -> None:
        self.trouble = ""
        """Why a match cannot be played yet, when every source was asked in vain."""
        self._context, self._on_located, self._sources = context, on_located, sources
        self._found: dict[str, str] = {}
        self._untried: list[AddressSource] = []
        self._said: list[str] = []
        """What came of the sources that were asked."""
        self._sought: set[str] = set()
        """The matches that were looked at by this search or the last."""
        self._delivery: Delivery | None = None
        self._searches = 0
        self._in_vain = 0

    @property
    def _missing(self) -> list[Match]:
        return [match for match in self._context.docket.open.values() if not match.is_located]

    def seek(self, now: float) -> None:
        """A match may have come without addresses."""
        if self._delivery is None and not self._sought.issuperset(one.name for one in self._missing):
            self._in_vain = 0
            self._search(now)

    def end(self) -> None:
        """The league is over."""
        self._context.timers.clear(self)
        self.trouble = ""
        if self._delivery is not None:
            self._context.calls.drop(self._delivery, cancel=True)
            self._delivery = None

    def locate(self, match: Match, found: dict[str, str], now: float) -> None:
        """As far as it is known now, both or nobody."""
        pairs = zip(match.taken.players, match.taken.endpoints, strict=True)
        a, b = (endpoint or found.get(player, "") for player, endpoint in pairs)
        if not match.is_located and a and b:
            self._context.happened(PlayersLocated(at=now, **match.named, endpoints=(a, b)))
            self._on_located(now)

    # --- asking -------------------------------------------------------------------------------------------------------

    def _search(self, now: float) -> None:
        self._searches += 1
        self._found, self._said, self._untried = {}, [], list(self._sources)
        self._context.timers.clear(self)
        self._next(now)

    def _next(self, now: float) -> None:
        """The next source, if somebody is still to be found."""
        self._locate_all(now)
        self._sought = {match.name for match in self._missing}
        while self._missing and self._untried:
            source = self._untried.pop(0)
            if source.ask is not None:
                self._ask(source, source.ask, now)
                return
            self._read(source, {}, now)
        if self._missing:
            self._report(now)
        else:
            self.trouble, self._in_vain = "", 0

    def _ask(self, source: AddressSource, ask: Callable[[Membership, Envelope], Message], now: float) -> None:
        membership = self._context.membership
        conversation = f"conv-{membership.agent_id}-addresses-{self._searches}".lower()
        self._delivery = Delivery(
            MANAGER,
            f"addresses/{self._searches}",
            ask(membership, membership.sealed(now, conversation)),
            Policy(EXCHANGES["LEAGUE_QUERY"].limit_s, if_not_understood=Reaction.FAILED),
            address=lambda: membership.manager,
            on_end=lambda delivery, outcome, then: self._ended(source, delivery, outcome, then),
            on_attempt_failed=self._failed,
            interpret=_interpret,
        )
        self._context.calls.deliver([self._delivery], now)

    def _failed(self, delivery: Delivery, failed: FailedAttempt, now: float) -> None:
        self._said.append(failed.detail or failed.failure.value)

    def _ended(self, source: AddressSource, delivery: Delivery, outcome: Ending, now: float) -> None:
        self._delivery = None
        content, registration = delivery.answer, self._context.membership.registration
        if outcome is not Ending.FAILED and isinstance(content, Information):
            registration.request_accepted()
            self._read(source, content.data, now)
        elif outcome is not Ending.FAILED and isinstance(content, Refusal):
            self._said.append(f"{content.code} {content.detail}")
            registration.request_refused(content.code, now)
        self._next(now)

    def _read(self, source: AddressSource, answer: Fields, now: float) -> None:
        self._found |= foreign.usable(source.read(answer))
        self._locate_all(now)

    def _locate_all(self, now: float) -> None:
        for match in self._missing:
            self.locate(match, self._found, now)

    # --- in vain ------------------------------------------------------------------------------------------------------

    def _report(self, now: float) -> None:
        """Nobody says where they live: recorded of the manager, told to whoever started us, and asked again."""
        match = self._missing[0]
        seat = "B" if match.taken.endpoints[0] or match.taken.players[0] in self._found else "A"
        field = f"player_{seat}_endpoint"
        said = "; ".join(dict.fromkeys(self._said)) or "nobody said"
        asked = " and ".join(one.name for one in self._sources)
        self.trouble = shortened(f"{field} of {match.match_id} is missing, and {asked} did not tell it: {said}")
        clause = f"ROUND_ANNOUNCEMENT.matches[].{field}"
        self._context.membership.record((Violation("E003", "matches", self.trouble, clause, lenient=True),), now)
        self._in_vain += 1
        delay = SLOWLY_S if self._in_vain >= IN_VAIN else AGAIN_S
        self._context.timers.set(self, now + delay, self._search)


def _interpret(_: Delivery, content: Content, __: float) -> Interpretation:
    if isinstance(content, Refusal) and not content.understood:
        return Interpretation(Reaction.NOT_UNDERSTOOD, content.detail)
    return Interpretation(Reaction.ANSWERED)
