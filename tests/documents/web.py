"""The part of the programs in this folder that no document describes: options, an HTTP server, and POST requests.

Everything else in a program is written from its document alone, with the JSON that this document prints.
"""

import argparse
import json
import sys
import threading
import time
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ANSWER_S = 10.0
_saying = threading.Lock()
_receiving = threading.Lock()
over = threading.Event()
"""Set when the program has nothing more to do."""


def read_options():
    """Read the command line, which all programs share."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--manager", default="", help="where the League Manager listens")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--name", default="Agent Alpha")
    parser.add_argument("--player", action="append", default=[], metavar="ID=URL", help="where a player listens")
    parser.add_argument("--players", type=int, default=2, help="how many players a league has")
    parser.add_argument("--asks", action="store_true", help="ask the League Manager for the schedule")
    parser.add_argument("--lead", type=float, default=0.0, help="seconds between an announcement and its matches")
    parser.add_argument(
        "--reads-senders", action="store_true", help="take a member's id from the sender of its request"
    )
    parser.add_argument("--draw-word", help="count a draw only if this is the winner, otherwise as two losses")
    parser.add_argument("--early", action="store_true", help="publish the whole schedule before its rounds")
    parser.add_argument("--report-s", type=float, default=0.0, help="seconds that every report takes")
    options = parser.parse_args()
    options.homes = dict(home.split("=", 1) for home in options.player)
    return options


def say(line):
    with _saying:
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()


def serve(port, receive):
    """Serve in the background and return our endpoint. `receive` gets a JSON object and returns one, or None."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            raw = self.rfile.read(int(self.headers.get("Content-Length", "0")))
            with _receiving:
                answer = receive(json.loads(raw))
            body = b"" if answer is None else json.dumps(answer).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format, *args):  # noqa: A002 - the name in the base class
            """Print nothing: what the program says is read by tests."""

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    endpoint = f"http://127.0.0.1:{server.server_address[1]}/mcp"
    say(f"ready: {endpoint}")
    return endpoint


def post(url, message, timeout=ANSWER_S):
    """Send a JSON object and return the answer; {} if it is empty, or if there is none."""
    request = urllib.request.Request(url, json.dumps(message).encode(), {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=timeout) as response:
            raw = response.read()
    except urllib.error.HTTPError as error:
        raw = error.read()
    except OSError as error:
        say(f"no answer: {url}: {error}")
        return {}
    answer = json.loads(raw) if raw else {}
    return answer if isinstance(answer, dict) else {}


def later(work, *arguments):
    """Do something in the background."""
    threading.Thread(target=work, args=arguments, daemon=True).start()


def repeat(work, seconds):
    """Do something again and again in the background until the program is over."""

    def repeated():
        while not over.wait(seconds):
            work()

    later(repeated)


def utc(layout="%Y-%m-%dT%H:%M:%SZ", ahead=0.0):
    return time.strftime(layout, time.gmtime(time.time() + ahead))


def run_until_over():
    over.wait()
    time.sleep(0.2)  # the last answer is on its way


class Mailbox:
    """Messages that arrive on their own, until somebody looks for them."""

    def __init__(self):
        self._messages = {}
        self._changed = threading.Condition()

    def put(self, key, message):
        with self._changed:
            self._messages.setdefault(key, message)
            self._changed.notify_all()

    def take(self, key, seconds):
        """Return the message with this key, or {} if none comes in time."""
        with self._changed:
            self._changed.wait_for(lambda: key in self._messages, seconds)
            return self._messages.pop(key, {})


def all_rounds(players):
    """Return the pairs of every round: each player meets each other one once."""
    circle = list(players)
    if len(circle) % 2:
        circle.append(None)
    rounds = []
    for _ in range(len(circle) - 1):
        half = len(circle) // 2
        pairs = zip(circle[:half], reversed(circle[half:]), strict=True)
        rounds.append([pair for pair in pairs if None not in pair])
        circle = [circle[0], circle[-1], *circle[1:-1]]
    return rounds
