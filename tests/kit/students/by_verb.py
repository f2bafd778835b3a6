"""A player after D1: verbs as methods, http.server, a random choice, nothing in its answers but what the examples have.

Run: python by_verb.py PORT MANAGER
"""

import json
import random
import sys
import threading
import urllib.request
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

PORT = int(sys.argv[1])
MANAGER = sys.argv[2] if len(sys.argv) > 2 else ""
me: dict[str, Any] = {"player_id": None, "auth_token": None}


def now() -> str:
    return datetime.now(UTC).isoformat()


def handle_game_invitation(params: dict[str, Any]) -> dict[str, Any]:
    return {
        "message_type": "GAME_JOIN_ACK",
        "auth_token": me["auth_token"],
        "match_id": params["match_id"],
        "player_id": me["player_id"],
        "arrival_timestamp": now(),
        "accept": True,
    }


def parity_choose(params: dict[str, Any]) -> dict[str, Any]:
    return {
        "message_type": "CHOOSE_PARITY_RESPONSE",
        "auth_token": me["auth_token"],
        "match_id": params["match_id"],
        "player_id": me["player_id"],
        "parity_choice": random.choice(["even", "odd"]),
    }


def acknowledge(params: dict[str, Any]) -> dict[str, Any]:
    return {"status": "ACKNOWLEDGED", "player_id": me["player_id"]}


METHODS = {
    "handle_game_invitation": handle_game_invitation,
    "parity_choose": parity_choose,
    "notify_match_result": acknowledge,
    "notify_game_error": acknowledge,
    "notify_round": acknowledge,
    "notify_round_completed": acknowledge,
    "notify_league_completed": acknowledge,
    "update_standings": acknowledge,
}


class Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        answer = {"jsonrpc": "2.0", "id": request.get("id")}
        if request.get("method") in METHODS:
            answer["result"] = METHODS[request["method"]](request["params"])
        else:
            answer["error"] = {"code": -32601, "message": "Method not found"}
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: Any) -> None:
        pass


def register() -> None:
    message = {
        "protocol": "league.v2",
        "message_type": "LEAGUE_REGISTER_REQUEST",
        "sender": "player:alpha",
        "timestamp": now(),
        "conversation_id": "conv-reg-alpha",
        "player_meta": {
            "display_name": "Alpha",
            "version": "1.0.0",
            "game_types": ["even_odd"],
            "contact_endpoint": f"http://127.0.0.1:{PORT}/mcp",
        },
    }
    call = {"jsonrpc": "2.0", "id": "req-001", "method": "register_player", "params": message}
    request = urllib.request.Request(MANAGER, json.dumps(call).encode(), {"Content-Type": "application/json"})
    result = json.load(urllib.request.urlopen(request, timeout=10))["result"]
    me["player_id"], me["auth_token"] = result["player_id"], result["auth_token"]


if __name__ == "__main__":
    server = HTTPServer(("127.0.0.1", PORT), Handler)
    if MANAGER:
        threading.Thread(target=register, daemon=True).start()
    server.serve_forever()
