"""MATCH_RESULT_REPORT in other words, from the bytes of the request to the result that is stored (R-10)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from league import events as e
from league import letters
from league.gateway.readers.foreign_reports import in_all_words
from league.letters import Speaker
from league.machine import Address
from league.protocol.message.envelope import Reading, seal
from league.protocol.message.exchanges import Role
from league.protocol.message.messages import MatchResultReport
from league.protocol.message.parts import Result, ResultDetails
from league.protocol.wire import jsonrpc
from tests.support.bench import plain
from tests.support.managed import Managed, Object, code_of

A, B = "P01", "P02"


def league_of(profile: str = "compat") -> Managed:
    league = Managed(players=2, referees=1, profile=profile)
    league.register("referee", 1)
    league.register("player", 1)
    league.register("player", 2)
    league.answer_all()
    match = league.manager.ledger.matches["R1M1"]
    assert match.players == (A, B)
    return league


def said(league: Managed, **result: Any) -> str:
    """The code that this report is refused with, "" if it was taken; `result` stands flat unless it is there whole."""
    report = {name: one for name, one in league.report_of("R1M1").items() if name != "result"}
    call = {"jsonrpc": "2.0", "id": 1, "method": "report_match_result", "params": {**report, **result}}
    reading = Reading(league.settings.profile)
    asked = letters.read_request(json.dumps(call).encode(), Speaker(Role.MANAGER, "league_manager", reading))
    return code_of(league.request(asked.content))


def stored(league: Managed) -> tuple[str | None, str, bool]:
    (result,) = league.of(e.ResultAccepted)
    expected = {one: 3 if one == result.winner else 0 for one in (A, B)} if result.winner else {A: 1, B: 1}
    assert result.points == expected
    return result.winner, result.status, result.verified


def recorded(league: Managed) -> set[str]:
    return {one.requirement for one in league.of(e.DeviationRecorded) if one.agent_id == "REF01"}


DETAILS = {"drawn_number": 4, "choices": {A: "even", B: "odd"}, "status": "WIN"}
DRAWN = {"drawn_number": 4, "choices": {A: "even", B: "even"}, "status": "DRAW"}
FLAT_WIN: Object = {
    "player_a_id": A,
    "player_b_id": B,
    "player_a_choice": "even",
    "player_b_choice": "odd",
    "player_a_result": "WIN",
    "player_b_result": "LOSS",
    "drawn_number": 4,
}
FLAT_DRAW: Object = {
    **FLAT_WIN,
    "player_b_choice": "even",
    "player_a_result": "DRAW",
    "player_b_result": "DRAW",
}


@pytest.mark.parametrize(
    ("result", "clause"),
    [
        ({"winner_id": A, "score": {A: 3, B: 0}, "details": DETAILS}, "MATCH_RESULT_REPORT.result.winner"),
        ({"winner_player_id": A, "score": {A: 3, B: 0}, "details": DETAILS}, "MATCH_RESULT_REPORT.result.winner"),
        ({"winner": A, "score": {A: 1, B: 0}, "details": DETAILS}, "REPORT.wrong_score"),
        ({"winner": A, "score": {A: 2, B: 0}, "details": DETAILS}, "REPORT.wrong_score"),
        ({"winner": A, "score": {A: 3, B: 0}}, "MATCH_RESULT_REPORT.result.details"),
        ({"winner": A, "score": {A: 3, B: 0}, "details": {"choices": {}}}, "REPORT.recomputed"),
    ],
)
def test_a_win_in_other_words_is_the_same_win(result: Object, clause: str) -> None:
    league = league_of()
    assert said(league, result=result) == ""
    assert stored(league)[:2] == (A, "WIN")
    assert clause in recorded(league)


@pytest.mark.parametrize("score", [{A: 0, B: 0}, {A: 1, B: 1}, {A: 2, B: 2}])
@pytest.mark.parametrize("winner", [{"winner": None}, {"winner": "DRAW"}, {"winner_id": None}, {"winner_id": "DRAW"}])
def test_a_draw_in_other_words_is_the_same_draw(winner: Object, score: Object) -> None:
    league = league_of()
    assert said(league, result={**winner, "score": score, "details": DRAWN}) == ""
    assert stored(league)[:2] == (None, "DRAW")


@pytest.mark.parametrize(
    ("flat", "winner", "status"),
    [
        (FLAT_WIN, A, "WIN"),
        ({**FLAT_WIN, "winner_id": A}, A, "WIN"),
        ({**FLAT_WIN, "winner": A, "score": {A: 3, B: 0}}, A, "WIN"),
        ({name.replace("_a_", "_A_").replace("_b_", "_B_"): one for name, one in FLAT_WIN.items()}, A, "WIN"),
        ({"player1_id": A, "player2_id": B, "player1_result": "lost", "player2_result": "won"}, B, "WIN"),
        (FLAT_DRAW, None, "DRAW"),
        ({**FLAT_DRAW, "winner_id": "DRAW"}, None, "DRAW"),
        ({"winner_id": B}, B, "WIN"),
        ({"winner_id": B, "status": "TECHNICAL_LOSS", "drawn_number": None}, B, "TECHNICAL_LOSS"),
        ({"winner_id": B, "status": "COMPLETED"}, B, "WIN"),
        ({"game_result": {"winner_player_id": B, "status": "WIN"}}, B, "WIN"),
        ({"game_result": {"winner_player_id": None, "status": "DRAW"}}, None, "DRAW"),
    ],
)
def test_a_flat_report_is_gathered(flat: Object, winner: str | None, status: str) -> None:
    league = league_of()
    assert said(league, **flat) == ""
    assert stored(league)[:2] == (winner, status)
    assert "MATCH_RESULT_REPORT.result" in recorded(league)


def test_a_flat_report_with_number_choices_and_points_lacks_only_the_proof_of_its_draw() -> None:
    league = league_of()
    assert said(league, **FLAT_WIN, player_a_points=3, player_b_points=0) == ""
    assert stored(league) == (A, "WIN", False)
    assert not any(clause.startswith("REPORT") for clause in recorded(league))


@pytest.mark.parametrize(
    "flat",
    [
        {**FLAT_WIN, "winner_id": B},
        {**FLAT_WIN, "winner": A, "winner_id": B},
        {**FLAT_WIN, "winner_id": None},
        {**FLAT_DRAW, "winner_id": A},
        {"winner_id": "P09"},
    ],
)
def test_what_contradicts_itself_is_refused(flat: Object) -> None:
    league = league_of()
    assert said(league, **flat) == "E039"
    assert not league.of(e.ResultAccepted)


@pytest.mark.requirement("REPORT.corrected")
def test_choices_and_number_outweigh_the_winner() -> None:
    league = league_of()
    assert said(league, **{**FLAT_WIN, "drawn_number": 3}) == ""
    assert stored(league)[0] == B


def test_a_map_of_players_says_it_all() -> None:
    rows = {A: {"choice": "even", "score": 3, "result": "WIN"}, B: {"choice": "odd", "points": 0, "outcome": "LOSS"}}
    league = league_of()
    assert said(league, players=rows, drawn_number=4) == ""
    assert stored(league) == (A, "WIN", False)
    (result,) = league.of(e.ResultAccepted)
    assert result.details["choices"] == {A: "even", B: "odd"}


def test_a_contradiction_is_told_to_the_referee_of_the_match_alone() -> None:
    assert said(league_of(), **FLAT_WIN, winner_id=B, auth_token="tok_of_nobody") == "E012"


@pytest.mark.parametrize(
    "flat", [{}, {"player_a_result": "WIN"}, {**FLAT_WIN, "player_b_result": "WIN"}, {"winner_id": 7}]
)
def test_a_report_that_leaves_a_doubt_is_not_guessed_at(flat: Object) -> None:
    league = league_of()
    assert said(league, **{name: one for name, one in flat.items() if name != "player_a_id"}) == "E003"
    assert not league.of(e.ResultAccepted)


@pytest.mark.parametrize("choice", ["EVEN", "Even", "0"])
def test_a_value_is_never_repaired(choice: str) -> None:
    assert said(league_of(), **{**FLAT_WIN, "player_a_choice": choice}) == "E008"


@pytest.mark.parametrize("flat", [FLAT_WIN, {"result": {"winner_id": A, "score": {A: 3, B: 0}, "details": DETAILS}}])
def test_strict_understands_no_other_words(flat: Object) -> None:
    league = Managed(players=2, referees=1, profile="strict").fill()
    league.answer_all()
    assert said(league, **flat) == "E003"


# --- ours, for managers of others -------------------------------------------------------------------------------------


def written(winner: str | None, details: Object | None, round_name: str = "") -> Object:
    """What our referee's report is for a manager that is not ours."""
    report = MatchResultReport(
        **seal("referee:REF01", 0.0, "c"),
        league_id="l",
        round_id=1,
        match_id="R1M1",
        game_type="even_odd",
        result=Result(
            winner=winner,
            score={one: 3 if one == winner else 0 for one in (A, B)},
            details=ResultDetails(**details) if details else None,
        ),
    )
    message = in_all_words(report, round_name)
    raw = letters.write_call(1, message, jsonrpc.encode_body(message), Address("m", "http://m"))
    call = json.loads(raw)
    assert call["method"] == "report_match_result"
    params = call["params"]
    assert isinstance(params, dict)
    told = {**plain(report), "round_id": round_name or 1}
    assert {name: params[name] for name in told} == told
    return params


@pytest.mark.requirement("REPORT.in_all_words")
def test_a_manager_by_others_can_read_our_report_flat_or_by_player() -> None:
    flat = written(A, DETAILS)
    assert FLAT_WIN.items() <= flat.items()
    assert flat["players"] == {
        A: {"choice": "even", "score": 3, "result": "WIN"},
        B: {"choice": "odd", "score": 0, "result": "LOSS"},
    }
    assert flat["round_id"] == 1
    assert flat["winner_id"] == flat["result"]["winner"] == A
    assert letters.read_request(
        json.dumps({"jsonrpc": "2.0", "id": 1, "method": "MATCH_RESULT_REPORT", "params": flat}).encode(),
        Speaker(Role.MANAGER, "league_manager", Reading("strict")),
    ).content.message  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("winner", "details", "outcomes"),
    [
        (None, DRAWN, ("DRAW", "DRAW")),
        (B, {"status": "TECHNICAL_LOSS", "drawn_number": None}, ("TECHNICAL_LOSS", "WIN")),
        (None, {"status": "TECHNICAL_LOSS"}, ("TECHNICAL_LOSS", "TECHNICAL_LOSS")),
        (A, None, ("WIN", "LOSS")),
    ],
)
def test_it_says_how_the_match_ended_for_each(winner: str | None, details: Object | None, outcomes: object) -> None:
    flat = written(winner, details)
    assert (flat["player_a_result"], flat["player_b_result"]) == outcomes


@pytest.mark.requirement("REPORT.in_all_words")
def test_a_round_is_called_what_its_manager_calls_it() -> None:
    assert written(A, DETAILS, "R1")["round_id"] == "R1"
