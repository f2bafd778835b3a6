"""A player's part in matches: joining, choosing, learning results. It never calls a strategy: it asks, and answers
the referee when the answer comes. The same call again gets the same answer, unless the referee called it wrong.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import msgspec

from league.events import (
    ChoiceFailed,
    ChoiceGiven,
    ChoiceRefused,
    GameEnded,
    InvitationAnswered,
)
from league.machine import Chance, Letter, Step
from league.player.credentials import Speaker, name_of
from league.player.matches import OwnMatch
from league.player.membership import Member
from league.player.questions import WAITING, Call, Question, Questions, Waiting, answer, options_of, turn_of
from league.protocol import timestamps
from league.protocol.envelope import Profile, seal
from league.protocol.errors import PeerError, Violation, read_foreign
from league.protocol.messages import (
    ChooseParityCall,
    GameError,
    GameErrorAck,
    GameInvitation,
    GameJoinAck,
    GameOver,
    GameOverAck,
)
from league.protocol.parts import PlayerMeta

REFUSED_CHOICE: Final = frozenset({"E003", "E004", "E007", "E008", "E015", "E024", "E033", "E034", "E035", "E038"})
"""What a referee says of a wrong answer that may be corrected (R-39 c)."""
FOREIGN_WRONG_MOVE: Final = "E002"
LONGEST_FAILURE: Final = 10_000


@dataclass(frozen=True, slots=True)
class StrategyFailed:
    """What `answered` is given instead of a choice when the strategy raised; `detail` is for its author only."""

    detail: str


class Playing(Member):
    """All of a player that concerns matches."""

    def __init__(
        self,
        meta: PlayerMeta,
        manager_endpoint: str,
        chance: Chance,
        secrets: Mapping[str, str] | None,
        profile: Profile,
        wished_id: str = "",
    ) -> None:
        super().__init__(meta, manager_endpoint, chance, secrets, profile, wished_id)
        self._questions = Questions()

    # --- invitations --------------------------------------------------------------------------------------------------

    def _invited(self, letter: Letter, invitation: GameInvitation, now: float) -> None:
        match_id = invitation.match_id
        known = self._memory.matches.by(match_id, name_of(invitation.sender))
        speaker = self._recognise(invitation, now, match_id, invitation.attempt or (known.numbered if known else 1))
        self._check_invitations_league(invitation, speaker, now)
        self._check_player(invitation.player_id)
        match = self._same_again(known, invitation, speaker)
        if match is None:
            attempt = self._new_attempt(known, invitation, speaker, now)
            if self._memory.state == "SHUTDOWN":
                raise PeerError("E031", "the league is over")
            if known is not None:
                self._drop(known, PeerError("E016", f"a later attempt of {match_id} has begun"))
            match = self._join(invitation, attempt, speaker, now)
        token = self._credentials.for_referee(speaker, match_id, match.numbered)
        self._reply(
            letter,
            GameJoinAck(
                **seal(f"player:{match.player_id}", now, invitation.conversation_id, token),
                match_id=match_id,
                player_id=match.player_id,
                arrival_timestamp=timestamps.write(match.arrived),
                accept=match.accepted,
            ),
        )

    def _same_again(self, known: OwnMatch | None, invitation: GameInvitation, speaker: Speaker) -> OwnMatch | None:
        """The match, if this is the invitation we answered already."""
        if known is None or (speaker.trusted and not known.trusted):
            return None
        if invitation.attempt is not None:
            return known if invitation.attempt == known.said else None
        done = known.over or known.superseded
        return None if done and invitation.conversation_id != known.conversation_id else known

    def _check_invitations_league(self, invitation: GameInvitation, speaker: Speaker, now: float) -> None:
        """Referees by others may call every league by one name."""
        try:
            self._check_league(invitation.league_id)
        except PeerError as error:
            if self._profile == "strict":
                raise
            self._record(speaker.id, Violation("E028", "league_id", error.detail, "GAME_INVITATION.league_id"), now)

    @abstractmethod
    def _take_up_token(self, now: float) -> None:
        """Show the manager which of our tokens we go by."""

    def _new_attempt(self, known: OwnMatch | None, invitation: GameInvitation, speaker: Speaker, now: float) -> int:
        """The number of the attempt this invitation begins; an error if this referee has begun a later one."""
        if known is not None and known.trusted and not speaker.trusted:
            self._take_up_token(now)
            raise PeerError("E012", "this referee has shown another token", requirement="ENVELOPE.auth_token")
        said = invitation.attempt or 0
        if known is not None and known.trusted and 0 < said < known.said:
            raise PeerError("E016", f"a later attempt of {invitation.match_id} has begun")
        newest = self._newest(invitation.match_id, speaker)
        if said > newest or (said and self._enrolment.derived_tokens):
            return said
        # Managers of others give a match to another referee without counting.
        return newest + 1

    def _newest(self, match_id: str, speaker: Speaker) -> int:
        """The highest attempt of a match, as far as it counts against this speaker; 0 without any."""
        invited = self._memory.matches.of(match_id)
        return max((one.attempt for one in invited if one.trusted or not speaker.trusted), default=0)

    def _join(self, invitation: GameInvitation, attempt: int, speaker: Speaker, now: float) -> OwnMatch:
        self._happened(
            InvitationAnswered(
                at=now,
                match_id=invitation.match_id,
                attempt=attempt,
                said=invitation.attempt or 0,
                game_type=invitation.game_type,
                player_id=self._enrolment.agent_id or invitation.player_id or self._enrolment.meta.display_name,
                opponent_id=invitation.opponent_id,
                role=invitation.role_in_match,
                accepted=invitation.game_type in self._enrolment.meta.game_types,
                round_id=invitation.round_id,
                referee_id=speaker.id,
                conversation_id=invitation.conversation_id,
                trusted=speaker.trusted,
            )
        )
        joined = self._memory.matches.by(invitation.match_id, speaker.id)
        assert joined is not None
        return joined

    # --- choices ------------------------------------------------------------------------------------------------------

    def _called(self, letter: Letter, call: Call, now: float) -> None:
        known = self._memory.matches.by(call.match_id, name_of(call.sender))
        speaker = self._recognise(call, now, call.match_id, known.numbered if known else 1)
        self._check_player(call.player_id)
        match = self._open_match(call, known)
        turn = turn_of(call)
        given = match.answers.get(turn)
        options = options_of(call)
        if given is not None and options and given not in options:
            # Its GAME_ERROR is on the way beside the call: repeating what cannot be right would waste a correction.
            self._refuse(match, turn, "E004" if isinstance(call, ChooseParityCall) else "E024", now)
            given = None
        waiting = Waiting(letter, call, self._credentials.for_referee(speaker, match.match_id, match.numbered))
        if given is None:
            self._ask(match, turn, waiting, now)
        else:
            self._answer(waiting, match, given, now)

    def _open_match(self, call: Call, match: OwnMatch | None) -> OwnMatch:
        """The match this call is about, if it may ask us now."""
        if match is None:
            self._check_invited(call.match_id)
            raise PeerError("E016", f"another referee invited us to {call.match_id}")
        if self._memory.state == "SHUTDOWN":
            raise PeerError("E031", "the league is over")
        if not match.is_open:
            raise PeerError("E023", f"{call.match_id} is over" if match.over else "we did not join this match")
        return match

    def _ask(self, match: OwnMatch, turn: int, waiting: Waiting, now: float) -> None:
        question = self._questions.about(match)
        if question is not None and question.turn != turn:
            self._drop(match, PeerError("E023", "the game has gone on"))
            question = None
        if self._questions.are_too_many or (question is not None and len(question.waiting) >= WAITING):
            raise PeerError("E042", "too many calls wait for an answer")
        if question is None:
            question, ask = self._questions.ask(match, turn, waiting.call, now)
            self._step.asks.append(ask)
        question.waiting.append(waiting)

    def answered(self, key: str, value: object, now: float) -> Step:
        """The strategy chose, or failed to; whoever asked learns it. Nobody waits any more: nothing happens."""
        self._begin()
        question = self._questions.close(key)
        if question is not None:
            failure = _failure(value)
            if failure is None and isinstance(value, str):
                self._choose(question, str.__str__(value), now)
            else:
                self._fail(question, failure or "", now)
        return self._finish()

    def _choose(self, question: Question, choice: str, now: float) -> None:
        match = question.match
        self._happened(
            ChoiceGiven(
                at=now,
                match_id=match.match_id,
                attempt=match.attempt,
                referee_id=match.referee_id,
                turn=question.turn,
                choice=choice,
            )
        )
        for waiting in question.waiting:
            self._answer(waiting, match, choice, now)

    def _fail(self, question: Question, failure: str, now: float) -> None:
        match = question.match
        self._happened(
            ChoiceFailed(
                at=now,
                match_id=match.match_id,
                attempt=match.attempt,
                turn=question.turn,
                detail=failure[:LONGEST_FAILURE],
            )
        )
        error = PeerError("E099", "no choice could be made", {"incident": question.key})
        for waiting in question.waiting:
            self._reply(waiting.letter, error, waiting.call.type)

    def _answer(self, waiting: Waiting, match: OwnMatch, choice: str, now: float) -> None:
        call = waiting.call
        envelope = seal(f"player:{call.player_id}", now, call.conversation_id, waiting.token)
        # Only ours number their attempts.
        by_others = self._profile == "compat" and not match.said
        self._reply(waiting.letter, answer(call, choice, envelope, twice=by_others))

    def _drop(self, match: OwnMatch, error: PeerError) -> None:
        """The question open in this match, if any, needs no answer any more; the letters that ask it do."""
        question = self._questions.about(match)
        if question is not None:
            self._questions.close(question.key)
            self._step.cancel.append(question.key)
            for waiting in question.waiting:
                self._reply(waiting.letter, error, waiting.call.type)

    # --- what the referee tells ---------------------------------------------------------------------------------------

    def _game_error(self, letter: Letter, error: GameError, now: float) -> None:
        match_id = error.match_id or "-"
        match = self._memory.matches.by(match_id, name_of(error.sender))
        speaker = self._recognise(error, now, match_id, match.numbered if match else 1)
        if match is not None and (speaker.trusted or not match.trusted):
            turn = match.last_turn
            if turn is not None and _is_about(error, match, match.answers[turn]):
                self._refuse(match, turn, _code_of(error), now)
        fields = self._acknowledging(error, speaker, now, match)
        self._reply(letter, GameErrorAck(**fields, match_id=error.match_id))

    def _refuse(self, match: OwnMatch, turn: int, code: str, now: float) -> None:
        self._happened(
            ChoiceRefused(
                at=now,
                match_id=match.match_id,
                attempt=match.attempt,
                referee_id=match.referee_id,
                turn=turn,
                code=code,
            )
        )

    def _game_over(self, letter: Letter, over: GameOver, now: float) -> None:
        said = over.game_result.attempt or 0
        known = self._memory.matches.by(over.match_id, name_of(over.sender))
        speaker = self._recognise(over, now, over.match_id, said or (known.numbered if known else 1))
        self._check_invited(over.match_id)
        attempt = known.attempt_of(said) if known else said
        if known is None and attempt <= self._newest(over.match_id, speaker):
            raise PeerError("E016", f"another referee invited us to {over.match_id}")
        match = known or self._memory.matches.of(over.match_id)[-1]
        if self._is_news(attempt, match, known, speaker):
            self._end(over, attempt, match, speaker, now)
        self._reply(letter, GameOverAck(**self._acknowledging(over, speaker, now, match), match_id=over.match_id))

    def _is_news(self, attempt: int, match: OwnMatch, known: OwnMatch | None, speaker: Speaker) -> bool:
        """Is it of this attempt or a higher one, for the first time, and from somebody who may say so?"""
        row = self._memory.history.of(match.match_id)
        newest = self._newest(match.match_id, speaker)
        late = known is not None and (attempt < known.attempt or (known.superseded and attempt <= newest))
        # A referee that proved itself with its invitation proves itself with its result too.
        proven = speaker.trusted or not any(one.trusted for one in self._memory.matches.of(match.match_id))
        return proven and not late and (row is None or attempt > row.attempt)

    def _end(self, over: GameOver, attempt: int, match: OwnMatch, speaker: Speaker, now: float) -> None:
        if match.referee_id == speaker.id:
            self._drop(match, PeerError("E023", f"{over.match_id} is over"))
        result = msgspec.to_builtins(over.game_result)
        if over.reason is not None:
            result.setdefault("reason", over.reason)
        self._happened(
            GameEnded(
                at=now,
                match_id=over.match_id,
                attempt=attempt,
                game_type=over.game_type,
                opponent_id=match.opponent_id,
                status=over.game_result.status,
                winner=result.get("winner_player_id"),
                game_result=result,
                referee_id=speaker.id,
                trusted=speaker.trusted,
            )
        )


def _failure(value: object) -> str | None:
    """Why this is no choice that can be sent, if it is none."""
    if isinstance(value, StrategyFailed):
        return value.detail
    if not isinstance(value, str):
        return f"a choice is a text, not {type(value).__name__}"
    try:
        str.encode(value)
    except UnicodeEncodeError as error:
        return f"this choice cannot be written: {error}"
    return None


def _code_of(error: GameError) -> str:
    """The catalogue code of a referee's error, by name first (section 10.4)."""
    name = error.error_name or error.error_description
    code = read_foreign(error.error_code, name, None)
    if code == "E099":
        # What looked like a name was a sentence, or a name nobody knows.
        code = read_foreign(error.error_code, None, None)
    return "E024" if code == "E099" and error.error_code == FOREIGN_WRONG_MOVE else code


def _is_about(error: GameError, match: OwnMatch, choice: str) -> bool:
    """Does it call this choice of ours wrong? One that names another choice is about an earlier answer."""
    affected = error.affected_player or error.player_id or match.player_id
    invalid = (error.context or {}).get("invalid_choice", choice)
    return _code_of(error) in REFUSED_CHOICE and affected == match.player_id and invalid == choice
