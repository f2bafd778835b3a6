"""What a role can be told: on the command line, in league.toml, in the environment, or by its default.

An option is a field of its role's class: the field has the type, and `option(…)` says what the command line and the
file need beside it. `league_setting(…)` is an option whose value becomes a setting of the league. The command line wins
over the environment, and the environment over the file. All of them are read here and nowhere else: a role is handed
typed options that were checked.
"""

from __future__ import annotations

import argparse
import math
import os
import tomllib
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar

from league import features
from league.features import StrategyRow
from league.terminal import USAGE, CommandError, addresses, did_you_mean
from league.terminal.addresses import LOOPBACK, MANAGER_VARIABLE, USUAL_MANAGER

if TYPE_CHECKING:
    from league.protocol.endpoints import Allowance, Reach
    from league.protocol.envelope import Profile
    from league.storage.transcript import Mode

KEY_VARIABLE = "LEAGUE_ENROLMENT_KEY"

# --- kinds of values --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of value. `types` are those it has in TOML, which knows more than text."""

    words: str
    read: Callable[[Any], Any]
    types: tuple[type, ...]
    placeholder: str
    is_list: bool = False


def _allowance(text: str) -> Allowance:
    from league.protocol.endpoints import read_allowance  # few leagues need it

    return read_allowance(text)


WHOLE = Kind("a whole number", int, (int,), "N")
NUMBER = Kind("a number", float, (int, float), "X")
SECONDS = Kind("a number", float, (int, float), "SECONDS")
TEXT = Kind("text in quotes", str, (str,), "TEXT")
ADDRESS = Kind("an address such as http://127.0.0.1:8000/mcp", addresses.agent_url, (str,), "URL")
FLAG = Kind("true or false", bool, (bool,), "")
NUMBERS = Kind("a list of numbers", float, (int, float), "X", is_list=True)
HOSTS = Kind("a list of host names or addresses, without ports", addresses.host_name, (str,), "HOST", is_list=True)
NAMES = Kind("a list of names", str, (str,), "NAME", is_list=True)
HOMES = Kind(
    "a player and its address such as P01=http://127.0.0.1:8101", addresses.player_home, (str,), "ID=URL", is_list=True
)
PLACES = Kind("a list of networks (10.1.0.0/16), HOST or HOST:PORT", _allowance, (str,), "PLACE", is_list=True)


# --- options ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One option: how it is given, and which values it takes."""

    name: str = ""
    kind: Kind
    default: Any
    help: str
    roles: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None
    only_in_file: bool = False
    off: str = ""
    """What the flag --no-NAME does, if there is one; that flag stands for the empty text."""
    variable: str = ""
    """The environment variable that can hold it."""
    flag_name: str = ""
    """Its name on the command line, if that is another."""
    placeholder: str = ""
    """What stands for its value in help texts, if not the usual word of its kind."""
    setting: str = ""
    """The setting of the league that it becomes, if it does."""

    @property
    def flag(self) -> str:
        return "--" + (self.flag_name or self.name).replace("_", "-")

    @property
    def off_flag(self) -> str:
        return "--no-" + self.name.replace("_", "-")

    @property
    def shown_value(self) -> str:
        """What stands for its value in help texts."""
        return "|".join(self.choices) or self.placeholder or self.kind.placeholder


SAME = "="
"""The setting of the league has the name of its option."""


def option(kind: Kind, default: Any, text: str, **more: Any) -> Any:
    """A field of a role's class that can be given; `more` are fields of `Option` (Any: a dataclass field)."""
    return field(default=default, metadata={"option": Option(kind=kind, default=default, help=text, **more)})


def league_setting(kind: Kind, default: Any, text: str, **more: Any) -> Any:
    """An option that becomes a setting of the league: the one of its name, unless `setting` names another."""
    return option(kind, default, text, **{"setting": SAME, **more})


def options_in(cls: type, roles: tuple[str, ...]) -> Iterator[Option]:
    """The options that a class declares."""
    for declared in fields(cls):
        if "option" in declared.metadata:
            row: Option = declared.metadata["option"]
            setting = declared.name if row.setting == SAME else row.setting
            yield replace(row, name=declared.name, roles=roles, setting=setting)


# --- what a role is told ----------------------------------------------------------------------------------------------

SHARED = "keep shared files for other tools in this folder"


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleOptions:
    """What every role is told."""

    role: ClassVar[str]
    usual_port: ClassVar[int]
    useful: ClassVar[tuple[str, ...]]
    """The options that help shows first."""

    host: str = option(TEXT, LOOPBACK, "listen at this address", placeholder="ADDRESS")
    port: int | None = option(
        WHOLE,
        None,
        "listen at this port (default: 8000 for a manager, 8001 for a referee, 8101 for a player; 0: any free port)",
        least=0,
        most=65535,
        placeholder="PORT",
    )
    journal: str = option(
        TEXT, "", "keep the journal here, in a file or sqlite:///FILE; the same journal resumes", placeholder="URL"
    )
    profile: Profile = league_setting(
        TEXT,
        "compat",
        "accept and record the habits of other agents (compat), or reject them (strict)",
        choices=("compat", "strict"),
    )
    transcript: Mode = option(
        TEXT, "full", "which messages to keep beside the journal", choices=("full", "matches", "off")
    )
    log: str = option(
        TEXT,
        "",
        "write one JSON line per message and event to this file; four older files of 16 MiB are kept",
        placeholder="FILE",
    )
    quiet: bool = option(FLAG, False, "print problems only")
    until_stdin_closes: bool = option(FLAG, False, "serve until stdin is closed, even after the end of the league")
    allow_host: tuple[str, ...] = option(
        HOSTS, (), "another name that this server is reached by, beside its addresses; may be repeated"
    )
    tls_cert: str = option(
        TEXT, "", "serve https with this certificate (PEM, with the chain to its authority)", placeholder="FILE"
    )
    tls_key: str = option(TEXT, "", "the key of --tls-cert, if it is in another file", placeholder="FILE")
    tls_ca: str = option(
        TEXT, "", "trust this authority (PEM) in https calls, beside those the system trusts", placeholder="FILE"
    )
    given: frozenset[str] = frozenset()
    """The names of the options that somebody set."""

    @property
    def first_port(self) -> int:
        """The port to try first. If none was given, the next free port is as good."""
        return self.usual_port if self.port is None else self.port


@dataclass(frozen=True, slots=True, kw_only=True)
class ManagerOptions(RoleOptions):
    """What a manager is told."""

    role: ClassVar[str] = "manager"
    usual_port: ClassVar[int] = 8000
    useful: ClassVar[tuple[str, ...]] = ("players", "referees", "game", "port", "journal")

    players: int = league_setting(WHOLE, 4, "how many players the league has", least=2)
    referees: int = league_setting(WHOLE, 1, "how many referees must be registered before the league starts", least=1)
    game: str = league_setting(TEXT, "even_odd", "the game to play", setting="game_type", placeholder="NAME")
    league_id: str = league_setting(TEXT, "", "the league's id (default: made from the date)", placeholder="ID")
    rounds: int | None = league_setting(WHOLE, None, "play only this many rounds of the schedule", least=1)
    double: bool = league_setting(FLAG, False, "let every pair meet twice")
    start: str = league_setting(
        TEXT,
        "when-full",
        "when the league starts: when-full, manual, or a time such as 18:30",
        placeholder="when-full|manual|TIME",
    )
    late: Literal["admit", "refuse"] = league_setting(
        TEXT,
        "refuse",
        "players that come after the start: admit them (they play missed matches in extra rounds) or refuse them",
        choices=("admit", "refuse"),
    )
    preset: Literal["local", "official"] = league_setting(
        TEXT,
        "local",
        "local: quick; official: a minute between announcement and play",
        choices=("local", "official"),
        setting="announcement_wait_s",
    )
    move_seconds: float = league_setting(SECONDS, 30.0, "how long a player may think about a move", least=0.1)
    outage_minutes: float = league_setting(
        NUMBER,
        10.0,
        "how long a round waits while half of the players are gone at once (0: it never waits)",
        least=0,
        placeholder="MINUTES",
    )
    endpoints: Reach = league_setting(
        TEXT,
        "local",
        "how far away agents may be, each at the address it registers from",
        choices=("local", "lan", "public"),
    )
    allow_endpoint: tuple[Allowance, ...] = league_setting(
        PLACES,
        (),
        "a network (10.1.0.0/16), HOST or HOST:PORT where agents may be too, no matter who registers them; "
        "may be repeated",
    )
    enrolment: Literal["open", "key", "approve"] | None = league_setting(
        TEXT,
        None,
        "who may register: anybody; referees with the key only; or agents that the operator approves (default: all "
        "players, on this machine as many referees as the start needs, and later ones with the key or approval)",
        choices=("open", "key", "approve"),
    )
    enrolment_key: str = option(
        TEXT,
        "",
        f"the key that referees register with (default: {KEY_VARIABLE}, or a new one, which is kept)",
        placeholder="KEY",
    )
    state: str = option(
        TEXT,
        "",
        "keep admin token and enrolment key in this folder (default: the journal's folder)",
        placeholder="DIR",
    )
    max_referees: int = league_setting(WHOLE, 10, "accept at most this many referees", least=1)
    referee_patience: float | None = league_setting(
        SECONDS,
        None,
        "how long a referee may take for a match it has acknowledged (default: the longest a match can take)",
        least=0.1,
        setting="referee_patience_s",
    )
    shared: str | None = option(
        TEXT, None, f"{SHARED} (default: the journal's folder)", off="keep no shared files", placeholder="DIR"
    )
    """None: in the folder of the journal; "": nowhere."""
    announcement_lead_s: float | None = league_setting(
        SECONDS, None, "seconds between announcement and play", least=0, only_in_file=True
    )
    retry_delays_s: tuple[float, ...] = league_setting(
        NUMBERS, (2.0, 2.0, 2.0), "pauses before the retries of a call", least=0, only_in_file=True
    )
    standings_interval_s: float = league_setting(
        SECONDS, 1.0, "least time between two standings updates", least=0, only_in_file=True
    )
    start_match_after_s: float = league_setting(
        SECONDS,
        15.0,
        "how long to wait before a referee by others is given a match in another way",
        least=0.1,
        only_in_file=True,
    )
    unique_names: bool = league_setting(FLAG, True, "names must be unique", only_in_file=True)
    late_referees: bool = league_setting(FLAG, True, "referees may join a running league", only_in_file=True)
    max_concurrent_matches_limit: int = league_setting(
        WHOLE, 10, "the most matches at once that a referee may offer", least=1, only_in_file=True
    )
    tiebreakers: tuple[str, ...] = league_setting(
        NAMES, ("points", "wins", "draws", "head_to_head"), "what the table is sorted by, in order", only_in_file=True
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberOptions(RoleOptions):
    """What referees and players are told alike."""

    host: str = option(
        TEXT,
        "",
        "listen at this address (default: this machine's address on the way to the manager)",
        placeholder="ADDRESS",
    )
    profile: Profile = option(
        TEXT,
        "compat",
        "accept and record the habits of other agents (compat), or reject them (strict)",
        choices=("compat", "strict"),
    )
    manager: str = option(
        ADDRESS,
        f"{USUAL_MANAGER}/mcp",
        f"where the League Manager is; {MANAGER_VARIABLE} can say it too",
        variable=MANAGER_VARIABLE,
    )
    name: str = option(TEXT, "", "the name to register under", placeholder="NAME")
    count: int = option(WHOLE, 1, "run this many in one process, on consecutive ports", least=1)
    time_scale: float = option(NUMBER, 1.0, "let time run this many times faster (for tests)", least=0.01)
    shared: str = option(TEXT, "", SHARED, placeholder="DIR")


@dataclass(frozen=True, slots=True, kw_only=True)
class RefereeOptions(MemberOptions):
    """What a referee is told."""

    role: ClassVar[str] = "referee"
    usual_port: ClassVar[int] = 8001
    useful: ClassVar[tuple[str, ...]] = ("manager", "port", "name", "max_concurrent_matches", "journal")

    game: str = option(TEXT, "even_odd", "the game to play", placeholder="NAME")
    enrolment_key: str = option(
        TEXT,
        "",
        f"the key to register with (default: {KEY_VARIABLE}, or the key kept by a manager on this machine)",
        variable=KEY_VARIABLE,
        placeholder="KEY",
    )
    state: str = option(TEXT, "", "the folder where the manager keeps its enrolment key", placeholder="DIR")
    max_concurrent_matches: int = option(WHOLE, 2, "how many matches to run at once", least=1)
    ask_standings: bool = option(FLAG, False, "ask the manager for the table once a round, as the demo's referees do")
    player_addresses: tuple[tuple[str, str], ...] = option(
        HOMES,
        (),
        "where a player is, such as P01=http://127.0.0.1:8101, if the manager does not say; may be repeated",
        flag_name="player",
    )
    agents_config: str = option(
        TEXT,
        "config/agents/agents_config.json",
        "a file that says where players are, if the manager does not",
        placeholder="FILE",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayerOptions(MemberOptions):
    """What a player is told."""

    role: ClassVar[str] = "player"
    usual_port: ClassVar[int] = 8101
    useful: ClassVar[tuple[str, ...]] = ("manager", "strategy", "name", "port", "count")

    game: str = option(TEXT, "", "the game to play (default: the player's own, otherwise even_odd)", placeholder="NAME")
    id: str = option(
        TEXT, "", "the id to ask the manager for, such as P03; several players count up from it", placeholder="ID"
    )
    strategy: str = option(
        TEXT,
        "random",
        "a built-in strategy, or module:Class; several, separated by commas, take turns",
        placeholder="NAME|module:Class",
    )
    seed: int | None = option(WHOLE, None, "make the choices of random strategies repeatable")
    more: Mapping[str, Any] = field(default_factory=lambda: {extra.name: extra.default for extra in strategy_options()})
    """The options of strategies that features bring, by name (Any: each has its own type)."""


ROLES: tuple[type[RoleOptions], ...] = (ManagerOptions, RefereeOptions, PlayerOptions)
ALL = tuple(cls.role for cls in ROLES)
AnyRole = TypeVar("AnyRole", bound=RoleOptions)


def _own_options(role: type[RoleOptions]) -> tuple[Option, ...]:
    return tuple(options_in(role, (role.role,)))


def strategy_options() -> Iterator[Option]:
    """The options of strategies that our features bring: each row names the class that declares them."""
    for row in features.own(StrategyRow):
        if row.options:
            yield from options_in(features.load(row.options), (PlayerOptions.role,))


def options_of(role: type[RoleOptions]) -> Iterator[Option]:
    """The options of one role, those of strategies included."""
    yield from _own_options(role)
    if role is PlayerOptions:
        yield from strategy_options()


def all_options() -> list[Option]:
    """Every option once, with all roles that have it alike; for the reference."""
    merged: list[Option] = []
    for role in ROLES:
        for row in options_of(role):
            twin = next((known for known in merged if replace(known, roles=row.roles) == row), None)
            if twin is None:
                merged.append(row)
            else:
                merged[merged.index(twin)] = replace(twin, roles=(*twin.roles, *row.roles))
    return merged


# --- the command line -------------------------------------------------------------------------------------------------


def configure(parser: argparse.ArgumentParser, role: type[RoleOptions], without: Container[str] = ()) -> None:
    """Add a role's options to a parser; None stands for "not given here"."""
    parser.usage = f"{parser.prog} [OPTIONS]"
    first = parser.add_argument_group("most useful options")
    rest = parser.add_argument_group("more options")
    rows = {row.name: row for row in options_of(role) if not row.only_in_file and row.name not in without}
    for name in role.useful:
        if name in rows:
            _add(first, rows[name])
    for name, row in rows.items():
        if name not in role.useful:
            _add(rest, row)
    rest.add_argument("--config", metavar="FILE", help="read settings from this file (league.toml)")


def _add(group: argparse._ArgumentGroup, row: Option) -> None:
    if row.kind is FLAG:
        group.add_argument(row.flag, action="store_true", default=None, help=row.help)
        return
    text = row.help
    if row.default not in (None, "", ()):
        text += f" (default: {row.default})"
    group.add_argument(
        row.flag,
        dest=row.name,
        action="append" if row.kind.is_list else "store",
        default=None,
        help=text,
        choices=row.choices or None,
        metavar=row.shown_value,
    )
    if row.off:
        group.add_argument(row.off_flag, dest=row.name, action="store_const", const="", help=row.off)


# --- reading ----------------------------------------------------------------------------------------------------------


def defaults(role: type[AnyRole]) -> AnyRole:
    """The options of a role that was told nothing."""
    return role()


def read(args: argparse.Namespace, role: type[AnyRole]) -> AnyRole:
    """All options of a role: from the command line, else from the environment, else from the file that was named."""
    stored: Mapping[str, Any] = {}
    if args.config:
        stored = _settings_for(role, _stored(args.config), args.config)
    given: dict[str, Any] = {}
    for row in options_of(role):
        typed = None if row.only_in_file else getattr(args, row.name, None)
        if typed is not None:
            given[row.name] = _value(row, typed, row.flag, (str, bool))
        elif row.variable and os.environ.get(row.variable):
            given[row.name] = _value(row, os.environ[row.variable], row.variable, (str,))
        elif row.name in stored:
            given[row.name] = stored[row.name]
    if issubclass(role, MemberOptions) and "host" not in given:
        given["host"] = addresses.on_route_to(given.get("manager", USUAL_MANAGER))
    usual = defaults(role)
    names = frozenset(given)
    if isinstance(usual, PlayerOptions):
        given["more"] = {name: given.pop(name, default) for name, default in usual.more.items()}
    return replace(usual, **given, given=names)


def _settings_for(role: type[RoleOptions], stored: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """The settings of a file that are for this role.

    Roles share a file. A key at its top is for every role that has it, a role's own table is for that role alone. The
    whole file is checked, no matter which role reads it. (`manager` is a table if it is one, otherwise the option.)
    """
    tables = {key: value for key, value in stored.items() if key in ALL and isinstance(value, dict)}
    top = {key: value for key, value in stored.items() if key not in tables}
    everything = [row for cls in ROLES for row in options_of(cls)]
    settings = _checked(top, everything, name, role)
    for cls in ROLES:
        own = _checked(tables.get(cls.role, {}), tuple(options_of(cls)), f"{name}, [{cls.role}]", cls)
        if cls is role:
            settings |= own
    return settings


def _checked(table: Mapping[str, Any], rows: Sequence[Option], where: str, role: type[RoleOptions]) -> dict[str, Any]:
    """What a table sets for this role; whatever is wrong in it, for any role, is refused."""
    settings: dict[str, Any] = {}
    for key, value in table.items():
        fitting = [row for row in rows if row.name == key]
        if not fitting:
            raise _unknown(where, key, {row.name for row in rows})
        for row in fitting:
            checked = _value(row, value, f"{key} in {where}", row.kind.types)
            if role.role in row.roles:
                settings[key] = checked
    return settings


def _unknown(where: str, key: str, names: Iterable[str]) -> CommandError:
    suggestion = did_you_mean(key, names) or f"; there are {', '.join(sorted(names))}"
    return CommandError(f"{where}: there is no setting {key!r}{suggestion}", USAGE)


def _stored(name: str) -> Mapping[str, Any]:
    """The content of league.toml."""
    try:
        return tomllib.loads(Path(name).read_text("utf-8"))
    except OSError as error:
        raise CommandError(f"cannot read {name}: {error.strerror}", USAGE) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise CommandError(f"{name} is not TOML: {error}", USAGE) from error


def _value(row: Option, given: Any, where: str, types: tuple[type, ...]) -> Any:
    """A value, read and checked. `types` are those it may have there: in a file "4" is not a number."""
    items = given if row.kind.is_list else [given]
    try:
        if not isinstance(items, list) or not items or not all(type(item) in types for item in items):
            raise ValueError(given)
        values = tuple(map(row.kind.read, items))
    except (ValueError, OverflowError) as error:
        text = str(given).lower() if isinstance(given, bool) else repr(given)
        raise CommandError(f"{where}: {text} is not {row.kind.words}", USAGE) from error
    for value in values:
        _check(row, value, where)
    return values if row.kind.is_list else values[0]


def _check(row: Option, value: Any, where: str) -> None:
    if row.choices and value not in row.choices:
        raise CommandError(f"{where}: {value!r} is not one of {', '.join(row.choices)}", USAGE)
    if isinstance(value, float) and not math.isfinite(value):
        raise CommandError(f"{where}: {value} is not allowed here", USAGE)
    if row.least is not None and value < row.least:
        raise CommandError(f"{where}: must be at least {row.least:g}, not {value:g}", USAGE)
    if row.most is not None and value > row.most:
        raise CommandError(f"{where}: must be at most {row.most:g}, not {value:g}", USAGE)
