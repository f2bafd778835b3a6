"""A match as it is looked at: its boards, move by move, and beside them the players, their clocks and the moves.

The boards of a match that is over come from its result; those of a match that is being played from what its referee has
told everybody (`live.v1`). What a game hides is never drawn before the end. Each board is part of the page; `board.js`
shows one of them at a time, large, with buttons for the moves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from league.events import MoveMade, ResultAccepted
from league.features.dashboard.views.league_view import NamedAgent
from league.features.records.match_facts import MatchFacts
from league.games import registry
from league.games.boards import Picture, Piece, picture
from league.games.contract import Cells, Game
from league.games.moves import Position, course
from league.machine import LiveMatch

NO_CELLS: Cells = frozenset()


@dataclass(frozen=True, slots=True)
class BoardCell:
    """`is_new` marks a cell that the move has changed, `is_winning` one that wins the match."""

    piece: Piece
    is_new: bool
    is_winning: bool


@dataclass(frozen=True, slots=True)
class BoardView:
    """The board after so many moves; `movers` are the seats that moved, and `move` says what they did."""

    number: int
    caption: str
    picture: Picture
    rows: tuple[tuple[BoardCell, ...], ...]
    movers: tuple[int, ...] = ()
    move: str = ""
    clocks: tuple[str, ...] = ()
    """What both players have left of their time, in games with a clock."""


@dataclass(frozen=True, slots=True)
class SeatView:
    """A player beside the board. `mark` is what its moves leave on the board, if that is always the same."""

    player: NamedAgent
    mark: Piece | None
    points: int | None = None
    is_winner: bool = False
    status: str = ""
    clock: str = ""
    left_s: int | None = None
    """The seconds that it has left in a match that is being played, if its clock runs."""


@dataclass(frozen=True, slots=True)
class PlayView:
    """All of it. Of a match without a board, only its moves are shown."""

    match_id: str
    seats: tuple[SeatView, ...]
    boards: tuple[BoardView, ...]
    is_live: bool
    note: str = ""
    """How it ended by the rules, or what is not shown yet."""

    @property
    def has_boards(self) -> bool:
        return any(board.picture != Picture() for board in self.boards)


def play_view(facts: MatchFacts) -> PlayView | None:
    """A match as its page shows it; None if there is nothing to be seen of it."""
    game = registry.find(facts.game_type)
    result = facts.result
    players = _named(facts.players, facts.league.names)
    if game is None:
        return None
    if facts.live is not None:
        return live_view(game.name, facts.match_id, players, facts.live)
    if not isinstance(result, ResultAccepted):
        return None
    moves = result.details.get("moves")
    draws = result.details.get("draws", [])
    if moves is None and game.single_draw_last and result.details.get("drawn_number") is not None:
        moves = [result.details.get("choices")]
        draws = [result.details.get("drawn_number")]
    if not isinstance(moves, list) or not isinstance(draws, list):
        return None
    clocks = _clocks(facts, game)
    positions = _positions(game, facts.players, moves[: game.turns], draws)
    boards = tuple(replace(board, clocks=clocks.get(board.number, ())) for board in _boards(game, positions, players))
    seats = []
    for seat, player in enumerate(players):
        view = SeatView(
            player=player,
            mark=_mark_of(seat, boards),
            points=facts.points.get(player.agent_id),
            is_winner=result.winner == player.agent_id,
            clock=boards[-1].clocks[seat] if boards[-1].clocks else "",
        )
        seats.append(view)
    outcome = game.rules.outcome(positions[-1].state)
    note = "" if outcome is None else outcome.explanation((players[0].name, players[1].name))
    return PlayView(facts.match_id, tuple(seats), boards, is_live=False, note=note)


def live_view(game_type: str, match_id: str, players: Sequence[NamedAgent], live: LiveMatch) -> PlayView:
    """A match that is being played, as far as everybody may see it."""
    game = registry.find(game_type)
    assert game is not None, "a league plays a game that is installed"
    ids = tuple(player.agent_id for player in players)
    positions = _positions(game, ids, live.turns, live.draws)
    boards = tuple(_boards(game, positions, players)) if game.is_public else ()
    if live.board is not None and not game.is_public:
        shown = msgspec.convert(live.board, Picture)
        boards = (BoardView(0, "Now", shown, _cells(shown, shown)),)
    # In a game that hides something, only who is asked together with the other one is known to be asked.
    turn = game.rules.to_move(positions[-1].state).seats
    is_known = game.is_public or len(turn) > 1
    seats = []
    for seat, player in enumerate(players):
        status = ""
        if player.agent_id not in live.joined:
            status = "is invited"
        elif player.agent_id in live.answered:
            status = "has chosen"
        elif is_known and seat in turn and len(live.joined) == len(players):
            status = "is thinking"
        left_s = live.clock.get(player.agent_id)
        clock = "" if left_s is None else _minutes(left_s)
        runs = status == "is thinking" and left_s is not None
        left = int(left_s or 0) if runs else None
        seats.append(SeatView(player, _mark_of(seat, boards), status=status, clock=clock, left_s=left))
    note = "" if game.is_public else "Players see only what is theirs. The moves are shown when the match is over."
    return PlayView(match_id, tuple(seats), boards, is_live=True, note=note)


def _named(players: Sequence[str], names: Mapping[str, str]) -> tuple[NamedAgent, ...]:
    return tuple(NamedAgent(player, names.get(player) or player) for player in players)


def _minutes(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


def _clocks(facts: MatchFacts, game: Game) -> Mapping[int, tuple[str, ...]]:
    """What both players had left after each turn, in games with a clock."""
    clock_s = game.clock_s(facts.taken.move_seconds) if facts.taken is not None else None
    left_s = dict.fromkeys(facts.players, clock_s or 0.0)
    clocks = {}
    for event in facts.events_in(facts.counted_attempt):
        if isinstance(event, MoveMade) and clock_s is not None:
            left_s[event.player_id] = max(left_s[event.player_id] - event.took, 0.0)
            clocks[event.turn] = tuple(map(_minutes, left_s.values()))
    return clocks


def _mark_of(seat: int, boards: Sequence[BoardView]) -> Piece | None:
    own = [board for board in boards if board.movers == (seat,)]
    marks = {cell.piece for board in own for row in board.rows for cell in row if cell.is_new}
    # In some games a move takes something away, or leaves different things.
    return marks.pop() if len(marks) == 1 and Piece() not in marks else None


def _positions(
    game: Game, players: tuple[str, ...], moves: Sequence[object], draws: Sequence[object]
) -> Sequence[Position[Any]]:
    """The course of a match, as far as its moves can be played."""
    positions = []
    # A referee may report anything: the boards end at the first move or draw that the rules reject.
    with suppress(ValueError, TypeError, LookupError):
        for position in course(game.rules, moves, draws, players):
            positions.append(position)  # noqa: PERF402 - what comes before an error counts
    return positions


def _boards(game: Game, positions: Sequence[Position[Any]], players: Sequence[NamedAgent]) -> Iterator[BoardView]:
    before: Picture | None = None
    number = 0
    for position in positions:
        shown = Picture() if game.board is None else picture(game.board(position.state))
        caption = "Start" if before is None else "Chance"
        # Of choices at once, the one that came first may be anybody's.
        moves = dict(sorted(position.moves.items()))
        winning = NO_CELLS
        if moves:
            number += 1
            caption = f"{number}. {', '.join(f'{players[seat].name}: {moves[seat]}' for seat in moves)}"
            if game.winning_cells is not None:
                winning = game.winning_cells(position.state)
        cells = _cells(shown, before or shown, winning)
        yield BoardView(number, caption, shown, cells, tuple(moves), " · ".join(moves.values()))
        before = shown


def _cells(shown: Picture, before: Picture, winning: Cells = NO_CELLS) -> tuple[tuple[BoardCell, ...], ...]:
    """The cells, with marks on what differs from the board before, and on what wins."""
    old = {(y, x): piece for y, row in enumerate(before.cells) for x, piece in enumerate(row)}
    rows = []
    for y, row in enumerate(shown.cells):
        cells = []
        for x, piece in enumerate(row):
            # A board may grow: a cell that was not there was empty.
            is_new = old.get((y, x), "") != piece
            cells.append(BoardCell(Piece(piece) if isinstance(piece, str) else piece, is_new, (y, x) in winning))
        rows.append(tuple(cells))
    return tuple(rows)
