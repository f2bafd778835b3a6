"""docs/reference/openapi.json says what a running league serves: every page and order, held against its schema."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from league.protocol.order_table import ORDERS
from scripts.http_api import ORDERS_TOLD, PAGES, openapi
from tests.support.processes import Process, Processes

DOCUMENT = openapi()
Answer = tuple[int, Any]
"""Status and body (Any: JSON, or text)."""


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[Processes]:
    with Processes(tmp_path) as started:
        yield started
    assert started.bugs == []


def ask(agent: Process, method: str, path: str, body: object = None, token: str = "") -> Answer:
    connection = HTTPConnection("127.0.0.1", agent.port)
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    try:
        raw = None if body is None else json.dumps(body).encode()
        connection.request(method, path, raw, {"Content-Type": "application/json", **headers})
        answer = connection.getresponse()
        said = answer.read().decode()
    finally:
        connection.close()
    return answer.status, json.loads(said) if answer.getheader("content-type") == "application/json" else said


def hold(path: str, method: str, answer: Answer) -> None:
    """The answer is one that the document has."""
    status, body = answer
    responses = DOCUMENT["paths"][path][method]["responses"]
    assert str(status) in responses, (path, answer)
    [(kind, content)] = responses[str(status)]["content"].items()
    assert isinstance(body, str) == (kind == "text/plain")
    whole = {**content["schema"], "components": DOCUMENT["components"]}
    jsonschema.Draft202012Validator(whole).validate(body)


def look(agent: Process, match_id: str) -> dict[str, Any]:
    """Every page, each as the document has it."""
    shown: dict[str, Any] = {}
    for page in PAGES:
        answer = ask(agent, "GET", page.path.format(match_id=match_id))
        hold(page.path, "get", answer)
        shown[page.path] = answer[1]
    return shown


def test_the_pages_and_orders_of_a_league_are_as_documented(processes: Processes) -> None:
    manager = processes.manager(players=3, enrolment="approve")
    token = (processes.folder / "admin-token").read_text().strip()

    def order(name: str, body: object = None, by: str = token) -> Answer:
        answer = ask(manager, "POST", f"/api/admin/{name}", body, by)
        hold(f"/api/admin/{name}", "post", answer)
        return answer

    assert order("start", by="")[0] == 401
    assert order("withdraw", {})[0] == 400
    assert order("start")[0] == 409
    players = processes.players(manager, count=3, time_scale=10)
    referee = processes.referee(manager, time_scale=10)
    players.said("http", 3)
    referee.said("http")
    waiting = look(manager, "R1M1")["/api/agents"]["applicants"]
    assert len(waiting) == 4
    for one in waiting:
        assert order("approve", {"target": one["applicant_id"], "key": one["applicant_id"]})[0] == 200
    assert players.wait() == 0
    shown = look(manager, "R1M1")
    assert shown["/api/league"]["state"] == "LEAGUE_COMPLETED"
    assert shown["/api/matches/{match_id}"]["points"]
    assert "league_letters_received_total" in shown["/metrics"]


def test_a_referee_serves_what_all_roles_serve(processes: Processes) -> None:
    manager = processes.manager(players=2)
    referee = processes.referee(manager)
    for page in PAGES:
        status = ask(referee, "GET", page.path.format(match_id="R1M1"))[0]
        assert (status == 200) == (page.who == "all three roles"), page


def test_every_order_is_documented() -> None:
    assert list(ORDERS_TOLD) == list(ORDERS)
    assert {path for path in DOCUMENT["paths"] if "admin" in path} == {f"/api/admin/{order}" for order in ORDERS}
