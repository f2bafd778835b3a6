"""What can be set for a role, in one table: on the command line, in league.toml, or left at its default.

The command line wins. Both are read here and nowhere else: a role is handed typed options that were checked.
"""

from __future__ import annotations

import argparse
import math
import os
import tomllib
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
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

# --- what a role is told ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleOptions:
    """What every role is told. The defaults stand in the table below."""

    role: ClassVar[str]
    usual_port: ClassVar[int]

    host: str
    port: int | None
    journal: str
    profile: Profile
    transcript: Mode
    log: str
    quiet: bool
    until_stdin_closes: bool
    allow_host: tuple[str, ...]
    tls_cert: str
    tls_key: str
    tls_ca: str
    given: frozenset[str] = frozenset()
    """The names of the options that somebody set."""

    @property
    def first_port(self) -> int:
        """The port to try first; only if none was given, the next free one will do as well."""
        return self.usual_port if self.port is None else self.port


@dataclass(frozen=True, slots=True, kw_only=True)
class ManagerOptions(RoleOptions):
    """What a manager is told."""

    role: ClassVar[str] = "manager"
    usual_port: ClassVar[int] = 8000

    players: int
    referees: int
    game: str
    league_id: str
    rounds: int | None
    double: bool
    start: str
    preset: Literal["local", "official"]
    move_seconds: float
    endpoints: Reach
    allow_endpoint: tuple[Allowance, ...]
    enrolment: Literal["open", "key", "approve"] | None
    enrolment_key: str
    state: str
    max_referees: int
    announcement_lead_s: float | None
    retry_delays_s: tuple[float, ...]
    standings_interval_s: float
    start_match_after_s: float
    referee_patience: float | None
    outage_minutes: float
    unique_names: bool
    late: Literal["admit", "refuse"]
    late_referees: bool
    shared: str | None
    """None: in the folder of the journal; "": nowhere."""
    max_concurrent_matches_limit: int
    tiebreakers: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberOptions(RoleOptions):
    """What referees and players are told alike."""

    manager: str
    name: str
    game: str
    count: int
    time_scale: float
    shared: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RefereeOptions(MemberOptions):
    """What a referee is told."""

    role: ClassVar[str] = "referee"
    usual_port: ClassVar[int] = 8001

    enrolment_key: str
    state: str
    max_concurrent_matches: int
    ask_standings: bool
    player_addresses: tuple[tuple[str, str], ...]
    agents_config: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayerOptions(MemberOptions):
    """What a player is told."""

    role: ClassVar[str] = "player"
    usual_port: ClassVar[int] = 8101

    id: str
    strategy: str
    seed: int | None
    more: Mapping[str, Any]
    """The options of strategies that features bring, by name (Any: each has its own type)."""


ROLES: tuple[type[RoleOptions], ...] = (ManagerOptions, RefereeOptions, PlayerOptions)
ALL = tuple(one.role for one in ROLES)

# --- the table --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of value: what it is called, what reads it, and the types it has in TOML, which knows more than text."""

    words: str
    read: Callable[[Any], Any]
    types: tuple[type, ...]
    is_list: bool = False


def _allowance(text: str) -> Allowance:
    from league.protocol.endpoints import read_allowance  # few leagues need it

    return read_allowance(text)


WHOLE = Kind("a whole number", int, (int,))
NUMBER = Kind("a number", float, (int, float))
TEXT = Kind("text in quotes", str, (str,))
ADDRESS = Kind("an address such as http://127.0.0.1:8000/mcp", addresses.agent_url, (str,))
FLAG = Kind("true or false", bool, (bool,))
NUMBERS = Kind("a list of numbers", float, (int, float), is_list=True)
HOSTS = Kind("a list of host names or addresses, without ports", addresses.host_name, (str,), is_list=True)
NAMES = Kind("a list of names", str, (str,), is_list=True)
HOMES = Kind("a player and its address such as P01=http://127.0.0.1:8101", addresses.player_home, (str,), is_list=True)
PLACES = Kind("a list of networks (10.1.0.0/16), HOST or HOST:PORT", _allowance, (str,), is_list=True)


@dataclass(frozen=True, slots=True)
class Option:
    """One setting. `choices`, `least` and `most` bound it; `roles` are those it is for."""

    name: str
    kind: Kind
    default: Any
    help: str
    roles: tuple[str, ...] = ALL
    choices: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None
    only_in_file: bool = False
    off: str = ""
    """What the flag --no-NAME does, if there is one: it stands for the empty text."""
    variable: str = ""
    """The environment variable that says it too."""
    flag_name: str = ""
    """What it is called on the command line, if not by its name."""

    @property
    def flag(self) -> str:
        return "--" + (self.flag_name or self.name).replace("_", "-")

    @property
    def off_flag(self) -> str:
        return "--no-" + self.name.replace("_", "-")


def _in_file(name: str, kind: Kind, default: Any, told: str, least: float | None = None) -> Option:
    return Option(name, kind, default, told, _M, least=least, only_in_file=True)


_M, _R, _P = ("manager",), ("referee",), ("player",)
_MEMBERS = ("referee", "player")
PROFILES, TRANSCRIPTS = ("compat", "strict"), ("full", "matches", "off")
PRESETS, REACHES, ENROLMENTS = ("local", "official"), ("local", "lan", "public"), ("open", "key", "approve")
MANAGER_IS = f"where the League Manager is; else {MANAGER_VARIABLE} says it"
WHO = (
    "who may register: anybody, referees only with the key, or only whom the operator approves (default: players, and "
    "on this machine so many referees as it takes to start; later ones with the key or the operator's approval)"
)
KEY_VARIABLE = "LEAGUE_ENROLMENT_KEY"
KEY = f"the key referees register with (default: {KEY_VARIABLE}, or one that is made and kept)"
MY_KEY = f"the key to register with; else {KEY_VARIABLE} says it, or a manager on this machine that keeps it"
SHARED = "a folder to keep the shared files in, for other tools"
WAIT = "wait before a referee by others is given a match otherwise"
PATIENCE = "seconds a referee may take for a match it has acknowledged (default: the longest a match can take)"
HOME = "where a player lives, such as P01=http://127.0.0.1:8101, if the manager does not say; may be repeated"
AGENTS = "a file that says where players live, if the manager does not"
ALLOW = "a network (10.1.0.0/16), HOST or HOST:PORT that agents may be at too, whoever registers it; may be repeated"
LATE = "players that come after the start: admit (what they missed is played in extra rounds at the end) or refuse"
OUTAGE = "how long a round is held while half of the players are gone at once (0: never)"

OPTIONS: tuple[Option, ...] = (
    Option("host", TEXT, LOOPBACK, "the address to listen at", _M),
    Option("host", TEXT, "", "the address to listen at (default: this machine's on its way to the manager)", _MEMBERS),
    Option(
        "port", WHOLE, None, "the port to listen at (default: 8000, 8001, 8101; 0: any free one)", ALL, (), 0, 65535
    ),
    Option("allow_host", HOSTS, (), "a name this server is known by too, beside its addresses; may be repeated"),
    Option("tls_cert", TEXT, "", "serve https with this certificate (PEM, with those that lead to its authority)"),
    Option("tls_key", TEXT, "", "the key of --tls-cert, if it is not in the same file"),
    Option("tls_ca", TEXT, "", "trust this authority (PEM) in calls to https, beside those the system trusts"),
    Option("manager", ADDRESS, f"{USUAL_MANAGER}/mcp", MANAGER_IS, _MEMBERS, variable=MANAGER_VARIABLE),
    Option("name", TEXT, "", "the name to register under", _MEMBERS),
    Option("id", TEXT, "", "the id to ask the manager for, such as P03; several count on from it", _P),
    Option("players", WHOLE, 4, "how many players the league has", _M, least=2),
    Option("referees", WHOLE, 1, "how many referees it takes to start", _M, least=1),
    Option("game", TEXT, "even_odd", "the game that is played", ("manager", "referee")),
    Option("game", TEXT, "", "the game that is played (default: the player's own, else even_odd)", _P),
    Option("league_id", TEXT, "", "the league's id (one is made from the date unless given)", _M),
    Option("rounds", WHOLE, None, "play only so many rounds of the schedule", _M, least=1),
    Option("double", FLAG, False, "every pair meets twice", _M),
    Option("start", TEXT, "when-full", "when the league starts: when-full, manual, or a time such as 18:30", _M),
    Option("late", TEXT, "refuse", LATE, _M, ("admit", "refuse")),
    Option("preset", TEXT, "local", "local: quick; official: a minute between announcement and play", _M, PRESETS),
    Option("move_seconds", NUMBER, 30.0, "how long a player may think about a move", _M, least=0.1),
    Option("outage_minutes", NUMBER, 10.0, OUTAGE, _M, least=0),
    Option("endpoints", TEXT, "local", "how far away agents may be, each where it registers from", _M, REACHES),
    Option("allow_endpoint", PLACES, (), ALLOW, _M),
    Option("enrolment", TEXT, None, WHO, _M, ENROLMENTS),
    Option("enrolment_key", TEXT, "", KEY, _M),
    Option("enrolment_key", TEXT, "", MY_KEY, _R, variable=KEY_VARIABLE),
    Option("state", TEXT, "", "the folder admin token and enrolment key are kept in (default: the journal's)", _M),
    Option("state", TEXT, "", "the folder the manager keeps its enrolment key in", _R),
    Option("max_referees", WHOLE, 10, "how many referees are taken", _M, least=1),
    Option("referee_patience", NUMBER, None, PATIENCE, _M, least=0.1),
    Option("max_concurrent_matches", WHOLE, 2, "how many matches to run at once", _R, least=1),
    Option("ask_standings", FLAG, False, "ask the manager for the table once a round, as the demo's referees do", _R),
    Option("player_addresses", HOMES, (), HOME, _R, flag_name="player"),
    Option("agents_config", TEXT, "config/agents/agents_config.json", AGENTS, _R),
    Option("strategy", TEXT, "random", "a built-in strategy, or module:Class; several with commas take turns", _P),
    Option("seed", WHOLE, None, "make the choices of random strategies repeatable", _P),
    Option("count", WHOLE, 1, "so many of them in this process, on following ports", _MEMBERS, least=1),
    Option("time_scale", NUMBER, 1.0, "let time run so many times faster (for tests)", _MEMBERS, least=0.01),
    Option("journal", TEXT, "", "where the journal is kept: a file or sqlite:///FILE"),
    Option("profile", TEXT, "compat", "compat: habits of other agents are recorded; strict: refused", ALL, PROFILES),
    Option("transcript", TEXT, "full", "which letters are kept beside the journal", ALL, TRANSCRIPTS),
    Option("log", TEXT, "", "a file for one JSON line per letter and event; four older ones of 16 MiB are kept"),
    Option("quiet", FLAG, False, "say nothing at the terminal but what is wrong"),
    Option("shared", TEXT, None, SHARED + " (default: the journal's)", _M, off="keep no shared files"),
    Option("shared", TEXT, "", SHARED, _MEMBERS),
    Option("until_stdin_closes", FLAG, False, "serve until stdin is closed, also when the league is over"),
    _in_file("announcement_lead_s", NUMBER, None, "seconds between announcement and play", least=0),
    _in_file("retry_delays_s", NUMBERS, (2.0, 2.0, 2.0), "pauses before the retries of a call", least=0),
    _in_file("standings_interval_s", NUMBER, 1.0, "least time between two standings updates", least=0),
    _in_file("start_match_after_s", NUMBER, 15.0, WAIT, least=0.1),
    _in_file("unique_names", FLAG, True, "is a name taken once somebody has it?"),
    _in_file("late_referees", FLAG, True, "may a referee join a running league?"),
    _in_file("max_concurrent_matches_limit", WHOLE, 10, "the most a referee may offer", least=1),
    _in_file("tiebreakers", NAMES, ("points", "wins", "draws", "head_to_head"), "the order of the table"),
)

# --- reading ----------------------------------------------------------------------------------------------------------

AnyRole = TypeVar("AnyRole", bound=RoleOptions)


def options_of(role: type[RoleOptions]) -> Iterator[Option]:
    """The settings of one role, those of strategies included."""
    yield from _own_options(role)
    if role is PlayerOptions:
        yield from strategy_options()


def _own_options(role: type[RoleOptions]) -> Iterator[Option]:
    return (option for option in OPTIONS if role.role in option.roles)


def strategy_options() -> Iterator[Option]:
    """The settings of strategies that our features bring: each names a class with its `OPTIONS`."""
    for row in features.own(StrategyRow):
        if row.options:
            yield from features.load(row.options).OPTIONS


def configure(parser: argparse.ArgumentParser, role: type[RoleOptions], without: Container[str] = ()) -> None:
    """Add a role's settings to a parser; None stands for "not said here"."""
    for one in options_of(role):
        if one.only_in_file or one.name in without:
            continue
        if one.kind is FLAG:
            parser.add_argument(one.flag, action="store_true", default=None, help=one.help)
            continue
        shown = f" (default: {one.default})" if one.default not in (None, "", ()) else ""
        action = "append" if one.kind.is_list else "store"
        parser.add_argument(
            one.flag, dest=one.name, action=action, default=None, help=one.help + shown, choices=one.choices or None
        )
        if one.off:
            parser.add_argument(one.off_flag, dest=one.name, action="store_const", const="", help=one.off)
    parser.add_argument("--config", metavar="FILE", help="read settings from this file (league.toml)")


def defaults(role: type[AnyRole]) -> AnyRole:
    """The options of a role that was told nothing."""
    own = {option.name: option.default for option in _own_options(role)}
    if role is PlayerOptions:
        own["more"] = {option.name: option.default for option in strategy_options()}
    return role(**own)


def read(args: argparse.Namespace, role: type[AnyRole]) -> AnyRole:
    """All options of a role: from the command line, else from the environment, else from the file that was named."""
    stored = _settings_for(role, _stored(args.config), args.config) if args.config else {}
    given: dict[str, Any] = {}
    for one in options_of(role):
        said = None if one.only_in_file else getattr(args, one.name, None)
        if said is not None:
            given[one.name] = _value(one, said, one.flag, (str, bool))
        elif one.variable and (said := os.environ.get(one.variable)):
            given[one.name] = _value(one, said, one.variable, (str,))
        elif one.name in stored:
            given[one.name] = stored[one.name]
    if issubclass(role, MemberOptions) and "host" not in given:
        given["host"] = addresses.on_route_to(given.get("manager", USUAL_MANAGER))
    usual = defaults(role)
    names = frozenset(given)
    if isinstance(usual, PlayerOptions):
        given["more"] = {name: given.pop(name, default) for name, default in usual.more.items()}
    return replace(usual, **given, given=names)


def _settings_for(role: type[RoleOptions], stored: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """The settings of a file that are for this role. Roles share a file: what stands at its top is for every role that
    knows it, a role's own table is for that role alone. All of it is checked, whoever reads the file. (`manager` is a
    table if it is one, and else the setting.)"""
    tables = {key: value for key, value in stored.items() if key in ALL and isinstance(value, dict)}
    settings = _checked(
        {key: stored[key] for key in stored if key not in tables}, (*OPTIONS, *strategy_options()), name, role
    )
    for one in ROLES:
        found = _checked(tables.get(one.role, {}), tuple(options_of(one)), f"{name}, [{one.role}]", one)
        settings |= found if one is role else {}
    return settings


def _checked(
    table: Mapping[str, Any], options: Sequence[Option], where: str, role: type[RoleOptions]
) -> dict[str, Any]:
    """What a table sets for this role; whatever is wrong in it, for any role, is refused."""
    settings: dict[str, Any] = {}
    for key, value in table.items():
        found = [one for one in options if one.name == key]
        if not found:
            raise _unknown(where, key, {one.name for one in options})
        read = {
            role_of: _value(one, value, f"{key} in {where}", one.kind.types) for one in found for role_of in one.roles
        }
        settings |= {key: read[role.role]} if role.role in read else {}
    return settings


def _unknown(where: str, key: str, known: Iterable[str]) -> CommandError:
    meant = did_you_mean(key, known) or f"; there are {', '.join(sorted(known))}"
    return CommandError(f"{where}: there is no setting {key!r}{meant}", USAGE)


def _stored(name: str) -> Mapping[str, Any]:
    """What stands in league.toml."""
    try:
        return tomllib.loads(Path(name).read_text("utf-8"))
    except OSError as error:
        raise CommandError(f"cannot read {name}: {error.strerror}", USAGE) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise CommandError(f"{name} is not TOML: {error}", USAGE) from error


def _value(one: Option, said: Any, where: str, types: tuple[type, ...]) -> Any:
    """What was said, read and checked. In the file "4" is no number: `types` are those it may have there."""
    items = said if one.kind.is_list else [said]
    try:
        if not isinstance(items, list) or not items or not all(type(item) in types for item in items):
            raise ValueError(said)
        values = tuple(map(one.kind.read, items))
    except (ValueError, OverflowError) as error:
        shown = str(said).lower() if isinstance(said, bool) else repr(said)
        raise CommandError(f"{where}: {shown} is not {one.kind.words}", USAGE) from error
    for value in values:
        _check(one, value, where)
    return values if one.kind.is_list else values[0]


def _check(one: Option, value: Any, where: str) -> None:
    if one.choices and value not in one.choices:
        raise CommandError(f"{where}: {value!r} is none of {', '.join(one.choices)}", USAGE)
    if isinstance(value, float) and not math.isfinite(value):
        raise CommandError(f"{where}: {value} is no number to count with", USAGE)
    if one.least is not None and value < one.least:
        raise CommandError(f"{where}: must be at least {one.least:g}, not {value:g}", USAGE)
    if one.most is not None and value > one.most:
        raise CommandError(f"{where}: must be at most {one.most:g}, not {value:g}", USAGE)
