"""MATCH_RESULT_REPORT: who may report what (E014, E016), what was reported before (E017, E040), and what a report
proves (R-10). Winner and points come from the rules of the game; the referee's score is only compared. After a report
a referee of ours is asked for its record of the match: attempts, faults, seed, choices.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import msgspec

from league.calling.delivery import Delivery, Ending, Policy
from league.events import MatchRecordKept, ResultAccepted, Status
from league.games import registry
from league.games.contract import SEATS, Seat, Verdict
from league.machine import Letter, MatchRecord, RecordRequest
from league.manager.assignments import Assignments
from league.manager.context import ManagerPart
from league.manager.dispatch import Dispatches, RefereeHabits
from league.manager.ledger import ScheduledMatch
from league.manager.roster import Member
from league.manager.standings import Decided
from league.protocol import timestamps
from league.protocol.envelope import Reading, Unsealed, unseal
from league.protocol.errors import PeerError, Violation, as_error
from league.protocol.messages import MatchResultAck, MatchResultReport, Message

DRAW = "DRAW"
FAULTS_THAT_SUSPEND = 2
RECORD_LIMIT_S = 10.0

Object = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Judged:
    """What a report comes to. With `deviations` it is stored, but not verified."""

    status: Status
    winner: str | None
    points: dict[str, int]
    deviations: tuple[Violation, ...] = ()


@dataclass(slots=True)
class Results(ManagerPart):
    """Takes reports."""

    assignments: Assignments
    dispatches: Dispatches
    habits: RefereeHabits

    def report(self, letter: Letter, read: Unsealed, referee: Member, now: float) -> None:
        """Judge a report of an authenticated sender; PeerError refuses it."""
        if referee.is_player:
            raise PeerError("E032", "a match is reported by its referee")
        self._check_league(read, referee, now)
        report = self._filled_in(read, referee, now) or read.open()
        assert isinstance(report, MatchResultReport)
        match = self._match(report, referee)
        details: Object = msgspec.to_builtins(report.result.details or {})
        if match.result is not None:
            raise _already(match, report, details)
        self._accept(match, self._judge(match, report, details), details, now)
        self._suspend_or_recover(match, now)
        self._fetch_record(match, referee, now)
        self.context.reply(letter, self._ack(report, match, now))

    def _accept(self, match: ScheduledMatch, judged: Judged, details: Object, now: float) -> None:
        """From now on it is the result in force."""
        referee = self.context.member(match.referee_id or "")
        self.context.record(referee.agent_id, judged.deviations, now)
        self.dispatches.reported(match, referee, now)
        self.assignments.forget(match.match_id)
        self.context.happened(
            ResultAccepted(
                at=now,
                match_id=match.match_id,
                attempt=match.attempt,
                referee_id=referee.agent_id,
                status=judged.status,
                winner=judged.winner,
                points=judged.points,
                details=details,
                verified=not judged.deviations,
                reported_at=timestamps.write(now),
            )
        )

    def _filled_in(self, read: Unsealed, referee: Member, now: float) -> Message | None:
        """A report that lacks only what its match says anyway: `compat` reads it with that, and records it."""
        match = self._ledger.matches.get(str(read.content.get("match_id")))
        if read.message is not None or match is None or not self.context.accepts_deviations:
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
            member = self.context.member(player)
            if member.faults_in_a_row == 0 and member.state == "SUSPENDED":
                self.context.change(member, "recover", now)
            elif member.faults_in_a_row >= FAULTS_THAT_SUSPEND and member.state == "ACTIVE":
                self.context.change(member, "max_fail", now)

    # --- the referee's record -----------------------------------------------------------------------------------------

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
            self.context.happened(
                MatchRecordKept(
                    at=now,
                    match_id=asked.match_id,
                    attempt=asked.attempt,
                    referee_id=delivery.peer,
                    record=answer.events,
                )
            )

    # --- what a report proves -----------------------------------------------------------------------------------------

    def _judge(self, match: ScheduledMatch, report: MatchResultReport, details: Object) -> Judged:
        game = registry.find(self._ledger.settings.game_type)
        assert game is not None, "a league is made with a game that is installed"
        verdict = game.wire.verdict(details, match.players)
        seat = _seat(match, report.result.winner)
        if verdict.contradicts(seat):
            raise PeerError("E039", verdict.note, {"match_id": match.match_id}, "REPORT.recomputed")
        status = _status(verdict, seat, details)
        decided = Decided(match.players, None if seat is None else match.players[seat], status == "TECHNICAL_LOSS")
        points = {player: decided.points(player) for player in match.players}
        deviations = tuple(self._deviations(match, report, verdict, points))
        if deviations and not self.context.accepts_deviations:
            raise as_error(deviations[0])
        return Judged(status, decided.winner, points, deviations)

    def _deviations(
        self, match: ScheduledMatch, report: MatchResultReport, verdict: Verdict, points: dict[str, int]
    ) -> list[Violation]:
        """What does not fit, but leaves no doubt about the winner."""
        found = []
        if verdict.kind == "insufficient":
            found.append(_deviation("result.details", verdict.note, "REPORT.recomputed"))
        if report.result.winner == DRAW:
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
    if verdict.kind == "proven" or verdict.implied:
        return played
    if verdict.kind == "technical":
        return "TECHNICAL_LOSS"
    choices = details.get("choices")
    status = details.get("status")
    looks_technical = isinstance(choices, dict) and None in choices.values()
    return "TECHNICAL_LOSS" if status == "TECHNICAL_LOSS" or (status is None and looks_technical) else played
