"""Even/Odd: both players name a parity at once, a number from 1 to 10 is drawn, and a player who alone was right wins.

The state goes through three phases: nobody has chosen, both have chosen, the number is drawn. Nobody sees a choice
before both are in.
"""

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from league.games.boards import Cards, Picture
from league.games.contract import (
    BOTH,
    CHANCE,
    NOBODY,
    PLAYER_A,
    PLAYER_B,
    SEATS,
    BaseRules,
    Mover,
    Outcome,
    Seat,
    opponent,
    require_legal,
    tie,
    win,
)

# In this order, a number modulo 2 is the index of its parity.
PARITIES: Final = ("even", "odd")
LOWEST: Final = 1
HIGHEST: Final = 10


class EvenOddState(Struct, frozen=True):
    choices: tuple[str, str] | None = None
    number: int | None = None


def parity(number: int) -> str:
    return PARITIES[number % 2]


def winner(choices: tuple[str, str], number: int) -> Seat | None:
    if choices[PLAYER_A] == choices[PLAYER_B]:
        return None
    return PLAYER_A if choices[PLAYER_A] == parity(number) else PLAYER_B


def board(state: EvenOddState) -> Picture:
    """What both players chose, and the number that was drawn."""
    choices = state.choices or ()
    hands = [Cards(seat, (choice,)) for seat, choice in enumerate(choices)]
    if state.number is not None:
        hands.append(Cards(None, (str(state.number),), "drawn"))
    return Picture(hands=tuple(hands))


class EvenOdd(BaseRules):
    def start(self) -> EvenOddState:
        return EvenOddState()

    def to_move(self, state: EvenOddState) -> Mover:
        if state.choices is None:
            return BOTH
        if state.number is None:
            return CHANCE
        return NOBODY

    def legal_moves(self, state: EvenOddState, seat: Seat) -> tuple[str, ...]:
        return PARITIES if state.choices is None else ()

    def play(self, state: EvenOddState, moves: Mapping[Seat, str]) -> EvenOddState:
        first = moves.get(PLAYER_A)
        second = moves.get(PLAYER_B)
        # Looked at here and not in `require_legal`, which has the words for what is wrong: a tournament plays millions.
        if state.choices is not None or len(moves) != len(SEATS) or first not in PARITIES or second not in PARITIES:
            require_legal(self, state, moves)
        return EvenOddState((moves[PLAYER_A], moves[PLAYER_B]))

    def draw(self, state: EvenOddState, number: int) -> EvenOddState:
        if state.choices is None or state.number is not None:
            raise ValueError("a number is drawn once, after both choices")
        if not LOWEST <= number <= HIGHEST:
            raise ValueError(f"{number} is not from {LOWEST} to {HIGHEST}")
        return EvenOddState(state.choices, number)

    def outcome(self, state: EvenOddState) -> Outcome | None:
        if state.choices is None or state.number is None:
            return None
        seat = winner(state.choices, state.number)
        # These sentences are the documents' own; third-party agents may read them.
        drawn = f"number was {state.number} ({parity(state.number)})"
        if seat is None:
            choice = state.choices[PLAYER_A]
            correctness = "correct" if choice == parity(state.number) else "incorrect"
            return tie(f"Both chose {choice}, {drawn} - both {correctness}")
        name = "{A}" if seat == PLAYER_A else "{B}"
        return win(seat, f"{name} chose {state.choices[seat]}, {drawn}")

    def view(self, state: EvenOddState, seat: Seat) -> dict[str, object]:
        if state.choices is None:
            return {}
        view: dict[str, object] = {"your_choice": state.choices[seat]}
        if state.number is not None:
            view["opponent_choice"] = state.choices[opponent(seat)]
            view["drawn_number"] = state.number
            view["number_parity"] = parity(state.number)
        return view
