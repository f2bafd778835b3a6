"""Two stand-ins for language models, behind a provider that speaks OpenAI's chat completions on this machine.

`careful` wins if it can, and blocks if it must. `hasty` often takes any column, sometimes says so in many words, and
now and then refuses. Both read the board in the prompt, as a model would. Use the address of a real provider instead,
and the notebook studies real models.
"""

import hashlib
import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

COLUMNS, ROWS = 7, 6
STEPS = ((0, 1), (1, 0), (1, 1), (1, -1))
BY_WORTH = (3, 2, 4, 1, 5, 0, 6)

Board = list[str]
"""The rows of Connect Four, the top one first; a dot is an empty place."""


def free_columns(board: Board) -> list[int]:
    return [column for column in range(COLUMNS) if board[0][column] == "."]


def wins(board: Board, disc: str, column: int) -> bool:
    """Whether a disc in this column makes four in a line."""
    row = max(row for row in range(ROWS) if board[row][column] == ".")
    return any(
        1 + run(board, disc, row, column, step, 1) + run(board, disc, row, column, step, -1) >= 4 for step in STEPS
    )


def run(board: Board, disc: str, row: int, column: int, step: tuple[int, int], sign: int) -> int:
    """How many discs of this kind follow each other in a direction."""
    for length in range(4):
        row += sign * step[0]
        column += sign * step[1]
        if not (0 <= row < ROWS and 0 <= column < COLUMNS) or board[row][column] != disc:
            return length
    return 4


def winning(board: Board, disc: str) -> int | None:
    return next((column for column in free_columns(board) if wins(board, disc, column)), None)


def careful(board: Board, disc: str, lot: int) -> str:
    other = "Y" if disc == "R" else "R"
    for column in (winning(board, disc), winning(board, other)):
        if column is not None:
            return str(column + 1)
    free = [column for column in BY_WORTH if column in free_columns(board)]
    return str(free[lot % min(3, len(free))] + 1)


def hasty(board: Board, disc: str, lot: int) -> str:
    if lot % 40 == 0:
        return "I'm sorry, but I can't play games."
    column = winning(board, disc)
    if column is None or lot % 2:
        free = free_columns(board)
        column = free[lot % len(free)]
    return (
        f"I see {len(free_columns(board))} free columns.\n\nFinal answer: {column + 1}" if lot % 3 else str(column + 1)
    )


MODELS = {"careful": careful, "hasty": hasty}


def answer(request: dict[str, Any]) -> str:
    """What a model says to a conversation."""
    prompt = request["messages"][0]["content"]
    seen = re.search(r"What you can see of the game: (\{.*\})", prompt)
    if seen is None:
        return "ready"
    view = json.loads(seen[1])
    # The same question gets the same answer, as with a temperature of 0.
    lot = int.from_bytes(hashlib.sha256(f"{request['model']} {prompt}".encode()).digest()[:4], "big")
    return MODELS[request["model"]](view["board"], view["your_disc"], lot)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        text = answer(request)
        words = sum(len(message["content"].split()) for message in request["messages"])
        body = {
            "object": "chat.completion",
            "model": f"{request['model']}-2026-11",
            "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": words, "completion_tokens": len(text.split())},
        }
        raw = json.dumps(body).encode()
        head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(raw)}\r\n\r\n"
        self.wfile.write(head.encode() + raw)

    def log_message(self, *_: object) -> None:
        """The notebook shows results, not requests."""


def start() -> str:
    """Serve both models until the process ends; return the address of the provider."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_address[1]}/v1"
