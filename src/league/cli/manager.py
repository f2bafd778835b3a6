"""`league manager`: the League Manager as a server."""

from __future__ import annotations

import argparse
import asyncio
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from league.cli import USAGE, CommandError
from league.hosting import options

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from league.agent.agent import Setup
    from league.events import LeagueSettings
    from league.machine import Machine

NAME = "manager"
HELP = "run the League Manager"
EXAMPLE = """\
example: league manager --players 4 --referees 2
  starts the league when four players and two referees have registered; the same --journal given again resumes it
example: league manager --start 18:30 --enrolment approve
  starts it at half past six with whoever the operator let in (league approve); the admin token is told at the first
  start and kept in the journal's folder, or in --state DIR, or is what LEAGUE_ADMIN_TOKEN says"""
USUAL_PORT = 8000


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLE
    options.configure(parser, NAME)


def run(args: argparse.Namespace) -> int:
    from league.hosting.serving import run_loop

    values = options.settings_of(args, NAME)
    return run_loop(partial(_serve, values), values["until_stdin_closes"])


async def _serve(values: dict[str, Any], stop: asyncio.Event) -> int:
    from league.cli import starting
    from league.cli.views import league_pages, other_pages
    from league.hosting import serving
    from league.hosting.addresses import endpoint_at
    from league.transport import jsonrpc
    from league.transport.http import App

    settings = _settings(values)
    shared = serving.open_shared(values["shared"])
    location = values["journal"] or serving.default_journal(settings.league_id)
    door = serving.Door()
    port = USUAL_PORT if values["port"] is None else values["port"]
    app = App(door.post, {**serving.basic_pages(door, dict), **league_pages(door)}, rest=other_pages(door))
    server = await serving.open_port(values["host"], port, app, jsonrpc.MESSAGE_LIMIT, values["port"] is None)
    identity = {"role": "manager"} if values["journal"] else {"role": "manager", "league_id": settings.league_id}
    journal = partial(serving.open_journal, location=location, identity=identity, transcript=values["transcript"])
    setup = _setup(values, settings, _operator(values["state"], location))
    served = await serving.bring_up(setup, door, server, endpoint_at(values["host"], server.port), journal, shared)
    serving.complain(f"journal: {location}")
    hour = asyncio.create_task(starting.watch(served.agent))
    try:
        await stop.wait()
    finally:
        hour.cancel()
        await served.stop()
        await setup.client.close()
    return 0


def _operator(state: str, location: str) -> Callable[[], str]:
    """V of the admin token, which is looked up (or made) once the journal is ours."""
    from pathlib import Path

    from league.cli import admin_token
    from league.protocol import tokens
    from league.storage import urls

    return cache(lambda: tokens.verifier(admin_token.of_manager(Path(state or urls.parse(location).path.parent))))


def _setup(values: dict[str, Any], settings: LeagueSettings, operator: Callable[[], str]) -> Setup:
    from league.agent import sources
    from league.agent.agent import Setup
    from league.hosting import serving
    from league.manager.league import LeagueManager
    from league.protocol.envelope import Reading
    from league.protocol.exchanges import Role
    from league.protocol.tokens import MANAGER
    from league.transport.http_client import HttpClient
    from league.transport.letters import Speaker

    def build(secrets: Mapping[str, str]) -> Machine:
        kept = {"enrolment_key": values["enrolment_key"], **secrets} if values["enrolment_key"] else secrets
        allows = partial(_allows, values["endpoints"])
        return LeagueManager(settings, sources.chance, kept, allows=allows, operator=operator())

    reading = Reading(settings.profile, settings.max_concurrent_matches_limit)
    speaker = Speaker(Role.MANAGER, MANAGER, reading)
    return Setup(build, lambda _: speaker, HttpClient(), sources.Clock(), log=serving.open_log(values["log"]))


def _settings(values: Mapping[str, Any]) -> LeagueSettings:
    from datetime import datetime

    from league.cli import starting
    from league.events import LeagueSettings
    from league.games import registry

    if registry.find(values["game"]) is None:
        sentences = [
            f"there is no game {values['game']!r}; there are {', '.join(registry.known())}",
            *registry.problems(),
        ]
        raise CommandError("; ".join(sentences), USAGE)
    if values["enrolment"] == "key" and not values["enrolment_key"]:
        raise CommandError("--enrolment key needs --enrolment-key", USAGE)
    official = values["preset"] == "official"
    lead = values["announcement_lead_s"]
    start, start_at = starting.read(values["start"], datetime.now().astimezone())
    return LeagueSettings(
        league_id=values["league_id"] or _new_league_id(values["game"]),
        game_type=values["game"],
        players=values["players"],
        referees=values["referees"],
        max_referees=max(values["max_referees"], values["referees"]),
        double=values["double"],
        rounds=values["rounds"],
        start=start,
        start_at=start_at,
        profile=values["profile"],
        move_seconds=values["move_seconds"],
        retry_delays_s=tuple(values["retry_delays_s"]),
        announcement_wait_s=10.0 if official else 1.0,
        announcement_lead_s=lead if lead is not None else (60.0 if official else 0.0),
        standings_interval_s=values["standings_interval_s"],
        start_match_after_s=values["start_match_after_s"],
        unique_names=values["unique_names"],
        late_referees=values["late_referees"] and not official,
        max_concurrent_matches_limit=values["max_concurrent_matches_limit"],
        tiebreakers=tuple(values["tiebreakers"]),
        enrolment=values["enrolment"],
    )


def _new_league_id(game: str) -> str:
    from datetime import UTC, datetime

    return f"league_{datetime.now(UTC):%Y%m%d_%H%M%S}_{game}"


def _allows(policy: str, endpoint: str) -> bool:
    """May an agent register this address? A name is judged as a name: what it resolves to is another matter."""
    import ipaddress
    from urllib.parse import urlsplit

    host = urlsplit(endpoint).hostname or ""
    if policy == "public":
        return True
    if host == "localhost":
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return policy == "lan"
    return address.is_loopback or (policy == "lan" and address.is_private)
