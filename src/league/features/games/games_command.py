"""`league games`: every game that can be played here."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from league.games import registry
from league.games.contract import Game
from league.terminal import Command, add_json_option, print_result
from league.terminal import tables as terminal

EXAMPLE = """\
examples:
  league games
  league games --json
  league demo --game connect_four

Games of other packages are listed too: docs/how-to/add-a-game.md says how to write one."""
HEADS = ("game", "seats", "turns", "chance", "scored by", "plays well")


def configure(parser: argparse.ArgumentParser) -> None:
    add_json_option(parser)


def run(args: argparse.Namespace) -> int:
    games = filter(None, map(registry.find, registry.listed()))
    rows = [_row(game, registry.package_of(game.name)) for game in games]
    print_result(args.json, rows, _lines(rows))
    return 0


def _row(game: Game, package: str) -> dict[str, Any]:
    return {
        "name": game.name,
        "title": game.shown_title,
        "package": package,
        "seats": game.seats,
        "turns": game.turns,
        "simultaneous": has_step(game, "simultaneous"),
        "chance": has_step(game, "chance"),
        "scoring": "margin" if game.scoring.by_margin else "league points",
        "talk": game.talk,
        "strategies": sorted(game.strategies),
        "rules": game.rules_text,
    }


def has_step(game: Game, kind: str) -> bool:
    """Whether chance, or several players at once, move somewhere in a game that is played with its first options."""
    state = game.rules.start()
    # A game by somebody else may never end: then this loop does.
    for _ in range(4 * game.turns):
        mover = game.rules.to_move(state)
        if mover.kind == "nobody":
            break
        if mover.kind == kind or (kind == "simultaneous" and len(mover.seats) > 1):
            return True
        if mover.kind == "chance":
            # Without weights it draws a number from 1 to 10.
            possible = [number for number, weight in enumerate(mover.weights) if weight] or [1]
            state = game.rules.draw(state, possible[0])
        else:
            state = game.rules.play(
                state,
                {seat: game.rules.legal_moves(state, seat)[0] for seat in mover.seats},
            )
    return False


def _lines(rows: list[dict[str, Any]]) -> Iterator[str]:
    yield from terminal.table(HEADS, [_cells(row) for row in rows])
    yield "\nPlay one with `league demo --game NAME`, or compare strategies with `league tournament --game NAME`."
    # Packages that announce a game which cannot be used.
    yield from registry.problems()


def _cells(row: dict[str, Any]) -> list[object]:
    return [
        row["name"],
        row["seats"],
        row["turns"],
        "yes" if row["chance"] else "no",
        row["scoring"],
        ", ".join(row["strategies"]),
    ]


COMMANDS = (Command("games", "list the games that can be played here", EXAMPLE, configure, run),)
