"""Reports that show no token, in a league with `--trust class` (spec section 9.7).

The referees of some documents report without token and envelope. Nobody can know who sent such a report: on one machine
everybody shares an address. In a class that is better than a league that never ends, so the operator may choose it.

The first report of a match counts at once, and is marked as coming from an address. A report that contradicts it is
refused, and shown beside the result as a doubt (scoring.py); the operator decides with `league replay-match`.

What must never happen: a report without a token replaces a result, or counts for a referee that can prove itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from league.events import ResultAccepted
from league.machine import Acknowledged, Letter
from league.manager.manager_context import ManagerPart
from league.manager.season.scoring import Scorekeeper
from league.manager.staffing.leases import Leases
from league.manager.state.ledger import ScheduledMatch
from league.manager.state.roster import Member
from league.protocol import timestamps
from league.protocol.endpoints import ip_of
from league.protocol.errors import PeerError, as_error
from league.protocol.message.envelope import Reading, Unsealed, unseal
from league.protocol.message.messages import MatchResultReport
from league.protocol.versions import PROTOCOL


@dataclass(slots=True)
class AddressReports(ManagerPart):
    """Takes reports without a token."""

    scoring: Scorekeeper
    leases: Leases
    has_shown_token: Callable[[Member], bool]
    """Tells whether a member has shown a token in this life of the process."""

    def take_report(self, letter: Letter, read: Unsealed, error: PeerError, now: float) -> None:
        """Take a report whose sender showed no token. `error` is why it would be refused, and is raised if it is."""
        match = self._ledger.matches.get(str(read.field("match_id")))
        if match is None or match.referee_id is None or read.field("auth_token"):
            raise error
        if match.status != "ASSIGNED" and not _counts_by_address(match):
            raise error
        if self._ledger.settings.trust != "class":
            remedy = f"{error.detail}; only with --trust class does a report count without a token"
            raise PeerError(error.code, remedy, error.context, error.requirement)
        referee = self.context.member(match.referee_id)
        objection = self._objection(match, referee, letter.origin)
        if objection:
            raise PeerError(error.code, f"{error.detail}; it does not count by its address, because {objection}")
        report = self._completed(read, match, referee, now)
        try:
            self.scoring.count(match, report, referee, now, letter.origin)
        except PeerError as refusal:
            # Its referee, which knows no codes, may say the same again until it is content.
            if refusal.code != "E017":
                raise
        self.context.reply(letter, Acknowledged())

    # --- is it to be believed? ----------------------------------------------------------------------------------------

    def _objection(self, match: ScheduledMatch, referee: Member, origin: str) -> str:
        """Return why a report from this address is not believed; empty if it is."""
        if not is_one_machine(origin, referee.origin):
            return f"{origin} is not the address of {referee.agent_id}"
        if self._can_prove_itself(referee):
            return f"{referee.agent_id} has shown a token before"
        return ""

    def _can_prove_itself(self, referee: Member) -> bool:
        if (
            referee.as_referee.shows_derived_tokens
            or self.leases.is_ours(referee.agent_id)
            or self.has_shown_token(referee)
        ):
            return True
        results = [match.result for match in self._ledger.matches.values()]
        accepted = [result for result in results if isinstance(result, ResultAccepted)]
        return any(result.referee_id == referee.agent_id and not result.origin for result in accepted)

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


def _counts_by_address(match: ScheduledMatch) -> bool:
    return isinstance(match.result, ResultAccepted) and bool(match.result.origin)


def is_one_machine(origin: str, home: str) -> bool:
    """True if a request from this address may come from the agent that registered from the other."""
    caller = ip_of(origin)
    owner = ip_of(home)
    if caller is None or owner is None:
        return origin == home
    return caller == owner or (caller.is_loopback and owner.is_loopback)
