"""A match as managers of others give it (spec section 13.5): START_MATCH and its like, in whatever spelling, read as
the announcement it stands for. The words are theirs, the values are judged like any others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from league.enrolment import Enrolment
from league.protocol.envelope import Reading, Unsealed, seal, unseal
from league.protocol.errors import Violation
from league.protocol.exchanges import Role
from league.protocol.judge import specs
from league.protocol.parts import AnnouncedMatch

Fields = Mapping[str, Any]
"""What came (Any: JSON of others)."""

_SEATS: Final = (
    ("player_A", ("player_A", "player_a", "player1", "player_1", "playerA")),
    ("player_B", ("player_B", "player_b", "player2", "player_2", "playerB")),
)
_HOMES: Final = ("_endpoint", "_url", "_contact_endpoint", "_address")
_IDS: Final = ("player_id", "id", "agent_id")
_ADDRESSES: Final = ("endpoint", "contact_endpoint", "player_endpoint", "url")
_KNOWN: Final = tuple(spec.name for spec in specs(AnnouncedMatch))
_MEMBERS: Final = (Role.REFEREE.value, Role.PLAYER.value)
_NUMBERED: Final = re.compile(r"\D{0,40}([0-9]{1,9})")
UNNAMED_LEAGUE: Final = "league"


def announcement_in(given: Fields, enrolment: Enrolment, now: float) -> Unsealed:
    """The announcement, to be opened like one that came as such. What a manager need not say, because it says it to us
    and means this game, is filled in."""
    fields = all_of(given)
    match = {name: fields[name] for name in _KNOWN if name in fields}
    match.setdefault("game_type", "even_odd")
    match |= {"referee_id": enrolment.agent_id, "referee_endpoint": enrolment.meta.contact_endpoint}
    for index, (seat, spellings) in enumerate(_SEATS):
        match |= _player(fields, seat, spellings, index)
    announcement = {
        **seal(_sender(fields), now, _text(fields, "conversation_id") or "conv-unknown"),
        "message_type": "ROUND_ANNOUNCEMENT",
        "auth_token": fields.get("auth_token"),
        "league_id": _text(fields, "league_id") or enrolment.league_id or UNNAMED_LEAGUE,
        "round_id": _round(fields),
        "matches": [match],
    }
    return unseal(announcement, Reading(), ("ROUND_ANNOUNCEMENT",))


def all_of(given: Fields) -> Fields:
    """What is said of a match, also one level deeper."""
    inner = given.get("match")
    return {**inner, **given} if isinstance(inner, dict) else given


def oddity(method: str) -> Violation:
    """What is to be recorded of a manager that assigns like this."""
    detail = f"a referee is given its matches by ROUND_ANNOUNCEMENT, not by {method}"
    return Violation("E036", "method", detail, "RPC.method", lenient=True)


def _round(fields: Fields) -> object:
    """Its number. Some name their rounds, such as "R1"; a name without a number in it is judged like any value."""
    said = fields.get("round_id", fields.get("round", fields.get("round_number", 1)))
    numbered = _NUMBERED.fullmatch(said) if isinstance(said, str) else None
    return int(numbered[1]) if numbered else said


def _sender(fields: Fields) -> str:
    """Whoever says that it is no manager is believed, and refused."""
    said = _text(fields, "sender") or ""
    return said if said.partition(":")[0] in _MEMBERS else Role.MANAGER.value


def _player(fields: Fields, seat: str, spellings: tuple[str, ...], index: int) -> dict[str, str]:
    player_id = next(_names(fields, spellings, index), None)
    home = next(_homes(fields, spellings, index, player_id), None)
    found = {f"{seat}_id": player_id, f"{seat}_endpoint": home}
    return {name: value for name, value in found.items() if value is not None}


def _names(fields: Fields, spellings: tuple[str, ...], index: int) -> Iterator[str]:
    for one in spellings:
        for name in (f"{one}_id", one):
            value = _text(fields, name)
            if value is not None:
                yield value
    for part in _objects(fields, spellings, index):
        yield from _texts(part, _IDS)
    listed = fields.get("players")
    if isinstance(listed, list) and index < len(listed) and isinstance(listed[index], str):
        yield listed[index]


def _homes(fields: Fields, spellings: tuple[str, ...], index: int, player_id: str | None) -> Iterator[str]:
    for one in spellings:
        yield from (value for ending in _HOMES if (value := _text(fields, one + ending)) is not None)
    for part in _objects(fields, spellings, index):
        yield from _texts(part, _ADDRESSES)
    if player_id is not None and (home := _text(endpoints_in(fields), player_id)) is not None:
        yield home


def endpoints_in(fields: Fields) -> Fields:
    """Where players live, by their ids."""
    by_id = fields.get("player_endpoints", fields.get("endpoints"))
    return by_id if isinstance(by_id, dict) else {}


def _objects(fields: Fields, spellings: tuple[str, ...], index: int) -> Iterator[Fields]:
    """A player as an object: under its seat, or in a list of both."""
    found = [fields.get(one) for one in spellings]
    listed = fields.get("players")
    if isinstance(listed, list):
        found += listed[index : index + 1]
    yield from (one for one in found if isinstance(one, dict))


def home_in(player: Fields) -> tuple[str, str] | None:
    """Who a registered player is and where it lives, if both are said."""
    meta = player.get("player_meta")
    fields = {**meta, **player} if isinstance(meta, dict) else player
    player_id, home = next(_texts(fields, _IDS), None), next(_texts(fields, _ADDRESSES), None)
    return None if player_id is None or home is None else (player_id, home)


def _texts(fields: Fields, names: tuple[str, ...]) -> Iterator[str]:
    return (value for name in names if (value := _text(fields, name)) is not None)


def _text(fields: Fields, name: str) -> str | None:
    value = fields.get(name)
    return value if isinstance(value, str) and value else None
