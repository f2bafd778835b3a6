"""MATCH_RESULT_REPORT: who may report what (E014, E016), what was reported before (E017, E040), and what a report
proves (R-10). Winner and points come from the rules of the game; the referee's score is only compared. The record of
the match (attempts, faults, seed, choices) comes within the report, or a referee of ours is asked for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import msgspec
from msgspec import Raw

from league.calling.delivery import Delivery, Ending, Policy
from league.events import MatchRecordKept, RequestRefused, ResultAccepted, Status
from league.games import draw, registry
from league.games.contract import SEATS, Seat, Verdict
from league.machine import Letter, MatchRecord, RecordRequest
from league.manager.assignments import Assignments
from league.manager.context import LONGEST_DETAIL, ManagerPart
from league.manager.dispatch import Dispatches, RefereeHabits
from league.manager.ledger import ScheduledMatch
from league.manager.outages import Outages
from league.manager.roster import FAULTS_THAT_SUSPEND, Member
from league.manager.standings import Decided
from league.protocol import timestamps
from league.protocol.envelope import Reading, Unsealed, unseal
from league.protocol.errors import PeerError, Violation, as_error
from league.protocol.messages import MatchResultAck, MatchResultReport, Message

DRAW = "DRAW"
RECORD_LIMIT_S = 10.0
SETTLED = frozenset({"E017", "E040"})
"""What is said of a report that comes too late to matter."""
UNUSABLE = frozenset({"E003", "E004", "E007", "E008", "E021", "E039"})
"""What is said of a report in which no result can be found."""

Object = dict[str, Any]
_JSON = msgspec.json.Encoder()


@dataclass(frozen=True, slots=True)
class Judged:
    """What a report comes to. It is verified if it deviates in nothing, and its seed proves the draw (S-27)."""

    status: Status
    winner: str | None
    points: dict[str, int]
    deviations: tuple[Violation, ...]
    draw_is_proven: bool


@dataclass(slots=True)
class Results(ManagerPart):
    """Takes reports."""

    assignments: Assignments
    dispatches: Dispatches
    habits: RefereeHabits
    outages: Outages

    def report(self, letter: Letter, read: Unsealed, referee: Member, now: float) -> None:
        """Judge a report of an authenticated sender; PeerError refuses it."""
        try:
            self._take(letter, read, referee, now)
        except PeerError as error:
            self._refused(error, read, referee, now)
            raise

    def _refused(self, error: PeerError, read: Unsealed, referee: Member, now: float) -> None:
        """Many never report again: a match whose report says nothing that can be taken is given to another referee at
        once."""
        match = self._ledger.matches.get(str(read.field("match_id")))
        if error.code in SETTLED or referee.is_player:
            return
        self.context.refused(
            RequestRefused(
                at=now,
                request="report",
                role="referee",
                name=referee.agent_id,
                endpoint=referee.endpoint,
                code=error.code,
                detail=error.detail[:LONGEST_DETAIL],
                match_id=match.match_id if match else "",
                attempt=match.attempt if match else 0,
            )
        )
        held = match is not None and match.status == "ASSIGNED" and match.referee_id == referee.agent_id
        is_current = match is not None and read.field("attempt") in (None, match.attempt)
        if match is not None and held and is_current and error.code in UNUSABLE:
            self.assignments.failed(match, f"the report of {referee.agent_id} was refused ({error})", now)

    def _take(self, letter: Letter, read: Unsealed, referee: Member, now: float) -> None:
        if referee.is_player:
            raise PeerError("E032", "a match is reported by its referee")
        self._check_league(read, referee, now)
        filled_in = self._filled_in(read, referee, now) if read.message is None else None
        report = filled_in or read.open()
        assert isinstance(report, MatchResultReport)
        match = self._match(report, referee)
        details: Object = msgspec.to_builtins(report.result.details or {})
        if match.result is not None:
            raise _already(match, report, details)
        judged = self._judge(match, report, details)
        self._accept(match, referee, self._result(match, judged, details, now), judged.deviations, now)
        self._suspend_or_recover(match, now)
        self.outages.reported()
        self._keep_record(match, referee, report, now)
        self.context.reply(letter, self._ack(report, match, now))

    def _accept(
        self,
        match: ScheduledMatch,
        referee: Member,
        result: ResultAccepted,
        deviations: tuple[Violation, ...],
        now: float,
    ) -> None:
        """From now on it is the result in force, unless it is a loss that must not stand (spec section 8.15)."""
        self.context.record(referee.agent_id, deviations, now)
        self.dispatches.reported(match, referee, now)
        why = self.outages.refuses(match, result)
        if why is not None:
            self.outages.hold(match, result, why, now)
            detail = f"{match.match_id} is played again: {why}"
            raise PeerError("E016", detail, {"match_id": match.match_id})
        self.assignments.forget(match.match_id)
        self.context.happened(result)

    def _result(self, match: ScheduledMatch, judged: Judged, details: Object, now: float) -> ResultAccepted:
        return ResultAccepted(
            at=now,
            match_id=match.match_id,
            attempt=match.attempt,
            referee_id=match.referee_id or "",
            status=judged.status,
            winner=judged.winner,
            points=judged.points,
            details=details,
            verified=judged.draw_is_proven and not judged.deviations,
            reported_at=timestamps.write(now),
        )

    def _filled_in(self, read: Unsealed, referee: Member, now: float) -> Message | None:
        """A report that lacks only what its match says anyway: `compat` reads it with that, and records it."""
        match = self._ledger.matches.get(str(read.content.get("match_id")))
        if match is None or not self.context.accepts_deviations:
            return None
        league, game_type = self.context.league_id, self._ledger.settings.game_type
        known = {"league_id": league, "round_id": match.round_id, "game_type": game_type}
        absent = {name: value for name, value in known.items() if name not in read.content}
        if any(one.path not in absent for one in read.violations):
            return None
        self.context.record(referee.agent_id, read.violations, now)
        again = unseal({**read.content, **absent}, Reading())
        self.context.record(referee.agent_id, again.deviations, now)
        return again.message

    def _check_league(self, read: Unsealed, referee: Member, now: float) -> None:
        """Some referees call every league by one name: with its token and its match there is no doubt which it is."""
        try:
            self.context.check_league(read)
        except PeerError as error:
            match = self._ledger.matches.get(str(read.field("match_id")))
            holds_it = match is not None and match.referee_id == referee.agent_id
            if not holds_it or not self.context.accepts_deviations:
                raise
            deviation = Violation("E028", "league_id", error.detail, "MATCH_RESULT_REPORT.league_id")
            self.context.record(referee.agent_id, [deviation], now)

    def _ack(self, report: MatchResultReport, match: ScheduledMatch, now: float) -> MatchResultAck:
        envelope = self.context.sealed(now, report.conversation_id)
        return MatchResultAck(**envelope, status="ACCEPTED", match_id=match.match_id, round_id=match.round_id)

    def _match(self, report: MatchResultReport, referee: Member) -> ScheduledMatch:
        match = self._ledger.matches.get(report.match_id)
        if match is None:
            raise PeerError("E014", f"there is no match {report.match_id[:80]!r}", {"match_id": report.match_id[:80]})
        context = {"match_id": match.match_id}
        held = match.status == "ASSIGNED" or isinstance(match.result, ResultAccepted)
        if not held or match.referee_id != referee.agent_id:
            raise PeerError("E016", f"{match.match_id} is not assigned to {referee.agent_id}", context)
        if report.attempt not in (None, match.attempt):
            raise PeerError("E016", f"attempt {report.attempt} of {match.match_id} is not the current one", context)
        return match

    def _suspend_or_recover(self, match: ScheduledMatch, now: float) -> None:
        """R-51: two technical losses in a row suspend, a match without own fault recovers."""
        for player in match.players:
            member = self._ledger.roster.members[player]
            if member.faults_in_a_row == 0 and member.state == "SUSPENDED":
                self.context.change(member, "recover", now)
            elif member.faults_in_a_row >= FAULTS_THAT_SUSPEND and member.state == "ACTIVE":
                self.context.change(member, "max_fail", now)

    # --- the referee's record -----------------------------------------------------------------------------------------

    def _keep_record(self, match: ScheduledMatch, referee: Member, report: MatchResultReport, now: float) -> None:
        if report.match_record is None:
            self._fetch_record(match, referee, now)
        else:
            found = [one for one in report.match_record if isinstance(one, dict)]
            self._kept(match.match_id, match.attempt, referee.agent_id, found, now)

    def _fetch_record(self, match: ScheduledMatch, referee: Member, now: float) -> None:
        """Once per result, with the usual retries; what cannot be had is not missed."""
        if not self.habits.is_ours(referee.agent_id):
            return
        delivery = Delivery(
            referee.agent_id,
            f"{match.match_id}/{match.attempt}/record/{referee.agent_id}",
            RecordRequest(match.match_id, match.attempt),
            Policy(RECORD_LIMIT_S, self.context.retries(), is_guarded=True),
            address=partial(self.context.address, referee),
            on_end=self._record_fetched,
        )
        self.context.calls.deliver([delivery], now)

    def _record_fetched(self, delivery: Delivery, _: Ending, now: float) -> None:
        asked, answer = delivery.message, delivery.answer
        if not isinstance(asked, RecordRequest) or not isinstance(answer, MatchRecord):
            return
        if (answer.match_id, answer.attempt) == (asked.match_id, asked.attempt):
            self._kept(asked.match_id, asked.attempt, delivery.peer, answer.events, now)

    def _kept(self, match_id: str, attempt: int, referee_id: str, record: Sequence[Object], now: float) -> None:
        written = Raw(_JSON.encode(record))
        self.context.happened(
            MatchRecordKept(at=now, match_id=match_id, attempt=attempt, referee_id=referee_id, written=written)
        )

    # --- what a report proves -----------------------------------------------------------------------------------------

    def _judge(self, match: ScheduledMatch, report: MatchResultReport, details: Object) -> Judged:
        game, players = registry.find(self._ledger.settings.game_type), match.players
        assert game is not None, "a league is made with a game that is installed"
        verdict = game.wire.verdict(details, players)
        seat, wrong = self._winner(match, report, verdict, details)
        status = _status(verdict, seat, details)
        decided = Decided(players, None if seat is None else players[seat], status == "TECHNICAL_LOSS")
        points = {player: decided.points(player) for player in players}
        deviations = (*wrong, *self._deviations(match, report, verdict, points))
        if deviations and not self.context.accepts_deviations:
            raise as_error(deviations[0])
        return Judged(status, decided.winner, points, deviations, self._draw_is_proven(match, details))

    def _draw_is_proven(self, match: ScheduledMatch, details: Object) -> bool:
        """In a game without chance there is none to prove."""
        number, seed = details.get("drawn_number"), details.get("draw_seed")
        is_drawn = "drawn_number" in details
        league_id = self._ledger.settings.league_id
        return not is_drawn or draw.proves(seed, league_id, match.match_id, match.attempt, number)

    def _winner(
        self, match: ScheduledMatch, report: MatchResultReport, verdict: Verdict, details: Object
    ) -> tuple[Seat | None, tuple[Violation, ...]]:
        """Who won. A report that contradicts itself is corrected in `compat`, if all that decides is in it: both
        choices and the number. Where one of them is missing, nobody can tell."""
        try:
            seat = _seat(match, report.result.winner)
            if not verdict.contradicts(seat):
                return seat, ()
            raise PeerError("E039", verdict.note, {"match_id": match.match_id}, "REPORT.recomputed")
        except PeerError as error:
            is_played = verdict.kind == "confirmed" and details.get("status") != "TECHNICAL_LOSS"
            if not is_played or not self.context.accepts_deviations:
                raise
            said = f"{report.result.winner!r:.80} was reported as the winner, but {error.detail}"
            return verdict.winner, (_deviation("result.winner", said, "REPORT.corrected"),)

    def _deviations(
        self, match: ScheduledMatch, report: MatchResultReport, verdict: Verdict, points: dict[str, int]
    ) -> list[Violation]:
        """What does not fit, but leaves no doubt about the winner."""
        found = []
        if verdict.kind == "insufficient":
            found.append(_deviation("result.details", verdict.note, "REPORT.recomputed"))
        if report.result.winner == DRAW and (verdict.kind != "confirmed" or verdict.winner is None):
            found.append(_deviation("result.winner", "a draw has no winner: null", "MATCH_RESULT_REPORT.result.winner"))
        if dict(report.result.score) != points:
            found.append(_deviation("result.score", f"the points of this result are {points}", "REPORT.wrong_score"))
        if report.round_id != match.round_id:
            detail = f"{match.match_id} is of round {match.round_id}"
            found.append(_deviation("round_id", detail, "MATCH_RESULT_REPORT.round_id"))
        if report.game_type != self._ledger.settings.game_type:
            detail = f"this league plays {self._ledger.settings.game_type}"
            found.append(_deviation("game_type", detail, "MATCH_RESULT_REPORT.game_type"))
        return found


def _deviation(path: str, detail: str, requirement: str) -> Violation:
    return Violation("E039", path, detail, requirement)


def _already(match: ScheduledMatch, report: MatchResultReport, details: Object) -> PeerError:
    """A result is in force: the same one again is as good as acknowledged, a different one changes nothing."""
    stored = match.result
    assert isinstance(stored, ResultAccepted)
    identical = _winner(report.result.winner) == stored.winner and details == stored.details
    context = {
        "match_id": match.match_id,
        "previous_report_time": stored.reported_at,
        "identical": identical,
    }
    if identical:
        return PeerError("E017", f"the result of {match.match_id} was reported already", context)
    return PeerError("E040", f"another result of {match.match_id} is stored", context)


def _winner(reported: str | None) -> str | None:
    return None if reported == DRAW else reported


def _seat(match: ScheduledMatch, reported: str | None) -> Seat | None:
    winner = _winner(reported)
    if winner is None:
        return None
    for seat in SEATS:
        if match.players[seat] == winner:
            return seat
    detail = f"{winner[:80]!r} does not play in {match.match_id}"
    raise PeerError("E039", detail, {"match_id": match.match_id}, "REPORT.recomputed")


def _status(verdict: Verdict, seat: Seat | None, details: Object) -> Status:
    """How the match ended. Where the details prove nothing, as the referee says, or as it looks."""
    played: Status = "DRAW" if seat is None else "WIN"
    if verdict.kind == "confirmed" or verdict.implied:
        return played
    if verdict.kind == "technical":
        return "TECHNICAL_LOSS"
    choices = details.get("choices")
    status = details.get("status")
    looks_technical = isinstance(choices, dict) and None in choices.values()
    return "TECHNICAL_LOSS" if status == "TECHNICAL_LOSS" or (status is None and looks_technical) else played
