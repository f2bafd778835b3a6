"""The options of the roles: from the command line, the environment, league.toml, or their defaults.

An option is a field of its role's class: the field has the type, and `option(…)` has everything else that the command
line and the file need. `league_setting(…)` is an option whose value becomes a setting of the league, and has that
setting's default. The command line wins over the environment, and the environment over the file. All of them are read
here and nowhere else: a role gets typed options that have been checked.

The class of each role is in a module of its own (`manager_options`, `referee_options`, `player_options`), because a
process has one role, and the classes take long to make. `settings_file` reads `league.toml`, which may hold the options
of all roles.
"""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from msgspec import Struct, structs

from league.hosting.settings import removed_options
from league.settings import LeagueSettings
from league.terminal import USAGE, CommandError, Parser, addresses
from league.terminal.addresses import LOOPBACK, MANAGER_VARIABLE, USUAL_MANAGER

if TYPE_CHECKING:
    from league.protocol.message.envelope import Profile
    from league.storage.transcripts.transcript import Mode

KEY_VARIABLE = "LEAGUE_ENROLMENT_KEY"
QUIET_VARIABLE = "LEAGUE_QUIET"
HELD_VARIABLE = "LEAGUE_UNTIL_STDIN_CLOSES"
"""For programs that start agents, which end with them."""

# --- kinds of values --------------------------------------------------------------------------------------------------


class Kind(Struct, frozen=True):
    """A kind of value. `types` are those it has in TOML, which knows more than text."""

    words: str
    read: Callable[[Any], Any]
    types: tuple[type, ...]
    placeholder: str
    is_list: bool = False


def _reach(text: str) -> tuple[str, ...]:
    from league.protocol.endpoints import read_reach  # imported here because few leagues need it

    return read_reach(text)


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
NAMES = Kind("a list of names", str, (str,), "NAME", is_list=True)
HOMES = Kind(
    "a player and its address such as P01=http://127.0.0.1:8101", addresses.player_home, (str,), "ID=URL", is_list=True
)
REACH = Kind(
    "local, lan or public, then networks (10.1.0.0/16), HOST or HOST:PORT after commas",
    _reach,
    (str,),
    "local|lan|public[,PLACE]",
)


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
        return removed_options.flag_of(self.flag_name or self.name)

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


# --- the options of every role ----------------------------------------------------------------------------------------

SHARED = "keep shared files for other tools in this folder"
PROFILE = "accept and record the habits of other agents (compat), or reject them (strict)"
PROFILES = ("compat", "strict")
STANDBY = "if another process writes the journal, wait until it has ended, then take over"
TLS_CERT = "serve https with this certificate (PEM, with the chain to its authority)"
TLS_KEY = "the key of --tls-cert, if it is in another file"


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
    standby: bool = option(FLAG, False, STANDBY)
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
    tls_cert: str = option(TEXT, "", TLS_CERT, placeholder="FILE")
    tls_key: str = option(TEXT, "", TLS_KEY, placeholder="FILE")
    quiet: bool = option(FLAG, False, "print problems only", variable=QUIET_VARIABLE, only_in_file=True)
    until_stdin_closes: bool = option(
        FLAG,
        False,
        "serve until stdin is closed, even after the end of the league",
        variable=HELD_VARIABLE,
        only_in_file=True,
    )
    given: frozenset[str] = frozenset()
    """The names of the options that were set, and not left at their defaults."""

    @classmethod
    def more_options(cls) -> Iterator[Option]:
        """The options of this role that are not fields of its class."""
        return iter(())

    @classmethod
    def completed(cls, values: dict[str, Any]) -> dict[str, Any]:
        """Return the values of the fields, given those of the options that were set."""
        return values

    @property
    def first_port(self) -> int:
        """The port to try first. If it was not set, the next free port will do, too."""
        return self.usual_port if self.port is None else self.port


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
    outbound: bool = option(
        FLAG,
        False,
        "listen nowhere: play through a mailbox at the manager, for machines that others can't reach",
    )
    name: str = option(TEXT, "", "the name to register under", placeholder="NAME")
    id: str = option(
        TEXT,
        "",
        "the id to ask the manager for, such as P03 or REF02; several count up from it",
        placeholder="ID",
    )
    count: int = option(WHOLE, 1, "run this many in one process, on consecutive ports", least=1)
    time_scale: float = option(
        NUMBER,
        1.0,
        "let time run this many times faster (for tests)",
        least=0.01,
        only_in_file=True,
    )
    shared: str = option(TEXT, "", SHARED, placeholder="DIR")
    tls_cert: str = option(TEXT, "", TLS_CERT, only_in_file=True)
    tls_key: str = option(TEXT, "", TLS_KEY, only_in_file=True)


AnyRole = TypeVar("AnyRole", bound=RoleOptions)


def options_of(role: type[RoleOptions]) -> tuple[Option, ...]:
    """The options of one role."""
    return (*options_in(role, (role.role,)), *role.more_options())


# --- the command line -------------------------------------------------------------------------------------------------


def configure(parser: Parser, role: type[RoleOptions], without: Container[str] = ()) -> None:
    """Add a role's options to a parser. None stands for an option that was not typed."""
    parser.usage = f"{parser.prog} [OPTIONS]"
    parser.removed_options = removed_options.flags(row for row in options_of(role) if row.only_in_file)
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


# --- reading ----------------------------------------------------------------------------------------------------------


def defaults(role: type[AnyRole]) -> AnyRole:
    """The options of a role if none is set."""
    return role()


def read(args: argparse.Namespace, role: type[AnyRole]) -> AnyRole:
    """Read all options of a role: from the command line, otherwise the environment, otherwise the file of --config."""
    stored: Mapping[str, Any] = {}
    if args.config:
        from league.hosting.settings import (
            settings_file,  # imported here because few processes have a file with settings
        )

        stored = settings_file.read(args.config, role)
    values: dict[str, Any] = {}
    for row in options_of(role):
        typed = None if row.only_in_file else getattr(args, row.name, None)
        if typed is not None:
            values[row.name] = checked_value(row, typed, row.flag, (str, bool))
        elif row.variable and os.environ.get(row.variable):
            values[row.name] = checked_value(row, os.environ[row.variable], row.variable, (str,))
        elif row.name in stored:
            values[row.name] = stored[row.name]
    # A member must listen where its manager can call it, so that depends on where the manager is.
    if issubclass(role, MemberOptions) and "host" not in values:
        values["host"] = addresses.on_route_to(addresses.first_of(values.get("manager", USUAL_MANAGER)))
    names = frozenset(values)
    return replace(defaults(role), **role.completed(values), given=names)


def checked_value(row: Option, raw: Any, where: str, types: tuple[type, ...]) -> Any:
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
