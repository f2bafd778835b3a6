"""`league validate`, and what all commands have in common."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from league.cli import main as cli
from league.cli.main import main, modules
from tests.support.vectors import message, raw_of, vectors

INVITATION = message("game_invitation.full")


@pytest.fixture
def stdin(monkeypatch: pytest.MonkeyPatch) -> Any:
    def give(raw: bytes) -> None:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(raw)))

    return give


def written(folder: Path, document: object) -> str:
    path = folder / "message.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return str(path)


def judged(folder: Path, document: object, *options: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, Any]:
    """The exit status and the JSON that `league validate --json` prints."""
    status = main(["validate", "--json", *options, written(folder, document)])
    return status, json.loads(capsys.readouterr().out)


def changed(**changes: object) -> dict[str, Any]:
    return {**INVITATION, **changes}


# --- verdicts ---------------------------------------------------------------------------------------------------------


def test_a_right_message_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", written(tmp_path, message("game_join_ack.full"))]) == 0
    assert capsys.readouterr() == ("valid: GAME_JOIN_ACK\n", "")


def test_each_violation_is_one_line_and_the_decisive_one_comes_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["validate", written(tmp_path, changed(round_id=True, timestamp="now\nor later"))]) == 1
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("E021 INVALID_TIMESTAMP timestamp: ")
    assert first.endswith(" [ENVELOPE.timestamp]")
    assert (
        second
        == "E007 INVALID_FIELD_TYPE round_id: must be a whole number, not true or false [GAME_INVITATION.round_id]"
    )


def test_a_message_is_read_from_stdin_when_no_file_is_named(stdin: Any, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["validate"], ["validate", "-"]):
        stdin(json.dumps(INVITATION).encode())
        assert main(arguments) == 0
        assert capsys.readouterr().out == "valid: GAME_INVITATION\n"


def test_the_json_of_a_right_message(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    verdict = judged(tmp_path, INVITATION, capsys=capsys)
    assert verdict == (0, {"valid": True, "message_type": "GAME_INVITATION", "violations": []})


def test_the_json_of_a_wrong_message(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, verdict = judged(tmp_path, changed(role_in_match="player_a"), capsys=capsys)
    assert status == 1
    assert (verdict["valid"], verdict["message_type"]) == (False, "GAME_INVITATION")
    (violation,) = verdict["violations"]
    assert violation == {
        "code": "E008",
        "name": "INVALID_FIELD_VALUE",
        "path": "role_in_match",
        "detail": 'must be exactly "PLAYER_A", "PLAYER_B", not \'player_a\'',
        "requirement": "GAME_INVITATION.role_in_match",
    }


def test_compat_records_instead_of_refusing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = changed(timestamp="20250115T103000Z")
    assert judged(tmp_path, document, capsys=capsys)[0] == 1
    status, verdict = judged(tmp_path, document, "--profile", "compat", capsys=capsys)
    assert (status, verdict["valid"], verdict["violations"]) == (0, True, [])
    assert [one["requirement"] for one in verdict["deviations"]] == ["ENVELOPE.timestamp"]
    assert main(["validate", "--profile", "compat", written(tmp_path, document)]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first == "valid: GAME_INVITATION"
    assert second.startswith("recorded: E021 INVALID_TIMESTAMP timestamp: ")


# --- what a document may be -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("document", "message_type"),
    [
        (INVITATION, "GAME_INVITATION"),
        ({"jsonrpc": "2.0", "id": 1, "method": "handle_game_invitation", "params": INVITATION}, "GAME_INVITATION"),
        ({"jsonrpc": "2.0", "id": 1, "result": message("game_join_ack.full")}, "GAME_JOIN_ACK"),
        (
            {"jsonrpc": "2.0", "id": 1, "error": {"code": 12, "message": "no", "data": message("league_error.full")}},
            "LEAGUE_ERROR",
        ),
        (
            {"jsonrpc": "2.0", "id": 1, "error": {"code": 4004, "message": "no", "data": message("game_error.full")}},
            "GAME_ERROR",
        ),
        (message("league_query_response.full-2"), "LEAGUE_QUERY_RESPONSE"),
        (message("match_result_report.full"), "MATCH_RESULT_REPORT"),
    ],
)
def test_a_message_is_found_bare_and_in_json_rpc(
    document: object, message_type: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, verdict = judged(tmp_path, document, capsys=capsys)
    assert (status, verdict["message_type"]) == (0, message_type)


@pytest.mark.requirement("ERROR.read_by_name")
@pytest.mark.parametrize(
    ("error", "code"),
    [
        ({"code": 1001, "message": "League full", "data": {"max_referees": 2, "current_referees": 2}}, "E020"),
        ({"code": -1, "message": "Timeout waiting for GAME_JOIN_ACK", "data": {"player_id": "P01"}}, "E001"),
        ({"code": 4001, "message": "AUTH_TOKEN_MISSING", "data": {"error_code": "E011"}}, "E011"),
        (
            {"code": -32602, "message": "no", "data": {"error_code": "E004", "error_name": "INVALID_PARITY_CHOICE"}},
            "E004",
        ),
        ({"code": -32601, "message": "Method not found"}, "E036"),
        ({"code": -32601, "message": "Method not found", "data": "handle_game_invitation"}, "E036"),
        ({"code": 7}, "E099"),
    ],
)
def test_an_error_without_message_is_right_and_says_what_it_reads_as(
    error: dict[str, Any], code: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = {"jsonrpc": "2.0", "id": 1, "error": error}
    verdict = judged(tmp_path, document, capsys=capsys)
    assert verdict == (0, {"valid": True, "message_type": None, "violations": [], "reads_as": code})
    assert main(["validate", written(tmp_path, document)]) == 0
    assert f"reads as {code} " in capsys.readouterr().out


def test_a_message_that_lost_its_type_is_not_taken_for_json_rpc(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = message("match_result_report.full")
    del report["message_type"]
    _, verdict = judged(tmp_path, report, capsys=capsys)
    assert [one["path"] for one in verdict["violations"]] == ["message_type"]


@pytest.mark.parametrize(
    "document", [{"method": "league_query"}, {"id": 1, "result": {}}, {"params": INVITATION}, {"error": {"code": 1}}]
)
def test_json_rpc_without_its_version_is_refused(
    document: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, verdict = judged(tmp_path, document, capsys=capsys)
    assert verdict["violations"][0]["code"] == "E035"


def test_any_vector_can_be_judged_from_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for vector in vectors("invalid")[::50]:
        path = tmp_path / "vector"
        path.write_bytes(raw_of(vector))
        assert main(["validate", "--json", str(path)]) == 1
        assert json.loads(capsys.readouterr().out)["violations"][0]["code"] == vector["error"]


# --- reports that contradict themselves -------------------------------------------------------------------------------


def report(**result: object) -> dict[str, Any]:
    content = message("match_result_report.full")
    content["result"].update(result)
    return content


@pytest.mark.requirement("REPORT.recomputed")
@pytest.mark.parametrize("profile", ["strict", "compat"])
def test_a_wrong_winner_is_refused_in_both_profiles(
    profile: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, verdict = judged(tmp_path, report(winner="P02"), "--profile", profile, capsys=capsys)
    assert (status, verdict["message_type"]) == (1, "MATCH_RESULT_REPORT")
    assert [(one["code"], one["path"]) for one in verdict["violations"]] == [("E039", "result.winner")]


@pytest.mark.requirement("REPORT.wrong_score")
def test_a_wrong_score_alone_is_refused_in_strict_and_recorded_in_compat(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = report(score={"P01": 1, "P02": 0})
    status, verdict = judged(tmp_path, wrong, capsys=capsys)
    assert (status, verdict["violations"][0]["code"]) == (1, "E039")
    status, verdict = judged(tmp_path, wrong, "--profile", "compat", capsys=capsys)
    assert (status, verdict["deviations"][0]["path"]) == (0, "result.score")


def test_a_game_that_is_not_known_here_is_not_judged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert judged(tmp_path, {**report(winner="P02"), "game_type": "hex"}, capsys=capsys)[0] == 0


def test_whoever_moved_first_a_report_of_another_game_is_judged_fairly(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cells = [{"P02": "4"}, {"P01": "1"}, {"P02": "3"}, {"P01": "2"}, {"P02": "5"}]
    details = {"choices": {"P01": "2", "P02": "5"}, "moves": cells}
    won = {**report(winner="P02", score={"P01": 0, "P02": 3}, details=details), "game_type": "tic_tac_toe"}
    assert judged(tmp_path, won, capsys=capsys)[0] == 0
    lost = {**report(winner="P01", score={"P01": 3, "P02": 0}, details=details), "game_type": "tic_tac_toe"}
    assert judged(tmp_path, lost, capsys=capsys)[0] == 1


# --- usage ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        ["unknown"],
        ["--unknown"],
        ["validate", "--unknown"],
        ["validate", "--profile", "lax"],
        ["validate", "one.json", "two.json"],
    ],
)
def test_wrong_usage_is_told_in_one_sentence(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert "--help" in err


def test_a_file_that_cannot_be_read_is_told_in_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for path in (tmp_path / "nowhere.json", tmp_path):
        assert main(["validate", str(path)]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert err.startswith("league validate: cannot read ")
        assert err.count("\n") == 1


def test_a_bug_of_ours_is_told_in_one_sentence(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("out of ideas")

    monkeypatch.setattr("league.features.kit.message_verdicts.judge", broken)
    monkeypatch.delenv("LEAGUE_TRACEBACK", raising=False)
    assert main(["validate", written(tmp_path, {})]) == 1
    assert "RuntimeError: out of ideas" in capsys.readouterr().err
    monkeypatch.setenv("LEAGUE_TRACEBACK", "1")
    with pytest.raises(RuntimeError):
        main(["validate", written(tmp_path, {})])


def test_help_lists_each_command_with_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    for name in modules():
        assert sum(line.strip().startswith(f"{name} ") for line in lines) == 1


@pytest.mark.parametrize("name", modules())
def test_the_help_of_a_command_has_an_example(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([name, "--help"]) == 0
    out = capsys.readouterr().out
    assert "example" in out
    assert f"league {name}" in out


def test_only_the_command_that_was_asked_for_is_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    imported: list[str] = []

    def watched(name: str) -> ModuleType:
        imported.append(name)
        return import_module(name)

    monkeypatch.setattr(cli, "import_module", watched)
    assert main(["validate", "--help"]) == 0
    assert imported == ["league.features.kit.validate_command"]


# --- as people start it -----------------------------------------------------------------------------------------------


def started(*arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "league.cli.main", *arguments]
    return subprocess.run(command, input=stdin, capture_output=True, timeout=60, check=False)


def test_the_process_ends_with_the_status_of_the_verdict() -> None:
    right = started("validate", stdin=json.dumps(INVITATION).encode())
    assert (right.returncode, right.stdout, right.stderr) == (0, b"valid: GAME_INVITATION\n", b"")
    wrong = started("validate", "--json", "-", stdin=b'{"a":1,"a":2}')
    assert (wrong.returncode, json.loads(wrong.stdout)["violations"][0]["code"]) == (1, "E034")
    assert started("validate", "/no/such/file").returncode == 2


def test_the_version_is_told_without_importing_the_protocol() -> None:
    script = (
        "import sys; from league.cli.main import main; status = main(['--version']);"
        "sys.exit(status or 'msgspec' in sys.modules)"
    )
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=60, check=False)
    assert told.returncode == 0
    assert told.stdout.startswith(b"league ")
