"""A League Manager by D4 alone: its messages in the mandatory envelope, with the member's token in answers (D4 3.4.4).

It announces a round to all players and to nobody else, some seconds before its matches begin (D4 4.1: at least 60, here
`--lead`), sends a table after every result (D4 7.2), and tells players and referees that a round or the league is over
(D4 4.2, 4.3). Players and referees may ask it for the schedule (D4 8.1). A report needs no answer (D4 7.1).

With `--early` it publishes the schedule when it knows the players, and announces a round every `--lead` seconds,
whatever has been played.
"""

import re
import time

from web import Mailbox, all_rounds, later, over, post, read_options, run_until_over, say, serve, utc

COMPACT = "%Y%m%dT%H:%M:%SZ"
LEAGUE_ID = "league_2025_even_odd"
options = read_options()
players = {}
referees = {}
table = {}
schedule = []
reports = Mailbox()


def enveloped(kind, conversation, fields):
    return {
        "protocol": "league.v2",
        "message_type": kind,
        "sender": "league_manager",
        "timestamp": utc(COMPACT),
        "conversation_id": conversation,
        **fields,
    }


def receive(message):
    kind = message.get("message_type")
    if kind == "LEAGUE_REGISTER_REQUEST":
        return register_player(message)
    if kind == "REFEREE_REGISTER_REQUEST":
        return register_referee(message)
    if kind in ("LEAGUE_QUERY", "MATCH_RESULT_REPORT"):
        sender = message["sender"].partition(":")[2]
        member = {**players, **referees}.get(sender)
        if member is None or message.get("auth_token") != member["auth_token"]:
            return refused(message, "E012", "AUTH_TOKEN_INVALID")
        if kind == "LEAGUE_QUERY":
            return answer(message)
        say(f"got: {message['match_id']}")
        reports.put(message["match_id"], message)
    return None


def refused(message, code, name):
    say(f"refused: {code} {name} {message['message_type']}")
    fields = {
        "error_code": code,
        "error_description": name,
        "original_message_type": message["message_type"],
        "context": {"expected_format": "tok_{agent_id}_{hash}"},
    }
    return enveloped("LEAGUE_ERROR", message["conversation_id"], fields)


def new_id(letters, members, message):
    if options.reads_senders:
        # It finds the first number, and takes every name that has none for the first.
        digits = re.search(r"[0-9]+$", message["sender"].rpartition(":")[2])
        return f"{letters}{int(digits[0]) if digits else 1:02}"
    return f"{letters}{len(members) + 1:02}"


def register_player(message):
    kind = "LEAGUE_REGISTER_RESPONSE"
    if schedule or len(players) == options.players:
        reason = "Maximum players reached"
        fields = {"status": "REJECTED", "player_id": None, "reason": reason}
        return enveloped(kind, message["conversation_id"], fields)
    player_id = new_id("P", players, message)
    players[player_id] = {**message["player_meta"], "auth_token": f"tok_{player_id}_abc123"}
    return accepted(kind, message, "player_id", player_id, players[player_id])


def register_referee(message):
    referee_id = new_id("REF", referees, message)
    referees[referee_id] = {**message["referee_meta"], "auth_token": f"tok_{referee_id}_abc123"}
    return accepted("REFEREE_REGISTER_RESPONSE", message, "referee_id", referee_id, referees[referee_id])


def accepted(kind, message, id_name, agent_id, member):
    say(f"registered: {agent_id} {member['contact_endpoint']}")
    if len(players) == options.players and len(referees) == 1:
        later(run_league)
    fields = {
        "status": "ACCEPTED",
        id_name: agent_id,
        "reason": None,
        "auth_token": member["auth_token"],
    }
    return enveloped(kind, message["conversation_id"], fields)


def answer(query):
    kind = query["query_type"]
    fields = {"query_type": kind, "success": True}
    if kind == "GET_STANDINGS":
        fields["data"] = {"standings": standings()}
    elif kind == "GET_SCHEDULE":
        fields["data"] = {"schedule": schedule}
    else:
        fields["success"] = False
        fields["error"] = {
            "error_code": "E003",
            "error_name": "MISSING_REQUIRED_FIELD",
            "error_description": f"no query {kind}",
        }
    return enveloped("LEAGUE_QUERY_RESPONSE", query["conversation_id"], fields)


def standings():
    ranking = sorted(players, key=lambda player: -table.get(player, {}).get("points", 0))
    return [
        {"rank": rank, "player_id": player, "display_name": players[player]["display_name"], **table.get(player, {})}
        for rank, player in enumerate(ranking, start=1)
    ]


def tell(members, kind, conversation, fields):
    for member in members.values():
        post(member["contact_endpoint"], enveloped(kind, conversation, fields))


def plan():
    endpoint = next(iter(referees.values()))["contact_endpoint"]
    for round_id, pairs in enumerate(all_rounds(players), start=1):
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
        yield {"round_id": round_id, "matches": matches}


def announce(fields):
    say(f"announced: {fields['round_id']}")
    fields = {"league_id": LEAGUE_ID, **fields}
    tell(players, "ROUND_ANNOUNCEMENT", f"convround{fields['round_id']}", fields)


def announce_all(rounds):
    for fields in rounds:
        time.sleep(options.lead)
        announce(fields)


def run_league():
    table.update({player: dict.fromkeys(("played", "wins", "draws", "losses", "points"), 0) for player in players})
    rounds = list(plan())
    if options.early:
        schedule.extend(rounds)
        later(announce_all, rounds)
    for fields in rounds:
        matches = fields["matches"]
        if not options.early:
            announce(fields)
            # The schedule shows a round when its matches may begin.
            time.sleep(options.lead)
            schedule.append(fields)
        for match in matches:
            count(reports.take(match["match_id"], 100), fields["round_id"])
        end_round(fields["round_id"], len(matches), len(rounds))
    end_league(len(rounds))


def count(report, round_id):
    result = report["result"]
    say(f"reported: {report['match_id']} {result['winner']}")
    for player in result["score"]:
        row = table[player]
        row["played"] += 1
        outcome = "losses"
        if result["winner"] is None:
            outcome = "draws"
        elif result["winner"] == player:
            outcome = "wins"
        row[outcome] += 1
        row["points"] = 3 * row["wins"] + row["draws"]
    fields = {"league_id": LEAGUE_ID, "round_id": round_id, "standings": standings()}
    tell(players, "LEAGUE_STANDINGS_UPDATE", f"convstandings{report['match_id']}", fields)


def end_round(round_id, count_of_matches, count_of_rounds):
    fields = {
        "league_id": LEAGUE_ID,
        "round_id": round_id,
        "matches_completed": count_of_matches,
        "next_round_id": round_id + 1 if round_id < count_of_rounds else None,
        "summary": {"total_matches": count_of_matches, "wins": 0, "draws": 0, "technical_losses": 0},
    }
    tell({**players, **referees}, "ROUND_COMPLETED", f"convround{round_id}", fields)


def end_league(count_of_rounds):
    final = standings()
    fields = {
        "league_id": LEAGUE_ID,
        "total_rounds": count_of_rounds,
        "total_matches": sum(len(row["matches"]) for row in schedule),
        "champion": {name: final[0][name] for name in ("player_id", "display_name", "points")},
        "final_standings": [
            {name: row[name] for name in ("rank", "player_id", "display_name", "points")} for row in final
        ],
    }
    tell({**players, **referees}, "LEAGUE_COMPLETED", "convleague", fields)
    say(f"table: {[(row['player_id'], row['played']) for row in final]}")
    over.set()


serve(options.port, receive)
run_until_over()
