"""MATCH_RESULT_REPORT: who may report what (E014, E016), what was reported before (E017, E040), and what a report
proves (R-10). Winner and points come from the rules of the game; the referee's score is only compared.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from league.events import ResultAccepted, Status
from league.games import registry
from league.games.contract import SEATS, Seat, Verdict
from league.machine import Letter
from league.manager.assignments import Assignments
from league.manager.ledger import Ledger, Match
from league.manager.office import Office
from league.manager.records import MatchRecords
from league.manager.roster import Member
from league.manager.standings import Decided
from league.protocol import timestamps
from league.protocol.envelope import Reading, Unsealed, unseal
from league.protocol.errors import PeerError, Violation, as_error
from league.protocol.messages import MatchResultAck, MatchResultReport, Message

DRAW = "DRAW"
FAULTS_THAT_SUSPEND = 2

Object = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Judged:
    """What a report comes to. With `deviations` it is stored, but not verified."""

    status: Status
    winner: str | None
    points: dict[str, int]
    deviations: tuple[Violation, ...] = ()


@dataclass(slots=True)
class Results:
    """Takes reports."""

    office: Office
    assignments: Assignments
    records: MatchRecords

    @property
    def _ledger(self) -> Ledger:
        return self.office.ledger

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
        judged = self._judge(match, report, details)
        self.office.record(referee.agent_id, judged.deviations, now)
        self.assignments.handovers.reported(match, referee, now)
        self.assignments.forget(match.match_id)
        self.office.happened(
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
        self._suspend_or_recover(match, now)
        self.records.fetch(match, referee, now)
        self.office.reply(letter, self._ack(report, match, now))

    def _filled_in(self, read: Unsealed, referee: Member, now: float) -> Message | None:
        """A report that lacks only what its match says anyway: `compat` reads it with that, and records it."""
        match = self._ledger.matches.get(str(read.content.get("match_id")))
        if read.message is not None or match is None or self._ledger.settings.profile == "strict":
            return None
        league, game_type = self.office.league_id, self._ledger.settings.game_type
        known = {"league_id": league, "round_id": match.round_id, "game_type": game_type}
        absent = {name: value for name, value in known.items() if name not in read.content}
        if any(one.path not in absent for one in read.violations):
            return None
        self.office.record(referee.agent_id, read.violations, now)
        again = unseal({**read.content, **absent}, Reading())
        self.office.record(referee.agent_id, again.deviations, now)
        return again.message

    def _check_league(self, read: Unsealed, referee: Member, now: float) -> None:
        """Some referees call every league by one name: with its token and its match there is no doubt which it is."""
        try:
            self.office.check_league(read)
        except PeerError as error:
            match = self._ledger.matches.get(str(read.said("match_id")))
            holds_it = match is not None and match.referee_id == referee.agent_id
            if not holds_it or self._ledger.settings.profile == "strict":
                raise
            odd = Violation("E028", "league_id", error.detail, "MATCH_RESULT_REPORT.league_id")
            self.office.record(referee.agent_id, [odd], now)

    def _ack(self, report: MatchResultReport, match: Match, now: float) -> MatchResultAck:
        envelope = self.office.sealed(now, report.conversation_id)
        return MatchResultAck(**envelope, status="ACCEPTED", match_id=match.match_id, round_id=match.round_id)

    def _match(self, report: MatchResultReport, referee: Member) -> Match:
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

    def _suspend_or_recover(self, match: Match, now: float) -> None:
        """R-51: two technical losses in a row suspend, a match without own fault recovers."""
        for player in match.players:
            member = self.office.member(player)
            if member.faults_in_a_row == 0 and member.state == "SUSPENDED":
                self.office.change(member, "recover", now)
            elif member.faults_in_a_row >= FAULTS_THAT_SUSPEND and member.state == "ACTIVE":
                self.office.change(member, "max_fail", now)

    # --- what a report proves -----------------------------------------------------------------------------------------

    def _judge(self, match: Match, report: MatchResultReport, details: Object) -> Judged:
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
        if deviations and self._ledger.settings.profile == "strict":
            raise as_error(deviations[0])
        return Judged(status, decided.winner, points, deviations)

    def _deviations(
        self, match: Match, report: MatchResultReport, verdict: Verdict, points: dict[str, int]
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


def _already(match: Match, report: MatchResultReport, details: Object) -> PeerError:
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


def _seat(match: Match, reported: str | None) -> Seat | None:
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
    told = details.get("status")
    looks_technical = isinstance(choices, dict) and None in choices.values()
    return "TECHNICAL_LOSS" if told == "TECHNICAL_LOSS" or (told is None and looks_technical) else played
