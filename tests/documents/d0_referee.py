"""A referee by D0 alone.

Its report is the structure of D0 4.6.2 and nothing else: no envelope, no token. It finds its matches by its own
endpoint in the round announcement, and knows where players live from its own configuration, because D0 does not say it.
Answers may come with the call or as messages of their own.
"""

from web import Mailbox, later, over, post, read_options, repeat, run_until_over, say, serve, utc

NUMBERS = (8, 3, 6, 5)
arrivals = Mailbox()
LEAGUE_ID = "league_2025_even_odd"
own = {"endpoint": "", "referee_id": "", "played": 0}
options = read_options()
begun = set()


def receive(message):
    kind = message.get("message_type")
    if kind == "ROUND_ANNOUNCEMENT":
        begin(message["league_id"], message["round_id"], message["matches"])
    elif kind in ("GAME_JOIN_ACK", "CHOOSE_PARITY_RESPONSE"):
        arrivals.put((kind, message["match_id"], message["player_id"]), message)
    elif kind == "LEAGUE_COMPLETED":
        over.set()


def begin(league_id, round_id, matches):
    for match in matches:
        if match["referee_endpoint"] == own["endpoint"] and match["match_id"] not in begun:
            begun.add(match["match_id"])
            later(play, league_id, round_id, match)


def ask_for_matches():
    """Ask for the schedule (D0 4.9.1): a manager announces rounds to players only (D0 4.3.1)."""
    query = {
        "protocol": "league.v2",
        "message_type": "LEAGUE_QUERY",
        "sender": f"referee:{own['referee_id']}",
        "timestamp": utc(),
        "conversation_id": "conv-query-001",
        "league_id": LEAGUE_ID,
        "query_type": "GET_SCHEDULE",
        "query_params": {},
    }
    answer = post(options.manager, query)
    for row in answer["data"]["schedule"] if answer.get("success") else ():
        begin(LEAGUE_ID, row["round_id"], row["matches"])


def ask(player, call, reply, seconds):
    """Send a message to a player and return its reply."""
    answer = post(options.homes[player], call, seconds)
    if answer.get("message_type") == reply:
        return answer
    return arrivals.take((reply, call["match_id"], player), seconds)


def play(league_id, round_id, match):
    players = (match["player_A_id"], match["player_B_id"])
    match_id = match["match_id"]
    roles = dict(zip(players, ("PLAYER_A", "PLAYER_B"), strict=True))
    opponents = dict(zip(players, reversed(players), strict=True))
    joined = True
    for player in players:
        invitation = {
            "message_type": "GAME_INVITATION",
            "league_id": league_id,
            "round_id": round_id,
            "match_id": match_id,
            "game_type": "even_odd",
            "role_in_match": roles[player],
            "opponent_id": opponents[player],
            "conversation_id": f"conv-{match_id.lower()}-001",
        }
        joined = ask(player, invitation, "GAME_JOIN_ACK", 5).get("accept") is True and joined
    choices = dict.fromkeys(players)
    for player in players if joined else ():
        call = {
            "message_type": "CHOOSE_PARITY_CALL",
            "match_id": match_id,
            "player_id": player,
            "game_type": "even_odd",
            "context": {
                "opponent_id": opponents[player],
                "round_id": round_id,
                "your_standings": {"wins": 0, "losses": 0, "draws": 0},
            },
            "deadline": utc(ahead=30),
        }
        choices[player] = ask(player, call, "CHOOSE_PARITY_RESPONSE", 30).get("parity_choice")
    end(league_id, round_id, match_id, choices)


def end(league_id, round_id, match_id, choices):
    number = NUMBERS[own["played"] % len(NUMBERS)]
    own["played"] += 1
    parity = "odd" if number % 2 else "even"
    right = [player for player, choice in choices.items() if choice == parity]
    winner = right[0] if len(right) == 1 else None
    status = "WIN" if winner else "DRAW"
    if None in choices.values():
        status = "TECHNICAL_LOSS"
        say(f"technical loss: {match_id} {choices}")
    over_message = {
        "message_type": "GAME_OVER",
        "match_id": match_id,
        "game_type": "even_odd",
        "game_result": {
            "status": status,
            "winner_player_id": winner,
            "drawn_number": number,
            "number_parity": parity,
            "choices": choices,
        },
        "reason": f"the number was {number} ({parity})",
    }
    for player in choices:
        post(options.homes[player], over_message, 5)
    score = {player: 3 if player == winner else 0 for player in choices}
    if winner is None:
        score = dict.fromkeys(choices, 1)
    report = {
        "message_type": "MATCH_RESULT_REPORT",
        "league_id": league_id,
        "round_id": round_id,
        "match_id": match_id,
        "game_type": "even_odd",
        "result": {
            "winner": winner,
            "score": score,
            "details": {"drawn_number": number, "choices": choices},
        },
    }
    answer = post(options.manager, report)
    say(f"reported: {match_id} {status} {winner} {answer.get('error_code', '')}")


def main():
    own["endpoint"] = serve(options.port, receive)
    answer = post(
        options.manager,
        {
            "message_type": "REFEREE_REGISTER_REQUEST",
            "referee_meta": {
                "display_name": options.name,
                "version": "1.0.0",
                "game_types": ["even_odd"],
                "contact_endpoint": own["endpoint"],
                "max_concurrent_matches": 2,
            },
        },
    )
    say(f"registered: {answer['status']} {answer.get('referee_id')} {answer.get('reason')}")
    if answer["status"] == "ACCEPTED":
        own["referee_id"] = answer["referee_id"]
        if options.asks:
            repeat(ask_for_matches, 1)
        run_until_over()


main()
