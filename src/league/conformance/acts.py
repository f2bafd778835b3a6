"""The programme: what the kit does to a player, act by act. What it shows is judged afterwards, from the record."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from league.conformance import nonsense
from league.conformance.conventions import Convention, Object, Way
from league.conformance.kit import Kit
from league.conformance.messages import EVEN_ODD
from league.conformance.record import Exchange
from league.protocol.exchanges import EXCHANGES
from league.transport.jsonrpc import MANAGER_LIMIT

Act = Callable[[Kit], Awaitable[None]]
REPEATS: Final = 5
"""A player that chooses anew each time is found out in all but one of 32 runs."""
OTHER_GAMES: Final[Mapping[str, list[str]]] = {"rock_paper_scissors": ["rock", "paper", "scissors"]}
WATCH_REJECTED_S: Final = 5.0
"""Longer than the first pauses between registrations together."""
SETTLE_S: Final = 0.5
"""An agent needs a moment to read the answer to its registration; leagues do not start sooner either."""

# The matches, by the number of their round.
ORDINARY, READINGS, WRONG_CHOICE, ONE_OF_TWO, OTHER_OF_TWO, OTHER_GAME, AFTERWARDS = range(1, 8)


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
    """Invite in each way of calling until one is understood."""
    await announce(kit, ORDINARY)
    for convention in Convention:
        if convention is Convention.TOOLS:
            kit.way.tools = await _tools(kit)
        kit.way.convention = convention
        label = "invitation" if convention is Convention.SPEC else f"invitation in {convention.value}"
        answer = await kit.tell(label, kit.speaker.invitation(ORDINARY, time.time()))
        if answer.is_answered:
            kit.record.convention = convention
            _learn_id(kit, answer)
            return
        if answer.trouble is not None:
            break  # silence and broken connections are no matter of dialect
    kit.way.convention = Convention.SPEC


async def _tools(kit: Kit) -> tuple[str, ...]:
    answer = await kit.send("tools/list", {"jsonrpc": "2.0", "id": kit.next_id(), "method": "tools/list"})
    listed = answer.heard.fields.get("tools")
    names = [one.get("name") for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    return tuple(name for name in names if isinstance(name, str))


def _learn_id(kit: Kit, answer: Exchange) -> None:
    """Who did not register with us says in its first answer who it is."""
    said = answer.answer.get("player_id")
    if kit.record.member is None and isinstance(said, str) and said:
        kit.speaker.player_id = said
    kit.speaker.names_player = True


# --- matches ----------------------------------------------------------------------------------------------------------


async def announce(kit: Kit, number: int, game: str = EVEN_ODD) -> Exchange:
    return await kit.tell("announcement", kit.speaker.announcement(number, time.time(), game))


async def invite(kit: Kit, number: int, label: str, game: str = EVEN_ODD) -> Exchange:
    return await kit.tell(label, kit.speaker.invitation(number, time.time(), game))


async def call(kit: Kit, number: int, label: str, method: str | None = None) -> Exchange:
    now = time.time()
    message = kit.speaker.parity_call(number, now, now + kit.limit_s("CHOOSE_PARITY_CALL"))
    return await kit.tell(label, message, method)


def _joined(answer: Exchange) -> bool:
    said = answer.answer
    return answer.is_answered and said.get("accept", said.get("accepted", True)) is not False


def _chooses(kit: Kit) -> bool:
    """A player that was silent once is not asked again: it would take its whole time limit each time."""
    asked = kit.record.of("call")
    return not asked or asked[0].is_answered


async def match(kit: Kit) -> None:
    """An ordinary match, in which every message comes more than once."""
    first = kit.record.of("invitation", *(f"invitation in {one.value}" for one in Convention))
    if kit.record.convention is None or not _joined(first[-1]):
        return
    await invite(kit, ORDINARY, "invitation again")
    choice = await call(kit, ORDINARY, "call")
    if not choice.is_answered:
        return
    for _ in range(REPEATS):
        await call(kit, ORDINARY, "call again")
    chosen = choice.answer.get("parity_choice")
    result = kit.speaker.game_over(ORDINARY, time.time(), "odd" if chosen == "odd" else "even")
    await kit.tell("game over", result)
    await kit.tell("game over again", result)


async def notifications(kit: Kit) -> None:
    """What the manager tells between matches, some of it twice."""
    speaker, now = kit.speaker, time.time()
    table = speaker.standings(ORDINARY, now)
    if (await kit.tell("standings", table)).is_answered:
        await kit.tell("standings again", table)
        await kit.tell("large standings", _large(kit, now))
    await kit.tell("announcement again", speaker.announcement(ORDINARY, now))
    await kit.tell("round completed", speaker.round_completed(ORDINARY, now))


def _large(kit: Kit, now: float) -> Object:
    """Just under what players must take."""
    players = (MANAGER_LIMIT - 2000) // 160
    return {**kit.speaker.standings(ORDINARY + 1, now, players), "padding": "x" * 1000}


async def correction(kit: Kit) -> None:
    """A choice is called wrong; the next call wants a valid one."""
    await announce(kit, WRONG_CHOICE)
    if not _joined(await invite(kit, WRONG_CHOICE, "invitation to be corrected")) or not _chooses(kit):
        return
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


async def other_game(kit: Kit) -> None:
    """A game with moves, for players that know one."""
    game, options = next(iter(OTHER_GAMES.items()))
    await announce(kit, OTHER_GAME, game)
    if _joined(await invite(kit, OTHER_GAME, "invitation to another game", game)):
        now = time.time()
        deadline = now + kit.limit_s("GAME_MOVE_CALL")
        await kit.tell("move call", kit.speaker.move_call(OTHER_GAME, now, deadline, game, options))


# --- reading ----------------------------------------------------------------------------------------------------------

TIMESTAMPS: Final = ("{date}T{clock}+00:00", "{date}T{clock}.5Z", "{date}T{clock}.123456789Z", "{compact}T{clock}Z")


async def readings(kit: Kit) -> None:
    """One invitation, written in every way a player must understand, and in some it must refuse."""
    await announce(kit, READINGS)
    plain = kit.speaker.invitation(READINGS, time.time())
    strange = {"mood": "sunny", "league": {"colour": ["green", None]}, "draw_commitment": "ab" * 32}
    await kit.tell("unknown fields", {**plain, **strange})
    await kit.tell("optional null", {**plain, "draw_commitment": None, "attempt": None})
    for text in _timestamps(plain["timestamp"]):
        await kit.tell(f"timestamp: {text}", {**plain, "timestamp": text})
    for text in ("2001-01-01T00:00:00Z", "2099-12-31T23:59:59Z"):
        await kit.tell(f"clock: {text}", {**plain, "timestamp": text})
    await kit.tell("mandatory null: null as league_id", {**plain, "league_id": None})
    for value in ("2", 2.0, True):
        await kit.tell(f"coercion: {json.dumps(value)} as round_id", {**plain, "round_id": value})


def _timestamps(now: str) -> list[str]:
    date, _, clock = now.rstrip("Z").partition("T")
    return [form.format(date=date, compact=date.replace("-", ""), clock=clock) for form in TIMESTAMPS]


async def methods(kit: Kit) -> None:
    """Every name a request may go by."""
    plain = kit.speaker.invitation(READINGS, time.time())
    spec = Way(Convention.SPEC)
    for name in ("handle_game_invitation", "GAME_INVITATION", "game_invitation", "Game_Invitation"):
        await kit.tell(f"method: {name}", plain, name, spec)
    await _call_by_all_names(kit, spec)
    if any(one.is_answered for one in kit.record.of("standings")):
        table = kit.speaker.standings(ORDINARY, time.time())
        for name in ("update_standings", "LEAGUE_STANDINGS_UPDATE"):
            await kit.tell(f"method: {name}", table, name, spec)
    await kit.tell("tools/call", plain, None, Way(Convention.TOOLS))


async def _call_by_all_names(kit: Kit, spec: Way) -> None:
    row = EXCHANGES["CHOOSE_PARITY_CALL"]
    joins = kit.record.of("unknown fields", "optional null", "method")
    if not any(map(_joined, joins)) or not _chooses(kit):
        return
    for name in (row.method, *row.other_methods, row.message_type, row.message_type.lower()):
        now = time.time()
        message = kit.speaker.parity_call(READINGS, now, now + kit.limit_s(row.message_type))
        await kit.tell(f"method: {name}", message, name, spec)


# --- nonsense, and the end --------------------------------------------------------------------------------------------


async def afterwards(kit: Kit) -> None:
    """Does it still play?"""
    await kit.send("ping afterwards", {"jsonrpc": "2.0", "id": kit.next_id(), "method": "ping"})
    await announce(kit, AFTERWARDS)
    if _joined(await invite(kit, AFTERWARDS, "invitation afterwards")) and _chooses(kit):
        await call(kit, AFTERWARDS, "call afterwards")


async def end(kit: Kit) -> None:
    """Last of all: some agents exit when they hear it."""
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
    kit.record.bury()
