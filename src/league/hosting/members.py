"""What referees and players share as processes: several in one, on following ports, until the league is over."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from functools import lru_cache, partial
from typing import Any

from league.agent import sources
from league.agent.agent import Agent, Setup, Think
from league.hosting import serving
from league.hosting.addresses import endpoint_at
from league.hosting.serving import Served
from league.machine import Machine
from league.protocol.envelope import Reading
from league.protocol.exchanges import Role
from league.transport import jsonrpc
from league.transport.http import App
from league.transport.http_client import HttpClient
from league.transport.letters import Speaker

BringUp = Callable[[dict[str, Any], int, int, HttpClient], Awaitable[Served]]
Build = Callable[[str], Callable[..., Machine]]
"""From the endpoint to a maker of the machine, which then takes the secrets."""


async def serve_members(
    values: dict[str, Any], usual_port: int, bring_up: BringUp, is_over: Callable[[Agent], bool], stop: asyncio.Event
) -> int:
    """Bring up `--count` members, wait until their league is over or they are stopped."""
    values = {**values, "shared_files": serving.open_shared(values["shared"])}
    client = HttpClient()
    served: list[Served] = []
    registering: list[asyncio.Task[bool]] = []
    port = usual_port if values["port"] is None else values["port"]
    try:
        while len(served) < values["count"] and not stop.is_set():
            one = await bring_up(values, len(served), port, client)
            served.append(one)
            registering.append(asyncio.create_task(_is_wanted(one)))
            port = one.server.port + 1 if port else 0
        await serving.until_over(served, _is_refused if values["until_stdin_closes"] else is_over, stop)
    finally:
        for task in registering:
            task.cancel()
        await asyncio.gather(*(one.stop() for one in served))
        await client.close()
    return 1 if any(_is_refused(one.agent) for one in served) else 0


async def _is_wanted(served: Served) -> bool:
    """What the manager says of us; a refusal is told to whoever started us, at once."""
    machine: Any = served.agent.machine
    told: set[str] = set()
    while not machine.agent_id and machine.rejected is None:
        served.agent.changed.clear()
        await served.agent.changed.wait()
        machine = served.agent.machine
        trouble = _trouble(served)
        if trouble and trouble not in told:
            told.add(trouble)
            serving.complain(trouble)
    if machine.rejected is not None:
        refusal = machine.rejected
        serving.complain(f"the manager refused {served.endpoint}: {refusal.code} {refusal.detail}")
    return machine.rejected is None


def _trouble(served: Served) -> str:
    """Why this member is none yet, in a sentence, if it does not just take its time."""
    machine: Any = served.agent.machine
    if machine.pending is not None:
        return f"{served.endpoint} is no member yet and keeps trying: {machine.pending.detail}"
    return f"{served.endpoint} cannot register yet: {machine.trouble}; trying again" if machine.trouble else ""


def _is_refused(agent: Agent) -> bool:
    machine: Any = agent.machine
    return machine.rejected is not None


async def bring_up_member(
    values: dict[str, Any],
    number: int,
    port: int,
    client: HttpClient,
    role: Role,
    build: Build,
    think: Think | None = None,
) -> Served:
    """One member: its port, its machine, its journal."""
    door = serving.Door()
    # A member takes what its manager sends, and that may be large.
    limit = jsonrpc.MANAGER_LIMIT
    others = number > 0 or values["port"] is None
    app = App(post=door.post, get=serving.basic_pages(door, dict))
    server = await serving.open_port(values["host"], port, app, limit, others)
    endpoint = endpoint_at(values["host"], server.port)
    make = build(endpoint)

    def machine(secrets: Mapping[str, str]) -> Machine:
        return make(secrets=secrets)

    setup = Setup(
        machine,
        partial(_speaker, role, Reading(values["profile"])),
        client,
        sources.Clock(values["time_scale"]),
        think=think,
        log=serving.open_log(numbered(values["log"], number, values["count"])),
        limit=limit,
        answer_limit=limit,
    )
    location = numbered(values["journal"], number, values["count"])
    journal = partial(
        serving.open_journal, location=location, identity={"role": role.value}, transcript=values["transcript"]
    )
    return await serving.bring_up(setup, door, server, endpoint, journal, values.get("shared_files"))


def _speaker(role: Role, reading: Reading, machine: Machine) -> Speaker:
    return _speaker_called(role, getattr(machine, "agent_id", "") or "unregistered", reading)


@lru_cache(maxsize=1024)  # asked for with every letter
def _speaker_called(role: Role, name: str, reading: Reading) -> Speaker:
    return Speaker(role, f"{role.value}:{name}", reading)


def numbered(name: str, number: int, count: int) -> str:
    """A file for each of several members: journal.db, journal-2.db, …"""
    if not name or count == 1 or number == 0:
        return name
    stem, dot, ending = name.rpartition(".")
    return f"{stem}-{number + 1}{dot}{ending}" if stem else f"{name}-{number + 1}"


def numbered_id(first: str, number: int) -> str:
    """The id to wish for: the one given, and for several those that follow (P03, P04, …)."""
    head = first.rstrip("0123456789")
    digits = first[len(head) :]
    return f"{head}{int(digits) + number:0{len(digits)}}" if digits else first


def name_of(values: Mapping[str, Any], number: int, kind: str, endpoint: str) -> str:
    """The name to register under: the one given (numbered if there are several), else one from id or port."""
    if values["name"]:
        return f"{values['name']} {number + 1}" if values["count"] > 1 else str(values["name"])
    wished = numbered_id(values.get("id", ""), number)
    return f"{kind} {wished or endpoint.rpartition(':')[2].partition('/')[0]}"
