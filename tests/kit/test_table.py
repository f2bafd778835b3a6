"""The table of checks is the list of what can be observed in a player, and what the kit says is itself right."""

from __future__ import annotations

import asyncio
import tomllib
from pathlib import Path

import pytest

from league.features.kit.checks import JUDGES, checks_for
from league.features.kit.checks.outcome import CheckVerdict
from league.features.kit.clauses import clauses_for
from league.features.kit.driver import draws
from league.features.kit.driver.conventions import Object
from league.features.kit.driver.kit import Options
from league.features.kit.driver.messages import MessageWriter
from league.features.kit.driver.templates import table
from league.features.kit.runner import chosen, run, scenarios_of
from league.features.kit.scenarios.programme import SCENARIOS
from league.protocol.message.envelope import STRICT, unseal
from tests.kit import test_broken_members, test_broken_players, test_broken_signers
from tests.kit.defects import Defect, failed
from tests.kit.players import Conforming, checked
from tests.support.http_wire import free_port
from tests.support.kit_runs import check_player

ROOT = Path(__file__).parents[2]
REQUIREMENTS = tomllib.loads((ROOT / "spec" / "requirements.toml").read_text(encoding="utf-8"))["requirement"]
NOW = 1_750_000_000.0
TESTED_ELSEWHERE = {
    "PLAYER.survives_nonsense",
    "PLAYER.talks_to_no_player",
    "REGISTER.stops_when_rejected",
    "REGISTER.waits_for_approval",
    "KEEPING.bounded",  # never testable
}


def test_there_is_a_check_for_every_clause_that_can_be_observed_in_a_player() -> None:
    observable = [one["id"] for one in REQUIREMENTS if "player" in one["observable"]]
    assert list(checks_for("player")) == observable


def test_the_kit_carries_the_clauses_as_the_specification_has_them() -> None:
    wanted = {
        one["id"]: (one.get("player_level", one["level"]), one["section"], one["sentence"]) for one in REQUIREMENTS
    }
    for clause in clauses_for("player").values():
        assert (clause.level, clause.section, clause.sentence) == wanted[clause.id]


def test_every_row_names_a_clause_that_exists_and_a_function_that_judges() -> None:
    rows = dict(table("checks", "player.toml"))
    assert set(rows.pop("fields")) <= {name.partition(".")[0] for name in checks_for("player")}
    assert set(rows) <= set(checks_for("player"))
    assert all(check.never or check.judge in JUDGES for check in checks_for("player").values())


def test_checks_name_scenarios_that_exist() -> None:
    assert {one for check in checks_for("player").values() for one in check.scenarios} <= set(SCENARIOS)


def test_every_check_is_failed_by_some_broken_player() -> None:
    found: set[str] = set()
    for case in (*test_broken_players.DEFECTS, *test_broken_members.DEFECTS, *test_broken_signers.DEFECTS):
        defect: Defect = case.values[0]
        found |= defect.fails | defect.warned
    assert set(checks_for("player")) - found == TESTED_ELSEWHERE


@pytest.mark.parametrize("name", ["JSON.utf8", "JOIN.in_time", "GAME_OVER_ACK.status", "SIZE.from_the_manager"])
def test_one_check_alone_finds_what_the_whole_run_finds(name: str) -> None:
    report = checked(Conforming("Ada"), only=(name,))
    assert [(one.clause.id, one.verdict) for one in report.results] == [(name, CheckVerdict.PASS)]
    assert report.record.played < set(SCENARIOS)


def test_a_name_before_a_dot_stands_for_all_below_it() -> None:
    assert chosen(("GAME_JOIN_ACK",)) == [
        f"GAME_JOIN_ACK.{one}" for one in ("match_id", "player_id", "arrival_timestamp", "accept")
    ]
    assert scenarios_of(["RPC.methods"]) >= {"dialect", "readings", "methods"}
    with pytest.raises(ValueError, match="no check JOIN"):
        chosen(("JOIN.late",))


def _said_by_the_kit() -> dict[str, Object]:
    writer = MessageWriter("P01", "http://127.0.0.1:1/referee/mcp", "http://127.0.0.1:1/opponent/mcp", "tok_m", "tok_r")
    return {
        "announcement": writer.write("ROUND_ANNOUNCEMENT", 1),
        "standings": writer.standings(1, 20),
        "round completed": writer.write("ROUND_COMPLETED", 1),
        "league completed": writer.write("LEAGUE_COMPLETED", 7),
        "league error": writer.write("LEAGUE_ERROR"),
        "invitation": writer.write("GAME_INVITATION", 1),
        "call": writer.write("CHOOSE_PARITY_CALL", 1),
        "move": writer.write("GAME_MOVE_CALL", 1, game="rock_paper_scissors", options=["rock"]),
        "game over": writer.game_over(1, "odd"),
        "drawn result": writer.drawn_result(1, "odd", bytes(32)),
        "match left": writer.write("CALLED_OFF", 1),
        "match left in another game": writer.write("CALLED_OFF", 1, game="rock_paper_scissors"),
        "game error": writer.write("GAME_ERROR", 1, choice="even"),
    }


@pytest.mark.parametrize("name", _said_by_the_kit())
def test_what_the_kit_says_is_strictly_right(name: str) -> None:
    assert unseal(_said_by_the_kit()[name], STRICT).violations == ()


def test_the_kit_draws_as_the_example_of_the_specification() -> None:
    seed = bytes(range(32))
    promised = "7a1a344ed27df0f0d1bbffe80d5f59996567b66ee8e40781b349d4380ccd4ede"
    assert draws.commitment(seed, "R1M1", "spring") == promised
    assert draws.number(seed, "R1M1", "spring") == 9


def test_nobody_there_is_one_failure_and_the_rest_is_untestable() -> None:
    report = check_player(Options(f"http://127.0.0.1:{free_port()}/mcp"))
    assert failed(report) == {"HTTP.post_mcp"}
    assert report.counts[CheckVerdict.PASS] == 0
    assert len(report.record.probes) <= 2


def test_a_run_leaves_nothing_behind_in_its_loop() -> None:
    async def alone(player: Conforming) -> set[str]:
        await run(Options(player.endpoint, only=("RPC.ping",)))
        await asyncio.sleep(0)
        return {str(one) for one in asyncio.all_tasks() if one is not asyncio.current_task()}

    with Conforming("Ada") as player:
        assert asyncio.run(alone(player)) == set()
