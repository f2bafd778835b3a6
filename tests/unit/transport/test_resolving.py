"""A name is looked up once, held against the policy and kept; what it leads to later is held against it, too."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence

import pytest

from league.machine import Failure
from league.protocol.endpoints import EndpointPolicy, IpAddress, parse
from league.transport.http_call import CallFailed
from league.transport.resolving import Resolver

AGENT = parse("http://agent.example:8101/mcp")
ORIGIN = "10.0.0.7"
SAME = EndpointPolicy("lan", "same")
LOOPBACK = EndpointPolicy(origin_rule="loopback", is_own=lambda ip: str(ip) == "192.168.1.5")


class Names:
    """A scripted name server: each time a name is looked up it leads to the next of these, or nowhere."""

    def __init__(self, **answers: Sequence[str]) -> None:
        self.answers = {name.replace("_", "."): list(given) for name, given in answers.items()}
        self.asked: list[str] = []

    async def look_up(self, host: str, _port: int) -> list[tuple[int, str]]:
        self.asked.append(host)
        if host not in self.answers:
            return [(socket.AF_INET, host)]
        if not self.answers[host]:
            raise socket.gaierror(socket.EAI_NONAME, "no such name")
        return [(socket.AF_INET, one) for one in self.answers[host].pop(0).split()]


def found(resolver: Resolver, url: str = "http://agent.example:8101/mcp", origin: str = ORIGIN) -> list[str]:
    return [address for _, address in asyncio.run(resolver.resolve(parse(url), origin))]


def refused(resolver: Resolver, url: str = "http://agent.example:8101/mcp", origin: str = ORIGIN) -> str:
    with pytest.raises(CallFailed) as caught:
        found(resolver, url, origin)
    assert (caught.value.failure, caught.value.local) == (Failure.FORBIDDEN, False)
    return caught.value.detail


@pytest.mark.requirement("ENDPOINT.pinned")
def test_a_name_is_looked_up_once() -> None:
    names = Names(agent_example=[ORIGIN, "10.0.0.8"])
    resolver = Resolver(SAME, names.look_up)
    assert [found(resolver) for _ in range(3)] == [[ORIGIN]] * 3
    assert names.asked == ["agent.example"]


@pytest.mark.requirement("ENDPOINT.pinned")
@pytest.mark.parametrize("later", ["10.0.0.8", "127.0.0.1", "169.254.169.254", "203.0.114.9", "::1", "::ffff:10.0.0.7"])
def test_a_name_that_leads_elsewhere_when_it_is_looked_up_again_is_not_called(later: str) -> None:
    names = Names(agent_example=[ORIGIN, later, later, ORIGIN])
    resolver = Resolver(SAME, names.look_up)
    assert found(resolver) == [ORIGIN]
    resolver.forget(AGENT, ORIGIN)
    assert refused(resolver)
    assert refused(resolver), "what was refused is not kept"
    assert found(resolver) == [ORIGIN]


def test_of_several_addresses_only_those_are_called_that_may_be() -> None:
    names = Names(agent_example=["169.254.169.254 10.0.0.8 10.0.0.7 127.0.0.1"])
    assert found(Resolver(SAME, names.look_up)) == ["10.0.0.7"]


def test_a_pin_is_good_for_one_origin_and_port() -> None:
    names = Names(agent_example=[ORIGIN] * 3)
    resolver = Resolver(SAME, names.look_up)
    assert found(resolver) == [ORIGIN]
    assert "10.0.0.9" in refused(resolver, origin="10.0.0.9")
    assert found(resolver, "http://agent.example:8102/mcp") == [ORIGIN]


def test_a_name_is_not_even_looked_up_where_names_are_not_taken() -> None:
    names = Names(agent_example=["127.0.0.1"])
    assert refused(Resolver(EndpointPolicy("local", "same"), names.look_up), origin="127.0.0.1")
    assert names.asked == []


def test_a_name_that_leads_nowhere_is_an_error_of_the_network_and_asked_for_again() -> None:
    names = Names(agent_example=[])
    resolver = Resolver(SAME, names.look_up)
    for _ in range(2):
        with pytest.raises(socket.gaierror):
            found(resolver)
    assert names.asked == ["agent.example"] * 2


# --- referees and players: who names an endpoint is their manager -----------------------------------------------------


def member(manager: str, **names: Sequence[str]) -> Resolver:
    return Resolver(LOOPBACK, Names(**names).look_up, parse(manager))


@pytest.mark.requirement("ENDPOINT.members")
@pytest.mark.parametrize("manager", ["http://127.0.0.1:8000/", "http://[::1]:8000/", "http://192.168.1.5:8000/"])
def test_a_member_calls_this_machine_if_its_manager_is_on_it(manager: str) -> None:
    assert found(member(manager), "http://127.0.0.1:8101/mcp", "") == ["127.0.0.1"]


@pytest.mark.requirement("ENDPOINT.members")
def test_a_manager_elsewhere_cannot_make_a_member_call_its_own_machine() -> None:
    for manager in ("http://192.168.1.9:8000/", "http://manager.example:8000/"):
        resolver = member(manager, manager_example=["192.168.1.9"], player_example=["127.0.0.1"])
        assert "192.168.1.9" in refused(resolver, "http://127.0.0.1:8101/mcp", "")
        assert "192.168.1.9" in refused(resolver, "http://player.example:8101/mcp", "")


@pytest.mark.requirement("ENDPOINT.members")
@pytest.mark.parametrize("player", ["192.168.1.7", "10.0.0.7", "203.0.114.9"])
def test_a_member_calls_whom_its_manager_names_wherever_that_is(player: str) -> None:
    for manager in ("http://127.0.0.1:8000/", "http://192.168.1.9:8000/"):
        assert found(member(manager), f"http://{player}:8101/mcp", "") == [player]


@pytest.mark.requirement("ENDPOINT.members")
@pytest.mark.requirement("ENDPOINT.never")
@pytest.mark.parametrize("player", ["169.254.169.254", "0.0.0.0", "224.0.0.1", "[fe80::1]", "[::ffff:127.0.0.1]"])
def test_what_is_never_called_is_not_called_on_a_managers_word(player: str) -> None:
    assert "agents are never called there" in refused(member("http://127.0.0.1:8000/"), f"http://{player}:8101/mcp", "")


def test_who_the_manager_is_must_be_known_before_anybody_is_called_on_its_word() -> None:
    resolver = member("http://manager.example:8000/", manager_example=[])
    with pytest.raises(socket.gaierror):
        found(resolver, "http://127.0.0.1:8101/mcp", "")


def test_what_is_this_machines_own_is_asked_of_the_system() -> None:
    from league.terminal.addresses import is_own, seen_by_others

    def own(text: str) -> bool:
        ip: IpAddress | None = parse(f"http://{text}/").ip
        return ip is not None and is_own(ip)

    assert own("127.0.0.1")
    assert not own("203.0.114.9")
    assert own(seen_by_others() or "127.0.0.1")
