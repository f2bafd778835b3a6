"""The programme: what the kit does to a player, act by act. What it shows is judged afterwards, from the record."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from league.conformance import nonsense
from league.conformance.conventions import DOCUMENTED, Convention, Object, Way
from league.conformance.kit import Kit
from league.conformance.messages import EVEN_ODD, match_id, number_in
from league.conformance.record import Exchange
from league.conformance.wire import Trouble
from league.protocol.exchanges import EXCHANGES
from league.transport.jsonrpc import MANAGER_LIMIT

Act = Callable[[Kit], Awaitable[None]]
WAYS: Final = (
    Way(Convention.SPEC),
    Way(Convention.TYPE),
    Way(Convention.TYPE, in_small_letters=True),
    Way(Convention.TOOLS),
    Way(Convention.NESTED),
    Way(Convention.NESTED, method="protocol/message"),
    Way(Convention.BARE),
)
"""In the order in which they are tried."""
MCP_VERSION: Final = "2025-06-18"
UNREAD: Final = (-32700, -32600, -32601)
"""JSON-RPC's numbers for a request that was not understood as one."""


@dataclass(frozen=True, slots=True)
class _Try:
    """A way of calling, all that was said in it, and the invitation."""

    way: Way
    exchanges: list[Exchange]
    invitation: Exchange

    @property
    def is_understood(self) -> bool:
        """Surely an answer to this very invitation; a bare word of thanks may be said to anything."""
        said = self.invitation.answer
        named = said.get("message_type") == "GAME_JOIN_ACK"
        says = named or isinstance(said.get("accept", said.get("accepted")), bool)
        return self.invitation.is_answered and says

    @property
    def shows(self) -> int:
        """How much of a player that did not join is seen in its answer: most if it looked at the message and refused
        it, least if it knows no such request."""
        refusal = self.invitation.heard.refusal
        if refusal is not None:
            return 0 if refusal.number is None or refusal.number in UNREAD else 2
        return int(self.invitation.trouble is None or self.invitation.trouble is Trouble.TIMEOUT)


REPEATS: Final = 5
"""A player that chooses anew each time is found out in all but one of 32 runs."""
OTHER_GAMES: Final[Mapping[str, list[str]]] = {"rock_paper_scissors": ["rock", "paper", "scissors"]}
WATCH_REJECTED_S: Final = 5.0
"""Longer than the first pauses between registrations together."""
SETTLE_S: Final = 0.5
"""An agent needs a moment to read the answer to its registration; leagues do not start sooner either."""

# The matches, by the number of their round.
ORDINARY, READINGS, WRONG_CHOICE, ONE_OF_TWO, OTHER_OF_TWO, OTHER_GAME = range(1, 7)
AFTERWARDS: Final = nonsense.INVITED + 1


# --- registering and finding out --------------------------------------------------------------------------------------


async def registration(kit: Kit) -> None:
    """Wait for the player to register; its first attempt finds nobody."""
    options, record = kit.options, kit.record
    if options.listen is None:
        record.listening = "no player could register: the kit was not told to listen (--listen PORT)"
        return
    first = await kit.house.wait_for(lambda one: one.kind == "LEAGUE_REGISTER_REQUEST", options.wait_s)
    if first is None and not record.requests("LEAGUE_REGISTER_REQUEST"):
        record.listening = f"nobody registered at {kit.manager_url} within {options.wait_s:g} seconds"
        other = next((one for one in record.arrivals if one.method == "POST"), None)
        if other is not None:
            record.listening += f"; POST {other.place} came, but without a LEAGUE_REGISTER_REQUEST"
        return
    if record.rejected_at is not None:
        await asyncio.sleep(WATCH_REJECTED_S / options.time_scale)
        return
    if record.member is None:
        await kit.house.wait_for(lambda _: record.member is not None, options.wait_s)
    if record.member is None:
        record.listening = "the player registered once, got no answer, and did not try again"
        return
    await asyncio.sleep(SETTLE_S / options.time_scale)
    kit.speaker.player_id, kit.speaker.names_player = record.member.id, True


async def ping(kit: Kit) -> None:
    await kit.send("ping", {"jsonrpc": "2.0", "id": kit.next_id(), "method": "ping"})
    await kit.send("ping with a string as id", {"jsonrpc": "2.0", "id": "kit-1", "method": "ping"})


async def dialect(kit: Kit) -> None:
    """Invite in each way of calling until one is understood. Only what was said in that way is judged."""
    before = kit.record.exchanges
    tries: list[_Try] = []
    for way in WAYS:
        kit.way, kit.record.exchanges = replace(way), []
        if way.convention is Convention.TOOLS:
            await _open_session(kit)
        await announce(kit, ORDINARY)
        invitation = await invite(kit, ORDINARY, "invitation")
        tries.append(_Try(kit.way, kit.record.exchanges, invitation))
        if tries[-1].is_understood or invitation.trouble in (Trouble.TIMEOUT, Trouble.REFUSED):
            break  # silence is no matter of dialect
    best = max(tries, key=lambda one: (one.is_understood, one.invitation.is_answered, one.shows))
    kit.way, kit.record.exchanges = best.way, [*before, *best.exchanges]
    kit.record.tried = [exchange for one in tries if one is not best for exchange in one.exchanges]
    if best.invitation.is_answered:
        kit.record.convention = kit.way.convention
        _learn_id(kit, best.invitation)


async def _open_session(kit: Kit) -> None:
    """What MCP wants before the first call of a tool; most agents do without."""
    client = {"protocolVersion": MCP_VERSION, "capabilities": {}, "clientInfo": {"name": "league", "version": "1"}}
    opened = await kit.send("MCP: initialize", _rpc(kit, "initialize", client))
    session = opened.response.headers.get("mcp-session-id")
    if session is not None:
        kit.way.headers = (("Mcp-Session-Id", session),)
    if opened.heard.refusal is None and opened.is_readable:
        await kit.send("MCP: initialized", {"jsonrpc": "2.0", "method": "notifications/initialized"}, proper=False)
    answer = await kit.send("MCP: tools/list", _rpc(kit, "tools/list", {}))
    listed = answer.heard.fields.get("tools")
    rows = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    named = [one for one in rows if isinstance(one.get("name"), str)]
    kit.way.tools = {one["name"]: str(one.get("description", "")) for one in named}


def _rpc(kit: Kit, method: str, params: Object) -> Object:
    return {"jsonrpc": "2.0", "id": kit.next_id(), "method": method, "params": params}


def _learn_id(kit: Kit, answer: Exchange) -> None:
    """Who did not register with us says in its first answer who it is."""
    said = answer.answer.get("player_id")
    if kit.record.member is None and isinstance(said, str) and said:
        kit.speaker.player_id = said
    kit.speaker.names_player = True


# --- matches ----------------------------------------------------------------------------------------------------------


async def announce(kit: Kit, number: int, game: str = EVEN_ODD) -> Exchange:
    plain = game == EVEN_ODD
    label = "announcement" if plain else "announcement of another game"
    return await kit.tell(label, kit.speaker.announcement(number, time.time(), game), plain)


async def invite(kit: Kit, number: int, label: str, game: str = EVEN_ODD) -> Exchange:
    return await kit.tell(label, kit.speaker.invitation(number, time.time(), game), game == EVEN_ODD)


async def call(kit: Kit, number: int, label: str) -> Exchange:
    now = time.time()
    return await kit.tell(label, kit.speaker.parity_call(number, now, now + kit.limit_s("CHOOSE_PARITY_CALL")))


def _joined(answer: Exchange) -> bool:
    said = answer.answer
    return answer.is_answered and said.get("accept", said.get("accepted", True)) is not False


def _chooses(kit: Kit) -> bool:
    """A player that was silent once is not asked again: it would take its whole time limit each time."""
    asked = kit.record.of("call")
    return not asked or asked[0].is_answered


async def leave(kit: Kit, *numbers: int, game: str = EVEN_ODD) -> None:
    """The kit has seen enough of these matches. A player may well be in one match at a time, and wait for its end; one
    that says nothing to GAME_OVER is not told again."""
    told = kit.record.of("game over", "match left")
    if told and not told[-1].is_readable:
        return
    for number in numbers:
        await kit.tell("match left", kit.speaker.called_off(number, time.time(), game), plain=False)


async def leave_all(kit: Kit) -> None:
    """Nobody is left waiting in a match when the kit goes: the next referee would find the player busy."""
    over = {one.message["match_id"] for one in kit.record.of_kind("GAME_OVER")}
    joined = [one.message for one in kit.record.of_kind("GAME_INVITATION") if _joined(one)]
    begun = {one["match_id"]: one["game_type"] for one in joined}
    if kit.record.convention is not None and kit.record.played & SPOILING:
        # Whoever reads past mistakes may have joined this one.
        begun[match_id(nonsense.INVITED)] = EVEN_ODD
    for one, game in begun.items():
        if one not in over:
            await leave(kit, number_in(one), game=game)


async def match(kit: Kit) -> None:
    """An ordinary match, in which every message comes more than once."""
    if kit.record.convention is None or not _joined(kit.record.of("invitation")[-1]):
        return
    await invite(kit, ORDINARY, "invitation again")
    choice = await _first_call(kit)
    if not choice.is_answered:
        await leave(kit, ORDINARY)
        return
    for _ in range(REPEATS):
        await call(kit, ORDINARY, "call again")
    chosen = choice.answer.get("parity_choice")
    result = kit.speaker.game_over(ORDINARY, time.time(), "odd" if chosen == "odd" else "even")
    await kit.tell("game over", result)
    await kit.tell("game over again", result, plain=False)


async def _first_call(kit: Kit) -> Exchange:
    """Two verbs are in use for this one, and the message type; a player need not know them all."""
    choice = await call(kit, ORDINARY, "call")
    if choice.heard.refusal is None or kit.way.convention is not Convention.SPEC:
        return choice
    row = EXCHANGES["CHOOSE_PARITY_CALL"]
    for name in (*row.other_methods, row.message_type):
        kit.way.verbs = {row.message_type: name}
        again = await call(kit, ORDINARY, "call")
        kit.record.set_aside(choice if again.is_answered else again)
        if again.is_answered:
            return again
    kit.way.verbs = {}
    return choice


async def notifications(kit: Kit) -> None:
    """What the manager tells between matches, some of it twice."""
    speaker, now = kit.speaker, time.time()
    table = speaker.standings(ORDINARY, now)
    if (await kit.tell("standings", table)).is_answered:
        await kit.tell("standings again", table, plain=False)
        await kit.tell("large standings", _large(kit, now), plain=False)
    await kit.tell("announcement again", speaker.announcement(ORDINARY, now), plain=False)
    await kit.tell("round completed", speaker.round_completed(ORDINARY, now))


def _large(kit: Kit, now: float) -> Object:
    """Just under what players must take."""
    players = (MANAGER_LIMIT - 2000) // 160
    return {**kit.speaker.standings(ORDINARY + 1, now, players), "padding": "x" * 1000}


async def correction(kit: Kit) -> None:
    """A choice is called wrong; the next call wants a valid one."""
    await announce(kit, WRONG_CHOICE)
    if not _joined(await invite(kit, WRONG_CHOICE, "invitation to be corrected")):
        return
    if _chooses(kit):
        await _correct(kit)
    await leave(kit, WRONG_CHOICE)


async def _correct(kit: Kit) -> None:
    answer = await call(kit, WRONG_CHOICE, "call to be corrected")
    if answer.is_answered:
        chosen = answer.answer.get("parity_choice", "even")
        await kit.tell("game error", kit.speaker.game_error(WRONG_CHOICE, time.time(), chosen))
        await call(kit, WRONG_CHOICE, "corrected call")


async def two_matches(kit: Kit) -> None:
    """Two matches at once, each call beside the other."""
    numbers = (ONE_OF_TWO, OTHER_OF_TWO)
    for number in numbers:
        await announce(kit, number)
    joins = await asyncio.gather(*(invite(kit, number, "invitation of two") for number in numbers))
    if all(map(_joined, joins)) and _chooses(kit):
        await asyncio.gather(*(call(kit, number, "call of two") for number in numbers))
    await leave(kit, *(number for number, join in zip(numbers, joins, strict=True) if _joined(join)))


async def other_game(kit: Kit) -> None:
    """A game with moves, for players that know one."""
    game, options = next(iter(OTHER_GAMES.items()))
    known = kit.record.member.meta.get("game_types", ()) if kit.record.member else (game,)
    if not isinstance(known, list | tuple) or game not in known:
        return
    await announce(kit, OTHER_GAME, game)
    if _joined(await invite(kit, OTHER_GAME, "invitation to another game", game)):
        now = time.time()
        deadline = now + kit.limit_s("GAME_MOVE_CALL")
        await kit.tell("move call", kit.speaker.move_call(OTHER_GAME, now, deadline, game, options), plain=False)
        await leave(kit, OTHER_GAME, game=game)


# --- reading ----------------------------------------------------------------------------------------------------------

TIMESTAMPS: Final = ("{date}T{clock}.5Z", "{date}T{clock}.123456789Z", "{compact}T{clock}Z")
"""Forms beside Z and +00:00, which are the two that documents list as valid."""


async def readings(kit: Kit) -> None:
    """One invitation, written in every way a player must understand, and in some it must refuse."""
    await announce(kit, READINGS)
    plain = kit.speaker.invitation(READINGS, time.time())
    strange = {"mood": "sunny", "league": {"colour": ["green", None]}, "draw_commitment": "ab" * 32}

    async def put(label: str, **changes: object) -> None:
        await kit.tell(label, {**plain, **changes}, plain=False)

    await put("unknown fields", **strange)
    await put("optional null", draw_commitment=None, attempt=None)
    for form in ("{date}T{clock}+00:00", *TIMESTAMPS):
        text = _timestamp(form, plain["timestamp"])
        await put(f"{'other ' if form in TIMESTAMPS else ''}timestamp: {text}", timestamp=text)
    for text in ("2001-01-01T00:00:00Z", "2099-12-31T23:59:59Z"):
        await put(f"clock: {text}", timestamp=text)
    await put("mandatory null: null as league_id", league_id=None)
    for value in ("2", 2.0, True):
        await put(f"coercion: {json.dumps(value)} as round_id", round_id=value)


def _timestamp(form: str, now: str) -> str:
    date, _, clock = now.rstrip("Z").partition("T")
    return form.format(date=date, compact=date.replace("-", ""), clock=clock)


async def methods(kit: Kit) -> None:
    """Every name a request may go by, for those that go by names at all."""
    if kit.way.convention in DOCUMENTED:
        await _by_all_names(kit)
    await leave(kit, READINGS)


async def _by_all_names(kit: Kit) -> None:
    plain = kit.speaker.invitation(READINGS, time.time())
    spec = Way(Convention.SPEC)
    for name in ("handle_game_invitation", "GAME_INVITATION", "game_invitation", "Game_Invitation"):
        await kit.call(f"method: {name}", plain, spec, name)
    await _call_by_all_names(kit, spec)
    if any(one.is_answered for one in kit.record.of("standings")):
        table = kit.speaker.standings(ORDINARY, time.time())
        for name in ("update_standings", "LEAGUE_STANDINGS_UPDATE"):
            await kit.call(f"method: {name}", table, spec, name)
    await kit.call("tools/call", plain, Way(Convention.TOOLS))


async def _call_by_all_names(kit: Kit, spec: Way) -> None:
    row = EXCHANGES["CHOOSE_PARITY_CALL"]
    joins = kit.record.of("unknown fields", "optional null", "method")
    if not any(map(_joined, joins)) or not _chooses(kit):
        return
    for name in (row.method, *row.other_methods, row.message_type, row.message_type.lower()):
        now = time.time()
        message = kit.speaker.parity_call(READINGS, now, now + kit.limit_s(row.message_type))
        await kit.call(f"method: {name}", message, spec, name)


# --- nonsense, and the end --------------------------------------------------------------------------------------------


async def afterwards(kit: Kit) -> None:
    """Does it still play?"""
    await leave_all(kit)
    await kit.send("ping afterwards", {"jsonrpc": "2.0", "id": kit.next_id(), "method": "ping"})
    await announce(kit, AFTERWARDS)
    if _joined(await invite(kit, AFTERWARDS, "invitation afterwards")) and _chooses(kit):
        await call(kit, AFTERWARDS, "call afterwards")


async def end(kit: Kit) -> None:
    """Last of all: some agents exit when they hear it."""
    await leave_all(kit)
    await kit.tell("league completed", kit.speaker.league_completed(AFTERWARDS, time.time()))


PROGRAMME: Final[Mapping[str, Act]] = {
    "registration": registration,
    "ping": ping,
    "dialect": dialect,
    "match": match,
    "notifications": notifications,
    "readings": readings,
    "methods": methods,
    "correction": correction,
    "two_matches": two_matches,
    "other_game": other_game,
    "strict_json": nonsense.strict_json,
    "requests": nonsense.requests,
    "http": nonsense.http,
    "afterwards": afterwards,
    "end": end,
}
"""Every act, in the order in which they are played."""

SPOILING: Final = frozenset({"strict_json", "requests", "http"})
"""Acts about a match that no right player joins."""
PLAYING: Final = ("match", "readings", "methods", "correction", "two_matches", "other_game", "afterwards")
"""Acts that make no sense when no way of calling brought an answer to the invitation."""


async def play(kit: Kit, wanted: frozenset[str]) -> None:
    """Play these acts; stop at once if nobody is there."""
    for name, act in PROGRAMME.items():
        if name not in wanted or (name in PLAYING and kit.record.convention is None and "dialect" in kit.record.played):
            continue
        await act(kit)
        kit.record.played.add(name)
        if kit.record.exchanges and (kit.record.is_gone or not kit.record.is_reached):
            break
    else:
        await leave_all(kit)
    kit.record.bury()
