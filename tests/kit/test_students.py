"""Players as people write them, each a process of its own: what the documents ask and they do is never held against
them, and what they get wrong is named, clause by clause."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from league.features.kit.checks.outcome import CheckVerdict
from league.features.kit.driver.kit import Options
from league.features.kit.runner import CheckReport
from tests.kit.defects import failed, told, warned
from tests.support.http_wire import free_port
from tests.support.kit_runs import check_player

STUDENTS = Path(__file__).parent / "students"
MINIMAL = {f"ENVELOPE.{name}" for name in ("protocol", "sender", "timestamp", "conversation_id")}
"""What the examples of answers in the documents leave out, and R-03 lets them."""
LATER = {"LEAGUE_ERROR.acknowledged"}
"""What no document gives a method for."""
ANYBODY = {"PLAYER.hears_its_referee_only"}
"""What no document asks of players, and every opponent may try."""
SEEN_BY_CHANCE = {"PLAYER.same_answer_to_repeated_call"}
"""Who chooses anew each time may choose the same six times."""

GOOD = {
    "by_verb": {"RPC.integer_ids", "RPC.methods", "RPC.tools_call", "RPC.ping", "WRITING.timestamps", "ACK.own_type"}
    | LATER
    | ANYBODY
    | MINIMAL,
    "by_type": {"RPC.methods", "RPC.tools_call", "RPC.ping", "WRITING.timestamps", "ACK.own_type"} | LATER | ANYBODY,
    "no_response": {"RPC.one_answer", "RPC.tools_call", "RPC.ping", "WRITING.timestamps"}
    | {f"{name}.acknowledged" for name in ("BROADCAST", "GAME_OVER", "GAME_ERROR")}
    | LATER
    | ANYBODY
    | MINIMAL,
}
"""Players that do what one document says, and what a word of advice is due for."""


def _checked(name: str, registers: bool) -> CheckReport:
    port = free_port()
    started: list[subprocess.Popen[bytes]] = []

    def start(*more: str) -> None:
        command = [sys.executable, str(STUDENTS / f"{name}.py"), str(port), *more]
        started.append(subprocess.Popen(command, stderr=subprocess.DEVNULL))

    options = Options(f"http://127.0.0.1:{port}/mcp", listen=0 if registers else None, wait_s=60.0)
    try:
        if registers:
            return check_player(options, lambda line: start(line.removeprefix("ready: ")))
        start()
        _wait_until_somebody_listens(options.target)
        return check_player(options)
    finally:
        for process in started:
            process.kill()
            process.wait()


def _wait_until_somebody_listens(target: str) -> None:
    while failed(check_player(Options(target, only=("HTTP.post_mcp",)))):
        pass


def _advised(report: CheckReport) -> set[str]:
    return {one.clause.id for one in report.of(CheckVerdict.WARN) if not one.is_robustness} - SEEN_BY_CHANCE


@pytest.mark.parametrize("name", GOOD)
def test_a_player_that_does_what_one_document_says_passes(name: str) -> None:
    report = _checked(name, registers=True)
    assert report.passed, told(report)
    assert _advised(report) == GOOD[name], told(report)
    assert report.dialect == ("TYPE" if name == "by_type" else "SPEC")


@pytest.mark.parametrize("name", GOOD)
def test_what_only_a_member_can_know_is_not_asked_of_a_player_that_was_never_let_in(name: str) -> None:
    report = _checked(name, registers=False)
    assert report.passed, told(report)


def test_the_usual_mistakes_are_named_each_under_its_own_clause() -> None:
    report = _checked("in_a_hurry", registers=True)
    assert failed(report) == {
        "RPC.one_answer",  # the answer is the body itself
        "REGISTER.takes_any_id",  # always P01
        "TOKEN.in_answers",
        "ENVELOPE.protocol",  # none of the envelope at registration
        "ENVELOPE.sender",
        "ENVELOPE.timestamp",
        "ENVELOPE.conversation_id",
        "LEAGUE_REGISTER_REQUEST.player_meta.version",  # "1.0"
        "GAME_JOIN_ACK.arrival_timestamp",  # local time
        "GAME_JOIN_ACK.accept",  # "true"
        "CHOOSE_PARITY_RESPONSE.match_id",  # left out
        "CHOOSE_PARITY_RESPONSE.parity_choice",  # "Even"
    }, told(report)
    assert "ACK.own_type" in warned(report)
