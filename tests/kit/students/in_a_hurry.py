"""A player with the mistakes that are made most: no JSON-RPC around answers, local time, a capital letter, no token.

Run: python in_a_hurry.py PORT MANAGER
"""

import json
import sys
import urllib.request
from datetime import datetime
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

PORT = int(sys.argv[1])
PLAYER = "P01"


class Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        data = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        params = data.get("params", data)
        kind = params.get("message_type")
        now = datetime.now().isoformat()  # noqa: DTZ005 (the mistake)
        reply: dict[str, Any] = {"protocol": "league.v2", "sender": PLAYER, "timestamp": now}
        if kind == "GAME_INVITATION":
            reply |= {"message_type": "GAME_JOIN_ACK", "match_id": params["match_id"], "player_id": PLAYER}
            reply |= {"accept": "true", "arrival_timestamp": now}
        elif kind == "CHOOSE_PARITY_CALL":
            reply |= {"message_type": "CHOOSE_PARITY_RESPONSE", "player_id": PLAYER, "parity_choice": "Even"}
        else:
            reply = {"ok": True}
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(reply).encode())

    def log_message(self, *args: Any) -> None:
        pass


def register(manager: str) -> None:
    endpoint = f"http://127.0.0.1:{PORT}/mcp"
    meta = {"display_name": "Delta", "version": "1.0", "game_types": ["even_odd"], "contact_endpoint": endpoint}
    message = {"message_type": "LEAGUE_REGISTER_REQUEST", "player_meta": meta}
    call = {"jsonrpc": "2.0", "id": 1, "method": "register_player", "params": message}
    headers = {"Content-Type": "application/json"}
    urllib.request.urlopen(urllib.request.Request(manager, json.dumps(call).encode(), headers), timeout=10).read()


if __name__ == "__main__":
    server = HTTPServer(("127.0.0.1", PORT), Handler)
    if len(sys.argv) > 2:
        register(sys.argv[2])
    server.serve_forever()
