"""From a report to the table: the second half of a match, from top to bottom (spec sections 8.4, 8.5).

    1. take     LeagueManager has authenticated the sender of MATCH_RESULT_REPORT. The report must name a match that
                this referee holds, and its current attempt (E014, E016). Reports without a token: address_reports.py.
    2. judge    The rules of the game decide who won and how many points that is. The report's own score is only
                compared with them. A contradiction is refused or, in `compat`, corrected and recorded (E039).
    3. accept   The result comes into force with ResultAccepted, which changes the table in the ledger.
    4. follow   Two technical losses in a row suspend a player. The referee's record of the match is kept.
    5. answer   The referee gets MATCH_RESULT_ACK, which says what was corrected (T-15).

The step then ends as every step of the manager does (`LeagueManager._conclude`):

    6. advance  Rounds.advance finishes the round if this was its last match.
    7. tell     Broadcasts.flush writes the new table and sends LEAGUE_STANDINGS_UPDATE.

A match has at most one result in force. A report that comes when there is one changes nothing, whatever it says
(E017 if it says the same, E040 if not); beside a result that only an address shows to be the referee's it is kept as a
doubt. Nothing leaves the process before ResultAccepted is on disk.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import msgspec
from msgspec import Raw

from league.calling.delivery import Delivery, Ending, Policy
from league.events import (
    MatchRecordKept,
    ResultAccepted,
    Status,
)
from league.games import draw
from league.games.contract import SEATS, Seat, Verdict
from league.games.wire_fields import unpacked
from league.machine import Letter, MatchRecord, RecordRequest
from league.manager.fairness.draws import SharedDraws
from league.manager.fairness.patience import Patience
from league.manager.fairness.proofs import Proofs
from league.manager.manager_context import ManagerPart
from league.manager.members.authentication import LONGEST_CLAIM
from league.manager.staffing.assignments import Assignments
from league.manager.staffing.dispatch import Dispatches
from league.manager.staffing.leases import Leases
from league.manager.state.ledger import ScheduledMatch
from league.manager.state.roster import FAULTS_THAT_SUSPEND, Member
from league.protocol import timestamps
from league.protocol.errors import PeerError, Violation, as_error
from league.protocol.message.envelope import Reading, Unsealed, seal, unseal
from league.protocol.message.messages import MatchResultAck, MatchResultReport, Message
from league.protocol.message.parts import Correction
from league.protocol.signing import tokens

DRAW = "DRAW"
CORRECTED = frozenset({"REPORT.corrected", "REPORT.wrong_score"})
"""Deviations that change what the report says."""
RECORD_LIMIT_S = 10.0
RECORD_PAUSE_S = 30.0
"""The pause before a referee that did not hand out a record is asked for it again."""
COMES_TOO_LATE = frozenset({"E017", "E040"})
"""Errors for a report of a match that has a result already."""
HAS_NO_RESULT = frozenset({"E003", "E004", "E007", "E008", "E021", "E039"})
"""Errors for a report in which no result can be found."""

Object = dict[str, Any]
_JSON = msgspec.json.Encoder()


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a report amounts to. The result is verified if nothing deviates and the seed proves the draw (S-27)."""

    status: Status
    winner: str | None
    points: dict[str, int]
    deviations: list[Violation]
    corrections: list[Correction]
    """What the manager changed in the report."""
    draw_is_proven: bool
    by_margin: bool


@dataclass(slots=True)
class Scorekeeper(ManagerPart):
    """Turns reports into results."""

    assignments: Assignments
    dispatches: Dispatches
    leases: Leases
    patience: Patience
    proofs: Proofs
    draws: SharedDraws

    def take_report(self, letter: Letter, read: Unsealed, referee: Member, now: float) -> None:
        """Take the report of an authenticated sender. PeerError refuses it."""
        try:
            report = self._read(read, referee, now)
            match = self._match_of(report, referee)
            judgement = self.count(match, report, referee, now)
        except PeerError as error:
            self._refused(error, read, referee, now)
            raise
        if report.match_record is not None:
            record = [event for event in report.match_record if isinstance(event, dict)]
            self._keep_record(match.match_id, match.attempt, referee.agent_id, record, now)
        elif self.leases.is_ours(referee.agent_id) or self._lacks_talk(match):
            # A referee of ours leaves out a record that is too large, and is asked for it.
            self._fetch_record(match, referee, now)
        acknowledgement = MatchResultAck(
            **seal(tokens.MANAGER, now, report.conversation_id),
            status="ACCEPTED",
            match_id=match.match_id,
            round_id=match.round_id,
            corrected=judgement.corrections or None,
        )
        self.context.reply(letter, acknowledgement)

    def count(
        self,
        match: ScheduledMatch,
        report: MatchResultReport,
        referee: Member,
        now: float,
        origin: str = "",
    ) -> Judgement:
        """Let a report count; PeerError refuses it. `origin` is the address of one that shows no token."""
        details: Object = msgspec.to_builtins(report.result.details or {})
        # Before it is judged: a second report changes nothing, however wrong it may be.
        if isinstance(match.result, ResultAccepted):
            raise self._already_reported(match, match.result, report, details, now, origin)
        released = match.current.released
        if released is not None and self.draws.contradicts(match, released, details, referee, now):
            self.draws.decide(match, now)
            detail = f"the report contradicts the draw of {match.match_id}"
            raise PeerError("E040", detail, {"match_id": match.match_id})
        judgement = self.judge(match, report, details)
        self._accept(match, referee, judgement, details, now, origin)
        return judgement

    # --- 1. take: who reports which match -----------------------------------------------------------------------------

    def _read(self, read: Unsealed, referee: Member, now: float) -> MatchResultReport:
        if referee.role == "player":
            raise PeerError("E032", "a match is reported by its referee")
        if read.field("league_id") != self._ledger.settings.league_id:
            self._check_league(read, referee, now)
        report = read.message
        if report is None:
            report = self._filled_in(read, referee, now) or read.open()
        assert isinstance(report, MatchResultReport)
        return report

    def _check_league(self, read: Unsealed, referee: Member, now: float) -> None:
        """Accept another league id from the referee that holds the match, and record the deviation."""
        # Some referees call every league by the same name. Their token and their match leave no doubt about it.
        try:
            self.context.check_league(read)
        except PeerError as error:
            match = self._ledger.matches.get(str(read.field("match_id")))
            is_holder = match is not None and match.referee_id == referee.agent_id
            if not is_holder or not self.context.accepts_deviations:
                raise
            deviation = Violation(
                "E028",
                "league_id",
                error.detail,
                "MATCH_RESULT_REPORT.league_id",
            )
            self.context.record(referee.agent_id, [deviation], now)

    def _filled_in(self, read: Unsealed, referee: Member, now: float) -> Message | None:
        """In `compat`, fill in what a report lacks if its match says it anyway, and record the deviation."""
        match = self._ledger.matches.get(str(read.content.get("match_id")))
        if match is None or not self.context.accepts_deviations:
            return None
        settings = self._ledger.settings
        fields = {
            "league_id": settings.league_id,
            "round_id": match.round_id,
            "game_type": settings.game_type,
        }
        absent = {name: value for name, value in fields.items() if name not in read.content}
        if any(violation.path not in absent for violation in read.violations):
            return None
        self.context.record(referee.agent_id, read.violations, now)
        completed = unseal({**read.content, **absent}, Reading())
        self.context.record(referee.agent_id, completed.deviations, now)
        return completed.message

    def _match_of(self, report: MatchResultReport, referee: Member) -> ScheduledMatch:
        match = self._ledger.matches.get(report.match_id)
        if match is None:
            match_id = report.match_id[:80]
            raise PeerError(
                "E014",
                f"there is no match {match_id!r}",
                {"match_id": match_id},
            )
        context = {"match_id": match.match_id}
        is_held = match.status == "ASSIGNED" or isinstance(match.result, ResultAccepted)
        if not is_held or match.referee_id != referee.agent_id:
            raise PeerError(
                "E016",
                f"{match.match_id} is not assigned to {referee.agent_id}",
                context,
            )
        if report.attempt not in (None, match.attempt):
            raise PeerError(
                "E016",
                f"attempt {report.attempt} of {match.match_id} is not the current one",
                context,
            )
        return match

    # --- 2. judge: what the report proves -----------------------------------------------------------------------------

    def judge(self, match: ScheduledMatch, report: MatchResultReport, details: Object) -> Judgement:
        """Say what a report amounts to. PeerError if nobody could tell."""
        game = self.game
        players = match.players
        deviations: list[Violation] = []
        verdict = game.wire.verdict(unpacked(details), players)
        seat = self._winner(match, report, verdict, details, deviations)
        winner = None
        if seat is not None:
            winner = players[seat]
        status = _status(verdict, seat, details)
        score = game.scoring.points(seat, status == "TECHNICAL_LOSS", verdict.returns)
        points = dict(zip(players, score, strict=True))
        self._compare(match, report, verdict, points, deviations)
        if deviations and not self.context.accepts_deviations:
            raise as_error(deviations[0])
        name = (self._ledger.settings.league_id, match.match_id, match.attempt)
        share = details.get("draw_share") if match.current.share_commitment else None
        # In a game without chance there is no draw to prove.
        draw_is_proven = draw.proves_all(details.get("draw_seed"), share, *name, verdict.draws)
        corrected = [deviation for deviation in deviations if deviation.requirement in CORRECTED]
        return Judgement(
            status,
            winner,
            points,
            deviations=deviations,
            corrections=[Correction(field=deviation.path, reason=deviation.detail) for deviation in corrected],
            draw_is_proven=draw_is_proven,
            by_margin=game.scoring.by_margin,
        )

    def _winner(
        self,
        match: ScheduledMatch,
        report: MatchResultReport,
        verdict: Verdict,
        details: Object,
        deviations: list[Violation],
    ) -> Seat | None:
        """Return the seat that won.

        In `compat` a report that contradicts itself is corrected if everything that decides the match is in it: both
        choices and the number. If one of them is missing, nobody can tell who won.
        """
        try:
            seat = _reported_seat(match, report.result.winner)
            if verdict.contradicts(seat):
                raise PeerError(
                    "E039",
                    verdict.note,
                    {"match_id": match.match_id},
                    "REPORT.recomputed",
                )
        except PeerError as error:
            is_played = verdict.kind == "confirmed" and details.get("status") != "TECHNICAL_LOSS"
            if not is_played or not self.context.accepts_deviations:
                raise
            detail = f"{report.result.winner!r:.80} was reported as the winner, but {error.detail}"
            deviations.append(_deviation("result.winner", detail, "REPORT.corrected"))
            return verdict.winner
        return seat

    def _compare(
        self,
        match: ScheduledMatch,
        report: MatchResultReport,
        verdict: Verdict,
        points: dict[str, int],
        deviations: list[Violation],
    ) -> None:
        """Note what does not fit but leaves no doubt about the winner."""
        game_type = self._ledger.settings.game_type
        if verdict.kind == "insufficient":
            deviations.append(_deviation("result.details", verdict.note, "REPORT.recomputed"))
        if report.result.winner == DRAW and (verdict.kind != "confirmed" or verdict.winner is None):
            detail = "a draw has no winner: null"
            deviations.append(
                _deviation(
                    "result.winner",
                    detail,
                    "MATCH_RESULT_REPORT.result.winner",
                )
            )
        if dict(report.result.score) != points:
            detail = f"the points of this result are {points}"
            deviations.append(_deviation("result.score", detail, "REPORT.wrong_score"))
        if report.round_id != match.round_id:
            detail = f"{match.match_id} is of round {match.round_id}"
            deviations.append(_deviation("round_id", detail, "MATCH_RESULT_REPORT.round_id"))
        if report.game_type != game_type:
            detail = f"this league plays {game_type}"
            deviations.append(_deviation("game_type", detail, "MATCH_RESULT_REPORT.game_type"))

    # --- 3. accept: the result comes into force -----------------------------------------------------------------------

    def _accept(
        self,
        match: ScheduledMatch,
        referee: Member,
        judgement: Judgement,
        details: Object,
        now: float,
        origin: str,
    ) -> None:
        if judgement.deviations:
            self.context.record(referee.agent_id, judgement.deviations, now)
        # Whatever becomes of the result, this referee has played the match that it was given.
        self.dispatches.reported(match, referee, now)
        result = ResultAccepted(
            at=now,
            match_id=match.match_id,
            attempt=match.attempt,
            referee_id=match.referee_id or "",
            status=judgement.status,
            winner=judgement.winner,
            points=judgement.points,
            details=details,
            verified=judgement.draw_is_proven and not judgement.deviations and not origin,
            reported_at=timestamps.write(now),
            corrected=tuple(f"{correction.field}: {correction.reason}" for correction in judgement.corrections),
            by_margin=judgement.by_margin,
            origin=origin,
        )
        self.context.happened(result)
        self.proofs.accepted(match, now)
        self._suspend_or_recover(match, now)
        if result.status == "TECHNICAL_LOSS":
            self.patience.lost(match, result, now)

    def _already_reported(
        self,
        match: ScheduledMatch,
        stored: ResultAccepted,
        report: MatchResultReport,
        details: Object,
        now: float,
        origin: str,
    ) -> PeerError:
        """Return E017 for the same result once more, E040 for a different one. Neither changes the result."""
        winner = None if report.result.winner == DRAW else report.result.winner
        is_identical = winner == stored.winner and details == stored.details
        context = {
            "match_id": match.match_id,
            "previous_report_time": stored.reported_at,
            "identical": is_identical,
        }
        if is_identical:
            return PeerError("E017", f"the result of {match.match_id} was reported already", context)
        if stored.origin and not self._ledger.controls.closed:
            source = f"from {origin}" if origin else f"with the token of {stored.referee_id}"
            claim = f"names {winner[:80]!r} as the winner" if winner else "names no winner"
            doubt = f"it came from {stored.origin}; another report, {source}, {claim}"
            if match.judged is None or "another report" not in match.judged.doubt:
                self.proofs.doubt(match, doubt, now)
        return PeerError("E040", f"another result of {match.match_id} is stored", context)

    def _refused(self, error: PeerError, read: Unsealed, referee: Member, now: float) -> None:
        """Show the operator a report that was refused.

        Many referees never report again. If no result can be found in the report, the match goes to another referee
        at once.
        """
        if error.code in COMES_TOO_LATE:
            return
        match = self._ledger.matches.get(str(read.field("match_id")))
        if match is not None or not referee.is_player:
            self.context.refused(
                "report",
                referee.role,
                referee.agent_id,
                endpoint=referee.endpoint,
                error=error,
                now=now,
                match=match,
            )
        if match is None or referee.is_player or error.code not in HAS_NO_RESULT:
            return
        is_holder = match.status == "ASSIGNED" and match.referee_id == referee.agent_id
        if is_holder and read.field("attempt") in (None, match.attempt):
            self.assignments.failed(
                match,
                f"the report of {referee.agent_id} was refused ({error})",
                now,
            )

    def refused_unproven(self, error: PeerError, read: Unsealed, origin: str, now: float) -> None:
        """Show the operator a report about a match in play whose sender proves nothing."""
        match = self._ledger.matches.get(str(read.field("match_id")))
        if match is None or match.status not in ("ASSIGNED", "PARKED"):
            return
        sender = read.field("sender")
        name = "somebody"
        if isinstance(sender, str) and sender:
            name = sender[:LONGEST_CLAIM]
        self.context.refused("report", "referee", name, endpoint=origin, error=error, now=now, match=match)

    # --- 4. follow: what a result does to its players, and the record of the match ------------------------------------

    def _suspend_or_recover(self, match: ScheduledMatch, now: float) -> None:
        """Suspend a player after two technical losses in a row; reactivate it after a match without a fault (R-51)."""
        for player in match.players:
            member = self._ledger.roster.members[player]
            if member.attendance.faults_in_a_row == 0 and member.state == "SUSPENDED":
                self.context.change(member, "recover", now)
            elif member.attendance.faults_in_a_row >= FAULTS_THAT_SUSPEND and member.state == "ACTIVE":
                self.context.change(member, "max_fail", now)

    def _fetch_record(self, match: ScheduledMatch, referee: Member, now: float) -> None:
        """Ask once per result, with the usual retries. Without an answer the league goes on without the record."""
        if self._lacks_talk(match):
            self.proofs.awaited[match.match_id] = None
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
        request = delivery.message
        answer = delivery.answer
        assert isinstance(request, RecordRequest)
        self.proofs.awaited.pop(request.match_id, None)
        if not isinstance(answer, MatchRecord):
            self._ask_later(self._ledger.matches[request.match_id], now)
            return
        if answer.match_id == request.match_id and answer.attempt == request.attempt:
            self._keep_record(
                request.match_id,
                request.attempt,
                delivery.peer,
                answer.events,
                now,
            )

    def take_up(self, now: float) -> None:
        """When the process starts, ask for the records that had not come before it ended, and may prove something."""
        if not self._ledger.controls.closed:
            for match in self._ledger.matches.values():
                self._ask_once_more(match, now)

    def _ask_later(self, match: ScheduledMatch, now: float) -> None:
        """Ask again in a while, as long as the league is played: the referee may be restarting."""
        if self._ledger.is_running:
            name = f"record/{match.match_id}"
            self.context.timers.set(name, now + RECORD_PAUSE_S, partial(self._ask_once_more, match))

    def _ask_once_more(self, match: ScheduledMatch, now: float) -> None:
        result = match.result
        if isinstance(result, ResultAccepted) and self._lacks_talk(match):
            self._fetch_record(match, self._ledger.roster.members[result.referee_id], now)

    def _keep_record(
        self,
        match_id: str,
        attempt: int,
        referee_id: str,
        record: Sequence[Object],
        now: float,
    ) -> None:
        written = Raw(_JSON.encode(record))
        self.context.happened(
            MatchRecordKept(
                at=now,
                match_id=match_id,
                attempt=attempt,
                referee_id=referee_id,
                written=written,
            )
        )
        match = self._ledger.matches[match_id]
        if attempt == match.attempt and self.game.talk:
            self.proofs.talk_came(match, now)

    def _lacks_talk(self, match: ScheduledMatch) -> bool:
        """True if the report left out what the players said, which is in the referee's record."""
        result = match.result
        if not isinstance(result, ResultAccepted) or not self.game.talk:
            return False
        return "talk" not in result.details and match.current.talk is None


def _deviation(path: str, detail: str, requirement: str) -> Violation:
    return Violation("E039", path, detail, requirement)


def _reported_seat(match: ScheduledMatch, winner: str | None) -> Seat | None:
    # Some referees report a draw as a winner called DRAW.
    if winner is None or winner == DRAW:
        return None
    for seat in SEATS:
        if match.players[seat] == winner:
            return seat
    detail = f"{winner[:80]!r} does not play in {match.match_id}"
    raise PeerError("E039", detail, {"match_id": match.match_id}, "REPORT.recomputed")


def _status(verdict: Verdict, seat: Seat | None, details: Object) -> Status:
    """Return how the match ended. If the details prove nothing, the referee's word counts, or what it looks like."""
    played: Status = "DRAW" if seat is None else "WIN"
    if verdict.kind == "confirmed" or verdict.implied:
        return played
    if verdict.kind == "technical":
        return "TECHNICAL_LOSS"
    choices = details.get("choices")
    status = details.get("status")
    looks_technical = isinstance(choices, dict) and None in choices.values()
    if status == "TECHNICAL_LOSS" or (status is None and looks_technical):
        return "TECHNICAL_LOSS"
    return played
