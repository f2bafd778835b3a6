"""A League Manager by D1 alone: JSON-RPC 2.0, the methods of D1, and refusals as numbers (D1 2.1, 2.2, 5.1, 7.1).

It announces rounds to all players and to nobody else (D1 3.1), and players alone may ask it for the table or the status
(D1 7.1). D1 does not say how a referee learns of its matches, so nobody plays one here: the program shows how agents
fare that register, are refused, or wait.
"""

from web import later, post, read_options, run_until_over, say, serve, utc

LEAGUE_ID = "league_2025_even_odd"
REFEREES = 1
options = read_options()
players = {}
referees = {}


def receive(call):
    method = call.get("method")
    if method == "register_player":
        return register_player(call)
    if method == "register_referee":
        return register_referee(call)
    if method == "league_query":
        return query(call)
    if method == "report_match_result":
        return report(call)
    return failed(call, -32601, "Method not found", {"method": method})


def failed(call, code, sentence, data):
    say(f"refused: {code} {sentence}")
    return {"jsonrpc": "2.0", "error": {"code": code, "message": sentence, "data": data}, "id": call.get("id")}


def succeeded(call, kind, **fields):
    result = {"protocol": "league.v2", "message_type": kind, "timestamp": utc(), **fields}
    return {"jsonrpc": "2.0", "result": result, "id": call["id"]}


def register_player(call):
    meta = call["params"]["player_meta"]
    if "even_odd" not in meta["game_types"]:
        return failed(call, 2004, "Unsupported game type", {"game_types": meta["game_types"]})
    if any(meta["display_name"] == other["display_name"] for other in players.values()):
        data = {"display_name": meta["display_name"], "suggestion": "Choose a different display_name"}
        return failed(call, 2002, "Duplicate name", data)
    if len(players) == options.players:
        data = {"max_players": options.players, "current_players": len(players)}
        return failed(call, 2001, "League full", data)
    player_id = f"P{len(players) + 1:02}"
    token = f"tok-{player_id.lower()}-abc123"
    players[player_id] = {**meta, "auth_token": token}
    say(f"registered: {player_id} {meta['contact_endpoint']}")
    begin_when_full()
    return succeeded(
        call,
        "LEAGUE_REGISTER_RESPONSE",
        status="ACCEPTED",
        player_id=player_id,
        auth_token=token,
        league_id=LEAGUE_ID,
        reason=None,
    )


def register_referee(call):
    meta = call["params"]["referee_meta"]
    if len(referees) == REFEREES:
        return failed(call, 1001, "League full", {"max_referees": REFEREES, "current_referees": len(referees)})
    referees["REF01"] = {**meta, "auth_token": "tok-ref-01-xyz789"}
    say(f"registered: REF01 {meta['contact_endpoint']}")
    begin_when_full()
    return succeeded(
        call,
        "REFEREE_REGISTER_RESPONSE",
        status="ACCEPTED",
        referee_id="REF01",
        auth_token="tok-ref-01-xyz789",
        league_id=LEAGUE_ID,
        reason=None,
    )


def begin_when_full():
    if len(players) == options.players and len(referees) == REFEREES:
        later(announce)


def announce():
    first, second = list(players)[:2]
    match = {
        "match_id": "R1M1",
        "game_type": "even_odd",
        "player_A_id": first,
        "player_B_id": second,
        "referee_endpoint": referees["REF01"]["contact_endpoint"],
    }
    for number, player in enumerate(players.values(), start=1):
        call = {
            "jsonrpc": "2.0",
            "method": "notify_round",
            "params": {
                "protocol": "league.v2",
                "message_type": "ROUND_ANNOUNCEMENT",
                "sender": "league_manager",
                "timestamp": utc(),
                "conversation_id": "conv-round-1-announce",
                "league_id": LEAGUE_ID,
                "round_id": 1,
                "matches": [match],
            },
            "id": f"req-{number:03}",
        }
        answer = post(player["contact_endpoint"], call).get("result", {})
        say(f"acknowledged: {answer.get('status')} {answer.get('player_id')} {answer.get('round_id')}")


def query(call):
    params = call["params"]
    player = players.get(params["sender"].partition(":")[2])
    if player is None or player["auth_token"] != params.get("auth_token"):
        return failed(call, 6001, "Invalid auth token", {"sender": params["sender"]})
    if params["query_type"] not in ("GET_STANDINGS", "GET_STATUS"):
        return failed(call, 6002, "Invalid query type", {"query_type": params["query_type"]})
    return succeeded(call, "LEAGUE_QUERY_RESPONSE", query_type=params["query_type"], current_round=1, standings=[])


def report(call):
    return failed(call, 5002, "Match not found", {"match_id": call["params"]["match_id"]})


serve(options.port, receive)
run_until_over()
