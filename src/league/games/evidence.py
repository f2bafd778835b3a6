"""What a reported match proves: who signed what, whether the number was fixed before, and what follows from it.

Theory of operation. `judge` replays a match by the rules of its game from what the referee reported. For each choice it
rebuilds the statement that the player must have signed (protocol/receipts.py), and checks the reported receipt with the
keys it was given. For each chance step it takes the number from the revealed seed. If every choice is signed, the seed
opens the commitment that the players signed, and the replay ends as reported, the match is *proven*.

`rests_on` is the only place that decides what a result rests on. It first completes the report with what was too large
for it and came with the referee's record, then judges, then holds the protests against what is proven. It needs no
league: the manager calls it with keys from its secrets, an audit with keys from the same secrets, from a bundle, or
from a player. It never says that a match is wrong because something is missing. A missing or wrong receipt only means
that the match rests on the referee's word.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct, structs

from league.events import Evidence, ProtestReceived
from league.games import draw
from league.games.contract import SEATS, Game, Players, Seat
from league.games.moves import by_seat, course, reported_choices
from league.games.wire_fields import move_request, spoken_in, unpacked
from league.protocol import receipts
from league.protocol.canonical_json import canonical
from league.protocol.parts import SignedChoice
from league.protocol.receipts import Signed

Keys = Mapping[str, Sequence[bytes]]
"""RK of each player that declared receipts; several if it registered more than once."""
Object = Mapping[str, Any]
Record = Sequence[Object]
"""The referee's own events of a match, as JSON objects."""


class PlayedMatch(Struct, frozen=True):
    """The match that was assigned."""

    league_id: str
    match_id: str
    attempt: int
    players: Players
    share_commitment: str = ""
    """The promise of the manager's part of a shared draw (section 12.1); empty if the referee drew alone."""
    referee_id: str = ""


class Proof(Struct, frozen=True):
    """What the result of a match rests on (spec section 8.18)."""

    evidence: Evidence
    unsigned: tuple[str, ...] = ()
    """The players that did not sign all their choices."""
    doubt: str = ""
    """Why it is not proven, as far as that is not for a missing signature."""
    wrong: tuple[str, ...] = ()
    """The players with a receipt that does not fit."""


class Judgement(Struct, frozen=True):
    """What a report proves."""

    is_proven: bool = False
    unsigned: tuple[str, ...] = ()
    """The players of whom a receipt is missing."""
    wrong: tuple[str, ...] = ()
    """The players with a receipt that is not theirs; they or the referee may have spoiled it."""
    unseen: tuple[str, ...] = ()
    """The players that signed their choices, but not what they were shown."""
    doubt: str = ""
    """Why the match is not proven although every choice is signed."""


class _Doubt(Exception):  # noqa: N818 - it is not an error of anybody
    """What is reported cannot be replayed, or does not follow."""


def receipts_digest(signed: Mapping[str, Sequence[str | None]]) -> str:
    """The digest by which a report names receipts that are too many for it."""
    return hashlib.sha256(canonical(signed)).hexdigest()


# --- what a result rests on -------------------------------------------------------------------------------------------


def rests_on(
    game: Game,
    match: PlayedMatch,
    details: Object,
    keys: Keys,
    record: Record = (),
    protests: Sequence[ProtestReceived] = (),
) -> Proof:
    """Say what the result of a match rests on that was played to its end."""
    findings = judge(game, match, completed(game, details, record, match.players), keys)
    if not findings.is_proven:
        return Proof("by_referee", findings.unsigned, _doubt(findings, match.referee_id), findings.wrong)
    doubt = contradiction(game, match, details, protests)
    if doubt:
        return Proof("disputed", doubt=doubt)
    return Proof("proven")


def completed(game: Game, details: Object, record: Record, players: Players) -> Object:
    """Return the details with the receipts and the talk that were too large for the report and are in the record.

    The same object comes back if the record has nothing to add, or not what the report promises.
    """
    if not record:
        return details
    missing: dict[str, object] = {}
    digest = details.get("receipts_digest")
    if digest is not None:
        signed = _receipts_in(record, players)
        if receipts_digest(signed) == digest:
            missing["receipts"] = signed
    if game.talk and "talk" not in details:
        # Players signed what they were shown of it.
        talk = _talk_in(record)
        if talk:
            missing["talk"] = talk
    return {**details, **missing} if missing else details


def contradiction(game: Game, match: PlayedMatch, details: Object, protests: Sequence[ProtestReceived]) -> str:
    """Say how a protest of this attempt contradicts the choices that its players signed; empty if none does."""
    if not protests:
        return ""
    protests = [protest for protest in protests if protest.attempt == match.attempt and protest.signed]
    steps = reported_choices(game.rules, details, match.players)
    for protest in protests:
        for turn, choice in protest.signed.items():
            # Turn 0 is an invitation that was declined.
            if not turn:
                continue
            reported = None
            if turn <= len(steps):
                reported = steps[turn - 1].get(protest.player_id)
            if reported != choice:
                return f"{protest.player_id} signed {choice} and {reported} in turn {turn}"
        if protest.draw_commitment and protest.draw_commitment != details.get("draw_commitment"):
            return f"{protest.player_id} signed two commitments"
    return ""


def _doubt(findings: Judgement, referee_id: str) -> str:
    """Say why a match is not proven, apart from signatures that are missing."""
    if findings.wrong:
        names = " and ".join(findings.wrong)
        return f"the receipt of {names} does not fit: {names} or {referee_id} may have spoiled it"
    if findings.doubt:
        return findings.doubt
    if findings.unseen:
        return f"signed; what {' and '.join(findings.unseen)} saw is not"
    return ""


def _talk_in(record: Record) -> list[dict[str, object]]:
    """Return what the players said with their moves, from the record of a match."""
    return [
        {"turn": event.get("turn"), "by": event.get("player_id"), "text": event["talk"]}
        for event in record
        if event.get("event") == "MoveMade" and event.get("talk")
    ]


def _receipts_in(record: Record, players: Players) -> dict[str, list[str | None]]:
    """Return the receipts in a referee's record, turn by turn, as a report would list them."""
    by_player: dict[str, dict[int, str]] = {player: {} for player in players}
    for event in record:
        turn = event.get("turn")
        receipt = event.get("receipt")
        by_turn = by_player.get(str(event.get("player_id")))
        if event.get("event") != "MoveMade" or by_turn is None:
            continue
        # A turn has an event of its own, so there are no more turns than events.
        if type(turn) is int and 0 < turn <= len(record) and isinstance(receipt, str):
            by_turn[turn] = receipt
    turns = max((turn for by_turn in by_player.values() for turn in by_turn), default=0)
    return {player: [by_turn.get(turn) for turn in range(1, turns + 1)] for player, by_turn in by_player.items()}


# --- receipts and draws, replayed -------------------------------------------------------------------------------------


def judge(game: Game, match: PlayedMatch, details: Mapping[str, Any], keys: Keys) -> Judgement:
    """Check a match that was played to its end."""
    replay = _Replay(game, match, details, keys)
    doubt = ""
    try:
        replay.run()
    except _Doubt as reason:
        doubt = str(reason)
    except (ValueError, KeyError, TypeError, AttributeError):
        # The report may have any shape: what the rules cannot replay is not proven.
        doubt = "the reported choices cannot be replayed"
    is_signed = not (replay.unsigned or replay.wrong)
    needs_view = replay.has_turns
    return Judgement(
        is_proven=is_signed and not doubt and not (needs_view and replay.unseen),
        unsigned=tuple(replay.unsigned),
        wrong=tuple(replay.wrong),
        unseen=tuple(replay.unseen) if needs_view else (),
        doubt=doubt,
    )


class _Replay:
    """One match, replayed."""

    def __init__(self, game: Game, match: PlayedMatch, details: Mapping[str, Any], keys: Keys) -> None:
        self._game = game
        self._match = match
        self._details: Mapping[str, Any] = unpacked(details)
        self._talk = spoken_in(details, match.players)
        self._keys = keys
        self._receipts = details.get("receipts") or {}
        self._commitment = details.get("draw_commitment") or receipts.NOTHING
        self.unsigned: dict[str, None] = {}
        self.wrong: dict[str, None] = {}
        self.unseen: dict[str, None] = {}
        self.has_turns = False
        """Some choice was made with knowledge of an earlier one, or of hidden cards."""

    def run(self) -> None:
        """Replay the match to its end; raise _Doubt if it does not end as reported."""
        rules = self._game.rules
        steps = self._steps()
        state = rules.start()
        turn = 0
        drawn = 0
        mover = rules.to_move(state)
        while mover.kind != "nobody":
            if mover.kind == "chance":
                state = rules.draw(state, self._number(drawn, mover.weights))
                drawn += 1
            else:
                turn += 1
                moves = self._moves(steps, turn, mover.seats)
                if moves.keys() != set(mover.seats):
                    raise _Doubt("the reported choices are not those of the players to move")
                self.has_turns = self.has_turns or len(mover.seats) < len(SEATS) or drawn > 0
                for seat, choice in moves.items():
                    self._check(state, seat, turn, choice)
                state = rules.play(state, moves)
            mover = rules.to_move(state)
        if turn != len(steps):
            raise _Doubt("more choices are reported than the game has turns")
        rebuilt = self._game.wire.details(state, self._match.players, False)
        for name, value in rebuilt.items():
            # The moves were replayed above. They may be listed with the names of their players or without.
            if name != "moves" and self._details.get(name) != value:
                raise _Doubt(f"{name} does not follow from the choices and the seed")

    def _steps(self) -> Sequence[object]:
        """The reported choices, phase by phase."""
        moves: Sequence[object] | None = self._details.get("moves")
        if moves is None:
            return [self._details.get("choices") or {}]
        return moves

    def _moves(self, steps: Sequence[object], turn: int, seats: tuple[Seat, ...]) -> dict[Seat, str]:
        if turn > len(steps):
            raise _Doubt("the reported choices end before the game does")
        step = steps[turn - 1]
        if isinstance(step, dict) and None in step.values():
            raise _Doubt("a choice is missing")
        return by_seat(step, self._match.players, seats)

    def _number(self, index: int, weights: Sequence[int]) -> int:
        """The number that the revealed seed gives, if the seed is the promised one."""
        match = self._match
        seed = self._details.get("draw_seed")
        if not seed or not self._commitment:
            # Referees by others promise nothing, and so break no promise.
            raise _Doubt("nobody knows whether the number was fixed before: the report has no seed or no commitment")
        drawn = draw.opened(
            str(seed),
            self._details.get("draw_share"),
            match.share_commitment,
            str(self._commitment),
            match.league_id,
            match.match_id,
            match.attempt,
        )
        if drawn is None:
            raise _Doubt("the number was not fixed before: the seed does not open the commitment")
        return draw.event(drawn, match.league_id, match.match_id, match.attempt, index, weights)

    def _check(self, state: Any, seat: Seat, turn: int, choice: str) -> None:
        match = self._match
        player = match.players[seat]
        receipt = _at(self._receipts.get(player), turn)
        keys = self._keys.get(player, ())
        if receipt is None or not keys:
            self.unsigned[player] = None
            return
        request = move_request(self._game, state, seat, turn, self._talk, match.players)
        signed = Signed(
            match.league_id,
            match.match_id,
            match.attempt,
            self._game.name,
            player,
            match.players[1 - seat],
            turn,
            self._commitment,
            receipts.seen_in(request),
        )
        if receipts.is_receipt(receipt, keys, signed, choice):
            return
        blind = structs.replace(signed, seen=receipts.NOTHING)
        if request is not None and receipts.is_receipt(receipt, keys, blind, choice):
            self.unseen[player] = None
        else:
            self.wrong[player] = None


def awaits_draw(game: Game, players: Players, handed_in: Mapping[str, Any]) -> bool:
    """Whether these choices are legal, and only the draw is missing."""
    try:
        state = _played(game, players, handed_in)
    except (_Doubt, ValueError, KeyError, TypeError, AttributeError):
        return False
    return game.rules.to_move(state).kind == "chance"


def drawn(game: Game, players: Players, handed_in: Mapping[str, Any], number: int) -> dict[str, object]:
    """The details of a match whose draw comes last, with this number."""
    state = game.rules.draw(_played(game, players, handed_in), number)
    return game.wire.details(state, players, False)


def _played(game: Game, players: Players, handed_in: Mapping[str, Any]) -> Any:
    """The position after these choices."""
    state = game.rules.start()
    for step in handed_in.get("moves") or [handed_in["choices"]]:
        state = game.rules.play(state, {SEATS[players.index(name)]: choice for name, choice in step.items()})
    return state


def possible_views(
    game: Game, match: PlayedMatch, details: Mapping[str, Any], player: str, turn: int
) -> tuple[str, ...]:
    """What a player may have signed as `seen` in this turn: nothing, or what the reported moves showed it."""
    seat = SEATS[match.players.index(player)]
    moves = details.get("moves") or []
    draws = details.get("draws") or []
    state = game.rules.start()
    played = 0
    try:
        for position in course(game.rules, moves, draws, match.players):
            played += bool(position.moves)
            if played >= turn:
                break
            state = position.state
        request = move_request(game, state, seat, turn, spoken_in(details, match.players), match.players)
    except (ValueError, KeyError, TypeError, AttributeError):
        request = None
    return (receipts.NOTHING, receipts.seen_in(request))


def is_signed(
    game_type: str,
    match: PlayedMatch,
    player: str,
    claim: SignedChoice,
    commitment: str,
    views: Sequence[str],
    keys: Sequence[bytes],
) -> bool:
    """Whether the player signed this choice, under one of these views."""
    opponent = match.players[1 - match.players.index(player)]
    for seen in views:
        signed = Signed(
            match.league_id,
            match.match_id,
            match.attempt,
            game_type,
            player,
            opponent,
            claim.turn,
            commitment,
            seen,
        )
        if receipts.is_receipt(claim.receipt, keys, signed, claim.choice):
            return True
    return False


def declined(match: PlayedMatch, game_type: str, details: Mapping[str, Any], player: str, keys: Keys) -> bool:
    """Whether this player declined its invitation and signed that."""
    seat = match.players.index(player)
    fault = (details.get("faults") or {}).get(player)
    if not isinstance(fault, Mapping) or fault.get("code") != "DECLINED":
        return False
    signed = Signed(
        match.league_id,
        match.match_id,
        match.attempt,
        game_type,
        player,
        match.players[1 - seat],
        0,
        details.get("draw_commitment") or receipts.NOTHING,
    )
    return receipts.is_receipt(fault.get("receipt"), keys.get(player, ()), signed, receipts.DECLINED)


def _at(by_turn: object, turn: int) -> object:
    if not isinstance(by_turn, list) or turn > len(by_turn):
        return None
    return by_turn[turn - 1]
