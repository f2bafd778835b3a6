"""Third-party referees: they run real Even/Odd matches. How one learns of them and what it reports is data.

They invite by the documents' verbs, ask once and never again, and believe what they are told.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import cycle
from typing import Any, Final, Literal
from urllib.parse import urlsplit

from tests.support.dialects import (
    BARE,
    HALVES,
    NESTED,
    TYPE,
    TYPES_ONLY,
    VERBS_ONLY,
    by_method,
    http_status,
    structured,
    tools,
    verb,
)
from tests.support.peer import SPEC, Convention, Peer, Received, Sent
from tests.support.scripts import Object, Reaction

DRAWS: Final = (3, 8, 5, 10, 2, 7)
POLL_S: Final = 0.1


# --- how it learns of a match -----------------------------------------------------------------------------------------


Spelling = tuple[tuple[str, str], tuple[str, str]]
"""The names of the fields that say who plays, and where they live."""


def _spelling(a: str, b: str, suffix: str = "_id") -> Spelling:
    return (f"{a}{suffix}", f"{b}{suffix}"), (f"{a}_endpoint", f"{b}_endpoint")


CAPITALS: Final = _spelling("player_A", "player_B")
SMALL: Final = _spelling("player_a", "player_b")
SHORT: Final = _spelling("player_a", "player_b", "")
NUMBERED: Final = _spelling("player1", "player2")


def by_id(referee: Referee, match: Object) -> bool:
    return bool(match.get("referee_id") == referee.agent_id)


def by_endpoint(referee: Referee, match: Object) -> bool:
    return bool(match.get("referee_endpoint") == referee.endpoint)


def by_port(referee: Referee, match: Object) -> bool:
    return urlsplit(str(match.get("referee_endpoint"))).port == referee.port


@dataclass(frozen=True, slots=True)
class Report:
    """What it says of a match; as the documents want it, but for this."""

    winner: str = "winner"
    draw: str | None = None
    """The winner of a draw."""
    points: tuple[int, int] = (3, 1)
    """For a win, for a draw."""
    details: bool = True
    status: bool = True
    flat: bool = False
    """Everything beside the match, by the players' letters."""
    mapped: bool = False
    """Everything beside the match, in a map of the players."""
    rounds: str = "{}"
    """What it calls a round."""


@dataclass(frozen=True, slots=True)
class Trade:
    """How a referee goes about it."""

    filters: Callable[[Referee, Object], bool] | None = None
    """Which matches of a ROUND_ANNOUNCEMENT are its own; None: it does not look there."""
    assignments: frozenset[str] = frozenset()
    """The messages that give it a match."""
    polls: bool = False
    """Asks for its matches, and for the players' addresses."""
    spelling: Spelling = CAPITALS
    answers: Literal["at once", "when over"] = "at once"
    at_once: int = 2
    """So many matches; what comes on top is refused."""
    report: Report = field(default_factory=Report)
    invites: Convention = SPEC
    """How it speaks to players."""


# --- matches ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Match:
    """A match to be played."""

    match_id: str
    round_id: object
    league_id: object
    players: tuple[str, str]
    endpoints: tuple[str, str]


@dataclass(frozen=True, slots=True)
class Outcome:
    """A match that was played. A number that was not drawn is a technical loss."""

    match: Match
    choices: tuple[str | None, str | None]
    number: int | None

    @property
    def parity(self) -> str | None:
        return None if self.number is None else ("even", "odd")[self.number % 2]

    @property
    def winner(self) -> str | None:
        """Whoever named the parity alone, or was there alone."""
        right = [choice is not None if self.parity is None else choice == self.parity for choice in self.choices]
        return None if right[0] == right[1] else self.match.players[right[1]]

    @property
    def status(self) -> str:
        """The documents' word for it."""
        if self.number is None:
            return "TECHNICAL_LOSS"
        return "WIN" if self.winner else "DRAW"

    def told(self) -> Object:
        """GAME_OVER, without its envelope."""
        result = {"status": self.status, "winner_player_id": self.winner, "number_parity": self.parity, **self._facts()}
        result["reason"] = f"the number was {self.number}"
        return {"match_id": self.match.match_id, "game_type": "even_odd", "game_result": result}

    def points(self, how: Report) -> dict[str, int]:
        """What it thinks the match was worth."""
        win, draw = how.points
        if self.status == "DRAW":
            return dict.fromkeys(self.match.players, draw)
        return {player: win if player == self.winner else 0 for player in self.match.players}

    def reported(self, how: Report) -> Object:
        """MATCH_RESULT_REPORT, without its envelope."""
        winner = how.draw if self.status == "DRAW" else self.winner
        named = self.match.round_id if how.rounds == "{}" else how.rounds.format(self.match.round_id)
        known = {"match_id": self.match.match_id, "round_id": named}
        if how.mapped:
            return {**known, "drawn_number": self.number, "players": self._by_players(how)}
        if how.flat:
            return {**known, how.winner: winner, "drawn_number": self.number, **self._by_letters()}
        result: Object = {how.winner: winner, "score": self.points(how)}
        if how.details:
            result["details"] = {**self._facts(), **({"status": self.status} if how.status else {})}
        return {**known, "league_id": self.match.league_id, "game_type": "even_odd", "result": result}

    def _facts(self) -> Object:
        return {"drawn_number": self.number, "choices": dict(zip(self.match.players, self.choices, strict=True))}

    def _by_players(self, how: Report) -> Object:
        points = self.points(how)
        said = {one: "DRAW" if self.status == "DRAW" else "WIN" if one == self.winner else "LOSS" for one in points}
        chosen = zip(self.match.players, self.choices, strict=True)
        return {one: {"choice": choice, "score": points[one], "result": said[one]} for one, choice in chosen}

    def _by_letters(self) -> Object:
        flat: Object = {}
        for letter, player, choice in zip("ab", self.match.players, self.choices, strict=True):
            said = "DRAW" if self.status == "DRAW" else "WIN" if player == self.winner else "LOSS"
            flat |= {f"player_{letter}_id": player, f"player_{letter}_choice": choice}
            flat[f"player_{letter}_result"] = said
        return flat


# --- the referee ------------------------------------------------------------------------------------------------------


@dataclass
class Referee(Peer):
    """A referee on the scripted peer."""

    role: Literal["player", "referee", "manager"] = "referee"
    trade: Trade = field(default_factory=Trade)
    outcomes: list[Outcome] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    """The matches it had no time for."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._draws: Iterator[int] = cycle(DRAWS)
        self._running: set[str] = set()
        self._players: dict[str, str] = {}

    async def _enter_league(self, manager: str, meta: Mapping[str, object]) -> Sent:
        sent = await super()._enter_league(manager, {"max_concurrent_matches": self.trade.at_once, **meta})
        if self.trade.polls and self.agent_id:
            self.begin(self._poll())
        return sent

    async def _act(self, request: Received) -> None:
        trade, asked = self.trade, request.message
        if request.kind in trade.assignments:
            await self._take(asked, trade.answers == "when over")
        elif request.kind == "ROUND_ANNOUNCEMENT" and trade.filters is not None:
            for match in asked["matches"]:
                if trade.filters(self, match):
                    await self._take({**asked, **match}, wait=False)

    def honest(self, request: Received) -> Object:
        if request.kind in self.trade.assignments and request.message["match_id"] in self.refused:
            self.refused.remove(request.message["match_id"])
            return {"status": "REJECTED", "reason": "one match at a time"}
        return super().honest(request)

    async def _take(self, asked: Object, wait: bool) -> None:
        """Begin the match that this message speaks of, unless it is known."""
        match = self._match(asked)
        if match.match_id in self._running or any(one.match.match_id == match.match_id for one in self.outcomes):
            return
        if len(self._running) >= self.trade.at_once and self.trade.assignments:
            self.refused.append(match.match_id)
            return
        self._running.add(match.match_id)
        if wait:
            await self._play(match)
        else:
            self.begin(self._play(match))

    def _match(self, asked: Object) -> Match:
        names, homes = self.trade.spelling
        a, b = (str(asked[name]) for name in names)
        at_a, at_b = (
            str(asked.get(home) or self._players.get(one, "")) for home, one in zip(homes, (a, b), strict=True)
        )
        round_id = asked.get("round_id", asked.get("round"))
        return Match(asked["match_id"], round_id, asked.get("league_id"), (a, b), (at_a, at_b))

    async def _play(self, match: Match) -> None:
        joins = await asyncio.gather(*(self._ask(match, side, "GAME_INVITATION") for side in (0, 1)))
        choices: list[str | None] = [None, None]
        if all(join.get("accept") is True for join in joins):
            said = await asyncio.gather(*(self._ask(match, side, "CHOOSE_PARITY_CALL") for side in (0, 1)))
            given = [one.get("parity_choice") for one in said]
            choices = [one if one in ("even", "odd") else None for one in given]
        number = next(self._draws) if None not in choices else None
        outcome = Outcome(match, (choices[0], choices[1]), number)
        self.outcomes.append(outcome)
        await asyncio.gather(*(self._ask(match, side, "GAME_OVER", outcome.told()) for side in (0, 1)))
        report = {"message_type": "MATCH_RESULT_REPORT", **outcome.reported(self.trade.report)}
        await self._call(self._manager, report)
        self._running.discard(match.match_id)

    async def _ask(self, match: Match, side: int, kind: str, content: Object | None = None) -> Object:
        """What a player answers; {} if it does not."""
        about = {"message_type": kind, "conversation_id": f"conv-{match.match_id}", "match_id": match.match_id}
        asked = {**about, **(content or _question(match, side))}
        try:
            sent = await self._call(match.endpoints[side], asked, convention=self.trade.invites)
        except OSError:
            return {}
        return self.trade.invites.hear(sent.json)

    async def _poll(self) -> None:
        while not self.requests("LEAGUE_COMPLETED"):
            asked = {"referee_id": self.agent_id}
            given = self.convention.hear((await self._call(self._manager, asked, "get_assigned_matches")).json)
            for match in given.get("matches", ()):
                if match.get("status") not in ("COMPLETED", "RUNNING"):
                    await self._look_up()
                    await self._take(match, wait=False)
            await asyncio.sleep(POLL_S)

    async def _look_up(self) -> None:
        query = {"message_type": "LEAGUE_QUERY", "query_type": "GET_REGISTRATIONS", "query_params": {}}
        answer = self.convention.hear((await self._call(self._manager, query)).json)
        for player in answer["data"]["players"]:
            self._players[player["player_id"]] = player["contact_endpoint"]


def _question(match: Match, side: int) -> Object:
    where = {"opponent_id": match.players[1 - side], "round_id": match.round_id}
    record = {"wins": 0, "losses": 0, "draws": 0, "points": 0}
    seat = {"player_id": match.players[side], "role_in_match": ("PLAYER_A", "PLAYER_B")[side]}
    asked = {"league_id": match.league_id, "game_type": "even_odd", "deadline": "2099-01-01T00:00:00Z"}
    return {**asked, **seat, **where, "context": {**where, "your_standings": record}}


# --- who they are -----------------------------------------------------------------------------------------------------

_NAMES: Final = {
    "start_match": "START_MATCH",
    "assign_match": "ASSIGN_MATCH",
    "notify_league_completed": "LEAGUE_COMPLETED",
}
METHODS: Final = by_method(_NAMES, verb, pings=True)
"""Knows these and no broadcast but the last."""
MATCH_TOOLS: Final = tools(_NAMES)
_COMMAND: Final = {"start_match_command": "START_MATCH", "notify_league_completed": "LEAGUE_COMPLETED"}


def _run_match() -> Convention:
    """Takes matches at a page of its own, without JSON-RPC, and has nothing anywhere else but its pulse."""
    own = by_method({}, verb, http_status(404), pings=True)

    def read(call: Object) -> tuple[str, Object]:
        return own.read(call) if "jsonrpc" in call else ("", {**call, "message_type": "START_MATCH"})

    def aside(request: Received, before: Sequence[Received]) -> Reaction | None:
        if request.head.startswith(b"POST /run_match "):
            return None
        return own.aside(request, before) if "jsonrpc" in request.call else http_status(404)(request.call)

    return replace(own, read=read, aside=aside, answer=lambda _, message: message, request=SPEC.request)


RUN_MATCH: Final = _run_match()


def announced(filters: Callable[[Referee, Object], bool], convention: Convention = VERBS_ONLY, **report: Any) -> Object:
    """Learns of its matches by announcements."""
    return {"convention": convention, "trade": Trade(filters=filters, report=Report(**report))}


def assigned(by: str, convention: Convention, spelling: Spelling = CAPITALS, **trade: Any) -> Object:
    """Learns of its matches one by one."""
    return {"convention": convention, "trade": Trade(assignments=frozenset({by}), spelling=spelling, **trade)}


ROWS: Final[Mapping[str, Object]] = {
    "announced, by id": announced(by_id),
    "announced, by endpoint": announced(by_endpoint, TYPE),
    "announced, by port": announced(by_port, TYPES_ONLY),
    "announced, by id, NESTED": announced(by_id, NESTED),
    "announced, by endpoint, BARE": announced(by_endpoint, BARE),
    "start_match": assigned("START_MATCH", METHODS),
    "start_match, when over": assigned("START_MATCH", METHODS, SMALL, answers="when over"),
    "start_match, one at a time": assigned("START_MATCH", METHODS, NUMBERED, at_once=1),
    "start_match, one by one": assigned("START_MATCH", METHODS, SHORT, at_once=1, answers="when over"),
    "assign_match": assigned("ASSIGN_MATCH", METHODS, SMALL),
    "START_MATCH, TYPE": assigned("START_MATCH", TYPE, SHORT),
    "MATCH_ASSIGNMENT, TYPE": assigned("MATCH_ASSIGNMENT", TYPE, NUMBERED),
    "MATCH_ASSIGNMENT, BARE": assigned("MATCH_ASSIGNMENT", BARE, NUMBERED),
    "start_match, TOOLS": assigned("START_MATCH", MATCH_TOOLS, NUMBERED),
    "start_match, MCP": assigned(
        "START_MATCH", tools(_NAMES, structured, handshake=True), NUMBERED, answers="when over"
    ),
    "assign_match, TOOLS": assigned("ASSIGN_MATCH", MATCH_TOOLS, SMALL, at_once=1),
    "polls": {"convention": VERBS_ONLY, "trade": Trade(polls=True)},
    "polls, TOOLS": {"convention": tools({}), "trade": Trade(polls=True)},
    "a draw is DRAW": announced(by_id, draw="DRAW"),
    "winner_id": announced(by_id, winner="winner_id"),
    "flat": announced(by_id, winner="winner_id", flat=True),
    "draws are worth nothing": announced(by_id, points=(3, 0)),
    "a win is worth 1": announced(by_id, points=(1, 0)),
    "a win is worth 2": announced(by_id, points=(2, 1)),
    "no status": announced(by_id, status=False),
    "no details": announced(by_id, details=False),
    "a map of players": announced(by_id, mapped=True),
    "rounds by name": announced(by_id, rounds="R{}"),
    "announced, by id, league.handle": announced(by_id, HALVES),
    "start_match_command": assigned("START_MATCH", by_method(_COMMAND, verb, pings=True)),
    "start_match, POST /run_match": assigned("START_MATCH", RUN_MATCH, SMALL),
}


REFEREES: Final[Mapping[str, Callable[[], Referee]]] = {
    name: partial(Referee, name, **how) for name, how in ROWS.items()
}
