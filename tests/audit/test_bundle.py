"""Bundles: one file with which strangers verify a league, without any secret, read within bounds."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from league.cli.main import main
from league.features.audit import bundle
from league.features.audit.audit import audit
from league.features.audit.bundle import read_bundle
from league.storage.notices import JournalError
from league.storage.reading import open_for_reading
from tests.support import played


@pytest.fixture(scope="module")
def journals(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return played.play(tmp_path_factory.mktemp("played"))


@pytest.fixture(scope="module")
def packed(journals: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("bundle") / "league.bundle"
    assert main(["export", str(journals / "manager.db"), "--format", "bundle", "--to", str(path)]) == 0
    return path


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]


def write(path: Path, lines: list[dict[str, Any]]) -> Path:
    path.write_bytes(gzip.compress("\n".join(map(json.dumps, lines)).encode()))
    return path


def test_a_stranger_verifies_a_league_with_one_file(packed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(packed), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["chain"] == "whole"
    assert document["results"]["proven"] == document["matches"] == 6
    assert main(["verify", str(packed), "--head", document["head"]]) == 0


def test_no_secret_is_in_a_bundle(packed: Path, journals: Path) -> None:
    content = gzip.decompress(packed.read_bytes())
    for journal in journals.glob("*.db"):
        with open_for_reading(journal) as reader:
            secrets = reader.secrets()
        assert secrets
        for name, secret in secrets.items():
            # The manager's share of a draw is revealed with the result.
            assert secret.encode() not in content or name.startswith("share/")
    assert b"tok_" not in content.replace(b"tok_\xe2\x80\xa6", b"")


def test_a_bundle_proves_as_much_before_the_league_is_closed(
    journals: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = played.copy(journals, tmp_path / "open")
    with played.opened(folder / "manager.db") as connection:
        seq = connection.execute("SELECT seq FROM events WHERE kind = 'OrderCarriedOut'").fetchone()[0]
        connection.execute("DELETE FROM events WHERE seq >= ?", (seq,))
    path = tmp_path / "open.bundle"
    assert main(["export", str(folder / "manager.db"), "--format", "bundle", "--to", str(path)]) == 0
    capsys.readouterr()
    assert main(["verify", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["results"]["proven"] == 6


def test_the_keys_of_an_older_bundle_are_skipped(packed: Path, tmp_path: Path) -> None:
    head, *events, end = lines_of(packed)
    key = {"line": "key", "player_id": "P01", "match_id": "R1M1", "attempt": 1, "key": "00" * 32}
    older = [{**head, "keys": "checked with keys from the manager"}, *events, key, {**end, "lines": end["lines"] + 1}]
    assert main(["verify", str(write(tmp_path / "older.bundle", older))]) == 0


def test_only_a_player_checks_its_own_matches(packed: Path, journals: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(packed), "--player", str(journals / "player-1.db")]) == 0
    capsys.readouterr()
    assert main(["verify", str(packed), "--player", str(journals / "referee.db")]) == 1
    assert "is not the journal of a player of this league" in capsys.readouterr().err


def test_a_player_finds_a_choice_that_it_did_not_make(packed: Path, journals: Path, tmp_path: Path) -> None:
    folder = played.copy(journals, tmp_path / "copy")

    def edit(event: dict[str, Any]) -> None:
        event["choice"] = {"even": "odd", "odd": "even"}[event["choice"]]

    played.change(folder / "player-1.db", "ChoiceGiven", edit)
    assert main(["verify", str(packed), "--player", str(folder / "player-1.db")]) == 1


def test_every_change_to_a_bundle_is_found(packed: Path, tmp_path: Path) -> None:
    dice = random.Random(7)
    whole = lines_of(packed)
    for number in range(60):
        lines = json.loads(json.dumps(whole))
        place = dice.randrange(1, len(lines) - 1)
        name = dice.choice([key for key in lines[place] if key != "line"])
        value = lines[place][name]
        lines[place][name] = value + 1 if isinstance(value, int | float) else f"{value}0"
        changed = write(tmp_path / f"{number}.bundle", lines)
        assert main(["verify", str(changed)]) == 1, (place, name)


def cut_off(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return lines[:-1]


def without_head(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return lines[1:]


def of_the_future(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**lines[0], "version": 99}, *lines[1:]]


def twice(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [*lines, *lines]


@pytest.mark.parametrize("change", [cut_off, without_head, of_the_future, twice])
def test_what_is_not_a_bundle_is_refused_with_a_sentence(
    change: Callable[[list[dict[str, Any]]], list[dict[str, Any]]], packed: Path, tmp_path: Path
) -> None:
    path = write(tmp_path / "evil.bundle", change(lines_of(packed)))
    with pytest.raises(JournalError, match=r"evil\.bundle"):
        read_bundle(path)


def test_a_bomb_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundle, "MOST_BYTES", 1 << 20)
    monkeypatch.setattr(bundle, "LINE_BYTES", 1 << 16)
    path = tmp_path / "bomb.bundle"
    path.write_bytes(gzip.compress(b"0" * (1 << 22)))
    with pytest.raises(JournalError, match="far too large"):
        read_bundle(path)
    path.write_bytes(gzip.compress(b'{"line":"end","lines":7}\n' * (1 << 17)))
    with pytest.raises(JournalError):
        read_bundle(path)


@settings(max_examples=200, deadline=None)
@given(
    data=st.binary(max_size=300), cut=st.integers(0, 5000), kind=st.sampled_from(["raw", "packed", "cut", "flipped"])
)
def test_any_bytes_are_read_or_refused(data: bytes, cut: int, kind: str, packed: Path, tmp_path_factory: Any) -> None:
    path = packed.with_name("any.bundle")
    content = bytearray(packed.read_bytes())
    if kind == "raw":
        content = bytearray(bundle.MAGIC + data)
    elif kind == "packed":
        content = bytearray(gzip.compress(data))
    elif kind == "cut":
        content = content[: cut % len(content)]
    else:
        content[cut % len(content)] ^= 1 + len(data) % 255
    path.write_bytes(content)
    try:
        league = read_bundle(path)
    except JournalError:
        return
    # Only the header of gzip can be changed without a trace.
    assert league.broken or audit(league).results["proven"] == 6
