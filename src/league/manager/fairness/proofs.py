"""What results rest on (spec section 8.18): the manager's own check of signatures, seed and share.

A result is accepted or refused by the rules alone (season/scoring.py). At the end of its round this part says what it
rests on; a result that comes later is judged at once. Nothing here changes a result or a point, and nothing that is
missing costs anybody anything.

    proven       both players signed these choices, and nobody could choose the numbers
    by_referee   the referee says so; `doubt` says what is missing
    by_manager   a walkover, or a technical loss in which our own call failed, too
    not_played   there is no result

What must never happen: a result is called proven that its players did not sign, or whose draw the referee could choose.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from league.events import ResultAccepted, ResultJudged
from league.games import evidence
from league.games.evidence import AssignedMatch, Proof
from league.manager.manager_context import ManagerPart
from league.manager.state.ledger import ScheduledMatch

OUT_OF_REACH: Final = frozenset({"E001", "E009"})
"""The faults of a player that its referee could not reach."""

Object = Mapping[str, Any]


@dataclass(slots=True)
class Proofs(ManagerPart):
    """Says what results rest on."""

    awaited: dict[str, None] = field(default_factory=dict)
    """The matches whose records are under way, with the talk that a proof needs: their rounds wait for that."""

    def is_waiting(self, matches: Iterable[ScheduledMatch]) -> bool:
        """True as long as a record may still prove one of these results."""
        return bool(self.awaited) and any(match.match_id in self.awaited for match in matches)

    def judge(self, matches: Iterable[ScheduledMatch], now: float) -> None:
        """Judge all results among these that nobody has judged yet."""
        for match in matches:
            if match.result is not None and match.basis is None:
                self._judge(match, now)

    def accepted(self, match: ScheduledMatch, now: float) -> None:
        """Judge a result at once if no signature has to be checked for that, or if its round is over."""
        result = match.result
        is_unsigned = isinstance(result, ResultAccepted) and (result.origin or result.status == "TECHNICAL_LOSS")
        if is_unsigned or match.round_id <= self._ledger.finished_rounds:
            self.judge([match], now)

    def talk_came(self, match: ScheduledMatch, now: float) -> None:
        """Judge a match once more whose talk was too large for its report."""
        result = match.result
        judged = match.judged
        if not isinstance(result, ResultAccepted) or judged is None or judged.evidence != "by_referee":
            return
        if not self._ledger.is_running:
            # The last statement about this league is signed.
            return
        if self._with_talk(match, result) is not result.details:
            self._judge(match, now)

    def doubt(self, match: ScheduledMatch, doubt: str, now: float) -> None:
        """Note what speaks against a result. From now on it is by the referee's word."""
        if match.judged is None or match.judged.doubt != doubt:
            self._happened(match, Proof("by_referee", doubt=doubt), now)

    def _judge(self, match: ScheduledMatch, now: float) -> None:
        result = match.result
        assert isinstance(result, ResultAccepted)
        if result.origin:
            proof = Proof("by_referee", doubt=f"it came from {result.origin}, and nobody knows who sent it")
        elif result.status == "TECHNICAL_LOSS":
            proof = self._of_loss(match, result)
        else:
            details = self._with_talk(match, result)
            proof = evidence.rests_on(self.game, self.played(match), details)
        self._happened(match, proof, now)

    def _happened(self, match: ScheduledMatch, proof: Proof, now: float) -> None:
        judged = ResultJudged(
            at=now,
            match_id=match.match_id,
            attempt=match.attempt,
            evidence=proof.evidence,
            unsigned=proof.unsigned,
            doubt=proof.doubt,
        )
        self.context.happened(judged)

    def _of_loss(self, match: ScheduledMatch, result: ResultAccepted) -> Proof:
        """Say what a technical loss rests on: did anybody but the referee see it?"""
        losers = [player for player in match.players if player != result.winner]
        if all(self._is_out_of_reach(match, player, result.details) for player in losers):
            return Proof("by_manager", doubt="our own call failed, too")
        return Proof("by_referee", doubt="nobody else saw the technical loss")

    def _is_out_of_reach(self, match: ScheduledMatch, player: str, details: Object) -> bool:
        """True if our own last call to this player failed, too: the probe for its referee's question, if it asked."""
        faults = details.get("faults")
        fault = faults.get(player) if isinstance(faults, Mapping) else None
        if not isinstance(fault, Mapping) or fault.get("code") not in OUT_OF_REACH:
            return False
        allowed = match.current.allowed.get(player)
        if allowed is not None:
            # A probe that failed says nothing about the loss of another turn, or by another fault.
            is_same = fault["code"] == allowed.code and fault.get("turn", allowed.turn) == allowed.turn
            return is_same and allowed.reached is False
        referee = self._ledger.roster.members.get(match.referee_id or "")
        if referee is not None and referee.as_referee.asks_before_losses:
            # It should have asked. That a call of ours failed at some time says nothing about this loss.
            return False
        return self.context.calls.peers[player].breaker.failing_since is not None

    def _with_talk(self, match: ScheduledMatch, result: ResultAccepted) -> Object:
        return evidence.with_talk(self.game, result.details, match.current.talk or ())

    def played(self, match: ScheduledMatch) -> AssignedMatch:
        return AssignedMatch(
            league_id=self._ledger.settings.league_id,
            match_id=match.match_id,
            attempt=match.attempt,
            players=match.players,
            share_commitment=match.current.share_commitment,
            referee_id=match.referee_id or "",
            first_drawn=match.first_drawn,
            manager_key=self._ledger.manager_key,
            keys=match.current.keys or {},
        )
