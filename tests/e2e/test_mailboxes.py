"""Players that nobody can call play through mailboxes at the manager: like any others, whoever is killed meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import pytest

from league.events import (
    AgentMoved,
    AgentRegistered,
    LeagueFinished,
    PlayerFaulted,
    Registered,
    ResultAccepted,
    WalkoverDecided,
)
from tests.support import machines as network
from tests.support.http_wire import free_port
from tests.support.machines import Home, Machine
from tests.support.peer import Peer
from tests.support.processes import Option, Process, Processes, assert_kept
from tests.support.scripts import held

PLAYERS = 4
MAILBOX = "/mailbox/"
PORT = 8000


def assert_whole(processes: Processes, players: int = PLAYERS) -> None:
    """Every match has one result, nobody lost by a fault, and no promise is broken."""
    results = processes.events("manager", ResultAccepted)
    assert len(results) == len({one.match_id for one in results}) == len(list(combinations(range(players), 2)))
    assert len(processes.events("manager", LeagueFinished)) == 1
    assert processes.events("manager", PlayerFaulted) == processes.events("referee", PlayerFaulted) == []
    assert_kept(processes)


def endpoints(processes: Processes) -> dict[str, str]:
    return {one.agent_id: one.endpoint for one in processes.events("manager", AgentRegistered)}


def test_outbound_players_meet_ordinary_ones_and_every_result_is_proven(processes: Processes) -> None:
    manager = processes.manager(players=PLAYERS)
    outbound = processes.players(manager, "outbound", outbound=True, count=2)
    ordinary = processes.players(manager, "ordinary", count=2)
    processes.referee(manager)
    assert (outbound.wait(), ordinary.wait()) == (0, 0)
    assert sum(MAILBOX in endpoint for endpoint in endpoints(processes).values()) == 2
    assert_whole(processes)
    assert processes.verified()["results"]["proven"] == 6


MOMENTS = [
    ("ROUND_ANNOUNCEMENT", 2),
    ("GAME_INVITATION", 1),
    ("CHOOSE_PARITY_CALL", 2),
    ("ROUND_COMPLETED", 3),
    ("LEAGUE_COMPLETED", 1),
]


@pytest.mark.parametrize(("kind", "nth"), MOMENTS)
def test_mailboxes_survive_the_death_of_the_manager(processes: Processes, kind: str, nth: int) -> None:
    with Peer("Sam", held(kind, nth)) as sam:
        manager = processes.manager(players=PLAYERS, port=free_port())
        sam.register(manager.endpoint)
        players = processes.players(manager, "outbound", outbound=True, count=PLAYERS - 1)
        referee = processes.referee(manager, time_scale=10)
        sam.saw(kind, nth)
        port = manager.port
        manager.kill()
        processes.manager(players=PLAYERS, port=port)
        sam.release("go")
        assert (players.wait(), referee.wait()) == (0, 0)
        # They did not even register again.
        assert len(processes.events("manager", AgentRegistered)) == PLAYERS + 1
        assert processes.events("manager", AgentMoved) == []
        assert_whole(processes)


@pytest.mark.parametrize("keeps_journal", [True, False])
def test_a_player_that_is_killed_finds_its_mailbox_again(processes: Processes, keeps_journal: bool) -> None:
    with Peer("Sam", held("CHOOSE_PARITY_CALL", 2)) as sam:
        manager = processes.manager(players=3)
        sam.register(manager.endpoint)
        journal = processes.journal("nomad") if keeps_journal else None

        def begin() -> Process:
            return processes.players(manager, "nomad", outbound=True, journal=journal)

        stayer = processes.players(manager, "stayer")
        nomad = begin()
        processes.referee(manager)
        sam.saw("CHOOSE_PARITY_CALL", 2)
        nomad.kill()
        nomad = begin()
        sam.release("go")
        assert (nomad.wait(), stayer.wait()) == (0, 0)
        assert len(processes.events("manager", AgentRegistered)) == 4
        assert_whole(processes, players=3)


def test_a_standby_takes_the_mailboxes_over(processes: Processes) -> None:
    with Peer("Sam", held("CHOOSE_PARITY_CALL", 2)) as sam:
        first, second = (f"http://127.0.0.1:{port}/mcp" for port in (free_port(), free_port()))
        both: dict[str, Option] = {"managers": (first, second), "standby": True, "players": PLAYERS}
        manager = processes.manager(**both, port=_port(first))
        standby = processes.begin(
            "manager", "standby", **both, port=_port(second), journal=processes.journal("manager"), referees=1
        )
        standby.said("standing by at ")
        sam.register(manager.endpoint)
        players = processes.players(f"{first},{second}", "outbound", outbound=True, count=PLAYERS - 1)
        referee = processes.referee(f"{first},{second}", state=processes.folder)
        sam.saw("CHOOSE_PARITY_CALL", 2)
        manager.kill()
        standby.said("ready: ")
        sam.release("go")
        assert (players.wait(), referee.wait()) == (0, 0)
        moved = {one.agent_id: one.endpoint for one in processes.events("manager", AgentMoved)}
        assert len(moved) == PLAYERS - 1
        assert all(endpoint.startswith(second.removesuffix("/mcp") + MAILBOX) for endpoint in moved.values())
        assert_whole(processes)


def test_the_mailbox_of_a_withdrawn_player_is_closed(processes: Processes) -> None:
    with Peer("Sam", held("CHOOSE_PARITY_CALL", 1)) as sam:
        manager = processes.manager(players=3)
        sam.register(manager.endpoint)
        nomad = processes.players(manager, "nomad", outbound=True)
        stayer = processes.players(manager, "stayer")
        processes.referee(manager)
        sam.saw("CHOOSE_PARITY_CALL", 1)
        withdrawn = processes.members()["nomad"]
        order = ("withdraw", withdrawn, "--manager", manager.endpoint, "--state", processes.folder)
        assert processes.run(*order).returncode == 0
        sam.release("go")
        nomad.said(f"the mailbox {endpoints(processes)[withdrawn]} is closed")
        assert nomad.wait() == 0
        assert stayer.wait() == 0
        assert processes.events("manager", WalkoverDecided)
        assert_kept(processes)


def test_a_second_reader_ends_the_first(processes: Processes) -> None:
    manager = processes.manager(players=2, start="manual")
    first = processes.players(manager, "first", outbound=True)
    secret = processes.folder / "league-data" / "mailboxes" / "1"
    copy = secret.with_name("2")
    copy.write_text(secret.read_text())
    # The first secret is locked, so another player takes the second, which is the same.
    processes.begin("player", "second", manager=manager.endpoint, outbound=True, name="second")
    assert first.wait() == 1
    assert "another reader" in first.output


def test_a_referee_plays_through_a_mailbox_too(processes: Processes) -> None:
    with Peer("Sam", held("CHOOSE_PARITY_CALL", 2)) as sam:
        manager = processes.manager(players=PLAYERS)
        sam.register(manager.endpoint)
        players = processes.players(manager, "outbound", outbound=True, count=PLAYERS - 1)
        referee = processes.referee(manager, outbound=True)
        assert MAILBOX in referee.endpoint
        sam.saw("CHOOSE_PARITY_CALL", 2)
        referee.kill()
        referee = processes.referee(manager, outbound=True)
        sam.release("go")
        assert (players.wait(), referee.wait()) == (0, 0)
        assert_whole(processes)
        # Records are larger than a request to the manager may be, and come in pieces.
        explained = processes.run("explain", "R3M1", "--journal", processes.journal("manager"))
        assert explained.returncode == 0


def test_the_kit_reaches_a_player_through_its_mailbox(processes: Processes) -> None:
    manager = processes.manager(players=2, start="manual")
    player = processes.players(manager, "nomad", outbound=True)
    player.said("registered as P01")
    checked = processes.run("check", "player", player.endpoint, "--json")
    assert checked.returncode == 0, checked.stdout


# --- behind a router --------------------------------------------------------------------------------------------------


@pytest.fixture
def machines() -> Iterator[list[Machine]]:
    if not network.have_routers():
        pytest.skip(network.ADVICE)
    with network.machines(3) as made:
        yield made


def test_a_player_behind_a_router_finds_out_that_it_needs_a_mailbox(
    processes: Processes, machines: list[Machine]
) -> None:
    hall, school, router = machines
    home = Home(router)
    try:
        manager = processes.begin(
            "manager", "manager", hall.inside, host=hall.address, port=PORT, endpoints="lan", players=PLAYERS,
            journal=processes.journal("manager"), state=processes.folder,
        )  # fmt: skip
        manager.said("ready: ")
        everybody = {"manager": f"http://{hall.address}:{PORT}/mcp"}
        at_home = processes.begin(
            "player", "at home", home.inside, **everybody, count=2, journal=processes.journal("p")
        )
        at_school = processes.begin("player", "at school", school.inside, **everybody, count=2, host=school.address)
        processes.begin(
            "referee", "referee", school.inside, **everybody, host=school.address, state=processes.folder,
            journal=processes.journal("referee"),
        )  # fmt: skip
        assert (at_home.wait(), at_school.wait()) == (0, 0)
        assert at_home.said(f"nobody can call http://{home.address}:", 2)
        assert sum(MAILBOX in endpoint for endpoint in endpoints(processes).values()) == 2
        assert all(MAILBOX in one.endpoint for one in processes.events("p", Registered))
        assert_whole(processes)
    finally:
        home.end()


def test_a_player_behind_a_firewall_finds_out_that_nobody_calls_it(
    processes: Processes, machines: list[Machine]
) -> None:
    hall, school, closed = machines
    # Its address is right, and every connection to it is lost on the way.
    closed.run("iptables", "-A", "INPUT", "-i", "eth0", "-p", "tcp", "--syn", "-j", "DROP")
    manager = processes.begin(
        "manager", "manager", hall.inside, host=hall.address, port=PORT, endpoints="lan", players=3,
        journal=processes.journal("manager"), state=processes.folder,
    )  # fmt: skip
    manager.said("ready: ")
    everybody = {"manager": f"http://{hall.address}:{PORT}/mcp"}
    players = [
        processes.begin("player", "closed", closed.inside, **everybody, host=closed.address, time_scale=5),
        processes.begin("player", "open", school.inside, **everybody, count=2, host=school.address),
    ]
    processes.begin(
        "referee", "referee", school.inside, **everybody, host=school.address, state=processes.folder,
        journal=processes.journal("referee"),
    )  # fmt: skip
    assert [player.wait() for player in players] == [0, 0]
    assert players[0].said(f"nobody has called http://{closed.address}:")
    (moved,) = processes.events("manager", AgentMoved)
    assert MAILBOX in moved.endpoint
    results = processes.events("manager", ResultAccepted)
    assert {one.status for one in results} <= {"WIN", "DRAW"}
    assert_kept(processes)


def _port(endpoint: str) -> int:
    return int(endpoint.rpartition(":")[2].partition("/")[0])
