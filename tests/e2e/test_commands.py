"""The commands that look at a league, with the journal of one that was really played."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from league.cli.pages import Pages
from tests.support.played import reseal
from tests.support.processes import Process, Processes


@pytest.fixture(scope="module")
def league(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Processes, dict[str, Any]]]:
    """A league of four that was played, and what its demo said of it."""
    with Processes(tmp_path_factory.mktemp("league")) as processes:
        ended = processes.run("demo", "--json", "--port", "0", "--journal", "data")
        yield processes, json.loads(ended.stdout)


Played = tuple[Processes, dict[str, Any]]


def told(league: Played, *arguments: str | Path, status: int = 0) -> Any:
    """The JSON that a command prints."""
    ended = league[0].run(*arguments, "--json")
    assert (ended.returncode, ended.stderr) == (status, "")
    return json.loads(ended.stdout)


def refused(league: Played, *arguments: str | Path) -> str:
    """The one sentence a command fails with."""
    ended = league[0].run(*arguments)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.count("\n") == 1
    return ended.stderr


# --- looking ----------------------------------------------------------------------------------------------------------


def test_standings_are_the_rows_of_the_last_update(league: Played) -> None:
    assert told(league, "standings", "--journal", "data") == league[1]["standings"]
    assert told(league, "standings", "--journal", "sqlite:///data/journal.db") == league[1]["standings"]


def test_the_schedule_holds_every_round_and_match(league: Played) -> None:
    rounds = told(league, "schedule", "--journal", "data")["rounds"]
    assert [one["round_id"] for one in rounds] == [1, 2, 3]
    matches = [match for one in rounds for match in one["matches"]]
    assert {one["status"] for one in matches} == {"COMPLETED"}
    assert len({frozenset((one["player_A_id"], one["player_B_id"])) for one in matches}) == 6
    lines = league[0].run("schedule", "--journal", "data").stdout.splitlines()
    assert len(lines) == 7
    first, names = matches[0], {row["player_id"]: row["display_name"] for row in league[1]["standings"]}
    assert f"{first['player_A_id']} {names[first['player_A_id']]}" in lines[1]


def test_a_league_is_watched_live_to_its_champion_and_afterwards_as_it_is(league: Played, tmp_path: Path) -> None:
    with Processes(tmp_path) as processes:
        manager = processes.manager(players=2, double=True)
        watching = Process("watch", ["watch", "--manager", manager.endpoint], tmp_path)
        processes.started.append(watching)
        processes.referee(manager.endpoint)
        processes.players(manager.endpoint, count=2)
        assert watching.wait() == 0
        assert watching.said("Champion: ")
        assert watching.said("round 2 of 2, 2 of 2 matches, completed")
    ended = league[0].run("watch", "--journal", "data")
    assert ended.returncode == 0
    assert ended.stdout.splitlines()[-1].startswith("Champion: ")
    assert ended.stdout.splitlines()[1].split()[-1] == "technical"


def test_a_match_is_shown_with_its_result(league: Played) -> None:
    match = told(league, "match", "R2M1", "--journal", "data")
    assert (match["match_id"], match["round_id"], match["evidence"]) == ("R2M1", 2, "proven")
    assert set(match["details"]["choices"]) == {match["player_A_id"], match["player_B_id"]}
    assert "draw seed" in league[0].run("match", "R2M1", "--journal", "data").stdout


def test_a_match_that_is_not_there_is_told(league: Played) -> None:
    assert "there is no match 'R7M7'" in refused(league, "match", "R7M7", "--journal", "data")


def test_everybody_who_registered_is_listed(league: Played) -> None:
    agents = told(league, "agents", "--journal", "data")["agents"]
    # A referee asks for the id of its port, and another program may have had the next one.
    assert sorted(one["agent_id"][:3] for one in agents) == ["P01", "P02", "P03", "P04", "REF", "REF"]
    assert {one["state"] for one in agents} == {"SHUTDOWN"}
    assert len(league[0].run("agents", "--journal", "data").stdout.splitlines()) == 7


def test_where_nobody_listens_nothing_can_be_seen(league: Played) -> None:
    assert "nobody answers at http://127.0.0.1:1" in refused(league, "standings", "--manager", "http://127.0.0.1:1")


def test_what_is_no_journal_is_told(league: Played) -> None:
    folder = league[0].folder
    (folder / "notes.txt").write_text("no journal at all, but long enough to be one")
    assert "is not a journal" in refused(league, "standings", "--journal", "notes.txt")
    assert "there is no journal" in refused(league, "schedule", "--journal", "nowhere")
    assert "not a manager's journal" in refused(league, "agents", "--journal", "data/referee-1.db")
    (folder / "empty").mkdir()
    assert "there is no journal" in refused(league, "verify", "empty")
    unreachable = refused(league, "verify", "postgresql://user:secret@127.0.0.1:1/db")
    assert "cannot be read" in unreachable
    assert "secret" not in unreachable


def test_a_manager_that_waits_shows_that_too(league: Played) -> None:
    processes, _ = league
    manager = processes.start("manager", journal=processes.folder / "waiting.db")
    pages = Pages(manager.endpoint)
    state = pages.json("/api/league")
    assert (state["state"], state["journal_seq"], state["matches_total"]) == ("WAITING_FOR_REGISTRATIONS", 1, 0)
    assert pages.json("/api/matches/R1M1") is None
    assert "league_events_total" in pages.text("/metrics")
    pages.close()
    assert processes.run("standings", "--manager", manager.endpoint).returncode == 0
    assert "no schedule yet" in processes.run("schedule", "--manager", manager.endpoint).stdout
    assert "Nobody has registered" in processes.run("agents", "--manager", manager.endpoint).stdout
    assert manager.stop() == 0


def test_a_server_that_is_no_manager_is_told(league: Played) -> None:
    processes, _ = league
    player = processes.begin("player", manager="http://127.0.0.1:1/mcp")
    assert "is not a League Manager" in refused(league, "standings", "--manager", player.endpoint)
    assert player.stop() == 0


# --- verify -----------------------------------------------------------------------------------------------------------


def test_a_league_that_was_played_well_is_verified(league: Played) -> None:
    verdict = told(league, "verify", "data")
    assert {"ok", "chain", "head", "events", "matches", "results", "promises", "first_broken"} <= verdict.keys()
    assert verdict["chain"] == "whole"
    assert sum(verdict["results"].values()) == 6
    assert list(verdict["promises"]) == [str(number) for number in range(1, 22)]
    assert (verdict["ok"], verdict["matches"]) == (True, 6)
    alone = told(league, "verify", "data/journal.db")
    assert alone["ok"] is True
    assert alone["events"] < verdict["events"]
    out = league[0].run("verify", "data").stdout
    assert "7 journals" in out
    assert "no promise is broken" in out


@pytest.mark.parametrize(
    ("old", "new", "promise"),
    [
        ('"drawn_number":', '"drawn_number":1', "4"),
        ('"points":{', '"points":{"P09":3,', "4"),
        ('"referee_id":"REF', '"referee_id":"REF9', "3"),
    ],
)
def test_a_result_that_was_changed_is_found(league: Played, old: str, new: str, promise: str) -> None:
    processes, _ = league
    folder = processes.folder / f"forged-{promise}-{len(new)}"
    shutil.copytree(processes.folder / "data", folder)
    with closing(sqlite3.connect(folder / "journal.db")) as connection, connection:
        connection.execute("DROP TRIGGER events_are_never_changed")
        connection.execute(
            "UPDATE events SET body = CAST(replace(CAST(body AS TEXT), ?, ?) AS BLOB)"
            " WHERE seq = (SELECT min(seq) FROM events WHERE kind = 'ResultAccepted')",
            (old, new),
        )
    assert told((processes, {}), "verify", folder, status=1)["chain"] == "broken"
    people = processes.run("verify", folder)
    assert people.returncode == 1
    assert "BROKEN" in people.stdout
    # With fresh digests the chain is whole again, and the promises find it.
    with closing(sqlite3.connect(folder / "journal.db")) as connection, connection:
        reseal(connection)
    verdict = told((processes, {}), "verify", folder, status=1)
    assert verdict["ok"] is False
    assert verdict["chain"] == "whole"
    assert verdict["promises"][promise] == "broken"
    assert {"promise", "detail", "where"} == verdict["first_broken"].keys()
    people = processes.run("verify", folder)
    assert people.returncode == 1
    assert f"{promise}  broken" in people.stdout


def test_a_journal_with_a_hole_is_not_verified(league: Played) -> None:
    processes, _ = league
    holed = processes.folder / "holed.db"
    shutil.copy(processes.folder / "data" / "journal.db", holed)
    with closing(sqlite3.connect(holed)) as connection, connection:
        connection.execute("DROP TRIGGER events_are_never_deleted")
        connection.execute("DELETE FROM events WHERE seq = 20")
    ended = processes.run("verify", holed)
    assert ended.returncode == 1
    assert "what follows event 19 is not as it was written" in ended.stdout


# --- replay -----------------------------------------------------------------------------------------------------------


def test_the_same_journal_gives_the_same_digest(league: Played) -> None:
    whole = told(league, "replay", "data")
    assert whole == told(league, "replay", "data/journal.db")
    assert whole["standings"] == league[1]["standings"]
    assert whole["league"]["state"] == "LEAGUE_COMPLETED"
    assert whole["seq"] == whole["events"] == whole["league"]["journal_seq"]
    assert whole["digest"] in league[0].run("replay", "data").stdout


def test_a_league_is_shown_as_it_was_at_any_event(league: Played) -> None:
    events = told(league, "replay", "data")["events"]
    seen = [told(league, "replay", "data", "--until", str(seq)) for seq in (1, events // 2, events)]
    assert [one["seq"] for one in seen] == [1, events // 2, events]
    assert len({one["digest"] for one in seen}) == 3
    assert seen[0]["league"]["state"] == "WAITING_FOR_REGISTRATIONS"
    assert f"there is no event {events + 1}" in refused(league, "replay", "data", "--until", str(events + 1))


# --- any command ------------------------------------------------------------------------------------------------------


def test_the_module_is_the_command(league: Played) -> None:
    command = [sys.executable, "-m", "league", "--version"]
    ended = subprocess.run(command, cwd=league[0].folder, capture_output=True, text=True, timeout=120, check=False)
    assert (ended.returncode, ended.stdout.split()[0]) == (0, "league")


def test_a_reader_that_goes_away_is_no_bug(league: Played) -> None:
    command = f"{sys.executable} -m league demo --players 2 --referees 1 --port 0 --journal gone | head -1"
    ended = subprocess.run(
        ["sh", "-c", command], cwd=league[0].folder, capture_output=True, text=True, timeout=120, check=False
    )
    assert ended.stdout.count("\n") == 1
    assert ended.stderr == ""
