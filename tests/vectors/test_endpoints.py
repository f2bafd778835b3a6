"""Every endpoint of spec/vectors/endpoints.json gets the verdict it names under each policy: from a manager at
registration, and from whoever would call it."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from league.machine import Failure
from league.manager.league_manager import LeagueManager
from league.protocol.endpoints import BadAddressError, EndpointPolicy, IpAddress, Reach, ip_of, parse, read_allowance
from league.protocol.errors import PeerError
from league.protocol.message.messages import RegisterResponse
from league.transport.http import addresses_of
from league.transport.http_call import CallFailed
from league.transport.resolving import Resolver
from tests.support.managed import Managed
from tests.support.vectors import ROOT

TABLE = json.loads((ROOT / "endpoints.json").read_text("utf-8"))
OWN = {ip_of(one) for one in TABLE["manager"]["addresses"]}
REACHES: tuple[Reach, ...] = ("local", "lan", "public")
Case = dict[str, Any]


def cases() -> Iterator[Any]:
    for number, case in enumerate(TABLE["cases"]):
        for reach in REACHES:
            yield pytest.param(reach, case, id=f"{number}-{reach}")


def is_own(ip: IpAddress) -> bool:
    return ip in OWN


def policy(reach: Reach, case: Case) -> EndpointPolicy:
    allowed = tuple(map(read_allowance, case.get("allowed", ())))
    return EndpointPolicy(reach, "same", allowed, TABLE["manager"]["port"], is_own)


def called(rules: EndpointPolicy, case: Case) -> str:
    """The verdict of whoever calls."""

    async def look_up(host: str, _port: int) -> list[tuple[int, str]]:
        return addresses_of(host) or [
            (socket.AF_INET6 if ":" in one else socket.AF_INET, one) for one in case["leads_to"]
        ]

    try:
        asyncio.run(Resolver(rules, look_up).resolve(parse(case["endpoint"]), case["origin"]))
    except BadAddressError:
        return "E008"
    except CallFailed as failed:
        return "E026" if failed.failure is Failure.FORBIDDEN else failed.failure.value
    return "ACCEPTED"


def registered(rules: EndpointPolicy, case: Case) -> str:
    """The verdict of a manager, whose call to a name ends as its shell would end it."""
    league = Managed(profile="compat")
    league.machine = LeagueManager(league.settings, bytes, {}, endpoints=rules)
    letter, _ = league.hand(league.registration("player", 1, contact_endpoint=case["endpoint"]), origin=case["origin"])
    for probe in league.calls("ping") if letter not in league.replies else ():
        if called(rules, case) == "E026":
            league.fail(probe, Failure.FORBIDDEN)
            league.wait(3)
        else:
            league.answer(probe)
    answer = league.replies[letter]
    if isinstance(answer, PeerError):
        assert answer.detail
        return answer.code
    assert isinstance(answer, RegisterResponse)
    assert answer.reason or answer.error_code is None
    return answer.error_code or answer.status


@pytest.mark.requirement("ENDPOINT.policy")
@pytest.mark.requirement("ENDPOINT.grammar")
@pytest.mark.requirement("ENDPOINT.never")
@pytest.mark.requirement("ENDPOINT.at_origin")
@pytest.mark.requirement("ENDPOINT.own_port")
@pytest.mark.parametrize(("reach", "case"), list(cases()))
def test_an_endpoint_is_taken_and_called_as_the_table_says(reach: Reach, case: Case) -> None:
    rules = policy(reach, case)
    assert (registered(rules, case), called(rules, case)) == (case[reach], case[reach]), case["why"]


def test_the_table_is_large_enough_to_tell_policies_apart() -> None:
    assert len({case["endpoint"] for case in TABLE["cases"]}) > 120
    assert {tuple(case[reach] for reach in REACHES) for case in TABLE["cases"]} == {
        ("ACCEPTED",) * 3,
        ("E026", "ACCEPTED", "ACCEPTED"),
        ("E026", "E026", "ACCEPTED"),
        ("E026",) * 3,
        ("E008",) * 3,
    }
