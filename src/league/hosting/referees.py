"""Referees as processes."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial

from league.agent import sources
from league.agent.agent import Agent
from league.hosting.members import HostedMember, MemberProcess, made_up_name, numbered_name
from league.hosting.narration import REFEREE
from league.hosting.options import RefereeOptions
from league.hosting.serving import run_loop
from league.protocol.exchanges import Role
from league.protocol.parts import RefereeMeta
from league.referee.context import RefereeSettings
from league.referee.desk import RefereeDesk

VERSION = "1.0.0"


def run(options: RefereeOptions) -> int:
    """Serve as many referees as `count` says, until their league is over or somebody stops us; the exit status."""
    return run_loop(partial(_serve, options), options.until_stdin_closes)


async def _serve(options: RefereeOptions, stop: asyncio.Event) -> int:
    def member(number: int) -> HostedMember:
        return HostedMember(partial(build, options, number))

    return await MemberProcess(options, Role.REFEREE, member, REFEREE).serve(_is_over, stop)


def _is_over(agent: Agent) -> bool:
    machine = agent.machine
    assert isinstance(machine, RefereeDesk)
    return machine.state == "SHUTDOWN" or machine.rejected is not None


def build(options: RefereeOptions, number: int, endpoint: str, secrets: Mapping[str, str]) -> RefereeDesk:
    name = numbered_name(options.name, number, options.count) or made_up_name("Referee", endpoint)
    meta = RefereeMeta(
        display_name=name,
        version=VERSION,
        game_types=[options.game],
        contact_endpoint=endpoint,
        max_concurrent_matches=options.max_concurrent_matches,
        enrolment_key=options.enrolment_key or None,
    )
    settings = RefereeSettings(profile=options.profile, ask_standings=options.ask_standings)
    return RefereeDesk(meta, options.manager, sources.chance, secrets, settings)
