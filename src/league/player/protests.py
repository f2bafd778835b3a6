"""What a player says when it knows better than its referee (spec section 8.19).

Theory of operation. The player compares what it is told with what it knows for certain: the choices it made, the
commitment it was invited with, and the rules of the game. There are four occasions:

- GAME_OVER: choice, seed, share, number and result must follow (`game_over`);
- GAME_ERROR about a choice that was one of the options (`choice_rejected`);
- a second call for a turn that was answered: the manager gets the receipt at once, because by its clock this is the
  only proof that we were in time (`asked_again`);
- the end of a round: our own row in the final table must follow from our matches (`round_ended`). If it does not, the
  manager is asked for our matches, and those that differ are protested against. So are matches of this round that were
  announced to us, and have a result, although nobody invited us.

A protest changes nothing for us, and the match goes on. What must never happen: more than one protest for an attempt,
besides the note that we were asked again; a protest to a manager that does not know what it is; a protest because of
something that we have forgotten.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from league.events import ChoiceGiven, InvitationAnswered, ProtestMade
from league.games import draw, registry
from league.games.contract import SEATS, Players, Verdict
from league.games.moves import reported_choices
from league.games.wire_fields import unpacked
from league.player.history import PastMatch
from league.player.league_queries import EndedRound, ManagerQueries, QueryAnswer
from league.player.memory import InvitedMatch
from league.player.player_context import PlayerContext
from league.protocol.parts import QueryParams, SignedChoice
from league.protocol.receipts import ASKED_AGAIN

MOST_RECEIPTS: Final = 40
"""Maximum number of receipts in one protest, the newest first: a protest has at most 4 kB."""
LONGEST_WHY: Final = 200

Object = Mapping[str, Any]


class Protests:
    """Compares, and protests."""

    def __init__(self, context: PlayerContext, queries: ManagerQueries) -> None:
        self._context = context
        self._memory = context.memory
        self._queries = queries
        self.on_stats: Callable[[QueryAnswer, float], None] = lambda *_: None
        """Called with the manager's account of our matches."""

    @property
    def _is_possible(self) -> bool:
        """Only managers that take receipts know protests."""
        return self._context.membership.agreement.signs_choices

    # --- occasions ----------------------------------------------------------------------------------------------------

    def game_over(self, match: InvitedMatch, result: Object, now: float) -> None:
        """Compare `game_result` with what we know of the match."""
        # A later attempt than the one that we were invited to is not ours to judge.
        if self._is_possible and match.invitation.signs and result.get("attempt") == match.stated_attempt:
            why = objection(match, result, self._context.membership.league_id)
            if why:
                self._protest(match, why, now)

    def choice_rejected(self, match: InvitedMatch, answer: ChoiceGiven, now: float) -> None:
        """The referee calls a choice wrong that was one of the options."""
        if self._is_possible and answer.receipt:
            why = f"we chose {answer.choice} in turn {answer.turn}, which is legal, and the referee calls it wrong"
            self._protest(match, why, now)

    def asked_again(self, match: InvitedMatch, answer: ChoiceGiven, now: float) -> None:
        """Show the manager our receipt for a turn that we have answered, once."""
        if not self._is_possible or not answer.receipt or answer.turn in match.shown:
            return
        match.shown.add(answer.turn)
        self._send(match, f"{ASKED_AGAIN} for turn {answer.turn}", now)

    def round_ended(self, ended: EndedRound, now: float) -> bool:
        """Compare our row in the final table of a round with the matches that we played. True if we ask about it."""
        table = ended.table
        if not self._is_possible or table is None or table.round_id != ended.round_id:
            return False
        player_id = self._context.membership.agent_id
        row = next((row for row in table.standings if row.player_id == player_id), None)
        if row is None:
            return False
        tally = self._memory.tally
        if row.points == tally.points and row.played == tally.played:
            return False
        uninvited = self._uninvited(ended, player_id)
        self._queries.ask_for_us("GET_PLAYER_STATS", QueryParams(), now, partial(self._compare, uninvited))
        return True

    def _uninvited(self, ended: EndedRound, player_id: str) -> frozenset[str]:
        """Return our matches of a round that were announced to this process, and that no referee invited us to."""
        announcement = ended.announcement
        if announcement is None or announcement.round_id != ended.round_id:
            return frozenset()
        return frozenset(
            match.match_id
            for match in announcement.matches
            if player_id in (match.player_A_id, match.player_B_id) and not self._memory.matches.of(match.match_id)
        )

    def _compare(self, uninvited: frozenset[str], answer: QueryAnswer, now: float) -> None:
        """Protest against the matches that the manager tells otherwise than we know them."""
        self.on_stats(answer, now)
        matches = (answer.response.data or {}).get("matches") if answer.response else None
        if not isinstance(matches, list):
            return
        for stored in matches:
            match_id = stored.get("match_id") if isinstance(stored, dict) else None
            if not isinstance(match_id, str) or stored.get("outcome") is None:
                continue
            invited = self._memory.matches.of(match_id)
            if not invited:
                if match_id in uninvited and stored["outcome"] != "WALKOVER":
                    self._protest_uninvited(match_id, stored["outcome"], now)
                continue
            match = max(invited, key=lambda match: match.attempt)
            result = self._memory.history.by_match.get(match.match_id)
            why = _difference(stored, match, result)
            if why and match.invitation.signs:
                self._protest(match, why, now)

    # --- protesting ---------------------------------------------------------------------------------------------------

    def _protest(self, match: InvitedMatch, why: str, now: float) -> None:
        """Protest, unless we have done so for this attempt."""
        if match.protested:
            return
        why = why[:LONGEST_WHY]
        self._context.happened(ProtestMade(at=now, **match.named, why=why))
        self._send(match, why, now)

    def _protest_uninvited(self, match_id: str, outcome: object, now: float) -> None:
        """Protest against a result without us. The manager knows which attempt it is of."""
        why = f"nobody invited us, and the table counts {outcome}"[:LONGEST_WHY]
        self._context.happened(ProtestMade(at=now, match_id=match_id, attempt=0, why=why))
        self._queries.ask_for_us("PROTEST", QueryParams(match_id=match_id, why=why), now)

    def _send(self, match: InvitedMatch, why: str, now: float) -> None:
        signed = [
            SignedChoice(turn=answer.turn, choice=answer.choice, receipt=answer.receipt)
            for answer in list(match.signed.values())[-MOST_RECEIPTS:]
        ]
        params = QueryParams(
            match_id=match.match_id,
            attempt=match.stated_attempt,
            why=why,
            receipts=signed or None,
            draw_commitment=match.invitation.draw_commitment or None,
        )
        self._queries.ask_for_us("PROTEST", params, now)


def _difference(stored: Object, match: InvitedMatch, result: PastMatch | None) -> str:
    """Say how the manager's result of a match differs from what we know; empty if it does not."""
    outcome = stored["outcome"]
    if outcome == "WALKOVER":
        return ""
    if result is not None and result.attempt == match.attempt and outcome != _outcome(result):
        return f"GAME_OVER said {_outcome(result)}, and the table counts {outcome}"
    chosen = [answer.choice for answer in match.signed.values()]
    if chosen and stored.get("choice") not in chosen:
        return f"we chose {chosen[-1]}, and the manager was told {stored.get('choice')}"
    if not chosen and match.is_open and outcome != "TECHNICAL_LOSS" and stored.get("choice") is not None:
        return f"nobody asked us for a choice, and the manager was told {stored['choice']}"
    return ""


def _outcome(result: PastMatch) -> str:
    """The outcome of a match in the words of GET_PLAYER_STATS."""
    if result.outcome == "LOSS" and result.status == "TECHNICAL_LOSS":
        return "TECHNICAL_LOSS"
    return result.outcome


def objection(match: InvitedMatch, result: Object, league_id: str) -> str:
    """Say what in a result cannot be true; empty if nothing is wrong with it."""
    game = registry.find(match.invitation.game_type)
    if game is None:
        # Without its rules we cannot tell.
        return ""
    players = (match.player_id, match.invitation.opponent_id)
    if match.invitation.role == "PLAYER_B":
        players = (match.invitation.opponent_id, match.player_id)
    verdict = game.wire.verdict(unpacked(result), players)
    return (
        _wrong_choice(match, result, reported_choices(game.rules, result, players))
        or _wrong_draw(match.invitation, result, league_id, verdict)
        or _wrong_winner(result, players, verdict)
    )


def _wrong_choice(match: InvitedMatch, result: Object, steps: Sequence[Mapping[str, object]]) -> str:
    choices = result.get("choices") or {}
    reported_last = choices.get(match.player_id)
    for turn, answer in match.signed.items():
        # A choice of a turn that a technical loss cut off is among the choices only.
        reported = reported_last
        if turn <= len(steps):
            reported = steps[turn - 1].get(match.player_id)
        if reported != answer.choice:
            return f"we chose {answer.choice} in turn {turn}, and GAME_OVER says {reported}"
    if not match.answers and reported_last is not None:
        return f"nobody asked us for a choice, and GAME_OVER says {reported_last}"
    return ""


def _wrong_draw(invitation: InvitationAnswered, result: Object, league_id: str, verdict: Verdict) -> str:
    """Say which number does not follow from the seed, if the seed opens the commitment of our invitation."""
    if not invitation.draw_commitment:
        return ""
    name = (league_id, invitation.match_id, invitation.stated_attempt)
    seed = draw.opened(
        str(result.get("draw_seed")),
        result.get("draw_share"),
        invitation.share_commitment,
        invitation.draw_commitment,
        *name,
    )
    if seed is None:
        # After a technical loss the manager's share may never have been drawn.
        is_technical = result.get("status") == "TECHNICAL_LOSS"
        if is_technical and invitation.share_commitment:
            return ""
        return "seed and share do not open the commitment of our invitation"
    numbers = [(step.number, draw.event(seed, *name, index, step.weights)) for index, step in enumerate(verdict.draws)]
    number = result.get("drawn_number")
    if isinstance(number, int):
        numbers.append((number, draw.number(seed, *name)))
    for reported, right in numbers:
        if reported != right:
            return f"the seed gives the number {right}, and GAME_OVER says {reported}"
    return ""


def _wrong_winner(result: Object, players: Players, verdict: Verdict) -> str:
    winner = result.get("winner_player_id")
    seat = next((seat for seat in SEATS if players[seat] == winner), None)
    if verdict.contradicts(seat):
        return f"the result does not follow: {verdict.note}"
    return ""
