"""The options of the roles: from the command line, the environment, league.toml, or their defaults.

An option is a field of its role's class: the field has the type, and `option(…)` has everything else that the command
line and the file need. `league_setting(…)` is an option whose value becomes a setting of the league, and has that
setting's default. The command line wins over the environment, and the environment over the file. All of them are read
here and nowhere else: a role gets typed options that have been checked.
"""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar

from msgspec import Struct, structs

from league import features
from league.features import StrategyRow
from league.settings import LeagueSettings
from league.terminal import USAGE, CommandError, addresses, did_you_mean
from league.terminal.addresses import LOOPBACK, MANAGER_VARIABLE, USUAL_MANAGER

if TYPE_CHECKING:
    from league.protocol.endpoints import Allowance, Reach
    from league.protocol.envelope import Profile
    from league.storage.transcript import Mode

KEY_VARIABLE = "LEAGUE_ENROLMENT_KEY"

# --- kinds of values --------------------------------------------------------------------------------------------------


class Kind(Struct, frozen=True):
    """A kind of value. `types` are those it has in TOML, which knows more than text."""

    words: str
    read: Callable[[Any], Any]
    types: tuple[type, ...]
    placeholder: str
    is_list: bool = False


def _allowance(text: str) -> Allowance:
    from league.protocol.endpoints import read_allowance  # imported here because few leagues need it

    return read_allowance(text)


WHOLE = Kind("a whole number", int, (int,), "N")
NUMBER = Kind("a number", float, (int, float), "X")
SECONDS = Kind("a number", float, (int, float), "SECONDS")
TEXT = Kind("text in quotes", str, (str,), "TEXT")
MANAGERS = Kind(
    "an address such as http://127.0.0.1:8000/mcp, or several with commas", addresses.agent_urls, (str,), "URL[,URL]"
)
ADDRESSES = Kind("a list of addresses", addresses.agent_url, (str,), "URL", is_list=True)
FLAG = Kind("true or false", bool, (bool,), "")
NUMBERS = Kind("a list of numbers", float, (int, float), "X", is_list=True)
HOSTS = Kind("a list of host names or addresses, without ports", addresses.host_name, (str,), "HOST", is_list=True)
NAMES = Kind("a list of names", str, (str,), "NAME", is_list=True)
HOMES = Kind(
    "a player and its address such as P01=http://127.0.0.1:8101", addresses.player_home, (str,), "ID=URL", is_list=True
)
PLACES = Kind("a list of networks (10.1.0.0/16), HOST or HOST:PORT", _allowance, (str,), "PLACE", is_list=True)


# --- options ----------------------------------------------------------------------------------------------------------


class Option(Struct, frozen=True, kw_only=True):
    """An option: how it is set, and which values it takes."""

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
    """The help of the flag --no-NAME, if there is one. That flag sets the empty text."""
    variable: str = ""
    """The environment variable that can hold it."""
    flag_name: str = ""
    """Its name on the command line, if it has another one there."""
    placeholder: str = ""
    """The placeholder for its value in help texts, if not the usual one of its kind."""
    setting: str = ""
    """The setting of the league that it becomes; empty if it is not a setting."""

    @property
    def flag(self) -> str:
        return "--" + (self.flag_name or self.name).replace("_", "-")

    @property
    def off_flag(self) -> str:
        return "--no-" + self.name.replace("_", "-")

    @property
    def shown_value(self) -> str:
        """The placeholder for its value in help texts."""
        return "|".join(self.choices) or self.placeholder or self.kind.placeholder


DEFAULTS = LeagueSettings(league_id="")
"""The default of each setting of a league."""


def option(kind: Kind, default: Any, text: str, **more: Any) -> Any:
    """A field of a role's class that is an option; `more` are fields of `Option` (Any: a dataclass field)."""
    return field(default=default, metadata={"option": Option(kind=kind, default=default, help=text, **more)})


def league_setting(setting: str, kind: Kind, text: str, **more: Any) -> Any:
    """An option that becomes this setting of the league, and has its default unless `more` names another."""
    default = more.pop("default", getattr(DEFAULTS, setting))
    return option(kind, default, text, setting=setting, **more)


def options_in(cls: type, roles: tuple[str, ...]) -> Iterator[Option]:
    """The options that a class declares."""
    for declared in fields(cls):
        if "option" in declared.metadata:
            row: Option = declared.metadata["option"]
            yield structs.replace(row, name=declared.name, roles=roles)


# --- the options of each role -----------------------------------------------------------------------------------------

SHARED = "keep shared files for other tools in this folder"
PROFILE = "accept and record the habits of other agents (compat), or reject them (strict)"
PROFILES = ("compat", "strict")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class RoleOptions:
    """The options of every role."""

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
        TEXT,
        "",
        "keep the journal here: a file, sqlite:///FILE or postgresql://…; start again with the same journal to resume",
        placeholder="URL",
    )
    standby: bool = option(
        FLAG, False, "if another process writes the journal, wait until it has ended, then take over"
    )
    profile: Profile = league_setting("profile", TEXT, PROFILE, choices=PROFILES)
    transcript: Mode = option(
        TEXT, "full", "which messages to keep with the journal", choices=("full", "matches", "off")
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
        HOSTS, (), "another name of this server, in addition to its addresses; may be repeated"
    )
    tls_cert: str = option(
        TEXT, "", "serve https with this certificate (PEM, with the chain to its authority)", placeholder="FILE"
    )
    tls_key: str = option(TEXT, "", "the key of --tls-cert, if it is in another file", placeholder="FILE")
    tls_ca: str = option(
        TEXT,
        "",
        "trust this authority (PEM) in https calls, in addition to those the system trusts",
        placeholder="FILE",
    )
    given: frozenset[str] = frozenset()
    """The names of the options that were set, and not left at their defaults."""

    @property
    def first_port(self) -> int:
        """The port to try first. If it was not set, the next free port will do, too."""
        return self.usual_port if self.port is None else self.port


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class ManagerOptions(RoleOptions):
    """The options of a manager."""

    role: ClassVar[str] = "manager"
    usual_port: ClassVar[int] = 8000
    useful: ClassVar[tuple[str, ...]] = ("players", "referees", "game", "port", "journal")

    players: int = league_setting("players", WHOLE, "how many players the league has", least=2)
    referees: int = league_setting(
        "referees", WHOLE, "how many referees must be registered before the league starts", least=1
    )
    game: str = league_setting("game_type", TEXT, "the game to play", placeholder="NAME")
    league_id: str = league_setting(
        "league_id", TEXT, "the league's id (default: made from the date)", placeholder="ID"
    )
    title: str = league_setting(
        "title", TEXT, "show this title on pages and in the terminal instead of the league's id"
    )
    rounds: int | None = league_setting("rounds", WHOLE, "play only this many rounds of the schedule", least=1)
    double: bool = league_setting("double", FLAG, "let every pair meet twice")
    start: str = league_setting(
        "start",
        TEXT,
        "when the league starts: when-full, manual, or a time such as 18:30",
        placeholder="when-full|manual|TIME",
    )
    draw: Literal["auto", "shared", "referee"] = league_setting(
        "draw",
        TEXT,
        "who draws numbers: referees alone, or referees and manager together (shared); auto: together with referees "
        "that came in without the enrolment key or approval",
        default="auto",
        choices=("auto", "shared", "referee"),
    )
    late: Literal["admit", "refuse"] = league_setting(
        "late",
        TEXT,
        "players that come after the start: admit them (they play missed matches in extra rounds) or refuse them",
        choices=("admit", "refuse"),
    )
    preset: Literal["local", "official"] = league_setting(
        "announcement_wait_s",
        TEXT,
        "local: quick; official: a minute between announcement and play",
        default="local",
        choices=("local", "official"),
    )
    move_seconds: float = league_setting("move_seconds", SECONDS, "how long a player may think about a move", least=0.1)
    fallback: Literal["allow", "refuse"] = league_setting(
        "fallback",
        TEXT,
        "choices that a player's language model did not make: allow and mark them, or let the player lose the match",
        choices=("allow", "refuse"),
    )
    outage_minutes: float = league_setting(
        "outage_minutes",
        NUMBER,
        "how long a round waits if many players disappear at once (0: it never waits)",
        least=0,
        placeholder="MINUTES",
    )
    outage_share: float = league_setting(
        "outage_share",
        NUMBER,
        "the share of players, at least three, that must disappear at once for the league to wait; half, at least two, "
        "are always enough",
        least=0.05,
        placeholder="SHARE",
    )
    endpoints: Reach = league_setting(
        "endpoints",
        TEXT,
        "how far away agents may be; each must be at the address it registers from",
        choices=("local", "lan", "public"),
    )
    trust: Literal["tokens", "class"] = league_setting(
        "trust",
        TEXT,
        "what proves who sent a report or an answer: tokens only; or, for agents that show none, also the address it "
        "came from (with --endpoints local or lan)",
        choices=("tokens", "class"),
    )
    allow_endpoint: tuple[Allowance, ...] = league_setting(
        "allow_endpoint",
        PLACES,
        "a network (10.1.0.0/16), HOST or HOST:PORT where agents may also be, wherever they register from; "
        "may be repeated",
    )
    enrolment: Literal["open", "key", "approve"] | None = league_setting(
        "enrolment",
        TEXT,
        "who may register: anybody; referees with the key only; or agents that the operator approves (default: all "
        "players, on this machine as many referees as the start needs, and later ones with the key or approval)",
        default=None,
        choices=("open", "key", "approve"),
    )
    enrolment_key: str = option(
        TEXT,
        "",
        f"the key that referees register with (default: {KEY_VARIABLE}, or a new one, which the manager keeps)",
        placeholder="KEY",
    )
    state: str = option(
        TEXT,
        "",
        "keep admin token and enrolment key in this folder (default: the journal's folder)",
        placeholder="DIR",
    )
    managers: tuple[str, ...] = option(
        ADDRESSES,
        (),
        "the address of a manager of this league (this one or a standby), which members are told; may be repeated",
    )
    max_referees: int = league_setting("max_referees", WHOLE, "accept at most this many referees", least=1)
    referee_patience: float | None = league_setting(
        "referee_patience_s",
        SECONDS,
        "how long a referee may take for a match it has acknowledged (default: the longest a match can take)",
        least=0.1,
    )
    shared: str | None = option(
        TEXT, None, f"{SHARED} (default: the journal's folder)", off="keep no shared files", placeholder="DIR"
    )
    """None: in the folder of the journal; "": nowhere."""
    announcement_lead_s: float | None = league_setting(
        "announcement_lead_s",
        SECONDS,
        "seconds between announcement and play",
        default=None,
        least=0,
        only_in_file=True,
    )
    retry_delays_s: tuple[float, ...] = league_setting(
        "retry_delays_s", NUMBERS, "pauses before the retries of a call", least=0, only_in_file=True
    )
    standings_interval_s: float = league_setting(
        "standings_interval_s", SECONDS, "least time between two standings updates", least=0, only_in_file=True
    )
    start_match_after_s: float = league_setting(
        "start_match_after_s",
        SECONDS,
        "how long to wait before the manager gives a match to a referee by others in another way",
        least=0.1,
        only_in_file=True,
    )
    unique_names: bool = league_setting("unique_names", FLAG, "names must be unique", only_in_file=True)
    late_referees: bool = league_setting("late_referees", FLAG, "referees may join a running league", only_in_file=True)
    max_concurrent_matches_limit: int = league_setting(
        "max_concurrent_matches_limit",
        WHOLE,
        "the most concurrent matches that a referee may offer; one with a token_scheme may always offer 64",
        least=1,
        only_in_file=True,
    )
    tiebreakers: tuple[str, ...] = league_setting(
        "tiebreakers", NAMES, "the criteria that sort the table, in order", only_in_file=True
    )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class MemberOptions(RoleOptions):
    """The options that referees and players share."""

    host: str = option(
        TEXT,
        "",
        "listen at this address (default: this machine's address on the way to the manager)",
        placeholder="ADDRESS",
    )
    profile: Profile = option(TEXT, DEFAULTS.profile, PROFILE, choices=PROFILES)
    manager: str = option(
        MANAGERS,
        f"{USUAL_MANAGER}/mcp",
        f"the address of the League Manager, or of all managers of one league; {MANAGER_VARIABLE} can hold it too",
        variable=MANAGER_VARIABLE,
    )
    name: str = option(TEXT, "", "the name to register under", placeholder="NAME")
    count: int = option(WHOLE, 1, "run this many in one process, on consecutive ports", least=1)
    time_scale: float = option(NUMBER, 1.0, "let time run this many times faster (for tests)", least=0.01)
    shared: str = option(TEXT, "", SHARED, placeholder="DIR")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class RefereeOptions(MemberOptions):
    """The options of a referee."""

    role: ClassVar[str] = "referee"
    usual_port: ClassVar[int] = 8001
    useful: ClassVar[tuple[str, ...]] = ("manager", "port", "name", "max_concurrent_matches", "journal")

    game: str = option(TEXT, DEFAULTS.game_type, "the game to play", placeholder="NAME")
    enrolment_key: str = option(
        TEXT,
        "",
        f"the key to register with (default: {KEY_VARIABLE}, or the key kept by a manager on this machine)",
        variable=KEY_VARIABLE,
        placeholder="KEY",
    )
    state: str = option(TEXT, "", "the folder where the manager keeps its enrolment key", placeholder="DIR")
    max_concurrent_matches: int = option(
        WHOLE,
        DEFAULTS.max_concurrent_matches_limit,
        "how many matches to run at once",
        least=1,
        most=64,  # the protocol's bound; importing it would slow down every command
    )
    ask_standings: bool = option(FLAG, False, "ask the manager for the table once a round, as the demo's referees do")
    player_addresses: tuple[tuple[str, str], ...] = option(
        HOMES,
        (),
        "where a player is, such as P01=http://127.0.0.1:8101, if the manager does not say; may be repeated",
        flag_name="player",
    )
    draw_as: str = option(
        TEXT,
        "auto",
        "the winner of a draw in reports to managers by others: null, DRAW, TIE or any word; auto: find out",
        placeholder="WORD",
    )
    trust: Literal["tokens", "class"] = option(
        TEXT,
        "tokens",
        "what proves under a manager by others who sent an answer: tokens and the conversation_id of the call; or, for "
        "players that show neither, also the address it came from",
        choices=("tokens", "class"),
    )
    agents_config: str = option(
        TEXT,
        "config/agents/agents_config.json",
        "a file that says where players are, if the manager does not",
        placeholder="FILE",
    )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class PlayerOptions(MemberOptions):
    """The options of a player."""

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
    """The options of features' strategies, by name (Any: each has its own type)."""


ROLES: tuple[type[RoleOptions], ...] = (ManagerOptions, RefereeOptions, PlayerOptions)
ALL = tuple(cls.role for cls in ROLES)
AnyRole = TypeVar("AnyRole", bound=RoleOptions)


def _own_options(role: type[RoleOptions]) -> tuple[Option, ...]:
    return tuple(options_in(role, (role.role,)))


def strategy_options() -> Iterator[Option]:
    """The options of our features' strategies: each row names the class that declares them."""
    for row in features.own(StrategyRow):
        if row.options:
            yield from options_in(features.load(row.options), (PlayerOptions.role,))


def options_of(role: type[RoleOptions]) -> Iterator[Option]:
    """The options of one role, those of strategies included."""
    yield from _own_options(role)
    if role is PlayerOptions:
        yield from strategy_options()


def all_options() -> list[Option]:
    """Every option once, with all roles that share it; for the reference."""
    merged: list[Option] = []
    for role in ROLES:
        for row in options_of(role):
            # Two roles share a row of the reference if nothing but the role differs.
            twin = next((other for other in merged if structs.replace(other, roles=row.roles) == row), None)
            if twin is None:
                merged.append(row)
            else:
                merged[merged.index(twin)] = structs.replace(twin, roles=(*twin.roles, *row.roles))
    return merged


# --- the command line -------------------------------------------------------------------------------------------------


def configure(parser: argparse.ArgumentParser, role: type[RoleOptions], without: Container[str] = ()) -> None:
    """Add a role's options to a parser. None stands for an option that was not typed."""
    parser.usage = f"{parser.prog} [OPTIONS]"
    # Most people need a handful of the options, so help shows those first.
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
    # A flag that is not typed is None, too: False would override the file.
    if row.kind is FLAG:
        group.add_argument(row.flag, action="store_true", default=None, help=row.help)
        return
    text = row.help
    if row.default not in (None, "", ()):
        default = row.default
        # Nobody types sixteen digits.
        if isinstance(default, float):
            default = f"{default:g}"
        text += f" (default: {default})"
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
    """The options of a role if none is set."""
    return role()


def read(args: argparse.Namespace, role: type[AnyRole]) -> AnyRole:
    """Read all options of a role: from the command line, otherwise the environment, otherwise the file of --config."""
    stored: Mapping[str, Any] = {}
    if args.config:
        stored = _settings_for(role, _stored(args.config), args.config)
    values: dict[str, Any] = {}
    for row in options_of(role):
        typed = None if row.only_in_file else getattr(args, row.name, None)
        if typed is not None:
            values[row.name] = _value(row, typed, row.flag, (str, bool))
        elif row.variable and os.environ.get(row.variable):
            values[row.name] = _value(row, os.environ[row.variable], row.variable, (str,))
        elif row.name in stored:
            values[row.name] = stored[row.name]
    # A member must listen where its manager can call it, so that depends on where the manager is.
    if issubclass(role, MemberOptions) and "host" not in values:
        values["host"] = addresses.on_route_to(addresses.first_of(values.get("manager", USUAL_MANAGER)))
    usual = defaults(role)
    # The names are taken before options of strategies move into a mapping of their own.
    names = frozenset(values)
    if isinstance(usual, PlayerOptions):
        values["more"] = {name: values.pop(name, default) for name, default in usual.more.items()}
        values |= _chosen_strategy(names)
    return replace(usual, **values, given=names)


def _chosen_strategy(names: Container[str]) -> dict[str, str]:
    """The strategy that one of its own options chooses, if none is named."""
    for row in features.own(StrategyRow):
        if row.chosen_by in names and "strategy" not in names:
            return {"strategy": row.name}
    return {}


def _settings_for(role: type[RoleOptions], stored: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """The settings of a file that are for this role.

    Roles share a file. A key at its top is for every role that has it, a role's own table is for that role alone. The
    whole file is checked, no matter which role reads it. (`manager` is a table if it is one, otherwise the option.)
    """
    tables = {key: value for key, value in stored.items() if key in ALL and isinstance(value, dict)}
    top = {key: value for key, value in stored.items() if key not in tables}
    # A key at the top may belong to any role, and must fit each role that has it.
    everything = [row for cls in ROLES for row in options_of(cls)]
    settings = _checked(top, everything, name, role)
    for cls in ROLES:
        table = _checked(tables.get(cls.role, {}), tuple(options_of(cls)), f"{name}, [{cls.role}]", cls)
        if cls is role:
            settings |= table
    return settings


def _checked(table: Mapping[str, Any], rows: Sequence[Option], where: str, role: type[RoleOptions]) -> dict[str, Any]:
    """The settings of a table that are for this role. A mistake in the table is refused, whichever role it is for."""
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
    import tomllib  # imported here because few processes have a file with settings

    try:
        return tomllib.loads(Path(name).read_text("utf-8"))
    except OSError as error:
        raise CommandError(f"cannot read {name}: {error.strerror}", USAGE) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise CommandError(f"{name} is not TOML: {error}", USAGE) from error


def _value(row: Option, raw: Any, where: str, types: tuple[type, ...]) -> Any:
    """A value, read and checked. `types` are those it may have there: in a file "4" is not a number."""
    items = raw if row.kind.is_list else [raw]
    try:
        # `type(…) in`, not `isinstance`: in Python, True is a number.
        if not isinstance(items, list) or not items or not all(type(item) in types for item in items):
            raise ValueError(raw)
        values = tuple(map(row.kind.read, items))
    except (ValueError, OverflowError) as error:
        text = str(raw).lower() if isinstance(raw, bool) else repr(raw)
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
