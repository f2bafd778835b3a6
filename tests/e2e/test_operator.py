"""The operator's hand, by command and over HTTP, on real processes: what was ordered is done once and stays done, and
without the admin token nothing is."""

from __future__ import annotations

import json
import stat
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from league.cli.pages import Pages
from league.events import (
    AgentApplied,
    AgentRegistered,
    ResultAccepted,
    ResultVoided,
    WalkoverDecided,
)
from tests.support.peer import Peer
from tests.support.processes import Process, Processes, assert_kept
from tests.support.scripts import HONEST, Reaction, on

SCALE = 10
HELD = on("CHOOSE_PARITY_CALL", Reaction(until="go"), HONEST)


def token_of(folder: Path) -> str:
    return (folder / "admin-token").read_text().strip()


def give(processes: Processes, manager: Process, *order: str) -> subprocess.CompletedProcess[str]:
    return processes.run(*order, "--manager", manager.endpoint, "--state", processes.folder)


def carried_out(processes: Processes, manager: Process, *order: str) -> None:
    """Give an order until the league is ready for it."""
    while (done := give(processes, manager, *order)).returncode != 0:
        assert "E023" in done.stderr, done.stderr
        assert (done.stdout, done.stderr.count("\n")) == ("", 1)
    assert (done.stdout.count("\n"), done.stderr) == (1, "")


def agents_of(manager: Process) -> dict[str, Any]:
    with closing(Pages(manager.endpoint)) as pages:
        return dict(pages.json("/api/agents"))


def agents_in(processes: Processes) -> list[dict[str, Any]]:
    """As the journal has them."""
    return list(json.loads(processes.run("agents", "--journal", "manager.db", "--json").stdout)["agents"])


def post(manager: Process, order: str, token: str, body: object = None) -> tuple[int, dict[str, Any]]:
    pages = Pages(manager.endpoint)
    try:
        status, raw = pages.post(f"/api/admin/{order}", body if body is not None else {}, token)
    finally:
        pages.close()
    return status, json.loads(raw)


def league_of(manager: Process) -> dict[str, Any]:
    pages = Pages(manager.endpoint)
    try:
        shown: dict[str, Any] = pages.json("/api/league")
    finally:
        pages.close()
    return shown


def test_a_league_is_started_paused_and_resumed_by_hand_and_a_pause_survives_a_power_cut(processes: Processes) -> None:
    with ExitStack() as peers:
        manager = processes.manager(players=6, start="manual")
        sam = peers.enter_context(Peer("Sam", HELD))
        others = [peers.enter_context(Peer(name)) for name in ("Tom", "Ann", "Bo")]
        for one in (sam, *others):
            one.register(manager.endpoint)
        referee = processes.referee(manager, time_scale=SCALE)
        carried_out(processes, manager, "start", "--anyway")
        sam.saw("CHOOSE_PARITY_CALL")
        carried_out(processes, manager, "pause")
        assert "E023" in give(processes, manager, "pause").stderr
        manager.kill()
        manager = processes.manager(players=6, start="manual", port=manager.port)
        assert not any(line.startswith("admin token") for line in manager.lines)
        sam.release("go")
        sam.saw("ROUND_COMPLETED")
        shown = league_of(manager)
        assert (shown["waiting"], shown["round"], shown["rounds"]) == ("PAUSED", 1, 3)
        carried_out(processes, manager, "resume")
        for one in (sam, *others):
            one.saw("LEAGUE_COMPLETED")
        assert "E031" in give(processes, manager, "pause").stderr
        assert (referee.wait(), manager.stop()) == (0, 0)
    for order in ("start", "pause", "resume"):
        assert len(processes.orders(order)) == 1
    assert_kept(processes)


def test_a_player_is_withdrawn_and_a_match_is_played_again(processes: Processes) -> None:
    with ExitStack() as peers:
        manager = processes.manager(players=4)
        sam = peers.enter_context(Peer("Sam", HELD))
        others = [peers.enter_context(Peer(name)) for name in ("Tom", "Ann", "Bo")]
        for one in (sam, *others):
            one.register(manager.endpoint)
        referee = processes.referee(manager, time_scale=SCALE)
        sam.saw("CHOOSE_PARITY_CALL")
        # P01 is Sam, who plays P04 in R1M1 and keeps the first round open; R1M2 goes on without him.
        carried_out(processes, manager, "replay-match", "R1M2")
        assert "E014" in give(processes, manager, "replay-match", "R9M9").stderr
        assert "E005" in give(processes, manager, "withdraw", "P77").stderr
        carried_out(processes, manager, "withdraw", "P04")
        sam.release("go")
        for one in (sam, *others[:2]):
            one.saw("LEAGUE_COMPLETED")
        assert (referee.wait(), manager.stop()) == (0, 0)
    assert [one.match_id for one in processes.events("manager", ResultVoided)] == ["R1M2"]
    results = [one.attempt for one in processes.events("manager", ResultAccepted) if one.match_id == "R1M2"]
    assert results == [1, 2]
    assert [one.target for one in processes.orders("withdraw")] == ["P04"]
    assert {one.withdrawn for one in processes.events("manager", WalkoverDecided)} == {("P04",)}
    assert_kept(processes)


@pytest.mark.requirement("REGISTER.late_player")
def test_who_comes_late_plays_what_it_missed_in_extra_rounds_also_after_a_power_cut(processes: Processes) -> None:
    with ExitStack() as peers:
        manager = processes.manager(players=3, late="admit")
        sam = peers.enter_context(Peer("Sam", HELD))
        others = [peers.enter_context(Peer(name)) for name in ("Tom", "Ann")]
        for one in (sam, *others):
            one.register(manager.endpoint)
        referee = processes.referee(manager, time_scale=SCALE)
        sam.saw("CHOOSE_PARITY_CALL")
        late = peers.enter_context(Peer("Bo"))
        late.register(manager.endpoint)
        manager.kill()
        manager = processes.manager(players=3, late="admit", port=manager.port)
        sam.release("go")
        for one in (sam, *others, late):
            one.saw("LEAGUE_COMPLETED")
        with closing(Pages(manager.endpoint)) as pages:
            table = pages.json("/api/standings")["standings"]
        assert (referee.wait(), manager.stop()) == (0, 0)
    assert {one["display_name"]: one["played"] for one in table} == dict.fromkeys(("Sam", "Tom", "Ann", "Bo"), 3)
    assert_kept(processes)


@pytest.mark.requirement("REGISTER.waits_for_approval")
def test_agents_wait_for_the_operator_and_play_once_they_are_approved(processes: Processes) -> None:
    manager = processes.manager(players=2, enrolment="approve")
    player = processes.players(manager, "Ann", time_scale=SCALE)
    referee = processes.referee(manager, time_scale=SCALE)
    for one in (player, referee):
        (told,) = one.said(f"{one.endpoint} is not a member yet; it keeps trying: ")
        assert "the operator's approval" in told
    shown = processes.run("agents", "--manager", manager.endpoint).stdout
    assert "Nobody has registered yet." in shown
    assert "Ann" in shown
    with Peer("Sam") as sam:
        assert sam.apply(manager.endpoint)["result"]["error_code"] == "E043"
        manager.kill()
        manager = processes.manager(players=2, enrolment="approve", port=manager.port)
        carried_out(processes, manager, "approve", "Sam")
        assert sam.register(manager.endpoint)["status"] == "ACCEPTED"
        assert "E005" in give(processes, manager, "approve", "Eve").stderr
        carried_out(processes, manager, "approve", player.endpoint)
        carried_out(processes, manager, "approve", "referee")
        sam.saw("LEAGUE_COMPLETED")
    assert (player.wait(), referee.wait(), manager.stop()) == (0, 0, 0)
    assert len(processes.events("manager", AgentApplied)) == 3
    assert len(processes.orders("approve")) == 3
    assert len(processes.events("manager", AgentRegistered)) == 3
    assert_kept(processes)


@pytest.mark.requirement("REGISTER.rejected_by_operator")
def test_a_teacher_lets_a_class_in_at_once_and_turns_strangers_away(processes: Processes) -> None:
    manager = processes.manager(players=2, enrolment="approve")
    eve = processes.players(manager, "Eve", time_scale=SCALE)
    ann, bob = (processes.players(manager, one, time_scale=SCALE) for one in ("Ann", "Bob"))
    referee = processes.referee(manager, time_scale=SCALE)
    for one in (eve, ann, bob, referee):
        one.said(f"{one.endpoint} is not a member yet; it keeps trying: ")
    early = give(processes, manager, "start").stderr
    assert early.startswith("league start: waiting for approval: ")
    assert all(f'"{name}"' in early for name in ("Eve", "Ann", "Bob"))
    usage = give(processes, manager, "approve")
    assert (usage.returncode, "--all" in usage.stderr) == (2, True)
    carried_out(processes, manager, "reject", "Eve")
    assert eve.wait() == 1
    eve.said(f"the manager refused {eve.endpoint}: E043 the operator rejected this registration")
    shown = processes.run("agents", "--manager", manager.endpoint).stdout
    assert "Eve" in shown.partition("Rejected by the operator")[2]
    mixed = give(processes, manager, "approve", "Ann", "Nobody")
    assert (mixed.returncode, mixed.stdout.count("approved"), mixed.stderr.count("E005")) == (1, 1, 1)
    everybody = give(processes, manager, "approve", "--all", "--json")
    assert {one["target"] for one in json.loads(everybody.stdout)["done"]} == {"A03", "A04"}
    assert (ann.wait(), bob.wait(), referee.wait()) == (0, 0, 0)
    assert {one.display_name for one in processes.events("manager", AgentRegistered)} >= {"Ann", "Bob"}
    assert [one.named for one in processes.orders("reject")] == ["Eve"]
    assert manager.stop() == 0
    assert_kept(processes)


def test_an_order_that_comes_twice_is_carried_out_once(processes: Processes) -> None:
    with Peer("Sam", HELD) as sam, Peer("Tom") as tom:
        manager = processes.manager(players=2)
        sam.register(manager.endpoint)
        tom.register(manager.endpoint)
        processes.referee(manager, time_scale=SCALE)
        sam.saw("CHOOSE_PARITY_CALL")
        token = token_of(processes.folder)
        done = {"order": "pause", "target": None, "key": "once"}
        for _ in range(3):
            assert post(manager, "pause", token, {"key": "once"}) == (200, done)
        status, refused = post(manager, "resume", token, {"key": "once"})
        assert (status, refused["error_code"]) == (409, "E023")
        assert len(processes.orders("pause")) == 1
        sam.release("go")


# --- who is there -----------------------------------------------------------------------------------------------------


def test_only_who_did_not_come_in_is_listed_as_refused(processes: Processes) -> None:
    manager = processes.manager(players=2, game="connect_four")
    processes.referee(manager).said("registered as REF01")  # it is told the game and comes again
    assert processes.players(manager, "other", game="tic_tac_toe").wait() == 1
    _, _, refused = processes.run("agents", "--manager", manager.endpoint).stdout.partition("\nRefused:\n")
    assert refused.startswith("registration by player other ")
    assert refused.count("E027") == 1


def test_who_does_not_answer_is_shown_and_told_before_the_league_starts(processes: Processes) -> None:
    manager = processes.manager(players=3, start="manual", outage_minutes=0)
    with Peer("Sam") as sam, Peer("Tom") as tom, Peer("Una") as una:
        sam.register(manager.endpoint)
        tom.register(manager.endpoint)
        una.apply(manager.endpoint, contact_endpoint="http://127.0.0.1:9/mcp")
        processes.referee(manager, time_scale=SCALE)
        manager.until(lambda: agents_of(manager)["not_answering"] and len(agents_of(manager)["agents"]) == 4)
        lines = processes.run("agents", "--manager", manager.endpoint).stdout.splitlines()
        shown = {line.split()[0]: line for line in lines if line}
        assert " registered " in shown["P01"]
        assert " not answering " in shown["P03"]
        manager.said('player P03 "Una": nobody answers at http://127.0.0.1:9/mcp: connection refused. Start the agent')
        details = processes.run("agents", "P03", "--manager", manager.endpoint).stdout
        assert "not answering since " in details
        assert "nobody answers at http://127.0.0.1:9/mcp: connection refused. Start the agent" in " ".join(
            details.split()
        )
        refused = give(processes, manager, "start")
        assert (refused.returncode, refused.stdout) == (1, "")
        assert 'player P03 "Una" at http://127.0.0.1:9/mcp is not answering since ' in refused.stderr
        assert refused.stderr.endswith("; use league start --anyway to start all the same\n")
        started = give(processes, manager, "start", "--anyway")
        assert (started.returncode, started.stdout) == (0, "The league starts.\n")
        assert started.stderr.startswith('warning: player P03 "Una" at http://127.0.0.1:9/mcp is not answering since ')
        assert started.stderr.count("\n") == 1
        (told,) = manager.said("the league starts: ")
        assert told.endswith('; not answering: P03 "Una"')
        sam.saw("LEAGUE_COMPLETED")
        tom.saw("LEAGUE_COMPLETED")
    shown = {one["agent_id"]: one["status"] for one in agents_in(processes)}
    assert (shown["P01"], shown["P02"]) == ("finished", "finished")


# --- the token --------------------------------------------------------------------------------------------------------


def test_without_the_token_nothing_is_changed(processes: Processes) -> None:
    manager = processes.manager(players=2, start="manual")
    with Peer("Sam") as sam, Peer("Tom") as tom:
        sam.register(manager.endpoint)
        tom.register(manager.endpoint)
        before = league_of(manager)["journal_seq"]
        for order in ("start", "pause", "resume", "approve", "reject", "withdraw", "replay-match", "close"):
            body = {"target": "P01"}
            assert post(manager, order, "tok_admin_" + "x" * 43, body)[0] == 401
            assert post(manager, order, sam.token or "", body)[0] == 401
            assert post(manager, order, "", body)[1]["error_code"] == "E011"
        assert league_of(manager)["journal_seq"] == before
    refused = processes.run("start", "--manager", manager.endpoint)
    assert (refused.returncode, "--state" in refused.stderr, refused.stdout) == (2, True, "")


def test_the_token_is_kept_for_its_owner_alone_and_nowhere_else(processes: Processes) -> None:
    manager = processes.manager(players=2, log=processes.folder / "log.jsonl")
    token = token_of(processes.folder)
    assert stat.S_IMODE((processes.folder / "admin-token").stat().st_mode) == 0o600
    assert not [line for line in manager.lines if token in line], "what is printed ends in logs"
    assert post(manager, "pause", token)[1]["error_code"] == "E030"
    assert manager.stop() == 0
    processes.run("export", "manager.db", "--to", "out", "--format", "json")
    holders = [one for one in processes.folder.rglob("*") if one.is_file() and token.encode() in one.read_bytes()]
    # The journal holds the secrets of the league, and is for its owner alone too.
    assert set(holders) == {processes.folder / "admin-token", processes.folder / "manager.db"}
    assert {stat.S_IMODE(one.stat().st_mode) for one in holders} == {0o600}


@pytest.mark.parametrize("what", ["lost", "replaced"])
def test_the_token_of_the_journal_is_written_to_its_file_at_the_next_start(processes: Processes, what: str) -> None:
    manager = processes.manager(players=2)
    token = token_of(processes.folder)
    assert manager.stop() == 0
    file = processes.folder / "admin-token"
    if what == "lost":
        file.unlink()
    else:
        file.write_text("an-older-token-of-another-league\n")
    manager = processes.manager(players=2)
    assert token_of(processes.folder) == token
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert not [line for line in manager.lines if token in line]
    answers = [post(manager, "pause", shown)[0] for shown in ("an-older-token-of-another-league", token)]
    assert answers == [401, 409]


def test_the_environment_may_say_the_token_on_both_sides(
    processes: Processes, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("LEAGUE_ADMIN_TOKEN", "correct-horse-battery")
    monkeypatch.setenv("LEAGUE_ENROLMENT_KEY", "another-correct-horse")
    manager = processes.manager(players=2, state=tmp_path / "state")
    assert not (tmp_path / "state").exists()
    assert "E030" in processes.run("pause", "--manager", manager.endpoint).stderr
    assert "correct-horse" not in manager.output
    monkeypatch.setenv("LEAGUE_ADMIN_TOKEN", "wrong-horse-battery")
    assert "E012" in processes.run("pause", "--manager", manager.endpoint).stderr


def test_a_state_folder_of_its_own_holds_the_token(processes: Processes) -> None:
    manager = processes.manager(players=2, state="secret/place")
    assert token_of(processes.folder / "secret" / "place")
    refused = processes.run("pause", "--manager", manager.endpoint, "--state", "secret/place")
    assert "E030" in refused.stderr


def test_commands_find_the_token_of_a_manager_that_was_started_in_the_same_place(processes: Processes) -> None:
    manager = processes.manager(journal=None, league_id="cup")
    assert token_of(processes.folder / "league-data" / "cup")
    assert "E030" in processes.run("pause", "--manager", manager.endpoint).stderr


def test_a_token_that_others_can_read_is_told(processes: Processes) -> None:
    assert processes.manager(players=2).stop() == 0
    (processes.folder / "admin-token").chmod(0o644)
    again = processes.manager(players=2)
    assert again.said("others can read the admin token in ")
    assert token_of(processes.folder) not in again.output


def test_a_file_that_holds_no_token_is_told(processes: Processes) -> None:
    (processes.folder / "admin-token").write_text("short\n")
    refused = processes.run("manager", "--port", "0", "--journal", "manager.db")
    assert (refused.returncode, refused.stdout, refused.stderr.count("\n")) == (2, "", 1)
    assert "short" not in refused.stderr


def test_a_folder_that_cannot_be_written_is_told(processes: Processes) -> None:
    file = processes.folder / "no-folder"
    file.touch()  # nothing can be written below a file, not even by root
    refused = processes.run("manager", "--port", "0", "--journal", "manager.db", "--state", str(file / "state"))
    assert (refused.returncode, refused.stderr.count("\n")) == (1, 1)


@pytest.fixture(scope="module")
def idle(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Process, str]]:
    """A manager that waits for registrations, and its token."""
    with Processes(tmp_path_factory.mktemp("idle")) as processes:
        yield processes.manager(players=2), token_of(processes.folder)


# --- over HTTP --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("order", "body", "status", "code"),
    [
        ("withdraw", {}, 400, "E003"),
        ("withdraw", {"target": 7}, 400, "E007"),
        ("withdraw", {"target": "P01", "when": "now"}, 400, "E008"),
        ("pause", {"target": "P01"}, 400, "E008"),
        ("pause", {"key": "k" * 129}, 400, "E008"),
        ("pause", ["key"], 400, "E035"),
        ("pause", {}, 409, "E030"),
        ("withdraw", {"target": "P01"}, 409, "E005"),
        ("dance", {}, 404, None),
        ("", {}, 404, None),
    ],
)
def test_a_wrong_order_is_told(
    idle: tuple[Process, str], order: str, body: object, status: int, code: str | None
) -> None:
    manager, token = idle
    answered, told = post(manager, order, token, body)
    assert (answered, told.get("error_code")) == (status, code)
    assert told["error"]


def test_a_manager_with_an_hour_says_when_it_starts_and_that_too_few_are_there(processes: Processes) -> None:
    manager = processes.manager(players=9, start="2020-01-01T00:00Z")
    assert manager.said("it is time to start, but there are 0 players and 0 referees")
    with Peer("Sam") as sam, Peer("Tom") as tom:
        sam.register(manager.endpoint)
        tom.register(manager.endpoint)
        referee = processes.referee(manager, time_scale=SCALE)
        sam.saw("LEAGUE_COMPLETED")
        assert (referee.wait(), manager.stop()) == (0, 0)


@pytest.mark.requirement("SIZE.large_leagues")
def test_a_large_league_is_told_at_its_start_what_it_breaks(processes: Processes) -> None:
    manager = processes.manager(players=46)
    assert "10 KB" in manager.said("46 players: what is signed about rounds, and tables, ")[0]
    assert manager.stop() == 0
