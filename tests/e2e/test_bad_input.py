"""The bad-input catalogue: our agents give each its exact answer and are what they were before; agents that take,
lose or change something are found out."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from pathlib import Path

import pytest

from league.cli.main import main
from league.events import AgentApplied, DeviationRecorded, IdentityContested, RequestRefused
from league.features.kit.bad_input.cases import ROLES
from league.features.kit.bad_input.hostile import catalogue, run
from league.features.kit.checks.outcome import CheckVerdict
from league.features.kit.clauses import clauses
from league.features.kit.driver.kit import Options
from league.features.kit.reports.text import lines
from league.features.kit.runner import CheckReport
from league.storage.journal import encode
from league.storage.reading import JournalReader, open_for_reading
from tests.kit.defects import told
from tests.support.http_wire import free_port
from tests.support.peer import UNSUSPECTING, Peer
from tests.support.processes import Process, Processes
from tests.support.scripts import Reaction, always, on

FEWEST = 400
AGENTS = [*((role, "compat") for role in ROLES), ("manager", "strict")]
"""A strict manager also refuses names that a manager in compat accepts under a number or with an id in front: it gets
these rows."""
NOTES = (RequestRefused, DeviationRecorded, AgentApplied, IdentityContested)
"""Events that change nothing but the note about whoever was refused, or waits for the operator."""


def journal_of(reader: JournalReader) -> str:
    """All that is in a journal but the notes."""
    return repr([encode(one) for one in reader.events() if not isinstance(one, NOTES)])


def rows_for(role: str, profile: str) -> tuple[str, ...]:
    """What an agent is sent: the whole catalogue, or what only that of this profile has."""
    rows = {one.id for one in catalogue(role, profile)}
    return tuple(sorted(rows - {one.id for one in catalogue(role, "compat")} or rows))


def checked(processes: Processes, role: str, agent: Process, listen: int | None, profile: str) -> CheckReport:
    """These rows against an agent of ours; its journal is observed too."""
    options = Options(agent.endpoint, listen, profile=profile, only=rows_for(role, profile))
    with open_for_reading(processes.journal(role)) as reader:

        async def also() -> str:
            return journal_of(reader)

        return asyncio.run(run(options, role, also))


def started(processes: Processes, role: str, profile: str) -> tuple[Process, int | None]:
    """An agent for the kit, and the port where the kit is its manager, if it is."""
    if role == "manager":
        return processes.manager(players=2, referees=2, profile=profile), None
    port = free_port()
    manager = f"http://127.0.0.1:{port}/mcp"
    return processes.start(role, role, manager=manager, journal=processes.journal(role), profile=profile), port


@pytest.mark.requirement("HTTP.framing")
@pytest.mark.requirement("KEEPING.refused_changes_nothing")
@pytest.mark.parametrize(("role", "profile"), AGENTS)
def test_every_bad_input_gets_its_exact_answer_and_changes_nothing(
    processes: Processes, role: str, profile: str
) -> None:
    agent, port = started(processes, role, profile)
    report = checked(processes, role, agent, port, profile)
    assert report.counts == {CheckVerdict.PASS: len(rows_for(role, profile))}, told(report)
    assert agent.stop() == 0


@pytest.mark.parametrize(("role", "profile"), AGENTS)
def test_the_catalogue_is_large_and_its_rows_are_known_by_name_and_clause(role: str, profile: str) -> None:
    rows = catalogue(role, profile)
    assert len(rows) >= FEWEST
    assert [name for name, count in Counter(one.id for one in rows).items() if count > 1] == []
    assert {one.clause for one in rows} <= set(clauses())


# --- third-party agents -----------------------------------------------------------------------------------------------


def sent_to(peer: Peer, role: str, *only: str) -> CheckReport:
    with peer:
        return asyncio.run(run(Options(peer.endpoint, only=only), role))


def test_an_agent_that_takes_everything_fails_where_it_must_not_and_a_player_is_warned() -> None:
    for role, verdict in (("referee", CheckVerdict.FAIL), ("player", CheckVerdict.WARN)):
        report = sent_to(Peer("Yes", always(Reaction(body=b'{"jsonrpc":"2.0","id":1,"result":{}}'))), role, "rpc.batch")
        (result,) = report.results
        assert result.verdict is verdict, told(report)
        assert "sent a batch of one request; answered status 200; expected status 400, E035" in result.outcome.detail


def test_a_fault_that_shows_again_and_again_is_told_in_full_once_and_then_counted() -> None:
    report = sent_to(Peer("Yes", always(Reaction(body=b'{"jsonrpc":"2.0","id":1,"result":{}}'))), "referee", "json")
    failures = report.of(CheckVerdict.FAIL)
    text = list(lines(report))
    assert len(failures) > 20
    assert [line for line in text if line.startswith("2. ")] == []
    (counted,) = [line for line in text if "more like it" in line]
    assert counted.startswith(f"   and {len(failures) - 1} more like it: {failures[1].name}, ")
    assert counted.endswith(", …")


def test_another_refusal_than_the_catalogues_is_a_warning() -> None:
    error = b'{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"no"}}'
    report = sent_to(Peer("No", always(Reaction(body=error))), "referee", "json.empty", "rpc.batch")
    assert {one.verdict for one in report.results} == {CheckVerdict.WARN}, told(report)


def test_an_agent_that_crashes_or_says_nothing_fails() -> None:
    report = sent_to(Peer("Oops", always(Reaction(status=500, body=b"Traceback"))), "player", "rpc.batch")
    assert [one.verdict for one in report.results] == [CheckVerdict.FAIL], told(report)


def test_an_agent_that_exits_fails_once_and_the_rest_is_not_tested() -> None:
    leaves = Reaction(body=b"{}", ending="exit")
    script = (*on("ping", Reaction(body=b"{}")), *always(leaves))
    report = sent_to(Peer("Gone", script, convention=UNSUSPECTING), "referee", "json")
    verdicts = Counter(one.verdict for one in report.results)
    assert verdicts[CheckVerdict.UNTESTABLE] > 30, told(report)
    assert verdicts[CheckVerdict.FAIL] <= 2, told(report)


def test_an_agent_whose_state_changes_fails_although_it_refuses() -> None:
    states = [Reaction(body=b'{"jsonrpc":"2.0","id":1,"result":{"wins":%d}}' % wins) for wins in (0, 0, 1)]
    refuses = Reaction(
        status=400, body=b'{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"INVALID_REQUEST"}}'
    )
    peer = Peer("Counts", (*on("get_player_state", *states), *always(refuses)), convention=UNSUSPECTING)
    report = sent_to(peer, "player", "rpc.batch")
    assert [one.verdict for one in report.results] == [CheckVerdict.FAIL], told(report)
    assert "KEEPING.refused_changes_nothing" in report.results[0].outcome.detail


def test_a_player_that_did_not_register_is_sent_all_but_what_a_member_can_judge(processes: Processes) -> None:
    player = processes.players(f"http://127.0.0.1:{free_port()}/mcp")
    only = ("league_completed", "RPC.batch")
    report = asyncio.run(run(Options(player.endpoint, only=only)))
    assert report.role == "player"
    untested = {one.name for one in report.of(CheckVerdict.UNTESTABLE)}
    assert "league_completed.token-missing" in untested, told(report)
    assert "rpc.batch" not in untested
    assert report.passed, told(report)


# --- the command ------------------------------------------------------------------------------------------------------


def test_the_command_finds_out_the_role_and_writes_the_usual_reports(
    processes: Processes, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    manager = processes.manager(players=2, referees=2)
    files = [f"--junit={tmp_path / 'x.xml'}", f"--html={tmp_path / 'x.html'}"]
    assert main(["check", "--hostile", manager.endpoint, "--only", "league_query", "--json", *files]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["role"] == "manager"
    assert document["summary"]["pass"] == len(document["checks"]) > 20
    row = next(one for one in document["checks"] if one["id"] == "league_query.about-another-league")
    assert (row["requirement"], row["level"], row["verdict"]) == ("QUERY.failures", "MUST", "pass")
    assert "league_query.about-another-league" in (tmp_path / "x.xml").read_text()
    assert "league_query.about-another-league" in (tmp_path / "x.html").read_text().replace("<wbr>", "")


def test_the_command_lists_the_catalogue_and_says_what_it_lacks(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--hostile", "--list", "--role", "manager", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)) == len(catalogue("manager", "compat"))
    assert main(["check", "--hostile", "--list", "--role", "manager", "--profile", "strict", "--json"]) == 0
    strict = [row["id"] for row in json.loads(capsys.readouterr().out)]
    assert len(strict) == len(catalogue("manager", "strict"))
    assert "league_register_request.name-that-is-taken" in strict
    assert main(["check", "--hostile", "http://127.0.0.1:9/mcp"]) == 2
    assert (
        "http://127.0.0.1:9/mcp: the connection was refused: nobody listens at this address. Is the agent running?"
        in capsys.readouterr().err
    )
    assert main(["check", "--hostile", "http://127.0.0.1:9/mcp", "--only", "NOTHING"]) == 2
    assert main(["check"]) == 2
