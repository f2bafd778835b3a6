"""What referees tell a player about its matches: invitations, errors, results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec
from msgspec import structs

from league.events import ChoiceGiven, GameEnded, InvitationAnswered
from league.machine import Letter
from league.player.memory import InvitedMatch
from league.player.news import error_in
from league.player.player_context import NO_CONVERSATION, PlayerContext
from league.player.playing.choices import Choices
from league.player.playing.credentials import SenderIdentity, digest_of, sender_id
from league.player.playing.objections import objection
from league.protocol import timestamps
from league.protocol.errors import PeerError, Violation, read_foreign
from league.protocol.message.messages import (
    GameError,
    GameErrorAck,
    GameInvitation,
    GameJoinAck,
    GameOver,
    GameOverAck,
)
from league.protocol.versions import PROTOCOL, UNSAID

REFUSED_CHOICE: Final = frozenset({"E003", "E004", "E007", "E008", "E015", "E024", "E033", "E034", "E035", "E038"})
"""The codes by which a referee asks for a correction of a wrong answer (R-39 c)."""
FOREIGN_WRONG_MOVE: Final = "E002"
"""Third-party referees say this of a wrong move."""


class RefereeMessages:
    """Joins matches and learns how they end."""

    def __init__(
        self,
        context: PlayerContext,
        choices: Choices,
        announced_game: Callable[[str], str | None],
    ) -> None:
        self._context = context
        self._announced_game = announced_game
        self._memory = context.memory
        self._choices = choices

    # --- GAME_INVITATION ----------------------------------------------------------------------------------------------

    def invited(self, letter: Letter, invitation: GameInvitation, now: float) -> None:
        """Handle GAME_INVITATION: join, decline, or repeat our answer."""
        context = self._context
        match_id = invitation.match_id
        invitation = self._completed(invitation)
        earlier = self._memory.matches.by(match_id, sender_id(invitation.sender))
        attempt = invitation.attempt or (earlier.token_attempt if earlier else 1)
        sender = context.admit(letter, invitation, match_id, attempt, now)
        if invitation.league_id != context.membership.league_id:
            self._check_league(invitation, sender, now)
        if invitation.player_id != context.membership.agent_id:
            context.check_player(invitation, sender, now)
        if invitation.attempt is not None:
            self._check_commitment(invitation)
        answered = earlier if earlier is not None and self._is_answered(earlier, invitation, sender) else None
        match = answered or self._join(earlier, invitation, sender, now)
        token = context.credentials.for_referee(sender, match_id, match.token_attempt)
        answer = GameJoinAck(
            protocol=PROTOCOL,
            sender=f"player:{match.player_id}",
            timestamp=timestamps.write(now),
            conversation_id=invitation.conversation_id or NO_CONVERSATION,
            auth_token=token,
            match_id=match_id,
            player_id=match.player_id,
            arrival_timestamp=timestamps.write(match.invitation.at),
            accept=match.invitation.accepted,
        )
        if answered is None:
            context.answer(letter, match, answer, now)
        else:
            context.answer_again(letter, match, answer, now)

    def _completed(self, invitation: GameInvitation) -> GameInvitation:
        """Add what a third-party referee left out: our league, and the game that was announced or that we play."""
        membership = self._context.membership
        if invitation.league_id == UNSAID:
            invitation = structs.replace(invitation, league_id=membership.league_id or UNSAID)
        if invitation.game_type == UNSAID:
            game = self._announced_game(invitation.match_id) or membership.meta.game_types[0]
            invitation = structs.replace(invitation, game_type=game)
        return invitation

    def _check_league(self, invitation: GameInvitation, sender: SenderIdentity, now: float) -> None:
        try:
            self._context.check_league(invitation.league_id)
        except PeerError as error:
            if self._context.is_strict:
                raise
            # Third-party referees may call every league by one name.
            deviation = Violation("E028", "league_id", error.detail, "GAME_INVITATION.league_id")
            self._context.record(sender.id, deviation, now)

    def _check_commitment(self, invitation: GameInvitation) -> None:
        """Refuse another `draw_commitment` for an attempt that has one: an attempt has one draw."""
        for match in self._memory.matches.of(invitation.match_id):
            promised = match.invitation.draw_commitment
            is_same_attempt = match.trusted and match.stated_attempt == invitation.attempt
            if is_same_attempt and promised and promised != invitation.draw_commitment:
                detail = f"attempt {invitation.attempt} of {invitation.match_id} has another draw_commitment"
                raise PeerError("E023", detail)

    def _is_answered(
        self,
        match: InvitedMatch,
        invitation: GameInvitation,
        sender: SenderIdentity,
    ) -> bool:
        """Return True if this is the invitation to `match`, which we answered already."""
        if sender.trusted and not match.trusted:
            return False
        if invitation.attempt is not None:
            return invitation.attempt == match.stated_attempt
        if not match.over and not match.superseded:
            return True
        return invitation.conversation_id == match.invitation.conversation_id

    def _join(
        self,
        earlier: InvitedMatch | None,
        invitation: GameInvitation,
        sender: SenderIdentity,
        now: float,
    ) -> InvitedMatch:
        """Join the match, or decline a game we do not play."""
        attempt = self._new_attempt(earlier, invitation, sender)
        if self._memory.is_over and not (sender.is_proven and (invitation.attempt or 1) > 1):
            # Only a referee that proved who it is may play a match again after the end.
            raise PeerError("E031", "the league is over")
        if earlier is not None:
            self._choices.drop(
                earlier,
                "E016",
                f"a later attempt of {invitation.match_id} has begun",
            )
        membership = self._context.membership
        accepted = membership.plays(invitation.game_type)
        answer = InvitationAnswered(
            at=now,
            match_id=invitation.match_id,
            attempt=attempt,
            stated_attempt=invitation.attempt or 0,
            league_id=invitation.league_id or "",
            game_type=invitation.game_type,
            player_id=invitation.player_id or membership.agent_id or membership.meta.display_name,
            opponent_id=invitation.opponent_id,
            role=invitation.role_in_match,
            accepted=accepted,
            round_id=invitation.round_id,
            referee_id=sender.id,
            conversation_id=invitation.conversation_id or NO_CONVERSATION,
            trusted=sender.trusted,
            token_digest=digest_of(invitation.auth_token),
            referee_endpoint=self._context.credentials.announced_endpoint(invitation.match_id),
            draw_commitment=invitation.draw_commitment or "",
            share_commitment=invitation.share_commitment or "",
            signs=sender.is_derived and invitation.attempt is not None,
        )
        self._context.happened(answer)
        match = self._memory.matches.by(invitation.match_id, sender.id)
        assert match is not None
        return match

    def _new_attempt(
        self,
        earlier: InvitedMatch | None,
        invitation: GameInvitation,
        sender: SenderIdentity,
    ) -> int:
        """Return the number of the attempt this invitation begins; raise PeerError if a later one has begun."""
        stated = invitation.attempt or 0
        if earlier is not None and earlier.trusted and 0 < stated < earlier.stated_attempt:
            raise PeerError("E016", f"a later attempt of {invitation.match_id} has begun")
        if stated and self._context.membership.agreement.derived_tokens:
            return stated
        newest = self._memory.matches.newest_attempt(invitation.match_id, sender.trusted)
        # Third-party managers give a match to another referee without counting.
        return max(stated, newest + 1)

    # --- GAME_ERROR ---------------------------------------------------------------------------------------------------

    def erred(self, letter: Letter, error: GameError, now: float) -> None:
        """Handle GAME_ERROR: forget the choice it rejects, and tell the player's own code."""
        match_id = error.match_id or "-"
        match = self._memory.matches.by(match_id, sender_id(error.sender))
        attempt = match.token_attempt if match else 1
        sender = self._context.authenticate(error, match_id, attempt, now)
        if match is not None and self._context.is_referee(letter, error, sender, match_id):
            turn = match.last_turn
            answer = match.answers[turn] if turn is not None else None
            if answer is not None and _is_about(error, match, answer.choice):
                self._reject(match, answer, _code_of(error), now)
        self._context.tell(error_in(error, sender.trusted))
        fields = self._context.acknowledgement(error, sender, now, match)
        self._context.reply(letter, GameErrorAck(**fields, match_id=error.match_id))

    def _reject(self, match: InvitedMatch, answer: ChoiceGiven, code: str, now: float) -> None:
        """Forget a wrong choice. One that was among the options is final, whatever the referee says about it."""
        if not answer.final:
            self._choices.refused(match, answer.turn, code, now)

    # --- GAME_OVER ----------------------------------------------------------------------------------------------------

    def ended(self, letter: Letter, over: GameOver, now: float) -> None:
        """Handle GAME_OVER: end the match if this is news, and acknowledge it in any case."""
        match_id = over.match_id
        stated = over.game_result.attempt or 0
        invited = self._memory.matches.by(match_id, sender_id(over.sender))
        token_attempt = stated or (invited.token_attempt if invited else 1)
        sender = self._context.authenticate(over, match_id, token_attempt, now)
        if invited is not None:
            match = invited
            attempt = match.attempt_of(stated)
        else:
            match = self._match_of_another(over, stated, sender)
            attempt = stated
        is_referee = sender.is_proven or self._context.is_referee(letter, over, sender, match_id)
        if is_referee and self._is_news(attempt, match_id, invited, sender):
            self._end(over, attempt, match, sender, now)
        self._context.reply(
            letter,
            GameOverAck(
                protocol=PROTOCOL,
                sender=f"player:{match.player_id}",
                timestamp=timestamps.write(now),
                conversation_id=over.conversation_id or NO_CONVERSATION,
                auth_token=self._context.token_for(sender, match),
                status="ACKNOWLEDGED",
                player_id=match.player_id or None,
                match_id=match_id,
            ),
        )

    def _match_of_another(self, over: GameOver, attempt: int, sender: SenderIdentity) -> InvitedMatch:
        """Return the match as another referee invited us to it: the sender may have played a later attempt."""
        matches = self._memory.matches
        self._context.check_invited(over.match_id)
        if attempt <= matches.newest_attempt(over.match_id, sender.trusted):
            raise PeerError("E016", f"another referee invited us to {over.match_id}")
        return matches.of(over.match_id)[-1]

    def _is_news(
        self,
        attempt: int,
        match_id: str,
        invited: InvitedMatch | None,
        sender: SenderIdentity,
    ) -> bool:
        """Return True if nobody has ended this attempt or a later one, and the sender may."""
        matches = self._memory.matches
        if invited is not None:
            if attempt < invited.attempt:
                return False
            if invited.superseded and attempt <= matches.newest_attempt(match_id, sender.trusted):
                return False
        # A referee that proved itself with its invitation proves itself with its result too.
        if not sender.trusted and any(match.trusted for match in matches.of(match_id)):
            return False
        row = self._memory.history.by_match.get(match_id)
        return row is None or attempt > row.attempt

    def _end(
        self,
        over: GameOver,
        attempt: int,
        match: InvitedMatch,
        sender: SenderIdentity,
        now: float,
    ) -> None:
        if match.referee_id == sender.id:
            self._choices.drop(match, "E023", f"{over.match_id} is over")
        result = msgspec.to_builtins(over.game_result)
        why = ""
        # A later attempt than the one that we were invited to is not ours to judge.
        if match.invitation.signs and match.referee_id == sender.id and result.get("attempt") == match.stated_attempt:
            why = objection(match, result, self._context.membership.league_id)
        if over.reason is not None:
            result.setdefault("reason", over.reason)
        # After a restart in the middle of a match no invitation says who the opponent is.
        others = (player_id for player_id in over.game_result.choices if player_id != match.player_id)
        self._context.happened(
            GameEnded(
                at=now,
                match_id=over.match_id,
                attempt=attempt,
                game_type=over.game_type,
                opponent_id=match.invitation.opponent_id or next(others, ""),
                status=over.game_result.status,
                winner=result.get("winner_player_id"),
                game_result=result,
                referee_id=sender.id,
                trusted=sender.trusted,
                objection=why,
            )
        )
        self._context.tell(self._memory.history.by_match[over.match_id])


def _code_of(error: GameError) -> str:
    """Return the catalogue code of a referee's error, by name first (section 13.8)."""
    name = error.error_name or error.error_description
    code = read_foreign(error.error_code, name, None)
    if code == "E099":
        # The supposed name is a sentence, or a name nobody knows.
        code = read_foreign(error.error_code, None, None)
    if code == "E099" and error.error_code == FOREIGN_WRONG_MOVE:
        return "E024"
    return code


def _is_about(error: GameError, match: InvitedMatch, choice: str) -> bool:
    """Return True if the error rejects this choice, and not an earlier one of ours."""
    affected = error.affected_player or error.player_id or match.player_id
    rejected = (error.context or {}).get("invalid_choice", choice)
    return _code_of(error) in REFUSED_CHOICE and affected == match.player_id and rejected == choice
