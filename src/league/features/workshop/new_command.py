"""`league new player` and `league new game`: write a folder with a player or a game that already plays, with its README
and its test.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import shutil
import sys
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Final

from league.terminal import USAGE, Command, CommandError, add_json_option, print_result
from league.terminal import tables as terminal

EXAMPLE = """\
examples:
  league new player my_player
  league new player my_player --sdk --name "Deep Thought"
  league new player my_player --language javascript
  league new player my_player --game connect_four
  league new game my_game

Without --sdk the player needs only its language: Python 3.11 or newer, or Node 22 or newer. With --sdk it is a few
lines of Python on top of this package, and so it is with --game. Starters for Even/Odd pass `league check player` as
they are. A comment in a starter shows where your strategy goes. A new game is a package of its own, with rules to
change into yours and tests that pass as it is."""
PLACEHOLDER: Final = '"My player"'
"""Every starter has this once, as a string that is the same in Python and JavaScript."""
DEFAULT_NAME: Final = "My player"
URL: Final = "http://127.0.0.1:8101/mcp"


@dataclass(frozen=True, slots=True)
class Starter:
    """A starter. `contents` maps each file to the folder among the starters that it comes from."""

    contents: Mapping[str, str]
    start: str
    test: str


_OUR_PYTHON = shlex.quote(sys.executable)
"""The Python that has this package; `python3` may be another one."""
PYTHON: Final = Starter(
    contents={"player.py": "python", "test_player.py": "python", "README.md": "python"},
    start="python3 player.py",
    test="python3 -m unittest",
)
PYTHON_SDK: Final = Starter(
    contents={"player.py": "python_sdk", "test_player.py": "python", "README.md": "python_sdk"},
    start=f"{_OUR_PYTHON} player.py",
    test=f"{_OUR_PYTHON} -m unittest",
)
ANY_GAME: Final = Starter(
    contents=dict.fromkeys(("player.py", "test_player.py", "README.md"), "any_game"),
    start=f"{_OUR_PYTHON} player.py",
    test=f"{_OUR_PYTHON} -m unittest",
)
EVEN_ODD: Final = "even_odd"
JAVASCRIPT: Final = Starter(
    contents={"player.mjs": "javascript", "player.test.mjs": "javascript", "README.md": "javascript"},
    start="node player.mjs",
    test="node --test",
)
GAME: Final = Starter(
    contents=dict.fromkeys(("league_my_game.py", "test_my_game.py", "pyproject.toml", "README.md"), "game"),
    start=f"{_OUR_PYTHON} -m pip install -e .",
    test=f"{_OUR_PYTHON} -m unittest",
)
GAME_PLACEHOLDER: Final = "my_game"
"""The name of the starter's game, in its files and in their names."""
LANGUAGES: Final[Mapping[str, Starter]] = {"python": PYTHON, "javascript": JAVASCRIPT}


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", choices=("player", "game"), help="what to write")
    parser.add_argument("folder", metavar="DIR", help="the folder to write to; it must be new or empty")
    parser.add_argument(
        "--language",
        choices=LANGUAGES,
        default="python",
        help="the language of the player (default: python)",
    )
    parser.add_argument("--sdk", action="store_true", help="build on this package (Python only)")
    parser.add_argument("--game", default=EVEN_ODD, help="the game that a player plays (default: even_odd)")
    parser.add_argument("--name", help="the name of the player or the game (default: the name of the folder)")
    add_json_option(parser)


def run(args: argparse.Namespace) -> int:
    if args.sdk and args.language != "python":
        raise CommandError("--sdk works only with --language python", USAGE)
    if args.game != EVEN_ODD:
        from league.hosting import require_game

        if args.language != "python" or args.what == "game":
            raise CommandError("--game is for players in Python", USAGE)
        require_game(args.game)
    folder = Path(args.folder)
    if args.what == "game":
        return _new_game(args, folder)
    name = _name(args.name, folder)
    starter = LANGUAGES[args.language]
    if args.sdk:
        starter = PYTHON_SDK
    if args.game != EVEN_ODD:
        starter = ANY_GAME
    contents = {file: _content(source, file, name) for file, source in starter.contents.items()}
    if args.game != EVEN_ODD:
        contents = {file: _about_game(text, args.game) for file, text in contents.items()}
    _write_or_refuse(folder, contents)
    document = {
        "folder": args.folder,
        "name": name,
        "language": args.language,
        "sdk": args.sdk or args.game != EVEN_ODD,
        "game": args.game,
        "files": list(contents),
        "start": starter.start,
        "test": starter.test,
    }
    print_result(args.json, document, _next_steps(folder, name, starter))
    return 0


def _new_game(args: argparse.Namespace, folder: Path) -> int:
    if args.sdk or args.language != "python":
        raise CommandError("a game is written in Python: --language and --sdk are for players", USAGE)
    name = _game_name(args.name, folder)
    contents = {}
    for file, source in GAME.contents.items():
        text = _starter_file(source, file)
        contents[file.replace(GAME_PLACEHOLDER, name)] = text.replace(GAME_PLACEHOLDER, name)
    _write_or_refuse(folder, contents)
    document = {
        "folder": args.folder,
        "name": name,
        "files": list(contents),
        "start": GAME.start,
        "test": GAME.test,
    }
    print_result(args.json, document, _game_steps(folder, name))
    return 0


def _game_name(chosen: str | None, folder: Path) -> str:
    """Return the name of a game: a word that messages, modules and packages can have."""
    from league.games import registry

    name = chosen or re.sub(r"[^a-z0-9]+", "_", folder.resolve().name.lower()).strip("_")
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,39}", name):
        detail = "the name of a game has up to 40 small letters, digits and _, and begins with a letter"
        raise CommandError(f"{detail}, not {terminal.plain(name)!r}; choose one with --name", USAGE)
    if registry.find(name) is not None:
        raise CommandError(f"there is a game {name} already; choose another name with --name", USAGE)
    return name


def _game_steps(folder: Path, name: str) -> Iterator[str]:
    yield f"{terminal.plain(folder)} has a new game, {name}: a race to 21, to be changed into yours. Next:"
    yield f"  cd {shlex.quote(str(folder))}"
    yield f"  {GAME.test}"
    yield f"  {GAME.start}"
    yield f"  league demo --game {name}"


def _name(chosen: str | None, folder: Path) -> str:
    """Return a name that managers accept. Two players of one league must not share a name."""
    from league.protocol.message.fields import RULES

    problem_with = RULES["display_name"]
    if chosen is None:
        # The name of a folder may be too long, for example; then the author will choose another one later.
        folder_name = folder.resolve().name
        return DEFAULT_NAME if problem_with(folder_name) else folder_name
    problem = problem_with(chosen)
    if problem is not None:
        raise CommandError(f"--name: {problem.detail}", USAGE)
    return chosen


def _starter_file(source: str, file: str) -> str:
    return files("league.features.workshop").joinpath("starters", source, file).read_text(encoding="utf-8")


def _content(source: str, file: str, name: str) -> str:
    text = _starter_file(source, file)
    # A JSON string is a string in Python and JavaScript, too.
    return text.replace(PLACEHOLDER, json.dumps(name, ensure_ascii=False))


def _about_game(text: str, name: str) -> str:
    """Fill in what the game says of itself."""
    from league.games import registry

    game = registry.find(name)
    assert game is not None, "it was required"
    rules = textwrap.fill(game.rules_text or "See its package for the rules.", 110)
    return text.replace("GAME_TITLE", game.shown_title).replace("GAME_RULES", rules).replace("GAME_NAME", name)


def _write_or_refuse(folder: Path, contents: Mapping[str, str]) -> None:
    try:
        _write(folder, contents)
    except OSError as error:
        raise CommandError(f"cannot write {terminal.plain(folder)}: {error.strerror or error}") from error


def _write(folder: Path, contents: Mapping[str, str]) -> None:
    """Write all files or none: they are written to a temporary folder first, and then moved."""
    exists = folder.exists()
    if exists and not folder.is_dir():
        raise CommandError(f"{terminal.plain(folder)} is not a folder; choose a new or empty folder")
    if exists and any(folder.iterdir()):
        raise CommandError(f"{terminal.plain(folder)} is not empty; choose a new or empty folder")
    target = folder.resolve()
    target.parent.mkdir(parents=True, exist_ok=True)
    # An empty folder is not replaced: it may be the working directory of a shell.
    scratch = target.parent / f".{target.name}-{os.getpid()}"
    if exists:
        scratch = target / f".new-{os.getpid()}"
    scratch.mkdir()
    try:
        for name, text in contents.items():
            (scratch / name).write_text(text, encoding="utf-8")
        if exists:
            for name in contents:
                (scratch / name).rename(target / name)
        else:
            scratch.rename(target)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _next_steps(folder: Path, name: str, starter: Starter) -> list[str]:
    steps = {}
    if folder.resolve() != Path.cwd():
        steps[f"cd {shlex.quote(str(folder))}"] = ""
    steps[starter.start] = f"start {name}; it says when it is ready"
    if starter is not ANY_GAME:  # the kit plays Even/Odd
        steps[f"league check player {URL}"] = "in another terminal: does it follow the rules?"
    steps[f"league spar {URL}"] = "in another terminal: play friendly matches"
    steps[starter.test] = "run its own test"
    width = max(map(len, steps)) + 2
    lines = [f"  {command:<{width}}{about}".rstrip() for command, about in steps.items()]
    return [
        f"{terminal.plain(folder)} is a player: {', '.join(starter.contents)}",
        "",
        *map(terminal.plain, lines),
        "",
        "A comment in the player shows where your strategy goes. README.md says how to join a league.",
    ]


COMMANDS = (
    Command(
        "new",
        "write a starter player or game that already plays, with its README and its test",
        EXAMPLE,
        configure,
        run,
    ),
)
