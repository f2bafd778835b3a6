"""The rules of any game of OpenSpiel, and how its states are shown.

Theory of operation. OpenSpiel changes its states in place; the league wants a new one for every step, so each step
works on a copy. Chance is never left to OpenSpiel: `to_move` lists the probabilities of its events, and the league's
proven draw picks one.

What must never happen: a seat is shown what OpenSpiel's observation of that seat leaves out. Only a game in which
nothing is hidden shows its actions so far, from which a bot makes the whole state anew.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import compress
from string import ascii_lowercase
from typing import Any

import pyspiel

from league.games.boards import Picture, Piece
from league.games.contract import (
    BOTH,
    NOBODY,
    SEATS,
    TURN,
    BaseRules,
    Mover,
    Outcome,
    Seat,
    chance,
    require_legal,
)
from league.games.moves import Step

EMPTY = frozenset(".-+_ ")
LARGEST_FIELD = 5_000
"""A question has limited room: longer lists of actions and information states, in characters, are left out."""
LARGEST_OPTIONS = 4_000
"""Words that all options share are left out if the options have more characters than this together."""
LARGEST_TENSOR = 2_500
DISCS = (Piece(shape="disc", color="black", name="black"), Piece(shape="disc", color="white", name="white"))
MARKS = (Piece(shape="cross", color="blue", name="x"), Piece(shape="ring", color="red", name="o"))
SIDES = {
    "xo": DISCS,
    "XO": DISCS,
    "bw": DISCS,
    "BW": DISCS,
    "+o*8": (*DISCS, *(Piece("♛", "disc", color, f"{color} king") for color in ("black", "white"))),
    "RY": (Piece(shape="disc", color="red", name="red"), Piece(shape="disc", color="yellow", name="yellow")),
}
"""The letters of two sides, the first one first, and what boards show for them."""
_MEN = zip("kqrbnp", "♚♛♜♝♞♟", ("king", "queen", "rook", "bishop", "knight", "pawn"), strict=True)
CHESSMEN: dict[str, Piece] = {}
for _letter, _figure, _name in _MEN:
    # Without the selector a pawn would be an emoji.
    CHESSMEN[_letter] = Piece(f"{_figure}\ufe0e", color="black", name=f"black {_name}")
    CHESSMEN[_letter.upper()] = Piece(f"{_figure}\ufe0e", color="white", name=f"white {_name}")


class SpielState:
    """A state of OpenSpiel (Any: it has no types) and the steps that led to it. Nobody changes it."""

    def __init__(self, spiel: Any, history: tuple[Step, ...] = ()) -> None:
        self.spiel = spiel
        self.history = history

    def __repr__(self) -> str:
        return f"SpielState({self.history})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SpielState) and other.history == self.history

    def __hash__(self) -> int:
        return hash(repr(self))

    @cached_property
    def mover(self) -> Mover:
        if self.spiel.is_terminal():
            return NOBODY
        if self.spiel.is_chance_node():
            return chance([probability for _, probability in self.spiel.chance_outcomes()])
        if not self.spiel.is_simultaneous_node():
            seat: Seat = self.spiel.current_player()
            return TURN[seat]
        # A seat that cannot act at the moment is not asked.
        seats = tuple(seat for seat in SEATS if self.spiel.legal_actions(seat))
        return BOTH if len(seats) > 1 else TURN[seats[0]]

    @cached_property
    def options(self) -> tuple[dict[str, int], dict[str, int]]:
        """The legal actions of both seats by OpenSpiel's words for them."""
        return self._options(SEATS[0]), self._options(SEATS[1])

    def _options(self, seat: Seat) -> dict[str, int]:
        options: dict[str, int] = {}
        if seat not in self.mover.seats:
            return options
        actions = self.spiel.legal_actions(seat)
        texts = [self.spiel.action_to_string(seat, action) for action in actions]
        for action, text in zip(actions, _fitting(texts), strict=True):
            # In some games two actions have one name.
            options[f"{text} ({action})" if text in options else text] = action
        return options


def _fitting(texts: list[str]) -> list[str]:
    """The texts as they are; if they are too long for a question, without the words that all of them share."""
    if sum(map(len, texts)) <= LARGEST_OPTIONS:
        return texts
    rows = [text.split() for text in texts]
    differ = [len(set(column)) > 1 for column in zip(*rows, strict=False)]
    if len({len(row) for row in rows}) > 1:
        return texts
    return [" ".join(compress(row, differ)) for row in rows]


class SpielRules(BaseRules):
    """The rules of one game; with `tensor`, views have OpenSpiel's tensor, too."""

    def __init__(self, game: Any, tensor: bool = False) -> None:
        self.game = game
        kind = game.get_type()
        self.kind = kind
        self.is_open = kind.information != pyspiel.GameType.Information.IMPERFECT_INFORMATION
        self.tensor = ""
        if tensor:
            self.tensor = "observation_tensor" if kind.provides_observation_tensor else "information_state_tensor"
            size = getattr(game, f"{self.tensor}_size")()
            if size > LARGEST_TENSOR:
                raise ValueError(f"a tensor of {size} numbers does not fit into a question")

    def start(self) -> SpielState:
        return SpielState(self.game.new_initial_state())

    def to_move(self, state: SpielState) -> Mover:
        return state.mover

    def legal_moves(self, state: SpielState, seat: Seat) -> tuple[str, ...]:
        return tuple(state.options[seat])

    def play(self, state: SpielState, moves: Mapping[Seat, str]) -> SpielState:
        require_legal(self, state, moves)
        spiel = state.spiel.clone()
        actions = [state.options[seat].get(moves.get(seat, ""), 0) for seat in SEATS]
        if spiel.is_simultaneous_node():
            spiel.apply_actions(actions)
        else:
            spiel.apply_action(actions[spiel.current_player()])
        return SpielState(spiel, (*state.history, dict(moves)))

    def draw(self, state: SpielState, number: int) -> SpielState:
        if number not in range(len(state.mover.weights)):
            raise ValueError(f"no event {number} can be drawn now")
        spiel = state.spiel.clone()
        spiel.apply_action(spiel.chance_outcomes()[number][0])
        return SpielState(spiel, (*state.history, number))

    def outcome(self, state: SpielState) -> Outcome | None:
        if state.mover is not NOBODY:
            return None
        first, second = state.spiel.returns()
        return Outcome((first, second), f"{{A}} got {first:g} and {{B}} got {second:g}")

    def view(self, state: SpielState, seat: Seat) -> dict[str, object]:
        view: dict[str, object] = {"player": seat, "legal_actions": list(state.options[seat].values())}
        if self.kind.provides_observation_string:
            view["observation"] = state.spiel.observation_string(seat)
        if self.tensor:
            # Whole numbers are shorter.
            numbers = getattr(state.spiel, self.tensor)(seat)
            view["tensor"] = [int(number) if number.is_integer() else number for number in numbers]
        elif self.is_open:
            view |= _short_enough("actions", state.spiel.history())
        elif self.kind.provides_information_state_string:
            view |= _short_enough("information_state", state.spiel.information_state_string(seat))
        return view


def _short_enough(name: str, value: object) -> dict[str, object]:
    """A field of a view, unless it is too long for a question."""
    return {name: value} if len(str(value)) <= LARGEST_FIELD else {}


def board(state: SpielState) -> Picture:
    """The grid in the text of a state, with stones, marks or chessmen if it has them; the text itself otherwise."""
    text = str(state.spiel)
    columns, lines, grid = _fen(text) or _labelled(text) or _plain(text)
    if not grid:
        return Picture(text=text)
    letters = {cell for row in grid for cell in row} - EMPTY
    if {".", "+"} <= {cell for row in grid for cell in row}:
        letters.add("+")
    sides = next((sides for sides in SIDES if letters <= set(sides)), "")
    pieces = {letter: Piece(letter) for letter in letters}
    if sides:
        pieces = dict(zip(sides, SIDES[sides], strict=True))
    if len(grid) == 3 and sides == "xo":
        pieces = dict(zip(sides, MARKS, strict=True))
    is_chess = not sides and letters <= CHESSMEN.keys()
    return Picture(
        tuple(tuple((CHESSMEN if is_chess else pieces).get(cell, Piece()) for cell in row) for row in grid),
        surface="checkered" if is_chess else "grid",
        columns=columns,
        lines=lines,
    )


Grid = tuple[tuple[str, ...], tuple[str, ...], Sequence[Sequence[str]]]
"""The names of the columns and rows of a board, and its rows."""
NO_GRID: Grid = ((), (), [])
SIGN = re.compile(r"\d+|\+?[a-zA-Z]")
"""What stands in a FEN: a number of empty cells, or a piece; in shogi, a piece with a plus is promoted."""
LABELLED = r"\s*(\d{1,2}?) ?((?:\S ?){%d})\s*\d*\s*"
"""A row of so many cells: its number, one character for each cell, and perhaps the number once more."""


def _fen(text: str) -> Grid | None:
    """The board of a FEN, in which a number stands for as many empty cells."""
    if "\n" in text or "/" not in text:
        return None
    # What follows in brackets is in somebody's hand.
    ranks = text.split()[0].partition("[")[0].split("/")
    rows = [
        [cell for sign in SIGN.findall(rank) for cell in ("." * int(sign) if sign.isdigit() else [sign])]
        for rank in ranks
    ]
    if len(rows) < 3 or len({len(row) for row in rows}) > 1:
        return None
    return tuple(ascii_lowercase[: len(rows[0])]), tuple(str(number) for number in range(len(rows), 0, -1)), rows


def _labelled(text: str) -> Grid | None:
    """A board whose rows are numbered, and whose columns have letters, as in Go."""
    headers = [line.replace(" ", "") for line in text.splitlines()]
    named = next((line for line in headers if line[:3].lower() == "abc"), "")
    row = re.compile(LABELLED % len(named))
    found = [match for line in text.splitlines() if (match := row.fullmatch(line))]
    if len(found) < 3 or not named:
        return None
    return tuple(named), tuple(match[1] for match in found), [match[2].replace(" ", "") for match in found]


def _plain(text: str) -> Grid:
    """Lines of as many single characters each."""
    split = [line.split() if " " in line.strip() else list(line.strip()) for line in text.splitlines() if line.strip()]
    is_square = len(split) > 1 and len({len(row) for row in split}) == 1 and len(split[0]) > 1
    if not is_square or any(len(cell) > 1 for row in split for cell in row):
        return NO_GRID
    return (), (), ["".join(row) for row in split]
