"""What referees tell a player about its matches: invitations, errors, results."""

from __future__ import annotations

from typing import Final

import msgspec

from league.events import GameEnded, InvitationAnswered
from league.machine import Letter
from league.player.choices import Choices
from league.player.context import NO_CONVERSATION, PlayerContext
from league.player.credentials import SenderIdentity, digest_of, sender_id
from league.player.memory import InvitedMatch
from league.player.news import error_in
from league.protocol import timestamps
from league.protocol.errors import PeerError, Violation, read_foreign
from league.protocol.messages import GameError, GameErrorAck, GameInvitation, GameJoinAck, GameOver, GameOverAck
from league.protocol.versions import PROTOCOL

REFUSED_CHOICE: Final = frozenset({"E003", "E004", "E007", "E008", "E015", "E024", "E033", "E034", "E035", "E038"})
"""What a referee says of a wrong answer that may be corrected (R-39 c)."""
FOREIGN_WRONG_MOVE: Final = "E002"


class RefereeMessages:
    """Joins matches and learns how they end."""

    def __init__(self, context: PlayerContext, choices: Choices) -> None:
        self._context = context
        self._memory = context.memory
        self._choices = choices

    # --- GAME_INVITATION ----------------------------------------------------------------------------------------------

    def invited(self, letter: Letter, invitation: GameInvitation, now: float) -> None:
        context, match_id = self._context, invitation.match_id
        known = self._memory.matches.by(match_id, sender_id(invitation.sender))
        attempt = invitation.attempt or (known.token_attempt if known else 1)
        sender = context.admit(letter, invitation, match_id, attempt, now)
        if invitation.league_id != context.membership.league_id:
            self._check_league(invitation, sender, now)
        if invitation.player_id != context.membership.agent_id:
            context.check_player(invitation.player_id)
        before = None if known is None else self._answered_before(known, invitation, sender)
        match = before or self._join(known, invitation, sender, now)
        token = context.credentials.for_referee(sender, match_id, match.token_attempt)
        context.reply(
            letter,
            GameJoinAck(
                protocol=PROTOCOL,
                sender=f"player:{match.player_id}",
                timestamp=timestamps.write(now),
                conversation_id=invitation.conversation_id or NO_CONVERSATION,
                auth_token=token,
                match_id=match_id,
                player_id=match.player_id,
                arrival_timestamp=timestamps.write(match.invitation.at),
                accept=match.invitation.accepted,
            ),
        )

    def _check_league(self, invitation: GameInvitation, sender: SenderIdentity, now: float) -> None:
        """Referees by others may call every league by one name."""
        try:
            self._context.check_league(invitation.league_id)
        except PeerError as error:
            if self._context.is_strict:
                raise
            deviation = Violation("E028", "league_id", error.detail, "GAME_INVITATION.league_id")
            self._context.record(sender.id, deviation, now)

    def _answered_before(
        self, known: InvitedMatch, invitation: GameInvitation, sender: SenderIdentity
    ) -> InvitedMatch | None:
        """The match, if this is the invitation we answered already."""
        if sender.trusted and not known.trusted:
            return None
        if invitation.attempt is not None:
            return known if invitation.attempt == known.stated_attempt else None
        done = known.over or known.superseded
        return None if done and invitation.conversation_id != known.invitation.conversation_id else known

    def _join(
        self, known: InvitedMatch | None, invitation: GameInvitation, sender: SenderIdentity, now: float
    ) -> InvitedMatch:
        """Join, or decline a game we do not play."""
        attempt = self._new_attempt(known, invitation, sender)
        if self._memory.is_over and not (sender.is_proven and (invitation.attempt or 1) > 1):
            # Only a referee that proved who it is may play a match again after the end.
            raise PeerError("E031", "the league is over")
        if known is not None:
            self._choices.drop(known, "E016", f"a later attempt of {invitation.match_id} has begun")
        us = self._context.membership
        self._context.happened(
            InvitationAnswered(
                at=now,
                match_id=invitation.match_id,
                attempt=attempt,
                stated_attempt=invitation.attempt or 0,
                game_type=invitation.game_type,
                player_id=us.agent_id or invitation.player_id or us.meta.display_name,
                opponent_id=invitation.opponent_id,
                role=invitation.role_in_match,
                accepted=invitation.game_type in us.meta.game_types,
                round_id=invitation.round_id,
                referee_id=sender.id,
                conversation_id=invitation.conversation_id or NO_CONVERSATION,
                trusted=sender.trusted,
                token_digest=digest_of(invitation.auth_token),
                referee_endpoint=self._context.credentials.announced_endpoint(invitation.match_id),
            )
        )
        joined = self._memory.matches.by(invitation.match_id, sender.id)
        assert joined is not None
        return joined

    def _new_attempt(self, known: InvitedMatch | None, invitation: GameInvitation, sender: SenderIdentity) -> int:
        """The number of the attempt this invitation begins; an error if this referee has begun a later one."""
        stated = invitation.attempt or 0
        if known is not None and known.trusted and 0 < stated < known.stated_attempt:
            raise PeerError("E016", f"a later attempt of {invitation.match_id} has begun")
        if stated and self._context.membership.derived_tokens:
            return stated
        newest = self._memory.matches.newest_attempt(invitation.match_id, sender.trusted)
        # Managers of others give a match to another referee without counting.
        return stated if stated > newest else newest + 1

    # --- GAME_ERROR ---------------------------------------------------------------------------------------------------

    def erred(self, letter: Letter, error: GameError, now: float) -> None:
        match_id = error.match_id or "-"
        match = self._memory.matches.by(match_id, sender_id(error.sender))
        sender = self._context.authenticate(error, match_id, match.token_attempt if match else 1, now)
        if match is not None and self._context.is_referee(letter, error, sender, match_id):
            turn = match.last_turn
            if turn is not None and _is_about(error, match, match.answers[turn].choice):
                self._choices.refused(match, turn, _code_of(error), now)
        self._context.tell(error_in(error, sender.trusted))
        fields = self._context.acknowledgement(error, sender, now, match)
        self._context.reply(letter, GameErrorAck(**fields, match_id=error.match_id))

    # --- GAME_OVER ----------------------------------------------------------------------------------------------------

    def ended(self, letter: Letter, over: GameOver, now: float) -> None:
        stated = over.game_result.attempt or 0
        known = self._memory.matches.by(over.match_id, sender_id(over.sender))
        token_attempt = stated or (known.token_attempt if known else 1)
        sender = self._context.authenticate(over, over.match_id, token_attempt, now)
        match = known or self._taken_over(over, stated, sender)
        attempt = match.attempt_of(stated) if known else stated
        is_referee = sender.is_proven or self._context.is_referee(letter, over, sender, over.match_id)
        if is_referee and self._is_news(attempt, match, known, sender):
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
                match_id=over.match_id,
            ),
        )

    def _taken_over(self, over: GameOver, attempt: int, sender: SenderIdentity) -> InvitedMatch:
        """The match, as another referee invited us to it: this one may have played a later attempt."""
        self._context.check_invited(over.match_id)
        if attempt <= self._memory.matches.newest_attempt(over.match_id, sender.trusted):
            raise PeerError("E016", f"another referee invited us to {over.match_id}")
        return self._memory.matches.of(over.match_id)[-1]

    def _is_news(self, attempt: int, match: InvitedMatch, known: InvitedMatch | None, sender: SenderIdentity) -> bool:
        """Is it of this attempt or a higher one, for the first time, and from somebody who may say so?"""
        matches, row = self._memory.matches, self._memory.history.by_match.get(match.match_id)
        if known is not None and attempt < known.attempt:
            return False
        if known is not None and known.superseded and attempt <= matches.newest_attempt(match.match_id, sender.trusted):
            return False
        # A referee that proved itself with its invitation proves itself with its result too.
        proven = sender.trusted or not any(one.trusted for one in matches.of(match.match_id))
        return proven and (row is None or attempt > row.attempt)

    def _end(self, over: GameOver, attempt: int, match: InvitedMatch, sender: SenderIdentity, now: float) -> None:
        if match.referee_id == sender.id:
            self._choices.drop(match, "E023", f"{over.match_id} is over")
        result = msgspec.to_builtins(over.game_result)
        if over.reason is not None:
            result.setdefault("reason", over.reason)
        self._context.happened(
            GameEnded(
                at=now,
                match_id=over.match_id,
                attempt=attempt,
                game_type=over.game_type,
                opponent_id=match.invitation.opponent_id,
                status=over.game_result.status,
                winner=result.get("winner_player_id"),
                game_result=result,
                referee_id=sender.id,
                trusted=sender.trusted,
            )
        )
        self._context.tell(self._memory.history.by_match[over.match_id])


def _code_of(error: GameError) -> str:
    """The catalogue code of a referee's error, by name first (section 10.4)."""
    name = error.error_name or error.error_description
    code = read_foreign(error.error_code, name, None)
    if code == "E099":
        # What looked like a name was a sentence, or a name nobody knows.
        code = read_foreign(error.error_code, None, None)
    return "E024" if code == "E099" and error.error_code == FOREIGN_WRONG_MOVE else code


def _is_about(error: GameError, match: InvitedMatch, choice: str) -> bool:
    """Does it call this choice of ours wrong? One that names another choice is about an earlier answer."""
    affected = error.affected_player or error.player_id or match.player_id
    invalid = (error.context or {}).get("invalid_choice", choice)
    return _code_of(error) in REFUSED_CHOICE and affected == match.player_id and invalid == choice
