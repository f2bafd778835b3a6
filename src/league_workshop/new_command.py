"""`league new player`: a folder with a player that already plays, its README and its test."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import sys
from collections.abc import Mapping
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

Without --sdk a player needs nothing but its language: Python 3.11 or newer, or Node 22 or newer. With --sdk it is a
few lines of Python on top of this package. All of them pass `league check player` as they are; your strategy goes
where they say so."""
PLACEHOLDER: Final = '"My player"'
"""Stands once in every starter, as a string that Python and JavaScript read alike."""
USUAL_NAME: Final = "My player"


@dataclass(frozen=True, slots=True)
class Starter:
    """What one is made of: its files, each with the folder among the starters that it comes from."""

    contents: Mapping[str, str]
    start: str
    test: str


_OURS = shlex.quote(sys.executable)
"""The Python that has this package; `python3` may be another."""
PYTHON: Final = Starter(
    {"player.py": "python", "test_player.py": "python", "README.md": "python"},
    "python3 player.py",
    "python3 -m unittest",
)
PYTHON_SDK: Final = Starter(
    {"player.py": "python_sdk", "test_player.py": "python", "README.md": "python_sdk"},
    f"{_OURS} player.py",
    f"{_OURS} -m unittest",
)
JAVASCRIPT: Final = Starter(
    {"player.mjs": "javascript", "player.test.mjs": "javascript", "README.md": "javascript"},
    "node player.mjs",
    "node --test",
)
LANGUAGES: Final[Mapping[str, Starter]] = {"python": PYTHON, "javascript": JAVASCRIPT}


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", choices=("player",), help="what to write")
    parser.add_argument("folder", metavar="DIR", help="the folder to write it to: a new one, or an empty one")
    parser.add_argument("--language", choices=LANGUAGES, default="python", help="its language (default: python)")
    parser.add_argument("--sdk", action="store_true", help="in Python: build on this package")
    parser.add_argument("--name", help="the name it registers under (default: that of the folder)")
    add_json_option(parser)


def run(args: argparse.Namespace) -> int:
    if args.sdk and args.language != "python":
        raise CommandError("--sdk is for --language python", USAGE)
    folder = Path(args.folder)
    name = _name(args.name, folder)
    starter = PYTHON_SDK if args.sdk else LANGUAGES[args.language]
    try:
        _write(folder, {file: _content(source, file, name) for file, source in starter.contents.items()})
    except OSError as error:
        raise CommandError(f"cannot write {terminal.plain(folder)}: {error.strerror or error}") from error
    what = {"folder": args.folder, "name": name, "language": args.language, "sdk": args.sdk}
    made = {"files": list(starter.contents), "start": starter.start, "test": starter.test}
    print_result(args.json, {**what, **made}, _next_steps(folder, name, starter))
    return 0


def _name(given: str | None, folder: Path) -> str:
    """A name that managers take; two players of one league must not have the same."""
    from league.protocol.fields import RULES

    wrong = RULES["display_name"]
    if given is None:
        own = folder.resolve().name
        return USUAL_NAME if wrong(own) else own
    finding = wrong(given)
    if finding is not None:
        raise CommandError(f"--name: {finding.detail}", USAGE)
    return given


def _content(source: str, file: str, name: str) -> str:
    text = files("league_workshop").joinpath("starters", source, file).read_text(encoding="utf-8")
    return text.replace(PLACEHOLDER, json.dumps(name, ensure_ascii=False))


def _write(folder: Path, contents: Mapping[str, str]) -> None:
    """All files or none: they are written beside the folder first, and then take their place."""
    exists = folder.exists()
    if exists and (not folder.is_dir() or any(folder.iterdir())):
        what = "is not empty" if folder.is_dir() else "is no folder"
        raise CommandError(f"{terminal.plain(folder)} {what}; name a new folder, or an empty one")
    whole = folder.resolve()
    whole.parent.mkdir(parents=True, exist_ok=True)
    # An empty folder stays the one it is: somebody may stand in it.
    beside = whole / f".new-{os.getpid()}" if exists else whole.parent / f".{whole.name}-{os.getpid()}"
    beside.mkdir()
    try:
        for name, text in contents.items():
            (beside / name).write_text(text, encoding="utf-8")
        if exists:
            for name in contents:
                (beside / name).rename(whole / name)
        else:
            beside.rename(whole)
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _next_steps(folder: Path, name: str, starter: Starter) -> list[str]:
    url = "http://127.0.0.1:8101/mcp"
    there = {} if folder.resolve() == Path.cwd() else {f"cd {shlex.quote(str(folder))}": ""}
    steps = {
        **there,
        starter.start: f"starts {name}; it says when it is ready",
        f"league check player {url}": "in another terminal: does it keep the rules?",
        f"league spar {url}": "friendly matches",
        starter.test: "its own test",
    }
    width = max(map(len, steps)) + 2
    return [
        f"{terminal.plain(folder)} is a player: {', '.join(starter.contents)}",
        "",
        *(terminal.plain(f"  {command:<{width}}{told}".rstrip()) for command, told in steps.items()),
        "",
        "Your strategy goes where the player says so; README.md tells how to join a league.",
    ]


COMMANDS = (
    Command("new", "write a starter agent that already plays, with its README and its test", EXAMPLE, configure, run),
)
