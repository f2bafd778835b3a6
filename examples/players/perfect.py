"""Play Tic-Tac-Toe: python perfect.py --manager http://127.0.0.1:8000/mcp

It needs a league of this game: league manager --game tic_tac_toe, league referee --game tic_tac_toe.
"""

from functools import cache

from league import Player, Turn, serve

LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))
OTHER = {"X": "O", "O": "X"}

Board = tuple[str, ...]
"""Nine cells, row by row: "X", "O" or ""."""


class Perfect(Player):
    """Looks at every possible continuation: it never loses, and takes the quickest win."""

    games = ("tic_tac_toe",)

    def move(self, turn: Turn) -> str:
        board: Board = tuple(turn.view["board"])
        mark: str = turn.view["your_mark"]
        return max(turn.options, key=lambda cell: -worth(marked(board, int(cell), mark), OTHER[mark]))


def marked(board: Board, cell: int, mark: str) -> Board:
    return (*board[:cell], mark, *board[cell + 1 :])


@cache
def worth(board: Board, mark: str) -> int:
    """The value for the player whose turn it is: above 0 won, below 0 lost; larger means sooner."""
    free = [cell for cell in range(9) if not board[cell]]
    if any(all(board[cell] == OTHER[mark] for cell in line) for line in LINES):
        return -1 - len(free)
    if not free:
        return 0
    return max(-worth(marked(board, cell, mark), OTHER[mark]) for cell in free)


if __name__ == "__main__":
    serve(Perfect(name="Perfect"))
