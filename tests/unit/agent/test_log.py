"""The log: bounded, and never a reason to stop."""

from __future__ import annotations

import json
import shutil
import stat
from pathlib import Path
from typing import Any

import pytest

from league.agent.log import OLDER_FILES, Log
from league.agent.meter import Meter
from league.events import MatchBegun


def written(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def say(log: Log, count: int = 1) -> None:
    for number in range(count):
        log.letter(float(number), "in", "P01", "PING", "ok")
    log.flush()


def counted(path: Path) -> tuple[Log, Meter, list[str]]:
    said: list[str] = []
    log, meter = Log(path, said.append), Meter()
    log.on_dropped = meter.lines_dropped
    return log, meter, said


def test_a_device_that_is_full_costs_lines_and_one_sentence() -> None:
    log, meter, said = counted(Path("/dev/full"))
    for _ in range(3):
        say(log, 2)
    log.close()
    assert "league_log_lines_dropped_total 6" in meter.prometheus({}).splitlines()
    assert said == ["/dev/full: the log cannot be written: No space left on device; its lines are dropped until it can"]


def test_what_was_dropped_is_in_the_log_once_it_can_be_written_again(tmp_path: Path) -> None:
    in_the_way = tmp_path / "folder"
    in_the_way.write_text("a file")
    log, meter, said = counted(in_the_way / "log")
    say(log, 3)
    in_the_way.unlink()
    say(log)
    log.close()
    lines = written(in_the_way / "log")
    assert [(line["level"], line["event"], line.get("lines")) for line in lines] == [
        ("error", "lines_dropped", 3),
        ("info", "letter", None),
    ]
    assert meter.dropped_lines == 3
    assert len(said) == 1


@pytest.mark.parametrize("what", ["file", "folder"])
def test_a_log_that_was_removed_is_begun_anew(tmp_path: Path, what: str) -> None:
    path = tmp_path / "logs" / "log"
    log = Log(path)
    say(log, 2)
    if what == "file":
        path.unlink()
    else:
        shutil.rmtree(path.parent)
    say(log)
    log.close()
    assert len(written(path)) == 1


def test_a_log_is_bounded_by_the_size_and_number_of_its_files(tmp_path: Path) -> None:
    log = Log(tmp_path / "log", file_bytes=1000)
    for _ in range(200):
        say(log, 3)
    log.close()
    files = sorted(one.name for one in tmp_path.iterdir())
    assert {*files} - {"log"} == {f"log.{number}" for number in range(1, OLDER_FILES + 1)}
    assert all(one.stat().st_size < 1500 for one in tmp_path.iterdir())
    assert all(written(one) for one in tmp_path.iterdir())


def test_no_line_is_lost_where_one_file_ends(tmp_path: Path) -> None:
    log = Log(tmp_path / "log", file_bytes=1000)
    for number in range(20):
        log.letter(float(number), "in", "P01", "PING", "ok")
        log.flush()
    log.close()
    times = [line["time"] for file in tmp_path.iterdir() for line in written(file)]
    assert sorted(times) == [f"1970-01-01T00:00:{second:02}Z" for second in range(20)]


def test_each_line_has_a_time_a_level_an_event_ids_and_codes(tmp_path: Path) -> None:
    log = Log(tmp_path / "log")
    log.letter(1.5, "in", "P01", "GAME_JOIN_ACK", "E012", "R1M1")
    log.failed_call(2.0, "P01", "GAME_INVITATION", "http://127.0.0.1:1/mcp", "refused")
    log.events([MatchBegun(at=3.0, match_id="R1M3", attempt=2)])
    log.close()
    assert written(tmp_path / "log") == [
        {
            "time": "1970-01-01T00:00:01.500000Z",
            "level": "warning",
            "event": "letter",
            "direction": "in",
            "message_type": "GAME_JOIN_ACK",
            "peer": "P01",
            "outcome": "E012",
            "match_id": "R1M1",
        },
        {
            "time": "1970-01-01T00:00:02Z",
            "level": "warning",
            "event": "call_failed",
            "message_type": "GAME_INVITATION",
            "peer": "P01",
            "endpoint": "http://127.0.0.1:1/mcp",
            "detail": "refused",
        },
        {"time": "1970-01-01T00:00:03Z", "level": "info", "event": "MatchBegun", "match_id": "R1M3", "attempt": 2},
    ]


def test_only_its_owner_may_read_a_log(tmp_path: Path) -> None:
    Log(tmp_path / "log").close()
    assert stat.S_IMODE((tmp_path / "log").stat().st_mode) == 0o600


def test_lines_about_a_match_name_it(tmp_path: Path) -> None:
    log = Log(tmp_path / "log")
    log.letter(1.0, "in", "P01", "GAME_JOIN_ACK", "ok", "R1M1")
    log.failed_call(2.0, "P01", "GAME_INVITATION", "http://127.0.0.1:1/mcp", "refused", "R1M2")
    log.events([MatchBegun(at=3.0, match_id="R1M3", attempt=1)])
    log.letter(4.0, "in", "P01", "PING", "ok")
    log.close()
    lines = [json.loads(line) for line in (tmp_path / "log").read_text(encoding="utf-8").splitlines()]
    assert [line.get("match_id") for line in lines] == ["R1M1", "R1M2", "R1M3", None]
