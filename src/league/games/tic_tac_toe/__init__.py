"""Tic-tac-toe: a game in which players take turns.

The table of games has it, and strategies search it. It is pure.
"""

from league.games.contract import Game, GameStrategy
from league.games.moves import MoveWire
from league.games.tic_tac_toe.rules import CELLS, TicTacToe
from league.games.tic_tac_toe.search import search

RULES = TicTacToe()
RULES_TEXT = (
    "Players take turns to mark a free cell on a board of three by three cells. The cells are numbered "
    '"0" to "8", row by row from the top left. PLAYER_A marks X and begins; PLAYER_B marks O. A player with three '
    "marks in a row, column or diagonal wins. If the board is full and nobody has three, the match is a draw. "
    "Choose the cell to mark."
)
GAME = Game(
    "tic_tac_toe",
    RULES,
    MoveWire(RULES, move_type="mark_cell", public_history=True),
    title="Tic-Tac-Toe",
    turns=len(CELLS),
    rules_text=RULES_TEXT,
    board=RULES.board,
    winning_cells=RULES.winning_cells,
    strategies={"search": GameStrategy("never loses", search)},
)
