"""The five questions anybody registered may ask."""

from __future__ import annotations

from typing import Any

import pytest

from league.protocol.errors import PeerError
from league.protocol.message.messages import LeagueQueryResponse
from tests.support.managed import LEAGUE, Managed, code_of, plain

ROW = {"rank", "player_id", "display_name", "played", "wins", "draws", "losses", "points"}


def started(players: int = 4, **changed: Any) -> Managed:
    league = Managed(players=players, **changed).fill()
    league.answer_all()
    return league


def data(league: Managed, agent: str, query_type: str, **params: Any) -> dict[str, Any]:
    answer = league.query(agent, query_type, **params)
    assert answer.success is True
    assert answer.data is not None
    return answer.data


@pytest.mark.requirement("QUERY.standings")
def test_standings_come_under_data_and_at_top_level() -> None:
    league = started()
    league.report("R1M1")
    answer = plain(league.query("REF01", "GET_STANDINGS"))
    assert answer["data"]["standings"] == answer["standings"]
    assert answer["data"]["current_round"] == answer["current_round"] == 1
    assert [row["rank"] for row in answer["standings"]] == [1, 2, 3, 4]
    assert all(set(row) == ROW for row in answer["standings"])
    assert answer["conversation_id"] == "conv-league_query"
    assert answer["sender"] == "league_manager"


@pytest.mark.requirement("QUERY.schedule")
def test_the_schedule_shows_every_round_with_status_and_winner() -> None:
    league = started()
    league.report("R1M1")
    rounds = data(league, "P01", "GET_SCHEDULE")["rounds"]
    assert [one["round_id"] for one in rounds] == [1, 2, 3]
    first, second = rounds[0]["matches"]
    assert first == {
        "match_id": "R1M1",
        "game_type": "even_odd",
        "player_A_id": "P01",
        "player_B_id": "P02",
        "referee_endpoint": "http://127.0.0.1:8001/mcp",
        "status": "COMPLETED",
        "winner": "P01",
    }
    assert (second["status"], second["winner"]) == ("RUNNING", None)
    assert {one["status"] for one in rounds[1]["matches"]} == {"SCHEDULED"}
    assert {one["referee_endpoint"] for one in rounds[1]["matches"]} == {"http://127.0.0.1:8001/mcp"}
    assert data(league, "P01", "GET_SCHEDULE", round_id=2)["rounds"] == [rounds[1]]
    assert code_of(league.query("P01", "GET_SCHEDULE", round_id=4)) == "E008"


@pytest.mark.requirement("QUERY.next_match")
@pytest.mark.requirement("QUERY.own_player")
def test_the_next_match_is_the_first_unfinished_one() -> None:
    league = started()
    assert data(league, "P01", "GET_NEXT_MATCH")["next_match"] == {
        "match_id": "R1M1",
        "round_id": 1,
        "opponent_id": "P02",
        "referee_endpoint": "http://127.0.0.1:8001/mcp",
    }
    league.report("R1M1")
    assert data(league, "P02", "GET_NEXT_MATCH", player_id="P01")["next_match"] == {
        "match_id": "R2M1",
        "round_id": 2,
        "opponent_id": "P03",
        "referee_endpoint": "http://127.0.0.1:8001/mcp",
    }
    league.play()
    assert data(league, "P01", "GET_NEXT_MATCH")["next_match"] is None


@pytest.mark.requirement("QUERY.player_stats")
@pytest.mark.requirement("QUERY.unfinished_matches")
def test_player_stats_hold_the_row_and_the_matches_without_open_choices() -> None:
    league = started()
    league.report("R1M1", "-A")
    found = data(league, "REF01", "GET_PLAYER_STATS", player_id="P01")
    assert set(found) == ROW | {"technical_losses", "matches"}
    assert (found["technical_losses"], found["losses"]) == (1, 1)
    (match,) = found["matches"]
    assert match == {
        "match_id": "R1M1",
        "opponent_id": "P02",
        "outcome": "TECHNICAL_LOSS",
        "choice": None,
        "opponent_choice": "even",
    }
    (unfinished,) = data(league, "P03", "GET_PLAYER_STATS")["matches"]
    assert (unfinished["outcome"], unfinished["choice"], unfinished["opponent_choice"]) == (None, None, None)


@pytest.mark.requirement("QUERY.status")
def test_the_status_counts() -> None:
    league = Managed(players=4)
    league.register("player", 1)
    before = data(league, "P01", "GET_STATUS")
    assert before == {
        "league_id": LEAGUE,
        "status": "WAITING_FOR_REGISTRATIONS",
        "current_round": 0,
        "total_rounds": 0,
        "players": 1,
        "referees": 0,
        "players_expected": 4,
        "referees_expected": 1,
        "matches_completed": 0,
        "total_matches": 0,
        "champion": None,
        "your_state": "REGISTERED",
        "withdrawn": False,
    }
    league = started()
    league.report("R1M1")
    after = data(league, "P01", "GET_STATUS")
    assert (after["status"], after["total_rounds"], after["matches_completed"]) == ("RUNNING_LEAGUE", 3, 1)
    league.play()
    assert data(league, "P01", "GET_STATUS")["status"] == "LEAGUE_COMPLETED"


@pytest.mark.requirement("QUERY.before_the_schedule")
@pytest.mark.parametrize("query_type", ["GET_SCHEDULE", "GET_NEXT_MATCH"])
def test_before_the_schedule_there_is_nothing_to_show(query_type: str) -> None:
    league = Managed()
    league.register("player", 1)
    answer = league.query("P01", query_type)
    assert answer.success is False
    assert answer.error is not None
    assert (answer.error.error_code, answer.error.rpc_code) == ("E030", 6098)
    assert data(league, "P01", "GET_PLAYER_STATS")["matches"] == []


@pytest.mark.requirement("QUERY.failures")
@pytest.mark.requirement("QUERY.always_a_response")
@pytest.mark.parametrize(
    ("agent", "changed", "code", "number"),
    [
        ("REF01", {"query_type": "GET_NEXT_MATCH", "query_params": {}}, "E003", -32602),
        ("P01", {"query_type": "GET_NEXT_MATCH", "query_params": {"player_id": 7}}, "E007", -32602),
        ("P01", {"query_type": "GET_SCHEDULE", "query_params": {"round_id": 0}}, "E008", -32602),
        ("P01", {"query_type": "GET_SCHEDULE", "query_params": []}, "E007", -32602),
        ("P01", {"query_type": "GET_PLAYER_STATS", "query_params": {"player_id": "P99"}}, "E005", 6004),
        ("P01", {"query_type": "GET_PLAYER_STATS", "query_params": {"player_id": "REF01"}}, "E005", 6004),
        ("P01", {"league_id": "elsewhere"}, "E028", 6003),
        ("P01", {"league_id": "elsewhere", "query_params": []}, "E028", 6003),
        ("P01", {"query_type": "GET_RICH"}, "E029", 6002),
    ],
)
def test_an_authorised_query_that_fails_is_an_answer(
    agent: str, changed: dict[str, Any], code: str, number: int
) -> None:
    league = started()
    answer = league.request(league.query_of(agent, "GET_STATUS") | changed)
    assert isinstance(answer, LeagueQueryResponse)
    assert answer.success is False
    assert answer.error is not None
    assert (answer.error.error_code, answer.error.rpc_code) == (code, number)
    assert answer.error.error_description


@pytest.mark.requirement("QUERY.authority")
@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"timestamp": None}, "E003"),
        ({"auth_token": None}, "E011"),
        ({"auth_token": "tok_P01_x"}, "E012"),
        ({"sender": "player:P02"}, "E032"),
        ({"sender": "referee:P01"}, "E032"),
        ({"query_type": None}, "E003"),
        ({"league_id": 7}, "E007"),
    ],
)
def test_a_query_without_authority_or_question_is_an_error(changed: dict[str, Any], code: str) -> None:
    league = started()
    answer = league.request(league.query_of("P01", "GET_STATUS") | changed)
    assert isinstance(answer, PeerError)
    assert answer.code == code


def test_parameters_may_be_absent() -> None:
    league = started()
    query = league.query_of("P01", "GET_PLAYER_STATS")
    del query["query_params"]
    answer = league.request(query)
    assert isinstance(answer, LeagueQueryResponse)
    assert answer.data is not None
    assert answer.data["player_id"] == "P01"


def test_a_walkover_shows_who_won_without_playing() -> None:
    league = started()
    league.operate("withdraw", "P02")
    (won, *_) = data(league, "P01", "GET_PLAYER_STATS")["matches"]
    assert won["outcome"] == "WIN"
    assert {one["outcome"] for one in data(league, "P01", "GET_PLAYER_STATS", player_id="P02")["matches"]} == {
        "WALKOVER"
    }
