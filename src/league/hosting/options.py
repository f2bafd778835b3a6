"""What can be set, in one table: on the command line, in league.toml, or left at its default. The command line wins."""

from __future__ import annotations

import argparse
import math
import tomllib
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from league.hosting import USAGE, CommandError

ALL = ("manager", "referee", "player")


@dataclass(frozen=True, slots=True)
class Option:
    """One setting. `kind` reads its text; `choices`, `least` and `most` bound it; `commands` are those it is for."""

    name: str
    kind: Callable[[str], Any]
    default: Any
    help: str
    commands: tuple[str, ...] = ALL
    choices: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None
    only_in_file: bool = False

    @property
    def flag(self) -> str:
        return "--" + self.name.replace("_", "-")


_M, _R, _P = ("manager",), ("referee",), ("player",)
_SERVANTS = ("referee", "player")
PRESETS = ("local", "official")
PROFILES = ("compat", "strict")


def _numbers(text: str) -> tuple[float, ...]:
    return tuple(float(part) for part in text.split(","))


def _names(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(","))


def _address(text: str) -> str:
    """Of a manager; its path may be left out."""
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.port == 0:  # asking for a port may raise
        raise ValueError(text)
    return text if parts.path.strip("/") else f"{parts.scheme}://{parts.netloc}/mcp"


def _flag(text: str) -> bool:
    if text not in ("true", "false"):
        raise ValueError(text)
    return text == "true"


def _in_file(name: str, kind: Callable[[str], Any], default: Any, told: str, least: float | None = None) -> Option:
    return Option(name, kind, default, told, _M, least=least, only_in_file=True)


OPTIONS: tuple[Option, ...] = (
    Option("host", str, "127.0.0.1", "the address to listen at"),
    Option("port", int, None, "the port to listen at (default: 8000, 8001, 8101; 0: any free one)", ALL, (), 0, 65535),
    Option("manager", _address, "http://127.0.0.1:8000/mcp", "where the League Manager is", _SERVANTS),
    Option("name", str, "", "the name to register under", _SERVANTS),
    Option("id", str, "", "the id to ask the manager for, such as P03; several count on from it", _P),
    Option("players", int, 4, "how many players the league has", _M, least=2),
    Option("referees", int, 1, "how many referees it takes to start", _M, least=1),
    Option("game", str, "even_odd", "the game that is played", ("manager", "referee")),
    Option("game", str, "", "the game that is played (default: the player's own, else even_odd)", _P),
    Option("league_id", str, "", "the league's id (one is made from the date unless given)", _M),
    Option("rounds", int, None, "play only so many rounds of the schedule", _M, least=1),
    Option("double", _flag, False, "every pair meets twice", _M),
    Option("start", str, "when-full", "when the league starts: when-full, manual, or a time such as 18:30", _M),
    Option("preset", str, "local", "local: quick; official: a minute between announcement and play", _M, PRESETS),
    Option("move_seconds", float, 30.0, "how long a player may think about a move", _M, least=0.1),
    Option("endpoints", str, "local", "which addresses agents may register", _M, ("local", "lan", "public")),
    Option(
        "enrolment",
        str,
        "open",
        "who may register: anybody, referees with the key, or whom the operator approves",
        _M,
        ("open", "key", "approve"),
    ),
    Option("enrolment_key", str, "", "the key a referee registers with", ("manager", "referee")),
    Option("state", str, "", "the folder the admin token is kept in (default: the journal's)", _M),
    Option("max_referees", int, 10, "how many referees are taken", _M, least=1),
    Option("max_concurrent_matches", int, 2, "how many matches to run at once", _R, least=1),
    Option("strategy", str, "random", "a built-in strategy, or module:Class; several with commas take turns", _P),
    Option("seed", int, None, "make the choices of random strategies repeatable", _P),
    Option("count", int, 1, "so many of them in this process, on following ports", _SERVANTS, least=1),
    Option("time_scale", float, 1.0, "let time run so many times faster (for tests)", _SERVANTS, least=0.01),
    Option("journal", str, "", "where the journal is kept: a file or sqlite:///FILE"),
    Option("profile", str, "compat", "compat: habits of other agents are recorded; strict: refused", ALL, PROFILES),
    Option("transcript", str, "full", "which letters are kept beside the journal", ALL, ("full", "matches", "off")),
    Option("log", str, "", "a file for one JSON line per letter and event"),
    Option("shared", str, "", "a folder to keep the shared files in, for other tools"),
    Option("until_stdin_closes", _flag, False, "serve until stdin is closed, also when the league is over"),
    _in_file("announcement_lead_s", float, None, "seconds between announcement and play", least=0),
    _in_file("retry_delays_s", _numbers, (2.0, 2.0, 2.0), "pauses before the retries of a call", least=0),
    _in_file("standings_interval_s", float, 1.0, "least time between two standings updates", least=0),
    _in_file(
        "start_match_after_s", float, 15.0, "wait before a referee by others is given a match otherwise", least=0.1
    ),
    _in_file("unique_names", _flag, True, "is a name taken once somebody has it?"),
    _in_file("late_referees", _flag, True, "may a referee join a running league?"),
    _in_file("max_concurrent_matches_limit", int, 10, "the most a referee may offer", least=1),
    _in_file("tiebreakers", _names, ("points", "wins", "draws", "head_to_head"), "the order of the table"),
)


def options_of(command: str) -> Iterable[Option]:
    """The settings of one command."""
    return (one for one in OPTIONS if command in one.commands)


def configure(parser: argparse.ArgumentParser, command: str, without: Container[str] = ()) -> None:
    """Add a command's settings to its parser; None stands for "not said here"."""
    for one in options_of(command):
        if one.only_in_file or one.name in without:
            continue
        if one.kind is _flag:
            parser.add_argument(one.flag, action="store_true", default=None, help=one.help)
            continue
        shown = f" (default: {one.default})" if one.default not in (None, "") else ""
        parser.add_argument(one.flag, default=None, help=one.help + shown, choices=one.choices or None)
    parser.add_argument("--config", metavar="FILE", help="read settings from this file (league.toml)")


def settings_of(args: argparse.Namespace, command: str) -> dict[str, Any]:
    """Every setting of a command, with its value."""
    stored = _read_file(args.config) if args.config else {}
    _refuse_unknown(stored, args.config)
    values: dict[str, Any] = {}
    for one in options_of(command):
        said = None if one.only_in_file else getattr(args, one.name, None)
        if said is not None:
            values[one.name] = _checked(one, said if isinstance(said, bool) else _read(one, said, one.flag), one.flag)
        elif one.name in stored:
            where = f"{one.name} in {args.config}"
            values[one.name] = _checked(one, _fitting(one, stored[one.name], where), where)
        else:
            values[one.name] = one.default
    return values


def _read_file(name: str) -> Mapping[str, Any]:
    try:
        return tomllib.loads(Path(name).read_text("utf-8"))
    except OSError as error:
        raise CommandError(f"cannot read {name}: {error.strerror}", USAGE) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise CommandError(f"{name} is not TOML: {error}", USAGE) from error


def _refuse_unknown(stored: Mapping[str, Any], name: str | None) -> None:
    known = {one.name for one in OPTIONS}
    for key in stored:
        if key not in known:
            raise CommandError(f"{name}: there is no setting {key!r}; there are {', '.join(sorted(known))}", USAGE)


def _read(one: Option, text: str, where: str) -> Any:
    try:
        return one.kind(text)
    except ValueError as error:
        raise CommandError(f"{where}: {text!r} is not {_KINDS[one.kind]}", USAGE) from error


def _fitting(one: Option, value: Any, where: str) -> Any:
    """A value of league.toml, which has types of its own: "4" is no number there."""
    is_list = one.kind in (_numbers, _names)
    items = value if is_list and isinstance(value, list) else [] if is_list else [value]
    if not items or not all(type(item) in _TYPES[one.kind] for item in items):
        raise CommandError(f"{where}: {_shown(value)} is not {_KINDS[one.kind]}", USAGE)
    if is_list:
        return tuple(map(float, items)) if one.kind is _numbers else tuple(items)
    return _read(one, value, where) if one.kind is _address else float(value) if one.kind is float else value


def _checked(one: Option, value: Any, where: str) -> Any:
    if one.choices and value not in one.choices:
        raise CommandError(f"{where}: {value!r} is none of {', '.join(one.choices)}", USAGE)
    for number in value if isinstance(value, tuple) else (value,):
        if isinstance(number, float) and not math.isfinite(number):
            raise CommandError(f"{where}: {number} is no number to count with", USAGE)
        if one.least is not None and number < one.least:
            raise CommandError(f"{where}: must be at least {one.least:g}, not {number:g}", USAGE)
        if one.most is not None and number > one.most:
            raise CommandError(f"{where}: must be at most {one.most:g}, not {number:g}", USAGE)
    return value


def _shown(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else repr(value)


_KINDS: Mapping[Callable[[str], Any], str] = {
    int: "a whole number",
    float: "a number",
    str: "text in quotes",
    _address: "an address such as http://127.0.0.1:8000/mcp",
    _flag: "true or false",
    _numbers: "a list of numbers",
    _names: "a list of names",
}
_TYPES: Mapping[Callable[[str], Any], tuple[type, ...]] = {
    int: (int,),
    float: (int, float),
    str: (str,),
    _address: (str,),
    _flag: (bool,),
    _numbers: (int, float),
    _names: (str,),
}
