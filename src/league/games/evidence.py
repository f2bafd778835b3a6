"""What a reported match proves: who signed what, whether the numbers were fixed before, and what follows from it.

Theory of operation. `rests_on` is the only place that decides what a played match rests on. It replays the match by the
rules of its game from what the referee reported. For each player it collects the choices and what the player was shown,
and so rebuilds the statement that the player must have signed last (protocol/signing/choices.py). For each chance step
it takes the number from the referee's seed and the manager's share. If both signatures fit, seed and share open what
was promised, no earlier attempt had a draw, and the replay ends as reported, the match is *proven*.

It needs no league and no secret: the manager and every audit call it with the public keys of the assignment. It never
says that a match is wrong because something is missing. Then the match rests on the referee's word, and `doubt` says
why.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from msgspec import Struct, field

from league.events import Evidence
from league.games import draw
from league.games.contract import SEATS, Game, Players, Seat
from league.games.moves import by_seat, replay
from league.games.wire_fields import move_request, spoken_in, unpacked
from league.protocol.signing.choices import ChoicesStatement, chained
from league.protocol.signing.keys import is_signed
from league.protocol.wire.canonical_json import NotCanonicalError

Object = Mapping[str, Any]
Record = Sequence[Object]
"""The referee's own events of a match, as JSON objects."""
SUSPICIOUS: Final = "suspicious: both players sign, and the report has no signature of theirs"


class AssignedMatch(Struct, frozen=True):
    """The match that was assigned."""

    league_id: str
    match_id: str
    attempt: int
    players: Players
    share_commitment: str = ""
    """The promise of the manager's part of the draws (section 12.1); empty if the referee drew alone."""
    referee_id: str = ""
    first_drawn: int = 0
    """The first attempt whose share of the draw was released; 0 if none was."""
    manager_key: str = ""
    keys: Mapping[str, str] = field(default_factory=dict)
    """The public keys of the players that sign, as they were in force at the assignment."""


class Proof(Struct, frozen=True):
    """What the result of a match rests on (spec section 8.18)."""

    evidence: Evidence
    unsigned: tuple[str, ...] = ()
    """The players that did not sign all their choices."""
    doubt: str = ""
    """Why it is not proven, as far as that is not for a missing signature."""


class _Doubt(Exception):  # noqa: N818 - it is not an error of anybody
    """What is reported cannot be replayed, or does not follow."""


# --- what a result rests on -------------------------------------------------------------------------------------------


def rests_on(game: Game, match: AssignedMatch, details: Object, record: Record = ()) -> Proof:
    """Say what the result of a match rests on that was played to its end."""
    replayed = _Replay(game, match, with_talk(game, details, record))
    try:
        replayed.run()
    except _Doubt as reason:
        return Proof("by_referee", replayed.unsigned, str(reason))
    except NotCanonicalError:
        return Proof("by_referee", replayed.unsigned, "what a player was shown has no digest")
    except (ValueError, KeyError, TypeError, AttributeError):
        # The report may have any shape: what the rules cannot replay is not proven.
        return Proof("by_referee", replayed.unsigned, "the reported choices cannot be replayed")
    if replayed.unsigned:
        doubt = SUSPICIOUS if len(replayed.unsigned) == len(match.keys) == len(SEATS) else ""
        return Proof("by_referee", replayed.unsigned, doubt)
    wrong = " and ".join(player for player in match.players if not replayed.is_signed_by(player))
    if wrong:
        doubt = f"the signature of {wrong} does not fit: {wrong} or {match.referee_id} may have spoiled it"
        return Proof("by_referee", (), doubt)
    return Proof("proven")


def with_talk(game: Game, details: Object, record: Record) -> Object:
    """Return the details with the talk that was too large for the report and is in the record.

    Players signed what they were shown of it. The same object comes back if the record has nothing to add.
    """
    if not game.talk or "talk" in details:
        return details
    talk = [
        {"turn": event.get("turn"), "by": event.get("player_id"), "text": event["talk"]}
        for event in record
        if event.get("event") == "MoveMade" and event.get("talk")
    ]
    return {**details, "talk": talk} if talk else details


class _Replay:
    """One match, replayed."""

    def __init__(self, game: Game, match: AssignedMatch, details: Object) -> None:
        self._game = game
        self._match = match
        self._details: Object = unpacked(details)
        self._talk = spoken_in(details, match.players)
        signatures = details.get("signatures")
        self._signatures = signatures if isinstance(signatures, Mapping) else {}
        self._choices: dict[str, list[str]] = {player: [] for player in match.players}
        self._views: dict[str, str | None] = dict.fromkeys(match.players)

    @property
    def unsigned(self) -> tuple[str, ...]:
        """The players that chose something, and have no key or no signature here."""
        keys = self._match.keys
        return tuple(
            player for player, chosen in self._choices.items() if chosen and not self._is_claimed_by(player, keys)
        )

    def _is_claimed_by(self, player: str, keys: Mapping[str, str]) -> bool:
        return bool(keys.get(player) and self._signatures.get(player))

    def is_signed_by(self, player: str) -> bool:
        """True if this player signed everything that the replay has of it."""
        match = self._match
        if not self._choices[player]:
            return True
        statement = ChoicesStatement(
            manager_key=match.manager_key,
            league_id=match.league_id,
            match_id=match.match_id,
            attempt=match.attempt,
            game_type=self._game.name,
            player_id=player,
            opponent_id=match.players[1 - match.players.index(player)],
            draw_commitment=self._details.get("draw_commitment"),
            share_commitment=match.share_commitment,
            choices=tuple(self._choices[player]),
            views=self._views[player],
        )
        return is_signed(self._signatures[player], match.keys[player], statement)

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
                moves = self._moves(state, steps, turn)
                if moves.keys() != set(mover.seats):
                    raise _Doubt("the reported choices are not those of the players to move")
                for seat, choice in moves.items():
                    self._chosen(state, seat, turn, choice)
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

    def _moves(self, state: Any, steps: Sequence[object], turn: int) -> dict[Seat, str]:
        if turn > len(steps):
            raise _Doubt("the reported choices end before the game does")
        step = steps[turn - 1]
        if isinstance(step, dict) and None in step.values():
            raise _Doubt("a choice is missing")
        return by_seat(self._game.rules, state, step, self._match.players)

    def _chosen(self, state: Any, seat: Seat, turn: int, choice: str) -> None:
        """Add a choice to what its player must have signed, and the question before it."""
        players = self._match.players
        player = players[seat]
        self._choices[player].append(choice)
        if player not in self.unsigned:
            request = move_request(self._game, state, seat, turn, self._talk, players)
            self._views[player] = chained(self._views[player], request)

    def _number(self, index: int, weights: Sequence[int]) -> int:
        """The number that seed and share give, if they are the promised ones."""
        match = self._match
        seed = self._details.get("draw_seed")
        commitment = self._details.get("draw_commitment")
        if not match.share_commitment:
            raise _Doubt("the manager had no share in the draw")
        if match.first_drawn < match.attempt and match.first_drawn:
            raise _Doubt("the draw of an earlier attempt was known")
        if not seed or not commitment:
            # Third-party referees promise nothing, and so break no promise.
            raise _Doubt("nobody knows whether the number was fixed before: the report has no seed or no commitment")
        drawn = draw.opened(
            str(seed),
            self._details.get("draw_share"),
            match.share_commitment,
            promised=str(commitment),
            league_id=match.league_id,
            match_id=match.match_id,
            attempt=match.attempt,
        )
        if drawn is None:
            raise _Doubt("the number was not fixed before: the seed does not open the commitment")
        return draw.event(drawn, match.league_id, match.match_id, match.attempt, index, weights)


# --- before a draw ----------------------------------------------------------------------------------------------------


def awaits_draw(game: Game, players: Players, handed_in: Mapping[str, Any]) -> bool:
    """Whether these choices are legal, and the first draw comes next."""
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
    steps = handed_in["moves"] if "moves" in handed_in else [handed_in["choices"]]
    return replay(game.rules, steps, (), players).state
