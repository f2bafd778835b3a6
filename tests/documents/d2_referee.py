"""A referee by D2 alone: the message type as method, five common fields, no token in anything it sends.

D2 does not print the fields of ROUND_ANNOUNCEMENT and MATCH_RESULT_REPORT. The referee finds its matches by its
endpoint in what it receives, and reports the result as D2 prints it for GAME_OVER.
"""

from web import later, over, post, read_options, run_until_over, say, serve, utc

NUMBERS = (8, 3, 6, 5)
own = {"endpoint": "", "referee_id": "new", "requests": 0, "played": 0}
options = read_options()
begun = set()


def receive(call):
    params = call.get("params", {})
    kind = call.get("method")
    if kind == "ROUND_ANNOUNCEMENT":
        for match in params["matches"]:
            if match["referee_endpoint"] == own["endpoint"] and match["match_id"] not in begun:
                begun.add(match["match_id"])
                later(play, params["league_id"], params["round_id"], match)
    elif kind == "LEAGUE_COMPLETED":
        over.set()
    result = {"protocol": "league.v2", "message_type": kind}
    return {"jsonrpc": "2.0", "result": result, "id": call.get("id")}


def request(url, kind, fields, timeout=10):
    own["requests"] += 1
    params = {
        "protocol": "league.v2",
        "message_type": kind,
        "sender": f"referee:{own['referee_id']}",
        "timestamp": utc(),
        "conversation_id": fields.get("match_id", "registration-1"),
        **fields,
    }
    answer = post(url, {"jsonrpc": "2.0", "method": kind, "params": params, "id": own["requests"]}, timeout)
    if "error" in answer:
        say(f"refused: {kind} {answer['error']}")
    return answer.get("result", {})


def play(league_id, round_id, match):
    players = (match["player_A_id"], match["player_B_id"])
    opponents = dict(zip(players, reversed(players), strict=True))
    match_id = match["match_id"]
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
        answer = request(options.homes[player], "GAME_INVITATION", invitation, 5)
        joined = answer.get("message_type") == "GAME_JOIN_ACK" and joined
    choices = dict.fromkeys(players)
    for player in players if joined else ():
        call = {
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
        choices[player] = request(options.homes[player], "CHOOSE_PARITY_CALL", call, 30).get("parity_choice")
    end(match_id, choices)


def end(match_id, choices):
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
            "reason": f"the number was {number}",
        },
    }
    for player in choices:
        request(options.homes[player], "GAME_OVER", result)
    request(options.manager, "MATCH_RESULT_REPORT", result)
    say(f"reported: {match_id} {status} {winner}")


def main():
    own["endpoint"] = serve(options.port, receive)
    meta = {
        "display_name": options.name,
        "version": "1.0.0",
        "game_types": ["even_odd"],
        "contact_endpoint": own["endpoint"],
        "max_concurrent_matches": 2,
    }
    answer = request(options.manager, "REFEREE_REGISTER_REQUEST", {"referee_meta": meta})
    say(f"registered: {answer.get('status')} {answer.get('referee_id')} {answer.get('reason')}")
    if answer.get("status") == "ACCEPTED":
        own["referee_id"] = answer["referee_id"]
        run_until_over()


main()
