"""`league referee`: one or more referees as servers in one process."""

from __future__ import annotations

import argparse
from functools import partial
from typing import TYPE_CHECKING, Any

from league.hosting import options

if TYPE_CHECKING:
    from league.agent.agent import Agent
    from league.hosting.serving import Served
    from league.transport.http_client import HttpClient

NAME = "referee"
HELP = "run a referee"
EXAMPLE = """\
example: league referee --manager http://127.0.0.1:8000/mcp
  without --journal a referee forgets its matches when it is killed, and the manager gives them to another"""
USUAL_PORT = 8001


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLE
    options.configure(parser, NAME)


def run(args: argparse.Namespace) -> int:
    from league.hosting.members import serve_members
    from league.hosting.serving import run_loop

    values = options.settings_of(args, NAME)
    return run_loop(partial(serve_members, values, USUAL_PORT, _bring_up, _is_over), values["until_stdin_closes"])


def _is_over(agent: Agent) -> bool:
    from league.referee.desk import RefereeDesk

    machine = agent.machine
    assert isinstance(machine, RefereeDesk)
    return machine.state == "SHUTDOWN" or machine.rejected is not None


async def _bring_up(values: dict[str, Any], number: int, port: int, client: HttpClient) -> Served:
    from league.agent import sources
    from league.hosting.members import bring_up_member
    from league.protocol.exchanges import Role
    from league.protocol.parts import RefereeMeta
    from league.referee.desk import RefereeDesk
    from league.referee.office import RefereeSettings

    def build(endpoint: str) -> partial[RefereeDesk]:
        meta = RefereeMeta(
            display_name=_name(values, number, endpoint),
            version="1.0.0",
            game_types=[values["game"]],
            contact_endpoint=endpoint,
            max_concurrent_matches=values["max_concurrent_matches"],
            enrolment_key=values["enrolment_key"] or None,
        )
        settings = RefereeSettings(profile=values["profile"])
        return partial(RefereeDesk, meta, values["manager"], sources.chance, settings=settings)

    return await bring_up_member(values, number, port, client, Role.REFEREE, build)


def _name(values: dict[str, Any], number: int, endpoint: str) -> str:
    from league.hosting.members import name_of

    return name_of(values, number, "Referee", endpoint)
