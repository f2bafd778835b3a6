"""The scenario for players that declared receipts: referees that break their promises, and a game that nobody plays.

Theory of operation. Each match of this scenario has a real draw: the invitation carries the commitment of a seed. The
player joins and chooses, and then GAME_OVER contradicts what it knows, in one way per match (LIES). A player that signs
its choices protests at the manager, which is the kit. In the first match a second invitation carries another
commitment.

Before that, one match ends as it should. But the table after its round does not follow from it, and neither does the
match in the answer to GET_PLAYER_STATS: the player protests against that, too.

The last lie has another purpose as well. The kit answers the next query with E012, because now no match depends on the
player's key any more, and waits for it to register again. From then on the kit derives its tokens from the new one.

Nothing is sent to players that did not declare receipts: they are bound to none of this.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from league_kit import kit_draws
from league_kit.kit import Kit
from league_kit.kit_conventions import Object
from league_kit.kit_messages import EVEN_ODD, MessageWriter, other_parity
from league_kit.kit_server import PROTEST
from league_kit.record import Arrival, Probe
from league_kit.registering import REQUEST, adopt

FIRST_MATCH: Final = 9
UNKNOWN_GAME: Final = "a_game_that_only_the_kit_names"
PROTEST_S: Final = 3.0
"""How long to wait for a protest; a player that checks GAME_OVER knows at once."""
REGISTER_S: Final = 5.0
"""How long to wait for a registration after E012."""

Lie = Callable[[MessageWriter, int, str, bytes], Object]


def _another_choice(writer: MessageWriter, number: int, choice: str, seed: bytes) -> Object:
    return writer.drawn_result(number, other_parity(choice), seed)


def _another_seed(writer: MessageWriter, number: int, choice: str, _: bytes) -> Object:
    return writer.drawn_result(number, choice, kit_draws.new_seed())


def _another_winner(writer: MessageWriter, number: int, choice: str, seed: bytes) -> Object:
    result = writer.drawn_result(number, choice, seed)
    players = {writer.player_id, writer.opponent_id}
    (loser,) = players - {result["game_result"]["winner_player_id"]}
    result["game_result"]["winner_player_id"] = loser
    return result


LIES: Final[Mapping[str, Lie]] = {
    "it says that you made the other choice": _another_choice,
    "its draw_seed does not open the draw_commitment of the invitation": _another_seed,
    "its winner does not follow from the choices and the number": _another_winner,
}
"""What contradicts the player's knowledge, as the report tells it, and how it is written."""
LAST_MATCH: Final = FIRST_MATCH + len(LIES) - 1
DECLINED_MATCH: Final = LAST_MATCH + 1
TABLE_MATCH: Final = DECLINED_MATCH + 1
FALSE_TABLE: Final = "GET_PLAYER_STATS says that somebody else won"


async def signing(kit: Kit) -> None:
    """Lie to a player that signs its choices, and invite it to a game that it cannot know."""
    member = kit.record.member
    if member is None or not member.signs:
        return
    await _decline(kit)
    await _false_table(kit)
    for number, (lie, write) in enumerate(LIES.items(), FIRST_MATCH):
        seed = kit_draws.new_seed()
        choice = await _choice(kit, number, seed)
        if choice is None:
            continue
        kit.server.refuses_next_query = number == LAST_MATCH
        message = write(kit.writer, number, choice, seed)
        result = await kit.send_message(f"false result: {lie}", message, plain=False)
        # Without this pause a late protest against one match could change the key in the middle of the next.
        await kit.server.wait_for(partial(is_protest, result), PROTEST_S / kit.options.time_scale)
    await _wait_for_registration(kit)


async def _decline(kit: Kit) -> None:
    await kit.send_message("announcement", kit.writer.announcement(DECLINED_MATCH, UNKNOWN_GAME), plain=False)
    invitation = kit.writer.invitation(DECLINED_MATCH, UNKNOWN_GAME)
    answer = await kit.send_message("invitation to an unknown game", invitation, plain=False)
    if answer.is_answered:
        # Declined or not, a referee tells both players how the match ended.
        await kit.send_message("match left", kit.writer.called_off(DECLINED_MATCH, UNKNOWN_GAME), plain=False)


async def _false_table(kit: Kit) -> None:
    """End a match truly, and its round with a table that does not follow from it."""
    seed = kit_draws.new_seed()
    choice = await _choice(kit, TABLE_MATCH, seed)
    if choice is None:
        return
    writer = kit.writer
    message = writer.drawn_result(TABLE_MATCH, choice, seed)
    result = await kit.send_message(f"result before a false table: {FALSE_TABLE}", message, plain=False)
    kit.server.played = [writer.played_falsely(message)]
    await kit.send_message("false table", writer.standings(TABLE_MATCH), plain=False)
    await kit.send_message("end of its round", writer.round_completed(TABLE_MATCH), plain=False)
    await kit.server.wait_for(partial(is_protest, result), PROTEST_S / kit.options.time_scale)
    kit.server.played = []


async def _choice(kit: Kit, number: int, seed: bytes) -> str | None:
    """Play a match up to the player's choice. None if it makes no legal one."""
    writer = kit.writer
    await kit.send_message("announcement", writer.announcement(number))
    invitation = {**writer.invitation(number), "draw_commitment": _commitment(kit, number, seed)}
    join = await kit.send_message("invitation with a commitment", invitation)
    if not join.has_joined:
        return None
    if number == FIRST_MATCH:
        other_commitment = _commitment(kit, number, kit_draws.new_seed())
        second = {**invitation, "draw_commitment": other_commitment}
        await kit.send_message("other commitment", second, plain=False)
    question = {**writer.parity_call(number, kit.limit_s("CHOOSE_PARITY_CALL")), "turn": 1}
    answer = await kit.send_message("call with a commitment", question)
    if not answer.is_answered or answer.choice not in ("even", "odd"):
        await kit.send_message("match left", writer.called_off(number, EVEN_ODD), plain=False)
        return None
    return str(answer.choice)


def _commitment(kit: Kit, number: int, seed: bytes) -> str:
    return kit_draws.commitment(seed, kit.writer.match_id(number))


def is_protest(result: Probe, request: Arrival) -> bool:
    """Is this request a protest about the match of that GAME_OVER?"""
    params = request.message.get("query_params")
    if request.message.get("query_type") != PROTEST or not isinstance(params, dict):
        return False
    return request.at >= result.at and params.get("match_id") == result.message["match_id"]


async def _wait_for_registration(kit: Kit) -> None:
    """Wait until a player whose query was refused is a member again."""
    refused_at = kit.record.refusals.query_at
    kit.server.refuses_next_query = False
    if refused_at is None:
        return
    request = await kit.server.wait_for(
        lambda request: request.kind == REQUEST and request.at > refused_at, REGISTER_S / kit.options.time_scale
    )
    if request is not None and kit.record.member is not None:
        await adopt(kit, kit.record.member)
