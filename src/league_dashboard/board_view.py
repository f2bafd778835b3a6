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
    """`is_new` marks what the move has changed."""

    text: str
    is_new: bool


@dataclass(frozen=True, slots=True)
class BoardView:
    """The board after a move, or before the first."""

    caption: str
    rows: tuple[tuple[BoardCell, ...], ...]


def board_views(facts: MatchFacts) -> tuple[BoardView, ...]:
    """From the moves that the result in force names, as far as they can be played."""
    game, result = registry.find(facts.game_type), facts.result
    if game is None or game.board is None or not isinstance(result, ResultAccepted):
        return ()
    moves = result.details.get("moves")
    return tuple(_played(game, moves, facts.players)) if isinstance(moves, list) else ()


def _played(game: Game, moves: Sequence[object], players: Players) -> Iterator[BoardView]:
    assert game.board is not None, "it has one"
    state = game.rules.start()
    board = game.board(state)
    yield _view("Start", board, board)
    for number, move in enumerate(moves[: game.turns], start=1):
        if not isinstance(move, Mapping) or not set(move) <= set(players):
            return
        try:
            state = game.rules.play(state, {SEATS[players.index(player)]: choice for player, choice in move.items()})
        except (ValueError, TypeError):
            return  # a referee may report anything
        before, board = board, game.board(state)
        chosen = ", ".join(f"{player}: {choice}" for player, choice in move.items())
        yield _view(f"{number}. {chosen}", board, before)


def _view(caption: str, board: Board, before: Board) -> BoardView:
    old = {(y, x): text for y, row in enumerate(before) for x, text in enumerate(row)}
    rows = (
        tuple(BoardCell(text, old.get((y, x), "") != text) for x, text in enumerate(row)) for y, row in enumerate(board)
    )
    return BoardView(caption, tuple(rows))
