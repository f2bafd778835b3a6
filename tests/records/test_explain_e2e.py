"""`league explain`, `export` and `backup` on what real processes left behind."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from league.storage.reading import open_for_reading
from tests.support.peer import Peer
from tests.support.processes import Processes
from tests.support.scripts import HANG, Reaction, on

SCALE = 10


def secrets_in(folder: Path) -> Iterator[str]:
    """All that nobody may see: tokens and keys of everybody who kept a journal."""
    for path in folder.glob("*.db"):
        with open_for_reading(path) as journal:
            for name, secret in journal.secrets().items():
                # Shares of draws are told once a match is decided, so that anybody can check its number.
                if len(secret) > 8 and not name.startswith("share/"):
                    yield secret


def assert_tells_no_secret(text: str, folder: Path) -> None:
    assert [one for one in secrets_in(folder) if one in text] == []
    assert "tok_P" not in text
    assert "tok_REF" not in text
    assert "tok_league" not in text


LETTERS = {
    **dict.fromkeys(("GAME_INVITATION", "GAME_JOIN_ACK", "CHOOSE_PARITY_CALL", "CHOOSE_PARITY_RESPONSE"), 2),
    **dict.fromkeys(("GAME_OVER", "GAME_OVER_ACK"), 2),
    **dict.fromkeys(("DRAW_REQUEST", "DRAW_RESPONSE", "MATCH_RESULT_REPORT", "MATCH_RESULT_ACK"), 1),
}
"""What passes in a match in which nothing goes wrong."""


def explained(processes: Processes, match_id: str, *where: str | Path) -> dict[str, Any]:
    ended = processes.run("explain", match_id, *where, "--json")
    assert (ended.returncode, ended.stderr) == (0, "")
    told: dict[str, Any] = json.loads(ended.stdout)
    return told


@pytest.mark.requirement("TOKEN.never_shown")
def test_the_journals_of_a_demo_are_explained_exported_and_copied(processes: Processes) -> None:
    folder = processes.folder / "demo"
    numbers = ("--players", "3", "--referees", "1", "--seed", "1", "--port", "0")
    ended = processes.run("demo", *numbers, "--journal", folder, "--json")
    assert ended.returncode == 0, ended.stderr
    for match_id in ("R1M1", "R2M1", "R3M1"):
        text = processes.run("explain", match_id, "--journal", folder)
        assert (text.returncode, text.stderr) == (0, "")
        assert "Nobody was at fault" in text.stdout
        assert "promised with the invitations" in text.stdout
        assert_tells_no_secret(text.stdout, folder)
        told = explained(processes, match_id, "--journal", folder)
        assert told["draw"]["holds"] is True
        letters = [line["text"] for line in told["attempts"][1]["lines"] if line["kind"] == "letter"]
        assert Counter(re.findall("[A-Z_]{7,}", one)[0] for one in letters) == LETTERS, letters
        assert_tells_no_secret(json.dumps(told), folder)
    assert processes.run("export", folder, "--to", "out").returncode == 0
    for file in (processes.folder / "out").rglob("*.json"):
        assert_tells_no_secret(file.read_text(encoding="utf-8"), folder)
    assert processes.run("backup", folder, "copy.db").returncode == 0
    copied = processes.run("standings", "--journal", "copy.db", "--json")
    assert copied.stdout == processes.run("standings", "--journal", folder, "--json").stdout


def _course(told: dict[str, Any]) -> list[str]:
    """What a referee did and saw, in words."""
    lines = [line for attempt in told["attempts"] for line in attempt["lines"]]
    return [line["text"] for line in lines if line["kind"] == "event" and "REF01" not in line["text"]]


def test_who_lost_by_a_fault_is_told_why(processes: Processes) -> None:
    manager = processes.manager(players=3, move_seconds=5)
    banana = Reaction(fields={"parity_choice": "banana"})
    bad = {"banana": on("CHOOSE_PARITY_CALL", banana), "silent": on("GAME_INVITATION", HANG)}
    with ExitStack() as stack:
        for name, script in bad.items():
            stack.enter_context(Peer(name, script)).register(manager.endpoint)
        good = processes.players(manager)
        referee = processes.referee(manager, time_scale=SCALE, max_concurrent_matches=4)
        assert (good.wait(), referee.wait()) == (0, 0)
    ids = processes.members()
    faults: dict[str, set[str]] = {}
    for match_id in ("R1M1", "R2M1", "R3M1"):
        told = explained(processes, match_id, "--journal", processes.folder)
        seen = explained(processes, match_id, "--manager", manager.endpoint)
        for key in ("outcome", "winner", "points", "at_fault"):
            assert told["verdict"][key] == seen["verdict"][key]
        # Who has no journals but asks the manager is told what happened as well, but for the letters.
        assert _course(seen)
        assert set(_course(seen)) <= set(_course(told))
        assert told["verdict"]["outcome"] == "TECHNICAL_LOSS"
        for fault in told["verdict"]["faults"]:
            faults.setdefault(fault["player_id"], set()).add(fault["code"])
            assert fault["clause"]
            assert fault["advice"]
    assert faults == {ids["banana"]: {"E004"}, ids["silent"]: {"E001"}}
    assert manager.stop() == 0


def test_an_unknown_match_is_one_sentence(processes: Processes) -> None:
    manager = processes.manager(players=2)
    for where in (("--manager", manager.endpoint), ("--journal", str(processes.journal("manager")))):
        ended = processes.run("explain", "R9M9", *where)
        assert (ended.returncode, ended.stdout) == (1, "")
        assert ended.stderr == "league explain: there is no match 'R9M9' in this league (E014 MATCH_NOT_FOUND)\n"
