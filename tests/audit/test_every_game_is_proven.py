"""Every game that can be played here, live over HTTP: manager, explanation and audit say that its result is proven."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from league.cli.main import main
from league.games import registry
from tests.support import played

TALKER = '''
import random

from league import Player

class Talker(Player):
    """Plays at random, and says as much as it may."""

    games = (GAME,)

    def choose_parity(self, call):
        return random.choice(["even", "odd"])

    def move(self, turn):
        choice = random.choice(turn.options)
        return turn.say(choice, f"turn {turn.number}: " + "blah " * 40) if turn.talk_limit else choice
'''


def printed(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> dict[str, Any]:
    status = main([*map(str, arguments), "--json"])
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert status == 0, document
    return document


@pytest.mark.parametrize("name", registry.known())
def test_a_live_match_is_proven_and_everybody_says_so(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    strategy = tmp_path / "talker.py"
    strategy.write_text(TALKER.replace("GAME", repr(name)), encoding="utf-8")
    folder = played.play(tmp_path, players=2, game=name, strategy=f"{strategy}:Talker")
    capsys.readouterr()
    match = printed(capsys, "match", "R1M1", "--journal", folder / "manager.db")
    assert match["evidence"] == "proven", match
    explained = printed(capsys, "explain", "R1M1", "--journal", folder)
    assert "Proven" in json.dumps(explained), explained
    for place in (folder, folder / "manager.db"):
        audit = printed(capsys, "verify", place)
        assert audit["results"]["proven"] == audit["matches"] == 1, audit
    bundle = tmp_path / "league.bundle"
    assert main(["export", str(folder / "manager.db"), "--format", "bundle", "--to", str(bundle)]) == 0
    capsys.readouterr()
    assert printed(capsys, "verify", bundle)["results"]["proven"] == 1
