"""Rows: the plain data by which a feature extends the core.

A feature is a package that holds everything about one subject: commands, pages, tools, strategies, templates. It
exposes one `FEATURE`, made of rows. The command line, the HTTP server and the MCP tables of the core are made of such
rows, and the core imports no feature.

A row holds texts only. A target such as `"league.features.kit.check_command:COMMANDS"` is imported when its row is
used, so a feature costs nothing until somebody asks for it.

Looking up entry points takes as long as all of `league --version`. So `make generate` writes the rows of our own
features into `rows.json`. Features of other distributions are announced by the entry point group
`league.features`; they are looked up for names that the table does not have, for completion, and by a manager that
starts to serve.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, TypeVar, get_args

from msgspec import Struct, structs

ENTRY_POINTS = "league.features"
TABLE = "rows.json"
"""The file beside this one with the rows of our own features, written by `make generate`."""


class CommandRow(Struct, frozen=True, order=True):
    """A command of `league`, in its group of `league --help`."""

    name: str
    group: str
    module: str
    """It has a tuple `COMMANDS` of `league.terminal.Command`, one of which has this name."""


class ScriptRow(Struct, frozen=True, order=True):
    """A name of the package `league`, for scripts: `league.NAME`."""

    name: str
    target: str


class ViewRow(Struct, frozen=True, order=True):
    """Something to see of a league: the page `/api/NAME`, the same from a journal, an MCP tool and an MCP resource.

    `observe` takes the manager and must be quick, because the league waits for it. `work_out` takes what was observed,
    in a thread of its own, and may take long. `document` turns the result into JSON.
    """

    name: str
    title: str
    about: str
    observe: str
    work_out: str
    document: str


class SectionRow(Struct, frozen=True, order=True):
    """A section of the league page, made of the view of the same name.

    `parts` takes the view's result, or None while it is being worked out, and returns a `Section`
    (`league.features.dashboard.sections`). `templates` is the package whose folder `templates` has `NAME_section.html`,
    the section itself, and `NAME_parts.html`, a macro for each of its parts.
    """

    view: str
    parts: str
    templates: str


class PagesRow(Struct, frozen=True, order=True):
    """Pages that a manager serves beside `/mcp` and `/api`. `open` takes the running league and returns the pages."""

    open: str


class FollowerRow(Struct, frozen=True, order=True):
    """Writes files while an agent works. `open` takes the folder, or None and the journal's location."""

    open: str


class DoorRow(Struct, frozen=True, order=True):
    """Answers MCP clients. `open` takes the hosted agent and returns its door; `describe` names what answers."""

    open: str
    describe: str


class ExportRow(Struct, frozen=True, order=True):
    """A format of `league export`. `export` takes the manager and all journals and yields files."""

    format: str
    about: str
    export: str
    needs_letters: bool = False
    is_one_file: bool = False
    """It yields one file, and `--to` names that file instead of a folder."""


class StrategyRow(Struct, frozen=True, order=True):
    """A strategy for `league player --strategy NAME`.

    `make` takes the player's options and returns a `league.hosting.member.players.Entrant`. `options` names a dataclass
    that declares options of the strategy's own (`hosting.settings.options.option`); they are added to the command line.
    """

    name: str
    about: str
    make: str
    options: str = ""
    needs_server: bool = False
    """True if it plays only for a player that is served."""
    chosen_by: str = ""
    """The option of its own that chooses it, where `--strategy` is not given."""


class GameRow(Struct, frozen=True, order=True):
    """A game of ours outside the core. Packages of others announce theirs in the entry point group `league.games`."""

    name: str
    target: str
    """A `league.games.contract.Game` of this name."""


Row = (
    CommandRow | ScriptRow | ViewRow | SectionRow | PagesRow | FollowerRow | DoorRow | ExportRow | StrategyRow | GameRow
)
AnyRow = TypeVar("AnyRow", bound=Row)


class Feature(Struct, frozen=True):
    """A feature's name and rows. `page` is its page of the documentation."""

    name: str
    about: str
    page: str
    rows: tuple[Row, ...]


def load(target: str) -> Any:
    """Import the target `module:attribute` of a row. Any: each kind of row names something else."""
    from importlib import import_module

    module, _, attribute = target.partition(":")
    return getattr(import_module(module), attribute)


def own(kind: type[AnyRow]) -> Iterator[AnyRow]:
    """The rows of this kind in our own features."""
    return (row for feature in own_features() for row in feature.rows if isinstance(row, kind))


@cache
def own_features() -> tuple[Feature, ...]:
    """Our own features, read from the table."""
    import json
    from pathlib import Path

    kinds: dict[str, Any] = {kind.__name__: kind for kind in get_args(Row)}
    features = []
    for name, about, page, rows in json.loads(Path(__file__).with_name(TABLE).read_text("utf-8")):
        made = tuple(kinds[kind](*fields) for kind, *fields in rows)
        features.append(Feature(name, about, page, made))
    return tuple(features)


def every(kind: type[AnyRow]) -> Iterator[AnyRow]:
    """The rows of this kind in all installed features. If two rows have the same name, ours comes first and counts."""
    names = set()
    for row in own(kind):
        names.add(_key(row))
        yield row
    for feature in _by_others().features:
        for other in feature.rows:
            if isinstance(other, kind) and _key(other) not in names:
                names.add(_key(other))
                yield other


def _key(row: Row) -> str:
    """The first field of a row, which no other row of its kind may have."""
    key: str = structs.astuple(row)[0]
    return key


def problems() -> tuple[str, ...]:
    """A sentence for each installed feature that cannot be used."""
    return _by_others().problems


class _Others(Struct, frozen=True):
    features: tuple[Feature, ...]
    problems: tuple[str, ...]


@cache
def _by_others() -> _Others:
    """The features of other distributions. A broken one is left out and does no harm to the rest."""
    from importlib.metadata import entry_points

    own_names = {feature.name for feature in own_features()}
    features: list[Feature] = []
    problems: list[str] = []
    for point in entry_points(group=ENTRY_POINTS):
        if point.name in own_names:
            continue  # our own features are in the table already
        try:
            feature = point.load()
        except Exception as error:  # noqa: BLE001 - third-party code may fail in any way
            problems.append(f"the feature {point.name!r} cannot be used: {type(error).__name__}: {error}")
            continue
        if isinstance(feature, Feature):
            features.append(feature)
        else:
            problems.append(f"the feature {point.name!r} cannot be used: {point.value} is not a league.rows.Feature")
    return _Others(tuple(features), tuple(problems))
