"""The scenarios that the kit runs against a player. What they show is judged afterwards, from the record."""

# Theory of operation
#
# A scenario is a short script: it sends messages and looks at the answers only to decide what to send next. It never
# judges. Each probe carries a label ("call again", "timestamp: …"); the checks find their evidence by these labels.
#
# SCENARIOS lists them in the order in which they run, and the order matters:
#   registration   the player gets its id; without it, the player names its id in its first answer
#   dialect        finds the form in which the player understands an invitation; sets record.convention once
#   match …        right messages, played as a referee plays them; these need an answered invitation (PLAYING)
#   signing        referees that lie, for players that declared receipts (signing.py)
#   malformed      wrong text, wrong requests, wrong HTTP (malformed.py), after everything right has been seen
#   afterwards     does it still play?
#   end            LEAGUE_COMPLETED comes last, because some agents exit then
# The run stops as soon as nobody listens any more.
#
# Each scenario plays its own match (numbers below), so that none depends on what another left behind. A match that the
# player joined is always ended with GAME_OVER: a player may wait for that before it joins another.

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from league.agent.probing import probe
from league.gateway import tools
from league.protocol.conventions import Convention
from league.protocol.exchanges import EXCHANGES
from league.protocol.findings import Findings
from league.protocol.jsonrpc import ENVELOPED, MANAGER_LIMIT
from league.transport.http_client import HttpClient
from league_kit import malformed, registering, signing
from league_kit.kit import Kit
from league_kit.kit_conventions import DOCUMENTED, CallForm, Object
from league_kit.kit_messages import EVEN_ODD, number_in
from league_kit.kit_wire import Trouble
from league_kit.record import Probe

Scenario = Callable[[Kit], Awaitable[None]]
FORMS: Final = (
    CallForm(Convention.SPEC),
    CallForm(Convention.TYPE),
    CallForm(Convention.LOWER),
    CallForm(Convention.TOOLS),
    CallForm(Convention.NESTED),
    CallForm(Convention.NESTED, method="protocol/message"),
    CallForm(Convention.NESTED, method=ENVELOPED),
    CallForm(Convention.BARE),
)
"""In the order in which they are tried."""
PROBING_S: Final = 20.0
STRANGE_TOKEN: Final = "tok_P02_somebody_else"
UNREAD: Final = (-32700, -32600, -32601)
"""JSON-RPC's numbers for a request that was not understood as one."""
REPEATS: Final = 5
"""A player that chooses anew each time is detected in all but one of 32 runs."""
OTHER_GAMES: Final[Mapping[str, list[str]]] = {"rock_paper_scissors": ["rock", "paper", "scissors"]}
LONGEST_TABLE: Final = 100

# The matches, by the number of their round.
ORDINARY: Final = 1
READINGS: Final = 2
WRONG_CHOICE: Final = 3
ONE_OF_TWO: Final = 4
OTHER_OF_TWO: Final = 5
OTHER_GAME: Final = 6
AFTERWARDS: Final = malformed.INVITED + 1
# signing.py has the numbers after this one.


@dataclass(frozen=True, slots=True)
class _Attempt:
    """A form of calling, the requests made in it, and the invitation among them."""

    form: CallForm
    probes: list[Probe]
    invitation: Probe

    @property
    def is_understood(self) -> bool:
        """Is the answer certainly about this invitation? A bare acknowledgement may answer anything."""
        return _is_join(self.invitation)

    @property
    def closeness(self) -> int:
        """How close a form came that did not lead to a join: closest if the message was read and refused, least if the
        request was not understood."""
        refusal = self.invitation.parsed.error
        if refusal is None:
            return int(self.invitation.trouble in (None, Trouble.TIMEOUT))
        if refusal.number is None or refusal.number in UNREAD:
            return 0
        return 2


# --- dialect ----------------------------------------------------------------------------------------------------------


async def ping(kit: Kit) -> None:
    await kit.send_document("ping", _ping(kit.next_id()))
    await kit.send_document("ping with a string as id", _ping("kit-1"))


def _ping(request_id: int | str) -> Object:
    return {"jsonrpc": "2.0", "id": request_id, "method": "ping"}


async def _probed(kit: Kit) -> Findings:
    client = HttpClient()
    try:
        return await probe(kit.options.target, client, PROBING_S / kit.options.time_scale)
    finally:
        await client.close()


async def dialect(kit: Kit) -> None:
    """Probe the player as a manager does, and invite it in each form until one is understood. Only the requests in that
    form are judged."""
    record = kit.record
    record.findings = await _probed(kit)
    before = record.probes
    attempts: list[_Attempt] = []
    for form in FORMS:
        kit.form = replace(form)
        record.probes = []
        if form.convention is Convention.TOOLS:
            await _open_session(kit)
        await announce(kit, ORDINARY)
        invitation = await invite(kit, ORDINARY, "invitation")
        attempts.append(_Attempt(kit.form, record.probes, invitation))
        # No dialect explains silence.
        is_silent = invitation.trouble in (Trouble.TIMEOUT, Trouble.REFUSED)
        if is_silent or attempts[-1].is_understood:
            break
    best = max(
        attempts,
        key=lambda attempt: (
            attempt.is_understood,
            attempt.invitation.is_answered,
            attempt.closeness,
        ),
    )
    kit.form = best.form
    record.probes = [*before, *best.probes]
    record.tried = [probe for attempt in attempts if attempt is not best for probe in attempt.probes]
    if best.invitation.is_answered:
        record.convention = kit.form.convention
        _learn_id(kit, best.invitation)


async def _open_session(kit: Kit) -> None:
    """Make the handshake of MCP before the first call of a tool; most agents do without it, and some know none."""
    greeting = await kit.send_document("MCP: initialize", _rpc(kit, "initialize", tools.GREETING))
    if greeting.parsed.error is None and greeting.is_readable:
        session_id = greeting.response.headers.get("mcp-session-id", "")
        kit.form.session = tools.greeted(greeting.parsed.content, session_id)
        notification = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        await kit.send_document("MCP: initialized", notification, proper=False)
    await _list_tools(kit)
    if kit.form.tools or kit.form.session.id:
        return
    # No tools and no session: perhaps a server of the era without a handshake.
    session = kit.form.session
    kit.form.session = tools.WITHOUT_HANDSHAKE
    await _list_tools(kit)
    if not kit.form.tools:
        kit.form.session = session


async def _list_tools(kit: Kit) -> None:
    listing = tools.ToolList()
    while listing.params is not None:
        page = await kit.send_document("MCP: tools/list", _rpc(kit, "tools/list", listing.params))
        listing.add(page.parsed.fields)
    kit.form.tools = listing.tools


def _rpc(kit: Kit, method: str, params: Mapping[str, Any]) -> Object:
    return {
        "jsonrpc": "2.0",
        "id": kit.next_id(),
        "method": method,
        "params": kit.form.session.params(params),
    }


def _learn_id(kit: Kit, invitation: Probe) -> None:
    """Take the id of a player that did not register with the kit from its first answer."""
    player_id = invitation.answer.get("player_id")
    if kit.record.member is None and isinstance(player_id, str) and player_id:
        kit.writer.player_id = player_id
    kit.writer.names_player = True


# --- matches ----------------------------------------------------------------------------------------------------------


async def announce(kit: Kit, number: int, game: str = EVEN_ODD) -> Probe:
    message = kit.writer.announcement(number, game)
    if game == EVEN_ODD:
        return await kit.send_message("announcement", message)
    return await kit.send_message("announcement of another game", message, plain=False)


async def invite(kit: Kit, number: int, label: str, game: str = EVEN_ODD) -> Probe:
    message = kit.writer.invitation(number, game)
    return await kit.send_message(label, message, plain=game == EVEN_ODD)


async def call(kit: Kit, number: int, label: str) -> Probe:
    return await kit.send_message(label, _parity_call(kit, number))


def _parity_call(kit: Kit, number: int) -> Object:
    return kit.writer.parity_call(number, kit.limit_s("CHOOSE_PARITY_CALL"))


def _chooses(kit: Kit) -> bool:
    """Does the player answer calls? One that was silent once would take its whole time limit each time."""
    calls = kit.record.of("call")
    return not calls or calls[0].is_answered


async def leave(kit: Kit, *numbers: int, game: str = EVEN_ODD) -> None:
    """End these matches: a player may play one match at a time and wait for its end. One that did not answer GAME_OVER
    gets it only once."""
    endings = kit.record.of("game over", "match left")
    if endings and not endings[-1].is_readable:
        return
    for number in numbers:
        message = kit.writer.called_off(number, game)
        await kit.send_message("match left", message, plain=False)


async def leave_all(kit: Kit) -> None:
    """End every match the player joined: the next referee would find it busy otherwise."""
    games: dict[str, str] = {}
    for invitation in kit.record.of_kind("GAME_INVITATION"):
        if invitation.has_joined:
            games[invitation.message["match_id"]] = invitation.message["game_type"]
    if kit.record.convention is not None and kit.record.played & MALFORMED:
        # A player that accepts malformed messages may have joined this match.
        games[kit.writer.match_id(malformed.INVITED)] = EVEN_ODD
    ended = {probe.message["match_id"] for probe in kit.record.of_kind("GAME_OVER")}
    for match_id, game in games.items():
        if match_id not in ended:
            await leave(kit, number_in(match_id), game=game)


async def match(kit: Kit) -> None:
    """Play an ordinary match, in which every message comes more than once."""
    if kit.record.convention is None or not kit.record.of("invitation")[-1].has_joined:
        return
    await invite(kit, ORDINARY, "invitation again")
    choice = await _first_call(kit)
    if not choice.is_answered:
        await leave(kit, ORDINARY)
        return
    for _ in range(REPEATS):
        await call(kit, ORDINARY, "call again")
    await _peek(kit)
    parity = "odd" if choice.answer.get("parity_choice") == "odd" else "even"
    result = kit.writer.game_over(ORDINARY, parity)
    await kit.send_message("game over", result)
    await kit.send_message("game over again", result, plain=False)


async def played_again(kit: Kit) -> None:
    """Void the ordinary match: its next attempt has a new token and conversation, as every attempt has."""
    endings = kit.record.of("game over")
    if not endings or not endings[0].is_answered:
        return
    writer = kit.writer
    invitation = writer.again(writer.invitation(ORDINARY))
    join = await kit.send_message("invitation to play again", invitation, plain=False)
    if join.has_joined:
        question = writer.again(_parity_call(kit, ORDINARY))
        await kit.send_message("call to play again", question, plain=False)
    ending = writer.again(writer.called_off(ORDINARY))
    await kit.send_message("match left", ending, plain=False)


async def _peek(kit: Kit) -> None:
    """Ask for the choice as somebody who is not the referee of the match."""
    question = _parity_call(kit, ORDINARY)
    await kit.send_message("call of a stranger", {**question, "auth_token": STRANGE_TOKEN}, plain=False)
    del question["auth_token"]
    await kit.send_message("call of a stranger", question, plain=False)


async def _first_call(kit: Kit) -> Probe:
    """Call by each verb in use, and by the message type: a player need not know them all."""
    choice = await call(kit, ORDINARY, "call")
    if choice.parsed.error is None or kit.form.convention is not Convention.SPEC:
        return choice
    row = EXCHANGES["CHOOSE_PARITY_CALL"]
    for name in (*row.other_methods, row.message_type):
        kit.form.verbs = {row.message_type: name}
        retry = await call(kit, ORDINARY, "call")
        if retry.is_answered:
            kit.record.set_aside(choice)
            return retry
        kit.record.set_aside(retry)
    kit.form.verbs = {}
    return choice


async def notifications(kit: Kit) -> None:
    """Send the manager's messages between matches, some of them twice."""
    writer = kit.writer
    table = writer.standings(ORDINARY)
    first = await kit.send_message("standings", table)
    if first.is_answered:
        await kit.send_message("standings again", table, plain=False)
        await kit.send_message("large standings", _large_standings(kit), plain=False)
    await kit.send_message("announcement again", writer.announcement(ORDINARY), plain=False)
    await kit.send_message("round completed", writer.round_completed(ORDINARY))
    await kit.send_message("league error", writer.league_error(), plain=False)


def _large_standings(kit: Kit) -> Object:
    """Return a table just under the size that players must take: the longest one, and padding that nobody reads."""
    table = kit.writer.standings(ORDINARY + 1, LONGEST_TABLE)
    return {**table, "padding": "x" * (MANAGER_LIMIT - 200 * LONGEST_TABLE)}


async def correction(kit: Kit) -> None:
    """Call a choice wrong; the next call needs a valid one."""
    await announce(kit, WRONG_CHOICE)
    if not (await invite(kit, WRONG_CHOICE, "invitation to be corrected")).has_joined:
        return
    if _chooses(kit):
        await _correct(kit)
    await leave(kit, WRONG_CHOICE)


async def _correct(kit: Kit) -> None:
    choice = await call(kit, WRONG_CHOICE, "call to be corrected")
    if choice.is_answered:
        parity = choice.answer.get("parity_choice", "even")
        await kit.send_message("game error", kit.writer.game_error(WRONG_CHOICE, parity))
        await call(kit, WRONG_CHOICE, "corrected call")


async def two_matches(kit: Kit) -> None:
    """Play two matches at once, with both calls open at the same time."""
    numbers = (ONE_OF_TWO, OTHER_OF_TWO)
    for number in numbers:
        await announce(kit, number)
    joins = await asyncio.gather(*(invite(kit, number, "invitation of two") for number in numbers))
    if all(join.has_joined for join in joins) and _chooses(kit):
        await asyncio.gather(*(call(kit, number, "call of two") for number in numbers))
    await leave(kit, *(number for number, join in zip(numbers, joins, strict=True) if join.has_joined))


async def other_game(kit: Kit) -> None:
    """Play a game with moves, if the player knows one."""
    game, options = next(iter(OTHER_GAMES.items()))
    if not _knows(kit, game):
        return
    await announce(kit, OTHER_GAME, game)
    if (await invite(kit, OTHER_GAME, "invitation to another game", game)).has_joined:
        limit_s = kit.limit_s("GAME_MOVE_CALL")
        message = kit.writer.move_call(OTHER_GAME, limit_s, game, options)
        await kit.send_message("move call", message, plain=False)
        await leave(kit, OTHER_GAME, game=game)


def _knows(kit: Kit, game: str) -> bool:
    """Does the player know this game? One that did not register may."""
    if kit.record.member is None:
        return True
    games = kit.record.member.meta.get("game_types")
    return isinstance(games, list) and game in games


# --- reading ----------------------------------------------------------------------------------------------------------

LISTED_TIMESTAMP: Final = "{date}T{clock}+00:00"
"""The documents list two forms as valid: this one, and the one with Z that all messages have."""
OTHER_TIMESTAMPS: Final = (
    "{date}T{clock}.5Z",
    "{date}T{clock}.123456789Z",
    "{compact}T{clock}Z",
)


async def readings(kit: Kit) -> None:
    """Write one invitation in forms that a player must understand, and in some that it must refuse."""
    await announce(kit, READINGS)
    plain = kit.writer.invitation(READINGS)

    async def put(label: str, **changes: object) -> None:
        await kit.send_message(label, {**plain, **changes}, plain=False)

    await put(
        "unknown fields",
        mood="sunny",
        league={"colour": ["green", None]},
    )
    await put("optional null", draw_commitment=None, attempt=None)
    listed = _timestamp(LISTED_TIMESTAMP, plain["timestamp"])
    await put(f"timestamp: {listed}", timestamp=listed)
    for form in OTHER_TIMESTAMPS:
        text = _timestamp(form, plain["timestamp"])
        await put(f"other timestamp: {text}", timestamp=text)
    for text in ("2001-01-01T00:00:00Z", "2099-12-31T23:59:59Z"):
        await put(f"clock: {text}", timestamp=text)
    await put("mandatory null: null as league_id", league_id=None)
    for value in ("2", 2.0, True):
        await put(f"coercion: {json.dumps(value)} as round_id", round_id=value)


def _timestamp(form: str, now: str) -> str:
    date, _, clock = now.rstrip("Z").partition("T")
    return form.format(date=date, compact=date.replace("-", ""), clock=clock)


async def methods(kit: Kit) -> None:
    """Call by every method name a request may have, if the player is called by method."""
    if kit.form.convention in DOCUMENTED:
        await _by_all_names(kit)
    await leave(kit, READINGS)


async def _by_all_names(kit: Kit) -> None:
    invitation = kit.writer.invitation(READINGS)
    spec = CallForm(Convention.SPEC)
    for name in (
        "handle_game_invitation",
        "GAME_INVITATION",
        "game_invitation",
        "Game_Invitation",
    ):
        await kit.send_as(f"method: {name}", invitation, spec, name)
    await _call_by_all_names(kit, spec)
    if any(probe.is_answered for probe in kit.record.of("standings")):
        table = kit.writer.standings(ORDINARY)
        for name in ("update_standings", "LEAGUE_STANDINGS_UPDATE"):
            await kit.send_as(f"method: {name}", table, spec, name)
    asked = await kit.send_as("tools/call", invitation, CallForm(Convention.TOOLS))
    if not _is_join(asked):
        # No document has tools/call: a player that acknowledges it, or refuses it, breaks no other clause by that.
        kit.record.set_aside(asked)


def _is_join(probe: Probe) -> bool:
    has_type = probe.answer.get("message_type") == "GAME_JOIN_ACK"
    return probe.is_answered and (has_type or isinstance(probe.accept, bool))


async def _call_by_all_names(kit: Kit, spec: CallForm) -> None:
    row = EXCHANGES["CHOOSE_PARITY_CALL"]
    joins = kit.record.of("unknown fields", "optional null", "method")
    if not any(join.has_joined for join in joins) or not _chooses(kit):
        return
    for name in (row.method, *row.other_methods, row.message_type, row.message_type.lower()):
        await kit.send_as(f"method: {name}", _parity_call(kit, READINGS), spec, name)


# --- the end ----------------------------------------------------------------------------------------------------------


async def afterwards(kit: Kit) -> None:
    """See whether the player still plays after malformed requests."""
    await leave_all(kit)
    await kit.send_document("ping afterwards", _ping(kit.next_id()))
    await announce(kit, AFTERWARDS)
    invitation = await invite(kit, AFTERWARDS, "invitation afterwards")
    if invitation.has_joined and _chooses(kit):
        await call(kit, AFTERWARDS, "call afterwards")


async def end(kit: Kit) -> None:
    """Send LEAGUE_COMPLETED; some agents exit then."""
    await leave_all(kit)
    await kit.send_message("league completed", kit.writer.league_completed(AFTERWARDS))


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
    "signing": signing.signing,
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
    "signing",
    "afterwards",
)
"""Scenarios that need an answered invitation."""


async def run_scenarios(kit: Kit, names: frozenset[str]) -> None:
    """Run these scenarios; stop as soon as nobody listens any more."""
    record = kit.record
    for name, scenario in SCENARIOS.items():
        is_unanswered = record.convention is None and "dialect" in record.played
        if name not in names or (name in PLAYING and is_unanswered):
            continue
        await scenario(kit)
        record.played.add(name)
        if record.probes and (record.is_gone or not record.is_reached):
            break
    else:
        await leave_all(kit)
    record.discard_after_exit()
