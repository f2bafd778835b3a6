"""Starts the player, plays a match with it, and stops it. Run: python3 -m unittest"""

import http.client
import json
import subprocess
import sys
import threading
import time
import unittest
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

PLAYER = Path(__file__).with_name("player.py")
Message = dict[str, Any]


class Manager(BaseHTTPRequestHandler):
    """A league manager that accepts one player and keeps its registration."""

    registration: Message

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if request.get("method") == "register_player":
            Manager.registration = request["params"]
            given = {"status": "ACCEPTED", "player_id": "P01", "league_id": "test", "auth_token": "secret-of-P01"}
            result = envelope("LEAGUE_REGISTER_RESPONSE", "league_manager") | given
        else:
            result = {}
        body = json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Do not print requests."""


def envelope(message_type: str, sender: str = "referee:REF01") -> Message:
    return {
        "protocol": "league.v2",
        "message_type": message_type,
        "sender": sender,
        "timestamp": "2025-06-01T10:00:00Z",
        "conversation_id": "test-R1M1-1",
        "auth_token": "secret-of-the-referee",
    }


INVITATION = envelope("GAME_INVITATION") | {
    "league_id": "test",
    "round_id": 1,
    "match_id": "R1M1",
    "game_type": "even_odd",
    "role_in_match": "PLAYER_A",
    "opponent_id": "P02",
    "player_id": "P01",
}
CALL = envelope("CHOOSE_PARITY_CALL") | {
    "match_id": "R1M1",
    "player_id": "P01",
    "game_type": "even_odd",
    "context": {"opponent_id": "P02", "round_id": 1},
    "deadline": "2025-06-01T10:00:30Z",
}
RESULT = {
    "status": "WIN",
    "winner_player_id": "P02",
    "drawn_number": 4,
    "number_parity": "even",
    "choices": {"P01": "odd", "P02": "even"},
    "reason": "P02 chose even, number was 4 (even)",
}
GAME_OVER = envelope("GAME_OVER") | {"match_id": "R1M1", "game_type": "even_odd", "game_result": RESULT}


class TestPlayer(unittest.TestCase):
    manager: HTTPServer
    player: subprocess.Popen[str]
    url: str

    @classmethod
    def setUpClass(cls) -> None:
        cls.manager = HTTPServer(("127.0.0.1", 0), Manager)
        threading.Thread(target=cls.manager.serve_forever, daemon=True).start()
        manager = f"http://127.0.0.1:{cls.manager.server_port}/mcp"
        command = [sys.executable, str(PLAYER), "--manager", manager, "--port", "0", "--name", "Tested"]
        cls.player = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        cls.addClassCleanup(cls.player.kill)
        assert cls.player.stdout is not None
        cls.url = cls.player.stdout.readline().strip().removeprefix("ready: ")
        for _ in range(200):  # until it has read the manager's answer
            if "auth_token" in cls.call("handle_game_invitation", INVITATION | {"match_id": "R0M1"})["result"]:
                break
            time.sleep(0.05)

    @classmethod
    def tearDownClass(cls) -> None:
        cls.player.terminate()
        status = cls.player.wait(20)
        assert cls.player.stdout is not None
        cls.player.stdout.close()
        cls.manager.shutdown()
        cls.manager.server_close()
        assert status == 0, f"the player ended with status {status}"

    @classmethod
    def post(cls, body: bytes) -> tuple[int, Message]:
        """Return the HTTP status and the JSON-RPC answer."""
        connection = http.client.HTTPConnection(urlsplit(cls.url).netloc, timeout=20)
        try:
            connection.request("POST", "/mcp", body, {"Content-Type": "application/json"})
            response = connection.getresponse()
            return response.status, json.load(response)
        finally:
            connection.close()

    @classmethod
    def call(cls, method: str, params: Message) -> Message:
        request = {"jsonrpc": "2.0", "id": 7, "method": method, "params": params}
        status, answer = cls.post(json.dumps(request).encode())
        assert (status, answer["jsonrpc"], answer["id"]) == (200, "2.0", 7), (status, answer)
        return answer

    def test_it_registers_with_its_name_and_its_address(self) -> None:
        meta = Manager.registration["player_meta"]
        self.assertEqual((meta["display_name"], meta["contact_endpoint"]), ("Tested", self.url))

    def test_it_plays_a_match(self) -> None:
        joined = self.call("handle_game_invitation", INVITATION)["result"]
        self.assertEqual((joined["message_type"], joined["accept"]), ("GAME_JOIN_ACK", True))
        self.assertEqual((joined["sender"], joined["match_id"], joined["player_id"]), ("player:P01", "R1M1", "P01"))
        self.assertEqual(joined["auth_token"], "secret-of-P01")
        chosen = self.call("parity_choose", CALL)["result"]
        self.assertEqual((chosen["message_type"], chosen["match_id"]), ("CHOOSE_PARITY_RESPONSE", "R1M1"))
        self.assertIn(chosen["parity_choice"], ("even", "odd"))
        for _ in range(5):
            again = self.call("parity_choose", CALL)["result"]
            self.assertEqual(again["parity_choice"], chosen["parity_choice"])
        told = self.call("notify_match_result", GAME_OVER)["result"]
        self.assertEqual((told["message_type"], told["status"]), ("GAME_OVER_ACK", "ACKNOWLEDGED"))

    def test_nobody_but_the_first_caller_of_a_match_gets_an_answer(self) -> None:
        match = {"match_id": "R3M1"}
        self.assertIs(self.call("handle_game_invitation", INVITATION | match)["result"]["accept"], True)
        for stranger in ({"auth_token": "another"}, {"auth_token": None}, {"auth_token": "another", "attempt": 2}):
            for method, message in (("handle_game_invitation", INVITATION), ("parity_choose", CALL)):
                refused = self.call(method, message | match | stranger)["error"]
                self.assertEqual(refused["data"]["error_code"], "E012")
        self.assertIn(self.call("parity_choose", CALL | match)["result"]["parity_choice"], ("even", "odd"))

    def test_it_answers_a_ping(self) -> None:
        self.assertIn("result", self.call("ping", {}))

    def test_it_refuses_what_is_wrong_and_lives_on(self) -> None:
        self.assertEqual(self.call("make_coffee", {})["error"]["code"], -32601)
        wrong = self.call("handle_game_invitation", INVITATION | {"round_id": "1"})["error"]
        self.assertEqual(wrong["data"]["error_code"], "E007")
        self.assertNotIn("secret", json.dumps(wrong))
        status, answer = self.post(b'{"jsonrpc": "2.0", "id": 1,')
        self.assertEqual((status, answer["error"]["code"]), (400, -32700))
        self.assertIn("result", self.call("ping", {}))


if __name__ == "__main__":
    unittest.main()
