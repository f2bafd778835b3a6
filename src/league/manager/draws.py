"""Shared draws (spec section 12.1): the manager's part of a number that neither it nor the referee can choose.

    assigned ── a share is drawn and promised ──▶ DRAW_REQUEST ── stored ──▶ DRAW_RESPONSE: the match is decided
                                                                              ├──▶ the report says the same
                                                                              └──▶ the referee is lost, or says
                                                                                   something else: we decide it

The referee hands in all choices and its seed before it learns our share. So it cannot look at the number and try again,
and neither can it leave the match: from the answer on, everything that decides the match is in our journal.

What must never happen: the share leaves before the request is stored; two different requests get a share; an attempt
after one whose share was given away.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from league.events import DrawReleased, EvidenceFound, RequestRefused, ResultAccepted, Status
from league.games import draw, evidence, registry
from league.games.contract import Game
from league.machine import Letter
from league.manager.ledger import ScheduledMatch
from league.manager.manager_context import LONGEST_DETAIL, ManagerPart
from league.manager.proofs import Proofs
from league.manager.roster import Member
from league.manager.standings import Decided
from league.protocol import timestamps, tokens
from league.protocol.envelope import Unsealed, seal
from league.protocol.errors import PeerError
from league.protocol.messages import DrawRequest, DrawResponse

Object = dict[str, Any]


@dataclass(slots=True)
class SharedDraws(ManagerPart):
    """Promises shares, gives them away once, and decides matches that their referees leave."""

    proofs: Proofs

    def is_for(self, referee: Member) -> bool:
        """True if the draws of this referee are shared."""
        settings = self._ledger.settings
        if settings.draw == "referee" or not referee.as_referee.shares_draws:
            return False
        game = registry.find(settings.game_type)
        if game is None or not game.single_draw_last:
            return False
        return settings.draw == "shared" or referee.as_referee.came_openly

    def promise(self, referee: Member, match: ScheduledMatch, attempt: int) -> str:
        """Draw a share for an attempt and return its promise; empty if the referee draws alone."""
        if not self.is_for(referee):
            return ""
        share = self.context.chance(draw.SEED_BYTES)
        self.context.keep_secret(_secret(match.match_id, attempt), share.hex())
        return draw.commitment(share, self._ledger.settings.league_id, match.match_id, attempt)

    # --- DRAW_REQUEST -------------------------------------------------------------------------------------------------

    def take(self, letter: Letter, read: Unsealed, referee: Member, now: float) -> None:
        """Answer DRAW_REQUEST. PeerError refuses it."""
        self.context.check_league(read)
        request = read.open()
        assert isinstance(request, DrawRequest)
        match = self._match_of(request, referee)
        released = match.current.released
        if released is None:
            released = self._release(match, request, now)
        elif not _is_same(released, request):
            self._contest(match, referee, now)
            raise PeerError("E040", f"another draw was handed in for {match.match_id}", {"match_id": match.match_id})
        self.context.reply(
            letter,
            DrawResponse(
                **seal(tokens.MANAGER, now, request.conversation_id),
                match_id=match.match_id,
                attempt=match.attempt,
                draw_share=released.draw_share,
            ),
        )

    def _match_of(self, request: DrawRequest, referee: Member) -> ScheduledMatch:
        match = self._ledger.matches.get(request.match_id)
        if match is None:
            raise PeerError("E014", f"there is no match {request.match_id[:80]!r}")
        is_holder = match.referee_id == referee.agent_id and match.attempt == request.attempt
        is_open = match.status == "ASSIGNED" or match.current.released is not None
        if referee.is_player or not is_holder or not is_open:
            raise PeerError("E016", f"attempt {request.attempt} of {match.match_id} is not yours")
        if not match.current.share_commitment:
            raise PeerError("E023", f"the draw of {match.match_id} is not shared")
        return match

    def _release(self, match: ScheduledMatch, request: DrawRequest, now: float) -> DrawReleased:
        """Check what is handed in and store it; only then may the share leave."""
        settings = self._ledger.settings
        try:
            seed = bytes.fromhex(request.draw_seed)
            promised = draw.commitment(
                seed, settings.league_id, match.match_id, match.attempt, match.current.share_commitment
            )
        except ValueError:
            promised = ""
        if promised != request.draw_commitment:
            raise PeerError("E039", "the seed does not open the commitment", {"match_id": match.match_id})
        handed_in: Object = {"choices": request.choices}
        if request.moves:
            handed_in["moves"] = request.moves
        if not evidence.awaits_draw(self._game, match.players, handed_in):
            raise PeerError("E039", "the choices are not all in, or not legal", {"match_id": match.match_id})
        released = DrawReleased(
            at=now,
            match_id=match.match_id,
            attempt=match.attempt,
            referee_id=match.referee_id or "",
            handed_in=handed_in,
            receipts=request.receipts or {},
            draw_seed=request.draw_seed,
            draw_commitment=request.draw_commitment,
            draw_share=self.context.secrets[_secret(match.match_id, match.attempt)],
        )
        self.context.happened(released)
        return released

    @property
    def _game(self) -> Game:
        game = registry.find(self._ledger.settings.game_type)
        assert game is not None, "a league is made with a game that is installed"
        return game

    def _contest(self, match: ScheduledMatch, referee: Member, now: float) -> None:
        """Show everybody that the referee said two different things."""
        detail = f"{referee.agent_id} handed in two different draws of {match.match_id}"
        if match.found is None or match.found.evidence != "disputed":
            self.context.happened(
                EvidenceFound(
                    at=now,
                    match_id=match.match_id,
                    attempt=match.attempt,
                    evidence="disputed",
                    doubt=detail,
                )
            )
        self.context.refused(
            RequestRefused(
                at=now,
                request="report",
                role="referee",
                name=referee.agent_id,
                endpoint=referee.endpoint,
                code="E040",
                detail=detail[:LONGEST_DETAIL],
                match_id=match.match_id,
                attempt=match.attempt,
            )
        )

    # --- what follows -------------------------------------------------------------------------------------------------

    def contradicts(self, match: ScheduledMatch, details: Object, referee: Member, now: float) -> bool:
        """True if a report says something else than what was handed in. Then we must decide the match."""
        released = match.current.released
        if released is None:
            return False
        decided = self._details(match, released)
        names = ("choices", "moves", "drawn_number", "draw_seed", "draw_commitment")
        if all(details.get(name) == decided.get(name) for name in names):
            return False
        self._contest(match, referee, now)
        return True

    def decide(self, match: ScheduledMatch, now: float) -> None:
        """Record the result of a match whose referee will not report it."""
        released = match.current.released
        assert released is not None
        details = self._details(match, released)
        verdict = self._game.wire.verdict(details, match.players)
        winner = None if verdict.winner is None else match.players[verdict.winner]
        decided = Decided(match.players, winner, False)
        status: Status = details["status"]
        self.context.happened(
            ResultAccepted(
                at=now,
                match_id=match.match_id,
                attempt=match.attempt,
                referee_id=released.referee_id,
                status=status,
                winner=winner,
                points={player: decided.points(player) for player in match.players},
                details=details,
                verified=True,
                reported_at=timestamps.write(now),
                evidence="by_manager",
                doubt=f"decided from what {released.referee_id} handed in",
            )
        )

    def _details(self, match: ScheduledMatch, released: DrawReleased) -> Object:
        """Return `result.details` as they follow from what was handed in."""
        seed = draw.mixed(bytes.fromhex(released.draw_seed), bytes.fromhex(released.draw_share))
        number = draw.number(seed, self._ledger.settings.league_id, match.match_id, match.attempt)
        details: Object = evidence.drawn(self._game, match.players, released.handed_in, number)
        verdict = self._game.wire.verdict(details, match.players)
        return {
            **details,
            "status": "DRAW" if verdict.winner is None else "WIN",
            "draw_seed": released.draw_seed,
            "draw_commitment": released.draw_commitment,
            "draw_share": released.draw_share,
            "share_commitment": match.current.share_commitment,
            "receipts": released.receipts,
        }


def _secret(match_id: str, attempt: int) -> str:
    return f"share/{match_id}/{attempt}"


def _is_same(released: DrawReleased, request: DrawRequest) -> bool:
    handed_in: Object = {"choices": request.choices}
    if request.moves:
        handed_in["moves"] = request.moves
    return (
        released.handed_in == msgspec.to_builtins(handed_in)
        and released.draw_seed == request.draw_seed
        and released.draw_commitment == request.draw_commitment
    )
