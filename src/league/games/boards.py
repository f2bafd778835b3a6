"""What a board looks like: cells with shapes and colours, hands of cards, or text.

A game draws a state with these in its own module, and every page shows it: that of a newcomer's game looks like ours.
A board that is only a tuple of rows of texts is a grid of letters.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Shape = Literal["", "disc", "ring", "cross", "square"]
Color = Literal["", "red", "yellow", "blue", "green", "black", "white"]
Surface = Literal["grid", "holes", "checkered"]
Seat = int


class Piece(Struct, frozen=True, omit_defaults=True):
    """What is in a cell. A screen reader says the text, or the name of the piece if it is shown as a shape."""

    text: str = ""
    shape: Shape = ""
    color: Color = ""
    name: str = ""


Board = tuple[tuple[str | Piece, ...], ...]
"""The cells, row by row; an empty text for an empty cell."""


class Cards(Struct, frozen=True, omit_defaults=True):
    """The hand of a seat; None for cards that are nobody's. An empty text is a card that lies face down."""

    seat: Seat | None
    faces: tuple[str, ...]
    note: str = ""
    """What is said beside it, such as a bet."""


class Picture(Struct, frozen=True, omit_defaults=True):
    """A whole board. `columns` and `lines` name the columns and rows of its cells; `text` stands below them."""

    cells: Board = ()
    hands: tuple[Cards, ...] = ()
    text: str = ""
    surface: Surface = "grid"
    columns: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()


def picture(board: Picture | Board) -> Picture:
    """Return a board as a picture; a game may draw its cells alone."""
    return board if isinstance(board, Picture) else Picture(board)
