"""Recorded games, replayed: a change of what any game says or shows is seen here as a change of its file.

`python -m tests.games.test_playthroughs` plays the inputs of every file again and records what happens now. A new
playthrough is written as `title`, `inputs` and, if it ends in a technical loss, `pending`; recording adds the rest.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from examples.games.nim import league_nim
from league.features.games import connect_four, cop_and_thief, kuhn_poker
from league.games import even_odd, rock_paper_scissors, tic_tac_toe
from league.games.contract import SEATS, Game

FILES = Path(__file__).parent / "playthroughs"
GAMES = {
    game.name: game
    for game in (
        even_odd.GAME,
        rock_paper_scissors.GAME,
        tic_tac_toe.GAME,
        league_nim.GAME,
        connect_four.GAME,
        kuhn_poker.GAME,
        cop_and_thief.GAME,
    )
}
PLAYERS = ("P01", "P02")
# A recording is whatever JSON a game makes; its exact shape is what the files are there to hold.
Recording = dict[str, Any]


def seen(game: Game, state: object) -> Recording:
    """What everyone is told before the next move."""
    mover = game.rules.to_move(state)
    return {
        "to_move": mover.kind,
        "seats": list(mover.seats),
        "legal_moves": [list(game.rules.legal_moves(state, seat)) for seat in SEATS],
        "views": [game.rules.view(state, seat) for seat in SEATS],
        "move_requests": {PLAYERS[seat]: game.wire.move_request(state, seat) for seat in mover.seats},
    }


def after(game: Game, state: object, entered: Recording) -> object:
    """`entered`: the number drawn, or a move for each player that is to move."""
    if "drawn" in entered:
        return game.rules.draw(state, entered["drawn"])
    return game.rules.play(state, {SEATS[PLAYERS.index(player)]: move for player, move in entered.items()})


def ended(game: Game, state: object, pending: dict[str, str] | None) -> Recording:
    outcome, technical = game.rules.outcome(state), pending is not None
    assert (outcome is None) == technical, "a playthrough ends with an outcome or in a technical loss"
    open_phase = {SEATS[PLAYERS.index(player)]: move for player, move in (pending or {}).items()}
    details = game.wire.details(state, PLAYERS, technical, open_phase)
    verdict = game.wire.verdict(details, PLAYERS)
    return {
        "winner": None if outcome is None else outcome.winner,
        "points": None if outcome is None else list(game.scoring.points(outcome.winner, False, outcome.returns)),
        "reason": None if outcome is None else outcome.explanation(PLAYERS),
        "game_result": game.wire.game_result(state, PLAYERS, technical, open_phase),
        "details": details,
        "verdict": {"kind": verdict.kind, "winner": verdict.winner, "note": verdict.note},
    }


def played(game: Game, script: Recording) -> Recording:
    state = game.rules.start()
    steps = [seen(game, state)]
    for entered in script["inputs"]:
        state = after(game, state, entered)
        steps.append(seen(game, state))
    asked = {key: script[key] for key in ("title", "inputs", "pending") if key in script}
    return asked | {"steps": steps, "end": ended(game, state, script.get("pending"))}


def recorded(name: str) -> Recording:
    content: Recording = json.loads((FILES / f"{name}.json").read_text())
    return content


def replayed(name: str) -> Recording:
    game, content = GAMES[name], recorded(name)
    wire = game.wire
    return {
        "game": name,
        "turns": game.turns,
        "words": [wire.response_type, wire.move_type, wire.illegal_move],
        "playthroughs": [played(game, script) for script in content["playthroughs"]],
    }


@pytest.mark.parametrize("name", GAMES)
def test_a_recorded_game_goes_as_it_was_recorded(name: str) -> None:
    assert json.loads(json.dumps(replayed(name))) == recorded(name)


def test_every_recording_is_of_a_game() -> None:
    assert {file.stem for file in FILES.glob("*.json")} == set(GAMES)


def written(value: object, depth: int, margin: str = "") -> str:
    """JSON whose outer objects and arrays, `depth` of them, have a line for each of their elements."""
    inside = margin + " "
    if depth and isinstance(value, dict):
        pairs = (f"{json.dumps(key)}: {written(inner, depth - 1, inside)}" for key, inner in value.items())
        return "{\n" + ",\n".join(inside + pair for pair in pairs) + f"\n{margin}}}"
    if depth and value and isinstance(value, list):
        elements = (written(inner, depth - 1, inside) for inner in value)
        return "[\n" + ",\n".join(inside + element for element in elements) + f"\n{margin}]"
    return json.dumps(value)


if __name__ == "__main__":
    for known in GAMES:
        (FILES / f"{known}.json").write_text(written(replayed(known), depth=4) + "\n")
