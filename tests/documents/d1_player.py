"""A player by D1 alone: JSON-RPC 2.0, the methods of D1, string ids, answers in the result, numbers for errors."""

from web import over, post, read_options, run_until_over, say, serve, utc

own = {"player_id": "", "auth_token": ""}
matches = set()


def receive(call):
    method = METHODS.get(call.get("method"))
    if method is None:
        return failed(call, -32601, "Method not found")
    missing = [name for name in REQUIRED if name not in call.get("params", {})]
    if missing:
        return failed(call, -32602, "Invalid params", {"missing": missing})
    return method(call, call["params"])


REQUIRED = ("protocol", "message_type", "sender", "timestamp", "conversation_id")


def failed(call, code, sentence, data=None):
    say(f"answered: {code} {sentence} to {call.get('method')}")
    error = {"code": code, "message": sentence, "data": data or {"player_id": own["player_id"]}}
    return {"jsonrpc": "2.0", "error": error, "id": call.get("id")}


def succeeded(call, kind, **fields):
    result = {"protocol": "league.v2", "message_type": kind, "timestamp": utc(), **fields}
    return {"jsonrpc": "2.0", "result": result, "id": call["id"]}


def invited(call, params):
    if not params.get("auth_token"):
        return failed(call, 4001, "Invalid auth token")
    matches.add(params["match_id"])
    return succeeded(
        call,
        "GAME_JOIN_ACK",
        sender=f"player:{own['player_id']}",
        auth_token=own["auth_token"],
        match_id=params["match_id"],
        player_id=own["player_id"],
        arrival_timestamp=utc(),
        accept=True,
    )


def chosen(call, params):
    if params["match_id"] not in matches:
        return failed(call, 4003, "Match not found")
    return succeeded(
        call,
        "CHOOSE_PARITY_RESPONSE",
        sender=f"player:{own['player_id']}",
        auth_token=own["auth_token"],
        match_id=params["match_id"],
        player_id=own["player_id"],
        parity_choice="odd",
    )


def acknowledged(kind, *names):
    def answer(call, params):
        about = {name: params[name] for name in names}
        return succeeded(call, kind, status="ACKNOWLEDGED", player_id=own["player_id"], **about)

    return answer


def ended(call, params):
    say(f"over: {params['match_id']} {params['game_result']['status']}")
    return acknowledged("GAME_OVER_ACK", "match_id")(call, params)


def completed(call, params):
    over.set()
    return acknowledged("LEAGUE_COMPLETED_ACK")(call, params)


METHODS = {
    "handle_game_invitation": invited,
    "parity_choose": chosen,
    "notify_match_result": ended,
    "notify_game_error": acknowledged("GAME_ERROR_ACK", "match_id"),
    "notify_round": acknowledged("ROUND_ANNOUNCEMENT_ACK", "round_id"),
    "update_standings": acknowledged("STANDINGS_UPDATE_ACK", "round_id"),
    "notify_round_completed": acknowledged("ROUND_COMPLETED_ACK", "round_id"),
    "notify_league_completed": completed,
}


def main():
    options = read_options()
    endpoint = serve(options.port, receive)
    answer = post(
        options.manager,
        {
            "jsonrpc": "2.0",
            "method": "register_player",
            "params": {
                "protocol": "league.v2",
                "message_type": "LEAGUE_REGISTER_REQUEST",
                "sender": "player:alpha",
                "timestamp": utc(),
                "conversation_id": "conv-player-alpha-reg-001",
                "player_meta": {
                    "display_name": options.name,
                    "version": "1.0.0",
                    "game_types": ["even_odd"],
                    "contact_endpoint": endpoint,
                },
            },
            "id": "req-002",
        },
    )
    result = answer.get("result", {})
    say(f"registered: {result.get('status')} {result.get('player_id')} {answer.get('error', '')}")
    if result.get("status") == "ACCEPTED":
        own["player_id"] = result["player_id"]
        own["auth_token"] = result["auth_token"]
        run_until_over()


main()
