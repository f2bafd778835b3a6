"""A player by D2 alone: JSON-RPC 2.0 with the message type as method, whole ids, five common fields, no token.

D2 does not print the fields of GAME_JOIN_ACK. The player answers with the common fields and the match.
"""

from web import over, post, read_options, run_until_over, say, serve, utc

own = {"player_id": ""}


def receive(call):
    params = call.get("params", {})
    answer = ANSWERS.get(call.get("method"))
    if answer is None:
        error = {"code": -32601, "message": f"unknown method {call.get('method')}"}
        return {"jsonrpc": "2.0", "error": error, "id": call.get("id")}
    kind, fields = answer(params)
    result = {
        "protocol": "league.v2",
        "message_type": kind,
        "sender": f"player:{own['player_id']}",
        "timestamp": utc(),
        "conversation_id": params.get("conversation_id"),
        **fields,
    }
    return {"jsonrpc": "2.0", "result": result, "id": call["id"]}


def invited(params):
    return "GAME_JOIN_ACK", {"match_id": params["match_id"]}


def chosen(params):
    choice = {"match_id": params["match_id"], "player_id": own["player_id"], "parity_choice": "even"}
    return "CHOOSE_PARITY_RESPONSE", choice


def ended(params):
    say(f"over: {params['match_id']} {params['game_result']['status']}")
    return "GAME_OVER", {}


def failed(params):
    say(f"error: {params['error_code']} {params['error_description']}: {params.get('error_detail', '')}")
    return "GAME_ERROR", {}


def completed(params):
    over.set()
    return "LEAGUE_COMPLETED", {}


ANSWERS = {
    "GAME_INVITATION": invited,
    "CHOOSE_PARITY_CALL": chosen,
    "GAME_OVER": ended,
    "GAME_ERROR": failed,
    "ROUND_ANNOUNCEMENT": lambda _: ("ROUND_ANNOUNCEMENT", {}),
    "ROUND_COMPLETED": lambda _: ("ROUND_COMPLETED", {}),
    "LEAGUE_STANDINGS_UPDATE": lambda _: ("LEAGUE_STANDINGS_UPDATE", {}),
    "LEAGUE_COMPLETED": completed,
}


def main():
    options = read_options()
    endpoint = serve(options.port, receive)
    answer = post(
        options.manager,
        {
            "jsonrpc": "2.0",
            "method": "LEAGUE_REGISTER_REQUEST",
            "params": {
                "protocol": "league.v2",
                "message_type": "LEAGUE_REGISTER_REQUEST",
                "sender": "player:new",
                "timestamp": utc(),
                "conversation_id": "registration-1",
                "player_meta": {
                    "display_name": options.name,
                    "version": "1.0.0",
                    "game_types": ["even_odd"],
                    "contact_endpoint": endpoint,
                },
            },
            "id": 1,
        },
    )
    result = answer.get("result", {})
    say(f"registered: {result.get('status')} {result.get('player_id')} {answer.get('error', '')}")
    if result.get("status") == "ACCEPTED":
        own["player_id"] = result["player_id"]
        run_until_over()


main()
