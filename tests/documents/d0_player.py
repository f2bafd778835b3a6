"""A player by D0 alone.

D0 prints messages and no transport, so each message is a POST of its own: an invitation is answered with an empty 200,
and GAME_JOIN_ACK goes to the referee's endpoint, which the round announcement names (D0 4.3.1). D0 4.4.2 and 4.5.2
print these answers without envelope, conversation and token: "All students must use these structures exactly".
"""

from web import later, over, post, read_options, run_until_over, say, serve, utc

referees = {}
"""The endpoint of the referee of each match."""
own = {"player_id": ""}


def receive(message):
    kind = message.get("message_type")
    if kind == "ROUND_ANNOUNCEMENT":
        for match in message["matches"]:
            referees[match["match_id"]] = match["referee_endpoint"]
    elif kind == "GAME_INVITATION":
        later(join, message["match_id"])
    elif kind == "CHOOSE_PARITY_CALL":
        later(choose, message["match_id"])
    elif kind == "GAME_OVER":
        say(f"over: {message['match_id']} {message['game_result']['status']}")
    elif kind == "GAME_ERROR":
        say(f"error: {message['error_code']} {message['error_description']}: {message.get('error_detail', '')}")
    elif kind == "LEAGUE_COMPLETED":
        over.set()


def join(match_id):
    answer = post(
        referees[match_id],
        {
            "message_type": "GAME_JOIN_ACK",
            "match_id": match_id,
            "player_id": own["player_id"],
            "arrival_timestamp": utc(),
            "accept": True,
        },
    )
    tell_refusal(answer)


def choose(match_id):
    answer = post(
        referees[match_id],
        {
            "message_type": "CHOOSE_PARITY_RESPONSE",
            "match_id": match_id,
            "player_id": own["player_id"],
            "parity_choice": "even",
        },
    )
    tell_refusal(answer)


def tell_refusal(answer):
    if "error_code" in answer:
        say(f"refused: {answer['error_code']} {answer['error_description']}: {answer.get('error_detail', '')}")


def main():
    options = read_options()
    endpoint = serve(options.port, receive)
    answer = post(
        options.manager,
        {
            "message_type": "LEAGUE_REGISTER_REQUEST",
            "player_meta": {
                "display_name": options.name,
                "version": "1.0.0",
                "game_types": ["even_odd"],
                "contact_endpoint": endpoint,
            },
        },
    )
    say(f"registered: {answer['status']} {answer.get('player_id')} {answer.get('reason')}")
    if answer["status"] == "ACCEPTED":
        own["player_id"] = answer["player_id"]
        run_until_over()


main()
