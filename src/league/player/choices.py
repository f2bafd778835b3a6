"""Calls for a choice: each is put to the strategy, and answered when the strategy has chosen. The same call again gets
the same answer, unless the referee called it wrong. What is pending is lost in a crash, and asked again when the
referee repeats its call."""

from __future__ import annotations

import hashlib
from typing import Any, Final

import msgspec
from msgspec import Struct, structs

from league.events import ChoiceFailed, ChoiceGiven, ChoiceRefused, InvitationAnswered
from league.machine import Ask, Considered, Letter, NoChoice
from league.player.context import NO_CONVERSATION, PlayerContext
from league.player.credentials import SenderIdentity, digest_of, sender_id
from league.player.memory import InvitedMatch
from league.player.strategies import CHANCE_BYTES, Turn
from league.protocol import timestamps
from league.protocol.envelope import seal
from league.protocol.errors import PeerError
from league.protocol.exchanges import EXCHANGES
from league.protocol.experiment import written
from league.protocol.fields import ParityChoice
from league.protocol.messages import (
    ChooseParityCall,
    ChooseParityResponse,
    GameMoveCall,
    GameMoveResponse,
    Message,
)
from league.protocol.parts import MoveData
from league.protocol.versions import PROTOCOL

ChoiceCall = ChooseParityCall | GameMoveCall

PARITIES: Final = ("even", "odd")
RECORD: Final = ("wins", "losses", "draws", "points")
WAITING: Final = 32
"""More calls than this do not wait for one choice; a referee repeats a call seven times at the very most."""
PENDING: Final = 1_000
"""More choices than this are not pending at a time."""
LONGEST_S: Final = 3_600.0
LONGEST_FAILURE: Final = 10_000


# --- what a call asks -------------------------------------------------------------------------------------------------


def turn_of(call: ChoiceCall) -> int:
    """Which choice of the match is asked for: the same number, the same choice.

    A referee that does not number its turns shows another view of the game in each: that tells them apart.
    """
    if isinstance(call, ChooseParityCall):
        return 1
    turn = call.move_request.context.get("turn")
    if isinstance(turn, int) and not isinstance(turn, bool):
        return turn
    digest = hashlib.sha256(msgspec.json.encode(call.move_request, order="deterministic")).digest()
    return int.from_bytes(digest[:6], "big")


def options_of(call: ChoiceCall) -> tuple[str, ...]:
    """The valid choices."""
    return PARITIES if isinstance(call, ChooseParityCall) else tuple(call.move_request.valid_options)


def seconds_of(call: ChoiceCall) -> float:
    """How long the referee waits, by its own clock alone (R-23)."""
    if call.timestamp is None:
        return EXCHANGES[call.type].limit_s
    seconds = timestamps.read(call.deadline) - timestamps.read(call.timestamp)
    return min(seconds, LONGEST_S) if seconds > 0 else EXCHANGES[call.type].limit_s


def turn_for_strategy(ask: Ask, context: PlayerContext) -> Turn:
    """What the strategy may know when it answers this."""
    call = ask.call
    assert isinstance(call, ChoiceCall)
    match = context.memory.matches.by(call.match_id, sender_id(call.sender))
    if isinstance(call, GameMoveCall):
        view = call.move_request.context
    else:
        view = msgspec.to_builtins(call.context) if call.context else {}
    number, standings = view.get("turn"), view.get("your_standings")
    known = standings if isinstance(standings, dict) else {}
    return Turn(
        game_type=call.game_type,
        match_id=call.match_id,
        opponent_id=match.invitation.opponent_id if match else "",
        options=options_of(call),
        chance=context.chance(CHANCE_BYTES),
        number=number if type(number) is int and isinstance(call, GameMoveCall) else 1,
        view=view,
        record={name: known[name] for name in RECORD if isinstance(known.get(name), int)},
        history=context.memory.history.rows(),
        seconds=seconds_of(call),
        tokens_spent=context.memory.tokens_spent,
        call=call,
    )


# --- what is answered -------------------------------------------------------------------------------------------------


class ChoiceUnderBothNames(ChooseParityResponse, kw_only=True, frozen=True, tag="CHOOSE_PARITY_RESPONSE"):
    """For referees by others: some look for the choice under the name that their own players use (section 13.5)."""

    choice: ParityChoice


def response_to(call: ChoiceCall, given: ChoiceGiven, token: str | None, now: float, *, both_names: bool) -> Message:
    """Our choice in the words of the call, as it is: a wrong one is never repaired."""
    provenance = None if given.provenance is None else written(given.provenance)
    parity: Any = given.choice  # Any: perhaps not one of the two
    sender, conversation_id = f"player:{call.player_id}", call.conversation_id or NO_CONVERSATION
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
        )
    about = seal(sender, now, conversation_id, token)
    about |= {"match_id": call.match_id, "player_id": call.player_id, "provenance": provenance}
    if isinstance(call, ChooseParityCall):
        return ChoiceUnderBothNames(**about, parity_choice=parity, choice=parity)
    move = MoveData(move_type=call.move_request.move_type, choice=given.choice)
    return GameMoveResponse(**about, move_data=move)


def read_choice(value: object) -> Considered | NoChoice:
    """What a strategy answered: a choice that can be sent, or why it is none."""
    if isinstance(value, NoChoice):
        return value
    choice, provenance = (value.choice, value.provenance) if isinstance(value, Considered) else (value, None)
    if not isinstance(choice, str):
        return NoChoice(f"a choice is a text, not {type(choice).__name__}", provenance)
    try:
        str.encode(choice)
    except UnicodeEncodeError as error:
        return NoChoice(f"this choice cannot be written: {error}", provenance)
    return Considered(str.__str__(choice), provenance)


# --- choices that are pending -----------------------------------------------------------------------------------------


class WaitingCall(Struct, frozen=True):
    """A letter that asks for a choice, and the token its answer will show."""

    letter: Letter
    call: ChoiceCall
    token: str | None


class PendingChoice(Struct, eq=False):
    """A choice our strategy was asked for."""

    key: str
    match: InvitedMatch
    turn: int
    waiting: list[WaitingCall]


class Choices:
    """All choices that referees ask for. It never calls a strategy: it asks, and answers when the answer comes."""

    def __init__(self, context: PlayerContext) -> None:
        self._context = context
        self._by_key: dict[str, PendingChoice] = {}
        self._by_match: dict[InvitedMatch, PendingChoice] = {}
        """A referee asks for one choice at a time."""
        self._asked = 0

    def pending(self, match: InvitedMatch) -> PendingChoice | None:
        """The choice our strategy is asked for in this match."""
        return self._by_match.get(match)

    def called(self, letter: Letter, call: ChoiceCall, now: float) -> None:
        """CHOOSE_PARITY_CALL or GAME_MOVE_CALL."""
        context = self._context
        known = context.memory.matches.by(call.match_id, sender_id(call.sender))
        attempt = known.token_attempt if known else context.credentials.attempt_of(call)
        sender = context.admit(letter, call, call.match_id, attempt, now)
        if call.player_id != context.membership.agent_id:
            context.check_player(call.player_id)
        match = self._open_match(call, known or self._taken_up(call, sender, attempt, now))
        turn = turn_of(call)
        given = match.answers.get(turn)
        if given is not None and (options := options_of(call)) and given.choice not in options:
            # Its GAME_ERROR is on the way beside the call: repeating what cannot be right would waste a correction.
            self.refused(match, turn, "E004" if isinstance(call, ChooseParityCall) else "E024", now)
            given = None
        token = context.credentials.for_referee(sender, match.match_id, match.token_attempt)
        waiting = WaitingCall(letter, call, token)
        if given is None:
            self._ask(match, turn, waiting, now)
        else:
            self._answer(waiting, match, given, now)

    def refused(self, match: InvitedMatch, turn: int, code: str, now: float) -> None:
        """The referee calls our choice wrong: the next call asks the strategy anew."""
        self._context.happened(ChoiceRefused(at=now, **match.named, turn=turn, code=code))

    def _taken_up(self, call: ChoiceCall, sender: SenderIdentity, attempt: int, now: float) -> InvitedMatch | None:
        """We lost our memory after we had joined this match: its referee proved itself, so we play on."""
        context, matches = self._context, self._context.memory.matches
        if not sender.is_proven or context.memory.is_over or attempt <= matches.newest_attempt(call.match_id, True):
            return None
        view = call.context if isinstance(call, ChooseParityCall) else None
        context.happened(
            InvitationAnswered(
                at=now,
                match_id=call.match_id,
                attempt=attempt,
                stated_attempt=attempt,
                game_type=call.game_type,
                player_id=call.player_id,
                opponent_id=(view.opponent_id if view else None) or "",
                role="",
                accepted=call.game_type in context.membership.meta.game_types,
                round_id=(view.round_id if view else None) or context.memory.announced_round,
                referee_id=sender.id,
                conversation_id=call.conversation_id or NO_CONVERSATION,
                token_digest=digest_of(call.auth_token),
                referee_endpoint=context.credentials.announced_endpoint(call.match_id),
            )
        )
        return matches.by(call.match_id, sender.id)

    def _open_match(self, call: ChoiceCall, match: InvitedMatch | None) -> InvitedMatch:
        """The match this call is about, if it may ask us now."""
        if match is None:
            self._context.check_invited(call.match_id)
            raise PeerError("E016", f"another referee invited us to {call.match_id}")
        if self._context.memory.is_over and not match.is_replay:
            raise PeerError("E031", "the league is over")
        if not match.is_open:
            raise PeerError("E023", f"{call.match_id} is over" if match.over else "we did not join this match")
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
        self._asked += 1
        key, call = f"{match.match_id}/{match.attempt}/choose/{turn}/{self._asked}", waiting.call
        self._by_key[key] = self._by_match[match] = PendingChoice(key, match, turn, [waiting])
        # Strategies show what they were asked to their authors; tokens are not for showing.
        shown = structs.replace(call, auth_token=None)
        self._context.ask(Ask(key, call.game_type, shown, now + seconds_of(call)))

    def answered(self, key: str, value: object, now: float) -> None:
        """The strategy chose, or failed to; whoever asked learns it. Nobody waits any more: nothing happens."""
        pending = self._by_key.pop(key, None)
        if pending is None:
            return
        del self._by_match[pending.match]
        read = read_choice(value)
        if isinstance(read, Considered):
            self._choose(pending, read, now)
        else:
            self._fail(pending, read, now)

    def _choose(self, pending: PendingChoice, chosen: Considered, now: float) -> None:
        match = pending.match
        given = ChoiceGiven(
            at=now,
            match_id=match.match_id,
            attempt=match.attempt,
            referee_id=match.referee_id,
            turn=pending.turn,
            choice=chosen.choice,
            provenance=chosen.provenance,
        )
        self._context.happened(given)
        for waiting in pending.waiting:
            self._answer(waiting, match, given, now)

    def _fail(self, pending: PendingChoice, failed: NoChoice, now: float) -> None:
        """Who declines because of an outage says so: the league may have the match played again."""
        match, code = pending.match, "E045" if failed.is_outage else "E099"
        self._context.happened(
            ChoiceFailed(
                at=now,
                match_id=match.match_id,
                attempt=match.attempt,
                turn=pending.turn,
                detail=failed.detail[:LONGEST_FAILURE],
                code=code,
                provenance=failed.provenance,
            )
        )
        error = PeerError(code, "no choice could be made", {"incident": pending.key})
        for waiting in pending.waiting:
            self._context.refuse(waiting.letter, error)

    def _answer(self, waiting: WaitingCall, match: InvitedMatch, given: ChoiceGiven, now: float) -> None:
        # Only our referees number their attempts.
        both_names = not match.stated_attempt and not self._context.is_strict
        response = response_to(waiting.call, given, waiting.token, now, both_names=both_names)
        self._context.reply(waiting.letter, response)

    def drop(self, match: InvitedMatch, code: str, detail: str) -> None:
        """The choice pending in this match, if any, is not needed any more: the letters that wait get an error."""
        pending = self._by_match.pop(match, None)
        if pending is not None:
            del self._by_key[pending.key]
            self._context.cancel(pending.key)
            for waiting in pending.waiting:
                self._context.refuse(waiting.letter, PeerError(code, detail))

    def drop_all(self, code: str, detail: str, *, but_replays: bool = False) -> None:
        for pending in list(self._by_key.values()):
            if not (but_replays and pending.match.is_replay):
                self.drop(pending.match, code, detail)
