"""How far a result is known (spec section 8.18): the manager's own check of receipts, seed and share.

A result is accepted or refused by the rules alone (scoring.py). This part then says what it rests on: the signatures of
both players, the word of the referee, or the manager's own observation. Nothing here changes a result, and nothing that
is missing costs anybody a point.

    proven           both players signed these choices, and the number was fixed before
    by_referee       the referee says so, and a signature is missing or does not fit
    loss_confirmed   the player signed that it declines, or we could not reach it either
    loss_by_referee  nobody but the referee knows
    disputed         two signed statements contradict each other; the operator decides
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from msgspec import structs

from league.events import EvidenceFound, ResultAccepted
from league.games import evidence
from league.games.contract import Game
from league.games.evidence import Keys, PlayedMatch, Proof, Record
from league.manager.ledger import ScheduledMatch
from league.manager.manager_context import ManagerPart
from league.protocol.parts import QueryParams
from league.protocol.receipts import NOTHING, receipt_key

OUT_OF_REACH = frozenset({"E001", "E009"})
"""The faults of a player that its referee could not reach."""

Object = Mapping[str, Any]


@dataclass(slots=True)
class Proofs(ManagerPart):
    """Says what results rest on."""

    def of_match(self, game: Game, match: ScheduledMatch, details: Object, record: Record = ()) -> Proof:
        """Check a match that was played to its end."""
        return evidence.rests_on(game, self.played(match), details, self.keys_of(match), record, match.protests)

    def of_loss(self, match: ScheduledMatch, winner: str | None, details: Object) -> Proof:
        """Check a technical loss: does anybody but the referee know of it?"""
        played = self.played(match)
        keys = self.keys_of(match)
        game_type = self._ledger.settings.game_type
        for player in match.players:
            if player == winner:
                continue
            is_signed = evidence.declined(played, game_type, details, player, keys)
            if not is_signed and not self._is_out_of_reach(match, player, details):
                return Proof("loss_by_referee")
        return Proof("loss_confirmed")

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

    def record_came(self, game: Game, match: ScheduledMatch, record: Record, now: float) -> None:
        """Check a match once more whose receipts or talk were too large for its report."""
        result = match.result
        if not isinstance(result, ResultAccepted) or result.evidence != "by_referee" or match.found is not None:
            return
        if evidence.completed(game, result.details, record, match.players) is result.details:
            return
        proof = self.of_match(game, match, result.details, record)
        self.context.happened(
            EvidenceFound(
                at=now,
                match_id=match.match_id,
                attempt=match.attempt,
                evidence=proof.evidence,
                unsigned=proof.unsigned,
                doubt=proof.doubt,
            )
        )

    def signed(
        self,
        game: Game,
        match: ScheduledMatch,
        player_id: str,
        attempt: int,
        params: QueryParams,
    ) -> dict[int, str]:
        """Return the choices of a protest whose receipts are right, by turn."""
        played = structs.replace(self.played(match), attempt=attempt)
        keys = self.keys_of(match, attempt).get(player_id, ())
        result = match.result
        details = result.details if isinstance(result, ResultAccepted) and result.attempt == attempt else {}
        commitment = params.draw_commitment or NOTHING
        chosen: dict[int, str] = {}
        for claim in params.receipts or ():
            views = evidence.possible_views(game, played, details, player_id, claim.turn)
            if evidence.is_signed(game.name, played, player_id, claim, commitment, views, keys):
                chosen[claim.turn] = claim.choice
        return chosen

    def played(self, match: ScheduledMatch) -> PlayedMatch:
        return PlayedMatch(
            self._ledger.settings.league_id,
            match.match_id,
            match.attempt,
            match.players,
            match.current.share_commitment,
            match.referee_id or "",
        )

    def keys_of(self, match: ScheduledMatch, attempt: int = 0) -> Keys:
        """Return RK of both players, for every registration of full standing with which they declared receipts."""
        attempt = attempt or match.attempt
        league_id = self._ledger.settings.league_id
        keys: dict[str, list[bytes]] = {}
        for player_id in match.players:
            player = self._ledger.roster.members[player_id]
            for serial in player.credentials.receipts - player.credentials.queries_only:
                key = self.context.key_of(player, serial)
                if key is not None:
                    signing_key = receipt_key(key, player_id, league_id, match.match_id, attempt)
                    keys.setdefault(player_id, []).append(signing_key)
        return keys
