"""`league watch` shows the matches of the round move by move."""

from __future__ import annotations

from typing import Any

import pytest

from league.cli.watch_command import MOST_LIVE, LiveLines, live_line


def match(**live: Any) -> dict[str, Any]:
    seen = {"joined": ["P01", "P02"], "answered": [], "moves": [], "board": None, **live}
    return {"match_id": "R1M1", "player_A_id": "P01", "player_B_id": "P02", "live": seen}


@pytest.mark.parametrize(
    ("live", "line"),
    [
        ({"joined": []}, "both are invited"),
        ({}, "P01 has joined, P02 has joined"),
        ({"board": {"text": "Hand 8 of 10"}}, "Hand 8 of 10"),
        ({"answered": ["P02"]}, "P02 has chosen"),
        ({"moves": [{"player_id": "P01", "move": "4"}]}, "move 1: P01 4"),
        ({"moves": [{"player_id": "P01", "move": f"{n}"} for n in range(6)]}, "move 6: … P01 2, P01 3, P01 4, P01 5"),
    ],
)
def test_a_match_is_told_in_a_line(live: dict[str, Any], line: str) -> None:
    assert live_line(match(**live)) == f"R1M1 P01 – P02: {line}"


class Source:
    """A league of which every page that is read is noted."""

    def __init__(self) -> None:
        self.read: list[str] = []

    def get(self, path: str) -> Any:
        self.read.append(path)
        if path == "/api/schedule":
            rows = [{"match_id": f"R1M{n}", "status": "RUNNING"} for n in range(1, 9)]
            return {"rounds": [{"matches": [{"match_id": "R1M0", "status": "COMPLETED"}, *rows]}]}
        return {**match(), "live": None if path.endswith("R1M2") else match()["live"]}


def test_the_schedule_is_read_once_until_a_match_has_ended() -> None:
    source = Source()
    live = LiveLines(source)
    league = {"round": 1, "matches_completed": 1}
    assert len(live.lines(league)) == MOST_LIVE - 1, "nobody tells of R1M2"
    live.lines(league)
    assert source.read.count("/api/schedule") == 1
    assert source.read[1] == "/api/matches/R1M1", "a match that is over is not looked at"
    live.lines({**league, "matches_completed": 2})
    assert source.read.count("/api/schedule") == 2


def test_nothing_is_read_before_the_start() -> None:
    assert LiveLines(Source()).lines({"round": 0, "matches_completed": 0}) == []
