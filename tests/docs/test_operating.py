"""What "Operate a league" says and the files in deploy/ do: tried on this machine, as far as it goes without a service
manager, a proxy and containers."""

from __future__ import annotations

import configparser
import http.client
import json
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest

from league.cli.main import full_parser
from league.hosting.options import ManagerOptions
from league.protocol.jsonrpc import MESSAGE_LIMIT
from tests.support.pages import ROOT, Reader, blocks
from tests.support.processes import WATCHDOG_S, Process, Processes

PAGE = (ROOT / "docs" / "how-to" / "operate-a-league.md").read_text(encoding="utf-8")
DEPLOY = ROOT / "deploy"
HOME, NAME, INSIDE = "/srv/league", "league.example", f"127.0.0.1:{ManagerOptions.usual_port}"


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[Processes]:
    with Processes(tmp_path) as started:
        yield started
    assert started.bugs == []


def text(name: str) -> str:
    return (DEPLOY / name).read_text(encoding="utf-8")


def page(process: Process, path: str) -> str:
    with urlopen(f"{process.endpoint.removesuffix('/mcp')}{path}", timeout=WATCHDOG_S) as answer:
        return str(answer.read().decode())


def test_a_league_is_backed_up_restored_and_watched_as_the_page_says(processes: Processes) -> None:
    reader = Reader(processes)
    reader.follow(blocks(PAGE))
    shown = page(reader.terminals["manager"], "/metrics")
    watched = set(re.findall(r"`(league_[a-z_]+)`", PAGE))
    assert len(watched) > 5
    assert {name for name in watched if f"# HELP {name} " not in shown} == set()
    for path in ("/healthz", "/readyz"):
        page(reader.terminals["manager"], path)  # another status than 200 is an exception
    reader.leave()


# --- services ---------------------------------------------------------------------------------------------------------


def service(name: str) -> configparser.SectionProxy:
    unit = configparser.ConfigParser(interpolation=None)
    unit.optionxform = str  # type: ignore[assignment,method-assign]  # keys keep their capitals
    unit.read_string(text(name))
    return unit["Service"]


def begun(processes: Processes, words: list[str]) -> Process:
    """A command of `league` that serves, at a free port and in the folder of the test."""
    process = Process(words[0], [*words, "--port", "0"], processes.folder)
    processes.started.append(process)
    process.said("ready: ")
    return process


def test_the_services_start_a_league_that_answers_to_the_name_of_the_proxy(processes: Processes) -> None:
    folder = processes.folder
    (folder / "league.toml").write_text(text("league.toml"), encoding="utf-8")
    (folder / "data").mkdir(mode=0o700)
    commands = {}
    for name in ("league-manager.service", "league-referee.service"):
        program, *words = shlex.split(service(name)["ExecStart"])
        assert program == f"{HOME}/.venv/bin/league"
        assert service(name)["ReadWritePaths"] == f"{HOME}/data"
        commands[words[0]] = [word.replace(HOME, str(folder)) for word in words]
    manager = begun(processes, commands["manager"])
    referee = [word.replace(f"http://{INSIDE}/mcp", manager.endpoint) for word in commands["referee"]]
    assert manager.endpoint in referee
    begun(processes, referee).said("registered as REF01 in spring")
    for host, status in ((NAME, 200), ("elsewhere.example", 421)):
        connection = http.client.HTTPConnection("127.0.0.1", manager.port, timeout=WATCHDOG_S)
        connection.request("GET", "/healthz", headers={"Host": host})
        assert connection.getresponse().status == status
        connection.close()


def test_proxies_pass_on_whole_messages_to_where_the_manager_is() -> None:
    assert tomllib.loads(text("league.toml"))["manager"]["allow_host"] == [NAME]
    nginx, caddy = text("nginx.conf"), text("Caddyfile")
    assert f"server_name {NAME};" in nginx
    assert f"\n{NAME} {{" in caddy
    assert set(re.findall(r"proxy_pass (\S+);", nginx)) == {f"http://{INSIDE}"}
    assert f"reverse_proxy {INSIDE} " in caddy
    sizes = [*re.findall(r"client_max_body_size (\d+)k", nginx), *re.findall(r"max_size (\d+)KB", caddy)]
    assert len(sizes) == 2
    assert all(int(size) * 1000 >= MESSAGE_LIMIT for size in sizes)


# --- containers -------------------------------------------------------------------------------------------------------


def listed(name: str, key: str) -> list[list[str]]:
    """The lists behind this word in a file, each in a line."""
    return [json.loads(found) for found in re.findall(rf"^\s*{key}:? (\[.*\])$", text(name), re.MULTILINE)]


def test_the_image_holds_all_that_it_is_built_from_and_starts_a_manager() -> None:
    copied = [line.split()[1:-1] for line in text("Dockerfile").splitlines() if line.startswith("COPY ")]
    assert [one for some in copied for one in some if not (ROOT / one).exists()] == []
    assert listed("Dockerfile", "ENTRYPOINT") == [["league"]]
    [words] = listed("Dockerfile", "CMD")
    assert full_parser().parse_args(words).host == "0.0.0.0"


def test_the_composed_services_find_each_other_and_are_healthy(processes: Processes) -> None:
    first, second = listed("compose.yaml", "command")
    manager = begun(processes, [word.replace("0.0.0.0", "127.0.0.1") for word in first])
    referee = [word.replace("http://manager:8000/mcp", manager.endpoint) for word in second]
    assert manager.endpoint in referee
    begun(processes, referee).said("registered as REF01 in spring")
    [[kind, _, *arguments]] = listed("compose.yaml", "test")
    assert kind == "CMD"
    asked = [word.replace(INSIDE, f"127.0.0.1:{manager.port}") for word in arguments]
    subprocess.run([sys.executable, *asked], check=True, timeout=WATCHDOG_S)
