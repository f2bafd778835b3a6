"""Which games there are: the built-in ones, and those announced in the entry point group `league.games`.

A package whose game cannot be used is named in one sentence of `problems()`; the others work all the same.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import Distribution, EntryPoint, distributions
from typing import Final

from league.games import even_odd, rock_paper_scissors, tic_tac_toe
from league.games.contract import Game

GROUP: Final = "league.games"
BUILT_IN: Final[Mapping[str, Game]] = {
    game.name: game for game in (even_odd.GAME, rock_paper_scissors.GAME, tic_tac_toe.GAME)
}


def find(game_type: str) -> Game | None:
    return BUILT_IN.get(game_type) or plug_ins().games.get(game_type)


def known() -> tuple[str, ...]:
    return (*BUILT_IN, *sorted(plug_ins().games))


def problems() -> tuple[str, ...]:
    """One sentence for each announced game that cannot be used."""
    return plug_ins().problems


def why_unknown(game_type: str) -> str:
    """Why there is no such game: which there are, and what keeps others from being used."""
    return "; ".join([f"there is no game {game_type!r}; there are {', '.join(known())}", *problems()])


@dataclass(frozen=True, slots=True)
class PlugIns:
    games: Mapping[str, Game]
    problems: tuple[str, ...]


@cache
def plug_ins() -> PlugIns:
    """What is installed, looked up once; `plug_ins.cache_clear()` makes the next question look again."""
    return load(distributions())


def load(installed: Iterable[Distribution]) -> PlugIns:
    games: dict[str, Game] = {}
    announced, wrong = _announced(installed)
    for name, offers in sorted(announced.items()):
        packages = " and ".join(sorted({package for package, _ in offers}))
        try:
            games[name] = _game(name, [entry for _, entry in offers])
        # Importing other people's code may do anything, even exit; a mistake there must not stop us.
        except (Exception, SystemExit) as error:  # noqa: BLE001
            wrong.append(f"the game {name!r} of {packages} cannot be used: {_described(error)}")
    return PlugIns(games, tuple(wrong))


Announced = dict[str, list[tuple[str, EntryPoint]]]
"""The name of a game -> who announces it."""


def _announced(installed: Iterable[Distribution]) -> tuple[Announced, list[str]]:
    """Of two copies of a package the first counts, as it does when Python imports it."""
    packages: dict[str, list[EntryPoint]] = {}
    wrong: list[str] = []
    for package in installed:
        try:
            entries = _entries(package)
        # Nothing in a package's metadata is sure to be well-formed, its name included.
        except Exception as error:  # noqa: BLE001
            wrong.append(f"the entry points of {_name(package)} cannot be read: {_described(error)}")
            continue
        if entries:
            packages.setdefault(_name(package), entries)
    announced: Announced = {}
    for name, entries in packages.items():
        for entry in entries:
            announced.setdefault(entry.name, []).append((name, entry))
    return announced, wrong


def _entries(package: Distribution) -> list[EntryPoint]:
    # Most packages announce no game: looking for the word first spares parsing their files.
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


def _game(name: str, entries: list[EntryPoint]) -> Game:
    if name in BUILT_IN:
        raise ValueError("a built-in game has this name")
    if len(entries) > 1:
        raise ValueError("the name is taken more than once")
    game = entries[0].load()
    if not isinstance(game, Game):
        raise TypeError(f"{entries[0].value} is not a league.games.contract.Game")
    if game.name != name:
        raise ValueError(f"{entries[0].value} calls itself {game.name!r}")
    return game


def _described(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"
