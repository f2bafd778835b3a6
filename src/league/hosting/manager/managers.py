"""The League Manager as a process: puts its settings, machine, journal and HTTP interface together.

The order matters. Settings are read first, then the journal is looked at: an existing one brings its own settings, and
options that contradict them are refused or ignored with a notice. The port is opened before the journal is written, so
a second manager on the same port fails before it changes anything. Secrets are made only once the journal is ours.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from msgspec import structs

from league import rows
from league.agent import sources
from league.agent.agent import Setup
from league.events import AgentRegistered, AgentStateChanged, Event, LeagueCreated, SettingsChanged
from league.games.contract import safe_name
from league.gateway.book import PeerBook
from league.gateway.giving import GatewayGiving
from league.hosting import require_game, serving
from league.hosting.background import open_views
from league.hosting.manager.kept_secrets import ADMIN_TOKEN, ENROLMENT_KEY, KeptSecret
from league.hosting.manager.mailboxes import Owners
from league.hosting.manager.manager_api import FeaturePages, league_gauges, league_pages, other_pages
from league.hosting.narration import MANAGER, REFUSALS, ErrorLines, Narrator, PlayerStates
from league.hosting.serving import Door, HostedAgent, Ready
from league.hosting.settings import start_time
from league.hosting.settings.manager_options import ManagerOptions
from league.hosting.settings.options import options_of
from league.letters import Speaker
from league.machine import Machine
from league.mailbox.addresses import PREFIX
from league.mailbox.post_office import PostOffice, RelayClient, RelayPolicy, known_as
from league.manager.league_manager import LeagueManager
from league.manager.members.secret_rotation import is_retired
from league.manager.season.standings import TIEBREAKERS
from league.protocol.endpoints import reach_of, read_allowance
from league.protocol.message.consistency import MAX_ROWS
from league.protocol.message.envelope import Reading
from league.protocol.message.exchanges import Role
from league.protocol.signing import tokens
from league.protocol.wire import jsonrpc
from league.rows import DoorRow, PagesRow
from league.settings import HouseRules, LeagueSettings
from league.storage.notices import JournalError, JournalInUseError
from league.storage.reading import open_for_reading
from league.storage.urls import Place
from league.terminal import USAGE, CommandError, addresses, console
from league.transport.http import OTHER_PATHS, App, Limits

CROWD = Limits(connections=4096, connections_per_address=2048, requests=4096)
"""A reader of a mailbox holds a connection all the time, and a school's players have one address."""
SMALL_TABLE = 45
"""With more players the 10 KB of document 4 do not suffice for what is signed about a round, with more than 60 not even
for tables."""
OPEN = "--enrolment open: anybody who can reach this manager may register as a referee at any time and decide matches"
CLASS = (
    "--trust class: whoever shares an address with a referee can report for it, and whoever shares one with a player "
    "can answer for it, as long as that agent shows no token; on one machine that is everybody"
)


def run(options: ManagerOptions) -> int:
    """Serve a league until the process is stopped; return the exit status."""
    return serving.run_agents(partial(serve, options), options.until_stdin_closes)


async def serve(options: ManagerOptions, stop: asyncio.Event, ready: Ready = serving.say_ready) -> int:
    """Do the same in a loop that is already running."""
    chosen = league_settings(options, datetime.now().astimezone())
    place = serving.journal_place(options.journal or serving.default_journal(chosen.league_id))
    # From here on the settings of the journal count, if there is one.
    settings = resumed(options, chosen, place)
    shared = serving.open_shared(options.shared, beside=place)
    host = HostedAgent()
    names = tuple(addresses.host_of(address) for address in options.managers)
    door = structs.replace(Door.of(options, jsonrpc.MESSAGE_LIMIT, names), limits=CROWD)
    host.gauges = league_gauges
    host.views = open_views()
    office = PostOffice(Owners(host).standing)
    pages: list[FeaturePages] = [rows.load(row.open)(host, host.views) for row in rows.every(PagesRow)]
    app = App(
        host.respond,
        {**host.basic_pages(), **league_pages(host, host.views)},
        host.refusal,
        office.beside(other_pages(host, pages)),
        OTHER_PATHS if settings.profile == "compat" else frozenset(),
        host.mcp,
        unlimited=(PREFIX,),
    )
    await host.listen(door, options.first_port, app, next_free=options.port is None)
    try:
        while not stop.is_set():
            if options.standby:
                if not await serving.stand_by(host, place, stop):
                    break
                # Whoever wrote the journal until now may have begun a league in it.
                settings = resumed(options, chosen, place)
            if await _serve_league(
                options, settings, place, host=host, shared=shared, stop=stop, ready=ready, office=office
            ):
                break
    finally:
        for feature_pages in pages:
            feature_pages.close()
        await host.stop()
    return 0


async def _serve_league(
    options: ManagerOptions,
    settings: LeagueSettings,
    place: Place,
    host: HostedAgent,
    shared: serving.FileFollowers | None,
    stop: asyncio.Event,
    ready: Ready,
    office: PostOffice,
) -> bool:
    """Open the journal and serve its league until the process is stopped. False if a standby was too late: somebody
    else writes the journal."""
    identity = {"role": "manager"}
    if not options.journal:
        # The folder has the name of the league, so its journal must be of the same league.
        identity["league_id"] = settings.league_id
    journal = partial(serving.open_journal, place=place, identity=identity, transcript=options.transcript)
    # Beside a database there is no folder; commands look in the one that has the league's name.
    state = Path(options.state or place.folder or Path(serving.default_journal(settings.league_id)).parent)
    host.state = state
    setup = _setup(options, settings, state, host.port, office)
    try:
        agent = await host.start(setup, journal, shared)
    except JournalInUseError as error:
        await setup.client.close()
        if options.standby:
            return False
        raise CommandError(str(error)) from error
    ready(host)
    if not options.quiet:
        console.complain(f"journal: {place}")
        assert isinstance(agent.machine, LeagueManager), "this process serves a league"
        console.complain(f"key of this manager: {agent.machine.ledger.manager_key}")
        for row in rows.own(DoorRow):
            console.complain(f"MCP clients are answered by {rows.load(row.describe)()}")
    _print_notices(settings, house_rules(options))
    watching = asyncio.create_task(start_time.watch(agent))
    try:
        # A manager serves its results after the league is over, until it is stopped.
        await serving.until(stop, serving.all_over([agent], lambda _: False))
    finally:
        watching.cancel()
        office.close()
        await host.stop()
        await setup.client.close()
    return True


def _print_notices(settings: LeagueSettings, house: HouseRules) -> None:
    """Print what the operator should know before the league starts."""
    for problem in rows.problems():
        console.complain(problem)
    serving.say_if_too_few_files(settings.players + house.max_referees)
    notice = size_notice(settings.players, settings.profile)
    if notice:
        console.complain(notice)
    if settings.enrolment == "open":
        console.complain(OPEN)
    if settings.trust == "class":
        console.complain(CLASS)


def _setup(
    options: ManagerOptions,
    settings: LeagueSettings,
    state: Path,
    port: int,
    office: PostOffice,
) -> Setup:
    endpoints = RelayPolicy(
        reach_of(settings.endpoints),
        "same",
        allowed=tuple(map(read_allowance, settings.endpoints[1:])),
        own_port=port,
        is_own=addresses.is_own,
        names=known_as(options.managers, addresses.names_at(options.host), port),
    )
    league_secrets = LeagueSecrets(options, state)

    def build(secrets: Mapping[str, str]) -> LeagueManager:
        # The admin token comes first: if it cannot be read, no enrolment key is made.
        token = league_secrets.in_force(ADMIN_TOKEN, secrets)
        key = league_secrets.in_force(ENROLMENT_KEY, secrets)
        return LeagueManager(
            settings,
            sources.chance,
            secrets,
            endpoints=endpoints,
            operator=tokens.verifier(token),
            # In the journal, so that a manager on another machine has them too.
            manager_endpoints=options.managers,
            house=house_rules(options),
            kept_secrets={ADMIN_TOKEN.key: token, ENROLMENT_KEY.key: key},
            is_local=addresses.is_loopback(options.host),
            open_book=PeerBook,
            open_giving=GatewayGiving,
        )

    # A manager's speaker never changes, so it is made once.
    reading = Reading(settings.profile, settings.game_type)
    speaker = Speaker(Role.MANAGER, tokens.MANAGER, reading)
    return Setup(
        build,
        lambda _: speaker,
        RelayClient(office, endpoints),
        sources.Clock(),
        show=console.complain,
        show_error=ErrorLines(),
        happened=_narrated(options.quiet),
        log=serving.open_log(options.log),
    )


class LeagueSecrets:
    """Looks up or makes the secrets of a league, when its machine is built: by then the journal is ours.

    Files and environment are looked at once. When the machine is built again, only the journal can say something new:
    that a secret was replaced meanwhile.
    """

    def __init__(self, options: ManagerOptions, state: Path) -> None:
        self._options = options
        self._state = state
        self._values: dict[KeptSecret, str] = {}

    def in_force(self, secret: KeptSecret, secrets: Mapping[str, str]) -> str:
        """The value of a secret. `secrets` are those of the journal."""
        if secret not in self._values:
            self._values[secret] = self._look_up(secret, secrets)
        elif is_retired(secrets, secret.key, self._values[secret]):
            self._values[secret] = secrets[secret.key]
        return self._values[secret]

    def _look_up(self, secret: KeptSecret, secrets: Mapping[str, str]) -> str:
        source = secret.variable
        value = secret.in_environment()
        if secret is ENROLMENT_KEY and value is None and self._options.enrolment_key:
            source = "enrolment_key"
            value = self._options.enrolment_key
        if value is not None and not is_retired(secrets, secret.key, value):
            return value
        if value is not None:
            console.complain(f"{source} is ignored: it holds the {secret.name} that league rotate-token has replaced")
        return secret.in_folder(self._state, secrets.get(secret.key))


def _narrated(quiet: bool) -> Callable[[Machine, Sequence[Event]], Callable[[], None]]:
    """Prints what happens. Refusals are printed even if the manager is quiet: the operator should look at them."""
    refusals = Narrator(REFUSALS, say=console.complain)
    if quiet:
        return refusals
    course = Narrator({**MANAGER, AgentStateChanged: PlayerStates()})

    def narrate(machine: Machine, happened: Sequence[Event]) -> Callable[[], None]:
        tellings = (course(machine, happened), refusals(machine, happened))

        def tell() -> None:
            for telling in tellings:
                telling()

        return tell

    return narrate


def size_notice(players: int, profile: str) -> str:
    """The notice about a league whose tables exceed the limits of the documents; empty if they do not."""
    if players <= SMALL_TABLE:
        return ""
    limits = "messages to 10 KB"
    consequence = "our agents accept up to 1 MiB, third-party agents may not"
    if players > MAX_ROWS:
        limits += f" and tables to {MAX_ROWS} rows"
        consequence += "; agents in the strict profile refuse the tables"
        if profile == "strict":
            consequence += " (this manager is strict)"
    return (
        f"{players} players: what is signed about rounds, and tables, will be larger than 10 KB. "
        f"Document 4 (Game Protocol Messages, 14.1) limits {limits}; {consequence}"
    )


# --- settings ---------------------------------------------------------------------------------------------------------


def league_settings(options: ManagerOptions, now: datetime) -> LeagueSettings:
    """The settings of a new league. A start time without a zone is in the zone of `now`."""
    _check(options)
    lead_s = options.announcement_lead_s
    if lead_s is None:
        lead_s = 60.0 if options.preset == "official" else 0.0
    settings = {row.setting: getattr(options, row.name) for row in options_of(ManagerOptions) if row.setting}
    settings |= {
        "league_id": options.league_id or f"league_{now.astimezone(UTC):%Y%m%d_%H%M%S}_{safe_name(options.game)}",
        "start": start_time.read(options.start, now),
        "announcement_lead_s": lead_s,
        "enrolment": options.enrolment or "guarded",
    }
    return LeagueSettings(**settings)


def house_rules(options: ManagerOptions) -> HouseRules:
    """The rules of this manager."""
    return HouseRules(
        # A league that needs more referees than the usual limit must be able to start.
        max_referees=max(options.max_referees, options.referees),
        # The operator's number is meant; without one, all that may register at all.
        open_referees=options.referees if "referees" in options.given else options.max_referees,
        unique_names=options.unique_names,
        standings_interval_s=options.standings_interval_s,
    )


MUST_FIT = ("league_id", "game", "profile", "rounds", "double", "tiebreakers")
"""The options that define a league: a journal is not resumed with other values of these."""
MAY_CHANGE = ("endpoints", "trust")
"""The operator may widen or narrow these: new values count from the restart on."""


def resumed(options: ManagerOptions, settings: LeagueSettings, place: Place) -> LeagueSettings:
    """The settings of the league in this journal, or `settings` for a new league.

    Options count until somebody has registered. Then an option that contradicts the journal is ignored with a notice.
    If it defines the league, it is refused. The rules about endpoints and trust may change: otherwise a league whose
    agents must move could not go on.
    """
    stored, is_empty = _stored_settings(place)
    if stored is None:
        _check_trust(settings)
        return settings
    changed: dict[str, object] = {}
    for row in options_of(ManagerOptions):
        if not row.setting or row.name not in options.given:
            continue  # a default never contradicts a journal
        stored_value = getattr(stored, row.setting)
        option_value = getattr(settings, row.setting)
        if stored_value == option_value:
            continue
        flag = row.name if row.only_in_file else row.flag
        is_free = row.name in MAY_CHANGE or (is_empty and row.name != "league_id")
        if row.name in MUST_FIT and not is_free:
            raise CommandError(
                f"{flag} {_text(option_value)} does not fit the league in {place}, which has {_text(stored_value)}; "
                "leave the option out to resume this league, or name another --journal for a new one",
                USAGE,
            )
        option_text = _text(getattr(options, row.name))
        if is_free:
            console.complain(f"{flag} {option_text} counts from now on: it was {_text(stored_value) or 'not set'}")
            changed[row.setting] = option_value
            continue
        notice = f"{flag} {option_text} is ignored: the league keeps its own"
        # Preset and start are stored in another form, which would mean nothing to the reader.
        if row.name not in ("preset", "start"):
            notice += f" {_text(stored_value)}"
        console.complain(notice)
    resumed_settings = structs.replace(stored, **changed)
    _check_trust(resumed_settings)
    return resumed_settings


def _check_trust(settings: LeagueSettings) -> None:
    """Refuse to believe addresses of the whole world."""
    if settings.trust == "class" and reach_of(settings.endpoints) == "public":
        raise CommandError(
            "--trust class believes addresses, so it needs --endpoints local or lan; with --endpoints public, use "
            "--trust tokens",
            USAGE,
        )


def _stored_settings(place: Place) -> tuple[LeagueSettings | None, bool]:
    """The settings in this journal, and True if nobody has registered; None without a journal that can be read.

    A problem with the journal is reported later, when it is opened for writing.
    """
    try:
        with open_for_reading(place) as journal:
            first = next(iter(journal.events()), None)
            changes = journal.of_kind(SettingsChanged)
            is_empty = not journal.of_kind(AgentRegistered)
    except JournalError:
        return None, False
    if not isinstance(first, LeagueCreated):
        return None, False
    settings = first.settings
    for _, change in changes:
        settings = change.applied_to(settings)
    return settings, is_empty


def _text(value: object) -> str:
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return str(value)


def _check(options: ManagerOptions) -> None:
    """Refuse values that the options alone cannot judge: unknown games and tiebreakers."""
    for flag, name in (("--league-id", options.league_id), ("--game", options.game)):
        if "|" in (name or ""):
            # It separates the parts of texts that are signed and hashed: two different ones must not be the same.
            raise CommandError(f"{flag} {name}: ids and names of games contain no |", USAGE)
    require_game(options.game)
    for name in options.tiebreakers:
        if name not in TIEBREAKERS:
            raise CommandError(f"tiebreakers: {name!r} is not one of {', '.join(sorted(TIEBREAKERS))}", USAGE)
