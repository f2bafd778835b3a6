"""The report in the terminal, as JSON, as JUnit XML and as a page; the command and the pytest plugin around it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest

from league.cli.main import main
from league.features.kit.checks import checks_for
from league.features.kit.reports.evidence import json_document, text_of
from league.features.kit.reports.page import html_document, junit_document
from league.features.kit.reports.text import lines
from league.features.kit.runner import CheckReport
from tests.kit.players import Conforming, checked
from tests.support.http_wire import free_port
from tests.support.scripts import ABSENT, Reaction, on

EVIL = "<script>alert(1)</script>\x1b[31m"
SPOILED = (
    *on("CHOOSE_PARITY_CALL", Reaction(fields={"parity_choice": EVIL})),
    *on("ROUND_COMPLETED", Reaction(fields={"message_type": ABSENT})),
)


@pytest.fixture(scope="module")
def report() -> CheckReport:
    return checked(Conforming("Ada", script=SPOILED))


@pytest.fixture
def good() -> Iterator[Conforming]:
    with Conforming("Ada") as player:
        yield player


def test_the_json_document_has_the_shape_that_was_promised(report: CheckReport) -> None:
    document = json.loads(json.dumps(json_document(report)))
    assert set(document) == {"target", "role", "dialect", "would_play", "findings", "checks", "summary"}
    assert (document["role"], document["dialect"]) == ("player", "SPEC")
    assert set(document["summary"]) == {"pass", "fail", "warn", "untestable"}
    assert sum(document["summary"].values()) == len(document["checks"]) == len(checks_for("player"))
    for check in document["checks"]:
        assert set(check) == {"id", "requirement", "level", "verdict", "detail", "evidence"}
        assert check["level"] in ("MUST", "SHOULD")
        assert check["verdict"] in ("pass", "fail", "warn", "untestable")
    (failure,) = [one for one in document["checks"] if one["verdict"] == "fail"]
    assert failure["id"] == failure["requirement"] == "CHOOSE_PARITY_RESPONSE.parity_choice"
    assert set(failure["evidence"][0]) >= {"step", "at", "seconds", "sent", "received"}
    assert "CHOOSE_PARITY_CALL" in failure["evidence"][0]["sent"]


def test_the_terminal_shows_the_summary_first_then_failures_with_evidence_then_warnings_then_counts(
    report: CheckReport,
) -> None:
    text = list(lines(report))
    whole = "\n".join(text)
    assert text[0].endswith("breaks 1 MUST.")
    assert text[-1].startswith(f"{len(report.results) - 1 - 2 - report_untested(report)} pass, 1 fail, 2 warn, ")
    in_order = ("1. CHOOSE_PARITY_RESPONSE.parity_choice", "The specification says (5.11, MUST)", "What to change",
                "The kit sent", "and got", "Warnings", "ACK.own_type", "Not tested")  # fmt: skip
    places = [whole.index(one) for one in in_order]
    assert places == sorted(places)
    assert all(line.isprintable() for line in text)


def test_words_of_a_player_are_quoted_on_one_line_and_not_at_length() -> None:
    novel = "Traceback:\n  File x\r\n" + "boom " * 200
    unknown = {"jsonrpc": "2.0", "id": 1, "error": {"code": -32603, "message": novel}}
    report = checked(Conforming("Ada", script=on("GAME_INVITATION", Reaction(body=json.dumps(unknown).encode()))))
    first, *rest = lines(report)
    assert "would not play in a league" in first
    assert "Traceback: File x boom boom" in first
    quoting = [line for line in (first, *rest) if "Traceback" in line and not line.startswith("     | ")]
    assert all("\n" not in line and len(line) < 700 for line in quoting)


def report_untested(report: CheckReport) -> int:
    return sum(one.verdict.value == "untestable" for one in report.results)


def test_the_junit_file_counts_and_names_every_check(report: CheckReport) -> None:
    suite = ElementTree.fromstring(junit_document(report).encode()).find("testsuite")
    assert suite is not None
    assert (suite.get("tests"), suite.get("failures")) == (str(len(checks_for("player"))), "1")
    failure = suite.find("testcase[@name='CHOOSE_PARITY_RESPONSE.parity_choice']/failure")
    assert failure is not None
    assert "sent:" in (failure.text or "")
    assert len(suite.findall("testcase/skipped")) == report_untested(report)


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value or "" for name, value in attrs if name in ("src", "href")]


def test_the_page_stands_alone_and_takes_nothing_from_players_for_markup(report: CheckReport) -> None:
    text = html_document(report)
    page = _Page()
    page.feed(text)
    assert "script" not in page.tags
    assert page.links == []
    assert page.tags.count("tr") == 1 + len(checks_for("player"))
    assert "\x1b" not in text
    assert "GAME_<wbr>JOIN_<wbr>ACK.<wbr>accept" in text
    assert "<code>" in text


def test_tokens_of_others_are_masked_in_evidence() -> None:
    raw = b'{"auth_token": "tok_P03_secret", "x": "\xff"} \x1b[31m'
    assert text_of(raw, ()) == '{"auth_token": "tok_…", "x": "\\xff"} \\x1b[31m'
    assert "tok_P03_secret" in text_of(raw, ("tok_P03_secret",))
    assert text_of(b"x" * 9000, ()).endswith("… (7000 more bytes)")


# --- the command ------------------------------------------------------------------------------------------------------


def test_the_command_writes_all_reports_and_exits_with_0(
    good: Conforming, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    html, junit = tmp_path / "report.html", tmp_path / "report.xml"
    assert main(["check", "player", good.endpoint, "--json", "--html", str(html), "--junit", str(junit)]) == 0
    assert json.loads(capsys.readouterr().out)["summary"]["fail"] == 0
    assert html.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert ElementTree.parse(junit).getroot().tag == "testsuites"


def test_the_command_exits_with_1_if_a_must_fails(capsys: pytest.CaptureFixture[str]) -> None:
    with Conforming("Ada", script=on("GAME_INVITATION", Reaction(fields={"accept": "yes"}))) as player:
        assert main(["check", "player", player.endpoint, "--only", "GAME_JOIN_ACK"]) == 1
    assert "1. GAME_JOIN_ACK.accept: " in capsys.readouterr().out


def test_the_command_says_that_nobody_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    for command in (["player"], ["--hostile"], ["--role", "referee", "--hostile"]):
        assert main(["check", *command, f"http://127.0.0.1:{free_port()}/mcp"]) == 2
        told = capsys.readouterr()
        assert told.out == ""
        assert told.err.startswith("league check: http://127.0.0.1:")
        assert told.err.count("\n") == 1


def test_the_list_names_every_check_with_level_section_and_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "player", "--list"]) == 0
    listed = capsys.readouterr().out.splitlines()
    assert len(listed) == len(checks_for("player"))
    assert listed[0].split()[:3] == ["JSON.utf8", "SHOULD", "2.6"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["player"],
        ["player", "ftp://127.0.0.1/mcp"],
        ["player", "http://127.0.0.1:99999/mcp"],
        ["player", "http://127.0.0.1/mcp", "--only", "NO.such"],
        ["player", "http://127.0.0.1/mcp", "--time-scale", "0"],
        ["player", "http://127.0.0.1/mcp", "--listen", "web"],
        ["coach", "http://127.0.0.1/mcp"],
    ],
)
def test_wrong_usage_is_one_sentence_and_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", *arguments]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
