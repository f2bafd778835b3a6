"""Even/Odd: both players name a parity at once, a number from 1 to 10 is drawn, and a player who alone was right wins.

The state goes through three phases: nobody has chosen, both have chosen, the number is drawn. Nobody sees a choice
before both are in.
"""

from collections.abc import Mapping
from typing import Final, TypeGuard

from msgspec import Struct

from league.games.boards import Cards, Picture
from league.games.contract import (
    BOTH,
    CHANCE,
    NOBODY,
    NOTHING_PENDING,
    PLAYER_A,
    PLAYER_B,
    SEATS,
    BaseRules,
    ChanceStep,
    Game,
    Mover,
    Outcome,
    Players,
    Seat,
    Verdict,
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


# --- on the wire ------------------------------------------------------------------------------------------------------


class EvenOddWire:
    """Its messages, the drawn number, and what reported details say about the winner (R-10)."""

    response_type = "CHOOSE_PARITY_RESPONSE"
    move_type = "choose_parity"
    illegal_move = "E004"

    def move_request(self, state: EvenOddState, seat: Seat) -> None:
        return None

    def game_result(
        self,
        state: EvenOddState,
        players: Players,
        technical: bool,
        pending: Mapping[Seat, str] = NOTHING_PENDING,
    ) -> dict[str, object]:
        # After a technical loss nothing counts as drawn, even if a number was.
        number = None if technical else state.number
        return {
            "drawn_number": number,
            "number_parity": None if number is None else parity(number),
            "choices": _choices(state, players, pending),
        }

    def details(
        self,
        state: EvenOddState,
        players: Players,
        technical: bool,
        pending: Mapping[Seat, str] = NOTHING_PENDING,
    ) -> dict[str, object]:
        return {
            "drawn_number": None if technical else state.number,
            "choices": _choices(state, players, pending),
        }

    def verdict(self, details: Mapping[str, object], players: Players) -> Verdict:
        choices = details.get("choices")
        if choices is None:
            choices = {}
        if not _may_be_choices(choices, players):
            return Verdict("impossible", None, "each choice must be even, odd or null, and by one of the two players")
        if "drawn_number" not in details:
            return Verdict("insufficient", None, "the drawn number is missing")
        number = details["drawn_number"]
        if number is None:
            return Verdict("technical", None, "no number was drawn")
        if type(number) is not int:  # true is not 1
            return Verdict("insufficient", None, "the drawn number is not a whole number")
        return _verdict(choices.get(players[PLAYER_A]), choices.get(players[PLAYER_B]), number)


def _choices(
    state: EvenOddState,
    players: Players,
    pending: Mapping[Seat, str],
) -> dict[str, object]:
    choices = state.choices or (pending.get(PLAYER_A), pending.get(PLAYER_B))
    return {players[PLAYER_A]: choices[PLAYER_A], players[PLAYER_B]: choices[PLAYER_B]}


def _may_be_choices(
    choices: object,
    players: Players,
) -> TypeGuard[Mapping[str, str | None]]:
    if not isinstance(choices, dict):
        return False
    for player, choice in choices.items():
        if player not in players or (choice is not None and choice not in PARITIES):
            return False
    return True


def _verdict(first: str | None, second: str | None, number: int) -> Verdict:
    if first is None or second is None:
        # D1 and D2 want a number in every report, so others' referees invent one for a technical loss.
        return Verdict("insufficient", None, "a number is given, but not both choices")
    seat = winner((first, second), number)
    if not LOWEST <= number <= HIGHEST:
        return Verdict("insufficient", seat, f"{number} is not from {LOWEST} to {HIGHEST}", implied=True)
    note = f"{first} and {second} were chosen, {number} was drawn"
    return Verdict("confirmed", seat, note, draws=(ChanceStep((), number),))


RULES_TEXT = (
    'Both players choose "even" or "odd" at the same time, and then a number from 1 to 10 is drawn. If both chose the '
    "same, it is a draw and each player gets 1 point. Otherwise the player who named the parity of the number wins "
    "3 points, and the other gets none."
)
GAME = Game(
    "even_odd",
    EvenOdd(),
    EvenOddWire(),
    title="Even/Odd",
    turns=1,
    measure="points",
    single_draw_last=True,
    rules_text=RULES_TEXT,
    board=board,
)
