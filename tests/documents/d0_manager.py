"""A League Manager by D0 alone.

It gives no token (D0 4.1.2, 4.2.2), announces rounds to players only (D0 4.3.1), and answers queries of players and
referees (D0 4.9.1). It answers a report with nothing: the table that it sends to all players is the expected response
(D0 4.6.2).
"""

import time

from web import Mailbox, all_rounds, later, over, post, read_options, run_until_over, say, serve, utc

LEAGUE_ID = "league_2025_even_odd"
options = read_options()
players = {}
referees = {}
table = {}
schedule = []
reports = Mailbox()


def receive(message):
    kind = message.get("message_type")
    if kind == "LEAGUE_REGISTER_REQUEST":
        return register(players, "LEAGUE_REGISTER_RESPONSE", "player_id", "P", message["player_meta"])
    if kind == "REFEREE_REGISTER_REQUEST":
        return register(referees, "REFEREE_REGISTER_RESPONSE", "referee_id", "REF", message["referee_meta"])
    if kind == "LEAGUE_QUERY":
        return answer(message)
    if kind == "MATCH_RESULT_REPORT":
        say(f"got: {message['match_id']} {message['result']['winner']}")
        time.sleep(options.report_s)
        reports.put(message["match_id"], message)
    return None


def register(members, kind, id_name, letters, meta):
    if letters == "P" and len(members) == options.players:
        return {"message_type": kind, "status": "REJECTED", id_name: None, "reason": "the league is full"}
    agent_id = f"{letters}{len(members) + 1:02}"
    members[agent_id] = meta
    say(f"registered: {agent_id} {meta['contact_endpoint']}")
    if len(players) == options.players and len(referees) == 1 and not schedule:
        later(run_league)
    return {"message_type": kind, "status": "ACCEPTED", id_name: agent_id, "reason": None}


def answer(query):
    kind = query["query_type"]
    data = {
        "GET_STANDINGS": {"standings": standings()},
        "GET_SCHEDULE": {"schedule": schedule},
    }.get(kind)
    response = {
        "protocol": "league.v2",
        "message_type": "LEAGUE_QUERY_RESPONSE",
        "sender": "league_manager",
        "timestamp": utc(),
        "conversation_id": query.get("conversation_id"),
        "query_type": kind,
        "success": data is not None,
        "data": data,
    }
    if data is None:
        response["error"] = {"error_code": "E003", "error_description": f"unknown query {kind}"}
    return response


def standings():
    ranking = sorted(players, key=lambda player: -table[player]["points"]) if table else list(players)
    return [
        {"rank": rank, "player_id": player, "display_name": players[player]["display_name"], **table.get(player, {})}
        for rank, player in enumerate(ranking, start=1)
    ]


def tell(members, message):
    for meta in members.values():
        post(meta["contact_endpoint"], message)


def run_league():
    table.update({player: dict.fromkeys(("played", "wins", "draws", "losses", "points"), 0) for player in players})
    endpoint = next(iter(referees.values()))["contact_endpoint"]
    rounds = all_rounds(players)
    for round_id, pairs in enumerate(rounds, start=1):
        matches = [
            {
                "match_id": f"R{round_id}M{number}",
                "game_type": "even_odd",
                "player_A_id": first,
                "player_B_id": second,
                "referee_endpoint": endpoint,
            }
            for number, (first, second) in enumerate(pairs, start=1)
        ]
        schedule.append({"round_id": round_id, "matches": matches})
        tell(
            players,
            {
                "message_type": "ROUND_ANNOUNCEMENT",
                "league_id": LEAGUE_ID,
                "round_id": round_id,
                "matches": matches,
            },
        )
        for match in matches:
            count(reports.take(match["match_id"], 100), round_id)
        end_round(round_id, len(matches), len(rounds))
    end_league(len(rounds))


def count(report, round_id):
    result = report["result"]
    say(f"reported: {report['match_id']} {result['winner']}")
    for player in result["score"]:
        row = table[player]
        row["played"] += 1
        outcome = "losses"
        if result["winner"] == options.draw_word:
            outcome = "draws"
        elif result["winner"] == player:
            outcome = "wins"
        row[outcome] += 1
        row["points"] = 3 * row["wins"] + row["draws"]
    update = {
        "message_type": "LEAGUE_STANDINGS_UPDATE",
        "league_id": LEAGUE_ID,
        "round_id": round_id,
        "standings": standings(),
    }
    tell(players, update)


def end_round(round_id, count_of_matches, count_of_rounds):
    tell(
        players,
        {
            "protocol": "league.v2",
            "message_type": "ROUND_COMPLETED",
            "sender": "league_manager",
            "timestamp": utc(),
            "conversation_id": f"conv-round{round_id}-complete",
            "league_id": LEAGUE_ID,
            "round_id": round_id,
            "matches_completed": count_of_matches,
            "next_round_id": round_id + 1 if round_id < count_of_rounds else None,
            "summary": {"total_matches": count_of_matches, "wins": 0, "draws": 0, "technical_losses": 0},
        },
    )


def end_league(count_of_rounds):
    final = standings()
    champion = {name: final[0][name] for name in ("player_id", "display_name", "points")}
    tell(
        {**players, **referees},
        {
            "protocol": "league.v2",
            "message_type": "LEAGUE_COMPLETED",
            "sender": "league_manager",
            "timestamp": utc(),
            "conversation_id": "conv-league-complete",
            "league_id": LEAGUE_ID,
            "total_rounds": count_of_rounds,
            "total_matches": sum(len(row["matches"]) for row in schedule),
            "champion": champion,
            "final_standings": [{name: row[name] for name in ("rank", "player_id", "points")} for row in final],
        },
    )
    say(f"table: {[(row['player_id'], row['played']) for row in final]}")
    over.set()


serve(options.port, receive)
run_until_over()
