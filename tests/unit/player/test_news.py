"""What a player's own code is told, and when."""

from __future__ import annotations

from typing import Any

import pytest

from league.events import LeagueEnded
from league.player.history import PastMatch
from league.player.news import LeagueResult, ReceivedError, Round, Standings
from league.protocol.message.messages import GameErrorAck, LeagueErrorAck
from tests.support.player_rig import ME, Rig

REFEREE = "http://127.0.0.1:8001/mcp"


@pytest.fixture
def rig() -> Rig:
    return Rig().enrolled()


def row(rank: int, player_id: str, points: int) -> dict[str, Any]:
    numbers = {"played": 2, "wins": 1, "draws": 0, "losses": 1, "points": points}
    return {"rank": rank, "player_id": player_id, "display_name": player_id.title(), **numbers}


def match(number: int, one: str, other: str) -> dict[str, Any]:
    players = {"player_A_id": one, "player_B_id": other}
    return {"match_id": f"R1M{number}", "game_type": "even_odd", **players, "referee_endpoint": REFEREE}


# --- rounds and tables ------------------------------------------------------------------------------------------------


def test_a_round_is_told_with_all_its_matches_and_ours_is_easy_to_find(rig: Rig) -> None:
    rig.say(rig.announcement(matches=[match(1, "P03", "P04"), match(2, "P02", ME)]))
    (told,) = rig.news
    assert isinstance(told, Round)
    assert (told.round_id, len(told), [one.match_id for one in told]) == (1, 2, ["R1M1", "R1M2"])
    assert told.mine is not None
    assert (told.mine.match_id, told.mine.opponent_id, told.mine.referee_endpoint) == ("R1M2", "P02", REFEREE)
    assert [one.opponent_id for one in told.of("P03")] == [None]


def test_the_same_round_again_is_no_news_but_a_changed_one_is(rig: Rig) -> None:
    rig.say(rig.announcement())
    rig.say(rig.announcement())
    assert len(rig.news) == 1
    rig.say(rig.announcement(matches=[match(1, ME, "P03")]))
    assert len(rig.news) == 2


def test_a_round_without_a_match_of_ours_is_told_too(rig: Rig) -> None:
    rig.say(rig.announcement(matches=[match(1, "P03", "P04")]))
    (told,) = rig.news
    assert isinstance(told, Round)
    assert told.mine is None


def test_every_newer_table_is_told_and_our_row_is_easy_to_find(rig: Rig) -> None:
    rig.say(rig.standings(2, standings=[row(1, "P02", 6), row(2, ME, 3)]))
    rig.say(rig.standings(1, standings=[row(1, ME, 3)]))
    (told,) = rig.news
    assert isinstance(told, Standings)
    assert told.mine is not None
    assert (told.mine.rank, told.mine.points, told.mine.display_name) == (2, 3, "P01")
    assert (told.of("P09"), len(told), [one.player_id for one in told]) == (None, 2, ["P02", ME])


# --- results and the end ----------------------------------------------------------------------------------------------


def test_a_result_is_told_once(rig: Rig) -> None:
    rig.say(rig.invitation())
    rig.say(rig.over())
    rig.say(rig.over())
    (told,) = rig.news
    assert isinstance(told, PastMatch)
    assert told == rig.player.history[-1]


def test_the_end_is_told_with_the_final_table_and_kept(rig: Rig) -> None:
    rig.say(rig.completed(final_standings=[row(1, "P02", 6), row(2, ME, 3)]))
    (told,) = rig.news
    assert isinstance(told, LeagueResult)
    assert (told.champion_id, told.champion_name, told.rank, told.points, told.is_mine) == ("P02", "Bo", 2, 3, False)
    assert [(one.champion, one.rank, one.points) for one in rig.of(LeagueEnded)] == [("P02", 2, 3)]
    final = rig.player.snapshot()["final"]
    assert final == rig.replayed().snapshot()["final"]
    assert (final["rank"], final["points"], final["players"]) == (2, 3, 2)


def test_the_end_again_is_no_news_unless_the_table_has_changed(rig: Rig) -> None:
    for points in (3, 3, 4):
        rig.say(rig.completed(final_standings=[row(2, ME, points)]))
    assert [told.points for told in rig.news if isinstance(told, LeagueResult)] == [3, 4]
    final = rig.replayed().snapshot()["final"]
    assert (final["rank"], final["points"]) == (2, 4)


def test_who_is_not_in_the_table_has_no_rank(rig: Rig) -> None:
    rig.say(rig.completed())
    (told,) = rig.news
    assert isinstance(told, LeagueResult)
    assert (told.mine, told.rank, told.points) == (None, None, None)


# --- errors -----------------------------------------------------------------------------------------------------------


def league_error(rig: Rig, **changed: Any) -> dict[str, Any]:
    wrong = {"error_code": "E012", "error_description": "AUTH_TOKEN_INVALID", "original_message_type": "LEAGUE_QUERY"}
    fields = {**rig.from_manager("LEAGUE_ERROR"), **wrong, **changed}
    return {name: value for name, value in fields.items() if value is not None and name != "league_id"}


def test_a_game_error_is_told_with_its_match(rig: Rig) -> None:
    rig.say(rig.invitation())
    said: dict[str, Any] = {
        "error_detail": "'Odd' is not a choice here",
        "retryable": True,
        "consequence": "Technical loss",
    }
    assert isinstance(rig.say(rig.error(**said)), GameErrorAck)
    (told,) = rig.news
    assert isinstance(told, ReceivedError)
    assert (told.code, told.name, told.match_id) == ("E004", "INVALID_PARITY_CHOICE", "R1M1")
    assert (told.detail, told.retryable, told.consequence) == tuple(said.values())
    assert (told.sender, told.trusted) == ("referee:REF01", True)


@pytest.mark.requirement("LEAGUE_ERROR.acknowledged")
def test_a_league_error_is_acknowledged_told_and_changes_nothing(rig: Rig) -> None:
    before = rig.player.snapshot()
    answer = rig.say(league_error(rig))
    assert isinstance(answer, LeagueErrorAck)
    assert (answer.status, answer.player_id) == ("ACKNOWLEDGED", ME)
    (told,) = rig.news
    assert isinstance(told, ReceivedError)
    assert (told.message_type, told.code, told.name, told.match_id) == (
        "LEAGUE_ERROR",
        "E012",
        "AUTH_TOKEN_INVALID",
        None,
    )
    assert rig.player.snapshot() == before


@pytest.mark.requirement("LEAGUE_ERROR.acknowledged")
def test_under_another_manager_a_league_error_without_envelope_and_token_is_taken_and_recorded() -> None:
    rig = Rig(derived=False).enrolled()
    bare = {"message_type": "LEAGUE_ERROR", "error_code": "E021", "error_description": "what a mess"}
    assert isinstance(rig.say(bare), LeagueErrorAck)
    (told,) = rig.news
    assert isinstance(told, ReceivedError)
    assert (told.name, told.detail, told.sender, told.trusted) == (
        "INVALID_TIMESTAMP",
        "what a mess",
        "league_manager",
        True,
    )


@pytest.mark.requirement("TOKEN.managers_news")
def test_our_managers_errors_show_its_token(rig: Rig) -> None:
    bare = {"message_type": "LEAGUE_ERROR", "error_code": "E021", "error_description": "what a mess"}
    assert rig.refusal_of(bare) == "E011"
    assert rig.news == []


def test_strict_refuses_a_league_error_of_somebody_else() -> None:
    rig = Rig(profile="strict").enrolled()
    assert rig.refusal_of(league_error(rig, auth_token="tok_P66_x")) == "E012"
    assert rig.news == []


@pytest.mark.parametrize(
    ("said", "name", "detail"),
    [
        ({"error_code": "E777", "error_description": "ODD_DAY"}, "ODD_DAY", ""),
        ({"error_code": "E777", "error_description": "ODD_DAY", "error_detail": "a sentence"}, "ODD_DAY", "a sentence"),
        ({"error_code": "E001"}, "TIMEOUT_ERROR", "no complete and valid answer arrived in time"),
    ],
)
def test_errors_of_others_are_told_as_far_as_they_say_something(
    rig: Rig, said: dict[str, Any], name: str, detail: str
) -> None:
    rig.say({**rig.error(), "error_description": None, "error_name": None, **said})
    (told,) = rig.news
    assert isinstance(told, ReceivedError)
    assert (told.name, told.detail) == (name, detail)
