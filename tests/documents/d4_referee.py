"""A referee by D4 alone: its messages in the mandatory envelope, with the token in it, and the time limits of D4 14.2.

An illegal choice gets GAME_ERROR E004, and may be corrected while time is left (D4 6.2.4). A call without an answer is
repeated three times, 2 seconds apart (D4 14.3). It knows where players live from its own configuration.
"""

import time

from web import later, over, post, read_options, repeat, run_until_over, say, serve, utc

COMPACT = "%Y%m%dT%H:%M:%SZ"
NUMBERS = (8, 3, 6, 5)
RETRIES = 3
LEAGUE_ID = "league_2025_even_odd"
own = {"endpoint": "", "referee_id": "", "auth_token": "", "played": 0}
options = read_options()
begun = set()


def enveloped(kind, conversation, fields):
    message = {
        "protocol": "league.v2",
        "message_type": kind,
        "sender": f"referee:{own['referee_id'] or 'new'}",
        "timestamp": utc(COMPACT),
        "conversation_id": conversation,
        **fields,
    }
    if own["auth_token"]:
        message["auth_token"] = own["auth_token"]
    return message


def receive(message):
    kind = message.get("message_type")
    if kind == "ROUND_ANNOUNCEMENT":
        begin(message["league_id"], message["round_id"], message["matches"])
    elif kind == "LEAGUE_COMPLETED":
        over.set()


def begin(league_id, round_id, matches):
    for match in matches:
        if match["referee_endpoint"] == own["endpoint"] and match["match_id"] not in begun:
            begun.add(match["match_id"])
            later(play, league_id, round_id, match)


def ask_for_matches():
    """Ask for the schedule (D4 8.1): a manager announces rounds to players only (D4 4.1)."""
    fields = {"league_id": LEAGUE_ID, "query_type": "GET_SCHEDULE", "query_params": {}}
    answer = post(options.manager, enveloped("LEAGUE_QUERY", "convquery001", fields))
    for row in answer["data"]["schedule"] if answer.get("success") else ():
        begin(LEAGUE_ID, row["round_id"], row["matches"])


def ask(player, message, reply, seconds):
    """Ask a player, and again if it does not answer."""
    for retry in range(1 + RETRIES):
        answer = post(options.homes[player], message, seconds)
        if answer.get("message_type") == reply:
            return answer
        if retry < RETRIES:
            tell_error(player, message, "E001", "TIMEOUT_ERROR", reply, retry + 1)
            time.sleep(2)
    return {}


def tell_error(player, message, code, name, action, retry):
    fields = {
        "match_id": message["match_id"],
        "error_code": code,
        "error_description": name,
        "affected_player": player,
        "action_required": action,
        "retry_info": {"retry_count": retry, "max_retries": RETRIES},
        "consequence": "Technical loss if max retries exceeded",
    }
    post(options.homes[player], enveloped("GAME_ERROR", message["conversation_id"], fields), 5)


def play(league_id, round_id, match):
    time.sleep(options.lead)
    players = (match["player_A_id"], match["player_B_id"])
    opponents = dict(zip(players, reversed(players), strict=True))
    match_id = match["match_id"]
    conversation = f"conv{match_id.lower()}001"
    joined = True
    for role, player in zip(("PLAYER_A", "PLAYER_B"), players, strict=True):
        invitation = {
            "league_id": league_id,
            "round_id": round_id,
            "match_id": match_id,
            "game_type": "even_odd",
            "role_in_match": role,
            "opponent_id": opponents[player],
        }
        answer = ask(player, enveloped("GAME_INVITATION", conversation, invitation), "GAME_JOIN_ACK", 5)
        joined = answer.get("accept") is True and joined
    choices = dict.fromkeys(players)
    for player in players if joined else ():
        choices[player] = choice_of(player, opponents[player], round_id, match_id, conversation)
    end(league_id, round_id, match_id, conversation, choices)


def choice_of(player, opponent, round_id, match_id, conversation):
    until = time.monotonic() + 30
    fields = {
        "match_id": match_id,
        "player_id": player,
        "game_type": "even_odd",
        "context": {
            "opponent_id": opponent,
            "round_id": round_id,
            "your_standings": {"wins": 0, "losses": 0, "draws": 0},
        },
        "deadline": utc(COMPACT, ahead=30),
    }
    call = enveloped("CHOOSE_PARITY_CALL", conversation, fields)
    for retry in range(1 + RETRIES):
        choice = ask(player, call, "CHOOSE_PARITY_RESPONSE", until - time.monotonic()).get("parity_choice")
        if choice in ("even", "odd"):
            return choice
        tell_error(player, call, "E004", "INVALID_PARITY_CHOICE", "CHOOSE_PARITY_RESPONSE", retry + 1)
    return None


def end(league_id, round_id, match_id, conversation, choices):
    number = NUMBERS[own["played"] % len(NUMBERS)]
    own["played"] += 1
    parity = "odd" if number % 2 else "even"
    right = [player for player, choice in choices.items() if choice == parity]
    winner = right[0] if len(right) == 1 else None
    status = "WIN" if winner else "DRAW"
    if None in choices.values():
        status = "TECHNICAL_LOSS"
        say(f"technical loss: {match_id} {choices}")
    result = {
        "match_id": match_id,
        "game_type": "even_odd",
        "game_result": {
            "status": status,
            "winner_player_id": winner,
            "drawn_number": number,
            "number_parity": parity,
            "choices": choices,
            "reason": f"the number was {number} ({parity})",
        },
    }
    for player in choices:
        post(options.homes[player], enveloped("GAME_OVER", conversation, result), 5)
    points = 3 if winner else 1
    report = {
        "league_id": league_id,
        "round_id": round_id,
        "match_id": match_id,
        "game_type": "even_odd",
        "result": {
            "winner": winner,
            "score": {player: points if winner in (player, None) else 0 for player in choices},
            "details": {"drawn_number": number, "choices": choices},
        },
    }
    answer = post(options.manager, enveloped("MATCH_RESULT_REPORT", conversation, report))
    say(f"reported: {match_id} {status} {winner} {answer.get('error_code', '')}")


def main():
    own["endpoint"] = serve(options.port, receive)
    meta = {
        "display_name": options.name,
        "version": "1.0.0",
        "game_types": ["even_odd"],
        "contact_endpoint": own["endpoint"],
        "max_concurrent_matches": 2,
    }
    answer = post(options.manager, enveloped("REFEREE_REGISTER_REQUEST", "convregister1", {"referee_meta": meta}))
    say(f"registered: {answer['status']} {answer.get('referee_id')} {answer.get('reason')}")
    if answer["status"] == "ACCEPTED":
        own["referee_id"] = answer["referee_id"]
        own["auth_token"] = answer["auth_token"]
        if options.asks:
            repeat(ask_for_matches, 1)
        run_until_over()


main()
