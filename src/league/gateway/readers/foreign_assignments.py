"""Ways outside the documents to give a match to a referee (spec sections 13.4, 13.5).

A manager may send START_MATCH or MATCH_ASSIGNMENT, one match at a time, or answer GET_ASSIGNED_MATCHES with a list. Our
manager sends the first two to referees that know nothing else; our referee reads all three, in any spelling, as the
announcement they stand for. Only the spelling is free: the values are judged like those of an announcement.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, Final, NamedTuple

from msgspec import Struct, structs

from league.gateway.readers.foreign_json import Fields, as_object, deviation_from, first_text, flattened, text_in
from league.protocol.errors import Violation
from league.protocol.message.envelope import Reading, Unsealed, seal, unseal
from league.protocol.message.exchanges import Role
from league.protocol.message.fields import Ordinal, Seconds, Text, Token, Url, is_url
from league.protocol.message.messages import LeagueQuery, Message, Request
from league.protocol.message.parts import AnnouncedMatch

# --- the messages -----------------------------------------------------------------------------------------------------


class StartMatch(Request, kw_only=True, frozen=True, tag="START_MATCH"):
    """The players of a match and their addresses, in every spelling that referees look for."""

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
    """Return the players' ids and endpoints, in the order of their seats, by every name that referees look for."""
    fields: dict[str, str] = {}
    # Nobody can see from outside which spelling a referee looks for, so the message has them all.
    for letter, number, (player_id, endpoint) in zip("ab", "12", players, strict=True):
        for seat in (
            f"player_{letter.upper()}",
            f"player_{letter}",
            f"player{number}",
        ):
            fields[f"{seat}_id"] = player_id
            fields[f"{seat}_endpoint"] = endpoint
        fields[f"player_{letter}"] = player_id
    return fields


class GetAssignedMatches(Request, kw_only=True, frozen=True, tag="GET_ASSIGNED_MATCHES"):
    """The question of a referee to a manager that tells it nothing by itself."""

    type: ClassVar[str] = "GET_ASSIGNED_MATCHES"
    referee_id: Text
    league_id: Text | None = None


class FreeQuery(LeagueQuery, kw_only=True, frozen=True, tag="LEAGUE_QUERY"):
    """A query to a third-party manager: no document says how it is answered."""


VERBS = {
    "START_MATCH": ("start_match", "start_match_command", "run_match"),
    "MATCH_ASSIGNMENT": ("assign_match", "match_assignment"),
    "GET_ASSIGNED_MATCHES": ("get_assigned_matches",),
}
"""The names of the method for each."""


def is_answered_freely(sent: Message) -> bool:
    """Is it a question whose answer no document describes?"""
    return type(sent) in (GetAssignedMatches, FreeQuery)


# --- what others send, as an announcement -----------------------------------------------------------------------------


class _Seat(NamedTuple):
    """One of the two players of a match, as the announcement names it, and as others do."""

    order: int
    name: str
    spellings: tuple[str, ...]


class Home(NamedTuple):
    """A player, and its endpoint."""

    player_id: str
    endpoint: str


_SEATS: Final = (
    _Seat(
        0,
        "player_A",
        ("player_A", "player_a", "player1", "player_1", "playerA"),
    ),
    _Seat(
        1,
        "player_B",
        ("player_B", "player_b", "player2", "player_2", "playerB"),
    ),
)
_ENDINGS: Final = ("_endpoint", "_url", "_contact_endpoint", "_address")
_IDS: Final = ("player_id", "id", "agent_id")
_ADDRESSES: Final = ("endpoint", "contact_endpoint", "player_endpoint", "url")
_ANNOUNCED: Final = AnnouncedMatch.__struct_encode_fields__
_MEMBERS: Final = (Role.REFEREE.value, Role.PLAYER.value)
_NUMBERED: Final = re.compile(r"\D{0,40}([0-9]{1,9})")
UNNAMED_LEAGUE: Final = "league"
_DEEPEST_SCHEDULE: Final = 8
_MATCHES: Final = ("matches", "assigned_matches", "assignments")
_PLAYERS: Final = (
    "players",
    "registrations",
    "registered_players",
    "directory",
    "player_directory",
    "agents",
)
_WRAPPERS: Final = ("data", "result", "registrations")
_DONE: Final = frozenset(
    {
        "COMPLETED",
        "COMPLETE",
        "DONE",
        "FINISHED",
        "ENDED",
        "REPORTED",
        "CANCELLED",
        "CANCELED",
    }
)


_CURRENT: Final = frozenset({"CURRENT", "ACTIVE", "RUNNING", "IN_PROGRESS", "ONGOING", "STARTED", "ANNOUNCED"})
_CURRENT_ROUND: Final = ("current_round", "current_round_id", "active_round")


class Assignee(Struct, frozen=True):
    """The referee that a match is given to. A manager need not say this, because it says it to us."""

    referee_id: str
    endpoint: str
    league_id: str


def announcement_in(assigned: Fields, assignee: Assignee, now: float) -> Unsealed:
    """Read an assignment as an announcement, still to be judged like one. What the manager may leave out, because it
    talks to us about this game, is filled in."""
    fields = all_of(assigned)
    match = {name: fields[name] for name in _ANNOUNCED if name in fields}
    match.setdefault("game_type", "even_odd")
    match["referee_id"] = assignee.referee_id
    match["referee_endpoint"] = assignee.endpoint
    for seat in _SEATS:
        match |= _player(fields, seat)
    announcement = {
        **seal(
            _sender(fields),
            now,
            text_in(fields, "conversation_id") or "conv-unknown",
        ),
        "message_type": "ROUND_ANNOUNCEMENT",
        "auth_token": fields.get("auth_token"),
        "league_id": text_in(fields, "league_id") or assignee.league_id or UNNAMED_LEAGUE,
        "round_id": _round(fields),
        "matches": [match],
    }
    read = unseal(announcement, Reading(), ("ROUND_ANNOUNCEMENT",))
    return structs.replace(read, round_name=name_of_round(_round_as_given(fields)))


def all_of(match: Fields) -> Fields:
    """Return the fields of a match, including those one level deeper."""
    return flattened(match, "match")


def deviation(method: str) -> Violation:
    """Return the deviation of a manager that assigns like this."""
    detail = f"a referee gets its matches by ROUND_ANNOUNCEMENT, not by {method}"
    return deviation_from("RPC", "method", detail, "E036")


# --- rounds -----------------------------------------------------------------------------------------------------------


def number_in(name: object) -> int | None:
    """Return the number in a name such as "R1"; None if there is none."""
    # In Python a truth value is a number, too.
    if isinstance(name, int) and not isinstance(name, bool):
        return name
    if not isinstance(name, str):
        return None
    numbered = _NUMBERED.fullmatch(name)
    if numbered is None:
        return None
    return int(numbered[1])


def name_of_round(name: object) -> str:
    """Return the name of a round, if it is not just its number."""
    if not isinstance(name, str) or name.isdigit() or number_in(name) is None:
        return ""
    return name


def _round_as_given(fields: Fields) -> object:
    return fields.get("round_id", fields.get("round", fields.get("round_number", 1)))


def _round(fields: Fields) -> object:
    """Return the number of the round; a name without a number in it is judged like any value."""
    name = _round_as_given(fields)
    number = number_in(name)
    if number is None:
        return name
    return number


def _sender(fields: Fields) -> str:
    """Return the sender, which is the manager unless it says otherwise."""
    sender = text_in(fields, "sender") or ""
    # A player or referee that says what it is, is believed: so the announcement is refused.
    if sender.partition(":")[0] in _MEMBERS:
        return sender
    return Role.MANAGER.value


# --- players ----------------------------------------------------------------------------------------------------------


def _player(fields: Fields, seat: _Seat) -> dict[str, str]:
    """Return the id and the endpoint of a player, as far as they are said."""
    player: dict[str, str] = {}
    player_id = next(_ids(fields, seat), None)
    if player_id is not None:
        player[f"{seat.name}_id"] = player_id
    home = next(_homes(fields, seat, player_id), None)
    if home is not None:
        player[f"{seat.name}_endpoint"] = home
    return player


def _ids(fields: Fields, seat: _Seat) -> Iterator[str]:
    """Yield the player's id wherever it is said, the surest place first."""
    for spelling in seat.spellings:
        yield from _texts(fields, (f"{spelling}_id", spelling))
    for player in _objects(fields, seat):
        yield from _texts(player, _IDS)
    listed = _listed_player(fields, seat)
    if isinstance(listed, str):
        yield listed


def _homes(fields: Fields, seat: _Seat, player_id: str | None) -> Iterator[str]:
    """Yield the player's endpoint wherever it is said, the surest place first."""
    for spelling in seat.spellings:
        names = tuple(spelling + ending for ending in _ENDINGS)
        yield from _texts(fields, names)
    for player in _objects(fields, seat):
        yield from _texts(player, _ADDRESSES)
    if player_id is not None:
        yield from _texts(endpoints_in(fields), (player_id,))


def endpoints_in(fields: Fields) -> Fields:
    """Return the endpoints of players, by their ids."""
    by_id = fields.get("player_endpoints", fields.get("endpoints"))
    return as_object(by_id)


def _objects(fields: Fields, seat: _Seat) -> Iterator[Fields]:
    """Yield a player as an object: under its seat, or in a list of both."""
    for spelling in seat.spellings:
        player = fields.get(spelling)
        if isinstance(player, dict):
            yield player
    listed = _listed_player(fields, seat)
    if isinstance(listed, dict):
        yield listed


def _listed_player(fields: Fields, seat: _Seat) -> object:
    players = fields.get("players")
    if isinstance(players, list) and seat.order < len(players):
        return players[seat.order]
    return None


def home_in(player: Fields) -> Home | None:
    """Return the id and the endpoint of a registered player, if both are said."""
    fields = flattened(player, "player_meta")
    player_id = first_text(fields, _IDS)
    endpoint = first_text(fields, _ADDRESSES) or _at_said_port(fields)
    if player_id is None or endpoint is None:
        return None
    return Home(player_id, endpoint)


def _at_said_port(player: Fields) -> str | None:
    """Return the endpoint of a player for which only a port, and perhaps a host, is given."""
    port = player.get("port")
    if type(port) is not int:
        return None
    host = text_in(player, "host") or "127.0.0.1"
    return at_port(host, port)


def at_port(host: str, port: int) -> str:
    """Return the endpoint of an agent there, at the documents' path."""
    return f"http://{host}:{port}/mcp"


def _texts(fields: Fields, names: tuple[str, ...]) -> Iterator[str]:
    for name in names:
        text = text_in(fields, name)
        if text is not None:
            yield text


# --- lists ------------------------------------------------------------------------------------------------------------


def _places(answer: Fields) -> list[Fields]:
    """Return the answer, and the objects in it that may wrap a list."""
    places = [answer]
    for name in _WRAPPERS:
        wrapper = answer.get(name)
        if isinstance(wrapper, dict):
            places.append(wrapper)
    return places


def _listed(answer: Fields, names: tuple[str, ...]) -> list[Fields]:
    """Return the objects in the first list of such a name, in the answer or in one of its wrappers."""
    for place in _places(answer):
        # A wrapper may hold nothing but the list.
        for name in (*names, "result", "data"):
            rows = place.get(name)
            if isinstance(rows, list):
                return [row for row in rows if isinstance(row, dict)]
    return []


def _by_id(answer: Fields) -> Iterator[Fields]:
    """Yield the players of a directory by id, whose entries are addresses or objects with one."""
    for place in _places(answer):
        for name in _PLAYERS:
            directory = place.get(name)
            if not isinstance(directory, dict):
                continue
            for player_id, entry in directory.items():
                if isinstance(entry, dict):
                    yield {"player_id": player_id, **entry}
                else:
                    yield {"player_id": player_id, "endpoint": entry}


def addresses_in(answer: Fields) -> dict[str, str]:
    """Return the addresses of the players in an answer to one of ADDRESS_QUERIES, or in an `agents_config.json`."""
    addresses: dict[str, str] = {}
    for player in (*_by_id(answer), *_listed(answer, _PLAYERS)):
        home = home_in(player)
        if home is not None:
            addresses[home.player_id] = home.endpoint
    return addresses


def addresses_in_matches(answer: Fields) -> dict[str, str]:
    """Return the addresses of the players of the matches in an answer to `get_assigned_matches`."""
    addresses: dict[str, str] = {}
    for match in matches_in(answer):
        fields = all_of(match)
        for seat in _SEATS:
            player = _player(fields, seat)
            player_id = player.get(f"{seat.name}_id")
            home = player.get(f"{seat.name}_endpoint")
            if player_id is not None and home is not None:
                addresses[player_id] = home
    return addresses


def usable(addresses: Mapping[str, str]) -> dict[str, str]:
    """Return only those that really are URLs."""
    return {player: url for player, url in addresses.items() if is_url(url)}


def matches_in(answer: Fields) -> list[Fields]:
    """Return the matches in an answer to `get_assigned_matches`."""
    return _listed(answer, _MATCHES)


def schedule_in(answer: Fields) -> list[Fields]:
    """Return the matches of a schedule, in rounds or not, each with the round that it stands in."""
    matches: list[Fields] = []
    _collect_matches(answer, None, 0, matches)
    return matches


def _collect_matches(value: object, round_id: object, depth: int, matches: list[Fields]) -> None:
    if depth > _DEEPEST_SCHEDULE:
        return
    if isinstance(value, list):
        for element in value:
            _collect_matches(element, round_id, depth + 1, matches)
    elif isinstance(value, dict):
        named = value.get("round_id", value.get("round"))
        if isinstance(named, int | str):
            round_id = named
        if isinstance(value.get("match_id"), str):
            matches.append({**value, "round_id": round_id})
            return
        for element in value.values():
            _collect_matches(element, round_id, depth + 1, matches)


def rounds_in(schedule: list[Fields]) -> frozenset[int]:
    return frozenset(number_in(str(match["round_id"])) or 0 for match in schedule)


def rounds_needed(schedule: list[Fields]) -> int:
    """Return the rounds in which everybody in a schedule can meet everybody else."""
    players = {_player(all_of(match), seat).get(f"{seat.name}_id") for match in schedule for seat in _SEATS}
    return len(players) - 1 + len(players) % 2


def is_current(round_id: int, answer: Fields, matches: list[Fields]) -> bool:
    """Does the manager say that this round, with these matches, is being played?"""
    said = (place.get(name) for place in _places(answer) for name in _CURRENT_ROUND)
    if any(named is not None and number_in(str(named)) == round_id for named in said):
        return True
    return any(str(all_of(match).get("status")).upper() in _CURRENT for match in matches)


def names_no_referee(match: Fields) -> bool:
    """Does this match not say who plays it?"""
    fields = all_of(match)
    return fields.get("referee_id") is None and fields.get("referee_endpoint") is None


def is_wanted(match: Fields, referee_id: str) -> bool:
    """Is this match ours to play? Some list the matches of everybody, and those of long ago."""
    fields = all_of(match)
    status = fields.get("status")
    is_done = isinstance(status, str) and status.upper() in _DONE
    return not is_done and fields.get("referee_id") in (None, referee_id)
