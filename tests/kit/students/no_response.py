"""A player after D0: goes by message_type, and answers nothing where the chapter says "Expected Response: None".

Run: python no_response.py PORT MANAGER
"""

import http.client
import json
import sys
import threading
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

PORT = int(sys.argv[1])
me = {"player_id": "", "auth_token": ""}


def timestamp() -> str:
    return datetime.now(UTC).replace(tzinfo=None).isoformat() + "Z"


class Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        message = request["params"]
        base = {"match_id": message.get("match_id"), **me}
        if message["message_type"] == "GAME_INVITATION":
            result = {"message_type": "GAME_JOIN_ACK", **base, "arrival_timestamp": timestamp(), "accept": True}
        elif message["message_type"] == "CHOOSE_PARITY_CALL":
            result = {"message_type": "CHOOSE_PARITY_RESPONSE", **base, "parity_choice": "even"}
        else:
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        body = json.dumps({"jsonrpc": "2.0", "result": result, "id": request["id"]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: Any) -> None:
        pass


def register(manager: str) -> None:
    meta = {"display_name": "Gamma", "version": "1.0.0", "game_types": ["even_odd"]}
    params = {
        "protocol": "league.v2",
        "message_type": "LEAGUE_REGISTER_REQUEST",
        "sender": "player:gamma",
        "timestamp": timestamp(),
        "conversation_id": "gamma-registers",
        "player_meta": {**meta, "contact_endpoint": f"http://localhost:{PORT}/mcp"},
    }
    where = urlsplit(manager)
    connection = http.client.HTTPConnection(where.hostname or "", where.port, timeout=10)
    call = json.dumps({"jsonrpc": "2.0", "method": "register_player", "params": params, "id": 1})
    connection.request("POST", where.path, call, {"Content-Type": "application/json"})
    answer = json.loads(connection.getresponse().read())
    me.update(player_id=answer["result"]["player_id"], auth_token=answer["result"]["auth_token"])


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", PORT), Handler)
    if len(sys.argv) > 2:
        threading.Timer(0.1, register, sys.argv[2:]).start()
    server.serve_forever()
