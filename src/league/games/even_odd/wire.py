"""Even/Odd on the wire: its messages, the drawn number, and what reported details say about the winner (R-10)."""

from collections.abc import Mapping
from typing import TypeGuard

from league.games.contract import (
    NOTHING_PENDING,
    PLAYER_A,
    PLAYER_B,
    ChanceStep,
    Players,
    Seat,
    Verdict,
)
from league.games.even_odd.rules import (
    HIGHEST,
    LOWEST,
    PARITIES,
    EvenOddState,
    parity,
    winner,
)


class EvenOddWire:
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
