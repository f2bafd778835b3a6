"""A referee by D1 alone: the methods of D1, its own token in every request, at most three retries.

D1 sends the announcement to players only, and does not say how a referee gets its assignment (D1 4.1: "after receiving
round assignment"). The announcement is the only message with a `referee_endpoint`, so this referee listens to it. It
is configured with the players' endpoints, which D1 keeps in `config/agents/agents_config.json`.
"""

from web import later, over, post, read_options, run_until_over, say, serve, utc

NUMBERS = (8, 3, 6, 5)
RETRIES = 3
own = {"endpoint": "", "referee_id": "", "auth_token": "", "requests": 0, "played": 0}
options = read_options()
begun = set()


def receive(call):
    params = call.get("params", {})
    if call.get("method") == "notify_round":
        for match in params["matches"]:
            if match["referee_endpoint"] == own["endpoint"] and match["match_id"] not in begun:
                begun.add(match["match_id"])
                later(play, params["league_id"], params["round_id"], match)
    elif call.get("method") == "notify_league_completed":
        over.set()
    elif call.get("method") != "notify_round_completed":
        error = {"code": -32601, "message": "Method not found"}
        return {"jsonrpc": "2.0", "error": error, "id": call.get("id")}
    result = {"protocol": "league.v2", "timestamp": utc(), "status": "ACKNOWLEDGED"}
    return {"jsonrpc": "2.0", "result": result, "id": call["id"]}


def request(url, method, params, timeout):
    own["requests"] += 1
    envelope = {
        "protocol": "league.v2",
        "sender": f"referee:{own['referee_id'] or 'alpha'}",
        "timestamp": utc(),
    }
    if own["auth_token"]:
        envelope["auth_token"] = own["auth_token"]
    call = {
        "jsonrpc": "2.0",
        "method": method,
        "params": {**envelope, **params},
        "id": f"req-{own['requests']:03}",
    }
    return post(url, call, timeout)


def ask(player, method, params, timeout):
    """Ask a player, again if it does not answer in time."""
    for _ in range(1 + RETRIES):
        answer = request(options.homes[player], method, params, timeout)
        if "result" in answer:
            return answer["result"]
        if "error" in answer:
            say(f"player {player}: {answer['error']['code']} {answer['error']['message']}")
    return {}


def play(league_id, round_id, match):
    players = (match["player_A_id"], match["player_B_id"])
    match_id = match["match_id"]
    conversation = f"conv-{match_id.lower()}-001"
    joined = True
    choices = dict.fromkeys(players)
    for role, player, opponent in (("PLAYER_A", *players), ("PLAYER_B", *reversed(players))):
        invitation = {
            "message_type": "GAME_INVITATION",
            "conversation_id": conversation,
            "league_id": league_id,
            "round_id": round_id,
            "match_id": match_id,
            "game_type": "even_odd",
            "role_in_match": role,
            "opponent_id": opponent,
        }
        joined = ask(player, "handle_game_invitation", invitation, 5).get("accept") is True and joined
    for player, opponent in zip(players, reversed(players), strict=True) if joined else ():
        call = {
            "message_type": "CHOOSE_PARITY_CALL",
            "conversation_id": conversation,
            "match_id": match_id,
            "player_id": player,
            "game_type": "even_odd",
            "context": {
                "opponent_id": opponent,
                "round_id": round_id,
                "your_standings": {"wins": 0, "losses": 0, "draws": 0, "points": 0},
            },
            "deadline": utc(ahead=30),
        }
        choices[player] = ask(player, "parity_choose", call, 30).get("parity_choice")
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
    told = {
        "message_type": "GAME_OVER",
        "conversation_id": f"conv-{match_id.lower()}-001",
        "match_id": match_id,
        "game_type": "even_odd",
        "game_result": {
            "status": status,
            "winner_player_id": winner,
            "drawn_number": number,
            "number_parity": parity,
            "choices": choices,
            "reason": f"Number {number} is {parity}.",
        },
    }
    for player in choices:
        request(options.homes[player], "notify_match_result", told, 10)
    points = 3 if winner else 1
    report = {
        "message_type": "MATCH_RESULT_REPORT",
        "conversation_id": f"conv-{match_id.lower()}-report",
        "league_id": league_id,
        "round_id": round_id,
        "match_id": match_id,
        "game_type": "even_odd",
        "result": {
            "winner": winner,
            "score": {player: points if winner in (player, None) else 0 for player in choices},
            "details": {"drawn_number": number, "choices": choices, "status": status},
        },
    }
    answer = request(options.manager, "report_match_result", report, 10)
    say(f"reported: {match_id} {status} {winner} {answer.get('error', '')}")


def main():
    own["endpoint"] = serve(options.port, receive)
    meta = {
        "display_name": options.name,
        "version": "1.0.0",
        "game_types": ["even_odd"],
        "contact_endpoint": own["endpoint"],
        "max_concurrent_matches": 5,
    }
    registration = {
        "message_type": "REFEREE_REGISTER_REQUEST",
        "conversation_id": "conv-ref-alpha-reg-001",
        "referee_meta": meta,
    }
    answer = request(options.manager, "register_referee", registration, 10)
    result = answer.get("result", {})
    say(f"registered: {result.get('status')} {result.get('referee_id')} {answer.get('error', '')}")
    if result.get("status") == "ACCEPTED":
        own["referee_id"] = result["referee_id"]
        own["auth_token"] = result["auth_token"]
        run_until_over()


main()
