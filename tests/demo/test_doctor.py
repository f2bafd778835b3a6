"""`league doctor`."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import pytest

from league import rows
from league.cli.main import main
from league.features.demo import doctor_command as doctor
from league.features.mcp import door
from league.terminal import addresses


@pytest.fixture(autouse=True)
def _in_its_own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def examined(capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, Any]]:
    """The exit status, and each check with its verdict and detail."""
    status = main(["doctor", "--json"])
    document = json.loads(capsys.readouterr().out)
    assert document["ok"] == (status == 0)
    return status, {one["check"]: one for one in document["checks"]}


def test_a_machine_that_runs_the_tests_is_ready(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    status, checks = examined(capsys)
    assert status == 0
    for name in ("Python", "clock", "loopback", "journal"):
        assert checks[name]["verdict"] == "ok"
    assert "can be written and synced" in checks["disk"]["detail"], "a busy machine's disk may be slow, which is noted"
    assert {"port 8000", "port 8001", "port 8101", "address", "event loop"} <= checks.keys()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("installed", "told"),
    [
        ("2.3.1", "clients are answered by the official package mcp 2.3.1"),
        ("9.9", "clients are answered by our own server, because mcp 9.9 is installed and 2.3.x is supported"),
        ("", "clients are answered by our own server, because the package mcp is not installed"),
    ],
)
def test_the_open_door_for_mcp_clients_is_named(
    installed: str, told: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(door, "installed_version", lambda: installed)
    monkeypatch.setattr(door, "is_installed", door.is_installed.__wrapped__)
    _, checks = examined(capsys)
    assert (checks["MCP"]["verdict"], checks["MCP"]["detail"]) == ("ok", told)


@pytest.mark.parametrize(
    ("seen", "verdict", "told"),
    [
        ("192.168.1.5", "ok", "others see 192.168.1.5; --host 0.0.0.0 --endpoints lan lets them in"),
        ("203.0.114.9", "ok", "others see 203.0.114.9; --host 0.0.0.0 --endpoints public lets them in"),
        ("169.254.7.7", "note", "others see 169.254.7.7, which is link-local: agents there are not called"),
        (None, "note", "this machine has no network, so agents elsewhere cannot reach it; use --endpoints local"),
    ],
)
def test_the_policy_is_named_that_fits_this_machines_address(
    seen: str | None, verdict: str, told: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(addresses, "seen_by_others", lambda: seen)
    status, checks = examined(capsys)
    assert (status, checks["address"]["verdict"]) == (0, verdict)
    assert checks["address"]["detail"].startswith(told)


def test_the_examination_is_also_told_to_people(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    out = capsys.readouterr().out
    assert out.endswith("A league can be played here: league demo\n")


def test_a_taken_port_is_noted_and_keeps_no_league_from_running(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        monkeypatch.setattr(doctor, "USUAL_PORTS", {port: "manager"})
        status, checks = examined(capsys)
    assert status == 0
    assert checks[f"port {port}"]["verdict"] == "note"
    assert checks[f"port {port}"]["detail"] == "taken; a manager uses the next free port"


def test_a_feature_that_cannot_be_used_is_noted(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = "the feature 'broken' cannot be used: ImportError: no module"
    monkeypatch.setattr(rows, "problems", lambda: (problem,))
    status, checks = examined(capsys)
    assert (status, checks["features"]["verdict"]) == (0, "note")
    assert checks["features"]["detail"] == problem


def test_a_folder_that_cannot_be_written_keeps_a_league_from_running(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuses(**_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tempfile.TemporaryDirectory", refuses)
    status, checks = examined(capsys)
    assert status == 1
    assert checks["disk"]["verdict"] == "problem"


def test_a_clock_of_long_ago_keeps_a_league_from_running(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.time", lambda: 1_000_000.0)
    status, checks = examined(capsys)
    assert status == 1
    assert "1970-01-12" in checks["clock"]["detail"]


def test_a_package_that_is_missing_keeps_a_league_from_running(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "NEEDED", ("no_such_package",))
    status, checks = examined(capsys)
    assert (status, checks["no_such_package"]["verdict"]) == (1, "problem")


def test_an_unrelated_distribution_with_the_name_of_our_package_is_noticed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert "installation" not in examined(capsys)[1]
    metadata = tmp_path / "site" / "league-0.9.dist-info" / "METADATA"
    metadata.parent.mkdir(parents=True)
    metadata.write_text("Metadata-Version: 2.1\nName: league\nVersion: 0.9\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path / "site")
    status, checks = examined(capsys)
    assert (status, checks["installation"]["verdict"]) == (0, "note")
    assert "league 0.9, is installed too" in checks["installation"]["detail"]
    assert "pip uninstall league" in checks["installation"]["detail"]


def test_who_listens_everywhere_is_found_at_the_address_others_see(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(addresses, "seen_by_others", lambda: "192.0.2.7")
    assert addresses.endpoint_at("0.0.0.0", 8001) == "http://192.0.2.7:8001/mcp"
    assert addresses.endpoint_at("127.0.0.1", 8001) == "http://127.0.0.1:8001/mcp"
    assert addresses.endpoint_at("::1", 8001) == "http://[::1]:8001/mcp"
    monkeypatch.setattr(addresses, "seen_by_others", lambda: None)
    assert addresses.endpoint_at("::", 8001) == "http://127.0.0.1:8001/mcp"
