"""The wire of games played with GAME_MOVE_CALL, and the replay that confirms their results.

It serves every game without chance whose state holds its moves: such a game only says how to read them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar, Generic

from league.games.contract import (
    NOTHING_PENDING,
    SEATS,
    Players,
    Rules,
    Seat,
    State,
    Verdict,
)

Step = Mapping[Seat, str]
"""The move of the seat whose turn it was, or the moves of both if they moved at the same time."""


@dataclass(frozen=True, slots=True)
class MoveWire(Generic[State]):
    """The wire of such a game; `history` reads the moves from its state."""

    rules: Rules[State]
    history: Callable[[State], tuple[Step, ...]]
    move_type: str
    response_type: ClassVar[str] = "GAME_MOVE_RESPONSE"
    illegal_move: ClassVar[str] = "E024"

    def move_request(self, state: State, seat: Seat) -> dict[str, object]:
        return {
            "move_type": self.move_type,
            "valid_options": list(self.rules.legal_moves(state, seat)),
            "context": self.rules.view(state, seat),
        }

    def game_result(
        self, state: State, players: Players, technical: bool, pending: Step = NOTHING_PENDING
    ) -> dict[str, object]:
        steps = self.history(state)
        counted_steps = (*steps, pending) if technical else steps
        return {
            "choices": _choices(counted_steps, players),
            "moves": [{players[seat]: move for seat, move in step.items()} for step in steps],
        }

    def details(
        self, state: State, players: Players, technical: bool, pending: Step = NOTHING_PENDING
    ) -> dict[str, object]:
        return self.game_result(state, players, technical, pending)

    def verdict(self, details: Mapping[str, object], players: Players) -> Verdict:
        moves = details.get("moves")
        choices = details.get("choices")
        if not isinstance(moves, list):
            return Verdict("insufficient", None, "the moves are not listed")
        if choices is not None and not (isinstance(choices, Mapping) and set(choices) <= set(players)):
            return Verdict("impossible", None, "choices may only name the two players")
        # The moves decide; the choices only have to agree with them.
        try:
            state = self._replay(moves, players)
        except ValueError as error:
            return Verdict("impossible", None, str(error))
        if choices is not None and not self._agrees(choices, state, players):
            return Verdict("impossible", None, "the choices are not the last moves of their players")
        outcome = self.rules.outcome(state)
        if outcome is None:
            # A referee stops early only because a player failed.
            return Verdict("technical", None, f"the game stopped after {len(moves)} moves, before its end")
        return Verdict("confirmed", outcome.winner, outcome.explanation(players))

    def _agrees(
        self,
        choices: Mapping[str, object],
        state: State,
        players: Players,
    ) -> bool:
        """Whether each choice is its player's last move, or a legal one in the phase in which the game stopped."""
        last_moves = _choices(self.history(state), players)
        for player, choice in choices.items():
            legal_moves = self.rules.legal_moves(state, SEATS[players.index(player)])
            if choice not in (None, last_moves[player], *legal_moves):
                return False
        return True

    def _replay(self, moves: list[object], players: Players) -> State:
        state = self.rules.start()
        for place, move in enumerate(moves, start=1):
            try:
                state = self.rules.play(state, _by_seat(move, players))
            except ValueError as error:
                raise ValueError(f"move {place}: {error}") from error
        return state


def _choices(
    steps: tuple[Step, ...],
    players: Players,
) -> dict[str, object]:
    """The last valid choice received from each player, null if there was none (R-09)."""
    last_moves: dict[Seat, str] = {}
    for step in steps:
        last_moves.update(step)
    return {players[seat]: last_moves.get(seat) for seat in SEATS}


def _by_seat(move: object, players: Players) -> dict[Seat, str]:
    """Read one entry of `moves`, which names players, by seat."""
    if not isinstance(move, Mapping):
        raise ValueError("not an object of player ids and choices")
    by_seat: dict[Seat, str] = {}
    for player, choice in move.items():
        if player not in players or not isinstance(choice, str):
            raise ValueError("not a choice of one of the two players")
        by_seat[SEATS[players.index(player)]] = choice
    return by_seat
