"""The games that can be played: the built-in ones, and those announced in the entry point group `league.games`.

A package whose game cannot be used gets one sentence in `problems()`; the other games work all the same.
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
    # Built-in games are found without looking at installed packages, which takes time.
    return BUILT_IN.get(game_type) or plug_ins().games.get(game_type)


def known() -> tuple[str, ...]:
    """The names of all games that can be played."""
    return (*BUILT_IN, *sorted(plug_ins().games))


def problems() -> tuple[str, ...]:
    """One sentence for each announced game that cannot be used."""
    return plug_ins().problems


def why_unknown(game_type: str) -> str:
    """Explain that there is no such game: name the games there are, and those that cannot be used."""
    names = ", ".join(known())
    return "; ".join([f"there is no game {game_type!r}; there are {names}", *problems()])


@dataclass(frozen=True, slots=True)
class PlugIns:
    games: Mapping[str, Game]
    problems: tuple[str, ...]


@cache
def plug_ins() -> PlugIns:
    """The games of installed packages, looked up once; `plug_ins.cache_clear()` makes the next call look again."""
    return load(distributions())


@dataclass(frozen=True, slots=True)
class Offer:
    """A package announces a game."""

    package: str
    entry: EntryPoint


def load(installed: Iterable[Distribution]) -> PlugIns:
    games: dict[str, Game] = {}
    sentences: list[str] = []
    for name, offers in sorted(_offers(installed, sentences).items()):
        try:
            games[name] = _game(name, [offer.entry for offer in offers])
        # Importing other people's code may do anything, even exit; a mistake there must not stop us.
        except (Exception, SystemExit) as error:  # noqa: BLE001
            packages = " and ".join(sorted({offer.package for offer in offers}))
            sentences.append(f"the game {name!r} of {packages} cannot be used: {_described(error)}")
    return PlugIns(games, tuple(sentences))


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


def _game(name: str, entries: list[EntryPoint]) -> Game:
    if name in BUILT_IN:
        raise ValueError("a built-in game has this name")
    if len(entries) > 1:
        raise ValueError("the name is taken more than once")
    entry = entries[0]
    game = entry.load()
    if not isinstance(game, Game):
        raise TypeError(f"{entry.value} is not a league.games.contract.Game")
    if game.name != name:
        raise ValueError(f"{entry.value} calls itself {game.name!r}")
    return game


def _described(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"
