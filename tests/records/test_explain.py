"""Why a match ended so: one story for each way a match can end, go wrong, or not have ended yet."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from league import events as e
from league.features.records import broken_clauses
from league.features.records.explain import Explanation, explain, explanation_lines
from league.features.records.fault_words import advice_for
from league.features.records.match_facts import facts_from_pages, facts_of
from league.hosting.narration import REFEREE
from league.machine import Failure, Undelivered
from league.manager.state.ledger import NO_LONGER_CHECKED
from league.protocol.errors import ERRORS, NO_CHOICE_BECAUSE
from league.reading.journals import Journals
from tests.support.managed import Managed
from tests.support.referee_rig import LEFT_OUT, START, Rig, announced
from tests.support.stories import (
    SECRET,
    accepted,
    answer,
    around,
    clauses_of,
    facts_in,
    finished,
    journals_of,
    lines_of,
    story,
)

SPEC = Path(__file__).parents[2] / "spec" / "requirements.toml"


def given(**changed: Any) -> Rig:
    return Rig().given(announced(**changed))


def joined(**changed: Any) -> Rig:
    return given(**changed).joins("P01", "P02")


# --- matches that were played -----------------------------------------------------------------------------------------


def test_a_win_is_nobodys_fault_and_told_by_the_number() -> None:
    told = story(given().plays())
    number = told.verdict
    assert (number.outcome, number.at_fault, number.faults, number.stumbles) == ("WIN", (), (), ())
    assert told.draw is not None
    parity = "odd" if told.draw.number % 2 else "even"
    assert number.winner == {"even": "P01", "odd": "P02"}[parity]
    assert f"the number was {told.draw.number}, which is {parity}" in number.why[1]
    assert number.why[0].startswith(f"{number.winner} (Name of {number.winner}) won")
    assert clauses_of(told) == ["MATCH.winner", "MATCH.points"]
    assert [one for one in told.remarks if not one.startswith("On record against")] == []


def test_a_late_answer_is_never_nobodys_fault() -> None:
    rig = given().joins("P02").until(7).joins("P01").chooses("P01", "even").chooses("P02", "odd")
    rig.hears_game_over("P01", "P02").acknowledge()
    told = story(rig)
    assert [one.player_id for one in told.verdict.stumbles] == ["P01"]
    assert not any("Nobody was at fault" in one for one in told.verdict.why)
    assert any("P01 (Name of P01) had to be asked again" in one for one in told.verdict.why)


def test_what_a_referee_let_pass_is_told_once_whatever_match_it_noticed_it_in() -> None:
    whole = journals_of(given().plays())
    about: Any = {
        "attempt": 1,
        "player_id": "P01",
        "code": "E003",
        "requirement": "GAME_JOIN_ACK.accept",
        "detail": "odd",
    }
    noticed = [e.PlayerDeviated(at=START, match_id=match_id, **about) for match_id in ("R1M1", "R9M9")]
    others = msgspec.structs.replace(noticed[0], player_id="P09")
    referees = {name: replace(one, events=[*one.events, *noticed, others]) for name, one in whole.referees.items()}
    account = explain(facts_in(replace(whole, referees=referees)))
    told = account.remarks
    line = "On record against P01, though it cost nothing: E003 odd (GAME_JOIN_ACK.accept)."
    assert [one for one in told if "GAME_JOIN_ACK.accept" in one] == [line]
    assert not any("P09" in one for one in told)
    texts = [one.text for attempt in account.attempts for one in attempt.lines]
    assert "An answer of P01 was odd but accepted (E003 MISSING_REQUIRED_FIELD): odd." in texts


def test_equal_choices_are_a_draw() -> None:
    told = story(given().plays({"P01": "even", "P02": "even"}))
    assert (told.verdict.outcome, told.verdict.winner, told.verdict.at_fault) == ("DRAW", None, ())
    assert "equal choices are always a draw" in told.verdict.why[1]


@pytest.mark.requirement("DRAW.number_follows")
def test_the_printed_command_checks_the_draw() -> None:
    draw = story(given().plays()).draw
    assert draw is not None
    assert (draw.holds, draw.promised) == (True, draw.commitment)
    program = draw.command.removeprefix("python3 -c ").strip("'")
    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert printed.split() == [draw.commitment, str(draw.number)]


def test_a_draw_that_does_not_follow_is_called_wrong() -> None:
    rig = given().plays()
    wrong = {**rig.decided.details, "drawn_number": rig.decided.details["drawn_number"] % 10 + 1}
    journals = journals_of(rig)
    manager = [*around(rig)[:-1], accepted(rig.decided, details=wrong)]
    draw = explain(facts_in(Journals(manager))).draw
    assert draw is not None
    assert not draw.holds
    assert "WRONG" in draw.sentence
    assert journals.referees


def test_a_mistake_that_was_made_good_is_told_with_what_to_change() -> None:
    rig = joined().chooses("P01", "even").wait(3)
    rig.says("P02", rig.choosing("P02", "Odd")).wait(1).chooses("P02", "odd")
    told = story(finished(rig))
    assert told.verdict.outcome == "WIN"
    (stumble,) = told.verdict.stumbles
    assert (stumble.player_id, stumble.code, stumble.rule) == ("P02", "E004", None)
    assert "lower case" in stumble.advice


def test_another_game_is_told_by_its_own_rules() -> None:
    rig = joined(game_type="rock_paper_scissors")
    for _ in range(5):
        if rig.of(e.MatchDecided):
            break
        rig.chooses("P01", "rock").chooses("P02", "scissors")
    told = story(finished(rig), game="rock_paper_scissors")
    assert (told.verdict.outcome, told.verdict.winner, told.draw) == ("WIN", "P01", None)
    assert f"{rig.decided.reason}." in told.verdict.why


# --- faults -----------------------------------------------------------------------------------------------------------


def silent_at_the_join() -> Rig:
    return given().joins("P01").wait(30)


def silent_at_the_choice() -> Rig:
    return joined().chooses("P01", "even").wait(130)


def refuses() -> Rig:
    rig = given().joins("P01")
    for _ in range(4):
        rig.breaks("P02", Failure.REFUSED).wait(2)
    return rig


def answers_with_errors() -> Rig:
    rig = given().joins("P01")
    error = b'{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"Internal error"}}'
    for _ in range(4):
        rig.says("P02", error).wait(2)
    return rig


def answers_at_too_great_length() -> Rig:
    rig = given().joins("P01")
    detail = "answered in a way that cannot be read: the answer is too large"
    # It is called in every form first, and then at intervals.
    for _ in range(40):
        for call in [call for call in rig.under_way.values() if call.kind == "GAME_INVITATION"]:
            rig.fail(Undelivered(call.key, "P02", Failure.UNUSABLE, detail=detail))
        rig.wait(0.5)
    return rig


def names_a_cause(cause: str) -> Rig:
    rig = joined().chooses("P01", "even")
    sentence = f"{NO_CHOICE_BECAUSE}{cause}"
    data = {"error_code": "E099", "error_description": "INTERNAL_ERROR", "error_detail": sentence}
    error = {"code": -32603, "message": sentence, "data": data}
    for _ in range(4):
        rig.says("P02", json.dumps({"jsonrpc": "2.0", "id": 1, "error": error}).encode()).wait(2)
    return rig


def declines() -> Rig:
    rig = given().joins("P01")
    return rig.says("P02", rig.joining("P02", accept=False))


def is_wrong_and_then_silent() -> Rig:
    rig = joined().chooses("P01", "even").wait(3)
    return rig.says("P02", rig.choosing("P02", "ODD")).wait(28)


def is_suspended_and_silent() -> Rig:
    return given(player_B_suspended=True).joins("P01").wait(8)


FAULTS: list[tuple[Callable[[], Rig], str, list[str], str]] = [
    (silent_at_the_join, "E001", ["JOIN.in_time", "MATCH.silent_join_26s"], "at once"),
    (silent_at_the_choice, "E001", ["CHOICE.in_time", "MATCH.silent_choice_126s"], "faster"),
    (refuses, "E009", ["MATCH.connection_errors", "MATCH.silent_join_26s"], "was not running"),
    (answers_with_errors, "E009", ["MATCH.connection_errors", "MATCH.silent_join_26s"], "with an error instead"),
    (
        answers_at_too_great_length,
        "E009",
        ["MATCH.connection_errors", "MATCH.silent_join_26s"],
        "one short JSON object",
    ),
    (declines, "DECLINED", ["MATCH.declined_is_technical_loss"], '"accept": true'),
    (is_wrong_and_then_silent, "E004", ["CHOOSE_PARITY_RESPONSE.parity_choice", "MATCH.window_ends"], "lower case"),
    (is_suspended_and_silent, "E001", ["JOIN.in_time", "MATCH.suspended_one_invitation"], "at once"),
]


def test_an_exception_in_a_players_code_is_told_as_one() -> None:
    told = story(finished(names_a_cause("its code raised ValueError: no (such) thing")))
    (fault,) = told.verdict.faults
    assert fault.code == "E009"
    assert fault.sentence.startswith(
        "P02 failed at the call for a choice 4 times: its code raised ValueError: no (such) thing."
    )
    assert fault.advice.startswith("Your code raised ValueError: no (such) thing. The traceback")
    lines = [line.text for attempt in told.attempts for line in attempt.lines if line.code == "E009"]
    assert lines[0].startswith("P02 did not choose: its code raised ValueError: no (such) thing; retry 1 follows")
    assert not [line for line in lines if "CONNECTION_ERROR" in line]


@pytest.mark.parametrize(
    ("cause", "advice"),
    [
        (
            "its code returned None instead of text",
            "Your code returned None instead of text. Return one of the options",
        ),
        ("its budget for the model is spent", "Your budget for the model is spent. A player with --max-tokens"),
        ("its dog ate it", "Its dog ate it."),
    ],
)
def test_the_cause_that_a_player_names_is_told_in_its_words(cause: str, advice: str) -> None:
    (fault,) = story(finished(names_a_cause(cause))).verdict.faults
    assert f"4 times: {cause}." in fault.sentence
    assert fault.advice.startswith(advice)
    assert "params.message_type" not in fault.advice, "that is for people who write servers"


@pytest.mark.parametrize(("play", "code", "broken", "advice"), FAULTS)
def test_a_fault_is_told_with_its_player_its_clauses_and_advice(
    play: Callable[[], Rig], code: str, broken: list[str], advice: str
) -> None:
    told = story(finished(play()))
    assert (told.verdict.outcome, told.verdict.winner, told.verdict.at_fault) == ("TECHNICAL_LOSS", "P01", ("P02",))
    (fault,) = told.verdict.faults
    assert (fault.player_id, fault.code) == ("P02", code)
    assert advice in fault.advice
    assert clauses_of(told) == [*broken, "MATCH.points"]
    assert told.verdict.why[0].startswith("P02 (Name of P02) lost for technical reasons")
    assert told.draw is None


def test_a_player_that_declines_is_told_which_game_to_name() -> None:
    (fault,) = story(finished(declines())).verdict.faults
    assert fault.sentence == "P02 declined the invitation to play even_odd"
    assert 'games = ("even_odd",)' in fault.advice


def test_every_failed_call_stands_at_its_time() -> None:
    told = story(finished(silent_at_the_join()))
    (attempt,) = (one for one in told.attempts if one.attempt == 1)
    failed = [(line.after, line.text) for line in attempt.lines if line.code == "E001"]
    assert "code -1, timeout_seconds 5" in failed[0][1]
    # The match was assigned a second before it began.
    assert [after for after, _ in failed] == [6, 13, 20, 27, 27]
    assert "no GAME_JOIN_ACK within 5 seconds; retry 1 follows" in failed[0][1]
    assert "no retry is left" in failed[3][1]
    sent = [line.after for line in attempt.lines if line.text == "→ P02: GAME_INVITATION"]
    assert sent == [1, 8, 15, 22]


WRONG: list[tuple[dict[str, Any] | bytes, str, str]] = [
    ({"parity_choice": "banana"}, "E004", "CHOOSE_PARITY_RESPONSE.parity_choice"),
    ({"parity_choice": LEFT_OUT}, "E003", "CHOOSE_PARITY_RESPONSE.parity_choice"),
    ({"match_id": 7}, "E007", "CHOOSE_PARITY_RESPONSE.match_id"),
    ({"match_id": ""}, "E008", "CHOOSE_PARITY_RESPONSE.match_id"),
    ({"match_id": "R9M9"}, "E015", "MATCH.wrong_ids"),
    ({"player_id": "P01"}, "E033", "MATCH.wrong_ids"),
    ({"message_type": "GAME_JOIN_ACK"}, "E038", ""),
    (b"banana", "E034", "JSON.syntax"),
    (b"[]", "E035", "RPC.object"),
]


@pytest.mark.parametrize(("said", "code", "clause"), WRONG)
def test_four_wrong_answers_are_told_with_the_field_and_a_right_answer(
    said: dict[str, Any] | bytes, code: str, clause: str
) -> None:
    rig = joined().chooses("P01", "even").wait(3)
    for _ in range(4):
        rig.says("P02", said if isinstance(said, bytes) else rig.choosing("P02", "odd", **said))
    told = story(finished(rig))
    (fault,) = told.verdict.faults
    assert (fault.player_id, fault.code) == ("P02", code)
    assert "wrongly 4 times" in fault.sentence
    assert clauses_of(told)[-2:] == ["MATCH.fourth_wrong_answer_loses", "MATCH.points"]
    assert fault.clause is not None
    assert clause in ("", fault.clause.requirement)
    assert fault.right_answer is not None
    assert json.loads(fault.right_answer)["parity_choice"] == "even"
    if isinstance(said, dict) and code in ("E003", "E007", "E008"):
        assert next(iter(said)) in fault.sentence


def test_an_illegal_move_of_another_game_is_told_with_its_options() -> None:
    rig = joined(game_type="rock_paper_scissors").chooses("P01", "rock").wait(3)
    for _ in range(4):
        rig.says("P02", rig.choosing("P02", "well"))
    told = story(finished(rig), game="rock_paper_scissors")
    (fault,) = told.verdict.faults
    assert (fault.code, fault.clause and fault.clause.requirement) == ("E024", "MOVE.valid_option")
    assert "valid_options" in fault.advice


def test_two_players_at_fault_are_both_named() -> None:
    told = story(finished(given().wait(30)))
    assert (told.verdict.winner, told.verdict.at_fault) == (None, ("P01", "P02"))
    assert [one.player_id for one in told.verdict.faults] == ["P01", "P02"]
    assert told.verdict.points == {"P01": 0, "P02": 0}


def test_a_suspension_that_follows_is_told() -> None:
    rig = finished(declines())
    changed = e.AgentStateChanged(at=rig.decided.at + 0.5, agent_id="P02", state="SUSPENDED", why="max_fail")
    later = replace_at(changed, changed.at + 60)
    texts = lines_of(story(rig, changed, later))
    assert texts.count("P02 is now SUSPENDED, after two technical losses in a row.") == 1


def replace_at(event: e.AgentStateChanged, at: float) -> e.AgentStateChanged:
    return msgspec.structs.replace(event, at=at)


def test_the_end_of_a_league_is_no_recovery() -> None:
    rig = given().plays()
    at = rig.decided.at + 0.5
    changed = [e.AgentStateChanged(at=at, agent_id="P02", state=state, why="") for state in ("ACTIVE", "SHUTDOWN")]
    told = story(rig, *changed)
    lines = {line.text: line.clause for attempt in told.attempts for line in attempt.lines}
    assert lines["P02 is now ACTIVE."] == broken_clauses.cite("SUSPENDED.recovers")
    assert lines["P02 is now SHUTDOWN."] is None


def test_what_the_player_said_stands_beside_the_wrong_answer() -> None:
    rig = joined().chooses("P01", "even").wait(3)
    wrong = rig.choosing("P02", "ODD")
    rig.says("P02", wrong).wait(1).chooses("P02", "odd")
    told = story(finished(rig), letters=[answer(3, "P02", wrong)])
    (line,) = (line for one in told.attempts for line in one.lines if line.code == "E004" and line.kind == "event")
    assert line.body is not None
    assert '"ODD"' in line.body


@pytest.mark.parametrize("code", [*ERRORS, "DECLINED"])
@pytest.mark.parametrize("phase", ["join", "move"])
def test_there_is_advice_for_every_code(code: str, phase: str) -> None:
    assert len(advice_for(code, phase, "")) > 20


# --- matches without a result -----------------------------------------------------------------------------------------


@pytest.mark.requirement("MATCH.choices_hidden")
def test_a_match_that_is_played_shows_neither_choice_nor_seed() -> None:
    rig = joined().chooses("P01", "even")
    told = story(rig, letters=[answer(0.5, "P01", rig.choosing("P01", "even"))])
    assert (told.verdict.outcome, told.draw) == ("RUNNING", None)
    shown = json.dumps(msgspec.to_builtins(told))
    assert '"even"' not in shown.replace("even_odd", "")
    assert "chose even" not in shown
    assert rig.of(e.MatchTaken)[0].seed not in shown
    assert any("P01 chose (hidden until the match is over)." in text for text in lines_of(told))


def managed(**changed: Any) -> Managed:
    return Managed(**{"players": 4, "referees": 2, **changed}).fill()


def told_by(manager: Managed, match_id: str = "R1M1") -> Explanation:
    return explain(facts_in(Journals(manager.events), match_id))


def told_of_win(details: Mapping[str, object] | None) -> str:
    """What is said of a win of P01 that a third-party referee reports with these details."""
    league = managed()
    league.answer_all()
    report = league.report_of("R1M1")
    report["result"] |= {"details": details, "winner": "P01", "score": {"P01": 3, "P02": 0}}
    league.request(report)
    return " ".join(told_by(league).verdict.why)


@pytest.mark.parametrize(
    "details",
    [{"drawn_number": 0, "choices": {}}, {"choices": {}}, {"drawn_number": 0, "choices": {"P01": "even"}}],
)
def test_a_technical_loss_that_is_reported_as_a_win_is_not_called_a_draw_of_equal_choices(
    details: dict[str, object],
) -> None:
    why = told_of_win(details)
    assert "equal choices" not in why
    assert "Nobody was at fault" not in why
    assert "no number from 1 to 10" in why
    assert "A technical loss is likely" in why


@pytest.mark.parametrize(
    ("details", "missing"),
    [
        (None, "no choices and no number from 1 to 10"),
        ({"drawn_number": 7}, "no choices"),
        ({"drawn_number": 7, "choices": {}}, "no choices"),
        ({"choices": {"P01": "even", "P02": "odd"}}, "no number from 1 to 10"),
        ({"choices": {"P01": "even", "P02": "odd"}, "drawn_number": 52}, "52, which is no number from 1 to 10"),
    ],
)
def test_a_win_in_a_report_without_details_is_not_called_a_technical_loss(
    details: dict[str, object] | None, missing: str
) -> None:
    why = told_of_win(details)
    assert f"gives {missing}. How the match went, only that referee knows." in why
    assert "technical loss" not in why
    assert "fault" not in why
    assert "does not open" not in why


@pytest.mark.requirement("REFUSED.shown")
def test_a_refused_report_is_part_of_the_account() -> None:
    league = managed()
    league.answer_all()
    report = league.report_of("R1M1")
    report["result"] |= {"winner": "P09", "details": None}
    league.request(report)
    assert any("refused a report by REF01" in text and "E039" in text for text in lines_of(told_by(league)))


def silence(manager: Managed) -> None:
    """Whoever holds R1M1 says nothing until it is given up; the other referee goes on."""
    held = manager.manager.ledger.matches["R1M1"].referee_id
    for _ in range(40):
        manager.answer_pings(but=[held or ""])
        manager.answer_all(but=[held or ""])
        manager.wait(1)
        if manager.manager.ledger.matches["R1M1"].referee_id != held:
            return
        if manager.manager.ledger.matches["R1M1"].status == "PARKED":
            return
    raise AssertionError("the match was not given up")


def test_a_match_of_a_later_round_is_not_played_yet() -> None:
    told = told_by(managed(), "R3M1")
    assert told.verdict.outcome == "SCHEDULED"
    assert "round 3, and round 1 is being played" in told.verdict.why[0]


def test_an_unknown_match_is_none() -> None:
    assert facts_of("R9M9", Journals(managed().events)) is None
    assert facts_of("R9M9", journals_of(given().plays())) is None


@pytest.mark.requirement("REFEREE.lease_no_blame")
def test_an_attempt_lost_with_its_referee_is_no_players_fault() -> None:
    manager = managed()
    manager.answer_all()
    silence(manager)
    manager.answer_all()
    manager.report("R1M1", "A")
    told = told_by(manager)
    assert [one.attempt for one in told.attempts] == [0, 1, 2]
    assert (told.verdict.outcome, told.verdict.at_fault) == ("WIN", ())
    assert any("result of attempt 2" in sentence and "silent" in sentence for sentence in told.verdict.why)
    assert any("That is no player's fault." in text for text in lines_of(told))
    assert sum("is not at hand" in remark for remark in told.remarks) == 2


def test_a_voided_result_is_told_and_what_counts_is_the_new_one() -> None:
    manager = managed()
    manager.answer_all()
    manager.report("R1M1", "A")
    manager.operate("replay-match", "R1M1")
    assert told_by(manager).verdict.outcome == "RUNNING"
    manager.wait(1)
    manager.answer_all()
    manager.report("R1M1", "B")
    told = told_by(manager)
    assert told.verdict.winner == manager.manager.ledger.matches["R1M1"].player_b
    assert any("voided by the operator" in sentence for sentence in told.verdict.why)


def test_a_voided_match_that_waits_for_a_referee_says_who_voided_it() -> None:
    rig = given().plays()
    told = story(rig, e.ResultVoided(at=rig.decided.at + 1, match_id="R1M1", key="order"))
    assert told.verdict.outcome == "WAITING"
    assert "voided by the operator" in told.verdict.why[0]
    assert clauses_of(told) == ["LEAGUE.void"]


def test_a_walkover_is_the_operators_decision() -> None:
    manager = managed()
    manager.answer_all()
    gone, stays = manager.manager.ledger.matches["R2M1"].players
    manager.operate("withdraw", gone)
    told = told_by(manager, "R2M1")
    assert (told.verdict.outcome, told.verdict.winner, told.verdict.at_fault) == ("WALKOVER", stays, ())
    assert clauses_of(told) == ["LEAGUE.withdrawn"]
    assert f"The operator withdrew {gone}." in lines_of(told)


@pytest.mark.requirement("REFEREE.lease_parked")
def test_a_parked_match_names_every_lost_attempt_and_the_way_out() -> None:
    rig = given()
    lost = [e.MatchLost(at=START + 20, match_id="R1M1", attempt=1, why="REF01 is silent")]
    for attempt in (2, 3):
        at = START + 20 * attempt
        lost.append(e.MatchLost(at=at, match_id="R1M1", attempt=attempt, why=f"REF0{attempt} is silent"))
    assigned = [e.MatchAssigned(at=START + 20, match_id="R1M1", referee_id=f"REF0{n}", attempt=n) for n in (2, 3)]
    parked = e.MatchParked(at=START + 60, match_id="R1M1")
    told = story(rig, lost[0], assigned[0], lost[1], assigned[1], lost[2], parked)
    assert (told.verdict.outcome, told.verdict.at_fault) == ("PARKED", ())
    assert "attempt 3: REF03 is silent" in told.verdict.why[0]
    assert "league replay-match R1M1" in told.verdict.why[1]
    assert [one.has_record for one in told.attempts if one.attempt] == [True, False, False]


def test_a_match_that_waits_for_a_referee_says_so() -> None:
    told = story(given(), e.MatchLost(at=START + 5, match_id="R1M1", attempt=1, why="REF01 is silent"))
    assert told.verdict.outcome == "WAITING"
    assert "waits for a referee" in told.verdict.why[0]


def test_a_report_that_was_refused_does_not_count() -> None:
    rig = joined().chooses("P01", "even").chooses("P02", "odd").hears_game_over("P01", "P02")
    journals = journals_of(rig)
    settled = e.ReportSettled(at=START + 9, match_id="R1M1", attempt=1, answer="E016")
    rig.journal.append(settled)
    told = explain(facts_in(journals))
    (line,) = (line for one in told.attempts for line in one.lines if line.code == "E016")
    assert "does not count" in line.text
    assert line.clause is not None
    assert line.clause.requirement == "REPORT.not_assigned"


# --- with less at hand ------------------------------------------------------------------------------------------------


def test_the_manager_alone_knows_whose_fault_it_was() -> None:
    rig = finished(silent_at_the_choice())
    told = explain(facts_in(Journals(around(rig), elsewhere="league-data/spring")))
    (fault,) = told.verdict.faults
    assert (fault.player_id, fault.code, fault.phase) == ("P02", "E001", "move")
    assert "faster" in fault.advice
    assert any("journal of REF01 is not at hand" in one and "league-data/spring" in one for one in told.remarks)


def test_a_report_without_faults_says_that_it_names_none() -> None:
    rig = finished(declines())
    details = {name: value for name, value in rig.decided.details.items() if name != "faults"}
    told = explain(facts_in(Journals([*around(rig)[:-1], accepted(rig.decided, details=details, verified=False)])))
    assert (told.verdict.at_fault, told.verdict.faults) == (("P02",), ())
    assert any("the report names none" in sentence for sentence in told.verdict.why)
    assert any("by the referee's word" in sentence.lower() for sentence in told.verdict.why)


def test_the_referee_alone_tells_its_own_account() -> None:
    whole = journals_of(finished(silent_at_the_join()))
    told = explain(facts_in(Journals(referees=whole.referees)))
    assert (told.verdict.outcome, told.verdict.at_fault) == ("TECHNICAL_LOSS", ("P02",))
    assert told.remarks[0] == "The manager's journal is not at hand: this is the account of the referee alone."


PAGE: dict[str, Any] = {
    "match_id": "R1M1",
    "round_id": 1,
    "player_A_id": "P01",
    "player_B_id": "P02",
    "status": "COMPLETED",
    "referee_id": "REF01",
    "attempt": 1,
    "winner": "P01",
    "outcome": "TECHNICAL_LOSS",
    "points": {"P01": 3, "P02": 0},
    "details": {
        "faults": {"P02": {"code": "E009", "phase": "join", "turn": 0, "detail": "the connection was refused"}}
    },
    "evidence": "by_referee",
    "unsigned": [],
    "doubt": "",
    "decided_at": START,
}
LEAGUE_PAGE = {"league_id": "spring", "game_type": "even_odd", "round": 1}


def test_a_managers_page_tells_the_fault_and_points_to_the_journal() -> None:
    told = explain(facts_from_pages(PAGE, LEAGUE_PAGE, []))
    assert [(one.player_id, one.code) for one in told.verdict.faults] == [("P02", "E009")]
    assert any("--journal" in remark for remark in told.remarks)
    assert not any(NO_LONGER_CHECKED in sentence.lower() for sentence in told.verdict.why)


@pytest.mark.parametrize(("evidence", "words"), [("proven", "Proven: "), ("by_referee", "By the referee's word: P02")])
def test_a_managers_page_tells_what_a_result_rests_on(evidence: str, words: str) -> None:
    page = {**PAGE, "outcome": "DRAW", "winner": None, "details": {}, "evidence": evidence}
    page["unsigned"] = ["P02"] if evidence == "by_referee" else []
    assert any(sentence.startswith(words) for sentence in explain(facts_from_pages(page, LEAGUE_PAGE, [])).verdict.why)
    unjudged = explain(facts_from_pages({**page, "evidence": None}, LEAGUE_PAGE, []))
    assert not any(NO_LONGER_CHECKED in sentence.lower() for sentence in unjudged.verdict.why)


def test_an_error_in_the_authors_code_is_not_called_a_lost_connection() -> None:
    detail = 'answered choose (SPEC) with "E099 INTERNAL_ERROR: no choice could be made: its code raised KeyError"'
    fault = {"code": "E009", "phase": "move", "turn": 1, "detail": detail, "reached": True}
    page = {**PAGE, "details": {"faults": {"P02": fault}}}
    lines = list(explanation_lines(explain(facts_from_pages(page, LEAGUE_PAGE, []))))
    assert "What to change (P02, an error in its code):" in lines
    rig = given().plays()
    decided = msgspec.structs.replace(rig.decided, details=page["details"])
    assert REFEREE[e.MatchDecided](rig.desk, decided).endswith("; P02: its code raised KeyError")


@pytest.mark.parametrize(
    ("changed", "outcome"),
    [
        ({"status": "SCHEDULED", "outcome": None, "round_id": 3}, "SCHEDULED"),
        ({"status": "RUNNING", "outcome": None}, "RUNNING"),
        ({"status": "RUNNING", "outcome": None, "attempt": 0}, "WAITING"),
        ({"status": "PARKED", "outcome": None}, "PARKED"),
        (
            {"outcome": "WALKOVER", "points": None, "details": None, "evidence": "by_manager", "decided_at": None},
            "WALKOVER",
        ),
        ({"outcome": "DRAW", "winner": None, "details": {}}, "DRAW"),
    ],
)
def test_a_page_of_any_state_is_told(changed: dict[str, Any], outcome: str) -> None:
    told = explain(facts_from_pages({**PAGE, **changed}, LEAGUE_PAGE, []))
    assert told.verdict.outcome == outcome


def test_clocks_that_differ_are_brought_together_and_that_is_said() -> None:
    journals = journals_of(given().plays())
    ahead = [msgspec.structs.replace(one, at=one.at + 100) for one in journals.manager]
    told = explain(facts_in(replace(journals, manager=ahead)))
    (attempt,) = (one for one in told.attempts if one.attempt == 1)
    assert attempt.clocks_apart == 99.0
    texts = [line.text for line in attempt.lines]
    assert texts[0].startswith("The manager gave the match")
    assert "differ by at least 99.000 s" in told.remarks[0]


# --- secrets ----------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("TOKEN.never_shown")
def test_no_token_is_told_even_if_a_transcript_held_one() -> None:
    rig = joined().chooses("P01", "even").wait(3)
    wrong = rig.choosing("P02", "ODD", auth_token=SECRET)
    rig.says("P02", wrong).wait(1).chooses("P02", "odd")
    (event,) = rig.of(e.WrongAnswer)
    rig.journal[rig.journal.index(event)] = msgspec.structs.replace(event, detail=f"{SECRET!r} is no choice")
    leaks = [answer(3, "P02", wrong), answer(3.5, "P02", f"no JSON {SECRET}".encode())]
    shown = json.dumps(msgspec.to_builtins(story(finished(rig), letters=leaks)))
    assert SECRET not in shown
    assert SECRET.removeprefix("tok_P02_") not in shown


# --- clauses ----------------------------------------------------------------------------------------------------------


def test_the_clauses_are_those_of_the_specification() -> None:
    rows = tomllib.loads(SPEC.read_text(encoding="utf-8"))["requirement"]
    sections = {row["id"]: row["section"] for row in rows}
    assert {name: sections.get(name) for name in broken_clauses.SECTIONS} == broken_clauses.SECTIONS
    fields = {name: section for name, section in sections.items() if name.partition(".")[0] in broken_clauses.MESSAGES}
    named = {name: found.section for name in fields if (found := broken_clauses.clause(name))}
    assert named == fields
