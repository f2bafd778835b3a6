"""Tic-tac-toe: a game in which players take turns."""

from league.games.contract import Game
from league.games.tic_tac_toe.rules import CELLS, TicTacToe
from league.games.tic_tac_toe.wire import wire

RULES = TicTacToe()
GAME = Game("tic_tac_toe", RULES, wire(RULES), turns=len(CELLS), board=RULES.board)
