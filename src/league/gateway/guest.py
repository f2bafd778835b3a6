"""A referee of ours as the guest of a third-party manager (spec section 13.5).

Two conversations with the manager, each with one call at a time and a timer of its own:

- *Polling*: a manager that announces nothing to referees is asked for the schedule, then for our matches
  (`get_assigned_matches`), as long as we are a member and no match is played. It ends as soon as a match comes by
  itself, or the manager knows neither question.
- *Address search*: a match may come without its players' addresses. Each source is asked in turn, the ports of the
  documents come last, and the search begins again after a while, until every player is found.

What must never happen: our own manager, which announces, is polled; a player loses a match because we guessed its
address (a guess counts only where somebody answers a ping). The matches are journalled like any others; what was asked
and answered is lost in a crash and asked again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from league.calling.delivery import (
    Delivery,
    Ending,
    FailedAttempt,
    Policy,
    Reaction,
)
from league.gateway.lead import Lead, look_for
from league.gateway.readers import foreign_assignments as foreign
from league.gateway.readers.foreign_assignments import Assignee, FreeQuery, GetAssignedMatches
from league.gateway.readers.foreign_json import Fields
from league.gateway.reporting import GatewayReport, GatewayReports
from league.machine import (
    ADDRESS_QUERIES,
    Content,
    Failure,
    Information,
    Inquiry,
    Pong,
    Refusal,
)
from league.membership import Membership
from league.protocol.errors import PeerError, Violation
from league.protocol.message.envelope import Unsealed
from league.protocol.message.exchanges import EXCHANGES
from league.protocol.message.messages import (
    MatchResultReport,
    Message,
    RoundAnnouncement,
    RoundCompleted,
)
from league.protocol.message.parts import QueryParams
from league.protocol.signing.tokens import MANAGER
from league.referee import assigned_matches
from league.referee.match import Match
from league.referee.referee_context import (
    Guest,
    RefereeContext,
    RefereeSettings,
    Take,
    quotable,
)

POLL_AFTER_S: Final = 3.0
"""How long a new member waits for matches before it asks for them."""
POLL_S: Final = 3.0
"""How soon a manager is asked again whose list of matches has brought us one."""
POLL_SLOWLY_S: Final = 10.0
NOTHING_GIVEN: Final = "nobody has given this referee a match; it asks the manager for the schedule and for its matches"

SEARCH_S: Final = 3.0
SEARCHES_IN_VAIN: Final = 3
"""After this many searches in vain the next one begins later."""
SEARCH_SLOWLY_S: Final = 15.0
PORTS: Final = range(8101, 8200)
"""Where the documents have players live: P01 at the first, P02 at the next (D1 1910, D3 43)."""
BY_PORT: Final = "the documents' ports"

_METHOD: Final = "get_assigned_matches"
_QUESTION: Final = Policy(EXCHANGES["LEAGUE_QUERY"].limit_s, if_not_understood=Reaction.FAILED)

Envelope = dict[str, Any]
"""An envelope as `seal` writes it."""


class GatewayGuest(Guest):
    """Both conversations, and the words of a third-party manager."""

    def __init__(
        self,
        context: RefereeContext,
        take: Take,
        on_located: Callable[[float], None],
    ) -> None:
        self._context = context
        self._lead = Lead(context, on_located)
        self._polling = Polling(context, take, self._lead)
        self._search = AddressSearch(context, on_located)
        self._reports = GatewayReports(context)

    @property
    def trouble(self) -> str:
        return self._search.trouble or self._polling.trouble

    def begin(self, now: float) -> None:
        self._reports.shows_tables = True
        self._polling.begin(now)

    def seek(self, now: float) -> None:
        self._search.seek(now)

    def heard(self, message: Message, now: float) -> None:
        self._lead.heard_at = now
        if isinstance(message, RoundCompleted):
            self._reports.over = (message.round_id, now)
        elif isinstance(message, RoundAnnouncement):
            self._reports.over = (message.round_id - 1, now)
            self._gives(now)

    def _gives(self, now: float) -> None:
        """The manager gives matches by itself."""
        self._polling.end()
        self._lead.release(now)

    def may_begin(self, match: Match) -> bool:
        return not self._lead.holds(match)

    def awaits(self, player_id: str, now: float) -> bool:
        if self._context.membership.agreement.derived_tokens or self._context.settings.is_strict:
            return False
        return self._lead.is_early(player_id, now)

    def end(self) -> None:
        self._polling.end()
        self._lead.end()
        self._search.end()

    def read_assignment(self, inquiry: Inquiry, now: float) -> Unsealed:
        if self._context.settings.is_strict:
            return super().read_assignment(inquiry, now)
        return foreign.announcement_in(inquiry.params, _assignee(self._context), now)

    def assigned(self, method: str, now: float) -> None:
        self._gives(now)
        self._context.membership.record((foreign.deviation(method),), now)

    def report(self, report: MatchResultReport, round_name: str) -> GatewayReport | None:
        if self._context.membership.agreement.derived_tokens or self._context.settings.is_strict:
            return None
        return GatewayReport(self._reports, report, round_name)


def _assignee(context: RefereeContext) -> Assignee:
    """Name ourselves as the one that a match is given to."""
    membership = context.membership
    return Assignee(
        membership.agent_id,
        membership.meta.contact_endpoint,
        membership.league_id,
    )


def _question(membership: Membership, envelope: Envelope) -> Message:
    """Ask which matches we are to play."""
    return GetAssignedMatches(
        **envelope,
        referee_id=membership.agent_id,
        league_id=membership.league_id or None,
    )


def _query(query_type: str, membership: Membership, envelope: Envelope) -> Message:
    """Ask for something that no document answers in one way (D0 411: "player or referee")."""
    league_id = membership.league_id or foreign.UNNAMED_LEAGUE
    return FreeQuery(**envelope, league_id=league_id, query_type=query_type, query_params=QueryParams())


def _heed(content: Content | None, context: RefereeContext, now: float) -> None:
    """Note whether the manager still takes our token."""
    registration = context.membership.registration
    if isinstance(content, Information):
        registration.request_accepted()
    elif isinstance(content, Refusal):
        registration.question_refused(content, now)


# --- asking for matches -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class _PollQuestion:
    """A question to the manager: how it is asked, and what is made of the answer."""

    ask: Callable[[Membership, Envelope], Message]
    look: Callable[[Fields, float], None]


class Polling:
    """Asks for matches: one call at a time, and none while a match is played. `take` opens new matches like those of
    any announcement."""

    def __init__(self, context: RefereeContext, take: Take, lead: Lead) -> None:
        self.trouble = ""
        """Says that every question was asked in vain."""
        self._context = context
        self._take = take
        self._lead = lead
        self._rounds: frozenset[int] = frozenset()
        """The rounds of the last schedule."""
        self._polls = 0
        self._is_first = True
        self._is_listing = False
        """True once the manager's list has brought a match: it is asked more often."""
        self._questions: list[_PollQuestion] = []
        """The questions that the manager may know."""
        self._unasked: list[_PollQuestion] = []
        """Those that are still to be asked in this poll."""
        self._delivery: Delivery | None = None

    def begin(self, now: float) -> None:
        """We have become a member, or are one again."""
        self.end()
        context = self._context
        # A manager of ours has given us derived tokens. It announces its matches.
        is_guest = context.membership.is_registered and not context.membership.agreement.derived_tokens
        if is_guest and not context.settings.is_strict and context.docket.state != "SHUTDOWN":
            self._is_first = True
            self._questions = [
                _PollQuestion(partial(_query, "GET_SCHEDULE"), self._look_at_schedule),
                _PollQuestion(_question, self._look_at_list),
            ]
            context.timers.set(self, now + POLL_AFTER_S, self._poll)

    def end(self) -> None:
        """Matches come by themselves, or none will come: ask no more in this membership."""
        self.trouble = ""
        self._context.timers.clear(self)
        if self._delivery is not None:
            self._context.calls.drop(self._delivery, cancel=True)
            self._delivery = None

    def _poll(self, now: float) -> None:
        open_matches = self._context.docket.open.values()
        if any(match.is_located and not self._lead.holds(match) for match in open_matches):
            self._poll_later(now)
            return
        self._unasked = list(self._questions)
        self._ask_next(now)

    def _ask_next(self, now: float) -> None:
        """Ask the next question of this poll; after the last one, the next poll comes later."""
        if not self._unasked:
            # It is said once, after the first poll.
            self.trouble = ""
            if self._is_first and not self._context.docket.open:
                self.trouble = NOTHING_GIVEN
            self._is_first = False
            if self._questions:
                self._poll_later(now)
            return
        question = self._unasked.pop(0)
        self._polls += 1
        membership = self._context.membership
        envelope = membership.sealed(now, f"conv-{membership.agent_id}-poll-{self._polls}".lower())
        self._delivery = Delivery(
            MANAGER,
            f"assigned/{self._polls}",
            question.ask(membership, envelope),
            _QUESTION,
            address=lambda: membership.manager,
            on_end=partial(self._ended, question),
            on_attempt_failed=partial(self._failed, question),
        )
        self._context.calls.deliver([self._delivery], now)

    def _poll_later(self, now: float, at_least_s: float = 0.0) -> None:
        delay_s = POLL_SLOWLY_S
        if self._is_listing:
            delay_s = POLL_S
        self._context.timers.set(self, now + max(delay_s, at_least_s), self._poll)

    def _failed(self, question: _PollQuestion, delivery: Delivery, failed: FailedAttempt, now: float) -> None:
        """A question that the manager does not know is not asked again."""
        if failed.failure is Failure.NOT_UNDERSTOOD:
            self._questions.remove(question)

    def _ended(self, question: _PollQuestion, delivery: Delivery, outcome: Ending, now: float) -> None:
        self._delivery = None
        if outcome is Ending.FAILED:
            # A busy manager asked for time.
            if delivery.busy_s:
                self._poll_later(now, delivery.busy_s)
            else:
                self._ask_next(now)
            return
        content = delivery.answer
        _heed(content, self._context, now)
        if isinstance(content, Information):
            question.look(content.data, now)
        if self._context.docket.open:
            self._unasked.clear()
        self._ask_next(now)

    # --- what the answers say -----------------------------------------------------------------------------------------

    def _look_at_schedule(self, answer: Fields, now: float) -> None:
        """Take our matches of the earliest round in which one of them is still to be played."""
        schedule = foreign.schedule_in(answer)
        # A match without a referee is ours if the schedule knows no other referee.
        is_only_one = all(foreign.names_no_referee(fields) or self._is_ours(fields) for fields in schedule)
        ours = []
        for fields in schedule:
            is_named = self._is_ours(fields)
            if is_named or (is_only_one and foreign.names_no_referee(fields)):
                ours.append(fields)
        docket = self._context.docket
        open_rounds: dict[int, list[Fields]] = {}
        for fields in ours:
            match_id = fields["match_id"]
            is_done = docket.attempt_of(match_id) > 0 and match_id not in docket.open
            round_id = foreign.number_in(str(fields["round_id"])) or 0
            if not is_done and foreign.is_wanted({**fields, "referee_id": None}, ""):
                open_rounds.setdefault(round_id, []).append(fields)
        rounds = foreign.rounds_in(schedule)
        if open_rounds:
            round_id = min(open_rounds)
            matches = open_rounds[round_id]
            if foreign.is_current(round_id, answer, matches) or self._has_grown_to(round_id, schedule, rounds):
                self._look_at(matches, "GET_SCHEDULE", now)
                self._lead.release(now)
            else:
                new = (fields["match_id"] for fields in matches if fields["match_id"] not in docket.open)
                self._lead.hold(new, now)
                self._look_at(matches, "GET_SCHEDULE", now)
        self._rounds = rounds

    def _has_grown_to(self, round_id: int, schedule: list[Fields], rounds: frozenset[int]) -> bool:
        """True if this round is the newest of a schedule that grows round by round: then it is the current one."""
        if round_id < max(rounds):
            return False
        is_growing = bool(self._rounds) and round_id not in self._rounds
        return is_growing or len(rounds) < foreign.rounds_needed(schedule)

    def _is_ours(self, fields: Fields) -> bool:
        """Does this match name us as its referee?"""
        membership = self._context.membership
        if fields.get("referee_id") is not None:
            return bool(fields["referee_id"] == membership.agent_id)
        endpoint = fields.get("referee_endpoint")
        return isinstance(endpoint, str) and assigned_matches.is_same(endpoint, membership.meta.contact_endpoint)

    def _look_at_list(self, answer: Fields, now: float) -> None:
        """Take the matches that are new and ours; of those we have, take the addresses of the players."""
        agent_id = self._context.membership.agent_id
        wanted = [fields for fields in foreign.matches_in(answer) if foreign.is_wanted(fields, agent_id)]
        if self._look_at(wanted, _METHOD, now):
            self._is_listing = True

    def _look_at(self, listed: list[Fields], method: str, now: float) -> bool:
        """Take the matches that are new; return whether there were any."""
        membership = self._context.membership
        has_new = False
        for fields in listed:
            # One bad row does not spoil the others.
            try:
                has_new = self._take_listed(fields, method, now) or has_new
            except PeerError as error:
                clause = error.requirement or "ROUND_ANNOUNCEMENT.matches"
                deviation = Violation(error.code, "matches", error.detail, clause, lenient=True)
                membership.record((deviation,), now)
        return has_new

    def _take_listed(self, fields: Fields, method: str, now: float) -> bool:
        """Take a match from a list; return whether it is new. PeerError for one that nobody could play."""
        read = foreign.announcement_in(fields, _assignee(self._context), now)
        announcement = read.open()
        assert isinstance(announcement, RoundAnnouncement)
        (announced,) = announcement.matches
        is_new = assigned_matches.is_new(announced, self._context)
        match = self._context.docket.open.get(announced.match_id)
        if is_new or (match is not None and not match.is_located):
            self._take(announcement, now, read.round_name)
        if is_new:
            self._context.membership.record((foreign.deviation(method),), now)
        return is_new


# --- looking for addresses --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AddressSource:
    """One place where addresses may be found: the manager is asked (`ask`), or it is at hand (`look`). `read` finds the
    players' endpoints in the answer."""

    name: str
    ask: Callable[[Membership, Envelope], Message] | None = None
    look: Callable[[], Information | Refusal] = lambda: Information({})
    read: Callable[[Fields], dict[str, str]] = foreign.addresses_in


def sources(settings: RefereeSettings) -> Iterator[AddressSource]:
    """Yield the sources in the order they are asked."""
    for query_type in ADDRESS_QUERIES:
        yield AddressSource(query_type, ask=partial(_query, query_type))
    yield AddressSource(_METHOD, ask=_question, read=foreign.addresses_in_matches)
    if settings.players:
        yield AddressSource(
            "--player",
            look=lambda: Information({"players": dict(settings.players)}),
        )
    if settings.agents_config is not None:
        yield AddressSource("agents_config.json", look=settings.agents_config)


class AddressSearch:
    """Looks for the players of all open matches that have no address yet. `on_located` is called when a match can be
    played."""

    def __init__(self, context: RefereeContext, on_located: Callable[[float], None]) -> None:
        self.trouble = ""
        """Why a match cannot be played yet, when every source was asked in vain."""
        self._context = context
        self._on_located = on_located
        self._sources = tuple(sources(context.settings))
        self._endpoints: dict[str, str] = {}
        self._untried: list[AddressSource] = []
        self._replies: list[str] = []
        """The reasons of the sources that had no address."""
        self._sought: set[str] = set()
        """The matches that this search or the last one looked at."""
        self._deliveries: list[Delivery] = []
        """The question that is open, or the pings."""
        self._found: list[tuple[int, str, str]] = []
        """The port's number, the endpoint, and who says that it is there, of each ping that was answered."""
        self._searches = 0
        self._in_vain = 0

    @property
    def _missing(self) -> list[Match]:
        return [match for match in self._context.docket.open.values() if not match.is_located]

    def seek(self, now: float) -> None:
        """A match may have come without addresses."""
        missing = {match.name for match in self._missing}
        # A search that looked at all of them is under way, or begins again by itself.
        if not self._deliveries and not self._sought.issuperset(missing):
            self._in_vain = 0
            self._search(now)

    def end(self) -> None:
        """The league is over."""
        self._context.timers.clear(self)
        self.trouble = ""
        for delivery in self._deliveries:
            self._context.calls.drop(delivery, cancel=True)
        self._deliveries.clear()

    def _search(self, now: float) -> None:
        self._searches += 1
        self._endpoints = {}
        self._replies = []
        self._untried = list(self._sources)
        self._context.timers.clear(self)
        self._next(now)

    def _next(self, now: float) -> None:
        """Go to the next source, if somebody is still to be found."""
        self._sought = {match.name for match in self._missing}
        while self._missing and self._untried:
            source = self._untried.pop(0)
            if source.ask is not None:
                self._ask(source, source.ask, now)
                return
            self._hear(source, source.look(), now)
        # Under the strict profile nothing is guessed.
        if self._missing and not self._context.settings.is_strict:
            self._try_ports(now)
        else:
            self._conclude(now)

    # --- asking the manager -------------------------------------------------------------------------------------------

    def _ask(
        self,
        source: AddressSource,
        ask: Callable[[Membership, Envelope], Message],
        now: float,
    ) -> None:
        membership = self._context.membership
        conversation = f"conv-{membership.agent_id}-addresses-{self._searches}".lower()
        delivery = Delivery(
            MANAGER,
            f"addresses/{self._searches}",
            ask(membership, membership.sealed(now, conversation)),
            _QUESTION,
            address=lambda: membership.manager,
            on_end=lambda delivery, outcome, then: self._ended(source, delivery, outcome, then),
            on_attempt_failed=self._failed,
        )
        self._deliveries.append(delivery)
        self._context.calls.deliver([delivery], now)

    def _failed(self, delivery: Delivery, failed: FailedAttempt, now: float) -> None:
        self._replies.append(failed.detail or failed.failure.value)

    def _ended(
        self,
        source: AddressSource,
        delivery: Delivery,
        outcome: Ending,
        now: float,
    ) -> None:
        self._deliveries.clear()
        if outcome is not Ending.FAILED:
            _heed(delivery.answer, self._context, now)
            self._hear(source, delivery.answer, now)
        self._next(now)

    def _hear(self, source: AddressSource, content: Content | None, now: float) -> None:
        """Read the answer of a source."""
        if isinstance(content, Information):
            self._endpoints |= foreign.usable(source.read(content.data))
        elif isinstance(content, Refusal):
            self._replies.append(f"{content.code} {content.detail}".strip())
        self._locate_all(source.name, now)

    def _locate_all(self, source: str, now: float) -> None:
        for match in self._missing:
            if assigned_matches.locate(match, self._endpoints, source, self._context, now):
                self._on_located(now)

    # --- the last resort ----------------------------------------------------------------------------------------------

    def _try_ports(self, now: float) -> None:
        """Ping the ports that the documents give players, up to that of the last one missing. A port counts only if
        somebody answers there: nobody loses a match because we guessed."""
        players = {player for match in self._missing for player in match.taken.players}
        last = max(map(_number_of, players - self._endpoints.keys()), default=0)
        self._found = []
        host = assigned_matches.place(self._context.membership.endpoint).host
        for number, port in enumerate(PORTS[:last], start=1):
            self._deliveries.append(self._ping(number, foreign.at_port(host, port)))
        if self._deliveries:
            self._context.calls.deliver(list(self._deliveries), now)
        else:
            self._conclude(now)

    def _ping(self, number: int, home: str) -> Delivery:
        def looked(delivery: Delivery, is_there: bool, now: float) -> None:
            if is_there:
                player_id = delivery.answer.player_id if isinstance(delivery.answer, Pong) else ""
                self._found.append((number, home, player_id))
            self._deliveries.remove(delivery)
            if not self._deliveries:
                self._tried_ports(now)

        return look_for(home, home, f"addresses/{self._searches}", looked)

    def _tried_ports(self, now: float) -> None:
        before = len(self._missing)
        players = {player for match in self._missing for player in match.taken.players}
        # A player that says who it is counts before one that is guessed by its port.
        for number, home, player_id in sorted(self._found, key=lambda found: not found[2]):
            for player in players:
                if player == player_id or (not player_id and _number_of(player) == number):
                    self._endpoints.setdefault(player, home)
        self._locate_all(BY_PORT, now)
        if len(self._missing) < before:
            self._record(
                f"nobody has the players' addresses; they are called at {BY_PORT}",
                "A",
                now,
            )
        self._conclude(now)

    # --- the end of a search ------------------------------------------------------------------------------------------

    def _conclude(self, now: float) -> None:
        if self._missing:
            self._report(now)
        else:
            self.trouble = ""
            self._in_vain = 0

    def _report(self, now: float) -> None:
        """Record that a player's address is missing, tell the operator, and search again later."""
        match = self._missing[0]
        assignment = match.taken
        seat = 0
        if assignment.endpoints[0] or assignment.players[0] in self._endpoints:
            seat = 1
        letter = "AB"[seat]
        # The sources often give the same reason, which is told once.
        reasons = "; ".join(dict.fromkeys(self._replies)) or "none of them gave a reason"
        names = [source.name for source in self._sources]
        sources_asked = ", ".join((*names, BY_PORT))
        missing = f"player_{letter}_endpoint of {match.match_id} is missing"
        hint = f"set it with --player {assignment.players[seat]}=URL"
        self.trouble = quotable(f"{missing}; {hint}. These sources do not have it: {sources_asked} ({reasons})")
        self._record(self.trouble, letter, now)
        self._in_vain += 1
        delay_s = SEARCH_S
        if self._in_vain >= SEARCHES_IN_VAIN:
            delay_s = SEARCH_SLOWLY_S
        self._context.timers.set(self, now + delay_s, self._search)

    def _record(self, detail: str, seat: str, now: float) -> None:
        clause = f"ROUND_ANNOUNCEMENT.matches[].player_{seat}_endpoint"
        deviation = Violation("E003", "matches", detail, clause, lenient=True)
        self._context.membership.record((deviation,), now)


def _number_of(player_id: str) -> int:
    """Return the number in a player's id, by which the documents give it a port; 0 if they give it none."""
    number = foreign.number_in(player_id) or 0
    return number if number <= len(PORTS) else 0
