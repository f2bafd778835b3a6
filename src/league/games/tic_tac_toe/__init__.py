"""Tic-tac-toe: a game in which players take turns."""

from league.games.contract import Game
from league.games.tic_tac_toe.rules import CELLS, TicTacToe
from league.games.tic_tac_toe.wire import wire

RULES = TicTacToe()
RULES_TEXT = (
    'Players take turns to mark a free cell of a board of three by three. The cells are called "0" to "8", row by row '
    "from the top left. PLAYER_A marks X and begins, PLAYER_B marks O. Three marks of one's own in a row, column or "
    "diagonal win; a full board without is a draw. Choose the cell to mark."
)
GAME = Game("tic_tac_toe", RULES, wire(RULES), turns=len(CELLS), rules_text=RULES_TEXT, board=RULES.board)
