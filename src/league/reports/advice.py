"""What to change next time: for each way to lose a match by a fault, what usually causes it and what helps."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from league.protocol.errors import ERRORS

_TEXTS: Final[Mapping[str, str]] = {
    "DECLINED": (
        'Answer GAME_INVITATION with "accept": true. Declining is a loss at once, there is no second invitation; '
        "who wants to leave the league asks its operator to withdraw the player."
    ),
    "E001 join": (
        "Answer every GAME_INVITATION at once, with GAME_JOIN_ACK in the result of the same HTTP request; nothing has "
        "to be decided yet. Usual causes: the program was stopped at a breakpoint or at input(), one slow request "
        "blocks a server with a single thread, or the program calls others before it answers."
    ),
    "E001 move": (
        "Choose faster, or give the choice a limit of its own and answer with any legal choice when it is reached: "
        "a poor choice is better than none. Usual causes: a language model or another service that takes too long, "
        "an endless loop, input() waiting for somebody."
    ),
    "E003": (
        "Put the missing field into the answer, under exactly this name and with a value that is not null. All "
        "fields of the message stand at the top level of the JSON-RPC result."
    ),
    "E004": (
        'parity_choice is exactly "even" or "odd": lower case, no blanks, a string. "Even", " even", "EVEN", 0 and '
        "null are refused, and the referee never repairs a choice."
    ),
    "E007": (
        'The field has the wrong JSON type: a string stands in quotes, true and false are not 1 and 0, not "true".'
    ),
    "E008": "The type is right, the value is not: mind length, range and the values that are allowed for this field.",
    "E009": (
        "The referee could not get an answer out of the endpoint: the process was not running (any more), it listens "
        "at another address or port than the one it registered, or its server broke off. Look into the player's own "
        "output around this time; keep the process alive until LEAGUE_COMPLETED."
    ),
    "E009 answered": (
        "The player answered with an error instead of the message. Mostly it raised an exception or does not know "
        "the method: accept any method and look at params.message_type, and answer with a result."
    ),
    "E009 broken": (
        "The connection broke before an answer was complete, or what came was no HTTP or a status of the 5xx kind: "
        "mostly an exception in the handler. Its traceback is in the player's own output around this time."
    ),
    "E009 busy": (
        "The player kept answering with status 429 or 503. The referee waits for a busy player 60 seconds in a "
        "phase, and then it counts as unreachable. Do not limit the rate of your own referee's calls."
    ),
    "E011": "This league is strict: the answer must carry the auth_token that the registration returned.",
    "E012": (
        "The auth_token in the answer is not this player's. Keep the one of the last registration: after registering "
        "again only the newest counts."
    ),
    "E015": (
        "Copy match_id from the very call that is being answered. A player may be in several matches, and one that "
        "remembers 'the current match' in a single variable mixes them up."
    ),
    "E018": '"protocol" must be "league.v2".',
    "E021": "Write timestamps in UTC as YYYY-MM-DDTHH:MM:SSZ.",
    "E024": (
        "Answer with one of move_request.valid_options of the call, spelled exactly so; they differ from turn to turn."
    ),
    "E033": (
        "The answer names another player. Use the player_id that your own registration returned (the call also "
        "carries it); two players started from one copy of the code must not share an id."
    ),
    "E034": (
        "The answer must be strict JSON in UTF-8: made by a JSON library, not by printing a dict (single quotes, "
        "None, True), no NaN, no key twice, and no HTML error page of a web framework."
    ),
    "E035": (
        'The answer must be one JSON-RPC 2.0 object: {"jsonrpc": "2.0", "id": the id of the call, "result": {…}}; '
        "no array, no bare message."
    ),
    "E037": "An answer has at most 10,240 bytes: leave out what nobody asked for.",
    "E038": "message_type must name the message that answers the call, and nothing else.",
}


def advice_for(code: str, phase: str, detail: str) -> str:
    """What helps against this fault."""
    for key in (f"{code} {phase}", f"{code} {_manner(detail)}", code):
        if key in _TEXTS:
            return _TEXTS[key]
    return f"{ERRORS[code].name}: {ERRORS[code].when}." if code in ERRORS else "Nothing is known about this fault."


def _manner(detail: str) -> str:
    """How a connection failed, by the referee's own words for it."""
    for word, manner in (("answered with", "answered"), ("busy", "busy"), ("broke", "broken")):
        if word in detail:
            return manner
    return ""


def right_answer(game_type: str, phase: str, match_id: str, player_id: str, league_time: str) -> str:
    """What would have been right, as JSON to compare with."""
    answer: dict[str, object] = {
        "protocol": "league.v2",
        "message_type": "GAME_JOIN_ACK",
        "sender": f"player:{player_id}",
        "timestamp": league_time,
        "conversation_id": "(that of the call)",
        "auth_token": "(yours)",
        "match_id": match_id,
        "player_id": player_id,
    }
    if phase == "join":
        answer |= {"arrival_timestamp": league_time, "accept": True}
    elif game_type == "even_odd":
        answer |= {"message_type": "CHOOSE_PARITY_RESPONSE", "parity_choice": "even"}
    else:
        move = {"move_type": "(that of the call)", "choice": "(one of valid_options)"}
        answer |= {"message_type": "GAME_MOVE_RESPONSE", "move_data": move}
    return json.dumps(answer, ensure_ascii=False)
