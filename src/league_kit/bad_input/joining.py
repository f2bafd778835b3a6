"""How the kit gets a standing: as a member of a manager's league, or as the manager of a player or a referee."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final
from urllib.parse import urlsplit

from league.protocol import tokens
from league.protocol.exchanges import EXCHANGES
from league_kit.bad_input.cases import (
    LEAGUE_WORD,
    MANAGER,
    OTHERS_TOKENS,
    Phase,
    Standing,
    call_of,
    encoded,
    method_of,
)
from league_kit.bad_input.wrong_messages import right_message
from league_kit.kit import Kit
from league_kit.kit_server import HOSTED
from league_kit.messages import LEAGUE
from league_kit.record import Arrival, Probe
from league_kit.wire import RawRequest, send_request

START_S: Final = 20.0
"""How long a league may take to give the kit's referee its match once everybody has registered."""
SETTLE_S: Final = 0.3
FIRST, SECOND = (("player", "P01"), ("referee", "REF01")), (("player", "P02"), ("referee", "REF02"))
_METHODS: Final = (("manager", "register_player"), ("player", "handle_game_invitation"), ("referee", "notify_round"))
PAGES: Final = ("/api/league", "/api/standings", "/api/schedule", "/api/agents")
STATES: Final = {"referee": "ping", "player": "get_player_state"}
NOTED: Final = ("journal_seq", "refused", "deviations", "applicants", "contested", "timestamp", "conversation_id")
"""What may change when something was refused: it is noted who sent it, whom it posed as, and who waits for approval."""


async def find_role(kit: Kit) -> str:
    """What the agent is: the role whose method it knows. ValueError if it knows none."""
    for role, method in _METHODS:
        probe = await _ask(kit, f"is it a {role}?", encoded(call_of({}, method, kit.next_id())))
        if probe.trouble is not None:
            raise ValueError(f"{kit.options.target}: {probe.why_not()}. Is the agent running?")
        if probe.parsed.error is not None and not probe.parsed.error.says_unknown:
            return role
    raise ValueError("it knows no method of a manager, a player or a referee; say which it is with --role")


async def join(kit: Kit, role: str) -> Standing:
    """The standing with which the catalogue begins."""
    if role == MANAGER:
        spare = {"spare endpoint": _endpoint(kit, "spare"), **_taken(kit)}
        return await _register(kit, Standing(kit.options.target, role, spare), FIRST)
    record = kit.record
    await _await_registration(kit)
    member = record.member
    us = member.id if member is not None else "P01"
    words = {LEAGUE_WORD: LEAGUE, ("P01" if role == "player" else "REF01"): us}
    if member is None:
        shown = {tokens.MANAGER: kit.writer.manager_token, "REF01": kit.writer.referee_token}
        return Standing(kit.options.target, role, words, shown)
    key = tokens.deriver(member.tokens[-1])
    shown = {
        tokens.MANAGER: tokens.derive(key, tokens.MANAGER, us, LEAGUE),
        "REF01": tokens.derive(key, "REF01", us, LEAGUE, "R1M1", 1),
    }
    others = (
        shown[tokens.MANAGER],
        tokens.derive(key, "REF02", us, LEAGUE, "R1M1", 1),
        tokens.derive(key, "REF01", us, LEAGUE, "R2M1", 1),
        member.tokens[-1],
    )
    shown |= dict(zip(OTHERS_TOKENS, others, strict=True))
    return Standing(kit.options.target, role, words, shown)


async def _await_registration(kit: Kit) -> None:
    if kit.options.listen is None:
        kit.record.listening = "no agent could register: the kit was not told to listen (--listen PORT)"
        return
    if kit.record.member is None:
        await kit.server.wait_for(lambda _: kit.record.member is not None, kit.options.wait_s)
    if kit.record.member is None:
        kit.record.listening = f"nobody registered at {kit.manager_url} within {kit.options.wait_s:g} seconds"
    await asyncio.sleep(SETTLE_S)


async def advance(kit: Kit, standing: Standing, phase: Phase) -> Standing:
    """Bring the league to this phase; a standing with the reason why not, where it does not come to it."""
    if standing.missing or phase is Phase.OPEN:
        return standing
    if standing.role != MANAGER:
        return standing if kit.record.member is not None else replace(standing, missing=kit.record.listening)
    if phase is Phase.RUNNING:
        return await _begin(kit, await _register(kit, standing, SECOND))
    reported = await _say(kit, "MATCH_RESULT_REPORT", standing)
    if reported.parsed.error is not None or not reported.is_readable:
        return replace(standing, missing=f"the kit's result was not accepted: {reported.why_not()}")
    return standing


# --- members of a manager's league ------------------------------------------------------------------------------------


def _endpoint(kit: Kit, name: str) -> str:
    return f"{kit.server.url}{HOSTED}{name}/mcp"


def _taken(kit: Kit) -> dict[str, str]:
    """Names and endpoints of the first two members, for newcomers that want the same."""
    words: dict[str, str] = {}
    for role, known in FIRST:
        part = f"{role}_meta"
        words |= {
            f"taken {part}": _name(known),
            f"TAKEN {part}": _name(known).upper(),
            f"endpoint {part}": _endpoint(kit, known),
        }
    return words


def _name(known: str) -> str:
    return f"Kit {known.title()}"


async def _register(kit: Kit, standing: Standing, members: tuple[tuple[str, str], ...]) -> Standing:
    for role, known in members:
        kind = "LEAGUE_REGISTER_REQUEST" if role == "player" else "REFEREE_REGISTER_REQUEST"
        message = right_message(kind, standing)
        message["sender"] = f"{role}:{known.lower()}"
        meta = {"display_name": _name(known), "contact_endpoint": _endpoint(kit, known)}
        message[f"{role}_meta"] = {**message[f"{role}_meta"], **meta}
        message.pop("auth_token", None)
        body = encoded(call_of(message, method_of(kind), kit.next_id()))
        probe = await _ask(kit, f"registration of {known}", body)
        given = probe.parsed.fields
        if given.get("status") != "ACCEPTED":
            why = probe.why_not() if probe.parsed.error is not None or probe.trouble else str(dict(given))[:200]
            return replace(standing, missing=f"the kit could not register as a {role}: {why}")
        standing = _with_member(standing, known, str(given.get(f"{role}_id")), given)
    return standing


def _with_member(standing: Standing, known: str, agent_id: str, given: Mapping[str, Any]) -> Standing:
    """Any: JSON."""
    words = {**standing.words, known: agent_id}
    if isinstance(given.get("league_id"), str):
        words[LEAGUE_WORD] = given["league_id"]
    return replace(standing, words=words, tokens={**standing.tokens, agent_id: str(given.get("auth_token"))})


async def _begin(kit: Kit, standing: Standing) -> Standing:
    """Wait until one of the kit's referees was given a match; it is called REF01 from now on."""
    if standing.missing:
        return standing

    def gives_match(one: Arrival) -> bool:
        is_referees = one.place in (f"{HOSTED}REF01/mcp", f"{HOSTED}REF02/mcp")
        return is_referees and one.kind == "ROUND_ANNOUNCEMENT" and bool(one.message.get("matches"))

    there = [one for one in kit.record.arrivals if gives_match(one)]
    given = there[0] if there else await kit.server.wait_for(gives_match, START_S)
    if given is None:
        why = f"its league gave the kit's referee no match within {START_S:g} seconds (start it with --players 2)"
        return replace(standing, missing=why)
    match = given.message["matches"][0]
    words = {**standing.words, "R1M1": str(match["match_id"])}
    words["P01"], words["P02"] = str(match["player_A_id"]), str(match["player_B_id"])
    if given.place == f"{HOSTED}REF02/mcp":
        words["REF01"], words["REF02"] = words["REF02"], words["REF01"]
    return replace(standing, words=words)


# --- what the agent's state is ----------------------------------------------------------------------------------------


async def observed(kit: Kit, standing: Standing) -> str:
    """What can be seen of the agent's state from outside, without what is noted about whoever was refused."""
    if standing.role == MANAGER:
        found = [await _page(kit, path) for path in PAGES]
        if any(found):
            return str(found)
        return str([await _query(kit, standing, kind) for kind in ("GET_STATUS", "GET_STANDINGS")])
    response = await send_request(RawRequest(standing.url, encoded(call_of({}, STATES[standing.role]))), START_S)
    return response.body.decode(errors="replace")


async def _page(kit: Kit, path: str) -> object:
    parts = urlsplit(kit.options.target)
    url = parts._replace(path=path, query="").geturl()
    probe = await kit.send_aside(RawRequest(url, method="GET", content_type=None))
    return _without_notes(probe.parsed.content) if probe.response.status == 200 else None


async def _query(kit: Kit, standing: Standing, query_type: str) -> object:
    if standing.missing:
        return None
    message = {**right_message("LEAGUE_QUERY", standing), "query_type": query_type}
    body = encoded(call_of(message, method_of("LEAGUE_QUERY")))
    probe = await kit.send_aside(RawRequest(standing.url, body))
    return _without_notes(probe.parsed.content)


def _without_notes(value: object) -> object:
    if isinstance(value, dict):
        return {name: _without_notes(one) for name, one in value.items() if name not in NOTED}
    return [_without_notes(one) for one in value] if isinstance(value, list) else value


async def settled(kit: Kit, standing: Standing) -> str:
    """The state, once it stands still: what was sent before may still be at work."""
    until = time.monotonic() + START_S
    before, now = "", await observed(kit, standing)
    while before != now and time.monotonic() < until:
        await asyncio.sleep(SETTLE_S)
        before, now = now, await observed(kit, standing)
    return now


async def _say(kit: Kit, kind: str, standing: Standing) -> Probe:
    message = right_message(kind, standing)
    return await _ask(kit, EXCHANGES[kind].method, encoded(call_of(message, method_of(kind), kit.next_id())))


async def _ask(kit: Kit, label: str, body: bytes) -> Probe:
    return await kit.send_bad(label, RawRequest(kit.options.target, body))
