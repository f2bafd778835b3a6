"""Reports that show no token, in a league with `--trust class` (spec section 9.7).

The referees of some documents report without token and envelope. Nobody can know who sent such a report: on one machine
everybody shares an address. In a class that is better than a league that never ends, so the operator may choose it.

    refused: the usual case, and always if the referee could prove itself: it has shown a token before
    held ──▶ the round ends, and nothing different came for SETTLE_S: the result counts, "from the referee's address"
      └────▶ a different report, or a player's protest: disputed. Neither counts, and the operator decides.
             A report with the referee's token ends all doubt: it counts at once

`ReportHeld` and `ReportDisputed` are events, so a restart forgets nothing; only the timer is set again. What must never
happen: a report without a token replaces a result, or counts for a referee that can prove itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec

from league.events import BY_ADDRESS, ReportDisputed, ReportHeld, ResultAccepted
from league.machine import Acknowledged, Letter
from league.manager.assignments import Assignments
from league.manager.dispatch import Dispatches, RefereeHabits
from league.manager.ledger import ScheduledMatch
from league.manager.manager_context import ManagerPart
from league.manager.roster import Member
from league.manager.scoring import Judgement, Scoring
from league.protocol import timestamps
from league.protocol.endpoints import ip_of
from league.protocol.envelope import Reading, Unsealed, unseal
from league.protocol.errors import PeerError, as_error
from league.protocol.messages import MatchResultReport
from league.protocol.versions import PROTOCOL

SETTLE_S = 5.0
"""How long after the last report without a token the results count."""
SHORTEST_MATCH_S = 0.002
"""No match is shorter: both players are asked twice and told the result."""
TIMER = "address reports"


@dataclass(slots=True)
class AddressReports(ManagerPart):
    """Takes, holds and settles reports without a token."""

    scoring: Scoring
    assignments: Assignments
    dispatches: Dispatches
    habits: RefereeHabits
    has_shown_token: Callable[[Member], bool]
    """Tells whether a member has shown a token in this life of the process."""

    def take(self, letter: Letter, read: Unsealed, error: PeerError, now: float) -> None:
        """Take a report whose sender showed no token. `error` is why it would be refused, and is raised if it is."""
        match = self._ledger.matches.get(str(read.field("match_id")))
        if match is None or match.referee_id is None:
            raise error
        if match.status not in ("ASSIGNED", "REPORTED") or read.field("auth_token"):
            raise error
        if self._ledger.settings.trust != "class":
            remedy = f"{error.detail}; only with --trust class does a report count without a token"
            raise PeerError(error.code, remedy, error.context, error.requirement)
        referee = self.context.member(match.referee_id)
        objection = self._objection(match, referee, letter.origin, now)
        if objection:
            raise PeerError(error.code, f"{error.detail}; it does not count by its address, because {objection}")
        report = self._completed(read, match, referee, now)
        details: dict[str, Any] = msgspec.to_builtins(report.result.details or {})
        judgement = self.scoring.judge(match, report, details)
        if match.claim is None:
            self._hold(match, referee, letter.origin, judgement, details, now)
        elif not _is_same(match.claim, judgement, details):
            why = f"two different reports came from the address of {referee.agent_id} ({letter.origin})"
            self.dispute(match, why, now)
            raise PeerError("E040", f"{why}; neither counts, and the operator decides", {"match_id": match.match_id})
        self.context.reply(letter, Acknowledged())

    # --- is it to be believed? ----------------------------------------------------------------------------------------

    def _objection(self, match: ScheduledMatch, referee: Member, origin: str, now: float) -> str:
        """Return why a report from this address is not believed; empty if it is."""
        if not _is_one_machine(origin, referee.origin):
            return f"{origin} is not the address of {referee.agent_id}"
        if self._can_prove_itself(referee):
            return f"{referee.agent_id} has shown a token before"
        if match.claim is not None:
            return ""
        began_at = self.dispatches.began_at(match)
        if began_at is None:
            return f"{referee.agent_id} has not acknowledged {match.match_id}"
        if now - began_at < SHORTEST_MATCH_S:
            return f"no match is as short as {now - began_at:.3f} seconds"
        return ""

    def _can_prove_itself(self, referee: Member) -> bool:
        if (
            referee.as_referee.shows_derived_tokens
            or self.habits.is_ours(referee.agent_id)
            or self.has_shown_token(referee)
        ):
            return True
        results = [match.result for match in self._ledger.matches.values()]
        accepted = [result for result in results if isinstance(result, ResultAccepted)]
        return any(result.referee_id == referee.agent_id and result.evidence != BY_ADDRESS for result in accepted)

    def _completed(self, read: Unsealed, match: ScheduledMatch, referee: Member, now: float) -> MatchResultReport:
        """Return the report with what it lacks: the envelope, and what its match says anyway."""
        report = read.message
        if report is None:
            settings = self._ledger.settings
            fields = {
                "protocol": PROTOCOL,
                "sender": f"referee:{referee.agent_id}",
                "timestamp": timestamps.write(now),
                "conversation_id": f"conv-report-{match.match_id.lower()}",
                "league_id": settings.league_id,
                "round_id": match.round_id,
                "game_type": settings.game_type,
            }
            completed = unseal({**fields, **read.content}, Reading())
            if completed.violations:
                raise as_error(completed.violations[0])
            report = completed.message
        assert isinstance(report, MatchResultReport)
        sender = str(report.sender)
        if sender.rpartition(":")[2] != referee.agent_id:
            raise PeerError("E032", f"{match.match_id} is not assigned to {sender[:80]!r}")
        if report.attempt not in (None, match.attempt):
            raise PeerError("E016", f"attempt {report.attempt} of {match.match_id} is not the current one")
        return report

    # --- held, settled, disputed --------------------------------------------------------------------------------------

    def _hold(
        self,
        match: ScheduledMatch,
        referee: Member,
        origin: str,
        judgement: Judgement,
        details: dict[str, Any],
        now: float,
    ) -> None:
        self.context.record(referee.agent_id, judgement.deviations, now)
        self.dispatches.reported(match, referee, now)
        self.assignments.forget(match.match_id)
        self.context.happened(
            ReportHeld(
                at=now,
                match_id=match.match_id,
                attempt=match.attempt,
                referee_id=referee.agent_id,
                origin=origin,
                status=judgement.status,
                winner=judgement.winner,
                points=judgement.points,
                details=details,
                corrected=judgement.corrected,
            )
        )

    def dispute(self, match: ScheduledMatch, why: str, now: float) -> None:
        """Let a held report not count: it was contradicted, by another report or by a player."""
        # Whoever speaks for this referee may do so again, so the match goes to another one if there is one.
        self.habits.lapsed(match.referee_id or "")
        self.context.happened(ReportDisputed(at=now, match_id=match.match_id, attempt=match.attempt, why=why))

    def advance(self, now: float) -> None:
        """Let held reports count when nothing else of their round is being played."""
        if not self._ledger.in_play.reported:
            return
        matches = [self._ledger.matches[match_id] for match_id in self._ledger.in_play.reported]
        claims = [match.claim for match in matches if match.claim is not None]
        due = max(claim.at for claim in claims) + SETTLE_S
        if self._is_anything_played():
            return
        if now < due:
            self.context.timers.set(TIMER, due, lambda _: None)
            return
        for match, claim in zip(matches, claims, strict=True):
            self._settle(match, claim, now)

    def _is_anything_played(self) -> bool:
        in_play = self._ledger.in_play
        return bool(in_play.waiting) or any(in_play.holdings.values())

    def _settle(self, match: ScheduledMatch, claim: ReportHeld, now: float) -> None:
        if self._can_prove_itself(self.context.member(claim.referee_id)):
            self.dispute(match, f"{claim.referee_id} has shown a token since, and this report has none", now)
            return
        result = ResultAccepted(
            at=now,
            match_id=match.match_id,
            attempt=match.attempt,
            referee_id=claim.referee_id,
            status=claim.status,
            winner=claim.winner,
            points=claim.points,
            details=claim.details,
            verified=False,
            reported_at=timestamps.write(claim.at),
            evidence=BY_ADDRESS,
            corrected=claim.corrected,
            by_margin=self.scoring.game.scoring.by_margin,
        )
        # A loss that an outage excuses is played again; there is nobody to tell.
        self.scoring.accept(match, result, now)


def _is_same(claim: ReportHeld, judgement: Judgement, details: dict[str, Any]) -> bool:
    return claim.winner == judgement.winner and claim.status == judgement.status and claim.details == details


def _is_one_machine(origin: str, home: str) -> bool:
    caller = ip_of(origin)
    owner = ip_of(home)
    if caller is None or owner is None:
        return origin == home
    return caller == owner or (caller.is_loopback and owner.is_loopback)
