"""Good players: nothing fails, however unusual their habits, and ours keeps every clause."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from league.features.kit.checks.outcome import CheckVerdict
from league.features.kit.driver.kit import Options
from league.features.kit.runner import CheckReport
from tests.kit.defects import failed, told, warned
from tests.kit.players import Conforming, Registration, checked, checked_member
from tests.support.http_wire import free_port
from tests.support.kit_runs import check_player
from tests.support.peer import Received
from tests.support.processes import Processes
from tests.support.scripts import BUSY, HONEST, MATCH_CALLS, Reaction, always, on

FOR_SIGNERS = {
    "SIGNATURE.statement",
    "SIGNATURE.once",
    "DRAW.one_commitment",
}
"""Clauses for players that declared a key."""
HABITS = {
    "extra fields": always(Reaction(fields={"mood": "sunny", "nested": {"a": [1, None]}}, rpc={"took_ms": 3})),
    "fractions of seconds": always(Reaction(fields={"timestamp": "2025-06-01T10:00:00.123456+00:00"})),
    "chunked bodies": always(Reaction(framing="chunked")),
    "the end of the connection as the end of the body": always(Reaction(framing="close")),
    "HTTP/1.0": always(Reaction(version="HTTP/1.0", framing="close")),
    "null beside the result": always(Reaction(rpc={"error": None})),
    "blanks behind the body": always(Reaction(padding=100)),
    "another media type": always(Reaction(content_type="application/json; charset=utf-8")),
    "answers as requests of their own": on(MATCH_CALLS, Reaction(posted=True)),
    "an answer in small pieces": on("GAME_INVITATION", Reaction(drip=(50, 0.01)), HONEST),
    "thanks for an acknowledgement": on(("GAME_OVER", "ROUND_COMPLETED"), Reaction(rpc={"result": "thanks"})),
    "an empty acknowledgement": on("ROUND_ANNOUNCEMENT", Reaction(rpc={"result": None})),
    "declining": on("GAME_INVITATION", Reaction(fields={"accept": False})),
    "exiting at the end": on("LEAGUE_COMPLETED", Reaction(ending="exit")),
}


@pytest.mark.parametrize("habit", HABITS)
def test_an_unusual_habit_is_no_failure(habit: str) -> None:
    report = checked(Conforming("Ada", script=HABITS[habit]))
    assert failed(report) == set(), told(report)


def test_a_good_member_has_neither_failures_nor_warnings() -> None:
    report = checked_member(Conforming("Ada", registration=Registration(pause_s=1.0, query={})))
    assert (failed(report), warned(report)) == (set(), set()), told(report)
    untested = {one.clause.id for one in report.of(CheckVerdict.UNTESTABLE)}
    alone = {"REGISTER.retries", "REGISTER.stops_when_rejected", "REGISTER.waits_for_approval"}
    assert untested == {"KEEPING.bounded"} | alone | FOR_SIGNERS


def test_a_player_that_has_no_time_now_is_asked_again() -> None:
    report = checked(Conforming("Ada", script=on("GAME_INVITATION", BUSY, HONEST)), time_scale=4.0)
    assert failed(report) == set(), told(report)


def test_a_member_of_another_league_is_not_blamed_for_refusing_the_kit() -> None:
    report = checked(Conforming("Ada", refuses=lambda one: "E028" if one.message.get("league_id") else None))
    assert failed(report) == set(), told(report)


class OneAtATime:
    """Takes no other invitation before it has heard how the match ended."""

    def __init__(self) -> None:
        self.match: object = None

    def __call__(self, request: Received) -> str | None:
        match = request.message.get("match_id")
        if request.kind == "GAME_INVITATION":
            if self.match not in (None, match):
                return "E023"
            self.match = match
        elif request.kind == "GAME_OVER" and match == self.match:
            self.match = None
        return None


def test_a_player_with_one_match_at_a_time_is_tried_in_all_of_them_and_free_afterwards() -> None:
    busy = OneAtATime()
    report = checked(Conforming("Ada", refuses=busy))
    assert "PLAYER.corrects" in {one.clause.id for one in report.of(CheckVerdict.PASS)}, told(report)
    assert failed(report) <= {"PLAYER.several_matches"}, told(report)
    assert busy.match is None


@pytest.mark.parametrize("only", ["RPC.methods", "PLAYER.corrects", "READING.all_timestamp_forms", "JSON.nul"])
def test_a_player_is_free_again_after_a_part_of_the_programme(only: str) -> None:
    busy = OneAtATime()
    checked(Conforming("Ada", refuses=busy), only=(only,))
    assert busy.match is None


# --- ours -------------------------------------------------------------------------------------------------------------


def _checked_player_of_ours(folder: Path, **how: Any) -> CheckReport:
    port = free_port()
    with Processes(folder) as processes:

        def start(line: str) -> None:
            processes.begin("player", manager=line.removeprefix("ready: "), port=port)

        return check_player(Options(f"http://127.0.0.1:{port}/mcp", listen=0, wait_s=60.0, **how), start)


@pytest.mark.requirement("PLAYER.understands_calls")
def test_our_player_keeps_every_clause_it_can_be_tested_for(tmp_path: Path) -> None:
    report = _checked_player_of_ours(tmp_path)
    assert (failed(report), warned(report)) == (set(), set()), told(report)
    assert report.dialect == "SPEC"
    untested = {one.clause.id.partition(".")[0] for one in report.of(CheckVerdict.UNTESTABLE)}
    assert untested == {"GAME_MOVE_RESPONSE", "KEEPING", "MOVE", "REGISTER"}
    kept = {one.clause.id for one in report.of(CheckVerdict.PASS)}
    assert kept >= FOR_SIGNERS | {"REGISTER.again_after_E012"}


def test_our_player_repeats_a_registration_that_nobody_answered(tmp_path: Path) -> None:
    report = _checked_player_of_ours(tmp_path, only=("REGISTER.retries",))
    assert [one.verdict for one in report.results] == [CheckVerdict.PASS], told(report)


def test_our_player_can_be_checked_again_and_again_without_being_started_anew(tmp_path: Path) -> None:
    with Processes(tmp_path) as processes:
        player = processes.players("http://127.0.0.1:9")
        for _ in range(3):
            report = check_player(Options(player.endpoint))
            assert (failed(report), warned(report)) == (set(), set()), told(report)
        player.said("the kit's match R1M", count=3)
        assert [line for line in player.lines if line.startswith(("R", "round"))] == [], "none is taken for a league's"
