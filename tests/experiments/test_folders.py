"""Folders of tournaments: what a kill leaves, what is not played again, and how shards become one."""

from __future__ import annotations

import filecmp
import hashlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from league.cli.main import main
from league.features.experiments import tournament_command
from league.features.experiments.outcome.merging import merge
from league.features.experiments.outcome.series_store import DIGEST_FIELD, LINES, PLAN
from league.features.experiments.tournament import tournament
from league.terminal import CommandError
from tests.support.pages import ROOT, blocks

SETTINGS: dict[str, Any] = {"game": "tic_tac_toe", "meetings": 2_500, "seed": 3, "openings": 5, "jobs": 1}
NAMES = ["random", "mirror", "always_even"]
HELD = """
import pathlib, time

def is_enough():
    try:
        limit = int(pathlib.Path("limit").read_text())
        return pathlib.Path("results/series.jsonl").read_bytes().count(b"\\n") >= limit
    except FileNotFoundError:
        return False

class Held:
    def choose(self, turn):
        while turn.match_id.endswith("50") and is_enough():
            time.sleep(0.01)
        return turn.random.choice(turn.options)
"""
"""A strategy that waits in the middle of its series when as many were played as the file `limit` says: no machine is so
fast that the tournament is over before a test can do something to it."""


def same_bytes(first: Path, second: Path) -> bool:
    names = sorted(path.name for path in first.iterdir())
    assert names == sorted(path.name for path in second.iterdir())
    _, different, errors = filecmp.cmpfiles(first, second, names, shallow=False)
    return not different and not errors


@pytest.fixture(scope="module")
def played_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a tournament, which no test may change."""
    folder = tmp_path_factory.mktemp("tournament") / "whole"
    tournament(NAMES, to=folder, **SETTINGS)
    return folder


@pytest.fixture
def whole(played_once: Path, tmp_path: Path) -> Path:
    return shutil.copytree(played_once, tmp_path / "whole")


def cut(folder: Path, lines: int, tail: bytes = b"") -> None:
    """Leave a folder as a killed process would."""
    path = folder / LINES
    kept = path.read_bytes().splitlines(keepends=True)[:lines]
    for name in folder.iterdir():
        if name.name not in (LINES, PLAN):
            name.unlink()
    path.write_bytes(b"".join(kept) + tail)


# --- resuming ---------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("tail", [b"", b'{"key":"ab', b'{"key":"abc","seed":"12"}\n', b"\x00" * 500])
def test_what_a_kill_left_is_kept_and_the_rest_is_played(
    whole: Path, tmp_path: Path, tail: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    resumed = shutil.copytree(whole, tmp_path / "resumed")
    cut(resumed, 4, tail)
    played: list[int] = []
    result = tournament(NAMES, to=resumed, resume=True, progress=lambda now, _: played.append(now), **SETTINGS)
    assert same_bytes(whole, resumed)
    # The first report is what was there.
    assert len(played) == 1 + 5
    assert result.document["matches"] == 7_500


def test_a_finished_tournament_plays_nothing_again(whole: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (whole / LINES).read_bytes()
    seen: list[dict[str, Any]] = []
    settings = {**SETTINGS, "seed": None}
    # The seed is that of the folder.
    result = tournament(NAMES, to=whole, resume=True, on_match=seen.append, **settings)
    assert result.document["seed"] == 3
    assert (whole / LINES).read_bytes() == before
    assert seen == list(result.match_rows())
    assert len(seen) == 7_500


@pytest.mark.slow
def test_added_strategies_and_meetings_play_only_what_is_new(whole: Path, tmp_path: Path) -> None:
    names = ["alternate", *NAMES]
    played: list[int] = []
    tournament(names, to=whole, resume=True, progress=lambda now, _: played.append(now), **SETTINGS)
    assert len(played) == 1 + 9  # three pairs with three series each
    fresh = tmp_path / "fresh"
    tournament(names, to=fresh, **SETTINGS)
    assert same_bytes(whole, fresh)
    # Fewer strategies: nothing that was played is lost.
    tournament(NAMES[:2], to=whole, resume=True, **SETTINGS)
    assert len((whole / LINES).read_bytes().splitlines()) == 18
    # More meetings: only the last, shorter series of each pair is played anew.
    played.clear()
    more = {**SETTINGS, "meetings": 3_000}
    tournament(NAMES, to=whole, resume=True, progress=lambda now, _: played.append(now), **more)
    assert len(played) == 1 + 3


def test_whole_seconds_are_read_again_as_they_were_written(tmp_path: Path) -> None:
    whole_seconds = {**SETTINGS, "move_seconds": 3, "to": tmp_path / "whole seconds"}
    assert tournament(NAMES, **whole_seconds).standings == tournament(NAMES, resume=True, **whole_seconds).standings


def test_a_folder_is_not_overwritten_without_being_asked(whole: Path) -> None:
    before = (whole / LINES).read_bytes()
    with pytest.raises(CommandError, match="holds the series of a tournament: add --resume to go on"):
        tournament(NAMES, to=whole, **SETTINGS)
    assert (whole / LINES).read_bytes() == before


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"seed": 4}, "seed is 3 in .* and 4 in this tournament"),
        ({"game": "connect_four"}, "game is tic_tac_toe in .* and connect_four"),
        ({"openings": 6}, "openings is 5"),
        ({"move_seconds": 2.0}, "move_seconds is 30.0"),
        ({"shard": "1/2"}, "holds a whole tournament: give every shard a folder of its own"),
    ],
)
def test_series_of_another_tournament_are_not_mixed_in(whole: Path, change: dict[str, Any], sentence: str) -> None:
    before = {path.name: path.read_bytes() for path in whole.iterdir()}
    with pytest.raises(CommandError, match=sentence):
        tournament(NAMES, to=whole, resume=True, **{**SETTINGS, **change})
    assert {path.name: path.read_bytes() for path in whole.iterdir()} == before


def _damage(folder: Path, kind: str) -> None:
    path = folder / LINES
    plan = folder / PLAN
    lines = path.read_bytes().splitlines(keepends=True)
    if kind == "flipped":
        lines[3] = lines[3].replace(b'"ends":"1', b'"ends":"2', 1).replace(b'"ends":"0', b'"ends":"1', 1)
    elif kind == "forged":
        lines[3] = lines[3].partition(DIGEST_FIELD)[0] + b"}\n"
    elif kind == "cut":
        lines[3] = lines[3][:100] + b"\n"
    elif kind == "version":
        plan.write_text(plan.read_text().replace('"agent_league": "', '"agent_league": "9.'))
    elif kind == "newer":
        plan.write_text(plan.read_text().replace('"format": 1', '"format": 2, "more": 1'))
    elif kind == "no plan":
        plan.unlink()
    else:
        plan.write_text("[]")
    path.write_bytes(b"".join(lines))


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        (
            "flipped",
            "line 4 of .*series.jsonl is damaged, and other lines follow: restore the file, or delete that line",
        ),
        ("forged", "line 4 of .*series.jsonl is damaged"),
        ("cut", "line 4 of .*series.jsonl is damaged"),
        ("version", "plan.json was changed: the plan does not have its digest"),
        ("newer", "plan.json was written by a newer version of agent-league"),
        ("no plan", "has series but no plan.json"),
        ("nonsense", "plan.json is not the plan of a tournament"),
    ],
)
def test_damaged_folders_are_refused_and_left_alone(whole: Path, tmp_path: Path, kind: str, sentence: str) -> None:
    _damage(whole, kind)
    before = {path.name: path.read_bytes() for path in whole.iterdir()}
    with pytest.raises(CommandError, match=sentence):
        tournament(NAMES, to=whole, resume=True, **SETTINGS)
    assert {path.name: path.read_bytes() for path in whole.iterdir()} == before
    with pytest.raises(CommandError):
        merge([whole], tmp_path / "merged")
    assert not (tmp_path / "merged").exists()


@pytest.mark.slow
def test_two_processes_do_not_write_to_one_folder(tmp_path: Path) -> None:
    process = _start(tmp_path, "--meetings", "4000", "--to", "results", limit=1)
    try:
        _wait_for_lines(process, tmp_path / "results", 1)
        with pytest.raises(CommandError, match=r"is in use by process .*: give every process a folder of its own"):
            tournament(
                [f"{tmp_path / 'held.py'}:Held", "random"],
                meetings=4_000,
                seed=3,
                to=tmp_path / "results",
                resume=True,
            )
    finally:
        process.kill()
        _end(process, tmp_path)


# --- kills ------------------------------------------------------------------------------------------------------------


def _start(folder: Path, *arguments: str, limit: int) -> subprocess.Popen[bytes]:
    (folder / "held.py").write_text(HELD, "utf-8")
    (folder / "limit").write_text(str(limit), "utf-8")
    command = [sys.executable, "-m", "league", "tournament", "--strategy", "./held.py:Held,random", "--seed", "3"]
    return subprocess.Popen([*command, *arguments], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def _end(process: subprocess.Popen[bytes], folder: Path) -> bytes:
    """Let go the series that wait, in processes that outlive a killed one, too; what it said on stderr."""
    (folder / "limit").unlink()
    return process.communicate()[1]


def _lines(folder: Path) -> int:
    path = folder / LINES
    return path.read_bytes().count(b"\n") if path.exists() else 0


def _wait_for_lines(process: subprocess.Popen[bytes], folder: Path, count: int) -> None:
    """Wait for the process to write so many series, however long it takes: it goes on, or it ends."""
    while _lines(folder) < count:
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [signal.SIGKILL, signal.SIGINT])
def test_a_stopped_tournament_loses_at_most_the_series_in_flight(tmp_path: Path, kind: signal.Signals) -> None:
    arguments = ("--meetings", "12000", "--jobs", "2", "--to", "results", "--resume")
    results = tmp_path / "results"
    dice = random.Random(7)
    lines = 0
    for _ in range(2):
        # It is stopped after its first series, and before its fifth, at any moment.
        process = _start(tmp_path, *arguments, limit=lines + 4)
        try:
            _wait_for_lines(process, results, lines + 1)
            time.sleep(dice.random() / 5)
            lines = _lines(results)
        finally:
            process.send_signal(kind)
            err = _end(process, tmp_path)
        if kind == signal.SIGINT:
            assert process.returncode == 130
            assert b"what was played is in results: --resume goes on from there" in err
        assert _lines(results) >= lines
        lines = _lines(results)
    for folder, jobs in (("results", "2"), ("fresh", "1")):
        process = _start(tmp_path, "--meetings", "12000", "--jobs", jobs, "--to", folder, "--resume", limit=sys.maxsize)
        _, err = process.communicate()
        assert process.returncode == 0, err
    assert same_bytes(results, tmp_path / "fresh")


@pytest.mark.slow
def test_a_full_disk_is_told_and_what_was_played_is_whole(tmp_path: Path) -> None:
    script = (
        "import resource, sys\n"
        "from league.cli.main import main\n"
        "import signal\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
        "sys.exit(main(['tournament', '--strategy', 'random,mirror', '--game', 'tic_tac_toe', '--meetings', '20000',"
        " '--seed', '3', '--jobs', '1', '--to', 'results']))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 1
    assert "results/series.jsonl cannot be written: File too large" in done.stderr
    result = tournament(
        ["random", "mirror"], game="tic_tac_toe", meetings=20_000, jobs=1, to=tmp_path / "results", resume=True
    )
    assert result.document["matches"] == 20_000


# --- shards -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def shards(tmp_path: Path) -> list[Path]:
    folders = [tmp_path / f"part-{number}" for number in range(1, 5)]
    for number, folder in enumerate(folders, start=1):
        tournament(NAMES, to=folder, shard=f"{number}/4", **SETTINGS)
    return folders


def test_shards_merged_in_any_order_are_one_run_byte_for_byte(whole: Path, shards: list[Path], tmp_path: Path) -> None:
    series = [len((folder / LINES).read_bytes().splitlines()) for folder in shards]
    assert sum(series) == 9
    assert max(series) - min(series) <= 1
    for number in range(3):
        random.Random(number).shuffle(shards)
        # A folder that is named twice changes nothing.
        merge([*shards, shards[0]], tmp_path / f"merged-{number}")
        assert same_bytes(whole, tmp_path / f"merged-{number}")


def test_what_is_missing_is_named_and_nothing_is_written(
    shards: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cut(shards[1], 1, b'{"torn')
    merged = tmp_path / "merged"
    assert main(["merge", *map(str, shards[:3]), "--to", str(merged)]) == 1
    err = capsys.readouterr().err
    lost = len((shards[3] / LINES).read_bytes().splitlines()) + 1
    assert f"{lost} of 9 series are missing, in shard 2/4, 4/4: " in err
    assert "random and mirror" in err or "mirror and always_even" in err or "random and always_even" in err
    assert not merged.exists()
    tournament(NAMES, to=shards[1], shard="2/4", resume=True, **SETTINGS)
    assert main(["merge", *map(str, shards), "--to", str(merged), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["matches"] == 7_500
    # Not into a folder that has results.
    assert main(["merge", *map(str, shards), "--to", str(merged)]) == 1
    assert "holds a tournament already" in capsys.readouterr().err


def test_a_shard_has_no_table_and_says_what_comes_next(tmp_path: Path) -> None:
    shard = tournament(NAMES, to=tmp_path / "part", shard="1/4", **SETTINGS)
    assert repr(shard).startswith("shard 1/4: ")
    assert "league merge" in repr(shard)
    assert "shard 1/4: " in shard._repr_html_()


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        ({"resume": True}, "need a folder"),
        ({"shard": "1/4"}, "need a folder"),
        ({"shard": "1/4", "to": "part", "seed": None}, "need one seed"),
        ({"address": "127.0.0.1:9"}, "add --executor ray"),
        ({"jobs": 0}, "--jobs must be at least 1"),
    ],
)
def test_scripts_are_told_what_does_not_fit_together(changed: dict[str, Any], complaint: str) -> None:
    with pytest.raises(CommandError, match=complaint):
        tournament(NAMES, **{**SETTINGS, **changed})


def test_parts_of_different_plans_are_not_merged(shards: list[Path], tmp_path: Path) -> None:
    other = tmp_path / "other"
    tournament(["random", "alternate", "always_even"], to=other, shard="2/4", **SETTINGS)
    with pytest.raises(CommandError, match=r"other is of another plan than .*part-1: strategies is random .*, mirror"):
        merge([shards[0], other], tmp_path / "merged")
    with pytest.raises(CommandError, match="does not hold a part of a tournament"):
        merge([shards[0], tmp_path / "nowhere"], tmp_path / "merged")


def test_a_line_with_fewer_matches_than_the_plan_is_not_merged(tmp_path: Path) -> None:
    part = tmp_path / "part"
    tournament(["random", "random"], meetings=20, seed=1, jobs=1, to=part)
    record = json.loads((part / LINES).read_bytes())
    del record["digest"]
    record["ends"] = record["ends"][1:]
    body = json.dumps(record, separators=(",", ":")).encode()[:-1]
    (part / LINES).write_bytes(body + DIGEST_FIELD + hashlib.sha256(body).hexdigest()[:16].encode() + b'"}\n')
    with pytest.raises(CommandError, match="has another number of matches than the plan"):
        merge([part], tmp_path / "merged")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
@pytest.mark.parametrize("name", [PLAN, LINES])
def test_a_pipe_in_place_of_a_file_is_refused_at_once(name: str, shards: list[Path], tmp_path: Path) -> None:
    (shards[1] / name).unlink()
    os.mkfifo(shards[1] / name)
    with pytest.raises(CommandError, match="it is not a file"):
        merge(shards, tmp_path / "merged")


def test_contradicting_parts_are_not_merged(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        "import random\nclass Mine:\n    def choose(self, turn):\n        return random.choice(turn.options)\n"
    )
    for name in ("one", "two"):
        tournament([f"{file}:Mine", "random"], meetings=50, seed=1, jobs=1, to=tmp_path / name, shard="1/1")
    with pytest.raises(CommandError, match=r"have different results of the same series of .*is not repeatable"):
        merge([tmp_path / "one", tmp_path / "two"], tmp_path / "merged")
    # By itself each is fine, and says what it is.
    result = merge([tmp_path / "one"], tmp_path / "merged")
    assert result.document["not_repeatable"] == [f"{file}:Mine"]


@pytest.mark.parametrize("shard", ["0/3", "4/3", "1", "a/b", "1/0", "-1/3"])
def test_a_shard_that_is_none_is_told(shard: str, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="a shard is written as 2/7, counted from 1"):
        tournament(NAMES, shard=shard, to=tmp_path / "part", **SETTINGS)


@pytest.mark.parametrize(
    "arguments",
    [["--resume"], ["--shard", "1/2"], ["--shard", "1/2", "--to", "part-1"], ["--address", "127.0.0.1:1"]],
)
def test_options_that_need_another_one_say_so(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tournament", "--strategy", "random,mirror", *arguments]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert any(missing in err for missing in ("--to", "--seed", "--executor ray"))


# --- rows -------------------------------------------------------------------------------------------------------------


def test_the_rows_of_matches_hold_moves_openings_chance_and_seeds(tmp_path: Path) -> None:
    import csv

    import pyarrow.parquet

    tournament(["random", "equilibrium"], game="kuhn_poker", meetings=6, seed=1, jobs=1, to=tmp_path / "poker")
    with (tmp_path / "poker" / "matches.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    table = pyarrow.parquet.read_table(tmp_path / "poker" / "matches.parquet").to_pylist()
    assert [{name: str(value) for name, value in row.items()} for row in table] == rows
    for row in rows:
        assert row["moves"]
        assert row["chance"]
        assert len(row["seed"]) == 32
        assert float(row["return_of_first"]) == -float(row["return_of_second"])
    result = tournament(["random", "mirror"], game="tic_tac_toe", meetings=4, openings=2, seed=1, jobs=1)
    openings = [row["opening"] for row in result.match_rows()]
    assert openings[0] == openings[1] != openings[2] == openings[3]
    assert all(len(opening.split()) == 2 for opening in openings)


def test_a_result_can_be_written_later_and_gives_the_same_bytes(whole: Path, tmp_path: Path) -> None:
    result = tournament(NAMES, **SETTINGS)
    result.write(tmp_path / "later")
    assert same_bytes(whole, tmp_path / "later")
    with pytest.raises(CommandError, match="holds another tournament"):
        tournament(NAMES[:2], **SETTINGS).write(whole)


# --- the page ---------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_commands_of_the_how_to_work_as_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "how-to" / "compare-strategies.md").read_text("utf-8")
    texts = [block.text for block in blocks(page) if block.language == "console" and "--to" in block.text]
    lines = [line for text in texts for line in text.splitlines() if "ray" not in line]
    printed: list[str] = []
    for line in lines:
        if line.startswith("$ league "):
            assert main(line.removeprefix("$ league ").split()) == 0
            printed = capsys.readouterr().out.splitlines()
        elif line != "…":
            begin, _, end = line.partition("…")
            assert [row for row in printed if row.startswith(begin) and row.endswith(end)], line
    assert same_bytes(tmp_path / "results", tmp_path / "merged")


class Screen(StringIO):
    """A terminal."""

    def isatty(self) -> bool:
        return True


def test_a_terminal_shows_the_time_left_and_then_that_tables_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(tournament_command, "SHOW_S", 0.0)
    arguments = ["--strategy", "random,mirror,alternate", "--meetings", "1000", "--jobs", "1", "--seed", "1"]
    assert main(["tournament", *arguments, "--to", str(tmp_path / "results")]) == 0
    *_, bar, last, end = screen.getvalue().split(tournament_command.CLEAR_LINE)
    assert re.search(r"2000 of 3000 matches, \d+ s left, until \d\d:\d\d$", bar)
    assert last == "all matches are played; writing the tables"
    assert end == ""
