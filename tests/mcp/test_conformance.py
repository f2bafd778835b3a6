"""The official conformance suite of MCP judges our servers, and the Inspector lists and calls our tools.

The suite waits half a second for some answers, which a busy machine may not keep: a run with failures is made again.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.mcp_programs import NODE_PACKAGES, node_tool
from tests.support.processes import Process, Processes

ROOT = Path(__file__).parents[2]
REVISIONS = ("2025-11-25", "2026-07-28")
RUNS = 3
WITHOUT_FIXTURE: Mapping[str, set[str]] = {
    "2025-11-25": {
        *("server-initialize", "server-session-lifecycle", "logging-set-level", "ping", "completion-complete"),
        *("tools-list", "resources-list", "resources-subscribe", "resources-unsubscribe", "prompts-list"),
        *("server-sse-multiple-streams", "dns-rebinding-protection"),
    },
    "2026-07-28": {
        *("completion-complete", "tools-list", "resources-list", "prompts-list", "sep-2164-resource-not-found"),
        *("server-sse-multiple-streams", "dns-rebinding-protection", "caching", "http-header-validation"),
        *("input-required-result-unsupported-methods", "input-required-result-missing-input-response"),
        *("input-required-result-ignore-extra-params", "input-required-result-validate-input"),
    },
}
"""All scenarios that need nothing but a server; one in which some checks do is `server-stateless`."""
NEEDS_FIXTURE = "server does not list the diagnostic tool"


@dataclass(frozen=True)
class Verdicts:
    """What a run of the suite came to: its exit status, and the checks of each scenario (Any: JSON of the suite)."""

    status: int
    checks: Mapping[str, list[dict[str, Any]]]

    @property
    def passed(self) -> set[str]:
        """The scenarios of which a check passed, and none failed or was left out."""
        return {name for name, checks in self.checks.items() if _have(checks, "SUCCESS") and not self.complaints(name)}

    def complaints(self, scenario: str) -> list[str]:
        """About this scenario."""
        checks = _have(self.checks.get(scenario, []), "FAILURE", "SKIPPED")
        return [f"{one['id']} {one['status']}: {one.get('errorMessage', '')}" for one in checks]


def _have(checks: list[dict[str, Any]], *statuses: str) -> list[dict[str, Any]]:
    return [one for one in checks if one["status"] in statuses]


def suite(url: str, revision: str, folder: Path) -> Verdicts:
    """One run of all scenarios for a revision of MCP."""
    folder.mkdir()
    options = ["server", "--url", url, "--requirements", revision, "--output-dir", str(folder)]
    done = node_tool("conformance", options, folder)
    results = sorted(folder.glob("server-*/checks.json"))
    assert results, done.stdout + done.stderr
    named = {re.sub(r"^server-(.*)-\d{4}-\d\d-\d\dT[-\dZ]+$", r"\1", one.parent.name): one for one in results}
    return Verdicts(done.returncode, {name: json.loads(one.read_text()) for name, one in named.items()})


def required(revision: str) -> tuple[str, ...]:
    """The scenarios that a server must pass, as the suite lists them."""
    listed = NODE_PACKAGES / "@modelcontextprotocol" / "conformance" / "requirements" / f"{revision}.yaml"
    section = listed.read_text().partition("\nserver:\n")[2].partition("\n\n")[0]
    return tuple(line.removeprefix("  - ") for line in section.splitlines())


@pytest.fixture(scope="module")
def fixture_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server of our factory that offers what the suite's scenarios call."""
    command = ("env", f"PYTHONPATH={ROOT}", sys.executable, "-m", "tests.support.mcp_suite")
    process = Process("suite", [], tmp_path_factory.mktemp("suite"), command)
    yield process.endpoint
    process.kill()
    assert "Traceback" not in process.output


@pytest.mark.requirement("RPC.mcp_eras")
@pytest.mark.parametrize("revision", REVISIONS)
def test_a_server_of_our_factory_passes_all_that_the_suite_requires(
    fixture_server: str, revision: str, tmp_path: Path
) -> None:
    assert len(required(revision)) >= 30
    for number in range(RUNS):
        verdicts = suite(fixture_server, revision, tmp_path / str(number))
        missing = {name: verdicts.complaints(name) for name in required(revision) if name not in verdicts.passed}
        if not missing and verdicts.status == 0:
            break
    assert (missing, verdicts.status) == ({}, 0)


@pytest.mark.requirement("RPC.mcp_eras")
@pytest.mark.parametrize("revision", REVISIONS)
def test_a_manager_passes_every_scenario_that_needs_no_fixture(processes: Processes, revision: str) -> None:
    manager = processes.manager(players=2)
    for number in range(RUNS):
        verdicts = suite(manager.endpoint, revision, processes.folder / str(number))
        lacks = [one for one in verdicts.complaints("server-stateless") if NEEDS_FIXTURE not in one]
        if verdicts.passed == WITHOUT_FIXTURE[revision] and not lacks:
            break
    assert (verdicts.passed, lacks) == (WITHOUT_FIXTURE[revision], [])
    assert manager.stop() == 0
    assert processes.bugs == []


@pytest.mark.requirement("RPC.mcp_eras")
@pytest.mark.requirement("RPC.mcp_tools")
def test_the_inspector_lists_and_calls_our_tools_in_both_eras(processes: Processes) -> None:
    manager = processes.manager(players=2)
    for era in ("legacy", "modern"):
        asked = ["--cli", manager.endpoint, "--transport", "http", "--protocol-era", era]
        listed = node_tool("mcp-inspector", [*asked, "--method", "tools/list", "--strict"], processes.folder)
        assert (listed.returncode, listed.stderr) == (0, ""), "it has nothing to say about our schemas"
        assert {"standings", "register_player"} <= {one["name"] for one in json.loads(listed.stdout)["tools"]}
        called = node_tool(
            "mcp-inspector", [*asked, "--method", "tools/call", "--tool-name", "standings"], processes.folder
        )
        assert called.returncode == 0, called.stderr
        assert json.loads(called.stdout)["structuredContent"]["standings"] == []
    assert manager.stop() == 0
    assert processes.bugs == []
