"""How matches are given to a referee outside the documents (spec sections 13.4, 13.5): START_MATCH and its like, one
match at a time, or a list in answer to a question. Ours sends them to referees that know nothing else, and reads them,
in whatever spelling, as the announcement they stand for. The spelling is theirs, the values are judged like any others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from msgspec import structs

from league.machine import ADDRESS_QUERIES
from league.protocol.envelope import Reading, Unsealed, seal, unseal
from league.protocol.errors import Violation
from league.protocol.exchanges import Role
from league.protocol.fields import Ordinal, Seconds, Text, Token, Url, is_url
from league.protocol.judge import specs
from league.protocol.messages import LeagueQuery, Message, Request
from league.protocol.parts import AnnouncedMatch

# --- the messages -----------------------------------------------------------------------------------------------------


class StartMatch(Request, kw_only=True, frozen=True, tag="START_MATCH"):
    """Who plays and where they live, in every spelling that referees look for."""

    type: ClassVar[str] = "START_MATCH"
    league_id: Text
    round_id: Ordinal
    match_id: Text
    game_type: Text
    referee_id: Text
    referee_endpoint: Url
    attempt: Ordinal
    move_seconds: Seconds
    player_A_id: Text  # noqa: N815 - the announcement's spelling
    player_B_id: Text  # noqa: N815
    player_A_endpoint: Url  # noqa: N815
    player_B_endpoint: Url  # noqa: N815
    player_A_token: Token | None = None  # noqa: N815
    player_B_token: Token | None = None  # noqa: N815
    player_A_other_tokens: list[Text] | None = None  # noqa: N815
    player_B_other_tokens: list[Text] | None = None  # noqa: N815
    player_a_id: Text
    player_b_id: Text
    player_a: Text
    player_b: Text
    player_a_endpoint: Url
    player_b_endpoint: Url
    player1_id: Text
    player2_id: Text
    player1_endpoint: Url
    player2_endpoint: Url


class MatchAssignment(StartMatch, kw_only=True, frozen=True, tag="MATCH_ASSIGNMENT"):
    """The same under its other name."""

    type: ClassVar[str] = "MATCH_ASSIGNMENT"


def spelled_out(players: Sequence[tuple[str, str]]) -> dict[str, str]:
    """The players' ids and endpoints, in the order of their seats, by every name that referees look for."""
    fields: dict[str, str] = {}
    for letter, number, (player_id, endpoint) in zip("ab", "12", players, strict=True):
        seats = (f"player_{letter.upper()}", f"player_{letter}", f"player{number}")
        fields |= {f"{seat}_id": player_id for seat in seats} | {f"{seat}_endpoint": endpoint for seat in seats}
        fields[f"player_{letter}"] = player_id
    return fields


class GetAssignedMatches(Request, kw_only=True, frozen=True, tag="GET_ASSIGNED_MATCHES"):
    """What a referee asks a manager that tells it nothing by itself."""

    type: ClassVar[str] = "GET_ASSIGNED_MATCHES"
    referee_id: Text
    league_id: Text | None = None


VERBS = {
    "START_MATCH": ("start_match", "start_match_command", "run_match"),
    "MATCH_ASSIGNMENT": ("assign_match", "match_assignment"),
    "GET_ASSIGNED_MATCHES": ("get_assigned_matches",),
}
"""The methods each is called by."""


def is_answered_freely(sent: Message) -> bool:
    """Is it a question whose answer no document describes?"""
    if type(sent) is LeagueQuery:
        return sent.query_type in ADDRESS_QUERIES
    return type(sent) is GetAssignedMatches


# --- what others send, as an announcement -----------------------------------------------------------------------------

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
_ID_AND_HOME: Final = 2
UNNAMED_LEAGUE: Final = "league"
_MATCHES: Final = ("matches", "assigned_matches", "assignments")
_PLAYERS: Final = ("players", "registrations", "registered_players", "directory", "player_directory", "agents")
_WRAPPERS: Final = ("data", "result", "registrations")
_DONE: Final = frozenset({"COMPLETED", "COMPLETE", "DONE", "FINISHED", "ENDED", "REPORTED", "CANCELLED", "CANCELED"})


@dataclass(frozen=True, slots=True)
class Assignee:
    """Whom a match is given to: what a manager need not say, because it says it to us."""

    referee_id: str
    endpoint: str
    league_id: str


def announcement_in(given: Fields, assignee: Assignee, now: float) -> Unsealed:
    """The announcement, to be opened like one that came as such. What a manager need not say, because it says it to us
    and means this game, is filled in."""
    fields = all_of(given)
    match = {name: fields[name] for name in _KNOWN if name in fields}
    match.setdefault("game_type", "even_odd")
    match |= {"referee_id": assignee.referee_id, "referee_endpoint": assignee.endpoint}
    for index, (seat, spellings) in enumerate(_SEATS):
        match |= _player(fields, seat, spellings, index)
    announcement = {
        **seal(_sender(fields), now, _text(fields, "conversation_id") or "conv-unknown"),
        "message_type": "ROUND_ANNOUNCEMENT",
        "auth_token": fields.get("auth_token"),
        "league_id": _text(fields, "league_id") or assignee.league_id or UNNAMED_LEAGUE,
        "round_id": _round(fields),
        "matches": [match],
    }
    read = unseal(announcement, Reading(), ("ROUND_ANNOUNCEMENT",))
    return structs.replace(read, round_name=name_of_round(_said_round(fields)))


def all_of(given: Fields) -> Fields:
    """What is said of a match, also one level deeper."""
    inner = given.get("match")
    return {**inner, **given} if isinstance(inner, dict) else given


def deviation(method: str) -> Violation:
    """What is recorded of a manager that assigns like this."""
    detail = f"a referee is given its matches by ROUND_ANNOUNCEMENT, not by {method}"
    return Violation("E036", "method", detail, "RPC.method", lenient=True)


def number_in(said: object) -> int | None:
    """The number in a name such as "R1"; None if there is none."""
    if isinstance(said, int) and not isinstance(said, bool):
        return said
    numbered = _NUMBERED.fullmatch(said) if isinstance(said, str) else None
    return int(numbered[1]) if numbered else None


def name_of_round(said: object) -> str:
    """What a round is called, if not by its number."""
    return said if isinstance(said, str) and not said.isdigit() and number_in(said) is not None else ""


def _said_round(fields: Fields) -> object:
    return fields.get("round_id", fields.get("round", fields.get("round_number", 1)))


def _round(fields: Fields) -> object:
    """Its number; a name without a number in it is judged like any value."""
    said = _said_round(fields)
    number = number_in(said)
    return said if number is None else number


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
    player_id, home = next(_texts(fields, _IDS), None), next(_texts(fields, _ADDRESSES), None) or _at_port(fields)
    return None if player_id is None or home is None else (player_id, home)


def _at_port(player: Fields) -> str | None:
    """The address of a player of which only the port, perhaps with its host, is said."""
    port = player.get("port")
    return at_port(_text(player, "host") or "127.0.0.1", port) if type(port) is int else None


def at_port(host: str, port: int) -> str:
    """The endpoint of an agent there, at the documents' path."""
    return f"http://{host}:{port}/mcp"


def _texts(fields: Fields, names: tuple[str, ...]) -> Iterator[str]:
    return (value for name in names if (value := _text(fields, name)) is not None)


def _text(fields: Fields, name: str) -> str | None:
    value = fields.get(name)
    return value if isinstance(value, str) and value else None


# --- lists ------------------------------------------------------------------------------------------------------------


def _places(answer: Fields) -> list[Fields]:
    """The answer, and what it may be wrapped in."""
    return [answer, *(inner for one in _WRAPPERS if isinstance(inner := answer.get(one), dict))]


def _listed(answer: Fields, names: tuple[str, ...]) -> list[Fields]:
    """The objects in the first list of such a name, in the answer or in what it is wrapped in."""
    # A wrapper may hold nothing but the list.
    found = [place.get(name) for place in _places(answer) for name in (*names, "result", "data")]
    rows = next((one for one in found if isinstance(one, list)), [])
    return [one for one in rows if isinstance(one, dict)]


def _by_id(answer: Fields) -> Iterator[Fields]:
    """The players of a directory that is kept by their ids: an address each, or an object with one."""
    for directory in (place.get(name) for place in _places(answer) for name in _PLAYERS):
        for player_id, said in directory.items() if isinstance(directory, dict) else ():
            yield {"player_id": player_id, **(said if isinstance(said, dict) else {"endpoint": said})}


def addresses_in(answer: Fields) -> dict[str, str]:
    """Where the players in an answer to one of ADDRESS_QUERIES live, or in an `agents_config.json`."""
    rows = (*_by_id(answer), *_listed(answer, _PLAYERS))
    return dict(home for one in rows if (home := home_in(one)) is not None)


def addresses_in_matches(answer: Fields) -> dict[str, str]:
    """Where the players of the matches in an answer to `get_assigned_matches` live."""
    found: dict[str, str] = {}
    for given in matches_in(answer):
        fields = all_of(given)
        for index, (seat, spellings) in enumerate(_SEATS):
            player = _player(fields, seat, spellings, index)
            if len(player) == _ID_AND_HOME:
                found[player[f"{seat}_id"]] = player[f"{seat}_endpoint"]
    return found


def usable(addresses: Mapping[str, str]) -> dict[str, str]:
    """Those that are addresses at all."""
    return {player: url for player, url in addresses.items() if is_url(url)}


def matches_in(answer: Fields) -> list[Fields]:
    """The matches in an answer to `get_assigned_matches`."""
    return _listed(answer, _MATCHES)


def is_wanted(given: Fields, referee_id: str) -> bool:
    """Is this match ours to play? Some list the matches of everybody, and those of long ago."""
    fields = all_of(given)
    status = fields.get("status")
    is_done = isinstance(status, str) and status.upper() in _DONE
    return not is_done and fields.get("referee_id") in (None, referee_id)
