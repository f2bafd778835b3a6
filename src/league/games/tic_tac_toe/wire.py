"""Tic-tac-toe on the wire: a choice is a cell, and `moves` lists the cells in the order they were marked."""

from league.games.contract import SEATS, Seat
from league.games.moves import MoveWire
from league.games.tic_tac_toe.rules import Marked, TicTacToe


def history(state: Marked) -> tuple[dict[Seat, str], ...]:
    return tuple({SEATS[place % 2]: cell} for place, cell in enumerate(state.cells))


def wire(rules: TicTacToe) -> MoveWire[Marked]:
    return MoveWire(rules, history, move_type="mark_cell", public_history=True)
