"""`league check referee` and `league check manager`: good agents pass, and each broken one is told what it breaks."""

from __future__ import annotations

import asyncio
import threading

import pytest

from league.features.kit.checks import JUDGES, checks_for
from league.features.kit.driver.kit import Options
from league.features.kit.driver.record import RunRecord
from league.features.kit.driver.server import KitServer
from league.features.kit.runner import CheckReport
from league.features.kit.scenarios.programme import SCENARIOS
from league.features.kit.scenarios.refereeing import home_of
from league.transport.http_client import HttpClient
from tests.kit.defects import failed, told, warned
from tests.kit.leagues import KitManager, KitReferee
from tests.support.http_wire import free_port
from tests.support.kit_runs import check_player

SCALE = 4.0
WATCHDOG_S = 60.0

REFEREES = {
    "has no name": ("REFEREE_REGISTER_REQUEST.referee_meta.display_name", True),
    "names no opponent": ("MATCH.invitation", True),
    "ignores a refusal": ("MATCH.calls_after_both_joined", True),
    "lets nobody win": ("MATCH.declined_is_technical_loss", True),
    "names the loser": ("MATCH.winner", False),
    "tells players different results": ("MATCH.game_over_identical", True),
    "gives two points": ("MATCH.points", True),
    "shows no token": ("TOKEN.sent", False),
    "repairs choices": ("MATCH.correction", True),
    "reports once": ("REPORT.until_acknowledged", True),
}
"""By defect: the clause that it breaks, and whether the referee plays all the same."""
IDLE = {"plays nothing": "it invites nobody", "reports nothing": "it does not report the result"}
MANAGERS = {
    "calls everybody P01": ("REGISTER.accepted", False),
    "counts draws as losses": ("STANDINGS.adds_up", False),
    "counts every report": ("REPORT.duplicate", True),
    "counts the last report": ("REPORT.conflict", True),
    "forgets a player": ("ROUND.announced_to_all", True),
    "forgets a round": ("SCHEDULE.everybody_meets", True),
    "never ends": ("LEAGUE.completed_once", True),
    "refuses draws": ("REPORT.acknowledged", False),
    "tells no referee": ("ROUND.announced_to_referees", False),
    "tells referees that ask": ("ROUND.announced_to_referees", True),
}
LAZY = {"registers no referee": "it registers no referee", "never begins": "it announced no match"}
TESTED_WITH_PLAYERS = {"RPC.id", "RPC.method"}


def checked_referee(defect: str = "", only: tuple[str, ...] = ()) -> CheckReport:
    with KitReferee(defect) as referee:
        threads = []

        def begin(line: str) -> None:
            threads.append(threading.Thread(target=referee.enrol, args=(line.removeprefix("ready: "),), daemon=True))
            threads[0].start()

        options = Options(referee.endpoint, listen=0, wait_s=5.0, time_scale=SCALE, only=only)
        report = check_player(options, begin, "referee")
        threads[0].join(WATCHDOG_S)
        return report


def checked_manager(defect: str = "") -> CheckReport:
    with KitManager(defect) as manager:
        return check_player(Options(manager.endpoint, time_scale=SCALE), role="manager")


@pytest.mark.parametrize("role", ["referee", "manager"])
def test_every_row_names_a_function_and_every_check_is_failed_by_some_broken_agent(role: str) -> None:
    checks = checks_for(role)
    assert all(check.judge in JUDGES for check in checks.values())
    assert {scenario for check in checks.values() for scenario in check.scenarios} <= set(SCENARIOS)
    broken = {clause for clause, _ in (REFEREES if role == "referee" else MANAGERS).values()}
    rows = {name for name, check in checks.items() if check.judge != "field"}
    assert rows - broken == TESTED_WITH_PLAYERS


def test_a_good_referee_would_referee() -> None:
    report = checked_referee()
    assert (report.playing.would_play, failed(report), report.passed) == (True, set(), True), told(report)


@pytest.mark.parametrize("defect", REFEREES)
def test_a_broken_referee_is_told_what_it_breaks(defect: str) -> None:
    clause, would_play = REFEREES[defect]
    report = checked_referee(defect)
    assert clause in failed(report) | warned(report), told(report)
    assert failed(report) <= {clause}, told(report)
    assert report.playing.would_play is would_play, report.playing.reason


@pytest.mark.parametrize("defect", IDLE)
def test_a_referee_that_leaves_matches_without_a_result_would_not_referee(defect: str) -> None:
    report = checked_referee(defect)
    assert report.playing.would_play is False
    assert report.playing.reason.startswith(IDLE[defect])
    assert not report.passed


@pytest.mark.parametrize("habit", ["knows START_MATCH only", "is at localhost"])
def test_a_referee_that_is_started_in_another_way_is_found_out(habit: str) -> None:
    """One takes no announcement, the other only matches of the endpoint that it registered."""
    assert checked_referee(habit).playing.would_play is True


def test_players_can_live_at_ports_of_their_own() -> None:
    async def invite() -> str:
        record = RunRecord("here", role="referee")
        server = KitServer(record)
        home = await server.listen("127.0.0.1", 0, home_of("P02"))
        client = HttpClient()
        try:
            url = f"http://127.0.0.1:{home.sockets[0].getsockname()[1]}/mcp"
            await client.post(url, b'{"message_type": "GAME_INVITATION"}', 5.0, 10_000)
        finally:
            await client.close()
            await server.close()
        return record.arrivals[0].place

    assert asyncio.run(invite()) == home_of("P02")


def test_a_referee_that_does_not_register_would_not_referee() -> None:
    report = check_player(Options(f"http://127.0.0.1:{free_port()}/mcp", listen=0, wait_s=0.2), role="referee")
    assert (report.playing.would_play, report.passed) == (False, False)
    assert report.playing.reason == report.record.listening


def test_a_good_manager_would_run_a_league() -> None:
    report = checked_manager()
    assert (report.playing.would_play, failed(report), report.passed) == (True, set(), True), told(report)
    assert len(report.record.staged) == 6


@pytest.mark.parametrize("defect", MANAGERS)
def test_a_broken_manager_is_told_what_it_breaks(defect: str) -> None:
    clause, would_play = MANAGERS[defect]
    report = checked_manager(defect)
    assert clause in failed(report) | warned(report), told(report)
    if would_play:
        assert failed(report) <= {clause}, told(report)
    assert report.playing.would_play is would_play, report.playing.reason


@pytest.mark.parametrize("defect", LAZY)
def test_a_manager_whose_league_does_not_begin_would_run_none(defect: str) -> None:
    report = checked_manager(defect)
    assert report.playing.would_play is False
    assert report.playing.reason.startswith(LAZY[defect])
    assert not report.passed
