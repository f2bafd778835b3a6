"""Referees and managers for the kit, written for it alone: each keeps every clause, or has the defect that it is given.

A referee plays its matches with the kit's players; a manager runs a league of four players.
"""

from __future__ import annotations

import json
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

Object = dict[str, Any]
"""A JSON object (Any: any JSON)."""
LEAGUE = "league_of_tests"
NUMBERS = (8, 3, 6, 5)


class Agent:
    """Serves requests, and posts its own."""

    sender = ""

    def __init__(self, defect: str = "") -> None:
        self.defect = defect
        self.token: str | None = None
        self.requests = 0
        receive = self.receive

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                call = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                answer = {"jsonrpc": "2.0", "id": call.get("id"), **receive(call.get("params", {}))}
                body = json.dumps(answer).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name in the base class
                """Print nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.endpoint = f"http://127.0.0.1:{self.server.server_address[1]}/mcp"

    def __enter__(self) -> Self:
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()

    def receive(self, message: Object) -> Object:
        """Return `result` or `error` for a message."""
        raise NotImplementedError

    def write(self, kind: str, conversation: str, **fields: object) -> Object:
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        envelope = {"protocol": "league.v2", "message_type": kind, "sender": self.sender, "timestamp": now}
        return {**envelope, "conversation_id": conversation, **fields}

    def post(self, url: str, method: str, message: Object) -> Object:
        """Return the result of a request; {} if there is none."""
        self.requests += 1
        call = {"jsonrpc": "2.0", "id": self.requests, "method": method, "params": message}
        request = urllib.request.Request(url, json.dumps(call).encode(), {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                result: Object = json.load(answer).get("result", {})
        except OSError:
            return {}
        return result


def later(work: Callable[..., None], *arguments: object) -> None:
    threading.Thread(target=work, args=arguments, daemon=True).start()


class KitReferee(Agent):
    """A referee that learns of its matches by ROUND_ANNOUNCEMENT, or with a defect by START_MATCH."""

    sender = "referee:new"

    def enrol(self, manager: str) -> None:
        self.manager = manager
        self.registered_endpoint = self.endpoint
        if self.defect == "is at localhost":
            self.registered_endpoint = self.endpoint.replace("127.0.0.1", "localhost")
        meta = {
            "display_name": "Kim",
            "version": "1.0.0",
            "game_types": ["even_odd"],
            "contact_endpoint": self.registered_endpoint,
            "max_concurrent_matches": 2,
        }
        if self.defect == "has no name":
            del meta["display_name"]
        answer = self.post(manager, "register_referee", self.write("REFEREE_REGISTER_REQUEST", "r", referee_meta=meta))
        self.sender = f"referee:{answer['referee_id']}"
        self.token = answer["auth_token"]

    def receive(self, message: Object) -> Object:
        kind = message.get("message_type")
        wanted = "START_MATCH" if self.defect == "knows START_MATCH only" else "ROUND_ANNOUNCEMENT"
        if kind == wanted and self.defect != "plays nothing":
            for match in message.get("matches", [message]):
                if self.is_its_own(match):
                    later(self.play, message["round_id"], match)
        elif kind != "LEAGUE_COMPLETED" and kind != wanted:
            return {"error": {"code": -32601, "message": "unknown"}}
        fields = {"status": "ACKNOWLEDGED", "player_id": "REF01"}
        if "round_id" in message:
            fields["round_id"] = message["round_id"]
        return {"result": self.write(f"{kind}_ACK", message["conversation_id"], **fields)}

    def is_its_own(self, match: Object) -> bool:
        return self.defect != "is at localhost" or match["referee_endpoint"] == self.registered_endpoint

    def play(self, round_id: int, match: Object) -> None:
        match_id = match["match_id"]
        players = (match["player_A_id"], match["player_B_id"])
        homes = dict(zip(players, (match["player_A_endpoint"], match["player_B_endpoint"]), strict=True))
        joined = []
        for role, player, opponent in zip(("PLAYER_A", "PLAYER_B"), players, reversed(players), strict=True):
            fields = {"league_id": "conformance", "round_id": round_id, "match_id": match_id, "game_type": "even_odd"}
            fields |= {"role_in_match": role, "player_id": player, "opponent_id": opponent}
            if self.defect == "names no opponent":
                fields["opponent_id"] = player
            invitation = self.write("GAME_INVITATION", f"c-{match_id}", auth_token="t", **fields)
            joined.append(self.post(homes[player], "handle_game_invitation", invitation).get("accept"))
        choices: Object = dict.fromkeys(players)
        if all(joined) or self.defect == "ignores a refusal":
            for player in players:
                choices[player] = self.choice(match_id, player, homes[player])
        self.end(round_id, match_id, homes, choices)

    def choice(self, match_id: str, player: str, home: str) -> str | None:
        """Ask for a choice, again after a wrong one."""
        for _ in range(3):
            deadline = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 30))
            context = {"opponent_id": "P00", "round_id": 1, "your_standings": {"wins": 0, "losses": 0, "draws": 0}}
            fields = {"match_id": match_id, "player_id": player, "game_type": "even_odd", "deadline": deadline}
            call = self.write("CHOOSE_PARITY_CALL", f"c-{match_id}", auth_token="t", context=context, **fields)
            choice = self.post(home, "parity_choose", call).get("parity_choice")
            if self.defect == "repairs choices" and choice is not None:
                choice = choice.lower()
            if choice in ("even", "odd"):
                return str(choice)
            retry: Object = {"retry_count": 1, "max_retries": 3, "time_remaining": 20}
            error: Object = {
                **retry,
                "retry_info": retry,
                "match_id": match_id,
                "player_id": player,
                "affected_player": player,
                "error_code": "E004",
                "error_description": "INVALID_PARITY_CHOICE",
                "error_name": "INVALID_PARITY_CHOICE",
                "error_detail": "neither even nor odd",
                "action_required": "CHOOSE_PARITY_RESPONSE",
                "game_state": "COLLECTING_CHOICES",
                "retryable": True,
                "context": {"invalid_choice": choice, "valid_choices": ["even", "odd"]},
            }
            self.post(home, "notify_game_error", self.write("GAME_ERROR", f"c-{match_id}", auth_token="t", **error))
        return None

    def end(self, round_id: int, match_id: str, homes: dict[str, str], choices: Object) -> None:
        number = NUMBERS[round_id % len(NUMBERS)]
        parity = "odd" if number % 2 else "even"
        right = [player for player, choice in choices.items() if choice == parity]
        winner = right[0] if len(right) == 1 else None
        status = "WIN" if winner else "DRAW"
        drawn: Object = {"drawn_number": number, "number_parity": parity}
        if None in choices.values():
            # Only P02 declines.
            status, winner = "TECHNICAL_LOSS", "P01"
            if self.defect == "lets nobody win":
                winner = None
            drawn = {"drawn_number": None, "number_parity": None}
        elif self.defect == "names the loser" and winner:
            winner = next(player for player in choices if player != winner)
        result = {"status": status, "winner_player_id": winner, "choices": choices, "reason": "so it is", **drawn}
        for player, home in homes.items():
            told = dict(result)
            if self.defect == "tells players different results" and player == "P02":
                told["reason"] = "so it is not"
            fields = {"match_id": match_id, "game_type": "even_odd", "game_result": told, "reason": "so it is"}
            self.post(home, "notify_match_result", self.write("GAME_OVER", f"c-{match_id}", auth_token="t", **fields))
        if self.defect != "reports nothing":
            self.report(round_id, match_id, winner, {"status": status, "choices": choices, **drawn})

    def report(self, round_id: int, match_id: str, winner: str | None, details: Object) -> None:
        score = dict.fromkeys(details["choices"], 1 if winner is None else 0)
        if winner is not None:
            score[winner] = 2 if self.defect == "gives two points" else 3
        fields = {"league_id": "conformance", "round_id": round_id, "match_id": match_id, "game_type": "even_odd"}
        report = self.write("MATCH_RESULT_REPORT", f"c-{match_id}", **fields)
        report["result"] = {"winner": winner, "score": score, "details": details}
        if self.defect != "shows no token":
            report["auth_token"] = self.token
        for _ in range(2):
            if self.post(self.manager, "report_match_result", report) or self.defect == "reports once":
                return
            time.sleep(0.5)


class KitManager(Agent):
    """A manager of four players. A draw is what its report calls one."""

    sender = "league_manager"

    def __init__(self, defect: str = "") -> None:
        super().__init__(defect)
        self.homes: dict[str, str] = {}
        self.referees: dict[str, str] = {}
        self.results: dict[str, Object] = {}
        self.reports: list[Object] = []
        self.schedule: list[Object] = []
        self.news = threading.Condition()

    def receive(self, message: Object) -> Object:
        kind = str(message.get("message_type"))
        conversation = message.get("conversation_id", "c")
        if kind.endswith("REGISTER_REQUEST"):
            return {"result": self.register(kind, message)}
        if kind == "MATCH_RESULT_REPORT":
            return self.take(message)
        if kind == "LEAGUE_QUERY":
            data: Object = {"standings": self.table()}
            if message["query_type"] == "GET_SCHEDULE" and self.defect == "tells referees that ask":
                data = {"schedule": self.schedule}
            fields = {"query_type": message["query_type"], "success": True, "data": data}
            return {"result": self.write("LEAGUE_QUERY_RESPONSE", conversation, **fields)}
        return {"error": {"code": -32601, "message": "unknown"}}

    def register(self, kind: str, message: Object) -> Object:
        role = "referee" if kind.startswith("REFEREE") else "player"
        members = self.referees if role == "referee" else self.homes
        agent_id = f"REF{len(members) + 1:02}" if role == "referee" else f"P{len(members) + 1:02}"
        if self.defect == "calls everybody P01" and role == "player":
            agent_id = "P01"
        if self.defect == "registers no referee" and role == "referee":
            fields: Object = {"status": "REJECTED", "reason": "no", "referee_id": None}
            return self.write("REFEREE_REGISTER_RESPONSE", message["conversation_id"], **fields)
        members[agent_id] = message[f"{role}_meta"]["contact_endpoint"]
        if len(self.homes) == 4 and len(self.referees) == 1 and self.defect != "never begins":
            later(self.lead)
        kind = kind.replace("REQUEST", "RESPONSE")
        fields = {"status": "ACCEPTED", "reason": None, f"{role}_id": agent_id, "league_id": LEAGUE}
        return self.write(kind, message["conversation_id"], auth_token=f"tok_{agent_id}_0123456789abcdef", **fields)

    def take(self, report: Object) -> Object:
        match_id = report["match_id"]
        if self.defect == "refuses draws" and report["result"]["winner"] is None:
            return {"error": {"code": -32602, "message": "winner must be a player"}}
        is_new = match_id not in self.results
        with self.news:
            if is_new or self.defect == "counts the last report":
                self.results[match_id] = report
            if is_new or self.defect == "counts every report":
                self.reports.append(report)
            self.news.notify_all()
        fields = {"status": "ACCEPTED", "match_id": match_id, "round_id": report["round_id"]}
        return {"result": self.write("MATCH_RESULT_ACK", report["conversation_id"], **fields)}

    def table(self) -> list[Object]:
        rows: dict[str, Object] = {
            player: dict.fromkeys(("played", "wins", "draws", "losses", "points"), 0) for player in self.homes
        }
        reports = self.reports if self.defect == "counts every report" else list(self.results.values())
        for report in reports:
            winner = report["result"]["winner"]
            for player in report["result"]["score"]:
                column = "draws" if winner is None else "wins" if winner == player else "losses"
                if self.defect == "counts draws as losses" and column == "draws":
                    column = "losses"
                rows[player]["played"] += 1
                rows[player][column] += 1
                rows[player]["points"] = 3 * rows[player]["wins"] + rows[player]["draws"]
        ranked = sorted(rows, key=lambda player: -rows[player]["points"])
        return [
            {"rank": rank, "player_id": player, "display_name": player, **rows[player]}
            for rank, player in enumerate(ranked, 1)
        ]

    def lead(self) -> None:
        players = list(self.homes)
        pairings = [((0, 3), (1, 2)), ((0, 2), (3, 1)), ((0, 1), (2, 3))]
        if self.defect == "forgets a round":
            pairings.pop()
        for round_id, pairs in enumerate(pairings, 1):
            matches = [
                {
                    "match_id": f"R{round_id}M{number}",
                    "game_type": "even_odd",
                    "player_A_id": players[first],
                    "player_B_id": players[second],
                    "referee_endpoint": self.referees["REF01"],
                }
                for number, (first, second) in enumerate(pairs, 1)
            ]
            self.schedule += matches
            self.tell("ROUND_ANNOUNCEMENT", "notify_round", round_id=round_id, matches=matches)
            with self.news:
                self.news.wait_for(lambda count=2 * round_id: len(self.results) >= count, 30)  # type: ignore[misc]
            self.tell("LEAGUE_STANDINGS_UPDATE", "update_standings", round_id=round_id, standings=self.table())
            summary = {"total_matches": 2, "wins": 2, "draws": 0, "technical_losses": 0}
            next_round = round_id + 1 if round_id < len(pairings) else None
            counts = {"matches_completed": 2, "matches_played": 2, "next_round_id": next_round, "summary": summary}
            self.tell("ROUND_COMPLETED", "notify_round_completed", round_id=round_id, **counts)
        table = self.table()
        best = table[0]
        champion = {name: best[name] for name in ("player_id", "display_name", "points")}
        fields = {"total_rounds": 3, "total_matches": 6, "champion": champion, "final_standings": table}
        if self.defect != "never ends":
            self.tell("LEAGUE_COMPLETED", "notify_league_completed", **fields)

    def tell(self, kind: str, method: str, **fields: object) -> None:
        homes = [*self.homes.values(), *self.referees.values()]
        if self.defect in ("tells no referee", "tells referees that ask"):
            homes = list(self.homes.values())
        if self.defect == "forgets a player" and kind == "ROUND_ANNOUNCEMENT":
            homes = homes[1:]
        for home in homes:
            message = self.write(kind, f"c-{kind}", auth_token="tok_league_manager_x", league_id=LEAGUE, **fields)
            self.post(home, method, message)
