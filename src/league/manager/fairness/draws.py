"""Shared draws (spec section 12.1): the manager's part of numbers that neither it nor the referee can choose.

    assigned ── a share is drawn and promised ──▶ DRAW_REQUEST ── stored ──▶ DRAW_RESPONSE
                                                                              ├──▶ the report says the same
                                                                              └──▶ the referee is lost, or says
                                                                                   something else

Before the first draw of a match the referee hands in the choices so far and its seed; all draws of the match follow
from that seed and our share. So it cannot look at a number and try another seed. If nobody chooses after the draw, the
referee cannot leave the match either: everything that decides it is in our journal, and we decide it. If choices
follow, a lost match is played again, and the second draw is on record: such a match is never called proven.

What must never happen: the share leaves before the request is stored; two different requests get a share; an attempt
after one that was decided by its draw.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from league.events import DrawReleased, ResultAccepted, Status
from league.games import draw, evidence
from league.games.moves import reported_choices
from league.machine import Letter
from league.manager.fairness.proofs import Proofs
from league.manager.manager_context import ManagerPart
from league.manager.season.standings import Decided
from league.manager.state.ledger import ScheduledMatch
from league.manager.state.roster import Member
from league.protocol import timestamps
from league.protocol.errors import PeerError
from league.protocol.message.envelope import Unsealed, seal
from league.protocol.message.messages import DrawRequest, DrawResponse
from league.protocol.signing import tokens

Object = dict[str, Any]


@dataclass(slots=True)
class SharedDraws(ManagerPart):
    """Promises shares, gives them away once, and decides matches that their referees leave."""

    proofs: Proofs

    def is_for(self, referee: Member) -> bool:
        """True if the draws of this referee are shared."""
        traits = referee.as_referee
        return traits.shares_every_draw or (traits.shares_draws and self.game.single_draw_last)

    def promise(self, referee: Member, match: ScheduledMatch, attempt: int) -> str:
        """Draw a share for an attempt and return its promise; empty if the referee draws alone."""
        if not self.is_for(referee):
            return ""
        share = self.context.chance(draw.SEED_BYTES)
        self.context.keep_secret(_secret(match.match_id, attempt), share.hex())
        return draw.commitment(share, self._ledger.settings.league_id, match.match_id, attempt)

    # --- DRAW_REQUEST -------------------------------------------------------------------------------------------------

    def answer_request(self, letter: Letter, read: Unsealed, referee: Member, now: float) -> None:
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
        if request.moves is not None:
            handed_in["moves"] = request.moves
        if not evidence.awaits_draw(self.game, match.players, handed_in):
            raise PeerError(
                "E039", "no draw comes after these choices, or they are not legal", {"match_id": match.match_id}
            )
        released = DrawReleased(
            at=now,
            match_id=match.match_id,
            attempt=match.attempt,
            referee_id=match.referee_id or "",
            handed_in=handed_in,
            draw_seed=request.draw_seed,
            draw_commitment=request.draw_commitment,
            draw_share=self.context.secrets[_secret(match.match_id, match.attempt)],
            signatures=request.signatures or {},
        )
        self.context.happened(released)
        return released

    def _contest(self, match: ScheduledMatch, referee: Member, now: float) -> None:
        """Show everybody that the referee said two different things."""
        detail = f"{referee.agent_id} handed in two different draws of {match.match_id}"
        self.proofs.doubt(match, detail, now)
        self.context.refused(
            "report",
            "referee",
            referee.agent_id,
            endpoint=referee.endpoint,
            error=PeerError("E040", detail),
            now=now,
            match=match,
        )

    # --- what follows -------------------------------------------------------------------------------------------------

    def contradicts(
        self, match: ScheduledMatch, released: DrawReleased, details: Object, referee: Member, now: float
    ) -> bool:
        """True if a report says something else than what was handed in. Then we must decide the match, if we can."""
        if not self.game.single_draw_last:
            self._compare(match, released, details, referee, now)
            return False
        decided = self._details(match, released)
        names = ("choices", "moves", "drawn_number", "draw_seed", "draw_commitment")
        if all(details.get(name) == decided.get(name) for name in names):
            return False
        self._contest(match, referee, now)
        return True

    def _compare(
        self,
        match: ScheduledMatch,
        released: DrawReleased,
        details: Object,
        referee: Member,
        now: float,
    ) -> None:
        """Note that a match in which choices followed did not begin, or was not drawn, as it was handed in."""
        rules = self.game.rules
        begun = reported_choices(rules, released.handed_in, match.players)
        # A list that has become long is written in another way.
        moves = (details.get("moves") or [])[: len(begun)]
        is_same_draw = all(
            details.get(name) == getattr(released, name) for name in ("draw_seed", "draw_commitment", "draw_share")
        )
        if not is_same_draw or reported_choices(rules, {"moves": moves}, match.players) != begun:
            self._contest(match, referee, now)

    def is_decided(self, match: ScheduledMatch) -> bool:
        """True if everything that decides the match was handed in."""
        return match.current.released is not None and self.game.single_draw_last

    def decide(self, match: ScheduledMatch, now: float) -> None:
        """Record the result of a match whose referee will not report it."""
        released = match.current.released
        assert released is not None
        details = self._details(match, released)
        verdict = self.game.wire.verdict(details, match.players)
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
            )
        )
        self.proofs.accepted(match, now)

    def _details(self, match: ScheduledMatch, released: DrawReleased) -> Object:
        """Return `result.details` as they follow from what was handed in."""
        seed = draw.mixed(bytes.fromhex(released.draw_seed), bytes.fromhex(released.draw_share))
        number = draw.number(seed, self._ledger.settings.league_id, match.match_id, match.attempt)
        details: Object = evidence.drawn(self.game, match.players, released.handed_in, number)
        verdict = self.game.wire.verdict(details, match.players)
        return {
            **details,
            "status": "DRAW" if verdict.winner is None else "WIN",
            "draw_seed": released.draw_seed,
            "draw_commitment": released.draw_commitment,
            "draw_share": released.draw_share,
            "share_commitment": match.current.share_commitment,
            "signatures": released.signatures,
        }


def _secret(match_id: str, attempt: int) -> str:
    return f"share/{match_id}/{attempt}"


def _is_same(released: DrawReleased, request: DrawRequest) -> bool:
    handed_in: Object = {"choices": request.choices}
    if request.moves is not None:
        handed_in["moves"] = request.moves
    return (
        released.handed_in == msgspec.to_builtins(handed_in)
        and released.draw_seed == request.draw_seed
        and released.draw_commitment == request.draw_commitment
    )
