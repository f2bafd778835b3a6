"""The scenario in which a referee plays matches between players of the kit, and reports them to the kit."""

# Theory of operation
#
# A match is staged before the referee hears of it: the server then answers as both players, and takes the report. The
# referee is told in the documents' way first, in each calling convention until it acknowledges one; if it invites
# nobody, in the two ways outside the documents. The way that made it play comes first from then on.

from __future__ import annotations

from contextlib import suppress
from typing import Final

from league.features.kit.driver.conventions import HOSTED, Object
from league.features.kit.driver.kit import Kit
from league.features.kit.driver.messages import REFEREE, WAYS
from league.features.kit.driver.record import Probe, StagedMatch
from league.features.kit.driver.server import KitServer
from league.gateway.readers.foreign_assignments import spelled_out
from league.protocol.wire.jsonrpc import MANAGER_LIMIT, decode_call

PLAYERS: Final = ("P01", "P02")
PORT: Final = 8000
"""Where the documents have the manager; its players are at 8101 and 8102 then."""
BEGIN_S: Final = 12.0
"""How long a referee may take to invite somebody: some ask for their matches every ten seconds."""
MATCH_S: Final = 60.0
REPEATED_S: Final = 12.0
"""How long to wait for the repetition of a report."""
DIFFERENT: Final = 1
ALIKE: Final = 2
ILLEGAL: Final = 3
DECLINED: Final = 4
CHOICES: Final = {
    DIFFERENT: (("even",), ("odd",)),
    ALIKE: (("odd",), ("odd",)),
    ILLEGAL: (("Even", "even"), ("odd",)),
    DECLINED: (("even",), ()),
}
"""What the players choose in the match of each round."""


async def refereeing(kit: Kit) -> None:
    """Have the referee play one match after another, as long as it plays."""
    record = kit.record
    if record.member is None:
        return
    if kit.options.listen == PORT:
        await _move_in(kit)
    endpoint = record.member.meta.get("contact_endpoint", kit.options.target)
    ways = list(WAYS)
    for number, choices in CHOICES.items():
        match_id = kit.writer.match_id(number)
        is_dropped = number == DIFFERENT
        record.staged.append(StagedMatch(match_id, dict(zip(PLAYERS, choices, strict=True)), is_dropped))
        if not await _begins(kit, number, ways, endpoint):
            return
        if not await _has_come(kit, match_id, "MATCH_RESULT_REPORT", MATCH_S):
            return
        if is_dropped:
            await _has_come(kit, match_id, "MATCH_RESULT_REPORT", REPEATED_S, count=2)
    await kit.say("league completed", "LEAGUE_COMPLETED", DECLINED, plain=False)


async def _move_in(kit: Kit) -> None:
    """Serve the players at the documents' ports, too, if these are free: some referees look for them nowhere else."""
    for port, player in enumerate(PLAYERS, start=8101):
        with suppress(OSError):
            await kit.server.listen(kit.options.host, port, home_of(player))


async def _begins(kit: Kit, number: int, ways: list[str], endpoint: str) -> bool:
    """Tell the referee of a match; return whether it invited somebody. `ways` are those that may make it play."""
    announcement = _announcement(kit.writer.write("ROUND_ANNOUNCEMENT", number, player=PLAYERS[0]), kit, endpoint)
    kit.server.schedule.append(announcement)
    for way in list(ways):
        message = announcement
        if way != WAYS[0]:
            [match] = announcement["matches"]
            message = {**announcement, **match, "message_type": way}
        await _tell(kit, message)
        if await _has_come(kit, kit.writer.match_id(number), "GAME_INVITATION", BEGIN_S):
            ways[:] = [way]
            return True
    return False


def _announcement(announcement: Object, kit: Kit, endpoint: str) -> Object:
    """Complete an announcement as it goes to a referee; `endpoint` is its own, as it registered it."""
    [match] = announcement["matches"]
    homes = [(player, kit.server.url + home_of(player)) for player in PLAYERS]
    match |= {**spelled_out(homes), "referee_id": REFEREE, "referee_endpoint": endpoint, "attempt": 1}
    return announcement


def home_of(name: str) -> str:
    return f"{HOSTED}{name.lower()}/mcp"


async def _tell(kit: Kit, message: Object) -> None:
    """Call in each form until the referee acknowledges one. It is likely to be called as it registered."""
    [registration, *_] = kit.record.requests("REFEREE_REGISTER_REQUEST")
    match_id = message["matches"][0]["match_id"]

    def is_taken(probe: Probe) -> bool:
        is_acknowledged = probe.is_empty or (probe.is_readable and probe.parsed.error is None)
        return is_acknowledged or bool(kit.record.about(match_id, "GAME_INVITATION"))

    likely = decode_call(registration.body, MANAGER_LIMIT).convention
    await kit.send_in_any_form("announcement", message, is_taken, likely=likely, plain=False)


async def _has_come(kit: Kit, match_id: str, kind: str, seconds: float, count: int = 1) -> bool:
    """Wait for so many requests of this kind about a match."""
    server: KitServer = kit.server
    arrival = await server.wait_for(
        lambda _: len(kit.record.about(match_id, kind)) >= count, seconds / kit.options.time_scale
    )
    return arrival is not None
