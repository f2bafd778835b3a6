"""Referees as processes: their machine, their enrolment key, and the addresses of players."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path

from league.agent import sources
from league.games import registry
from league.gateway.book import PeerBook
from league.gateway.guest import GatewayGuest
from league.hosting.manager.kept_secrets import ENROLMENT_KEY
from league.hosting.member.members import (
    HostedMember,
    MemberProcess,
    name_of,
    wished_id,
)
from league.hosting.narration import REFEREE
from league.hosting.serving import Ready, run_agents, say_ready
from league.hosting.settings.referee_options import RefereeOptions
from league.machine import Information, Refusal
from league.protocol.errors import PeerError
from league.protocol.message.exchanges import Role
from league.protocol.message.parts import RefereeMeta
from league.protocol.wire import strict_json
from league.referee.desk import RefereeDesk
from league.referee.match import Opening
from league.referee.referee_context import RefereeSettings
from league.storage import urls
from league.storage.notices import JournalError
from league.terminal import USAGE, CommandError, console

VERSION = "1.0.0"
CLASS = (
    "--trust class: under a third-party manager, whoever shares an address with a player can answer for it, as long as "
    "that player shows no token; on one machine that is everybody"
)
AGENTS_CONFIG = Path("config/agents/agents_config.json")
"""The file in the working directory that may say where players are; the course's projects have it there."""
LARGEST_FILE = 1_000_000
"""The largest file, in bytes, that is read as a list of agents."""


def run(options: RefereeOptions) -> int:
    """Serve `count` referees until their league is over or the process is stopped; return the exit status."""
    return run_agents(partial(serve, options), options.until_stdin_closes)


async def serve(options: RefereeOptions, stop: asyncio.Event, ready: Ready = say_ready) -> int:
    """Do the same in a loop that is already running."""
    _check_players(options)
    if options.trust == "class":
        console.complain(CLASS)

    def member(number: int) -> HostedMember:
        return HostedMember(partial(build, options, number))

    return await MemberProcess(options, Role.REFEREE, member, REFEREE, ready).serve(stop)


def build(
    options: RefereeOptions,
    number: int,
    endpoint: str,
    secrets: Mapping[str, str],
    opening: Opening = lambda _: (),
) -> RefereeDesk:
    meta = RefereeMeta(
        display_name=name_of(options, options.name, "Referee", number, endpoint),
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
        agents_config=partial(read_agents, AGENTS_CONFIG),
        draw_as=None if options.draw_as == "auto" else options.draw_as,
        trusts_addresses=options.trust == "class",
        opening=opening,
    )
    find_key = partial(_find_key, options)
    return RefereeDesk(
        meta,
        options.manager,
        sources.chance,
        secrets,
        settings,
        wished_id=wished_id(options, "REF", number, endpoint),
        find_key=find_key,
        may_play=lambda game: "game" not in options.given and registry.find(game) is not None,
        open_book=PeerBook,
        open_guest=GatewayGuest,
    )


def _find_key(options: RefereeOptions, league_id: str) -> str | None:
    """The enrolment key of a manager on this machine; None if it is not found.

    It may be in the folder that `--state` names, beside our own journal, or where a manager that was started here keeps
    it.
    """
    folders: list[Path | None] = []
    if options.state:
        folders.append(Path(options.state))
    with suppress(JournalError):
        if options.journal:
            folders.append(urls.parse(options.journal).folder)
        folders.append(urls.default(league_id).folder)
    for folder in folders:
        # A journal in a database has no folder.
        key = ENROLMENT_KEY.found_in(folder) if folder is not None else None
        if key:
            return key
    return None


# --- addresses of players ---------------------------------------------------------------------------------------------


def _check_players(options: RefereeOptions) -> None:
    """Refuse two addresses for one player."""
    homes: dict[str, str] = {}
    for player, home in options.player_addresses:
        if homes.setdefault(player, home) != home:
            raise CommandError(f"--player: {player} has two addresses, {homes[player]} and {home}", USAGE)


def read_agents(file: Path) -> Information | Refusal:
    """Read `agents_config.json`, or return why it cannot be read. Managers add agents to it as they register."""
    try:
        # The file is a third party's: it is read only up to its limit, and without trust.
        with file.open("rb") as opened:
            content = opened.read(LARGEST_FILE + 1)
        if len(content) > LARGEST_FILE:
            return Refusal("", f"{file} is larger than {LARGEST_FILE} bytes")
        document = strict_json.parse(content)
    except FileNotFoundError:
        return Refusal("", f"there is no {file}")
    except OSError as error:
        return Refusal("", f"{file} cannot be read: {error.strerror}")
    except PeerError as error:
        return Refusal("", f"{file} cannot be read: {error.detail}")
    if not isinstance(document, dict):
        document = {"agents": document}
    return Information(document)
