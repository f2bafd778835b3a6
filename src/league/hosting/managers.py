"""The League Manager as a process: its settings, its machine, its journal and its HTTP interface put together."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache, partial
from pathlib import Path

from msgspec import structs

from league import features
from league.agent import sources
from league.agent.agent import Setup
from league.events import EndpointsChanged, Event, LeagueCreated
from league.features import PagesRow, ViewRow
from league.gateway.book import PeerBook
from league.gateway.giving import Giving
from league.hosting import require_game, serving, start_time
from league.hosting.background import Background
from league.hosting.kept_secrets import ADMIN_TOKEN, ENROLMENT_KEY
from league.hosting.manager_api import Pages, league_gauges, league_pages, other_pages
from league.hosting.narration import MANAGER, REFUSALS, ErrorLines, Narrator
from league.hosting.options import ManagerOptions, options_of
from league.hosting.serving import Door, HostedAgent, Ready, trusted
from league.machine import Machine
from league.manager.league import LeagueManager
from league.manager.standings import TIEBREAKERS
from league.protocol import jsonrpc, tokens
from league.protocol.consistency import MAX_ROWS
from league.protocol.endpoints import EndpointPolicy, read_allowance
from league.protocol.envelope import Reading
from league.protocol.exchanges import Role
from league.settings import LeagueSettings
from league.storage import urls
from league.storage.notices import JournalError
from league.storage.reading import open_for_reading
from league.terminal import USAGE, CommandError, addresses, console
from league.transport.http import OTHER_PATHS, App
from league.transport.http_client import HttpClient
from league.transport.letters import Speaker
from league.transport.resolving import Resolver

SMALL_TABLE = 60
"""Tables of more players pass the 10 KB of document 4."""
OPEN = "--enrolment open: whoever reaches this manager may register as a referee at any time, and decide matches"


def run(options: ManagerOptions) -> int:
    """Serve a league until somebody stops us; the exit status."""
    return serving.run_loop(partial(serve, options), options.until_stdin_closes)


async def serve(options: ManagerOptions, stop: asyncio.Event, ready: Ready = serving.say_ready) -> int:
    """The same in a loop that is running."""
    settings = league_settings(options, datetime.now().astimezone())
    location = options.journal or serving.default_journal(settings.league_id)
    settings = resumed(options, settings, location)
    shared = serving.open_shared(options.shared, beside=location)
    host = HostedAgent()
    door = Door.of(options, jsonrpc.MESSAGE_LIMIT)
    host.gauges = league_gauges
    host.views = {row.name: Background(row) for row in features.every(ViewRow)}
    pages: list[Pages] = [features.load(row.open)(host, host.views) for row in features.every(PagesRow)]
    app = App(
        host.respond,
        {**host.basic_pages(), **league_pages(host, host.views)},
        host.refusal,
        other_pages(host, pages),
        OTHER_PATHS if settings.profile == "compat" else frozenset(),
        host.mcp,
    )
    await host.listen(door, options.first_port, app, next_free=options.port is None)
    identity = {"role": "manager"} if options.journal else {"role": "manager", "league_id": settings.league_id}
    journal = partial(serving.open_journal, location=location, identity=identity, transcript=options.transcript)
    setup = _setup(options, settings, Path(options.state or urls.parse(location).path.parent), host.port)
    agent = await host.start(setup, journal, shared)
    ready(host)
    if not options.quiet:
        console.complain(f"journal: {location}")
    for problem in features.problems():
        console.complain(problem)
    serving.say_if_too_few_files(settings.players + settings.max_referees)
    for notice in (size_notice(settings.players, settings.profile), OPEN * (settings.enrolment == "open")):
        if notice:
            console.complain(notice)
    watching = asyncio.create_task(start_time.watch(agent))
    try:
        await serving.until(stop, serving.all_over([agent], lambda _: False))
    finally:
        watching.cancel()
        for feature_pages in pages:
            feature_pages.close()
        await host.stop()
        await setup.client.close()
    return 0


def _setup(options: ManagerOptions, settings: LeagueSettings, state: Path, port: int) -> Setup:
    """The secrets of its state are looked up, or made, once the journal is ours."""
    allowed = tuple(map(read_allowance, settings.allow_endpoint))
    endpoints = EndpointPolicy(settings.endpoints, "same", allowed=allowed, own_port=port, is_own=addresses.is_own)
    admin_token = cache(lambda: ADMIN_TOKEN.of_manager(state))
    enrolment_key = cache(lambda: options.enrolment_key or ENROLMENT_KEY.of_manager(state))

    def build(secrets: Mapping[str, str]) -> LeagueManager:
        operator = tokens.verifier(admin_token())
        return LeagueManager(
            settings,
            sources.chance,
            {**secrets, "enrolment_key": enrolment_key()},
            endpoints=endpoints,
            operator=operator,
            is_local=addresses.is_loopback(options.host),
            open_book=PeerBook,
            open_giving=Giving,
        )

    reading = Reading(settings.profile, settings.max_concurrent_matches_limit, settings.game_type)
    speaker = Speaker(Role.MANAGER, tokens.MANAGER, reading)
    return Setup(
        build,
        lambda _: speaker,
        HttpClient(resolver=Resolver(endpoints), tls=trusted(options)),
        sources.Clock(),
        show=console.complain,
        show_error=ErrorLines(),
        happened=_narrated(options.quiet),
        log=serving.open_log(options.log),
    )


def _narrated(quiet: bool) -> Callable[[Machine, Sequence[Event]], None]:
    """Says what happens, and in any case what the operator should look at."""
    refusals, course = Narrator(REFUSALS, say=console.complain), Narrator({} if quiet else MANAGER)

    def narrate(machine: Machine, happened: Sequence[Event]) -> None:
        refusals(machine, happened)
        course(machine, happened)

    return narrate


def size_notice(players: int, profile: str) -> str:
    """What to say about a league whose tables outgrow the documents."""
    if players <= SMALL_TABLE:
        return ""
    broken = "a message of at most 10 KB" + f" and a table of at most {MAX_ROWS} rows" * (players > MAX_ROWS)
    refused = "; agents in the strict profile refuse the tables" * (players > MAX_ROWS)
    ours = ", this manager's profile" if refused and profile == "strict" else ""
    return (
        f"{players} players: tables will pass 10 KB. Document 4 (Game Protocol Messages, 14.1) has {broken}; "
        f"agents of ours take up to 1 MiB, those by others may not{refused}{ours}"
    )


# --- settings ---------------------------------------------------------------------------------------------------------


def league_settings(options: ManagerOptions, now: datetime) -> LeagueSettings:
    """The settings of a new league. `now` has the zone of whoever set its start."""
    _check(options)
    is_official = options.preset == "official"
    lead_s = options.announcement_lead_s
    if lead_s is None:
        lead_s = 60.0 if is_official else 0.0
    start, start_at = start_time.read(options.start, now)
    settings = {row.setting: getattr(options, row.name) for row in options_of(ManagerOptions) if row.setting}
    settings |= {
        "league_id": options.league_id or f"league_{now.astimezone(UTC):%Y%m%d_%H%M%S}_{options.game}",
        "max_referees": max(options.max_referees, options.referees),
        "start": start,
        "start_at": start_at,
        "announcement_wait_s": 10.0 if is_official else 1.0,
        "announcement_lead_s": lead_s,
        "late_referees": options.late_referees and not is_official,
        "enrolment": options.enrolment or "guarded",
        "allow_endpoint": tuple(map(str, options.allow_endpoint)),
    }
    return LeagueSettings(**settings)


MUST_FIT = ("league_id", "game", "profile", "rounds", "double", "tiebreakers")
"""What defines a league: a journal is not resumed with other values of these."""
MAY_CHANGE = ("endpoints", "allow_endpoint")
"""The operator may widen or narrow these: new values count from the restart on."""


def resumed(options: ManagerOptions, settings: LeagueSettings, location: str) -> LeagueSettings:
    """The settings of the league in this journal; of a new one, `settings`.

    An option that asks for something else is ignored with a notice, or, if it defines the league, refused. The rule
    about endpoints may change, since the league could not go on if its agents had to move.
    """
    stored = _stored_settings(location)
    if stored is None:
        return settings
    changed: dict[str, object] = {}
    for row in options_of(ManagerOptions):
        if not row.setting or row.name not in options.given:
            continue
        stored_value = getattr(stored, row.setting)
        asked_value = getattr(settings, row.setting)
        if stored_value == asked_value and (row.name != "start" or stored.start_at == settings.start_at):
            continue
        flag = row.name if row.only_in_file else row.flag
        # Preset and start are stored as something else, which would say nothing here.
        shown_value = "" if row.name in ("preset", "start") else f" {_shown(stored_value)}"
        if row.name in MUST_FIT:
            raise CommandError(
                f"{flag} {_shown(asked_value)} is not what the league in {location} is played by: it has{shown_value}; "
                "leave the option out to resume it, or name another --journal for another league",
                USAGE,
            )
        asked = _shown(getattr(options, row.name))
        if row.name in MAY_CHANGE:
            console.complain(f"{flag} {asked} counts from now on: it was {_shown(stored_value) or 'not set'}")
            changed[row.setting] = asked_value
            continue
        console.complain(f"{flag} {asked} is ignored: the league keeps its own{shown_value}")
    return structs.replace(stored, **changed)


def _stored_settings(location: str) -> LeagueSettings | None:
    """Of the league whose manager kept this journal; None if there is none yet. What is wrong with it is found out, and
    told, when it is opened to be written."""
    try:
        with open_for_reading(urls.parse(location).path) as journal:
            first = next(iter(journal.events()), None)
            changes = journal.of_kind(EndpointsChanged)
    except JournalError:
        return None
    if not isinstance(first, LeagueCreated):
        return None
    if not changes:
        return first.settings
    _, newest = changes[-1]
    return structs.replace(first.settings, endpoints=newest.endpoints, allow_endpoint=newest.allow_endpoint)


def _shown(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _check(options: ManagerOptions) -> None:
    """What only somebody who knows games and tables can tell."""
    require_game(options.game)
    if unknown := next((one for one in options.tiebreakers if one not in TIEBREAKERS), None):
        raise CommandError(f"tiebreakers: {unknown!r} is none of {', '.join(sorted(TIEBREAKERS))}", USAGE)
