"""Third-party managers: small leagues, really run. What one answers, what ids it gives and how it assigns is data.

They ask once, believe every report of the referee they gave the match to, and keep a plain table.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any, Final, Literal

from tests.support.dialects import (
    BARE,
    BY_VERB,
    HALVES,
    MCP_SESSION,
    NESTED,
    NESTED_PROTOCOL,
    TOOLS,
    TOOLS_STRUCTURED,
    TYPE,
    TYPE_LOWER,
    TYPES_ONLY,
    VERBS_ONLY,
    by_method,
    tools,
    verb,
)
from tests.support.foreign_referees import CAPITALS, NUMBERED, SHORT, SMALL, Spelling
from tests.support.peer import Convention, Peer, Received
from tests.support.scripts import Object, on, refusal

LEAGUE_ID: Final = "league_2025_even_odd"
Kind = Literal["player", "referee"]


def _documented(kind: Kind, number: int) -> str:
    return f"P{number:02}" if kind == "player" else f"REF{number:02}"


def _hexadecimal(kind: Kind, number: int) -> str:
    return f"player_{number * 0x1071:04x}" if kind == "player" else f"ref_{number * 0xE56CA731 % 0xFFFFFFFF:08x}"


def _named(kind: Kind, number: int) -> str:
    return f"{kind}-{number}"


@dataclass(frozen=True, slots=True)
class Office:
    """How a manager goes about it."""

    status: Literal["ACCEPTED", "REGISTERED"] = "ACCEPTED"
    ids: Callable[[Kind, int], str] = _documented
    tokens: bool = True
    extras: bool = True
    """Its registration answers carry the envelope and the league."""
    assigns: tuple[str, str] | None = None
    """The message type and the method that give a referee its match; None: the announcement does."""
    is_polled: bool = False
    """Tells referees nothing of a match before they ask."""
    knows_lists: bool = True
    """It answers `get_assigned_matches`."""
    spelling: Spelling = CAPITALS
    endpoints: bool = True
    """Its announcements say where the players live."""
    rounds: str = "{}"
    """What it calls a round."""
    page: str = ""
    """Where it posts its assignments, without JSON-RPC."""
    referee_ids: bool = True
    """They say whose the matches are."""
    lists_homes: bool = False
    """Its list of matches says where the players live."""
    queries: frozenset[str] | None = None
    """The questions it knows; None: any."""
    counts: Literal["the result", "flat fields", "a map of players"] = "the result"
    """What it reads of a report; one without it counts for nothing."""


@dataclass(slots=True)
class Member:
    """A registered agent, and its row in the table."""

    kind: Kind
    member_id: str
    name: str
    endpoint: str
    tally: dict[str, int] = field(
        default_factory=lambda: dict.fromkeys(("played", "wins", "draws", "losses", "points"), 0)
    )

    @property
    def row(self) -> Object:
        """Its standings."""
        return {"player_id": self.member_id, "display_name": self.name, **self.tally}


@dataclass(frozen=True, slots=True)
class Fixture:
    """A match of a round."""

    match_id: str
    round_id: int
    players: tuple[Member, Member]
    referee: Member


@dataclass
class Manager(Peer):
    """A manager on the scripted peer."""

    role: Literal["player", "referee", "manager"] = "manager"
    office: Office = field(default_factory=Office)
    sender: str = "league_manager"
    members: list[Member] = field(default_factory=list)
    reports: dict[str, Object] = field(default_factory=dict)
    """What was reported of each match, the first that came."""
    agents_file: Path | None = None
    """Where it keeps a list of its members."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._fixtures: dict[str, Fixture] = {}
        self._news = asyncio.Condition()

    def play(self, players: int, referees: int = 1, rounds: int | None = None) -> Sequence[Object]:
        """A whole league with the first to register, from the registrations on; the final table."""
        try:
            return self._on_loop(self._league(players, referees, rounds))
        except TimeoutError:
            met = f"{[one.member_id for one in self.members]} registered, {[*self.reports]} were reported"
            saw = [(one.kind, one.method) for one in self.received]
            raise AssertionError(f"{self.name} does not get on: {met}; it saw {saw}") from None

    # --- answers ------------------------------------------------------------------------------------------------------

    async def _act(self, request: Received) -> None:
        asked = request.message
        if request.kind in _REGISTRATIONS:
            self._admit(_REGISTRATIONS[request.kind], asked)
        elif request.kind == "MATCH_RESULT_REPORT":
            self._book(asked)
        async with self._news:
            self._news.notify_all()

    def _admit(self, kind: Kind, asked: Object) -> None:
        meta = asked[f"{kind}_meta"]
        if self._known(meta["contact_endpoint"]) is None:
            number = len(self._all(kind)) + 1
            given = self.office.ids(kind, number)
            self.members.append(Member(kind, given, meta["display_name"], meta["contact_endpoint"]))
            if self.agents_file is not None:
                self.agents_file.parent.mkdir(parents=True, exist_ok=True)
                self.agents_file.write_text(json.dumps({"players": self._registrations()}), encoding="utf-8")

    def _known(self, endpoint: str) -> Member | None:
        return next((one for one in self.members if one.endpoint == endpoint), None)

    def _all(self, kind: Kind) -> list[Member]:
        return [one for one in self.members if one.kind == kind]

    def _book(self, asked: Object) -> None:
        fixture = self._fixtures.get(asked["match_id"])
        if fixture is None or fixture.match_id in self.reports:
            return
        ended = _COUNTED[self.office.counts](asked, fixture)
        is_misnamed = self.office.rounds != "{}" and asked.get("round_id") != self._named(fixture.round_id)
        if ended is None or is_misnamed:
            return
        self.reports[fixture.match_id] = asked
        for player, word in zip(fixture.players, ended, strict=True):
            column = {"WIN": "wins", "DRAW": "draws"}.get(word, "losses")
            player.tally[column] += 1
            player.tally["played"] += 1
            player.tally["points"] += {"wins": 3, "draws": 1, "losses": 0}[column]

    def honest(self, request: Received) -> Object:
        asked, kind = request.message, request.kind
        if kind in _REGISTRATIONS:
            return self._registered(request)
        if kind == "MATCH_RESULT_REPORT":
            answer = {**self._envelope("MATCH_RESULT_ACK"), "status": "ACCEPTED", "match_id": asked["match_id"]}
        elif kind == "LEAGUE_QUERY":
            answer = {**self._envelope("LEAGUE_QUERY_RESPONSE"), **self._asked(asked["query_type"])}
        elif kind == POLL and self.office.knows_lists:
            return {"matches": [self._assigned(one) for one in self._fixtures.values()]}
        else:
            return super().honest(request)
        return {**answer, "conversation_id": asked.get("conversation_id", "conv-none")}

    def _asked(self, query_type: str) -> Object:
        if self.office.queries is not None and query_type not in self.office.queries:
            wrong = {"error_code": "E029", "error_description": "INVALID_QUERY"}
            return {"query_type": query_type, "success": False, "error": wrong}
        data = {"standings": self._table(), "players": self._registrations()}
        if query_type == "GET_SCHEDULE":
            data = {"schedule": [self._scheduled(one) for one in self._fixtures.values()]}
        return {"query_type": query_type, "success": True, "data": data}

    def _registered(self, request: Received) -> Object:
        kind = _REGISTRATIONS[request.kind]
        member = self._known(request.message[f"{kind}_meta"]["contact_endpoint"])
        assert member is not None
        answer: Object = {"status": self.office.status, f"{kind}_id": member.member_id}
        if self.office.tokens:
            answer["auth_token"] = f"tok_{member.member_id}_constant"
        if not self.office.extras:
            return answer
        envelope = self._envelope(request.kind.replace("REQUEST", "RESPONSE"))
        return {**envelope, "league_id": LEAGUE_ID, "reason": None, **answer}

    def _table(self) -> list[Object]:
        rows = sorted((one.row for one in self._all("player")), key=lambda row: -row["points"])
        return [{"rank": rank, **row} for rank, row in enumerate(rows, 1)]

    def _registrations(self) -> list[Object]:
        return [{"player_id": one.member_id, "contact_endpoint": one.endpoint} for one in self._all("player")]

    def _scheduled(self, one: Fixture) -> Object:
        """A match of the schedule, as it is announced."""
        return {"round_id": one.round_id, **self._announced(one)}

    def _assigned(self, one: Fixture) -> Object:
        status = "COMPLETED" if one.match_id in self.reports else "PENDING"
        match = {"match_id": one.match_id, "round": one.round_id, "status": status}
        return {**match, **self._spelled(one, CAPITALS, endpoints=self.office.lists_homes)}

    # --- the league ---------------------------------------------------------------------------------------------------

    async def _league(self, players: int, referees: int, rounds: int | None) -> Sequence[Object]:
        await self._until(lambda: len(self._all("player")) >= players and len(self._all("referee")) >= referees)
        plan = _rounds(self._all("player"))[:rounds]
        for round_id, pairs in enumerate(plan, 1):
            await self._round(round_id, pairs, round_id < len(plan))
        table = self._table()
        champion = {name: table[0][name] for name in ("player_id", "display_name", "points")}
        totals = {"total_rounds": len(plan), "total_matches": len(self._fixtures)}
        await self._tell(self.members, "LEAGUE_COMPLETED", **totals, champion=champion, final_standings=table)
        return table

    async def _until(self, reached: Callable[[], bool]) -> None:
        async with self._news:
            await self._news.wait_for(reached)

    async def _round(self, round_id: int, pairs: Sequence[tuple[Member, Member]], more: bool) -> None:
        referees = self._all("referee")
        fixtures = [
            Fixture(f"R{round_id}M{number}", round_id, pair, referees[number % len(referees)])
            for number, pair in enumerate(pairs, 1)
        ]
        self._fixtures |= {one.match_id: one for one in fixtures}
        matches, named = [self._announced(one) for one in fixtures], self._named(round_id)
        await self._tell(self._all("player"), "ROUND_ANNOUNCEMENT", round_id=named, matches=matches)
        if self.office.is_polled:
            pass
        elif self.office.assigns is None:
            await self._tell(referees, "ROUND_ANNOUNCEMENT", round_id=named, matches=matches)
        else:
            await asyncio.gather(*(self._assign(one, *self.office.assigns) for one in fixtures))
        await self._until(lambda: all(one.match_id in self.reports for one in fixtures))
        await self._tell(self._all("player"), "LEAGUE_STANDINGS_UPDATE", round_id=named, standings=self._table())
        done = {"matches_completed": len(fixtures), "next_round_id": round_id + 1 if more else None}
        await self._tell(self._all("player"), "ROUND_COMPLETED", round_id=named, **done)

    def _named(self, round_id: int) -> object:
        return round_id if self.office.rounds == "{}" else self.office.rounds.format(round_id)

    def _announced(self, one: Fixture) -> Object:
        match: Object = {
            "match_id": one.match_id,
            "game_type": "even_odd",
            "referee_endpoint": one.referee.endpoint,
        }
        if self.office.referee_ids:
            match["referee_id"] = one.referee.member_id
        return {**match, **self._spelled(one, CAPITALS, self.office.endpoints)}

    def _spelled(self, one: Fixture, spelling: Spelling, endpoints: bool = True) -> Object:
        names, homes = spelling
        known: Object = {name: player.member_id for name, player in zip(names, one.players, strict=True)}
        if endpoints:
            known |= {home: player.endpoint for home, player in zip(homes, one.players, strict=True)}
        return known

    async def _assign(self, one: Fixture, kind: str, method: str) -> None:
        body: Object = {
            "match_id": one.match_id,
            "round_id": one.round_id,
            "league_id": LEAGUE_ID,
            "game_type": "even_odd",
        }
        body["round_id"] = self._named(one.round_id)
        assignment = {"message_type": kind, **body, **self._spelled(one, self.office.spelling)}
        if self.office.page:
            await self._post(one.referee.endpoint, replace(self.convention, path=self.office.page), assignment)
        else:
            await self._call(one.referee.endpoint, assignment, method)

    async def _tell(self, members: Sequence[Member], kind: str, **content: object) -> None:
        """To all at once; whoever does not hear it does not matter."""
        message = {"message_type": kind, "league_id": LEAGUE_ID, **content}
        calls = (self._call(one.endpoint, message) for one in members)
        for ended in await asyncio.gather(*calls, return_exceptions=True):
            if isinstance(ended, BaseException) and not isinstance(ended, OSError):
                raise ended


_REGISTRATIONS: Final[Mapping[str, Kind]] = {
    "LEAGUE_REGISTER_REQUEST": "player",
    "REFEREE_REGISTER_REQUEST": "referee",
}


def _by_result(asked: Object, fixture: Fixture) -> tuple[str, ...] | None:
    result = asked.get("result", asked)
    winner = result.get("winner", result.get("winner_id"))
    drawn = winner in (None, "DRAW") and result.get("details", {}).get("status") != "TECHNICAL_LOSS"
    return tuple("DRAW" if drawn else "WIN" if one.member_id == winner else "LOSS" for one in fixture.players)


def _by_flat_fields(asked: Object, fixture: Fixture) -> tuple[str, ...] | None:
    said = {asked.get(f"player_{letter}_id"): asked.get(f"player_{letter}_result") for letter in "ab"}
    return _words(said, fixture)


def _by_map(asked: Object, fixture: Fixture) -> tuple[str, ...] | None:
    return _words({one: row.get("result") for one, row in asked.get("players", {}).items()}, fixture)


def _words(said: Mapping[Any, Any], fixture: Fixture) -> tuple[str, ...] | None:
    words = tuple(str(said.get(one.member_id, "")) for one in fixture.players)
    return words if all(words) else None


_COUNTED: Final[Mapping[str, Callable[[Object, Fixture], tuple[str, ...] | None]]] = {
    "the result": _by_result,
    "flat fields": _by_flat_fields,
    "a map of players": _by_map,
}
"""How a match ended for each of its players, by the words a manager reads."""


def _rounds(players: Sequence[Member]) -> list[list[tuple[Member, Member]]]:
    """Every pair once, nobody twice in a round; in no good order."""
    rounds: list[list[tuple[Member, Member]]] = []
    for pair in combinations(players, 2):
        free = (one for one in rounds if not any(player in match for match in one for player in pair))
        found = next(free, None)
        if found is None:
            rounds.append(found := [])
        found.append(pair)
    return rounds


# --- who they are -----------------------------------------------------------------------------------------------------


def speaks(convention: Convention, **office: Any) -> Object:
    """A manager of this convention."""
    return {"convention": convention, "office": Office(**office)}


POLL: Final = "get_assigned_matches"
POLLED: Final = by_method({**BY_VERB, POLL: POLL}, verb, pings=True)
REFUSES_QUERIES: Final = on("LEAGUE_QUERY", refusal(-32601, "Method not found"))
_START: Final = ("START_MATCH", "start_match")
_ASSIGN: Final = ("MATCH_ASSIGNMENT", "assign_match")

ROWS: Final[Mapping[str, Object]] = {
    "SPEC": speaks(VERBS_ONLY),
    "SPEC, by message type": speaks(TYPES_ONLY, status="REGISTERED"),
    "TYPE": speaks(TYPE, status="REGISTERED", ids=_hexadecimal),
    "TYPE in small letters": speaks(TYPE_LOWER, tokens=False),
    "TOOLS": speaks(TOOLS, ids=_named),
    "TOOLS, structured": speaks(TOOLS_STRUCTURED, status="REGISTERED", tokens=False),
    "TOOLS in a session": speaks(MCP_SESSION),
    "NESTED": speaks(NESTED, ids=_hexadecimal),
    "NESTED, protocol/message": speaks(NESTED_PROTOCOL, tokens=False),
    "BARE": speaks(BARE, status="REGISTERED", ids=_named),
    "ids of other shapes": speaks(VERBS_ONLY, ids=_hexadecimal),
    "no token": speaks(VERBS_ONLY, status="REGISTERED", tokens=False),
    "few words": speaks(VERBS_ONLY, status="REGISTERED", ids=_hexadecimal, tokens=False, extras=False),
    "refuses queries": {**speaks(VERBS_ONLY), "script": REFUSES_QUERIES},
    "announces as the documents": speaks(VERBS_ONLY, endpoints=False, referee_ids=False),
    "announces as the documents, TYPE": speaks(TYPE, endpoints=False, ids=_hexadecimal),
    "lists addresses": {**speaks(POLLED, endpoints=False, lists_homes=True), "script": REFUSES_QUERIES},
    "start_match": speaks(VERBS_ONLY, assigns=_START),
    "start_match, numbered": speaks(VERBS_ONLY, assigns=_START, spelling=NUMBERED, endpoints=False),
    "assign_match": speaks(VERBS_ONLY, assigns=_ASSIGN, spelling=SMALL, ids=_hexadecimal),
    "START_MATCH": speaks(TYPE, assigns=_START, spelling=SHORT),
    "MATCH_ASSIGNMENT": speaks(TYPE, assigns=_ASSIGN, spelling=NUMBERED, tokens=False),
    "start_match, TOOLS": speaks(TOOLS, assigns=_START, spelling=NUMBERED),
    "MATCH_ASSIGNMENT, NESTED": speaks(NESTED, assigns=_ASSIGN, spelling=SMALL),
    "polled": speaks(POLLED, is_polled=True),
    "polled, TOOLS": speaks(tools({**BY_VERB, POLL: POLL}), is_polled=True),
    "MATCH_ASSIGNMENT, BARE": speaks(BARE, assigns=_ASSIGN, spelling=NUMBERED),
    "league.handle": speaks(HALVES),
    "start_match_command": speaks(VERBS_ONLY, assigns=("START_MATCH_COMMAND", "start_match_command"), spelling=SMALL),
    "rounds by name": speaks(VERBS_ONLY, rounds="R{}"),
    "rounds by name, start_match": speaks(VERBS_ONLY, rounds="Round {}", assigns=_START),
    "counts flat fields": speaks(VERBS_ONLY, counts="flat fields"),
    "counts a map of players": speaks(VERBS_ONLY, counts="a map of players"),
    "has a directory": speaks(VERBS_ONLY, endpoints=False, queries=frozenset({"GET_PLAYER_DIRECTORY"})),
    "posts to /MCP": speaks(replace(VERBS_ONLY, path="/MCP")),
    "POST /run_match": speaks(VERBS_ONLY, assigns=("RUN_MATCH", "run_match"), page="/run_match", spelling=SMALL),
}


MANAGERS: Final[Mapping[str, Callable[[], Manager]]] = {
    name: partial(Manager, name, **how) for name, how in ROWS.items()
}


# --- REST -------------------------------------------------------------------------------------------------------------

_OTHERS: Final = by_method({name: kind for name, kind in BY_VERB.items() if kind not in _REGISTRATIONS}, verb)


def _read_posted(call: Object) -> tuple[str, Object]:
    """The meta fields alone are a registration; who plays matches at once is a referee."""
    if "jsonrpc" in call:
        return _OTHERS.read(call)
    kind = "referee" if "max_concurrent_matches" in call else "player"
    message_type = next(one for one, known in _REGISTRATIONS.items() if known == kind)
    return "", {"message_type": message_type, f"{kind}_meta": call}


def rest_manager() -> Manager:
    """Takes registrations at /register only, and by their flat fields only."""
    posting = replace(
        _OTHERS,
        read=_read_posted,
        answer=lambda call, message: _OTHERS.answer(call, message) if "jsonrpc" in call else message,
        aside=lambda request, before: (
            None if request.head.startswith(b"POST /register ") else _OTHERS.aside(request, before)
        ),
    )
    return Manager("REST", convention=posting, office=Office(status="REGISTERED", extras=False))
