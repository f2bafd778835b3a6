"""How the kit gets a standing: as a member of a manager's league, or as the manager of a player or a referee."""

# Against a manager, the kit registers two players and two referees of its own, in two steps: while the league is open,
# a player and a referee are in it and places are left; with the other two it is full and starts. From the match that
# one of the kit's referees is given, the standing learns the live ids of match and players.
#
# Against a player or a referee, the kit waits until the agent registers with it. Without --listen it cannot, and the
# cases that need a member are untestable.

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from functools import partial
from typing import Final, NamedTuple
from urllib.parse import urljoin

from league.features.kit.bad_input.cases import (
    LEAGUE_WORD,
    MANAGER,
    PLAYER,
    REFEREE,
    LeaguePhase,
    Standing,
    call_of,
    encoded,
    method_of,
)
from league.features.kit.bad_input.wrong_messages import right_message
from league.features.kit.driver.conventions import HOSTED, Object
from league.features.kit.driver.kit import Kit
from league.features.kit.driver.messages import LEAGUE
from league.features.kit.driver.record import Arrival, Probe
from league.features.kit.driver.wire import RawRequest, send_request
from league.features.kit.scenarios.registering import registration
from league.protocol.signing import tokens

START_S: Final = 20.0
"""How long a league may take to give the kit's referee its match once everybody has registered."""
SETTLE_S: Final = 0.3


class _Member(NamedTuple):
    """An agent that the kit plays in a manager's league, under the id that the right messages use for it."""

    role: str
    word: str

    @property
    def name(self) -> str:
        return f"Kit {self.word.title()}"

    @property
    def path(self) -> str:
        return f"{HOSTED}{self.word}/mcp"


FIRST: Final = (_Member(PLAYER, "P01"), _Member(REFEREE, "REF01"))
SECOND: Final = (_Member(PLAYER, "P02"), _Member(REFEREE, "REF02"))
SPARE: Final = _Member(PLAYER, "spare")
_METHODS: Final = {
    MANAGER: "register_player",
    PLAYER: "handle_game_invitation",
    REFEREE: "notify_round",
}
"""A method that only this role knows."""
PAGES: Final = ("/api/league", "/api/standings", "/api/schedule", "/api/agents")
STATES: Final = {REFEREE: "ping", PLAYER: "get_player_state"}
NOTED: Final = (
    "journal_seq",
    "head",
    "waiting",
    "waiting_reason",
    "awaited",
    "refused",
    "deviations",
    "applicants",
    "contested",
    "timestamp",
    "conversation_id",
)
"""Fields that may change when something was refused: notes about the sender, the agent it posed as, and applicants that
wait for approval; and that the league waits for a report in place of a refused one."""


async def find_role(kit: Kit) -> str:
    """Return the role whose method the agent knows. ValueError if it knows none."""
    for role, method in _METHODS.items():
        probe = await _ask(kit, f"is it a {role}?", {}, method)
        if probe.trouble is not None:
            raise ValueError(f"{kit.options.target}: {probe.why_not()}. Is the agent running?")
        if probe.parsed.error is not None and not probe.parsed.error.says_unknown:
            return role
    raise ValueError("it knows no method of a manager, a player or a referee; state its role with --role")


async def join(kit: Kit, role: str) -> Standing:
    """Return the standing with which the catalogue begins."""
    if role == MANAGER:
        words = {"spare endpoint": kit.server.url + SPARE.path}
        for member in FIRST:
            words |= _taken(kit, member)
        return await _register(kit, Standing(kit.options.target, role, words), FIRST)
    kit.record.role = role
    await registration(kit)
    return _as_manager(kit, role)


def _as_manager(kit: Kit, role: str) -> Standing:
    """Return the standing of the kit as manager of the agent, with tokens derived as the protocol derives them."""
    member = kit.record.member
    words = {LEAGUE_WORD: LEAGUE}
    shown = {tokens.MANAGER: kit.writer.manager_token, "REF01": kit.writer.referee_token}
    if member is not None:
        derived = partial(tokens.derive, tokens.deriver(member.tokens[-1]), receiver=member.id, league_id=LEAGUE)
        words["P01" if role == PLAYER else "REF01"] = member.id
        shown = {
            tokens.MANAGER: derived(tokens.MANAGER),
            "REF01": derived("REF01", match_id="R1M1", attempt=1),
            "of the manager": derived(tokens.MANAGER),
            "of another referee": derived("REF02", match_id="R1M1", attempt=1),
            "of another match": derived("REF01", match_id="R2M1", attempt=1),
            "of the player itself": member.tokens[-1],
        }
    return Standing(kit.options.target, role, words, shown)


async def advance(kit: Kit, standing: Standing, phase: LeaguePhase) -> Standing:
    """Bring the league to this phase; if that fails, return a standing with the reason."""
    if standing.missing or phase is LeaguePhase.OPEN:
        return standing
    if standing.role != MANAGER:
        if kit.record.member is None:
            return replace(standing, missing=kit.record.listening)
        return standing
    if phase is LeaguePhase.RUNNING:
        return await _begin(kit, await _register(kit, standing, SECOND))
    message = right_message("MATCH_RESULT_REPORT", standing)
    report = await _say(kit, "report", "MATCH_RESULT_REPORT", message)
    if report.parsed.error is not None or not report.is_readable:
        return replace(standing, missing=f"the kit's result was not accepted: {report.why_not()}")
    return standing


# --- members of a manager's league ------------------------------------------------------------------------------------


def _taken(kit: Kit, member: _Member) -> dict[str, str]:
    """Return the name and endpoint of a member, for newcomers that claim the same."""
    part = f"{member.role}_meta"
    return {
        f"taken {part}": member.name,
        f"TAKEN {part}": member.name.upper(),
        f"endpoint {part}": kit.server.url + member.path,
    }


async def _register(kit: Kit, standing: Standing, members: tuple[_Member, ...]) -> Standing:
    for member in members:
        role = member.role
        kind = "LEAGUE_REGISTER_REQUEST" if role == PLAYER else "REFEREE_REGISTER_REQUEST"
        message = right_message(kind, standing)
        message["sender"] = f"{role}:{member.word.lower()}"
        message[f"{role}_meta"] |= {"display_name": member.name, "contact_endpoint": kit.server.url + member.path}
        message.pop("auth_token", None)
        probe = await _say(kit, f"registration of {member.word}", kind, message)
        answer = probe.parsed.fields
        if answer.get("status") != "ACCEPTED":
            is_unread = probe.parsed.error is not None or probe.trouble
            reason = probe.why_not() if is_unread else str(dict(answer))[:200]
            return replace(standing, missing=f"the kit could not register as a {role}: {reason}")
        agent_id = str(answer.get(f"{role}_id"))
        words = {**standing.words, member.word: agent_id}
        if isinstance(answer.get("league_id"), str):
            words[LEAGUE_WORD] = answer["league_id"]
        all_tokens = {**standing.tokens, agent_id: str(answer.get("auth_token"))}
        standing = replace(standing, words=words, tokens=all_tokens)
    return standing


async def _begin(kit: Kit, standing: Standing) -> Standing:
    """Wait until one of the kit's referees was given a match; it is called REF01 from now on."""
    if standing.missing:
        return standing
    paths = {FIRST[1].path: ("REF01", "REF02"), SECOND[1].path: ("REF02", "REF01")}

    def gives_match(request: Arrival) -> bool:
        return request.place in paths and request.kind == "ROUND_ANNOUNCEMENT" and bool(request.message.get("matches"))

    announcement = await kit.server.wait_for(gives_match, START_S)
    if announcement is None:
        reason = f"its league gave the kit's referee no match within {START_S:g} seconds (start it with --players 2)"
        return replace(standing, missing=reason)
    match = announcement.message["matches"][0]
    referee, other = paths[announcement.place]
    words = {
        **standing.words,
        "R1M1": str(match["match_id"]),
        "P01": str(match["player_A_id"]),
        "P02": str(match["player_B_id"]),
        "REF01": standing.words[referee],
        "REF02": standing.words[other],
    }
    return replace(standing, words=words)


# --- what the agent's state is ----------------------------------------------------------------------------------------


async def observed(kit: Kit, standing: Standing) -> str:
    """Return the agent's state as far as it can be seen from outside, without the notes about refused requests."""
    if standing.role != MANAGER:
        request = _posted(standing, {}, STATES[standing.role])
        return (await send_request(request, START_S)).body.decode(errors="replace")
    pages = [RawRequest(urljoin(standing.url, path), method="GET", content_type="") for path in PAGES]
    states = [await _state(kit, page) for page in pages]
    if not any(states) and not standing.missing:
        query = right_message("LEAGUE_QUERY", standing)
        kinds = ("GET_STATUS", "GET_STANDINGS")
        queries = [_posted(standing, {**query, "query_type": kind}, method_of("LEAGUE_QUERY")) for kind in kinds]
        states = [await _state(kit, request) for request in queries]
    return str(states)


def _posted(standing: Standing, message: Object, method: str) -> RawRequest:
    return RawRequest(standing.url, encoded(call_of(message, method)))


async def _state(kit: Kit, request: RawRequest) -> object:
    probe = await kit.send_aside("state", request)
    return _without_notes(probe.parsed.content) if probe.response.status == 200 else None


def _without_notes(value: object) -> object:
    if isinstance(value, dict):
        return {name: _without_notes(item) for name, item in value.items() if name not in NOTED}
    if isinstance(value, list):
        return [_without_notes(item) for item in value]
    return value


async def settled(kit: Kit, standing: Standing) -> str:
    """Return the state once it stands still: an earlier request may still be at work."""
    until = time.monotonic() + START_S
    before = ""
    state = await observed(kit, standing)
    while before != state and time.monotonic() < until:
        await asyncio.sleep(SETTLE_S)
        before = state
        state = await observed(kit, standing)
    return state


async def _say(kit: Kit, label: str, kind: str, message: Object) -> Probe:
    return await _ask(kit, label, message, method_of(kind))


async def _ask(kit: Kit, label: str, message: Object, method: str) -> Probe:
    body = encoded(call_of(message, method, kit.next_id()))
    return await kit.send_bad(label, RawRequest(kit.options.target, body))
