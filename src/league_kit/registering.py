"""The scenario in which a player registers with the kit."""

from __future__ import annotations

import asyncio
from typing import Final

from league.protocol.safe_text import escaped
from league_kit.kit import Kit
from league_kit.record import Arrival

WATCH_REJECTED_S: Final = 5.0
"""Longer than the first retry delays of a registration together."""
WATCH_APPROVAL_S: Final = 12.0
"""Longer than two of the pauses between registrations that wait for approval."""
SETTLE_S: Final = 0.5
"""Time for an agent to read the answer to its registration; leagues do not start sooner either."""
SHOWN, LONGEST_SHOWN = 3, 300
"""So many registrations that could not be read are shown, so much of each."""


async def registration(kit: Kit) -> None:
    """Wait for the player to register."""
    options, record = kit.options, kit.record
    if options.listen is None:
        record.listening = "no player could register: the kit was not told to listen (--listen PORT)"
        return
    first = await kit.server.wait_for(lambda one: one.kind == "LEAGUE_REGISTER_REQUEST", options.wait_s)
    if first is None and not record.requests("LEAGUE_REGISTER_REQUEST"):
        record.listening = f"nobody registered at {kit.manager_url} within {options.wait_s:g} seconds"
        for other in [one for one in record.arrivals if one.method == "POST"][:SHOWN]:
            record.listening += f"; POST {other.place} came, but without a LEAGUE_REGISTER_REQUEST: {_shown(other)}"
        return
    if record.put_off_at is not None:
        await kit.server.wait_for(lambda _: record.member is not None, WATCH_APPROVAL_S / options.time_scale)
        return
    if record.rejected_at is not None:
        await asyncio.sleep(WATCH_REJECTED_S / options.time_scale)
        return
    if record.member is None:
        await kit.server.wait_for(lambda _: record.member is not None, options.wait_s)
    if record.member is None:
        record.listening = "the player registered once, got no answer, and did not try again"
        return
    await asyncio.sleep(SETTLE_S / options.time_scale)
    kit.writer.player_id, kit.writer.names_player = record.member.id, True


def _shown(arrival: Arrival) -> str:
    """The beginning of what could not be read, for its author."""
    return escaped(arrival.body[:LONGEST_SHOWN].decode(errors="replace")) or "an empty body"
