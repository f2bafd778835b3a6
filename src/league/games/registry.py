"""The games that can be played: the built-in ones, those of our own features, and those of other packages, which are
announced in the entry point group `league.games`. One entry may offer a family of games under its name as a prefix.

A package whose game cannot be used gets one sentence in `problems()`; the other games work all the same. A game is
imported when it is played: an agent plays one of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

from league import rows
from league.games.contract import Game, GameFamily

if TYPE_CHECKING:
    from importlib.metadata import Distribution, EntryPoint

GROUP: Final = "league.games"
BUILT_IN: Mapping[str, Game | str] = {
    "even_odd": "league.games.even_odd:GAME",
    "rock_paper_scissors": "league.games.rock_paper_scissors:GAME",
    "tic_tac_toe": "league.games.tic_tac_toe:GAME",
}
"""The games of the core, or where each of them is."""


PACKAGE: Final = "agent-league"
"""The distribution of our own games."""


_given: dict[str, Game] = {}


def name_of(game: str | Game) -> str:
    """The name of a game. A game that a script gives as an object is known to this process from then on."""
    if isinstance(game, str):
        return game
    if find(game.name) is not game:
        _given[game.name] = game
    return game.name


def given(name: str) -> Game | None:
    """The game that a script gave under this name; no other process knows it."""
    return _given.get(name)


def find(game_type: str) -> Game | None:
    if game_type in _given:
        return _given[game_type]
    # Our own games are found without looking at installed packages, which takes time.
    game = BUILT_IN.get(game_type) or _of_features().get(game_type)
    if isinstance(game, str):
        game = _load(game)
    if game is None:
        game = plug_ins().games.get(game_type)
    return game or _of_family(game_type)[0]


@cache
def _load(target: str) -> Game:
    game: Game = rows.load(target)
    return game


def rules_text(game_type: str) -> str:
    """The rules of a game in words; empty if it is not installed here."""
    game = find(game_type)
    return game.rules_text if game else ""


@cache
def _of_features() -> Mapping[str, str]:
    """The games of our own features, and where each of them is."""
    return {row.name: row.target for row in rows.own(rows.GameRow)}


def family_of(name: str) -> GameFamily | None:
    """The family that a game or one of its strategies belongs to by its prefix."""
    prefix, colon, _ = name.partition(":")
    return plug_ins().families.get(prefix) if colon else None


def _of_family(game_type: str) -> tuple[Game | None, str]:
    """The game of a family; or the reason why there is none."""
    family = family_of(game_type)
    if family is None:
        return None, ""
    try:
        return family.game(game_type), ""
    except (Exception, SystemExit) as error:  # noqa: BLE001 - other people's code, as in `load`
        return None, str(error)


def known() -> tuple[str, ...]:
    """The names of all games but those of families."""
    return (*BUILT_IN, *_of_features(), *sorted(plug_ins().games))


def listed() -> tuple[str, ...]:
    """The names of all games that can be played, as far as families list theirs."""
    return (*known(), *(name for family in plug_ins().families.values() for name in family.names()))


def summary() -> str:
    """The names of all games; a family has one for all of its own."""
    return ", ".join([*known(), *(f"{prefix}:…" for prefix in plug_ins().families)])


def every() -> Iterator[Game]:
    """All games but those of families."""
    return (game for game in map(find, known()) if game is not None)


def entry_of(game_type: str) -> str:
    """The name of the entry point that announces a game: its own, or the prefix of its family."""
    family = family_of(game_type)
    return family.prefix if family else game_type


def package_of(game_type: str) -> str:
    """The distribution that a game comes from."""
    return plug_ins().packages.get(entry_of(game_type), PACKAGE)


def problems() -> tuple[str, ...]:
    """One sentence for each announced game that cannot be used."""
    return plug_ins().problems


def why_unknown(game_type: str) -> str:
    """Explain that there is no such game: name the games there are, and those that cannot be used."""
    reason = _of_family(game_type)[1]
    if reason:
        return reason
    return "; ".join([f"there is no game {game_type!r}; there are {summary()}", *problems()])


class PlugIns(NamedTuple):
    """What installed packages announce."""

    games: Mapping[str, Game]
    problems: tuple[str, ...]
    packages: Mapping[str, str]
    """The package of each game and family."""
    families: Mapping[str, GameFamily]


@cache
def plug_ins() -> PlugIns:
    """The games of installed packages, looked up once; `plug_ins.cache_clear()` makes the next call look again."""
    return load(distributions())


def distributions() -> Iterable[Distribution]:
    """All installed packages."""
    from importlib import metadata  # imported here because few processes look at packages

    return metadata.distributions()


class Offer(NamedTuple):
    """A package announces a game."""

    package: str
    entry: EntryPoint


def load(installed: Iterable[Distribution]) -> PlugIns:
    games: dict[str, Game] = {}
    families: dict[str, GameFamily] = {}
    packages: dict[str, str] = {}
    sentences: list[str] = []
    for name, offers in sorted(_offers(installed, sentences).items()):
        try:
            offered = _offered(name, [offer.entry for offer in offers])
            if isinstance(offered, GameFamily):
                families[name] = offered
            else:
                games[name] = offered
            packages[name] = offers[0].package
        # Importing other people's code may do anything, even exit; a mistake there must not stop us.
        except (Exception, SystemExit) as error:  # noqa: BLE001
            origin = " and ".join(sorted({offer.package for offer in offers}))
            sentences.append(f"the game {name!r} of {origin} cannot be used: {_described(error)}")
    return PlugIns(games, tuple(sentences), packages, families)


def _offers(
    installed: Iterable[Distribution],
    sentences: list[str],
) -> dict[str, list[Offer]]:
    """The offers of each game, by its name. Adds a sentence for each package that cannot be read."""
    packages: dict[str, list[EntryPoint]] = {}
    for package in installed:
        try:
            entries = _entries(package)
        # Nothing in a package's metadata is sure to be well-formed, its name included.
        except Exception as error:  # noqa: BLE001
            sentences.append(f"the entry points of {_name(package)} cannot be read: {_described(error)}")
            continue
        if entries:
            # The first of two copies of a package counts, as it does when Python imports it.
            packages.setdefault(_name(package), entries)
    offers: dict[str, list[Offer]] = {}
    for name, entries in packages.items():
        for entry in entries:
            offers.setdefault(entry.name, []).append(Offer(name, entry))
    return offers


def _entries(package: Distribution) -> list[EntryPoint]:
    # Most packages announce no game: looking for the word first avoids parsing their files.
    if GROUP not in (package.read_text("entry_points.txt") or ""):
        return []
    return list(package.entry_points.select(group=GROUP))


def _name(package: Distribution) -> str:
    try:
        # Since Python 3.12 it is deprecated to ask for a field that is not there.
        if "Name" in package.metadata:
            return package.metadata["Name"]
    except (TypeError, ImportError):
        pass  # there is no metadata at all
    return "a package without a name"


def _offered(name: str, entries: list[EntryPoint]) -> Game | GameFamily:
    if name in BUILT_IN or name in _of_features():
        raise ValueError("a built-in game has this name")
    if len(entries) > 1:
        raise ValueError("the name is taken more than once")
    entry = entries[0]
    offered = entry.load()
    if not isinstance(offered, Game | GameFamily):
        raise TypeError(f"{entry.value} is not a league.games.contract.Game or GameFamily")
    own_name = offered.name if isinstance(offered, Game) else offered.prefix
    if own_name != name:
        raise ValueError(f"{entry.value} calls itself {own_name!r}")
    return offered


def _described(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"
