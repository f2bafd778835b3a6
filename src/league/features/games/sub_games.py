"""A match made of several short games, in which the players swap seats after each.

The author writes the rules of one short game, whose seats are its roles: seat 0 is the cop, say, and seat 1 the thief.
`SubGames` plays it as often as it is told to. The returns of all of them are added up, so that both players get the
same chances however unfair the roles are. With returns that differ by role this is a table of points per role.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Generic

from msgspec import Struct, structs

from league.games.contract import (
    NOBODY,
    PLAYER_A,
    PLAYER_B,
    TURN,
    BaseRules,
    Mover,
    Outcome,
    Rules,
    Seat,
    State,
    opponent,
)
from league.games.moves import Step


class Finished(Struct, frozen=True):
    """A short game that is over: its last state, the returns of PLAYER_A and PLAYER_B, and whether they had swapped."""

    state: Any
    returns: tuple[float, ...]
    swapped: bool


class SubGameState(Struct, frozen=True):
    """The short games so far, the state of the current one, and all steps of the match."""

    current: Any
    finished: tuple[Finished, ...] = ()
    history: tuple[Step, ...] = ()


class SubGames(BaseRules, Generic[State]):
    """The rules of `count` games by `rules`, with swapped seats in every second one."""

    def __init__(self, rules: Rules[State], count: int) -> None:
        if count < 1:
            raise ValueError(f"a match has at least one game, not {count}")
        self.rules = rules
        self.count = count

    def start(self) -> SubGameState:
        return SubGameState(self.rules.start())

    def to_move(self, state: SubGameState) -> Mover:
        mover = self.rules.to_move(state.current)
        if mover.kind == "nobody":
            return NOBODY
        if len(mover.seats) == 1:
            return TURN[self.seat_in(state, mover.seats[0])]
        return mover

    def legal_moves(self, state: SubGameState, seat: Seat) -> tuple[str, ...]:
        return self.rules.legal_moves(state.current, self.seat_in(state, seat))

    def accepts(self, state: SubGameState, seat: Seat, move: str) -> bool:
        return self.rules.accepts(state.current, self.seat_in(state, seat), move)

    def role(self, state: SubGameState, seat: Seat) -> str:
        return self.rules.role(state.current, self.seat_in(state, seat))

    def play(self, state: SubGameState, moves: Mapping[Seat, str]) -> SubGameState:
        seated = {self.seat_in(state, seat): move for seat, move in moves.items()}
        return self._after(state, self.rules.play(state.current, seated), dict(moves))

    def draw(self, state: SubGameState, number: int) -> SubGameState:
        return self._after(state, self.rules.draw(state.current, number), number)

    def outcome(self, state: SubGameState) -> Outcome | None:
        if len(state.finished) < self.count:
            return None
        first, second = self.returns(state)
        return Outcome(
            (first, second),
            f"{{A}} got {first:g} and {{B}} got {second:g} in {self.count} games",
        )

    def view(self, state: SubGameState, seat: Seat) -> dict[str, object]:
        """The current game as its role may see it, the returns so far, and the end of the game before."""
        number = min(len(state.finished) + 1, self.count)
        returns = self.returns(state)
        view: dict[str, object] = {
            **self.rules.view(state.current, self.seat_in(state, seat)),
            "game": number,
            "games": self.count,
            "returns": {"you": returns[seat], "opponent": returns[opponent(seat)]},
        }
        if state.finished:
            last = state.finished[-1]
            last_seat = opponent(seat) if last.swapped else seat
            view["last_game"] = {
                "role": self.rules.role(last.state, last_seat),
                "returns": {
                    "you": last.returns[seat],
                    "opponent": last.returns[opponent(seat)],
                },
                **self.rules.view(last.state, last_seat),
            }
        return view

    def returns(self, state: SubGameState) -> tuple[float, float]:
        """What both players got so far."""
        first = sum(game.returns[PLAYER_A] for game in state.finished)
        second = sum(game.returns[PLAYER_B] for game in state.finished)
        return first, second

    def seat_in(self, state: SubGameState, seat: Seat) -> Seat:
        """Turn a seat of the match into a seat of the current game, or the other way round."""
        return opponent(seat) if self._is_swapped(state) else seat

    def shown(self, state: SubGameState) -> tuple[Any, bool]:
        """The short game that a page shows, and whether its seats are swapped: the last one until the next begins."""
        if state.finished and state.current == self.rules.start():
            last = state.finished[-1]
            return last.state, last.swapped
        return state.current, self._is_swapped(state)

    def _is_swapped(self, state: SubGameState) -> bool:
        # After the last game the seats stay as they were in it.
        return min(len(state.finished), self.count - 1) % 2 == 1

    def _after(self, state: SubGameState, current: State, step: Step) -> SubGameState:
        """The state after a step; a game that is over makes room for the next one."""
        history = (*state.history, step)
        outcome = self.rules.outcome(current)
        if outcome is None:
            return structs.replace(state, current=current, history=history)
        swapped = self._is_swapped(state)
        returns = outcome.returns[::-1] if swapped else outcome.returns
        finished = (*state.finished, Finished(current, returns, swapped))
        if len(finished) < self.count:
            current = self.rules.start()
        return SubGameState(current, finished, history)
