"""What the protocol adds to the fields of a game: the question to a player, and the game's own part of a report.

A game writes its details as one dict and reads the same dict when it judges a report. Fields that the protocol has no
name for travel in between as `game_details`, untouched.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from league.games.contract import SEATS, Game, Players, Seat
from league.protocol.message.parts import GameResult, ResultDetails
from league.protocol.safe_text import printable

OWN: Final = "game_details"
MOST_LINES: Final = 20
"""Maximum number of lines of talk in a question; the oldest are left out first."""
_KNOWN: Final = frozenset(GameResult.__struct_fields__) | frozenset(ResultDetails.__struct_fields__)


class Spoken(NamedTuple):
    """A line that a player said with its move."""

    turn: int
    seat: Seat
    text: str


def packed(fields: dict[str, object]) -> dict[str, object]:
    """A game's fields as they travel."""
    if fields.keys() <= _KNOWN:
        return fields
    own = {name: value for name, value in fields.items() if name not in _KNOWN}
    known = {name: value for name, value in fields.items() if name in _KNOWN}
    return {**known, OWN: own}


def unpacked(details: Mapping[str, object]) -> Mapping[str, object]:
    """The fields of a game as it wrote them, from what travelled."""
    own = details.get(OWN)
    if not isinstance(own, dict):
        return details
    return {**own, **details}


def talk_in(text: object, game: Game) -> str:
    """The line that a player says, as the other one may read it: one line, of printable text, as long as allowed."""
    if not game.talk or not isinstance(text, str):
        return ""
    line = " ".join(text.split())
    return printable(line[: game.talk])[: game.talk]


def spoken_in(details: Mapping[str, Any], players: Players) -> list[Spoken]:
    """The talk that a report tells of; lines that are not as they should be are left out."""
    lines = []
    for line in details.get("talk") or ():
        if isinstance(line, Mapping) and line.get("by") in players and isinstance(line.get("turn"), int):
            seat = SEATS[players.index(str(line["by"]))]
            lines.append(Spoken(line["turn"], seat, str(line.get("text"))))
    return lines


def heard_by(seat: Seat, talk: Sequence[Spoken], turn: int, players: Players) -> list[dict[str, object]]:
    """What the others said to this seat before this turn."""
    # Choices of one turn are made at the same time, and so is what is said with them.
    lines = [line for line in talk if line.seat != seat and line.turn < turn]
    return [
        {"turn": line.turn, "by": players[line.seat], "text": line.text, "foreign": True}
        for line in lines[-MOST_LINES:]
    ]


def move_request(
    game: Game,
    state: Any,
    seat: Seat,
    turn: int,
    talk: Sequence[Spoken],
    players: Players,
) -> dict[str, object] | None:
    """The question to a player: what the game asks, and its number, role and talk. None for Even/Odd.

    Whoever has the position and the talk before it gets exactly what the player was shown.
    """
    request = game.wire.move_request(state, seat)
    if request is None:
        return None
    context = request["context"]
    assert isinstance(context, dict)
    request = {**request, "context": {**context, "turn": turn}}
    role = game.rules.role(state, seat)
    if role:
        request["role"] = role
    if game.move_format:
        request["move_format"] = game.move_format
    if game.talk:
        request["talk"] = heard_by(seat, talk, turn, players)
        request["talk_limit"] = game.talk
    return request
