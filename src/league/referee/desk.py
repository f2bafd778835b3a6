"""The Referee as a pure machine: it enrols, takes its matches from announcements, plays as many at once as it said, and
reports them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from league.enrolment import Enrolment
from league.events import AgentState, DeviationRecorded, Enrolled, Event, LeagueEnded, MatchBegun, MatchDropped
from league.machine import (
    ASSIGNMENTS,
    Chance,
    Content,
    Information,
    Inquiry,
    Letter,
    Machine,
    MatchRecord,
    Ping,
    Pong,
    RecordRequest,
    Refusal,
    Step,
    Undelivered,
)
from league.protocol import tokens
from league.protocol.envelope import Unsealed
from league.protocol.errors import PeerError, Stage, Violation, as_error
from league.protocol.exchanges import REPLY_TYPES
from league.protocol.messages import (
    LeagueCompleted,
    LeagueCompletedAck,
    LeagueStandingsUpdate,
    Message,
    Request,
    RoundAnnouncement,
    RoundAnnouncementAck,
    RoundCompleted,
    RoundCompletedAck,
    StandingsUpdateAck,
)
from league.protocol.parts import RefereeMeta
from league.referee import assignments, offers, posts
from league.referee.calls import Calls
from league.referee.docket import Docket
from league.referee.match import Match
from league.referee.office import Office, RefereeSettings
from league.referee.playing import Playing
from league.referee.polling import Polling
from league.referee.records import Records

ACKS: Mapping[str, type[Message]] = {
    "ROUND_ANNOUNCEMENT": RoundAnnouncementAck,
    "ROUND_COMPLETED": RoundCompletedAck,
    "LEAGUE_STANDINGS_UPDATE": StandingsUpdateAck,
    "LEAGUE_COMPLETED": LeagueCompletedAck,
}
"""What a manager may tell us, and how it is acknowledged."""
ABOUT_ROUNDS = (RoundAnnouncement, RoundCompleted, LeagueStandingsUpdate)
EARLY = 16
"""So many assignments may come before the answer to our registration does; managers of others assign only once."""


class RefereeDesk(Machine):
    """A referee. Everything that survives a crash is in its docket and its enrolment."""

    def __init__(
        self,
        meta: RefereeMeta,
        manager_endpoint: str,
        chance: Chance,
        secrets: Mapping[str, str] | None = None,
        settings: RefereeSettings | None = None,
    ) -> None:
        super().__init__(chance, secrets)
        settings = settings or RefereeSettings()
        self._docket = Docket()
        self._calls = Calls(self._send)
        self._enrolment = Enrolment(
            meta,
            manager_endpoint,
            self._secrets,
            happened=self._happened,
            send=self._send,
            keep_secret=self._keep_secret,
            profile=settings.profile,
        )
        self._office = Office(
            settings,
            self._docket,
            self._enrolment,
            self._calls,
            self._secrets,
            chance,
            happened=self._happened,
            cancel=self._cancel,
            keep_secret=self._keep_secret,
        )
        self._records = Records(self._office)
        self._polling = Polling(self._office, self._announced)
        self._capacity = meta.max_concurrent_matches or 1
        self._playing: dict[str, Playing] = {}
        self._early: list[Letter] = []

    # --- for the shell and for people ---------------------------------------------------------------------------------

    @property
    def agent_id(self) -> str:
        """The id the manager gave us; empty before."""
        return self._enrolment.agent_id

    @property
    def sender(self) -> str:
        return self._enrolment.sender

    @property
    def state(self) -> AgentState:
        return self._docket.state

    @property
    def rejected(self) -> Refusal | None:
        """Why the manager does not want us; we have stopped asking."""
        return self._enrolment.rejected

    @property
    def pending(self) -> Refusal | None:
        """What the manager says while its operator has not approved us."""
        return self._enrolment.pending

    @property
    def trouble(self) -> str:
        """Why we are no member yet, as far as something is wrong."""
        return self._enrolment.trouble

    @property
    def matches(self) -> Mapping[tuple[str, int], Match]:
        """Every attempt of every match we were given, with all that happened in it."""
        return self._docket.matches

    # --- the machine --------------------------------------------------------------------------------------------------

    def apply(self, event: Event) -> None:
        if isinstance(event, Enrolled | DeviationRecorded):
            self._enrolment.apply(event)
        if not isinstance(event, DeviationRecorded):
            self._docket.apply(event)

    def snapshot(self) -> Mapping[str, Any]:
        return {"enrolment": self._enrolment.snapshot(), **self._docket.snapshot()}

    def resume(self, now: float) -> Step:
        self._begin()
        self._enrolment.resume(now)
        self._polling.begin(now)
        for match in [one for one in self._docket.open.values() if one.begun]:
            self._play(match, now)
        self._fill(now)
        return self._finish()

    @property
    def deadline(self) -> float | None:
        times = [at for at in (self._enrolment.deadline, self._calls.next) if at is not None]
        return min(times, default=None)

    def tick(self, now: float) -> Step:
        self._begin()
        self._enrolment.tick(now)
        while self._calls.ring(now):
            pass
        return self._finish()

    def undelivered(self, failed: Undelivered, now: float) -> Step:
        self._begin()
        caller = self._calls.caller(failed.key)
        if self._enrolment.owns(failed.key):
            self._enrolment.failed(failed, now)
            self._catch_up(now)
        elif caller is not None:
            caller.failed(failed, now)
        return self._finish()

    def handle(self, letter: Letter, now: float) -> Step:
        self._begin()
        if letter.answers is not None:
            self._answered(letter, letter.answers, now)
        elif self._is_early(letter.content):
            self._early.append(letter)
        else:
            self._asked(letter, now)
        return self._finish()

    def _answered(self, letter: Letter, key: str, now: float) -> None:
        caller = self._calls.caller(key)
        if self._enrolment.owns(key):
            serial = self._enrolment.serial
            self._enrolment.answered(letter, now)
            if self._enrolment.serial > serial:
                self._polling.begin(now)
            self._catch_up(now)
        elif caller is not None:
            caller.answered(letter, now)

    def _cancel(self, key: str) -> None:
        self._step.cancel.append(key)

    # --- requests -----------------------------------------------------------------------------------------------------

    def _asked(self, letter: Letter, now: float) -> None:
        content = letter.content
        if isinstance(content, RecordRequest):
            self._reply(letter, self._record(content))
            return
        if isinstance(content, Ping | Pong):
            held = tuple((match.match_id, match.attempt) for match in self._docket.open.values())
            self._reply(letter, Pong(held))
            return
        about = content.message_type if isinstance(content, Unsealed) else None
        try:
            if isinstance(content, Inquiry):
                self._reply(letter, self._inform(content, now))
            elif isinstance(content, Unsealed):
                self._reply(letter, self._answer(letter, content, now), about)
            else:
                raise PeerError("E036", "a referee takes no such request")
        except PeerError as error:
            self._reply(letter, error, about)

    def _is_early(self, content: Content) -> bool:
        """Is it an assignment that overtook the answer to our registration? Before that nobody can say what it is
        worth, so it waits."""
        assigns = isinstance(content, Inquiry) and content.method in ASSIGNMENTS
        announces = isinstance(content, Unsealed) and isinstance(content.message, RoundAnnouncement)
        waits = self._enrolment.is_calling and not self._enrolment.is_enrolled
        return waits and (assigns or announces) and len(self._early) < EARLY

    def _catch_up(self, now: float) -> None:
        if not self._enrolment.is_calling:
            early, self._early = self._early, []
            for letter in early:
                self._asked(letter, now)

    # --- what others ask and say in their own words -------------------------------------------------------------------

    def _inform(self, asked: Inquiry, now: float) -> Information:
        if asked.method in ASSIGNMENTS:
            return self._offered(asked, now)
        match_id = asked.params.get("match_id")
        if match_id is None:
            raise PeerError("E003", "match_id is missing", {"field": "match_id"})
        match = self._docket.newest(match_id) if isinstance(match_id, str) else None
        if match is None:
            raise PeerError("E014", f"there is no match {str(match_id)[:80]!r} here")
        return Information({"match_id": match.match_id, "attempt": match.attempt, "state": match.game_state})

    def _offered(self, asked: Inquiry, now: float) -> Information:
        """A manager of others gives us a match; ours never does it so, and whoever does must show its token."""
        if self._office.settings.profile == "strict":
            raise PeerError("E036", f"there is no method {asked.method!r} here", requirement="RPC.method")
        read = offers.announcement_in(asked.params, self._enrolment, now)
        self._check_manager(read, now)
        message = read.open()
        assert isinstance(message, RoundAnnouncement)
        self._announced(message, now)
        self._polling.end()
        self._enrolment.deviated((offers.oddity(asked.method),), now)
        return Information({"status": "ACKNOWLEDGED", "match_id": message.matches[0].match_id})

    def _record(self, asked: RecordRequest) -> MatchRecord | PeerError:
        """All about an attempt that is decided, for the manager alone: it holds what each player chose."""
        if not asked.token:
            return PeerError("E011", "auth_token is missing")
        if not self._enrolment.is_managers(asked.token):
            return PeerError("E012", "this is not our manager's token")
        match = self._docket.matches.get((asked.match_id, asked.attempt))
        if match is None:
            return PeerError("E014", f"attempt {asked.attempt} of {asked.match_id[:80]!r} was not played here")
        if match.decided is None:
            return PeerError("E023", f"{asked.match_id} is not decided yet")
        return MatchRecord(asked.match_id, asked.attempt, tuple(map(msgspec.to_builtins, match.events)))

    def _answer(self, letter: Letter, read: Unsealed, now: float) -> Message | Pong:
        if read.message_type in REPLY_TYPES:
            posts.take(letter, read, self._office, self._playing, now)
            return Pong()
        if read.message_type is not None and read.message_type not in ACKS:
            raise PeerError("E036", f"a referee takes no {read.message_type}")
        self._check_manager(read, now)
        message = read.open()
        self._enrolment.deviated(read.deviations, now)
        if isinstance(message, RoundAnnouncement):
            self._announced(message, now)
            self._polling.end()
        elif isinstance(message, LeagueCompleted):
            self._league_ended(message, now)
        return self._acknowledged(message, now)

    def _check_manager(self, read: Unsealed, now: float) -> None:
        """Envelope, token, role and league, in this order, before the message's own fields (section 10.3)."""
        _raise(read.until(Stage.ENVELOPE))
        token = read.said("auth_token")
        if not isinstance(token, str | None):
            _raise(read.until(Stage.AUTHORITY))
        if self._enrolment.derived_tokens and not token:
            raise PeerError("E011", "auth_token is missing")
        if self._enrolment.derived_tokens and not self._enrolment.is_managers(str(token)):
            self._records.show_token(self._enrolment.league_id, now)
            raise PeerError("E012", "this is not our manager's token", {"provided_token": tokens.masked(str(token))})
        _raise(read.until(Stage.AUTHORITY))
        league_id, ours = read.said("league_id"), self._enrolment.league_id
        # Only our manager is sure to call the league the same everywhere.
        if self._enrolment.derived_tokens and isinstance(league_id, str) and league_id not in ("", ours):
            raise PeerError("E028", f"this referee plays in {ours!r}", {"league_id": league_id[:80]})

    def _acknowledged(self, message: Message, now: float) -> Message:
        assert isinstance(message, Request)
        about = {"round_id": message.round_id} if isinstance(message, ABOUT_ROUNDS) else {}
        envelope = self._office.sealed(now, message.conversation_id)
        return ACKS[message.type](**envelope, status="ACKNOWLEDGED", **about)

    def _announced(self, announcement: RoundAnnouncement, now: float) -> None:
        if self.state == "SHUTDOWN":
            raise PeerError("E031", "the league is over")
        if not self._enrolment.is_enrolled:
            raise PeerError("E023", "this referee is not registered yet")
        new = assignments.mine(announcement, self._office)
        for one in new:
            dropped = assignments.take(announcement, one, self._office, now)
            if dropped is not None:
                self._stop(dropped.match_id)
        if any(one.player_A_standings is None or one.player_B_standings is None for one in new):
            self._records.ask(announcement.league_id, announcement.round_id, now)
        for one in announcement.matches:
            playing = self._playing.get(one.match_id)
            if playing is not None and assignments.renew(one, playing.match, self._office):
                playing.take_passes()
        self._fill(now)

    def _league_ended(self, message: LeagueCompleted, now: float) -> None:
        if self.state in ("INIT", "SHUTDOWN"):  # who is in no league yet has none to end
            return
        self._polling.end()
        for match in list(self._docket.open.values()):
            self._happened(MatchDropped(at=now, **match.named, why="the league is over"))
            self._stop(match.match_id)
        self._happened(LeagueEnded(at=now, champion=message.champion.player_id))

    # --- matches ------------------------------------------------------------------------------------------------------

    def _fill(self, now: float) -> None:
        """Begin what waits, as long as there is a place."""
        docket = self._docket
        while docket.queue and len(docket.running) < self._capacity:
            match = docket.open[next(iter(docket.queue))]
            self._happened(MatchBegun(at=now, **match.named))
            self._play(match, now)

    def _play(self, match: Match, now: float) -> None:
        playing = Playing(self._office, match, self._records, self._told, self._settled)
        self._playing[match.match_id] = playing
        playing.proceed(now)

    def _told(self, playing: Playing, now: float) -> None:
        self._fill(now)

    def _settled(self, playing: Playing, now: float) -> None:
        del self._playing[playing.match.match_id]

    def _stop(self, match_id: str) -> None:
        playing = self._playing.pop(match_id, None)
        if playing is not None:
            playing.drop()


def _raise(violation: Violation | None) -> None:
    if violation is not None:
        raise as_error(violation)
