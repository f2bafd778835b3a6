"""A player by D4 alone: its messages in the mandatory envelope, with the token in it, and times as 20250115T10:30:00Z.

Players do not contact a referee (D4 4.1.2), so an answer goes back with the call. The player measures what D4 promises
it and says what is broken: matches begin at least `--lead` seconds after their announcement (D4 4.1: 60), and a table
comes within 5 seconds of a result (D4 7.2.4).
"""

import time

from web import over, post, read_options, run_until_over, say, serve, utc

COMPACT = "%Y%m%dT%H:%M:%SZ"
TABLE_S = 5.0
own = {"player_id": "", "auth_token": ""}
announced = {}
"""When each match was announced."""
results = []
"""When each result came whose table is still to come."""


def enveloped(kind, conversation, fields):
    message = {
        "protocol": "league.v2",
        "message_type": kind,
        "sender": f"player:{own['player_id'] or 'new'}",
        "timestamp": utc(COMPACT),
        "conversation_id": conversation,
        **fields,
    }
    if own["auth_token"]:
        message["auth_token"] = own["auth_token"]
    return message


def receive(message):
    kind = message.get("message_type")
    handle = HANDLERS.get(kind)
    if handle is None:
        return None
    missing = {"protocol", "sender", "timestamp", "conversation_id"} - set(message)
    if missing:
        say(f"broken: {kind} lacks {sorted(missing)}")
    return handle(message)


def round_announced(message):
    for match in message["matches"]:
        announced[match["match_id"]] = time.monotonic()


def invited(message):
    waited = time.monotonic() - announced.get(message["match_id"], time.monotonic())
    if waited < options.lead:
        say(f"broken: {message['match_id']} began {waited:.1f} seconds after its announcement")
    fields = {
        "match_id": message["match_id"],
        "player_id": own["player_id"],
        "arrival_timestamp": utc(COMPACT),
        "accept": True,
    }
    return enveloped("GAME_JOIN_ACK", message["conversation_id"], fields)


def chosen(message):
    fields = {
        "match_id": message["match_id"],
        "player_id": own["player_id"],
        "parity_choice": "odd",
    }
    return enveloped("CHOOSE_PARITY_RESPONSE", message["conversation_id"], fields)


def ended(message):
    results.append(time.monotonic())
    say(f"over: {message['match_id']} {message['game_result']['status']}")


def failed(message):
    say(f"error: {message['error_code']} {message['error_description']}: {message.get('error_detail', '')}")


def table_came(message):
    late = [result for result in results if time.monotonic() - result > TABLE_S]
    if late:
        say("broken: the table came more than 5 seconds after the result")
    results.clear()


def completed(message):
    if results:
        say("broken: no table came after the last result")
    over.set()


HANDLERS = {
    "ROUND_ANNOUNCEMENT": round_announced,
    "GAME_INVITATION": invited,
    "CHOOSE_PARITY_CALL": chosen,
    "GAME_OVER": ended,
    "GAME_ERROR": failed,
    "LEAGUE_STANDINGS_UPDATE": table_came,
    "LEAGUE_COMPLETED": completed,
}
options = read_options()


def main():
    endpoint = serve(options.port, receive)
    meta = {
        "display_name": options.name,
        "version": "1.0.0",
        "game_types": ["even_odd"],
        "contact_endpoint": endpoint,
    }
    answer = post(options.manager, enveloped("LEAGUE_REGISTER_REQUEST", "convregister1", {"player_meta": meta}))
    say(f"registered: {answer['status']} {answer.get('player_id')} {answer.get('reason')}")
    if answer["status"] == "ACCEPTED":
        own["player_id"] = answer["player_id"]
        own["auth_token"] = answer.get("auth_token", "")
        run_until_over()


main()
