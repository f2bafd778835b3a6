"""The scenario in which a player registers with the kit."""

from __future__ import annotations

import asyncio
from typing import Final

from league.features.kit.driver.kit import Kit
from league.features.kit.driver.record import Arrival, RegisteredAgent
from league.protocol.safe_text import escaped
from league.protocol.signing import tokens

REQUESTS: Final = {"player": "LEAGUE_REGISTER_REQUEST", "referee": "REFEREE_REGISTER_REQUEST"}
WATCH_REJECTED_S: Final = 5.0
"""Longer than the first retry delays of a registration together."""
WATCH_APPROVAL_S: Final = 12.0
"""Longer than two of the pauses between registrations that wait for approval."""
SETTLE_S: Final = 0.5
"""Time for an agent to read the answer to its registration; leagues do not start sooner either."""
MOST_QUOTED: Final = 3
"""Maximum number of requests that are quoted when none of them is a registration."""
LONGEST_QUOTE: Final = 300


async def registration(kit: Kit) -> None:
    """Wait for the agent to register."""
    options = kit.options
    record = kit.record
    if options.listen is None:
        record.listening = f"no {record.role} could register, because the kit does not listen (use --listen PORT)"
        return
    await kit.server.wait_for(lambda request: request.kind == REQUESTS[record.role], options.wait_s)
    if not record.requests(REQUESTS[record.role]):
        record.listening = _nobody_registered(kit)
        return
    if "put off" in record.refusals:
        await kit.server.wait_for(lambda _: record.member is not None, WATCH_APPROVAL_S / options.time_scale)
        return
    if "rejected" in record.refusals:
        await asyncio.sleep(WATCH_REJECTED_S / options.time_scale)
        return
    if record.member is None:
        await kit.server.wait_for(lambda _: record.member is not None, options.wait_s)
    if record.member is None:
        record.listening = f"the {record.role} registered once, got no answer, and did not try again"
        return
    await adopt(kit, record.member)


async def adopt(kit: Kit, member: RegisteredAgent) -> None:
    """Let the agent read the answer to its registration, and call it as this member from now on."""
    await asyncio.sleep(SETTLE_S / kit.options.time_scale)
    kit.writer.player_id = member.id
    kit.writer.names_player = True
    if member.signs:
        kit.writer.key = tokens.deriver(member.tokens[-1])


def _nobody_registered(kit: Kit) -> str:
    reason = f"nobody registered at {kit.manager_url} within {kit.options.wait_s:g} seconds"
    posts = [request for request in kit.record.arrivals if request.method == "POST"]
    for request in posts[:MOST_QUOTED]:
        reason += f"; a POST to {request.place} is not a registration that a manager can read: {_quoted(request)}"
    return reason


def _quoted(request: Arrival) -> str:
    """Quote the beginning of a request, for its author."""
    return escaped(request.body[:LONGEST_QUOTE].decode(errors="replace")) or "an empty body"
