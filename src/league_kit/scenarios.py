"""The scenarios that the kit runs against a player. What they show is judged afterwards, from the record."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from league.gateway import tools
from league.protocol.exchanges import EXCHANGES
from league.protocol.jsonrpc import ENVELOPED, MANAGER_LIMIT
from league_kit import malformed, registering
from league_kit.conventions import DOCUMENTED, CallForm, Convention, Object
from league_kit.kit import Kit
from league_kit.messages import EVEN_ODD, number_in
from league_kit.record import Probe
from league_kit.wire import Trouble

Scenario = Callable[[Kit], Awaitable[None]]
FORMS: Final = (
    CallForm(Convention.SPEC),
    CallForm(Convention.TYPE),
    CallForm(Convention.TYPE, lower_case=True),
    CallForm(Convention.TOOLS),
    CallForm(Convention.NESTED),
    CallForm(Convention.NESTED, method="protocol/message"),
    CallForm(Convention.NESTED, method=ENVELOPED),
    CallForm(Convention.BARE),
)
"""In the order in which they are tried."""
STRANGE_TOKEN: Final = "tok_P02_somebody_else"
UNREAD: Final = (-32700, -32600, -32601)
"""JSON-RPC's numbers for a request that was not understood as one."""


@dataclass(frozen=True, slots=True)
class _Attempt:
    """A form of calling, the requests made in it, and the invitation among them."""

    form: CallForm
    probes: list[Probe]
    invitation: Probe

    @property
    def is_understood(self) -> bool:
        """Certainly an answer to this invitation; a bare acknowledgement may answer anything."""
        said = self.invitation.answer
        named = said.get("message_type") == "GAME_JOIN_ACK"
        says = named or isinstance(said.get("accept", said.get("accepted")), bool)
        return self.invitation.is_answered and says

    @property
    def closeness(self) -> int:
        """How close a form came that did not lead to a join: closest if the message was read and refused, least if the
        request was not understood."""
        refusal = self.invitation.parsed.error
        if refusal is not None:
            return 0 if refusal.number is None or refusal.number in UNREAD else 2
        return int(self.invitation.trouble is None or self.invitation.trouble is Trouble.TIMEOUT)


REPEATS: Final = 5
"""A player that chooses anew each time is detected in all but one of 32 runs."""
OTHER_GAMES: Final[Mapping[str, list[str]]] = {"rock_paper_scissors": ["rock", "paper", "scissors"]}

# The matches, by the number of their round.
LONGEST_TABLE: Final = 100
ORDINARY, READINGS, WRONG_CHOICE, ONE_OF_TWO, OTHER_OF_TWO, OTHER_GAME = range(1, 7)
AFTERWARDS: Final = malformed.INVITED + 1


# --- dialect ----------------------------------------------------------------------------------------------------------


async def ping(kit: Kit) -> None:
    await kit.send_document("ping", {"jsonrpc": "2.0", "id": kit.next_id(), "method": "ping"})
    await kit.send_document("ping with a string as id", {"jsonrpc": "2.0", "id": "kit-1", "method": "ping"})


async def dialect(kit: Kit) -> None:
    """Invite in each form until one is understood. Only the requests in that form are judged."""
    before = kit.record.probes
    tries: list[_Attempt] = []
    for form in FORMS:
        kit.form, kit.record.probes = replace(form), []
        if form.convention is Convention.TOOLS:
            await _open_session(kit)
        await announce(kit, ORDINARY)
        invitation = await invite(kit, ORDINARY, "invitation")
        tries.append(_Attempt(kit.form, kit.record.probes, invitation))
        if tries[-1].is_understood or invitation.trouble in (Trouble.TIMEOUT, Trouble.REFUSED):
            break  # no dialect explains silence
    best = max(tries, key=lambda one: (one.is_understood, one.invitation.is_answered, one.closeness))
    kit.form, kit.record.probes = best.form, [*before, *best.probes]
    kit.record.tried = [probe for one in tries if one is not best for probe in one.probes]
    if best.invitation.is_answered:
        kit.record.convention = kit.form.convention
        _learn_id(kit, best.invitation)


async def _open_session(kit: Kit) -> None:
    """The handshake of MCP before the first call of a tool; most agents do without, and some know none."""
    opened = await kit.send_document("MCP: initialize", _rpc(kit, "initialize", tools.GREETING))
    if opened.parsed.error is None and opened.is_readable:
        kit.form.session = tools.greeted(opened.parsed.content, opened.response.headers.get("mcp-session-id", ""))
        await kit.send_document(
            "MCP: initialized", {"jsonrpc": "2.0", "method": "notifications/initialized"}, proper=False
        )
    await _list_tools(kit)
    if not kit.form.tools and not kit.form.session.id:
        before, kit.form.session = kit.form.session, tools.WITHOUT_HANDSHAKE
        await _list_tools(kit)
        kit.form.session = kit.form.session if kit.form.tools else before


async def _list_tools(kit: Kit) -> None:
    found = tools.ToolList()
    while found.params is not None:
        answer = await kit.send_document("MCP: tools/list", _rpc(kit, "tools/list", found.params))
        found.add(answer.parsed.fields)
    kit.form.tools = found.tools


def _rpc(kit: Kit, method: str, params: Mapping[str, Any]) -> Object:
    return {"jsonrpc": "2.0", "id": kit.next_id(), "method": method, "params": kit.form.session.params(params)}


def _learn_id(kit: Kit, answer: Probe) -> None:
    """A player that did not register with the kit names its id in its first answer."""
    said = answer.answer.get("player_id")
    if kit.record.member is None and isinstance(said, str) and said:
        kit.writer.player_id = said
    kit.writer.names_player = True


# --- matches ----------------------------------------------------------------------------------------------------------


async def announce(kit: Kit, number: int, game: str = EVEN_ODD) -> Probe:
    plain = game == EVEN_ODD
    label = "announcement" if plain else "announcement of another game"
    return await kit.send_message(label, kit.writer.announcement(number, time.time(), game), plain)


async def invite(kit: Kit, number: int, label: str, game: str = EVEN_ODD) -> Probe:
    return await kit.send_message(label, kit.writer.invitation(number, time.time(), game), game == EVEN_ODD)


async def call(kit: Kit, number: int, label: str) -> Probe:
    now = time.time()
    return await kit.send_message(label, kit.writer.parity_call(number, now, now + kit.limit_s("CHOOSE_PARITY_CALL")))


def _joined(answer: Probe) -> bool:
    said = answer.answer
    return answer.is_answered and said.get("accept", said.get("accepted", True)) is not False


def _chooses(kit: Kit) -> bool:
    """A player that was silent once is not asked again: it would take its whole time limit each time."""
    asked = kit.record.of("call")
    return not asked or asked[0].is_answered


async def leave(kit: Kit, *numbers: int, game: str = EVEN_ODD) -> None:
    """End these matches: a player may play one match at a time and wait for its end. One that did not answer GAME_OVER
    gets it only once."""
    told = kit.record.of("game over", "match left")
    if told and not told[-1].is_readable:
        return
    for number in numbers:
        await kit.send_message("match left", kit.writer.called_off(number, time.time(), game), plain=False)


async def leave_all(kit: Kit) -> None:
    """End every match the player joined: the next referee would find it busy otherwise."""
    over = {one.message["match_id"] for one in kit.record.of_kind("GAME_OVER")}
    joined = [one.message for one in kit.record.of_kind("GAME_INVITATION") if _joined(one)]
    begun = {one["match_id"]: one["game_type"] for one in joined}
    if kit.record.convention is not None and kit.record.played & MALFORMED:
        # A player that accepts malformed messages may have joined this match.
        begun[kit.writer.match_id(malformed.INVITED)] = EVEN_ODD
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
    await _peek(kit)
    chosen = choice.answer.get("parity_choice")
    result = kit.writer.game_over(ORDINARY, time.time(), "odd" if chosen == "odd" else "even")
    await kit.send_message("game over", result)
    await kit.send_message("game over again", result, plain=False)


async def played_again(kit: Kit) -> None:
    """The ordinary match is void: its next attempt has another token and conversation, as every attempt has."""
    over = kit.record.of("game over")
    if not over or not over[0].is_answered:
        return
    writer, now = kit.writer, time.time()
    invited = await kit.send_message("invitation to play again", writer.again(writer.invitation(ORDINARY, now)), False)
    if _joined(invited):
        asked = writer.parity_call(ORDINARY, now, now + kit.limit_s("CHOOSE_PARITY_CALL"))
        await kit.send_message("call to play again", writer.again(asked), plain=False)
    await kit.send_message("match left", writer.again(writer.called_off(ORDINARY, time.time())), plain=False)


async def _peek(kit: Kit) -> None:
    """Somebody who is not the referee of the match asks for the choice, too."""
    now = time.time()
    asked = kit.writer.parity_call(ORDINARY, now, now + kit.limit_s("CHOOSE_PARITY_CALL"))
    for token in (STRANGE_TOKEN, None):
        peek = (
            {**asked, "auth_token": token} if token else {name: asked[name] for name in asked if name != "auth_token"}
        )
        await kit.send_message("call of a stranger", peek, plain=False)


async def _first_call(kit: Kit) -> Probe:
    """Two verbs are in use for this call, and the message type; a player need not know them all."""
    choice = await call(kit, ORDINARY, "call")
    if choice.parsed.error is None or kit.form.convention is not Convention.SPEC:
        return choice
    row = EXCHANGES["CHOOSE_PARITY_CALL"]
    for name in (*row.other_methods, row.message_type):
        kit.form.verbs = {row.message_type: name}
        again = await call(kit, ORDINARY, "call")
        kit.record.set_aside(choice if again.is_answered else again)
        if again.is_answered:
            return again
    kit.form.verbs = {}
    return choice


async def notifications(kit: Kit) -> None:
    """What the manager tells between matches, some of it twice."""
    writer, now = kit.writer, time.time()
    table = writer.standings(ORDINARY, now)
    if (await kit.send_message("standings", table)).is_answered:
        await kit.send_message("standings again", table, plain=False)
        await kit.send_message("large standings", _large(kit, now), plain=False)
    await kit.send_message("announcement again", writer.announcement(ORDINARY, now), plain=False)
    await kit.send_message("round completed", writer.round_completed(ORDINARY, now))
    await kit.send_message("league error", writer.league_error(now), plain=False)


def _large(kit: Kit, now: float) -> Object:
    """Just under what players must take: the longest table, and padding that nobody reads."""
    table = kit.writer.standings(ORDINARY + 1, now, LONGEST_TABLE)
    return {**table, "padding": "x" * (MANAGER_LIMIT - 200 * LONGEST_TABLE)}


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
        await kit.send_message("game error", kit.writer.game_error(WRONG_CHOICE, time.time(), chosen))
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
        await kit.send_message("move call", kit.writer.move_call(OTHER_GAME, now, deadline, game, options), plain=False)
        await leave(kit, OTHER_GAME, game=game)


# --- reading ----------------------------------------------------------------------------------------------------------

TIMESTAMPS: Final = ("{date}T{clock}.5Z", "{date}T{clock}.123456789Z", "{compact}T{clock}Z")
"""Forms beside Z and +00:00, which are the two that documents list as valid."""


async def readings(kit: Kit) -> None:
    """One invitation, written in forms a player must understand, and in some it must refuse."""
    await announce(kit, READINGS)
    plain = kit.writer.invitation(READINGS, time.time())
    unknown = {"mood": "sunny", "league": {"colour": ["green", None]}, "draw_commitment": "ab" * 32}

    async def put(label: str, **changes: object) -> None:
        await kit.send_message(label, {**plain, **changes}, plain=False)

    await put("unknown fields", **unknown)
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
    """Every method name a request may have, for players that are called by method."""
    if kit.form.convention in DOCUMENTED:
        await _by_all_names(kit)
    await leave(kit, READINGS)


async def _by_all_names(kit: Kit) -> None:
    plain = kit.writer.invitation(READINGS, time.time())
    spec = CallForm(Convention.SPEC)
    for name in ("handle_game_invitation", "GAME_INVITATION", "game_invitation", "Game_Invitation"):
        await kit.send_as(f"method: {name}", plain, spec, name)
    await _call_by_all_names(kit, spec)
    if any(one.is_answered for one in kit.record.of("standings")):
        table = kit.writer.standings(ORDINARY, time.time())
        for name in ("update_standings", "LEAGUE_STANDINGS_UPDATE"):
            await kit.send_as(f"method: {name}", table, spec, name)
    await kit.send_as("tools/call", plain, CallForm(Convention.TOOLS))


async def _call_by_all_names(kit: Kit, spec: CallForm) -> None:
    row = EXCHANGES["CHOOSE_PARITY_CALL"]
    joins = kit.record.of("unknown fields", "optional null", "method")
    if not any(map(_joined, joins)) or not _chooses(kit):
        return
    for name in (row.method, *row.other_methods, row.message_type, row.message_type.lower()):
        now = time.time()
        message = kit.writer.parity_call(READINGS, now, now + kit.limit_s(row.message_type))
        await kit.send_as(f"method: {name}", message, spec, name)


# --- the end ----------------------------------------------------------------------------------------------------------


async def afterwards(kit: Kit) -> None:
    """Does it still play after malformed requests?"""
    await leave_all(kit)
    await kit.send_document("ping afterwards", {"jsonrpc": "2.0", "id": kit.next_id(), "method": "ping"})
    await announce(kit, AFTERWARDS)
    if _joined(await invite(kit, AFTERWARDS, "invitation afterwards")) and _chooses(kit):
        await call(kit, AFTERWARDS, "call afterwards")


async def end(kit: Kit) -> None:
    """LEAGUE_COMPLETED comes last: some agents exit then."""
    await leave_all(kit)
    await kit.send_message("league completed", kit.writer.league_completed(AFTERWARDS, time.time()))


SCENARIOS: Final[Mapping[str, Scenario]] = {
    "registration": registering.registration,
    "ping": ping,
    "dialect": dialect,
    "match": match,
    "played_again": played_again,
    "notifications": notifications,
    "readings": readings,
    "methods": methods,
    "correction": correction,
    "two_matches": two_matches,
    "other_game": other_game,
    "strict_json": malformed.strict_json,
    "requests": malformed.requests,
    "http": malformed.http,
    "afterwards": afterwards,
    "end": end,
}
"""Every scenario, in the order in which they are run."""

MALFORMED: Final = frozenset({"strict_json", "requests", "http"})
"""Scenarios with a malformed invitation, which no player should accept."""
PLAYING: Final = (
    "match",
    "played_again",
    "readings",
    "methods",
    "correction",
    "two_matches",
    "other_game",
    "afterwards",
)
"""Scenarios that need an answered invitation."""


async def run_scenarios(kit: Kit, wanted: frozenset[str]) -> None:
    """Run these scenarios; stop as soon as nobody listens any more."""
    for name, scenario in SCENARIOS.items():
        if name not in wanted or (name in PLAYING and kit.record.convention is None and "dialect" in kit.record.played):
            continue
        await scenario(kit)
        kit.record.played.add(name)
        if kit.record.probes and (kit.record.is_gone or not kit.record.is_reached):
            break
    else:
        await leave_all(kit)
    kit.record.discard_after_exit()
