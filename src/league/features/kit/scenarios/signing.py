"""The scenario for players that declared a key: a referee that breaks its promise.

Theory of operation. The match of this scenario has a real draw: the invitation carries the commitment of a seed. The
player joins, a second invitation carries another commitment, and the player chooses. The match ends as it should.

Then the table says that the player has played more matches, so that a player that looks for matches that it missed
asks the manager, which is the kit. The answer is E012, because now no match depends on the player's key any more, and
the kit waits for it to register again. From then on the kit derives its tokens from the new one.

Nothing is sent to players that did not declare a key: they are bound to none of this.
"""

from __future__ import annotations

from typing import Final

from league.features.kit.driver import draws
from league.features.kit.driver.kit import Kit
from league.features.kit.scenarios.registering import adopt

DRAWN_MATCH: Final = 9
MORE_MATCHES: Final = 99
QUERY_S: Final = 3.0
"""How long to wait for a question about matches; a player that looks for them asks at once."""
REGISTER_S: Final = 5.0
"""How long to wait for a registration after E012."""


async def signing(kit: Kit) -> None:
    """Break a promise to a player that signs its choices."""
    member = kit.record.member
    if member is None or not member.signs:
        return
    await _false_table(kit)
    await _wait_for_registration(kit)


async def _false_table(kit: Kit) -> None:
    """End a match truly, and its round with a table of more matches. Refuse the question that follows."""
    seed = draws.new_seed()
    choice = await _choice(kit, DRAWN_MATCH, seed)
    if choice is None:
        return
    await kit.send_message("true result", kit.writer.drawn_result(DRAWN_MATCH, choice, seed))
    kit.server.refuses_next_query = True
    table = kit.writer.standings(DRAWN_MATCH, players=2)
    for row in table["standings"]:
        row["played"] = MORE_MATCHES
    await kit.send_message("false table", table, plain=False)
    ended = await kit.say("end of its round", "ROUND_COMPLETED", DRAWN_MATCH, plain=False)
    await kit.server.wait_for(
        lambda request: request.kind == "LEAGUE_QUERY" and request.at >= ended.at, QUERY_S / kit.options.time_scale
    )


async def _choice(kit: Kit, number: int, seed: bytes) -> str | None:
    """Play a match up to the player's choice. None if it makes no legal one."""
    writer = kit.writer
    match_id = writer.match_id(number)
    await kit.say("announcement", "ROUND_ANNOUNCEMENT", number)
    promise = {"draw_commitment": draws.commitment(seed, match_id)}
    invitation = {**writer.write("GAME_INVITATION", number), **promise}
    join = await kit.send_message("invitation with a commitment", invitation)
    if not join.has_joined:
        return None
    second = {**invitation, "draw_commitment": draws.commitment(draws.new_seed(), match_id)}
    await kit.send_message("other commitment", second, plain=False)
    question = {**writer.write("CHOOSE_PARITY_CALL", number), "turn": 1}
    answer = await kit.send_message("call with a commitment", question)
    if not answer.is_answered or answer.choice not in ("even", "odd"):
        await kit.say("match left", "CALLED_OFF", number, plain=False)
        return None
    return str(answer.choice)


async def _wait_for_registration(kit: Kit) -> None:
    """Wait until a player whose query was refused is a member again."""
    refused_at = kit.record.refusals.get("query")
    kit.server.refuses_next_query = False
    if refused_at is None:
        return
    request = await kit.server.wait_for(
        lambda request: request.kind == "LEAGUE_REGISTER_REQUEST" and request.at > refused_at,
        REGISTER_S / kit.options.time_scale,
    )
    if request is not None and kit.record.member is not None:
        await adopt(kit, kit.record.member)
