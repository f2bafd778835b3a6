"""Calls for a choice, from the referee's call to the answer.

Theory of operation. A turn of a match is in one of three states:

- *open*: nobody has asked for it, or the referee rejected our choice. Nothing is stored.
- *pending*: the strategy is thinking. A `PendingChoice` holds all calls that wait for it. It is not in the journal:
  after a crash the turn is open, and the strategy is asked once more when the referee repeats its call.
- *answered*: `ChoiceGiven` is in the journal, and player/memory.py has the choice.

`called` moves a turn from open to pending, `answered` from pending to answered (or back to open, if the strategy
failed), and `refused` from answered to open, but only if the choice was not one of the options. A choice that was is
*final*: it is signed once (signing.py), and every later call for the turn gets the same choice with the same signature.
`drop` gives up a pending choice that nobody needs any more.

What must never happen: two different legal answers to one turn, or two signatures; a call that gets no reply at all; a
choice for somebody who is not the referee of the match.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from typing import Any, Final

import msgspec
from msgspec import Struct, structs

from league.events import (
    ChoiceFailed,
    ChoiceGiven,
    ChoiceRefused,
    ConversationKept,
    InvitationAnswered,
)
from league.machine import Ask, Letter
from league.player.memory import InvitedMatch
from league.player.player_context import NO_CONVERSATION, PlayerContext
from league.player.playing.credentials import SenderIdentity, digest_of, sender_id
from league.player.playing.signing import signed_choice
from league.player.strategies import CHANCE_BYTES, Considered, NoChoice, TalkLine, Turn
from league.protocol import timestamps
from league.protocol.errors import NO_CHOICE, NO_CHOICE_BECAUSE, PeerError
from league.protocol.message.envelope import seal
from league.protocol.message.exchanges import EXCHANGES
from league.protocol.message.experiment import written
from league.protocol.message.fields import ParityChoice
from league.protocol.message.messages import (
    ChooseParityCall,
    ChooseParityResponse,
    GameMoveCall,
    GameMoveResponse,
    Message,
)
from league.protocol.message.parts import MoveData, MoveRequest
from league.protocol.safe_text import printable, without_tokens
from league.protocol.versions import PROTOCOL, UNSAID

ChoiceCall = ChooseParityCall | GameMoveCall

PARITIES: Final = ("even", "odd")
RECORD: Final = ("wins", "losses", "draws", "points")
WAITING: Final = 32
"""Maximum number of calls that wait for one choice; a referee repeats a call seven times at the very most."""
PENDING: Final = 1_000
"""Maximum number of pending choices."""
LONGEST_S: Final = 3_600.0
LONGEST_FAILURE: Final = 10_000
LONGEST_CAUSE: Final = 160
LONGEST_TALK: Final = 500


# --- reading a call ---------------------------------------------------------------------------------------------------


def turn_of(call: ChoiceCall) -> int:
    """Return the number of the choice that is asked for: the same number, the same choice."""
    if isinstance(call, ChooseParityCall):
        return call.turn or 1
    if call.turn is not None:
        return call.turn
    turn = call.move_request.context.get("turn")
    if isinstance(turn, int) and not isinstance(turn, bool):
        return turn
    # A referee that does not number its turns still shows a different view of the game in each.
    digest = hashlib.sha256(msgspec.json.encode(call.move_request, order="deterministic")).digest()
    return int.from_bytes(digest[:6], "big")


def options_of(call: ChoiceCall) -> tuple[str, ...]:
    """Return the valid choices."""
    if isinstance(call, ChooseParityCall):
        return PARITIES
    return tuple(call.move_request.valid_options)


def seconds_of(call: ChoiceCall) -> float:
    """Return how long the referee waits, by its own clock alone (R-23)."""
    if call.timestamp is not None:
        seconds = timestamps.read(call.deadline) - timestamps.read(call.timestamp)
        if seconds > 0:
            return min(seconds, LONGEST_S)
    return EXCHANGES[call.type].limit_s


def turn_for_strategy(ask: Ask, context: PlayerContext) -> Turn:
    """Return everything the strategy may know when it answers this question."""
    call = ask.call
    assert isinstance(call, ChoiceCall)
    match = context.memory.matches.by(call.match_id, sender_id(call.sender))
    number = call.turn or 1
    request: MoveRequest | None = None
    if isinstance(call, GameMoveCall):
        request = call.move_request
        view = request.context
        stated_number = view.get("turn")
        if type(stated_number) is int:
            number = stated_number
    elif call.context:
        view = msgspec.to_builtins(call.context)
    else:
        view = {}
    standings = view.get("your_standings")
    if not isinstance(standings, dict):
        standings = {}
    return Turn(
        game_type=call.game_type,
        match_id=call.match_id,
        opponent_id=match.invitation.opponent_id if match else "",
        options=options_of(call),
        chance=context.chance(CHANCE_BYTES),
        number=number,
        view=view,
        record={name: standings[name] for name in RECORD if isinstance(standings.get(name), int)},
        history=context.memory.history.rows(),
        seconds=seconds_of(call),
        tokens_spent=context.memory.tokens_spent,
        cost_spent=context.memory.cost_spent,
        call=call,
        role=_role(request, match),
        move_format=(request and request.move_format) or "",
        talk=_talk(request),
        talk_limit=(request and request.talk_limit) or 0,
    )


def _talk(request: MoveRequest | None) -> tuple[TalkLine, ...]:
    """Return what the opponent said, as far as the referee writes it as it should."""
    lines = []
    for line in (request and request.talk) or ():
        with suppress(msgspec.ValidationError):
            lines.append(msgspec.convert(line, TalkLine))
    return tuple(lines)


def _role(request: MoveRequest | None, match: InvitedMatch | None) -> str:
    """Return our role: as the game calls it now, or else our seat."""
    if request is not None and request.role:
        return request.role
    return match.invitation.role if match else ""


# --- writing the answer -----------------------------------------------------------------------------------------------


class ChoiceUnderBothNames(ChooseParityResponse, kw_only=True, frozen=True, tag="CHOOSE_PARITY_RESPONSE"):
    """A response for third-party referees, some of which look for the choice under another name (section 13.5)."""

    choice: ParityChoice


def response_to(
    call: ChoiceCall,
    answer: ChoiceGiven,
    token: str | None,
    now: float,
    *,
    both_names: bool,
) -> Message:
    """Return our choice in the words of the call, unchanged: a wrong choice is never repaired."""
    provenance = None if answer.provenance is None else written(answer.provenance)
    parity: Any = answer.choice  # Any: perhaps not one of the two
    sender = f"player:{call.player_id}"
    conversation_id = call.conversation_id or NO_CONVERSATION
    if isinstance(call, ChooseParityCall) and not both_names:
        return ChooseParityResponse(
            protocol=PROTOCOL,
            sender=sender,
            timestamp=timestamps.write(now),
            conversation_id=conversation_id,
            auth_token=token,
            match_id=call.match_id,
            player_id=call.player_id,
            parity_choice=parity,
            provenance=provenance,
            signature=answer.signature or None,
        )
    fields = seal(sender, now, conversation_id, token)
    fields["match_id"] = call.match_id
    fields["player_id"] = call.player_id
    fields["provenance"] = provenance
    fields["signature"] = answer.signature or None
    if isinstance(call, ChooseParityCall):
        return ChoiceUnderBothNames(**fields, parity_choice=parity, choice=parity)
    move = MoveData(move_type=call.move_request.move_type, choice=answer.choice, talk=answer.talk or None)
    return GameMoveResponse(**fields, move_data=move)


def read_choice(value: object) -> Considered | NoChoice:
    """Read a strategy's answer: return a choice that can be sent, or the reason why there is none."""
    if isinstance(value, NoChoice):
        return value
    choice = value
    provenance = None
    conversation = ""
    talk = ""
    if isinstance(value, Considered):
        choice = value.choice
        provenance = value.provenance
        conversation = value.conversation
        talk = value.talk
    if not isinstance(choice, str) or not isinstance(talk, str):
        wrong = talk if isinstance(choice, str) else choice
        kind = "None" if wrong is None else f"a value of type {type(wrong).__name__}"
        return NoChoice(
            f"a choice is a text, not {type(wrong).__name__}",
            provenance,
            cause=f"its code returned {kind} instead of text",
            conversation=conversation,
        )
    try:
        str.encode(choice)
        str.encode(talk)
    except UnicodeEncodeError as error:
        return NoChoice(
            f"this choice cannot be written: {error}",
            provenance,
            cause="its code returned text that cannot be sent",
            conversation=conversation,
        )
    # A subclass of str may write itself in another way than it compares.
    return Considered(str.__str__(choice), provenance, conversation, str.__str__(talk)[:LONGEST_TALK])


# --- pending choices --------------------------------------------------------------------------------------------------


class WaitingCall(Struct, frozen=True):
    """A letter that asks for a choice, and the token its answer will show."""

    letter: Letter
    call: ChoiceCall
    token: str | None
    is_proven: bool
    """True if the manager derived the token of this sender for the match."""


class PendingChoice(Struct, eq=False):
    """A choice our strategy was asked for."""

    key: str
    match: InvitedMatch
    turn: int
    waiting: list[WaitingCall]


class Choices:
    """All choices that referees ask for. It never calls a strategy: it asks, and replies when the answer comes."""

    def __init__(self, context: PlayerContext) -> None:
        self._context = context
        self._by_key: dict[str, PendingChoice] = {}
        self._by_match: dict[InvitedMatch, PendingChoice] = {}
        """At most one each: a referee asks for one choice at a time."""
        self._ask_count = 0

    def pending(self, match: InvitedMatch) -> PendingChoice | None:
        """Return the choice our strategy is asked for in this match."""
        return self._by_match.get(match)

    def called(self, letter: Letter, call: ChoiceCall, now: float) -> None:
        """Handle CHOOSE_PARITY_CALL or GAME_MOVE_CALL."""
        context = self._context
        match = context.memory.matches.by(call.match_id, sender_id(call.sender))
        attempt = match.token_attempt if match else context.credentials.attempt_of(call)
        sender = context.admit(letter, call, call.match_id, attempt, now)
        call = self._completed(call, match)
        if call.player_id != context.membership.agent_id:
            context.check_player(call, sender, now)
        match = self._open_match(call, match or self._take_up(call, sender, attempt, now))
        context.went_on(match)
        turn = turn_of(call)
        answer = match.answers.get(turn)
        is_free = isinstance(call, GameMoveCall) and call.move_request.move_format is not None
        may_change = answer is not None and not answer.final and not is_free
        # A referee that changes the options does not change a choice that was one of them.
        if answer is not None and may_change and (options := options_of(call)) and answer.choice not in options:
            # The GAME_ERROR about it travels beside this call: repeating a wrong choice would waste a correction.
            code = "E004" if isinstance(call, ChooseParityCall) else "E024"
            self.refused(match, turn, code, now)
            answer = None
        token = context.credentials.for_referee(sender, match.match_id, match.token_attempt)
        waiting = WaitingCall(letter, call, token, sender.is_derived)
        if answer is None:
            self._ask(match, turn, waiting, now)
        else:
            context.answer_again(letter, match, self._response(waiting, match, answer, now), now)

    def _completed(self, call: ChoiceCall, match: InvitedMatch | None) -> ChoiceCall:
        """Add what a third-party referee left out: us, and the game that it invited us to."""
        membership = self._context.membership
        if call.player_id == UNSAID:
            call = structs.replace(call, player_id=membership.agent_id)
        if call.game_type == UNSAID:
            game = match.invitation.game_type if match else membership.meta.game_types[0]
            call = structs.replace(call, game_type=game)
        return call

    def refused(self, match: InvitedMatch, turn: int, code: str, now: float) -> None:
        """Note that the referee rejected our choice: its next call asks the strategy once more."""
        self._context.happened(ChoiceRefused(at=now, **match.named, turn=turn, code=code))

    def _take_up(self, call: ChoiceCall, sender: SenderIdentity, attempt: int, now: float) -> InvitedMatch | None:
        """Play on in a match we joined before we lost our memory, if its referee proved itself."""
        context = self._context
        matches = context.memory.matches
        if not sender.is_proven or context.memory.is_over:
            return None
        if attempt <= matches.newest_attempt(call.match_id, True):
            return None
        opponent_id = None
        round_id = None
        if isinstance(call, ChooseParityCall) and call.context:
            opponent_id = call.context.opponent_id
            round_id = call.context.round_id
        context.happened(
            InvitationAnswered(
                at=now,
                match_id=call.match_id,
                attempt=attempt,
                stated_attempt=attempt,
                game_type=call.game_type,
                player_id=call.player_id,
                opponent_id=opponent_id or "",
                role="",
                accepted=context.membership.plays(call.game_type),
                round_id=round_id or context.memory.announced_round,
                referee_id=sender.id,
                conversation_id=call.conversation_id or NO_CONVERSATION,
                token_digest=digest_of(call.auth_token),
                referee_endpoint=context.credentials.announced_endpoint(call.match_id),
            )
        )
        return matches.by(call.match_id, sender.id)

    def _open_match(self, call: ChoiceCall, match: InvitedMatch | None) -> InvitedMatch:
        """Return the match this call is about; raise PeerError if nobody may ask for a choice in it now."""
        if match is None:
            self._context.check_invited(call.match_id)
            raise PeerError("E016", f"another referee invited us to {call.match_id}")
        if self._context.memory.is_over and not match.is_replay:
            raise PeerError("E031", "the league is over")
        if match.over:
            raise PeerError("E023", f"{call.match_id} is over")
        if not match.is_open:
            raise PeerError("E023", "we did not join this match")
        return match

    def _ask(self, match: InvitedMatch, turn: int, waiting: WaitingCall, now: float) -> None:
        pending = self._by_match.get(match)
        if pending is not None and pending.turn != turn:
            self.drop(match, "E023", "the game has gone on")
            pending = None
        if len(self._by_key) >= PENDING or (pending is not None and len(pending.waiting) >= WAITING):
            raise PeerError("E042", "too many calls wait for an answer")
        if pending is not None:
            pending.waiting.append(waiting)
            return
        self._ask_count += 1
        key = f"{match.match_id}/{match.attempt}/choose/{turn}/{self._ask_count}"
        pending = PendingChoice(key, match, turn, [waiting])
        self._by_key[key] = pending
        self._by_match[match] = pending
        call = waiting.call
        # Strategies show their authors what they were asked, and authors must not see tokens.
        call_without_token = structs.replace(call, auth_token=None)
        self._context.ask(Ask(key, call.game_type, call_without_token, now + seconds_of(call)))

    def answered(self, key: str, value: object, now: float) -> None:
        """Pass on what the strategy chose, or that it failed, to all calls that wait; there may be none any more."""
        pending = self._by_key.pop(key, None)
        if pending is None:
            return
        del self._by_match[pending.match]
        choice = read_choice(value)
        if choice.conversation:
            # Before the choice, and in the same step: they become durable together.
            self._context.happened(
                ConversationKept(
                    at=now,
                    match_id=pending.match.match_id,
                    attempt=pending.match.attempt,
                    turn=pending.turn,
                    conversation=choice.conversation,
                )
            )
        if isinstance(choice, Considered):
            self._choose(pending, choice, now)
        else:
            self._fail(pending, choice, now)

    def _choose(self, pending: PendingChoice, choice: Considered, now: float) -> None:
        match = pending.match
        # The strategy answered the first call; the others only repeat it.
        first = pending.waiting[0]
        is_final = choice.choice in options_of(first.call)
        signed = signed_choice(self._context, match, first.call, choice.choice, first.is_proven) if is_final else {}
        answer = ChoiceGiven(
            at=now,
            match_id=match.match_id,
            attempt=match.attempt,
            referee_id=match.referee_id,
            turn=pending.turn,
            choice=choice.choice,
            provenance=choice.provenance,
            final=is_final,
            talk=choice.talk,
            **signed,
        )
        self._context.happened(answer)
        for waiting in pending.waiting:
            self._context.answer(waiting.letter, match, self._response(waiting, match, answer, now), now)

    def _fail(self, pending: PendingChoice, failure: NoChoice, now: float) -> None:
        # After an outage the league may have the match played again, so the error says that it was one.
        code = "E045" if failure.is_outage else "E099"
        self._context.happened(
            ChoiceFailed(
                at=now,
                match_id=pending.match.match_id,
                attempt=pending.match.attempt,
                turn=pending.turn,
                detail=without_tokens(failure.detail[:LONGEST_FAILURE]),
                code=code,
                provenance=failure.provenance,
            )
        )
        sentence = NO_CHOICE
        if failure.cause:
            sentence = NO_CHOICE_BECAUSE + printable(failure.cause)[:LONGEST_CAUSE]
        error = PeerError(code, sentence, {"incident": pending.key})
        for waiting in pending.waiting:
            self._context.refuse(waiting.letter, error)

    def _response(
        self,
        waiting: WaitingCall,
        match: InvitedMatch,
        answer: ChoiceGiven,
        now: float,
    ) -> Message:
        # Only our own referees number their attempts.
        both_names = not match.stated_attempt and not self._context.is_strict
        return response_to(waiting.call, answer, waiting.token, now, both_names=both_names)

    def drop(self, match: InvitedMatch, code: str, detail: str) -> None:
        """Give up the choice pending in this match, if any: the letters that wait get an error."""
        pending = self._by_match.pop(match, None)
        if pending is None:
            return
        del self._by_key[pending.key]
        self._context.cancel(pending.key)
        for waiting in pending.waiting:
            self._context.refuse(waiting.letter, PeerError(code, detail))

    def drop_all(self, code: str, detail: str, *, but_replays: bool = False) -> None:
        """Give up all pending choices, or all but those in matches that are played again."""
        for pending in list(self._by_key.values()):
            if not (but_replays and pending.match.is_replay):
                self.drop(pending.match, code, detail)
