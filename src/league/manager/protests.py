"""Protests: what players say against their referees (spec section 8.19).

A protest changes no result by itself. The manager checks the receipts that come with it, keeps it, and shows it beside
the result. Only if two right receipts of one player contradict each other is the match disputed.

What must never happen: somebody without the player's own token speaks for it; a player fills the journal.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from league.events import EvidenceFound, ProtestReceived, ResultAccepted
from league.games import evidence, registry
from league.games.contract import Game
from league.manager.authentication import Authenticated
from league.manager.ledger import ScheduledMatch
from league.manager.manager_context import LONGEST_DETAIL, ManagerPart
from league.manager.proofs import Proofs
from league.protocol.errors import PeerError
from league.protocol.parts import QueryParams
from league.protocol.receipts import ASKED_AGAIN

LARGEST: Final = 4_096
MOST_NOTES: Final = 8
"""Maximum number of notes kept per player and attempt that it was asked again."""

Object = dict[str, Any]


@dataclass(slots=True)
class Protests(ManagerPart):
    """Takes protests."""

    proofs: Proofs
    dispute_report: Callable[[ScheduledMatch, str, float], None]
    """Lets a report not count that only its address shows to be the referee's."""

    def take(self, params: QueryParams, sender: Authenticated, now: float) -> Object:
        """Keep a protest, and return the answer to it. PeerError refuses it."""
        player = sender.member
        match = self._match_of(params, sender)
        attempt = params.attempt or match.attempt
        if attempt > match.attempt:
            raise PeerError("E016", f"{match.match_id} has no attempt {attempt} yet")
        why = (params.why or "")[:LONGEST_DETAIL]
        is_new = self._is_new(match, player.agent_id, attempt, why)
        if is_new:
            signed = self._signed(match, player.agent_id, attempt, params)
            self.context.happened(
                ProtestReceived(
                    at=now,
                    match_id=match.match_id,
                    attempt=attempt,
                    player_id=player.agent_id,
                    why=why,
                    signed=signed,
                    draw_commitment=(params.draw_commitment or "")[:LONGEST_DETAIL],
                )
            )
            self._dispute(match, now)
            if match.claim is not None and attempt == match.attempt and not why.startswith(ASKED_AGAIN):
                self.dispute_report(match, f"{player.agent_id} protests: {why}", now)
        return {"match_id": match.match_id, "attempt": attempt, "recorded": is_new}

    def _match_of(self, params: QueryParams, sender: Authenticated) -> ScheduledMatch:
        if not sender.member.is_player or sender.by_name:
            raise PeerError("E032", "a protest needs the player's own token, which proves who it is")
        if self._ledger.controls.closed:
            raise PeerError("E031", "the league is closed")
        if not params.match_id or not params.why:
            raise PeerError("E003", "a protest names its match_id and says why", {"field": "query_params"})
        if len(msgspec.json.encode(params)) > LARGEST:
            raise PeerError("E037", f"a protest has at most {LARGEST} bytes")
        match = self._ledger.matches.get(params.match_id)
        if match is None:
            raise PeerError("E014", f"there is no match {params.match_id[:80]!r}")
        if sender.member.agent_id not in match.players:
            raise PeerError("E032", f"{sender.member.agent_id} does not play in {match.match_id}")
        return match

    def _is_new(self, match: ScheduledMatch, player_id: str, attempt: int, why: str) -> bool:
        """True unless the player has protested against this attempt already."""
        earlier = [
            protest for protest in match.protests if protest.player_id == player_id and protest.attempt == attempt
        ]
        notes = [protest for protest in earlier if protest.is_note]
        if why.startswith(ASKED_AGAIN):
            return len(notes) < MOST_NOTES and all(note.why != why for note in notes)
        return len(notes) == len(earlier)

    def _signed(self, match: ScheduledMatch, player_id: str, attempt: int, params: QueryParams) -> dict[int, str]:
        """Return the choices whose receipts are right."""
        if not params.receipts:
            return {}
        return self.proofs.signed(self._game, match, player_id, attempt, params)

    @property
    def _game(self) -> Game:
        game = registry.find(self._ledger.settings.game_type)
        assert game is not None, "a league is made with a game that is installed"
        return game

    def _dispute(self, match: ScheduledMatch, now: float) -> None:
        """Mark a proven match whose player has signed something else as well."""
        result = match.result
        basis = match.basis
        if not isinstance(result, ResultAccepted) or basis is None or basis.evidence != "proven":
            return
        doubt = evidence.contradiction(self._game, self.proofs.played(match), result.details, match.protests)
        if doubt:
            self.context.happened(
                EvidenceFound(
                    at=now,
                    match_id=match.match_id,
                    attempt=match.attempt,
                    evidence="disputed",
                    doubt=doubt,
                )
            )
