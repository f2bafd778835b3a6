"""`league demo`: a whole league as real processes, and nothing left of it when it is over."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest

from league.events import ResultAccepted
from league.features.records.shared.sharing import PAUSE_S
from league.reading.journals import read_events
from tests.support.processes import Option, Process, Processes, children_of, wait_until_gone

ANY_PORT = ("--port", "0")
SMALL = ("--players", "2", "--referees", "1")
"""As few processes as make a league."""
MANY = 40
"""Players enough for a league that lasts until it is interrupted."""


def played(processes: Processes, *arguments: str) -> dict[str, Any]:
    """What `league demo --json` says of a league that went well."""
    ended = processes.run("demo", "--json", *arguments)
    assert (ended.returncode, ended.stderr) == (0, "")
    document = json.loads(ended.stdout)
    assert isinstance(document, dict)
    return document


def choices(processes: Processes, document: dict[str, Any]) -> dict[str, Any]:
    events = read_events(processes.folder / document["journal"])
    return {one.match_id: one.details["choices"] for one in events if isinstance(one, ResultAccepted)}


# --- a league ---------------------------------------------------------------------------------------------------------


def test_a_demo_plays_a_whole_league_and_keeps_every_promise(processes: Processes) -> None:
    document = played(processes, *ANY_PORT)
    assert list(document) == [
        "league_id",
        "journal",
        "state",
        "rounds",
        "matches",
        "technical_losses",
        "seconds",
        "champion",
        "standings",
    ]
    assert document["state"] == "LEAGUE_COMPLETED"
    assert (document["rounds"], document["matches"], document["technical_losses"]) == (3, 6, 0)
    assert [row["rank"] for row in document["standings"]] == [1, 2, 3, 4]
    assert document["champion"] == document["standings"][0]["player_id"]
    folder = Path("league-data", document["league_id"])
    assert document["journal"] == str(folder / "journal.db")
    # Its players' journals know the manager's key.
    verified = processes.run("verify", folder, "--require", "proven")
    assert verified.returncode == 0, verified.stdout

    verdict = json.loads(processes.run("verify", "--json", folder).stdout)
    assert (verdict["ok"], verdict["matches"], verdict["first_broken"]) == (True, 6, None)
    kept = {number for number, one in verdict["promises"].items() if one == "kept"}
    assert kept >= {"1", "2", "3", "4", "6", "8", "9", "10", "12", "14"}
    assert "broken" not in verdict["promises"].values()


def test_people_see_who_plays_where_how_it_goes_and_how_it_ended(processes: Processes) -> None:
    ended = processes.run("demo", *ANY_PORT)
    assert (ended.returncode, ended.stderr) == (0, "")
    out = ended.stdout
    assert len(re.findall(r"http://127\.0\.0\.1:\d+/mcp", out)) == 7
    [addresses] = re.findall(r"^  players +(.+)$", out, re.MULTILINE)
    assert addresses.split() == sorted(addresses.split())
    assert "round 3 of 3, 6 of 6 matches, completed" in out
    assert "Champion: " in out
    for metric in ("messages that were valid     100 %", "field-type errors", "retries that succeeded", "time-outs"):
        assert metric in out
    for metric in (
        "illegal choices",
        "registered at the first try  100 %",
        "mean round trip",
        "mean query time",
        "right implementations",
    ):
        assert metric in out
    # Two referees ask once a round, if they have a match in it.
    assert re.search(r"mean query time +[0-9.]+ ms  \([3-6] LEAGUE_QUERY\)", out)
    assert re.search(r"mean standings latency +[0-9.]+ ms +< 5 s", out)
    assert all(f"league {command}" in out for command in ("view", "verify", "new player"))
    assert "\x1b" not in out


@pytest.mark.requirement("FILES.by_default")
def test_a_demo_keeps_the_files_of_every_role_beside_its_journals(processes: Processes) -> None:
    document = played(processes, *ANY_PORT, *SMALL, "--journal", "here")
    data = Path("SHARED", "data")
    expected = {
        Path("config", "agents", "agents_config.json"),
        data / "leagues" / document["league_id"] / "standings.json",
        data / "matches" / document["league_id"] / "R1M1.json",
        data / "players" / "P01" / "history.json",
        data / "players" / "P02" / "history.json",
    }
    here = processes.folder / "here"
    assert {one.relative_to(here) for one in here.rglob("*.json")} == expected
    played(processes, *ANY_PORT, *SMALL, "--journal", "bare", "--no-shared")
    assert not list((processes.folder / "bare").rglob("*.json"))


def test_a_demo_says_once_that_it_cannot_write_the_files_and_plays_on(processes: Processes) -> None:
    here = processes.folder / "here"
    here.mkdir()
    (here / "SHARED").write_text("in the way", encoding="utf-8")
    # The match must not be over before the files are tried, which is at most every PAUSE_S.
    slow = processes.slow_strategy(3 * PAUSE_S)
    ended = processes.run("demo", "--json", *ANY_PORT, *SMALL, "--journal", "here", "--strategy", slow)
    assert (ended.returncode, json.loads(ended.stdout)["matches"]) == (0, 1)
    assert ended.stderr == "here: shared files cannot be written: Not a directory; trying again\n"


@pytest.mark.parametrize("game", ["rock_paper_scissors", "tic_tac_toe"])
def test_a_demo_plays_every_game(processes: Processes, game: str) -> None:
    document = played(processes, *ANY_PORT, *SMALL, "--game", game, "--journal", "here")
    assert (document["matches"], document["technical_losses"]) == (1, 0)
    assert document["journal"] == str(Path("here", "journal.db"))


def test_many_agents_share_processes(processes: Processes) -> None:
    document = played(processes, *ANY_PORT, "--players", "11", "--referees", "3")
    assert (document["rounds"], document["matches"], document["technical_losses"]) == (11, 55, 0)
    names = {row["player_id"]: row["display_name"] for row in document["standings"]}
    assert names["P02"] == "Frequency-P02"
    assert len(names) == 11


def test_the_same_seed_makes_players_choose_the_same(processes: Processes) -> None:
    small = ("--players", "3", "--referees", "1", "--seed", "7")
    first = played(processes, *ANY_PORT, *small, "--journal", "first")
    second = played(processes, *ANY_PORT, *small, "--journal", "second")
    assert len(choices(processes, first)) == 3
    assert choices(processes, first) == choices(processes, second)


# --- side by side -----------------------------------------------------------------------------------------------------


def test_two_demos_run_side_by_side(processes: Processes) -> None:
    small: dict[str, Option] = {"json": True, "port": None, "players": 2, "referees": 1}
    both = [processes.begin("demo", f"demo {number}", **small) for number in (1, 2)]
    assert [one.wait() for one in both] == [0, 0]
    documents = [json.loads(one.output) for one in both]
    assert len({one["league_id"] for one in documents}) == 2
    assert [(one["matches"], one["technical_losses"]) for one in documents] == [(1, 0), (1, 0)]


def test_when_the_usual_port_is_taken_another_is_used(processes: Processes) -> None:
    with ExitStack() as stack:
        is_ours = False
        with suppress(OSError):  # another demo has it, and may give it back before ours begins
            stack.enter_context(socket.create_server(("127.0.0.1", 8000)))
            is_ours = True
        ended = processes.run("demo", *SMALL)
    assert ended.returncode == 0
    assert not is_ours or "  manager   http://127.0.0.1:8000/" not in ended.stdout


def test_a_port_that_was_asked_for_and_is_taken_ends_the_demo_with_a_sentence(processes: Processes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ended = processes.run("demo", "--port", str(port))
    assert ended.returncode == 1
    assert f"port {port} of 127.0.0.1 is taken by another program" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert not list(processes.folder.glob("league-data/*"))


def test_the_journals_of_another_league_are_not_touched(processes: Processes) -> None:
    (processes.folder / "here").mkdir()
    (processes.folder / "here" / "journal.db").write_bytes(b"precious")
    ended = processes.run("demo", *ANY_PORT, "--journal", "here")
    assert ended.returncode == 1
    assert ended.stderr.count("\n") == 1
    assert (processes.folder / "here" / "journal.db").read_bytes() == b"precious"


# --- the end ----------------------------------------------------------------------------------------------------------


def under_way(processes: Processes) -> tuple[Process, dict[int, str]]:
    """A demo that is being played, and its processes."""
    demo = processes.begin("demo", players=MANY)
    demo.said("round ")
    family = children_of(demo.pid)
    assert len(family) == 8
    return demo, family


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_demo_leaves_no_process(processes: Processes, how: signal.Signals) -> None:
    demo, family = under_way(processes)
    demo.signal(how)
    assert demo.wait() == 130
    wait_until_gone(list(family))
    assert "league demo: interrupted" in demo.output
    (folder,) = processes.folder.glob("league-data/*")
    assert json.loads(processes.run("verify", "--json", folder).stdout)["ok"] is True


def test_a_killed_demo_leaves_no_process(processes: Processes) -> None:
    demo, family = under_way(processes)
    demo.kill()
    wait_until_gone(list(family))


@pytest.mark.parametrize("who", ["manager", "referee", "player"])
def test_a_process_that_dies_is_reported_and_takes_the_others_along(processes: Processes, who: str) -> None:
    demo, family = under_way(processes)
    victim = next(pid for pid, command in family.items() if f"league {who}" in command)
    subprocess.run(["kill", "-KILL", str(victim)], check=True)
    assert demo.wait() == 1
    wait_until_gone(list(family))
    assert re.search(rf"league demo: the .*{who}.*\(process {victim}\) was ended by signal 9", demo.output)


def test_a_manager_that_stays_can_be_looked_at_until_it_is_stopped(processes: Processes) -> None:
    demo = processes.begin("demo", stay=True, players=2, referees=1)
    (told,) = demo.said("The manager stays at ")
    base = told.split()[0]
    family = children_of(demo.pid)
    assert [command for command in family.values() if "league manager" not in command] == []
    journal = next(processes.folder.glob("league-data/*"))
    for command in ("standings", "schedule", "agents", "match"):
        arguments = [command, "R1M1"] if command == "match" else [command]
        for form in ([], ["--json"]):
            live = processes.run(*arguments, *form, "--manager", base)
            kept = processes.run(*arguments, *form, "--journal", journal)
            assert (live.returncode, live.stdout) == (0, kept.stdout)
    assert processes.run("match", "R9M9", "--manager", base).returncode == 1
    demo.signal(signal.SIGINT)
    assert demo.wait() == 0
    wait_until_gone(list(family))


def test_whoever_is_not_wanted_any_more_ends_when_its_stdin_closes(
    processes: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEAGUE_UNTIL_STDIN_CLOSES", "1")
    # The tests give every process an stdin that is at its end.
    nobody: dict[str, Option] = {"manager": "http://127.0.0.1:1/mcp"}  # and not at the usual port, where others play
    for command, where in {"manager": {}, "referee": nobody, "player": nobody}.items():
        assert processes.begin(command, **where).wait() == 0
