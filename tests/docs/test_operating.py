"""What "Operate a league" says and the files in deploy/ do: tried on this machine, as far as it goes without a service
manager, a proxy and containers."""

from __future__ import annotations

import configparser
import http.client
import json
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import kubernetes_validate  # type: ignore[import-untyped]
import pytest
import yaml  # type: ignore[import-untyped]
from compose_spec import PyCompose

from league import __version__
from league.agent.meter import HELP
from league.cli.main import full_parser
from league.hosting.settings.manager_options import ManagerOptions
from league.protocol.wire.jsonrpc import MESSAGE_LIMIT
from tests.support.pages import ROOT, Reader, blocks
from tests.support.postgres import PostgresServer
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
    unit = configparser.ConfigParser(interpolation=None, strict=False)  # a key may come twice
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


EXPOSURE = 2.0


@pytest.mark.parametrize("name", ["league-manager.service", "league-referee.service"])
def test_the_services_keep_few_rights(name: str) -> None:
    unit = service(name)
    protections = [key for key in unit if key.startswith(("Protect", "Private", "Restrict"))]
    assert len(protections) > 12
    assert not [key for key in protections if unit[key] == "no"]
    assert unit["CapabilityBoundingSet"] == ""
    assert unit["SystemCallErrorNumber"] == "EPERM", "a call that is refused is an error, not the end of the process"
    rating = shutil.which("systemd-analyze")
    if rating is None:  # no system without systemd runs the unit
        return
    done = subprocess.run(
        [rating, "security", "--offline=true", str(DEPLOY / name)], capture_output=True, text=True, check=True
    )
    [exposure] = re.findall(r"Overall exposure level for \S+: ([0-9.]+)", done.stdout)
    assert float(exposure) < EXPOSURE


def test_the_rules_for_alerts_use_what_the_agents_measure() -> None:
    expressions = re.findall(r"expr: (.+)", text("alerts.yml"))
    used = {metric for expression in expressions for metric in re.findall(r"league_[a-z_]+", expression)}
    assert len(used) > 5
    assert used <= HELP.keys()
    assert text("alerts.yml").count("action:") == len(expressions)


def test_proxies_pass_on_whole_messages_to_where_the_manager_is() -> None:
    assert tomllib.loads(text("league.toml"))["manager"]["managers"] == [f"https://{NAME}"]
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


@pytest.mark.parametrize("name", ["compose.yaml", "compose-postgres.yaml"])
def test_the_compose_files_are_what_the_specification_takes(name: str) -> None:
    document = yaml.safe_load(text(name))
    services = PyCompose.from_json(json.dumps(document)).service_names()
    assert set(services) == set(document["services"])
    commands = [service["command"] for service in document["services"].values() if "command" in service]
    for command in commands:
        full_parser().parse_args(command)
    mounted = {
        volume.partition(":")[0] for service in document["services"].values() for volume in service.get("volumes", ())
    }
    files = {volume for volume in mounted if volume.startswith("./")}
    assert mounted - files == set(document["volumes"])
    assert all((DEPLOY / file).is_file() for file in files)


def test_each_composed_service_gets_what_it_needs_and_nothing_else() -> None:
    services = yaml.safe_load(text("compose-postgres.yaml"))["services"]
    secrets = {
        name: {value for value in service.get("environment", {}).values() if value.startswith("$")}
        for name, service in services.items()
    }
    key = "${LEAGUE_ENROLMENT_KEY:?}"
    for name in ("manager", "standby"):
        assert secrets[name] == {"${LEAGUE_MANAGER_PASSWORD:?}", key}
    for name in ("referee_1", "referee_2"):
        assert secrets[name] == {"${LEAGUE_REFEREE_PASSWORD:?}", key}
    assert secrets["players"] == set()
    holders = [name for name, service in services.items() if "manager-state" in str(service.get("volumes"))]
    assert holders == ["manager", "standby"]
    written = set(re.findall(r"LEAGUE_[A-Z_]+", PAGE.partition("> league.env")[0].rpartition("for name in")[2]))
    assert written == set(re.findall(r"LEAGUE_[A-Z_]+", text("compose-postgres.yaml")))


def test_roles_of_the_composed_database_read_only_their_own_schemas(
    postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    passwords = {"manager": "it's", "referee": "other"}
    for role, password in passwords.items():
        monkeypatch.setenv(f"LEAGUE_{role.upper()}_PASSWORD", password)
    postgres.sql(text("postgres-roles.sql"))
    postgres.sql(
        "SET ROLE manager; CREATE SCHEMA spring; CREATE TABLE spring.events (); "
        "SET ROLE referee; CREATE SCHEMA spring_referee; RESET ROLE"
    )
    allowed = postgres.sql(
        "SELECT has_schema_privilege('manager', 'spring', 'USAGE'), "
        "has_schema_privilege('referee', 'spring', 'USAGE'), "
        "has_table_privilege('referee', 'spring.events', 'SELECT'), "
        "has_schema_privilege('manager', 'spring_referee', 'USAGE'), "
        "bool_or(rolsuper or rolcreaterole or rolcreatedb) from pg_roles where rolname in ('manager', 'referee')"
    )
    assert allowed.strip() == "t|f|f|f|f"


class Composed:
    """The services of compose-postgres.yaml as processes of this machine, with a database server of ours."""

    def __init__(self, processes: Processes, server: PostgresServer) -> None:
        self._services = yaml.safe_load(text("compose-postgres.yaml"))["services"]
        self._processes = processes
        self.journals = server.new_url()
        self._replaced = {"0.0.0.0": "127.0.0.1", ":/srv/league": str(processes.folder)}
        for role in ("manager", "referee"):
            self._replaced[f"postgresql://{role}@postgres/league?schema=spring"] = self.journals
        for name in ("manager", "standby"):
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                self._replaced[f"http://{name}:8000"] = f"http://127.0.0.1:{probe.getsockname()[1]}"

    def words(self, words: list[str]) -> list[str]:
        changed = []
        for word in words:
            for inside, here in self._replaced.items():
                word = word.replace(inside, here)
            changed.append(word)
        return changed

    def up(self, name: str, said: str) -> Process:
        words = self.words(self._services[name]["command"])
        port = "0"
        if name in ("manager", "standby"):
            port = self._replaced[f"http://{name}:8000"].rpartition(":")[2]
        process = Process(name, [*words, "--port", port], self._processes.folder)
        self._processes.started.append(process)
        process.said(said)
        return process

    def run(self, line: str) -> subprocess.CompletedProcess[str]:
        """A command that the page has us run inside a container."""
        return self._processes.run(*self.words(shlex.split(line)))


def test_the_composed_services_with_a_database_survive_the_loss_of_the_manager(
    processes: Processes, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEAGUE_ENROLMENT_KEY", "0123456789abcdef0123456789abcdef")
    composed = Composed(processes, postgres)
    manager = composed.up("manager", "ready: ")
    standby = composed.up("standby", "standing by at ")
    referees = [composed.up(name, "registered as ") for name in ("referee_1", "referee_2")]
    players = composed.up("players", "ready: ")
    manager.said("player P04 ")
    [line] = re.findall(r"exec manager league (start .*)", PAGE)
    assert composed.run(line).returncode == 0
    manager.said("round 1 of 3 ")
    manager.kill()
    standby.said("the league is over")
    assert [process.wait() for process in (players, *referees)] == [0, 0, 0]
    done = processes.run("verify", f"{composed.journals}*", "--json")
    assert (done.returncode, json.loads(done.stdout)["matches"]) == (0, 6), done
    # The one that was lost is started again, and stands by.
    composed.up("manager", "standing by at ")


# --- clusters ---------------------------------------------------------------------------------------------------------

CLUSTER = DEPLOY / "kubernetes"


def manifests(*names: str) -> list[dict[str, Any]]:
    return [manifest for name in names for manifest in yaml.safe_load_all((CLUSTER / name).read_text("utf-8"))]


def test_the_manifests_are_what_kubernetes_takes() -> None:
    [customization] = manifests("kustomization.yaml")
    listed = customization["resources"]
    assert sorted(listed) == sorted({path.name for path in CLUSTER.iterdir()} - {"kustomization.yaml"})
    assert customization["images"] == [{"name": "agent-league", "newTag": __version__}]
    for manifest in manifests(*listed):
        kubernetes_validate.validate(manifest, kubernetes_validate.latest_version(), strict=True)
    for container in containers():
        assert container["securityContext"]["readOnlyRootFilesystem"]
        assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}


def containers() -> list[dict[str, Any]]:
    pods = [
        manifest["spec"]["template"]["spec"]
        for manifest in manifests("manager.yaml", "referees.yaml", "players.yaml")[1:]
    ]
    assert all(pod["securityContext"]["runAsUser"] == 10001 for pod in pods), "the user of the image"
    assert "--uid 10001" in text("Dockerfile")
    return [container for pod in pods for container in pod["containers"]]


def test_the_containers_of_the_cluster_start_with_commands_of_ours() -> None:
    for container in containers():
        arguments = full_parser().parse_args(container["args"])
        assert container["ports"][0]["containerPort"] == int(arguments.port)
