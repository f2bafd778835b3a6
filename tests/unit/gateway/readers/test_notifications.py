"""What a player is told by referees and managers of others, from the bytes of the request to the message."""

from __future__ import annotations

import json
from typing import Any

import pytest

from league import letters
from league.letters import Speaker
from league.machine import Answering
from league.player.news import result_in
from league.protocol.message.envelope import Profile, Reading, Unsealed, seal
from league.protocol.message.exchanges import Role
from league.protocol.message.messages import (
    ChooseParityCall,
    GameInvitation,
    GameJoinAck,
    GameOver,
    LeagueCompleted,
    LeagueStandingsUpdate,
    RoundCompleted,
)
from tests.support.vectors import message


def heard(content: dict[str, Any], profile: Profile = "compat") -> Unsealed:
    call = {"jsonrpc": "2.0", "id": 1, "method": content["message_type"], "params": content}
    asked = letters.read_request(json.dumps(call).encode(), Speaker(Role.PLAYER, "player:P01", Reading(profile)))
    assert isinstance(asked.content, Unsealed)
    return asked.content


def clauses(read: Unsealed) -> list[str]:
    return [one.requirement for one in read.deviations]


def test_choices_under_another_name_are_read_and_recorded() -> None:
    content = message("game_over.full")
    choices = content["game_result"].pop("choices")
    content["game_result"]["player_choices"] = choices
    read = heard(content)
    assert isinstance(read.message, GameOver)
    assert read.message.game_result.choices == choices
    assert clauses(read) == ["GAME_OVER.game_result.choices"]
    assert heard(content, "strict").message is None


def test_a_choice_under_another_name_is_judged_like_any_other() -> None:
    content = message("game_over.full")
    content["game_result"]["player_choices"] = dict.fromkeys(content["game_result"].pop("choices"), "Even")
    assert heard(content).message is None


def test_a_loser_that_reads_loss_learns_who_won() -> None:
    content = message("game_over.full")
    content["game_result"]["status"] = "LOSS"
    read = heard(content)
    assert isinstance(read.message, GameOver)
    assert read.message.game_result.status == "WIN"
    assert read.message.game_result.winner_player_id == content["game_result"]["winner_player_id"]
    assert clauses(read) == ["GAME_OVER.game_result.status"]
    assert heard(content, "strict").message is None


@pytest.mark.parametrize("winner", [None, 1])
def test_a_loss_to_nobody_is_refused(winner: object) -> None:
    content = message("game_over.full")
    content["game_result"] |= {"status": "LOSS", "winner_player_id": winner}
    assert heard(content).message is None


def test_a_table_without_ranks_and_names_is_read_by_its_order() -> None:
    content = message("league_standings_update.full")
    bare = [
        {"player_id": player, "points": 1, "wins": 0, "draws": 1, "losses": 0, "matches_played": 1}
        for player in ("P03", "P01")
    ]
    read = heard({**content, "standings": bare})
    assert isinstance(read.message, LeagueStandingsUpdate)
    rows = [(one.rank, one.player_id, one.display_name, one.played) for one in read.message.standings]
    assert rows == [(1, "P03", "P03", 1), (2, "P01", "P01", 1)]
    assert clauses(read) == [f"LEAGUE_STANDINGS_UPDATE.standings[].{one}" for one in ("display_name", "played", "rank")]
    assert heard({**content, "standings": bare}, "strict").message is None


def test_a_context_that_nobody_filled_in_does_not_keep_a_player_from_choosing() -> None:
    content = message("choose_parity_call.full")
    content["context"] = {**content["context"], "opponent_id": "", "round_id": 0}
    read = heard(content)
    assert isinstance(read.message, ChooseParityCall)
    assert read.message.context is not None
    assert read.message.context.opponent_id is None
    assert clauses(read) == ["CHOOSE_PARITY_CALL.context.opponent_id", "CHOOSE_PARITY_CALL.context.round_id"]
    assert heard(content, "strict").message is None


@pytest.mark.parametrize("name", ["game_over.full", "league_standings_update.full", "choose_parity_call.full"])
def test_what_is_said_in_the_words_of_the_documents_is_left_alone(name: str) -> None:
    read = heard(message(name))
    assert read.message is not None
    assert not read.deviations


@pytest.mark.parametrize("standings", [None, 7, [7], [None, {}], [{"player_id": "P01", "matches_played": "1"}]])
def test_what_is_no_table_stays_none(standings: object) -> None:
    assert heard({**message("league_standings_update.full"), "standings": standings}).message is None


@pytest.mark.requirement("DIALECT.told_otherwise")
@pytest.mark.parametrize(
    ("role", "seat"),
    [("player_a", "PLAYER_A"), ("player_b", "PLAYER_B"), (None, "PLAYER_A"), ("home", "PLAYER_A")],
)
def test_an_invitation_is_one_whatever_the_seat_is_called(role: str | None, seat: str) -> None:
    content = message("game_invitation.full")
    del content["role_in_match"]
    read = heard(content if role is None else {**content, "role_in_match": role})
    assert isinstance(read.message, GameInvitation)
    assert read.message.role_in_match == seat
    assert clauses(read) == ["GAME_INVITATION.role_in_match"]
    assert heard(content, "strict").message is None


@pytest.mark.requirement("DIALECT.told_otherwise")
def test_a_time_without_a_zone_is_utc() -> None:
    times = {"timestamp": "2025-01-15T10:00:00", "deadline": "2025-01-15T10:00:30"}
    content = {**message("choose_parity_call.full"), **times}
    read = heard(content)
    assert isinstance(read.message, ChooseParityCall)
    assert (read.message.timestamp, read.message.deadline) == ("2025-01-15T10:00:00Z", "2025-01-15T10:00:30Z")
    assert clauses(read) == ["ENVELOPE.timestamp", "CHOOSE_PARITY_CALL.deadline"]
    assert heard(content, "strict").message is None
    assert heard({**content, "timestamp": "yesterday"}).message is None


@pytest.mark.requirement("DIALECT.told_otherwise")
@pytest.mark.parametrize("number", [0, 11, 42, None])
def test_a_number_that_cannot_be_is_taken_as_told(number: int | None) -> None:
    content = message("game_over.full")
    content["game_result"] |= {"drawn_number": number}
    read = heard(content)
    assert isinstance(read.message, GameOver)
    assert read.message.game_result.drawn_number == number
    assert clauses(read) == ["GAME_OVER.game_result.drawn_number"]
    assert heard(content, "strict").message is None


@pytest.mark.requirement("DIALECT.told_otherwise")
def test_a_technical_loss_told_as_a_win_is_kept() -> None:
    content = message("game_over.full")
    result = content["game_result"]
    for name in ("choices", "number_parity"):
        del result[name]
    result["drawn_number"] = 0
    read = heard(content)
    assert isinstance(read.message, GameOver)
    assert read.message.game_result.choices == {}


@pytest.mark.requirement("DIALECT.other_names")
def test_a_round_may_have_a_name_and_a_call_another_type() -> None:
    content = message("round_completed.full")
    read = heard({**content, "round_id": "R1"})
    assert isinstance(read.message, RoundCompleted)
    assert read.message.round_id == 1
    assert clauses(read) == ["ROUND_COMPLETED.round_id"]
    assert heard({**content, "round_id": "the first"}).message is None
    called = heard({**message("choose_parity_call.full"), "message_type": "CHOOSE_PARITY_REQUEST"})
    assert isinstance(called.message, ChooseParityCall)
    assert "ENVELOPE.message_type" in clauses(called)


@pytest.mark.requirement("DIALECT.other_names")
def test_a_message_in_halves_is_answered_in_halves() -> None:
    content = message("game_invitation.full")
    names = ("protocol", "message_type", "sender", "timestamp", "conversation_id", "auth_token")
    envelope = {name: content.pop(name) for name in names if name in content}
    call = {"jsonrpc": "2.0", "id": 1, "method": "league.handle", "params": {"envelope": envelope, "payload": content}}
    player = Speaker(Role.PLAYER, "player:P01", Reading())
    asked = letters.read_request(json.dumps(call).encode(), player)
    assert isinstance(asked.content, Unsealed)
    assert isinstance(asked.content.message, GameInvitation)
    join = GameJoinAck(**seal("player:P01", 0.0, "conv-1"), match_id="R1M1", player_id="P01", accept=True)
    said = json.loads(letters.write_answer(asked, Answering(1, join), player, 0.0))["result"]
    assert said["envelope"]["message_type"] == said["message_type"] == "GAME_JOIN_ACK"
    assert said["payload"]["accept"] is said["accept"] is True


@pytest.mark.requirement("DIALECT.told_otherwise")
def test_an_end_that_names_the_champions_id_alone_ends_the_league() -> None:
    content = message("league_completed.full")
    content["champion"] = {"player_id": content["champion"]["player_id"]}
    read = heard(content)
    assert isinstance(read.message, LeagueCompleted)
    result = result_in(read.message, "P01")
    assert result.champion_name == content["champion"]["player_id"]
    assert result.champion_points == content["final_standings"][0]["points"]
    assert clauses(read) == ["LEAGUE_COMPLETED.champion.display_name", "LEAGUE_COMPLETED.champion.points"]
    assert heard(content, "strict").message is None


@pytest.mark.requirement("DIALECT.told_otherwise")
def test_a_round_is_over_also_if_not_everything_was_counted() -> None:
    content = {**message("round_completed.full"), "summary": {"total_matches": 2}}
    read = heard(content)
    assert isinstance(read.message, RoundCompleted)
    assert heard(content, "strict").message is None
