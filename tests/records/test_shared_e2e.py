"""The shared files: every role keeps its own while a league is played; nobody waits for them, no token is in them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from league.events import ResultAccepted
from league.features.records.shared.shared_files import NO_LETTERS
from tests.support.peer import Peer
from tests.support.processes import Process, Processes
from tests.support.scripts import HONEST, Reaction, on

Files = dict[str, Any]
"""Documents by their place (Any: JSON)."""
SCALE = 10


def read(folder: Path) -> Files:
    """All the files there are: each must be whole, whenever one looks."""
    return {str(one.relative_to(folder)): json.loads(one.read_bytes()) for one in folder.rglob("*.json")}


def watch(folder: Path, league: Process) -> list[Files]:
    """Everything that was there to be read while a process ran."""
    seen: list[Files] = []
    while league.is_running:
        seen.append(read(folder))
    return seen


def exported(processes: Processes) -> Files:
    """What `league export` makes of the journals, without what only the manager knows of a match."""
    done = processes.run("export", processes.folder, "--to", processes.folder / "exported")
    assert done.returncode == 0, done.stderr
    files = read(processes.folder / "exported")
    for one in (one for place, one in files.items() if "/matches/" in place):
        one["lifecycle"] = [told for told in one["lifecycle"] if told["by"] != "league_manager"]
        one["result"]["evidence"] = None
        # A referee's record has both in its events; the report, which the manager keeps, repeats them.
        del one["result"]["details"]["draw_commitment"]
        one["result"]["details"].pop("signatures", None)
    return files


def without_times(files: Files) -> Files:
    """When a file changed, and when its writer heard of a result, is each writer's own."""
    for one in files.values():
        del one["last_updated"]
        one.pop("remarks", None)
        for row in one.get("matches", ()):
            del row["decided_at"]
    return files


def same(processes: Processes, folder: Path) -> None:
    assert without_times(read(folder)) == without_times(exported(processes))


@pytest.mark.requirement("TOKEN.never_shown")
def test_the_files_of_a_league_are_kept_while_it_is_played(processes: Processes, tmp_path: Path) -> None:
    out = tmp_path / "out"
    manager = processes.manager(players=4, shared=out, league_id="spring")
    referee = processes.referee(manager, shared=out)
    # One process with a journal, one without.
    kept = processes.players(manager, "kept", count=3, shared=out, journal=tmp_path / "players" / "kept.db")
    alone = processes.players(manager, "alone", shared=out)
    seen = watch(out, alone)
    assert len(seen[-1]) > 1
    assert (kept.wait(), alone.wait(), referee.wait(), manager.stop()) == (0, 0, 0, 0)
    files = read(out)
    assert {place for place in files if "/matches/" not in place} == {
        "config/agents/agents_config.json",
        "SHARED/data/leagues/spring/standings.json",
        *(f"SHARED/data/players/P0{number}/history.json" for number in range(1, 5)),
    }
    assert len(files) == 1 + 1 + 4 + 6
    assert all({"id", "schema_version", "last_updated"} <= set(one) for one in files.values())
    assert not any(b"tok_" in one.read_bytes() for one in out.rglob("*.json"))
    assert not list(out.rglob(".*")), "nothing half written is left"
    same(processes, out)


def test_the_files_of_a_killed_manager_are_whole_and_come_back_with_it(processes: Processes, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with Peer("Sam", on("CHOOSE_PARITY_CALL", HONEST, Reaction(until="go"), HONEST)) as sam:
        manager = processes.manager(players=3, shared=out, league_id="spring")
        sam.register(manager.endpoint)
        players = processes.players(manager, count=2)
        referee = processes.referee(manager, shared=out, time_scale=SCALE)
        sam.saw("CHOOSE_PARITY_CALL", 2)
        manager.kill()
        read(out)
        standings = out / "SHARED" / "data" / "leagues" / "spring" / "standings.json"
        standings.unlink(missing_ok=True)
        manager = processes.manager(players=3, shared=out, port=manager.port)
        sam.release("go")
        assert (players.wait(), referee.wait(), manager.stop()) == (0, 0, 0)
    assert json.loads(standings.read_bytes())["state"] == "LEAGUE_COMPLETED"
    files, made = without_times(read(out)), without_times(exported(processes))
    assert files == {place: one for place, one in made.items() if "/players/" not in place}


@pytest.mark.requirement("MATCH.choices_hidden")
def test_a_match_that_is_played_shows_nothing_of_it(processes: Processes, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with Peer("Sam", on("CHOOSE_PARITY_CALL", Reaction(until="go"))) as sam:
        manager = processes.manager(players=2)
        sam.register(manager.endpoint)
        processes.players(manager, strategy="always_even")
        referee = processes.referee(manager, shared=out)
        sam.saw("CHOOSE_PARITY_CALL")
        # A referee that is stopped writes what it knows.
        assert referee.stop() == 0
    (match,) = read(out).values()
    assert (match["status"], match["result"]) == ("RUNNING", None)
    assert '"even"' not in json.dumps(match)
    assert "seed" not in json.dumps(match)
    assert all(one["message"] is None for one in match["transcript"])


def test_a_referee_without_a_journal_says_why_there_are_no_letters(processes: Processes, tmp_path: Path) -> None:
    out = tmp_path / "out"
    manager = processes.manager(players=2)
    players = processes.players(manager, count=2)
    referee = processes.referee(manager, shared=out, journal=None)
    assert (players.wait(), referee.wait(), manager.stop()) == (0, 0, 0)
    (match,) = read(out).values()
    assert match["status"] == "COMPLETED"
    assert match["result"]["outcome"] == processes.events("manager", ResultAccepted)[0].status
    assert (match["transcript"], match["remarks"][0]) == ([], NO_LETTERS)


def test_a_league_does_not_wait_for_a_folder_that_cannot_be_written(processes: Processes, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "SHARED").write_text("in the way", encoding="utf-8")
    manager = processes.manager(players=4, shared=out)
    players = processes.players(manager, count=4, shared=out)
    referee = processes.referee(manager, shared=out)
    assert (players.wait(), referee.wait()) == (0, 0)
    manager.said(f"{out}: shared files cannot be written: Not a directory; trying again")
    for one in (manager, players, referee):
        assert len([line for line in one.lines if "cannot be written" in line]) == 1
    (out / "SHARED").unlink()
    manager.said(f"{out}: the shared files are written again")
    assert json.loads(next(out.rglob("standings.json")).read_bytes())["champion"]
    assert manager.stop() == 0


@pytest.mark.requirement("FILES.by_default")
def test_a_manager_keeps_its_files_beside_its_journal_unless_told_not_to(processes: Processes, tmp_path: Path) -> None:
    for name, told in (("kept", None), ("none", "")):
        journal = tmp_path / name / "journal.db"
        manager = processes.manager(players=2, league_id=name, journal=journal, shared=told)
        assert manager.stop() == 0
    assert set(read(tmp_path / "kept")) == {"SHARED/data/leagues/kept/standings.json"}
    assert read(tmp_path / "none") == {}


@pytest.mark.requirement("FILES.by_default")
def test_a_folder_of_a_league_that_cannot_be_written_is_told_once_and_stops_nobody(
    processes: Processes, tmp_path: Path
) -> None:
    (tmp_path / "SHARED").write_text("in the way", encoding="utf-8")
    (tmp_path / "config").write_text("in the way", encoding="utf-8")
    manager = processes.manager(players=2)
    players = processes.players(manager, count=2)
    referee = processes.referee(manager)
    assert (players.wait(), referee.wait(), manager.stop()) == (0, 0, 0)
    assert len([line for line in manager.lines if "cannot be written" in line]) == 1
    assert len(processes.events("manager", ResultAccepted)) == 1


@pytest.mark.parametrize("role", ["manager", "referee", "player"])
@pytest.mark.parametrize("name", ["file", "file/below"])
def test_a_folder_that_can_never_be_one_is_refused_at_the_start(
    processes: Processes, tmp_path: Path, role: str, name: str
) -> None:
    (tmp_path / "file").write_text("mine", encoding="utf-8")
    done = processes.run(role, "--port", "0", "--shared", name)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count("\n") == 1
    assert name in done.stderr
    assert (tmp_path / "file").read_text(encoding="utf-8") == "mine"
