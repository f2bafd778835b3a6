"""A class's first evening: twelve players, half of which answer with an error, a redirect, prose or nothing. Every
author reads what to change, and nobody who answers is called unreachable."""

from __future__ import annotations

import json
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from league.events import AgentProbed, LeagueFinished, MatchPaused, PlayerFaulted
from tests.support.processes import Process, Processes, assert_kept

SCALE = 5
STATUSES = {"500": 500, "401": 401, "405": 405}
REMEDIES = {
    "500": "if it does not, look into the log of the agent",
    "401": "let requests in without credentials",
    "405": "this path does not take POST",
    "307": "belong to",
    "prose": '"I play even!" is not JSON. Answer with a JSON object',
    "nothing": "an empty body, which is enough for a ping only: answer invitations and calls for a choice",
    "large": "the answer is too large. Answer with a short JSON object",
}
"""What the author of each reads in the answer to its registration."""
REASONS = {
    "500": "HTTP status 500",
    "401": "HTTP status 401",
    "405": "HTTP status 405",
    "prose": 'not JSON: "I play even!"',
    "large": "Answer with one short JSON object",
    "nothing": "The player received the call and answered it with an empty body",
    "case": "'Even' is not a choice here",
}
"""What `league explain` says about the matches that each of them lost."""


class Student:
    """A player as a student writes it on the first evening: plain HTTP, and one mistake."""

    def __init__(self, mistake: str) -> None:
        self.mistake = mistake
        self.member: dict[str, Any] = {}
        student = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: object) -> None:
                pass

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                student.answer(self, body)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.endpoint = f"http://127.0.0.1:{self._server.server_address[1]}/mcp"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, http: BaseHTTPRequestHandler, body: bytes) -> None:
        status = STATUSES.get(self.mistake, 200)
        reply = b"Something is wrong"
        if self.mistake == "prose":
            reply = b"I play even!"
        elif self.mistake == "nothing":
            reply = b""
        elif self.mistake == "large":
            reply = json.dumps({"jsonrpc": "2.0", "id": 1, "result": "x" * 20_000}).encode()
        elif self.mistake == "307" and http.path == "/mcp":
            status = 307
        elif status == 200:
            call = json.loads(body)
            result = self._result(call.get("params") or {})
            reply = json.dumps({"jsonrpc": "2.0", "id": call.get("id"), "result": result}).encode()
        http.send_response(status)
        if status == 307:
            http.send_header("Location", "/mcp/")
        http.send_header("Content-Length", str(len(reply)))
        http.end_headers()
        http.wfile.write(reply)

    def _result(self, message: dict[str, Any]) -> dict[str, Any]:
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        player_id = self.member.get("player_id", "?")
        reply = {
            "protocol": "league.v2",
            "sender": f"player:{player_id}",
            "timestamp": now,
            "conversation_id": message.get("conversation_id"),
            "auth_token": self.member.get("auth_token"),
            "match_id": message.get("match_id"),
            "player_id": player_id,
        }
        if message.get("message_type") == "GAME_INVITATION":
            return {**reply, "message_type": "GAME_JOIN_ACK", "accept": True, "arrival_timestamp": now}
        if message.get("message_type") == "CHOOSE_PARITY_CALL":
            choice = "Even" if self.mistake == "case" else "even"
            return {**reply, "message_type": "CHOOSE_PARITY_RESPONSE", "parity_choice": choice}
        return {"status": "ok"}

    def register(self, manager: str, number: int) -> dict[str, Any]:
        meta = {
            "display_name": f"{self.mistake}-{number}",
            "version": "1.0.0",
            "game_types": ["even_odd"],
            "contact_endpoint": self.endpoint,
        }
        message = {
            "protocol": "league.v2",
            "message_type": "LEAGUE_REGISTER_REQUEST",
            "sender": f"player:{self.mistake}",
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "conversation_id": "c1",
            "player_meta": meta,
        }
        call = {"jsonrpc": "2.0", "id": 1, "method": "register_player", "params": message}
        request = urllib.request.Request(manager, json.dumps(call).encode(), {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=30) as response:
            self.member = json.load(response)["result"]
        return self.member


@contextmanager
def students(*mistakes: str) -> Iterator[list[Student]]:
    with ExitStack() as stack:
        people = [Student(mistake) for mistake in mistakes]
        for student in people:
            stack.callback(student.close)
        yield people


def all_that_was_said(process: Process) -> str:
    return "\n".join(process.said(""))


@pytest.mark.requirement("REGISTER.findings")
@pytest.mark.requirement("DIALECT.redirects")
def test_every_author_reads_what_to_change_and_nobody_who_answers_is_unreachable(processes: Processes) -> None:
    manager = processes.manager(players=12, rounds=2)
    mistakes = ["500", "401", "405", "307", "case", "prose", "nothing", "large"]
    good = ["good"] * (12 - len(mistakes))
    with students(*mistakes, *good) as people:
        for number, student in enumerate(people, start=1):
            answer = student.register(manager.endpoint, number)
            assert answer["status"] == "ACCEPTED"
            assert REMEDIES.get(student.mistake, "") in (answer.get("findings") or "")
            assert ("findings" in answer) == (student.mistake in REMEDIES)
        processes.referee(manager, time_scale=SCALE, max_concurrent_matches=10)
        manager.said("the league is over; ")
    probed = {event.agent_id: event.findings for event in processes.events("manager", AgentProbed)}
    faults = processes.events("referee", PlayerFaulted)
    for student in people:
        player_id = student.member["player_id"]
        if student.mistake in REMEDIES:
            assert REMEDIES[student.mistake] in probed[player_id]
            assert manager.said(f'player {player_id} "')
        lost = [fault for fault in faults if fault.player_id == player_id]
        assert bool(lost) == (student.mistake in REASONS)
        if lost:
            told = processes.run("explain", lost[0].match_id, "--journal", "manager.db").stdout
            assert REASONS[student.mistake] in " ".join(told.split()), told
    said = all_that_was_said(manager)
    for word in ("reached", "unreachable", "not answering", "nobody answers"):
        assert word not in said
    assert processes.events("manager", MatchPaused) == []
    assert len(processes.events("manager", LeagueFinished)) == 1
    assert_kept(processes)
