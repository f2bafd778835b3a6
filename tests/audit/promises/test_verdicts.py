"""Promises 4, 12 and 13: verdicts, draws and secrecy. Each planted violation breaks its own promise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from msgspec import structs

from league import events as e
from league.features.audit.promises import Evidence, RecordedCall
from league.features.audit.promises.grounds.event_log import EventLog
from tests.support.honest_league import honest_league
from tests.support.planted import (
    added,
    breaches,
    broken,
    call_at,
    calls,
    changed,
    find,
    journal_only,
    reworded,
    sent,
    without,
)

Object = dict[str, Any]
THROWS = "rock_paper_scissors"


def unfinished(**script: Any) -> Evidence:
    """The manager's journal alone, before the end: a wrong result then crowns nobody."""
    evidence = journal_only(honest_league(**script))
    place, _ = find(evidence, "manager", e.LeagueFinished)
    return without(evidence, "manager", place)


# --- promise 4 --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("match_id", ["R1M1", "R1M2", "R3M1"])
def test_the_loser_as_winner_breaks_promise_4(match_id: str) -> None:
    honest = unfinished()
    place, result = find(honest, "manager", e.ResultAccepted, match_id=match_id)
    other = next(player for player in result.points if player != result.winner)
    points = {player: 3 if player == other else 0 for player in result.points}
    assert broken(changed(honest, "manager", place, winner=other, points=points)) == {4}


@pytest.mark.parametrize(
    ("match_id", "wrong"),
    [
        ("R1M1", {"points": {"P01": 3, "P04": 0}}),
        ("R1M1", {"points": {"P01": 1, "P04": 1}}),
        ("R1M1", {"winner": None, "status": "DRAW", "points": {"P01": 1, "P04": 1}}),
        ("R2M1", {"winner": "P01", "status": "WIN", "points": {"P01": 3, "P03": 0}}),
        ("R2M1", {"winner": "P01", "points": {"P01": 3, "P03": 0}}),
        ("R1M1", {"status": "TECHNICAL_LOSS"}),
    ],
)
def test_a_result_its_details_do_not_prove_breaks_promise_4(match_id: str, wrong: Object) -> None:
    honest = unfinished()
    place, _ = find(honest, "manager", e.ResultAccepted, match_id=match_id)
    assert broken(changed(honest, "manager", place, **wrong)) == {4}


@pytest.mark.parametrize(
    "wrong",
    [
        {"drawn_number": 9},
        {"drawn_number": 17},
        {"drawn_number": True},
        {"choices": {"P01": "even", "P04": None}},
        {"choices": {"P01": "even", "P04": "maybe"}},
        {"choices": None},
        {"draw_seed": "00" * 32},
        {"draw_seed": "nothing"},
    ],
)
def test_details_that_cannot_be_break_promise_4_when_they_were_called_verified(wrong: Object) -> None:
    honest = unfinished()
    place, result = find(honest, "manager", e.ResultAccepted, match_id="R1M1")
    planted = changed(honest, "manager", place, details={**result.details, **wrong})
    assert broken(planted) == {4}
    assert broken(changed(planted, "manager", place, verified=False)) == set()


def test_an_unverified_result_gives_its_winner_the_points_all_the_same() -> None:
    honest = unfinished()
    place, _ = find(honest, "manager", e.ResultAccepted, match_id="R1M1")
    swapped = {"P01": 3, "P04": 0}
    assert broken(changed(honest, "manager", place, verified=False, points=swapped)) == {4}


@pytest.mark.parametrize(
    ("match_id", "wrong"),
    [
        ("R1M1", {"winner": "P04", "points": {"P01": 0, "P04": 3}}),
        ("R1M1", {"winner": None, "points": {"P01": 0, "P04": 0}}),
        ("R3M1", {"winner": "P01", "points": {"P01": 3, "P02": 0}}),
        ("R1M1", {"status": "WIN"}),
    ],
)
def test_a_fault_that_costs_the_wrong_player_breaks_promise_4(match_id: str, wrong: Object) -> None:
    honest = unfinished(silent={"R1M1": ("P04",)}, mute={"R3M1": ("P01", "P02")})
    place, _ = find(honest, "manager", e.ResultAccepted, match_id=match_id)
    assert broken(changed(honest, "manager", place, **wrong)) == {4}


def test_other_games_are_judged_by_their_moves() -> None:
    honest = unfinished(game_type=THROWS)
    assert broken(honest) == set()
    place, result = find(honest, "manager", e.ResultAccepted, match_id="R1M2")
    other = next(player for player in result.points if player != result.winner)
    points = {player: 3 if player == other else 0 for player in result.points}
    assert broken(changed(honest, "manager", place, winner=other, points=points)) == {4}
    assert broken(changed(honest, "manager", place, details={**result.details, "moves": []})) == {4}


def test_of_an_unknown_game_only_winner_and_points_are_judged() -> None:
    honest = unfinished(game_type=THROWS)
    settings = e.LeagueSettings(league_id="spring", referees=2, game_type="chess")
    unknown = changed(honest, "manager", 0, settings=settings)
    assert broken(unknown) == set()
    place, result = find(unknown, "manager", e.ResultAccepted, match_id="R1M2")
    other = next(player for player in result.points if player != result.winner)
    assert broken(changed(unknown, "manager", place, winner=other)) == {4}


def decided(match_id: str = "R1M1", **script: Any) -> tuple[Evidence, int, e.MatchDecided]:
    honest = replace(honest_league(**script), traffic=None)
    return honest, *find(honest, "REF01", e.MatchDecided, match_id=match_id)


def test_a_referee_that_decides_against_what_happened_breaks_promise_4() -> None:
    honest, place, _ = decided()
    move, _ = find(honest, "REF01", e.MoveMade, match_id="R1M1", player_id="P04")
    assert broken(honest) == set()
    assert broken(changed(honest, "REF01", move, choice="even")) == {4}
    assert broken(without(honest, "REF01", move)) == {4}
    assert broken(changed(honest, "REF01", place, points={"P01": 1, "P04": 1})) == {4, 21}


@pytest.mark.parametrize(
    "wrong",
    [{"choices": {"P01": "odd", "P04": "odd"}}, {"choices": {"P01": None, "P04": None}}, {"drawn_number": None}],
)
def test_a_referee_that_tells_other_choices_breaks_promise_4(wrong: Object) -> None:
    honest, place, event = decided()
    assert broken(changed(honest, "REF01", place, details={**event.details, **wrong})) == {4}


def test_a_referee_that_tells_a_number_after_a_fault_breaks_promise_4() -> None:
    honest, place, event = decided(mute={"R1M1": ("P04",)})
    assert broken(honest) == set()
    assert broken(changed(honest, "REF01", place, details={**event.details, "drawn_number": 7})) == {4}


def test_a_number_that_is_not_the_seeds_breaks_promise_4() -> None:
    honest, place, event = decided()
    drawn, number = find(honest, "REF01", e.NumberDrawn, match_id="R1M1")
    stored, result = find(honest, "manager", e.ResultAccepted, match_id="R1M1")
    wrong = {"drawn_number": (number.number + 1) % 10 + 1}
    planted = changed(honest, "REF01", drawn, number=wrong["drawn_number"])
    planted = changed(planted, "REF01", place, details={**event.details, **wrong})
    planted = changed(planted, "manager", stored, details={**result.details, **wrong})
    assert broken(planted) == {4}


@pytest.mark.parametrize("status", ["DRAW", "WIN"])
def test_a_status_that_denies_its_winner_breaks_promise_4(status: str) -> None:
    honest = unfinished()
    place, _ = find(honest, "manager", e.ResultAccepted, match_id="R1M1" if status == "DRAW" else "R2M1")
    assert broken(changed(honest, "manager", place, status=status, verified=False)) == {4}


def test_a_referee_that_names_the_wrong_winner_breaks_promise_4() -> None:
    honest, place, _ = decided()
    planted = changed(honest, "REF01", place, winner="P01", points={"P01": 3, "P04": 0})
    assert breaches(planted, 4) == ["R1M1: winner P01, but what happened means winner P04"]


def test_a_referee_that_punishes_the_wrong_player_breaks_promise_4() -> None:
    honest, place, _ = decided(silent={"R1M1": ("P04",)})
    planted = changed(honest, "REF01", place, winner="P04", points={"P01": 0, "P04": 3})
    assert breaches(planted, 4) == ["R1M1: winner P04 by fault, but what happened means winner P01 by fault"]


def test_a_referee_that_draws_or_shows_another_seed_breaks_promise_4() -> None:
    honest, place, event = decided()
    shown = changed(honest, "REF01", place, details={**event.details, "draw_seed": "00" * 32})
    assert breaches(shown, 4) == ["R1M1: told another seed than the one promised"]
    drawn, number = find(honest, "REF01", e.NumberDrawn, match_id="R1M1")
    other = number.number - 2
    planted = changed(honest, "REF01", drawn, number=other)
    planted = changed(planted, "REF01", place, details={**event.details, "drawn_number": other})
    assert breaches(planted, 4) == [f"R1M1: the seed gives {number.number}, not {other}"]


def test_choices_of_other_games_may_change_from_turn_to_turn() -> None:
    honest = replace(honest_league(game_type=THROWS), traffic=None)
    for player in ("P01", "P04"):
        place, _ = find(honest, "REF01", e.MoveMade, match_id="R1M1", player_id=player, turn=3)
        honest = changed(honest, "REF01", place, choice="paper")
    place, event = find(honest, "REF01", e.MatchDecided, match_id="R1M1")
    last = {"P01": "paper", "P04": "paper"}
    told = {**event.details, "choices": last, "moves": [*event.details["moves"][:2], last]}
    assert breaches(changed(honest, "REF01", place, details=told), 4) == []


def test_moves_of_a_match_that_was_never_taken_break_promise_4() -> None:
    honest, _, _ = decided()
    place, _ = find(honest, "REF01", e.MatchTaken, match_id="R1M1")
    assert broken(without(honest, "REF01", place)) == {4}


def test_a_game_over_that_names_another_winner_breaks_promise_4() -> None:
    honest = honest_league()
    place = calls(honest, "GAME_OVER", match="R1M1")[0]
    planted = reworded(honest, place, lambda message: message["game_result"].update(winner_player_id="P01"))
    assert broken(planted) == {4}
    invented = reworded(honest, place, lambda message: message.update(match_id="R9M9"))
    assert 4 in broken(invented)


@pytest.mark.parametrize("promised", ["00" * 32, None])
def test_an_invitation_that_promises_another_seed_breaks_promise_4(promised: str | None) -> None:
    planted = honest_league()
    for place in calls(planted, "GAME_INVITATION", match="R1M1"):
        planted = reworded(planted, place, lambda message: message.update(draw_commitment=promised))
    assert broken(planted) == {4}


def test_the_promise_of_somebody_elses_referee_is_held_against_the_seed_it_shows() -> None:
    foreign = replace(honest_league(), referees={})
    assert broken(foreign) == set()
    for place in calls(foreign, "GAME_INVITATION", match="R1M1"):
        foreign = reworded(foreign, place, lambda message: message.update(draw_commitment="00" * 32))
    assert broken(foreign) == {4}


# --- promise 12 -------------------------------------------------------------------------------------------------------


def test_a_second_number_breaks_promise_12() -> None:
    honest = honest_league()
    place, event = find(honest, "REF01", e.NumberDrawn, match_id="R1M1")
    assert broken(added(honest, "REF01", place, event)) == {12}


@pytest.mark.parametrize("kind", ["GAME_OVER", "MATCH_RESULT_REPORT"])
@pytest.mark.parametrize("wrong", [{"drawn_number": 9}, {"draw_seed": "00" * 32}])
def test_a_message_with_another_draw_breaks_promise_12(kind: str, wrong: Object) -> None:
    honest = honest_league()

    def change(message: Object) -> None:
        shown = message["game_result"] if kind == "GAME_OVER" else message["result"]["details"]
        shown.update(wrong)

    assert broken(reworded(honest, calls(honest, kind, match="R1M1")[0], change)) == {12}


def test_a_second_promise_for_one_attempt_breaks_promise_12() -> None:
    honest = honest_league()
    place = calls(honest, "GAME_INVITATION", match="R1M1")[1]
    planted = reworded(honest, place, lambda message: message.update(draw_commitment="00" * 32))
    assert broken(planted) == {4, 12}


def test_a_match_taken_twice_with_two_seeds_breaks_promise_12() -> None:
    honest = honest_league()
    place, taken = find(honest, "REF01", e.MatchTaken, match_id="R1M1")
    # It is also more than one delivery of one assignment may cause.
    planted = added(honest, "REF01", place + 1, structs.replace(taken, seed="00" * 32))
    assert {12, 17} <= broken(planted)


def test_one_seed_for_two_attempts_breaks_promise_12() -> None:
    honest = honest_league(lost=frozenset({"R1M1"}))
    _, first = find(honest, "REF01", e.MatchTaken, match_id="R1M1")
    again = structs.replace(first, attempt=2)
    assert breaches(Evidence(referees={"REF01": EventLog([first]), "REF02": EventLog([again])}), 12) == [
        "R1M1, attempt 2, has the seed of R1M1, attempt 1,"
    ]
    assert breaches(Evidence(referees={"REF01": EventLog([first])}), 12) == []


@pytest.mark.parametrize(("name", "kind"), [("manager", e.ResultAccepted), ("REF01", e.MatchDecided)])
@pytest.mark.parametrize("field", ["draw_seed", "drawn_number"])
def test_journals_that_show_two_draws_break_promise_12(name: str, kind: type[e.Event], field: str) -> None:
    honest = replace(honest_league(), traffic=None)
    place, event = find(honest, name, kind, match_id="R1M1")
    assert isinstance(event, e.ResultAccepted | e.MatchDecided)
    wrong = {**event.details, field: "00" * 32 if field == "draw_seed" else 9}
    assert breaches(changed(honest, name, place, details=wrong), 12) != []


def test_a_game_with_other_rules_may_draw_more_than_once() -> None:
    honest = replace(honest_league(game_type=THROWS), traffic=None)
    draws = [e.NumberDrawn(at=1_005.0, match_id="R1M1", attempt=1, number=number) for number in (3, 4)]
    assert breaches(added(honest, "REF01", 2, *draws), 12) == []


def test_a_draw_shown_by_a_stranger_or_without_an_attempt_proves_nothing() -> None:
    honest = honest_league()
    over = call_at(honest, calls(honest, "GAME_OVER", match="R1M1")[0])
    other = {**over.message["game_result"], "drawn_number": 9}
    forged = replace(over, sender_node="P02", message={**over.message, "game_result": other})
    assert breaches(sent(honest, forged), 12) == []
    del other["attempt"]
    nameless = [
        replace(over, message={**over.message, "game_result": {**other, "drawn_number": number}}) for number in (8, 9)
    ]
    assert breaches(sent(honest, *nameless), 12) == []


def test_another_attempt_is_another_draw() -> None:
    assert broken(honest_league(lost=frozenset({"R1M1"}), voided=frozenset({"R2M1"}))) == set()


# --- promise 13 -------------------------------------------------------------------------------------------------------


def in_secret(evidence: Evidence, match_id: str = "R1M1") -> tuple[float, RecordedCall]:
    """A moment at which the first player has chosen and the second has not, and the call made to it then."""
    _, move = find(evidence, "REF01", e.MoveMade, match_id=match_id)
    kinds = ("CHOOSE_PARITY_CALL", "GAME_MOVE_CALL")
    places = [place for kind in kinds for place in calls(evidence, kind, match=match_id)]
    call = next(one for one in (call_at(evidence, place) for place in places) if one.sent_at >= move.at)
    return call.sent_at, call


@pytest.mark.parametrize("script", [{}, {"slips": frozenset({"R1M1", "R2M2"})}, {"game_type": THROWS}])
def test_a_referee_that_keeps_secrets_keeps_promise_13(script: Object) -> None:
    assert broken(honest_league(**script)) == set()


def _leak(evidence: Evidence, to: str, content: Object) -> Evidence:
    at, call = in_secret(evidence)
    message = {"match_id": "R1M1", "conversation_id": call.message["conversation_id"], **content}
    return sent(evidence, RecordedCall(at + 0.01, "REF01", to, message))


@pytest.mark.parametrize("to", ["P04", "P02", "league_manager"])
@pytest.mark.parametrize(
    "content",
    [
        {"message_type": "GAME_ERROR", "error_code": "E001", "context": {"choices": {}}},
        {"message_type": "GAME_ERROR", "error_code": "E001", "context": {"seen": [{"P01": "even"}]}},
        {"message_type": "GAME_STATE", "opponent_choice": "even"},
    ],
)
def test_a_choice_told_to_anyone_else_breaks_promise_13(to: str, content: Object) -> None:
    assert broken(_leak(honest_league(), to, content)) == {13}


def test_a_chooser_may_be_told_its_own_choice() -> None:
    own = {"message_type": "GAME_ERROR", "error_code": "E001", "context": {"choices": {"P01": "even"}}}
    assert broken(_leak(honest_league(), "P01", own)) == set()


@pytest.mark.parametrize("kind", ["GAME_OVER", "MATCH_RESULT_REPORT"])
def test_a_result_before_all_choices_are_in_breaks_promise_13(kind: str) -> None:
    honest = honest_league()
    at, _ = in_secret(honest)
    early = replace(call_at(honest, calls(honest, kind, match="R1M1")[-1]), sent_at=at + 0.01)
    assert broken(sent(honest, early)) == {13}


def test_the_clock_of_the_manager_says_nothing_about_a_referees_secrets() -> None:
    honest = honest_league()
    at, _ = in_secret(honest)
    report = call_at(honest, calls(honest, "MATCH_RESULT_REPORT", match="R1M1")[-1])
    for clock, promises in (("REF01", {13}), ("league_manager", set())):
        assert broken(sent(honest, replace(report, sent_at=at + 0.01, clock=clock))) == promises


def test_a_clock_that_was_set_back_leaks_nothing() -> None:
    honest = honest_league()
    at, _ = in_secret(honest)
    places = [place for place, event in enumerate(honest.referees["REF01"]) if event.at > at]
    shifted = honest
    # All choices are in when the clock goes back; everything behind that happens at an earlier time.
    (_, *later) = [place for place in places if not isinstance(honest.referees["REF01"][place], e.MoveMade)]
    for place in later:
        shifted = changed(shifted, "REF01", place, at=at)
    over = call_at(honest, calls(honest, "GAME_OVER", to="P04", match="R1M1")[0])
    assert 13 not in broken(sent(shifted, replace(over, sent_at=at + 0.01)))


def test_a_result_that_names_no_choice_is_still_too_early() -> None:
    honest = honest_league()
    at, _ = in_secret(honest)
    over = call_at(honest, calls(honest, "GAME_OVER", to="P04", match="R1M1")[0])
    bare = {name: over.message["game_result"][name] for name in ("status", "winner_player_id", "attempt")}
    early = replace(over, sent_at=at + 0.01, message={**over.message, "game_result": bare})
    assert broken(sent(honest, early)) == {13}


def test_the_record_of_an_open_attempt_breaks_promise_13_and_that_of_another_does_not() -> None:
    honest = honest_league()
    at, _ = in_secret(honest)
    for attempt, promises in ((1, {13}), (2, set())):
        record = {"match_id": "R1M1", "attempt": attempt, "events": [{"event": "MoveMade"}]}
        asked = RecordedCall(at + 0.01, "manager", "REF01", {}, answer=record, answered_at=at + 0.01)
        assert broken(sent(honest, asked)) == promises


def test_a_call_that_asks_differently_once_the_other_has_chosen_breaks_promise_13() -> None:
    honest = honest_league()
    _, call = in_secret(honest)
    assert honest.traffic is not None
    place = honest.traffic.index(call)
    # Nothing in this field names a choice; that it changed is enough.
    planted = reworded(honest, place, lambda message: message["context"]["your_standings"].update(wins=1))
    assert broken(planted) == {13}
    told = reworded(honest, place, lambda message: message["context"].update(opponent_choice="even"))
    assert broken(told) == {13}


def test_the_view_of_a_move_call_may_not_change_either() -> None:
    honest = honest_league(game_type=THROWS)
    _, call = in_secret(honest, "R2M1")
    assert honest.traffic is not None

    def peek(message: Object) -> None:
        message["move_request"]["context"]["throws"].append({"you": "", "opponent": "rock"})

    assert broken(reworded(honest, honest.traffic.index(call), peek)) == {13}


def test_an_answer_of_the_referee_is_watched_too() -> None:
    honest = honest_league()
    at, _ = in_secret(honest)
    curious = RecordedCall(at, "P04", "REF01", {}, {"match_id": "R1M1", "choices": {"P01": "even"}}, at + 0.01)
    assert broken(sent(honest, curious)) == {13}


def test_what_players_tell_each_other_is_their_own_affair() -> None:
    honest = honest_league()
    at, _ = in_secret(honest)
    told = {"match_id": "R1M1", "choices": {"P01": "even"}}
    assert broken(sent(honest, RecordedCall(at, "P01", "P04", told))) == set()
    assert broken(sent(honest, RecordedCall(at, "P04", "P01", {}, told, at + 0.01))) == set()


def test_two_errors_may_say_two_things() -> None:
    honest = honest_league(slips=frozenset({"R1M1"}))
    error = call_at(honest, calls(honest, "GAME_ERROR", to="P04")[0])
    _, move = find(honest, "REF01", e.MoveMade, match_id="R1M1")
    early = {**error.message, "context": {"invalid_choice": "both", "valid_choices": ["even", "odd"]}}
    assert broken(sent(honest, replace(error, sent_at=move.at - 0.5, message=early))) == set()


def test_where_players_take_turns_a_move_is_no_secret() -> None:
    honest = honest_league()
    _, taken = find(honest, "REF01", e.MatchTaken, match_id="R1M1")
    move = e.MoveMade(at=1_005.0, match_id="R1M1", attempt=1, player_id="P01", turn=1, choice="4")
    shown = {"message_type": "GAME_ERROR", "match_id": "R1M1", "context": {"choices": {"P01": "4"}}}
    told = RecordedCall(1_006.0, "REF01", "P04", shown)

    def of(game_type: str) -> list[str]:
        journal = EventLog([structs.replace(taken, game_type=game_type), move])
        return breaches(Evidence(referees={"REF01": journal}, traffic=(told,)), 13)

    assert of("tic_tac_toe") == []
    assert of("rock_paper_scissors") != []


def test_another_match_of_the_same_player_is_no_leak() -> None:
    honest = honest_league()
    at, _ = in_secret(honest, "R2M1")
    late = replace(call_at(honest, calls(honest, "GAME_OVER", to="P04", match="R1M1")[0]), sent_at=at + 0.01)
    assert broken(sent(honest, late)) == set()


@pytest.mark.parametrize("field", ["affected_player", "player_id"])
def test_an_error_told_to_somebody_else_breaks_promise_13(field: str) -> None:
    honest = honest_league(slips=frozenset({"R1M1"}))
    change: Callable[[Object], object] = lambda message: message.update({field: "P01"})  # noqa: E731 - one of two fields
    assert broken(reworded(honest, calls(honest, "GAME_ERROR", to="P04")[0], change)) == {13}


def test_a_choice_stays_secret_while_the_other_never_chooses() -> None:
    honest = honest_league()
    place, _ = find(honest, "REF01", e.MoveMade, match_id="R1M1", player_id="P04")
    open_for_ever = Evidence(referees={"REF01": EventLog(honest.referees["REF01"][:place])}, traffic=honest.traffic)
    assert 13 in broken(open_for_ever)
