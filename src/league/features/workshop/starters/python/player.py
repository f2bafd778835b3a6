"""A player for leagues of Even/Odd (protocol league.v2). It needs only Python 3.11 or newer.

Numbers in brackets are sections of the protocol's specification.
"""

import argparse
import base64
import hashlib
import hmac
import http.client
import json
import math
import random
import signal
import sys
import threading
import time
import traceback
from collections.abc import Mapping
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

NAME = "My player"
Message = dict[str, Any]


# === Your strategy goes here ==========================================================================================


def choose_parity(call: Message, history: list[Message]) -> str:
    """Return "even" or "odd", within 30 seconds.

    `call` is the referee's question; call["context"] may have your opponent's id and your record so far.
    `history` has the `game_result` of the matches you have played, the newest last.
    """
    return random.choice(["even", "odd"])


# === Messages: the method of each, the type of its answer, and the fields it must have (5, 6.1) =======================

OF_ROUND = {"league_id": str, "round_id": int}
OF_MATCH = {"match_id": str, "game_type": str}
MESSAGES: dict[str, tuple[str, str, Mapping[str, type]]] = {
    "ROUND_ANNOUNCEMENT": ("notify_round", "ROUND_ANNOUNCEMENT_ACK", OF_ROUND),
    "LEAGUE_STANDINGS_UPDATE": ("update_standings", "STANDINGS_UPDATE_ACK", OF_ROUND),
    "ROUND_COMPLETED": ("notify_round_completed", "ROUND_COMPLETED_ACK", OF_ROUND),
    "LEAGUE_COMPLETED": ("notify_league_completed", "LEAGUE_COMPLETED_ACK", {"league_id": str}),
    "GAME_INVITATION": ("handle_game_invitation", "GAME_JOIN_ACK", OF_ROUND | OF_MATCH),
    "CHOOSE_PARITY_CALL": ("parity_choose", "CHOOSE_PARITY_RESPONSE", OF_MATCH),
    "GAME_OVER": ("notify_match_result", "GAME_OVER_ACK", OF_MATCH | {"game_result": dict}),
    "GAME_ERROR": ("notify_game_error", "GAME_ERROR_ACK", {"error_code": str}),
    "LEAGUE_ERROR": ("notify_league_error", "LEAGUE_ERROR_ACK", {"error_code": str}),
}
ENVELOPE = {"protocol": str, "message_type": str, "sender": str, "timestamp": str, "conversation_id": str}
BY_METHOD = {method: name for name, (method, _, _) in MESSAGES.items()} | {"choose_parity": "CHOOSE_PARITY_CALL"}


class RefusalError(Exception):
    """The request is answered with an error that has this code."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code = code


def read_type(method: str, message: Message) -> str:
    """Return the type of a valid message. Unknown fields are ignored (2.3, 3.1)."""
    called, said = BY_METHOD.get(method, method.upper()), message.get("message_type")
    if called not in MESSAGES and said not in MESSAGES:
        raise RefusalError("E036", "this player has no such method")
    require(ENVELOPE, message)
    if message["protocol"] != "league.v2":
        raise RefusalError("E018", "protocol is not league.v2")
    if said not in MESSAGES or (called in MESSAGES and called != said):
        raise RefusalError("E038", "message_type does not fit the method")
    require(MESSAGES[said][2], message)
    return str(said)


def require(fields: Mapping[str, type], message: Message) -> None:
    for name, wanted in fields.items():
        if message.get(name) is None:
            raise RefusalError("E003", f"{name} is missing")
        if type(message[name]) is not wanted:  # isinstance would accept True as an int
            raise RefusalError("E007", f"{name} is not of the type {wanted.__name__}")


# === The player =======================================================================================================


class Player:
    """The state of the player, and its answers."""

    def __init__(self, name: str) -> None:
        self.name = self.player_id = name  # the manager will give us an id
        self.league_id = ""
        self.auth_token = ""
        self.makes_tokens = False  # True if tokens are derived from ours (9.3)
        self.matches: dict[str, Message] = {}
        self.thinking = threading.Lock()  # every request has its own thread

    def envelope(self, message_type: str, conversation_id: str) -> Message:
        return {
            "protocol": "league.v2",
            "message_type": message_type,
            "sender": f"player:{self.player_id}",
            "timestamp": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "conversation_id": conversation_id,
        }

    def answer(self, name: str, message: Message) -> Message:
        """Return the whole answer to a message: the envelope, our id, and the round or match it is about."""
        answer = self.envelope(MESSAGES[name][1], message["conversation_id"]) | {"player_id": self.player_id}
        answer |= {field: message[field] for field in ("round_id", "match_id") if message.get(field) is not None}
        if name == "GAME_INVITATION":
            match = self.match_of(message, message.get("attempt") or 1)
            plays = message["game_type"] == "even_odd"
            answer |= {"accept": plays, "arrival_timestamp": answer["timestamp"]}
        elif name == "CHOOSE_PARITY_CALL":
            match = self.match_of(message)
            answer |= {"parity_choice": self.choice(match, message)}
        else:
            self.take_note(name, message)
            return answer | {"status": "ACKNOWLEDGED"}
        return answer | self.token_for(message["sender"], message["match_id"], match["attempt"])

    def match_of(self, message: Message, attempt: int = 0) -> Message:
        """Return the match that a referee calls about.

        The first caller of a match is its referee. Another caller gets an answer only if it shows the token that only
        the referee of this match can have (9.2). Where there are no such tokens, another referee may replay a match
        that is over (8.12).
        """
        match_id, shown = message["match_id"], message.get("auth_token")
        known = self.matches.get(match_id, {"attempt": 1})
        right = self.derived(referee_in(message["sender"]), self.player_id, match_id, attempt or known["attempt"])
        proven = shown == right if right else known.get("over", False) and attempt > known["attempt"]
        if known.get("referee", shown) != shown and not proven:
            raise RefusalError("E012", "another is the referee of this match")
        match = self.match(match_id, attempt)
        match["referee"] = shown
        return match

    def match(self, match_id: str, attempt: int = 0) -> Message:
        """Return what we know about a match. A match that is replayed has another attempt (8.12)."""
        match = self.matches.setdefault(match_id, {"attempt": attempt or 1})
        if attempt and match["attempt"] != attempt:
            match = self.matches[match_id] = {"attempt": attempt}
        if len(self.matches) > 1000:  # so that nobody can fill our memory
            self.matches.pop(next(iter(self.matches)), None)
        return match

    def choice(self, match: Message, call: Message) -> str:
        """Answer the same question with the same choice: the first answer may have been lost (6.7)."""
        with self.thinking:
            if "choice" not in match:
                history = [played["result"] for played in list(self.matches.values()) if "result" in played]
                choice = choose_parity({name: call[name] for name in call if name != "auth_token"}, history)
                if choice not in ("even", "odd"):
                    raise ValueError(f"choose_parity returned {choice!r}")
                match["choice"] = choice
            return str(match["choice"])

    def take_note(self, name: str, message: Message) -> None:
        if name == "GAME_OVER":
            match = self.match(message["match_id"])
            match["result"] = message["game_result"]
            match["over"] = match.get("over", False) or match.get("referee") == message.get("auth_token")
            tell(f"{message['match_id']}: {message['game_result'].get('reason') or message.get('reason')}")
        elif name == "GAME_ERROR":
            tell(f"the referee says {message['error_code']}: {message.get('error_detail')}")
            match = self.matches.get(str(message.get("match_id")), {})
            if message["error_code"] == "E004" and match.get("referee") == message.get("auth_token"):
                match.pop("choice", None)  # our choice was illegal, and the next call asks for another one (6.5)
        elif name == "LEAGUE_ERROR":
            tell(f"the manager says {message['error_code']}: {message.get('error_detail')}")
        elif name == "LEAGUE_COMPLETED":
            tell(f"the league is over, the champion is {message.get('champion')}")

    def token_for(self, sender: str, match_id: str, attempt: int) -> Message:
        """Return the token for a referee: derived from ours, which is for the manager, for this match only (9.3)."""
        token = self.derived(self.player_id, referee_in(sender), match_id, attempt) or self.auth_token
        return {"auth_token": token} if token else {}

    def derived(self, sender: str, receiver: str, match_id: str, attempt: int) -> str:
        """Return the token that sender shows receiver in a match; empty if our manager does not derive tokens."""
        if not self.makes_tokens:
            return ""
        key = hashlib.sha256(b"derive\0" + self.auth_token.encode()).digest()
        text = f"league.v2|{sender}|{receiver}|{self.league_id}|{match_id}|{attempt}"
        made = base64.urlsafe_b64encode(hmac.digest(key, text.encode(), "sha256")).decode().rstrip("=")
        return f"tok_{sender}_{made}"


def referee_in(sender: str) -> str:
    return sender.partition(":")[2] or sender


def tell(text: str) -> None:
    """Print a line. Control characters are replaced, because others wrote part of it."""
    print("".join(char if char.isprintable() else "?" for char in text), file=sys.stderr, flush=True)


# === JSON-RPC (2.2, 2.6, 10) ==========================================================================================

ERRORS = {
    "E003": ("MISSING_REQUIRED_FIELD", -32602),
    "E007": ("INVALID_FIELD_TYPE", -32602),
    "E012": ("AUTH_TOKEN_INVALID", 4001),
    "E018": ("PROTOCOL_VERSION_MISMATCH", 4094),
    "E034": ("MALFORMED_JSON", -32700),
    "E035": ("INVALID_REQUEST", -32600),
    "E036": ("UNKNOWN_METHOD", -32601),
    "E038": ("MESSAGE_TYPE_MISMATCH", -32602),
    "E099": ("INTERNAL_ERROR", -32603),
}


def respond(player: Player, body: bytes) -> tuple[int, Message]:
    """Return the HTTP status and the JSON-RPC answer to the body of a request."""
    response: Message = {"jsonrpc": "2.0", "id": None}
    try:
        request = read_json(body)
        if not isinstance(request, dict) or request.get("jsonrpc") != "2.0":
            raise RefusalError("E035", "this is not a JSON-RPC 2.0 request")
        if type(request.get("id", 0)) not in (int, str):
            raise RefusalError("E035", "an id must be a string or an integer")
        response["id"] = request.get("id")
        return 200, response | {"result": result_of(player, request.get("method"), request.get("params", {}))}
    except RefusalError as refused:
        code, detail = refused.code, str(refused)
    except Exception:  # your strategy failed: you see the whole error, the referee does not
        traceback.print_exc()
        code, detail = "E099", "the player has a bug"
    name, number = ERRORS[code]
    data = {"error_code": code, "error_name": name, "error_description": name, "error_detail": detail}
    error = {"code": number, "message": name, "data": data}
    return 400 if code in ("E034", "E035") else 200, response | {"error": error}


def result_of(player: Player, method: object, params: Any) -> Message:
    if method == "ping":
        return {}
    if method == "tools/call" and isinstance(params, dict):  # MCP: the same message in another wrapping
        answer = result_of(player, params.get("name"), params.get("arguments"))
        return {"content": [{"type": "text", "text": json.dumps(answer)}], "structuredContent": answer}
    if not isinstance(method, str):
        raise RefusalError("E036", "a request needs a method")
    if not isinstance(params, dict):
        raise RefusalError("E007", "a message must be an object")
    return player.answer(read_type(method, params), params)


def read_json(body: bytes) -> object:
    """Read JSON that every reader understands in the same way."""
    try:
        value: object = json.loads(body.decode(), object_pairs_hook=unique)
        check(value)
    except (ValueError, RecursionError) as error:
        raise RefusalError("E034", f"this is not strict JSON: {error}") from error
    return value


def unique(members: list[tuple[str, Any]]) -> Message:
    if len(dict(members)) < len(members):
        raise ValueError("the same key twice")
    return dict(members)


def check(value: object, level: int = 1) -> None:
    if isinstance(value, str) and "\0" in value.encode().decode():  # encoding fails for half a character
        raise ValueError("U+0000 in a string")
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("a number that is NaN or too large")
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise ValueError("an integer of more than 64 bits")
    if isinstance(value, dict | list):
        if level > 16:
            raise ValueError("more than 16 levels")
        for inner in (*value, *value.values()) if isinstance(value, dict) else value:
            check(inner, level + 1)


# === HTTP (2.1, 2.4, 2.5) =============================================================================================


class Handler(BaseHTTPRequestHandler):
    """Answers POST requests at /mcp."""

    player: Player
    hosts: set[str]
    protocol_version = "HTTP/1.1"
    timeout = 60
    wbufsize = -1  # so that head and body are sent together
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        length = self.headers.get("Content-Length", "")
        size = int(length[:9]) if length.isdecimal() else -1
        reasons = {
            404: self.path != "/mcp",
            421: self.headers.get("Host") not in self.hosts,
            403: "Origin" in self.headers,  # sent by a web page in a browser
            415: self.headers.get_content_type() != "application/json",
            411: size < 0 or "Transfer-Encoding" in self.headers,
            413: size > 2**20,
        }
        refused = next((status for status, is_so in reasons.items() if is_so), None)
        if refused:
            self.close_connection = True  # because its body is not read
        status, answer = (refused, {}) if refused else respond(self.player, self.rfile.read(size))
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer methods other than POST with 405."""
        super().send_error(405 if code == 501 else code, message, explain)

    def log_message(self, *_: object) -> None:
        """Do not print requests."""


class Server(ThreadingHTTPServer):
    request_queue_size = 128  # with the default of 5, many callers at once would wait for seconds

    def handle_error(self, *_: object) -> None:
        """Do not print anything if a caller is gone."""


# === Registering (5.3, 7.2) ===========================================================================================

PAUSES = (2, 4, 8, 16, 30)
PASSING = ("E010", "E025", "E041", "E042", "E099")  # errors that may not happen the next time


def register(player: Player, manager: str, endpoint: str) -> bool:
    """Try until the manager accepts us (True) or rejects us for good (False)."""
    meta = {"display_name": player.name, "version": "1.0.0", "game_types": ["even_odd"], "contact_endpoint": endpoint}
    parts = urlsplit(manager)
    connect = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    attempt = 1
    while True:
        message = player.envelope("LEAGUE_REGISTER_REQUEST", f"register-{attempt}") | {"player_meta": meta}
        call = {"jsonrpc": "2.0", "id": attempt, "method": "register_player", "params": message}
        try:
            connection = connect(parts.netloc, timeout=10)
            connection.request("POST", parts.path or "/mcp", json.dumps(call), {"Content-Type": "application/json"})
            answer = json.load(connection.getresponse())
            result = answer.get("result") or answer["error"].get("data") or answer["error"]
            if result.get("status") in ("ACCEPTED", "REGISTERED") and result.get("player_id"):
                break
            reason = result.get("reason") or result.get("error_detail") or result.get("message")
            # We must wait for the operator's approval, and ask again (7.2).
            is_pending = (result.get("context") or {}).get("pending") is True
            is_final = result.get("error_code") not in PASSING and not is_pending
        except (OSError, ValueError, LookupError, AttributeError, http.client.HTTPException) as error:
            reason, is_final, is_pending = repr(error), False, False
        if is_final:
            tell(f"the manager rejected this player: {reason}")
            return False
        pause = 5 if is_pending else PAUSES[min(attempt, len(PAUSES)) - 1]
        tell(f"not registered yet: {reason}; next try in {pause} s")
        time.sleep(pause)
        attempt += 1
    player.league_id, player.auth_token = str(result.get("league_id") or ""), str(result.get("auth_token") or "")
    player.makes_tokens = bool(player.auth_token) and result.get("token_scheme") == "derived"
    player.player_id = str(result["player_id"])
    tell(f"registered as {player.player_id}")
    return True


def main() -> int:
    parser = argparse.ArgumentParser(description="A player for leagues of Even/Odd.")
    parser.add_argument("--manager", default="http://127.0.0.1:8000/mcp", help="the address of the League Manager")
    parser.add_argument("--host", default="127.0.0.1", help="the address at which others reach this machine")
    parser.add_argument("--port", default=8101, type=int, help="the port to listen at; 0 means any free port")
    parser.add_argument("--name", default=NAME, help="the player's name in the league")
    args = parser.parse_args()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: sys.exit(0))
    try:
        server = Server((args.host, args.port), Handler)
    except (OSError, OverflowError) as error:
        parser.exit(1, f"cannot listen at {args.host}:{args.port}: {error}\n")
    Handler.player = Player(args.name)
    Handler.hosts = {f"{host}:{server.server_port}" for host in (args.host, "127.0.0.1", "localhost")}
    serving = threading.Thread(target=server.serve_forever, daemon=True)
    serving.start()
    endpoint = f"http://{args.host}:{server.server_port}/mcp"
    print(f"ready: {endpoint}", flush=True)
    if not register(Handler.player, args.manager, endpoint):
        return 1
    serving.join()  # until a signal ends us
    return 0


if __name__ == "__main__":
    sys.exit(main())
