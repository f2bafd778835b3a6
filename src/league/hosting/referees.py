"""Referees as processes."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path

from league.agent import sources
from league.gateway.book import PeerBook
from league.gateway.guest import Guest
from league.hosting.kept_secrets import ENROLMENT_KEY
from league.hosting.members import HostedMember, MemberProcess, made_up_name, numbered_name
from league.hosting.narration import REFEREE
from league.hosting.options import RefereeOptions
from league.hosting.serving import Ready, run_loop, say_ready
from league.machine import Information, Refusal
from league.protocol import strict_json
from league.protocol.errors import PeerError
from league.protocol.exchanges import Role
from league.protocol.parts import RefereeMeta
from league.referee.context import RefereeSettings
from league.referee.desk import RefereeDesk
from league.storage import urls
from league.storage.notices import JournalError
from league.terminal import USAGE, CommandError

VERSION = "1.0.0"
LARGEST_FILE = 1_000_000
"""More than this in bytes is no list of agents."""


def run(options: RefereeOptions) -> int:
    """Serve as many referees as `count` says, until their league is over or somebody stops us; the exit status."""
    return run_loop(partial(serve, options), options.until_stdin_closes)


async def serve(options: RefereeOptions, stop: asyncio.Event, ready: Ready = say_ready) -> int:
    """The same in a loop that is running."""
    _check_players(options)

    def member(number: int) -> HostedMember:
        return HostedMember(partial(build, options, number))

    return await MemberProcess(options, Role.REFEREE, member, REFEREE, ready).serve(stop)


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
    settings = RefereeSettings(
        profile=options.profile,
        ask_standings=options.ask_standings,
        players=dict(options.player_addresses),
        agents_config=partial(read_agents, Path(options.agents_config)),
    )
    find_key = partial(_find_key, options)
    return RefereeDesk(
        meta,
        options.manager,
        sources.chance,
        secrets,
        settings,
        find_key=find_key,
        open_book=PeerBook,
        open_guest=Guest,
    )


def _find_key(options: RefereeOptions, league_id: str) -> str | None:
    """The enrolment key of a manager on this machine: in the folder we were told, beside our own journal, or where a
    manager that was started here keeps it."""
    folders = [Path(options.state)] if options.state else []
    with suppress(JournalError):
        folders += [urls.parse(options.journal).path.parent] if options.journal else []
        folders += [urls.default(league_id).path.parent]
    return next(filter(None, map(ENROLMENT_KEY.found_in, folders)), None)


# --- where players live -----------------------------------------------------------------------------------------------


def _check_players(options: RefereeOptions) -> None:
    """One address for each."""
    homes: dict[str, str] = {}
    for player, home in options.player_addresses:
        if homes.setdefault(player, home) != home:
            raise CommandError(f"--player: {player} cannot live at {homes[player]} and at {home}", USAGE)


def read_agents(file: Path) -> Information | Refusal:
    """What `agents_config.json` says now, for managers add agents to it as they register; or why it says nothing."""
    try:
        with file.open("rb") as opened:
            content = opened.read(LARGEST_FILE + 1)
        if len(content) > LARGEST_FILE:
            return Refusal("", f"{file} is larger than {LARGEST_FILE} bytes")
        said = strict_json.parse(content)
    except FileNotFoundError:
        return Refusal("", f"there is no {file}")
    except OSError as error:
        return Refusal("", f"{file} cannot be read: {error.strerror}")
    except PeerError as error:
        return Refusal("", f"{file} is not JSON: {error.detail}")
    return Information(said if isinstance(said, dict) else {"agents": said})
