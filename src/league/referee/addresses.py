"""Where the players of a match live, when the manager's assignment does not say (spec section 13.5): each source of
addresses is asked in turn, and again after a while, until every player is found.

The matches are journalled like any others; what was asked and answered is lost in a crash and asked again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from league.calling.delivery import Delivery, Ending, FailedAttempt, Interpretation, Policy, Reaction
from league.dialects import assignments as foreign
from league.dialects.assignments import ADDRESS_QUERIES, Fields, GetAssignedMatches
from league.events import PlayersLocated
from league.machine import Address, Content, Failure, Information, Ping, Refusal
from league.membership import Membership
from league.protocol.errors import Violation
from league.protocol.exchanges import EXCHANGES
from league.protocol.messages import LeagueQuery, Message
from league.protocol.parts import QueryParams
from league.protocol.tokens import MANAGER
from league.referee.assignments import place
from league.referee.context import RefereeContext, RefereeSettings, quotable
from league.referee.match import Match

AGAIN_S: Final = 3.0
SLOWLY_S: Final = 15.0
IN_VAIN: Final = 3
"""After so many searches in vain the next begins later."""
PING: Final = Policy(limit_s=3.0, is_waited_for=False)
PORTS: Final = range(8101, 8200)
"""Where the documents have players live: P01 at the first, P02 at the next (D1 1910, D3 43)."""
BY_PORT: Final = "the documents' ports"
_IS_THERE: Final = (Failure.BUSY, Failure.NOT_UNDERSTOOD, Failure.ERROR)
"""Somebody answered the ping, if not as the documents do."""

Envelope = dict[str, Any]
"""As `seal` has it."""


@dataclass(frozen=True, slots=True)
class AddressSource:
    """One place where addresses may be found: the manager is asked (`ask`), or it is at hand (`look`). `read` finds the
    players' endpoints in what it says."""

    name: str
    ask: Callable[[Membership, Envelope], Message] | None = None
    look: Callable[[], Information | Refusal] = lambda: Information({})
    read: Callable[[Fields], dict[str, str]] = foreign.addresses_in


def _query(query_type: str, membership: Membership, envelope: Envelope) -> Message:
    league_id = membership.league_id or foreign.UNNAMED_LEAGUE
    return LeagueQuery(**envelope, league_id=league_id, query_type=query_type, query_params=QueryParams())


def _assigned(membership: Membership, envelope: Envelope) -> Message:
    return GetAssignedMatches(**envelope, referee_id=membership.agent_id, league_id=membership.league_id or None)


def sources(settings: RefereeSettings) -> Iterator[AddressSource]:
    """In the order they are asked."""
    for query_type in ADDRESS_QUERIES:
        yield AddressSource(query_type, ask=partial(_query, query_type))
    yield AddressSource("get_assigned_matches", ask=_assigned, read=foreign.addresses_in_matches)
    if settings.players:
        yield AddressSource("--player", look=lambda: Information({"players": dict(settings.players)}))
    if settings.agents_config is not None:
        yield AddressSource("agents_config.json", look=settings.agents_config)


class AddressBook:
    """Looks for the players of all open matches that have no address yet. `on_located` is called when a match can be
    played."""

    def __init__(self, context: RefereeContext, on_located: Callable[[float], None]) -> None:
        self.trouble = ""
        """Why a match cannot be played yet, when every source was asked in vain."""
        self._context, self._on_located = context, on_located
        self._sources = tuple(sources(context.settings))
        self._found: dict[str, str] = {}
        self._untried: list[AddressSource] = []
        self._said: list[str] = []
        """What came of the sources that were asked."""
        self._sought: set[str] = set()
        """The matches that were looked at by this search or the last."""
        self._deliveries: list[Delivery] = []
        """The question that is open, or the pings."""
        self._searches = 0
        self._in_vain = 0

    @property
    def _missing(self) -> list[Match]:
        return [match for match in self._context.docket.open.values() if not match.is_located]

    def seek(self, now: float) -> None:
        """A match may have come without addresses."""
        if not self._deliveries and not self._sought.issuperset(one.name for one in self._missing):
            self._in_vain = 0
            self._search(now)

    def end(self) -> None:
        """The league is over."""
        self._context.timers.clear(self)
        self.trouble = ""
        for delivery in self._deliveries:
            self._context.calls.drop(delivery, cancel=True)
        self._deliveries.clear()

    def locate(self, match: Match, found: dict[str, str], source: str, now: float) -> None:
        """As far as it is known now, both or nobody."""
        pairs = zip(match.taken.players, match.taken.endpoints, strict=True)
        a, b = (endpoint or found.get(player, "") for player, endpoint in pairs)
        if not match.is_located and a and b:
            self._context.happened(PlayersLocated(at=now, **match.named, endpoints=(a, b), source=source))
            self._on_located(now)

    def move(self, match: Match, found: dict[str, str], now: float) -> None:
        """The manager says that a player lives elsewhere now than when the match was given to us."""
        pairs = zip(match.taken.players, match.taken.endpoints, strict=True)
        a, b = (found.get(player) or endpoint for player, endpoint in pairs)
        if match.is_located and (a, b) != match.taken.endpoints:
            self._context.happened(PlayersLocated(at=now, **match.named, endpoints=(a, b), source="the manager"))

    # --- asking -------------------------------------------------------------------------------------------------------

    def _search(self, now: float) -> None:
        self._searches += 1
        self._found, self._said, self._untried = {}, [], list(self._sources)
        self._context.timers.clear(self)
        self._next(now)

    def _next(self, now: float) -> None:
        """The next source, if somebody is still to be found."""
        self._sought = {match.name for match in self._missing}
        while self._missing and self._untried:
            source = self._untried.pop(0)
            if source.ask is not None:
                self._ask(source, source.ask, now)
                return
            self._hear(source, source.look(), now)
        if self._missing and not self._context.settings.is_strict:
            self._try_ports(now)
        else:
            self._conclude(now)

    def _ask(self, source: AddressSource, ask: Callable[[Membership, Envelope], Message], now: float) -> None:
        membership = self._context.membership
        conversation = f"conv-{membership.agent_id}-addresses-{self._searches}".lower()
        delivery = Delivery(
            MANAGER,
            f"addresses/{self._searches}",
            ask(membership, membership.sealed(now, conversation)),
            Policy(EXCHANGES["LEAGUE_QUERY"].limit_s, if_not_understood=Reaction.FAILED),
            address=lambda: membership.manager,
            on_end=lambda delivery, outcome, then: self._ended(source, delivery, outcome, then),
            on_attempt_failed=self._failed,
            interpret=_interpret,
        )
        self._deliveries.append(delivery)
        self._context.calls.deliver([delivery], now)

    def _failed(self, delivery: Delivery, failed: FailedAttempt, now: float) -> None:
        self._said.append(failed.detail or failed.failure.value)

    def _ended(self, source: AddressSource, delivery: Delivery, outcome: Ending, now: float) -> None:
        self._deliveries.clear()
        content, registration = delivery.answer, self._context.membership.registration
        if outcome is not Ending.FAILED:
            if isinstance(content, Information):
                registration.request_accepted()
            elif isinstance(content, Refusal):
                registration.request_refused(content.code, now)
            self._hear(source, content, now)
        self._next(now)

    def _hear(self, source: AddressSource, content: Content | None, now: float) -> None:
        """What a source says."""
        if isinstance(content, Information):
            self._found |= foreign.usable(source.read(content.data))
        elif isinstance(content, Refusal):
            self._said.append(f"{content.code} {content.detail}".strip())
        self._locate_all(source.name, now)

    def _locate_all(self, source: str, now: float) -> None:
        for match in self._missing:
            self.locate(match, self._found, source, now)

    # --- the last resort ----------------------------------------------------------------------------------------------

    def _try_ports(self, now: float) -> None:
        """Where the documents have players live. Only where somebody answers: nobody loses a match by our guess."""
        manager = self._context.membership.endpoint
        sought = dict.fromkeys(player for match in self._missing for player in match.taken.players)
        homes = {player: _documented_home(player, manager) for player in sought if player not in self._found}
        self._deliveries = [self._ping(player, home) for player, home in homes.items() if home]
        if self._deliveries:
            self._context.calls.deliver(list(self._deliveries), now)
        else:
            self._conclude(now)

    def _ping(self, player: str, home: str) -> Delivery:
        def failed(_: Delivery, how: FailedAttempt, __: float) -> None:
            if how.failure in _IS_THERE:
                self._found[player] = home

        def ended(delivery: Delivery, outcome: Ending, now: float) -> None:
            if outcome is not Ending.FAILED:
                self._found[player] = home
            self._deliveries.remove(delivery)
            if not self._deliveries:
                self._tried_ports(now)

        address, label = Address(player, home), f"addresses/{self._searches}"
        return Delivery(player, label, Ping(), PING, lambda: address, on_end=ended, on_attempt_failed=failed)

    def _tried_ports(self, now: float) -> None:
        before = {match.name for match in self._missing}
        self._locate_all(BY_PORT, now)
        if len(self._missing) < len(before):
            self._record("nobody says where the players live; they are called at " + BY_PORT, "A", now)
        self._conclude(now)

    # --- the end of a search ------------------------------------------------------------------------------------------

    def _conclude(self, now: float) -> None:
        if self._missing:
            self._report(now)
        else:
            self.trouble, self._in_vain = "", 0

    def _report(self, now: float) -> None:
        """Nobody says where they live: recorded of the manager, told to whoever started us, and asked again."""
        match = self._missing[0]
        unknown = [player not in self._found for player in match.taken.players]
        seat = 1 if match.taken.endpoints[0] or not unknown[0] else 0
        said = "; ".join(dict.fromkeys(self._said)) or "nobody said"
        asked = ", ".join((*(one.name for one in self._sources), BY_PORT))
        missing = f"player_{'AB'[seat]}_endpoint of {match.match_id} is missing"
        hint = f"say it with --player {match.taken.players[seat]}=URL"
        self.trouble = quotable(f"{missing}; {hint}. These did not tell it: {asked} ({said})")
        self._record(self.trouble, "AB"[seat], now)
        self._in_vain += 1
        delay = SLOWLY_S if self._in_vain >= IN_VAIN else AGAIN_S
        self._context.timers.set(self, now + delay, self._search)

    def _record(self, detail: str, seat: str, now: float) -> None:
        clause = f"ROUND_ANNOUNCEMENT.matches[].player_{seat}_endpoint"
        self._context.membership.record((Violation("E003", "matches", detail, clause, lenient=True),), now)


def _documented_home(player_id: str, manager: str) -> str | None:
    """On the manager's machine, at the port with the number in the player's id; None if there is no such number."""
    number, (host, _) = foreign.number_in(player_id), place(manager)
    return foreign.at_port(host, PORTS[number - 1]) if number is not None and 0 < number <= len(PORTS) else None


def _interpret(_: Delivery, content: Content, __: float) -> Interpretation:
    if isinstance(content, Refusal) and not content.understood:
        return Interpretation(Reaction.NOT_UNDERSTOOD, content.detail)
    return Interpretation(Reaction.ANSWERED)
