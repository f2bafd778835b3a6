"""The Referee as a pure machine: it registers, takes its matches from announcements, conducts as many at once as it
promised, and reports them.

The docket says which matches wait, run and are reported; the membership says who our manager is. Both change by events
alone, so a restart replays them and `resume` goes on where it was. A `Conduct` plays one match; all conducts are lost
in a crash and made anew. What must never happen: a match that is played for somebody who is not our manager, or for a
league that is over.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from league.calling.line import Book, OpenBook
from league.events import (
    AgentState,
    ConventionLearned,
    DeviationRecorded,
    Event,
    LeagueEnded,
    MatchBegun,
    MatchDropped,
    ReportSettled,
)
from league.machine import (
    ASSIGNMENTS,
    Acknowledged,
    Chance,
    Content,
    Information,
    Inquiry,
    Letter,
    MatchRecord,
    Ping,
    Pong,
    RecordRequest,
    Step,
    Watch,
)
from league.membership import OF_MEMBERSHIP, EarlyLetters, FindKey, MayPlay, MemberMachine, Membership
from league.protocol.errors import PeerError, Violation
from league.protocol.message.envelope import Unsealed
from league.protocol.message.exchanges import REPLY_TYPES
from league.protocol.message.judge import shown
from league.protocol.message.messages import (
    LeagueCompleted,
    LeagueCompletedAck,
    LeagueErrorAck,
    LeagueErrorReply,
    LeagueStandingsUpdate,
    MemberRequest,
    Message,
    RoundAnnouncement,
    RoundAnnouncementAck,
    RoundCompleted,
    RoundCompletedAck,
    StandingsUpdateAck,
)
from league.protocol.message.parts import AnnouncedMatch, RefereeMeta
from league.protocol.signing import tokens
from league.referee import assigned_matches
from league.referee.conduct import Conduct
from league.referee.live import LiveNews
from league.referee.match import Docket, Match
from league.referee.questions import posted_answers
from league.referee.records import Records
from league.referee.referee_context import (
    Guest,
    OpenGuest,
    RefereeContext,
    RefereeSettings,
)
from league.status_poll import StatusPoll

ACKS: Mapping[str, type[Message]] = {
    "ROUND_ANNOUNCEMENT": RoundAnnouncementAck,
    "ROUND_COMPLETED": RoundCompletedAck,
    "LEAGUE_STANDINGS_UPDATE": StandingsUpdateAck,
    "LEAGUE_COMPLETED": LeagueCompletedAck,
    "LEAGUE_ERROR": LeagueErrorAck,
}
"""The messages that a manager may send us, and how each is acknowledged."""
NO_CONVERSATION = "conv-unknown"
"""The conversation of a message that names none."""
NO_MATTER_OF_MATCHES = frozenset({Event, DeviationRecorded, ConventionLearned})
ABOUT_ROUNDS = (RoundAnnouncement, RoundCompleted, LeagueStandingsUpdate)


class RefereeDesk(MemberMachine):
    """A referee. Everything that survives a crash is in its docket and its membership. `find_key` returns the enrolment
    key of a league that wants one. `open_book` and `open_guest` are the gateway to third-party agents; without them the
    referee speaks the documents alone."""

    def __init__(
        self,
        meta: RefereeMeta,
        manager_endpoint: str,
        chance: Chance,
        secrets: Mapping[str, str] | None = None,
        settings: RefereeSettings | None = None,
        *,
        wished_id: str = "",
        find_key: FindKey = lambda _: None,
        may_play: MayPlay = lambda _: False,
        open_book: OpenBook = Book,
        open_guest: OpenGuest = Guest,
    ) -> None:
        super().__init__(chance, secrets)
        settings = settings or RefereeSettings()
        book = open_book(self._happened, lambda: settings.is_strict)
        # Somebody else may be where a player did not join: the next invitation finds out anew.
        self._docket = Docket(on_absent=book.forget_endpoint, opening=settings.opening)
        context = self._referee = RefereeContext(
            self._calls,
            self._timers,
            self._secrets,
            chance=chance,
            happened=self._happened,
            reply=self._reply,
            keep_secret=self._keep_secret,
            book=book,
            settings=settings,
            docket=self._docket,
        )
        self._membership = context.membership = Membership(
            meta, manager_endpoint, context, wished_id=wished_id, find_key=find_key, may_play=may_play
        )
        self._records = Records(context)
        self._guest = context.guest = open_guest(context, self._announced, self._begin_waiting)
        self._capacity = meta.max_concurrent_matches or 1
        self._conducts: dict[str, Conduct] = {}
        self._live = LiveNews(context)
        self._early = EarlyLetters(self._membership, self._take)
        self._status = StatusPoll(
            context,
            self._membership,
            lambda: not self._docket.open,
            self._ended,
        )
        self._membership.registration.on_registered = self._registered
        self._membership.registration.on_new_league = self._leave_league

    # --- for the shell and for people ---------------------------------------------------------------------------------

    @property
    def state(self) -> AgentState:
        return self._docket.state

    @property
    def trouble(self) -> str:
        """Why we are not registered yet, cannot play a match, or hear nothing; empty if nothing is wrong."""
        trouble = self._membership.registration.trouble or self._guest.trouble or self._status.trouble
        if trouble:
            return trouble
        return next(iter(self._referee.report_troubles.values()), "")

    @property
    def is_asking(self) -> bool:
        """Has the manager not yet answered how the league stands?"""
        return self._status.is_asking

    @property
    def matches(self) -> Mapping[tuple[str, int], Match]:
        """Every attempt of every match we were given, with all that happened in it."""
        return self._docket.matches

    # --- the machine --------------------------------------------------------------------------------------------------

    def apply(self, event: Event) -> None:
        kind = type(event)
        if kind in OF_MEMBERSHIP:
            self._membership.apply(event)  # type: ignore[arg-type]  # it is one of these
        if kind not in NO_MATTER_OF_MATCHES:
            self._docket.apply(event)

    def snapshot(self) -> Mapping[str, Any]:
        conventions = self._referee.book.snapshot()
        return {
            "membership": self._membership.snapshot(),
            **self._docket.snapshot(),
            "conventions": conventions,
        }

    def resume(self, now: float) -> Step:
        self._step = Step()
        self._membership.registration.resume(now)
        if self.state == "SHUTDOWN":
            # Another league may have begun.
            self._status.ask(now)
        else:
            self._registered(now)
        # The docket changes while matches go on, so they are listed before.
        begun = [match for match in self._docket.open.values() if match.match_id not in self._docket.queue]
        for match in begun:
            self._conduct(match, now)
        self._begin_waiting(now)
        self._guest.seek(now)
        return self._conclude(now)

    # --- requests -----------------------------------------------------------------------------------------------------

    def _requested(self, letter: Letter, now: float) -> None:
        content = letter.content
        # The announcement may overtake the answer to our registration.
        if self._assigns(content) and self._early.hold(letter):
            return
        if isinstance(content, RecordRequest):
            self._reply(letter, self._record(content))
        elif isinstance(content, Ping):
            if isinstance(content, Watch) and self._membership.is_managers(content.token):
                self._live.watch(content.match_ids, now)
            held = tuple((match.match_id, match.attempt) for match in self._docket.open.values())
            self._reply(letter, Pong(held, is_live=True))
        elif isinstance(content, Inquiry):
            self._reply(letter, self._inform(content, now))
        elif isinstance(content, Unsealed):
            self._reply(letter, self._answer(content, letter, now), content.message_type)
        else:
            raise PeerError("E036", "a referee does not accept this request")

    def _assigns(self, content: Content) -> bool:
        """Does it give us matches?"""
        if isinstance(content, Inquiry):
            return content.method in ASSIGNMENTS
        return isinstance(content, Unsealed) and isinstance(content.message, RoundAnnouncement)

    # --- questions that are no message of the protocol ----------------------------------------------------------------

    def _inform(self, inquiry: Inquiry, now: float) -> Information:
        if inquiry.method in ASSIGNMENTS:
            return self._offered(inquiry, now)
        match_id = inquiry.params.get("match_id")
        if match_id is None:
            raise PeerError("E003", "match_id is missing or null", {"field": "match_id"})
        match = None
        if isinstance(match_id, str):
            match = self._docket.newest(match_id)
        if match is None:
            raise PeerError("E014", f"there is no match {shown(match_id)[:80]} here")
        return Information(
            {
                "match_id": match.match_id,
                "attempt": match.attempt,
                "state": match.game_state,
            }
        )

    def _offered(self, inquiry: Inquiry, now: float) -> Information:
        """Take a match that a third-party manager gives us outside an announcement."""
        # Like any announcement, it has to show the manager's token.
        read = self._guest.read_assignment(inquiry, now)
        self._check_manager(read, now)
        message = read.open()
        assert isinstance(message, RoundAnnouncement)
        self._announced(message, now, read.round_name)
        self._guest.assigned(inquiry.method, now)
        return Information({"status": "ACKNOWLEDGED", "match_id": message.matches[0].match_id})

    def member_behind(self, content: Content) -> str | None:
        token = None
        if isinstance(content, Unsealed):
            token = content.field("auth_token")
        elif isinstance(content, RecordRequest | Watch):
            token = content.token
        if isinstance(token, str) and self._membership.is_managers(token):
            return tokens.MANAGER
        return None

    def _record(self, request: RecordRequest) -> MatchRecord | PeerError:
        """Return the record of a decided attempt."""
        # Only the manager may see it: it holds the choices of both players.
        if not request.token:
            return PeerError("E011", "auth_token is missing")
        if not self._membership.is_managers(request.token):
            return PeerError("E012", "this is not our manager's token")
        match = self._docket.matches.get((request.match_id, request.attempt))
        if match is None:
            return PeerError(
                "E014",
                f"attempt {request.attempt} of {request.match_id[:80]!r} was not played here",
            )
        if match.decided is None:
            return PeerError("E023", f"{request.match_id} is not decided yet")
        return MatchRecord(request.match_id, request.attempt, tuple(match.record()))

    def _answer(self, read: Unsealed, letter: Letter, now: float) -> Message | Acknowledged:
        if read.message_type in REPLY_TYPES:
            posted = posted_answers.Posted(read, letter.origin, letter.convention)
            posted_answers.take_answer(posted, self._referee, self._conducts, now)
            return Acknowledged()
        if read.message_type is not None and read.message_type not in ACKS:
            raise PeerError("E036", f"a referee does not accept {read.message_type}")
        self._check_sender(read, now)
        message = read.open()
        self._membership.record(read.deviations, now)
        if isinstance(message, RoundAnnouncement):
            self._announced(message, now, read.round_name)
        elif isinstance(message, LeagueCompleted):
            self._league_ended(message, now)
        self._guest.heard(message, now)
        return self._acknowledged(message, now)

    def _check_sender(self, read: Unsealed, now: float) -> None:
        """Accept messages from the manager alone. PeerError for all others."""
        # An error changes nothing, so `compat` accepts it from anybody.
        try:
            self._check_manager(read, now)
        except PeerError as error:
            if read.message_type != "LEAGUE_ERROR" or read.message is None or self._referee.settings.is_strict:
                raise
            wrong = Violation(
                error.code,
                "auth_token",
                error.detail,
                "ENVELOPE.auth_token",
                lenient=True,
            )
            self._membership.record((wrong,), now)

    def _check_manager(self, read: Unsealed, now: float) -> None:
        try:
            self._membership.check_manager(read)
        except PeerError as error:
            if error.code == "E012":
                # After a registration that arrived twice, the manager may go by another token than we do.
                self._status.show_token(now)
            raise

    def _acknowledged(self, message: Message, now: float) -> Message:
        assert isinstance(message, MemberRequest | LeagueErrorReply)
        about = {}
        if isinstance(message, ABOUT_ROUNDS):
            about["round_id"] = message.round_id
        envelope = self._membership.sealed(now, message.conversation_id or NO_CONVERSATION)
        return ACKS[message.type](**envelope, status="ACKNOWLEDGED", **about)

    def _announced(self, announcement: RoundAnnouncement, now: float, round_name: str = "") -> None:
        if not self._membership.is_registered:
            raise PeerError("E023", "this referee is not registered yet")
        new = assigned_matches.new_matches(announcement, self._referee)
        if self.state == "SHUTDOWN" and not self._is_replay(new):
            raise PeerError("E031", "the league is over")
        for announced in new:
            # An attempt that nobody waits for any more must not go on beside the new one.
            dropped = assigned_matches.take_announcement(announcement, announced, round_name, self._referee, now)
            if dropped is not None:
                self._stop(dropped.match_id)
        if self._referee.settings.ask_standings or not all(map(assigned_matches.has_standings, new)):
            self._records.ask(announcement.league_id, announcement.round_id, now)
        self._renew(announcement, now)
        self._begin_waiting(now)
        self._guest.seek(now)

    def _is_replay(self, new: list[AnnouncedMatch]) -> bool:
        """Is a match played again after the end of the league?"""
        # We believe this only of a manager that has proved who it is.
        if not self._membership.agreement.derived_tokens:
            return False
        return any((announced.attempt or 1) > 1 for announced in new)

    def _renew(self, announcement: RoundAnnouncement, now: float) -> None:
        """Update matches that we have with other tokens, and with addresses that were missing."""
        for announced in announcement.matches:
            conduct = self._conducts.get(announced.match_id)
            match = self._docket.open.get(announced.match_id)
            if match is not None and match.attempt == (announced.attempt or 1):
                self._take_addresses(announced, match, now)
            if conduct is not None:
                match = conduct.match
            if match is not None and assigned_matches.renew(announced, match, self._referee) and conduct is not None:
                conduct.renew_tokens()

    def _take_addresses(self, announced: AnnouncedMatch, match: Match, now: float) -> None:
        announced_homes = (
            announced.player_A_endpoint,
            announced.player_B_endpoint,
        )
        if match.taken.endpoints == announced_homes:
            return
        endpoints = assigned_matches.endpoints_in(announced)
        if assigned_matches.locate(match, endpoints, "the manager", self._referee, now):
            self._begin_waiting(now)
        # Only a manager that has proved who it is may send our calls to another address.
        if self._membership.agreement.derived_tokens:
            assigned_matches.move(match, endpoints, self._referee, now)

    def _league_ended(self, message: LeagueCompleted, now: float) -> None:
        table = message.final_standings
        nobody_won = bool(table) and not any(row.points or row.wins for row in table)
        event = LeagueEnded(at=now, champion=message.champion.player_id, nobody_won=nobody_won)
        self._ended(event, now)

    def _ended(self, event: LeagueEnded, now: float) -> None:
        """End the league for us: the manager told us, or answered so when we asked."""
        # A referee that is not registered has nothing to end.
        if self.state in ("INIT", "SHUTDOWN"):
            return
        self._status.stop()
        if not event.withdrawn:
            self._settle_reported(now)
        self._drop_all("the league is over", now)
        self._happened(event)

    def _registered(self, now: float) -> None:
        self._guest.begin(now)
        self._status.begin(now)

    def _leave_league(self, now: float) -> None:
        """Forget the league, because our manager has begun another one."""
        self._drop_all("another league has begun", now)
        self._records.forget_league()

    def _drop_all(self, why: str, now: float) -> None:
        self._guest.end()
        for match in list(self._docket.open.values()):
            self._happened(MatchDropped(at=now, **match.named, why=why))
            self._stop(match.match_id)

    def _settle_reported(self, now: float) -> None:
        """A third-party manager that ends its league has counted what is reported, whether we know it or not."""
        if self._membership.agreement.derived_tokens:
            return
        for match in list(self._docket.open.values()):
            if match.next_step == "REPORT":
                self._happened(ReportSettled(at=now, **match.named, answer="ACCEPTED"))
                self._stop(match.match_id)

    # --- matches ------------------------------------------------------------------------------------------------------

    def _begin_waiting(self, now: float) -> None:
        """Begin waiting matches as long as there is a place."""
        docket = self._docket
        while docket.queue and len(docket.running) < self._capacity:
            match = docket.next(self._guest.may_begin)
            if match is None:
                break
            self._happened(
                MatchBegun(
                    at=now,
                    **match.named,
                )
            )
            self._conduct(match, now)

    def _conduct(self, match: Match, now: float) -> None:
        conduct = Conduct(
            self._referee,
            match,
            self._records,
            self._begin_waiting,
            self._reported,
        )
        self._conducts[match.match_id] = conduct
        conduct.proceed(now)

    def _reported(self, match: Match) -> None:
        del self._conducts[match.match_id]

    def _stop(self, match_id: str) -> None:
        conduct = self._conducts.pop(match_id, None)
        if conduct is not None:
            conduct.drop()
