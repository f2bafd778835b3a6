"""What only the referee knows of a match: attempts, faults, seed, choices. Fetched from referees of ours after they
reported; nothing waits for it, and what cannot be had is not missed.
"""

from __future__ import annotations

from dataclasses import dataclass

from league.events import MatchRecordKept
from league.machine import MatchRecord, RecordRequest
from league.manager.courier import Courier, Ending, Errand, Policy
from league.manager.leases import Leases
from league.manager.ledger import Match
from league.manager.office import Office
from league.manager.roster import Member

LIMIT_S = 10.0


@dataclass(slots=True)
class MatchRecords:
    """Asks once per result, with the usual three retries."""

    office: Office
    courier: Courier
    leases: Leases

    def fetch(self, match: Match, referee: Member, now: float) -> None:
        if not self.leases.is_ours(referee.agent_id):
            return
        message = RecordRequest(match.match_id, match.attempt)
        label = f"{match.match_id}/{match.attempt}/record/{referee.agent_id}"
        policy = Policy(LIMIT_S, self.office.ledger.settings.retry_delays_s)
        self.courier.go([Errand(referee.agent_id, label, message, policy, self._ended)], now)

    def _ended(self, errand: Errand, ending: Ending, now: float) -> None:
        asked, answer = errand.message, errand.answer
        if not isinstance(asked, RecordRequest) or not isinstance(answer, MatchRecord):
            return
        if (answer.match_id, answer.attempt) == (asked.match_id, asked.attempt):
            self.office.happened(
                MatchRecordKept(
                    at=now,
                    match_id=asked.match_id,
                    attempt=asked.attempt,
                    referee_id=errand.agent_id,
                    record=answer.events,
                )
            )
