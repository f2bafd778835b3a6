"""The board of a match, move by move, for games that have one. It is shown when the match is over, and not before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from league.events import ResultAccepted
from league.games import registry
from league.games.contract import SEATS, Board, Game, Players
from league_records.match_facts import MatchFacts


@dataclass(frozen=True, slots=True)
class BoardCell:
    """`is_new` marks a cell that the move has changed."""

    text: str
    is_new: bool


@dataclass(frozen=True, slots=True)
class BoardView:
    """The board after a move, or before the first."""

    caption: str
    rows: tuple[tuple[BoardCell, ...], ...]


def board_views(facts: MatchFacts) -> tuple[BoardView, ...]:
    """The boards of the result in force, as far as its moves can be played."""
    game = registry.find(facts.game_type)
    if game is None or game.board is None or not isinstance(facts.result, ResultAccepted):
        return ()
    moves = facts.result.details.get("moves")
    if not isinstance(moves, list):
        return ()
    return tuple(_played(game, moves, facts.players))


def _played(game: Game, moves: Sequence[object], players: Players) -> Iterator[BoardView]:
    assert game.board is not None, "only games with a board come here"
    state = game.rules.start()
    board = game.board(state)
    yield _view("Start", board, board)
    for number, move in enumerate(moves[: game.turns], start=1):
        if not isinstance(move, Mapping) or not set(move) <= set(players):
            return
        choices = {}
        for player, choice in move.items():
            seat = SEATS[players.index(player)]
            choices[seat] = choice
        # A referee may report anything: the boards end at the first move that the rules reject.
        try:
            state = game.rules.play(state, choices)
        except (ValueError, TypeError):
            return
        before = board
        board = game.board(state)
        chosen = [f"{player}: {choice}" for player, choice in move.items()]
        caption = f"{number}. {', '.join(chosen)}"
        yield _view(caption, board, before)


def _view(caption: str, board: Board, before: Board) -> BoardView:
    """The board, with marks on what differs from the one before."""
    old = {}
    for y, row in enumerate(before):
        for x, text in enumerate(row):
            old[y, x] = text
    rows = []
    for y, row in enumerate(board):
        cells = []
        for x, text in enumerate(row):
            # A board may grow: a cell that was not there was empty.
            is_new = old.get((y, x), "") != text
            cells.append(BoardCell(text, is_new))
        rows.append(tuple(cells))
    return BoardView(caption, tuple(rows))
