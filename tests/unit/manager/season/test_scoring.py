"""Reports: who may report what, what a report proves, and what a second one does."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from league import events as e
from league.machine import Pong, RecordRequest
from league.protocol.errors import PeerError
from league.protocol.message.messages import MatchResultAck
from league.reading import views
from tests.support.managed import Managed, code_of, plain, seed_for


def started(players: int = 4, referees: int = 1, **changed: Any) -> Managed:
    league = Managed(players=players, referees=referees, **changed).fill()
    league.answer_all()
    return league


def rows(league: Managed) -> dict[str, tuple[int, int, int, int, int]]:
    return {
        one.player_id: (one.played, one.wins, one.draws, one.losses, one.points) for one in league.manager.standings
    }


@pytest.mark.requirement("REPORT.acknowledged")
def test_a_right_report_is_acknowledged_and_counts() -> None:
    league = started(2)
    answer = league.report("R1M1")
    assert isinstance(answer, MatchResultAck)
    assert plain(answer) | {"timestamp": ""} == {
        "message_type": "MATCH_RESULT_ACK",
        "protocol": "league.v2",
        "sender": "league_manager",
        "timestamp": "",
        "conversation_id": "conv-match_result_report",
        "status": "ACCEPTED",
        "match_id": "R1M1",
        "round_id": 1,
    }
    (result,) = league.of(e.ResultAccepted)
    assert (result.status, result.winner, result.points) == ("WIN", "P01", {"P01": 3, "P02": 0})
    assert (result.attempt, result.referee_id, result.verified) == (1, "REF01", True)
    assert rows(league) == {"P01": (1, 1, 0, 0, 3), "P02": (1, 0, 0, 1, 0)}


@pytest.mark.requirement("REPORT.technical")
@pytest.mark.parametrize(
    ("winner", "status", "points", "table"),
    [
        (None, "DRAW", [1, 1], {"P01": (1, 0, 1, 0, 1), "P02": (1, 0, 1, 0, 1)}),
        ("B", "WIN", [0, 3], {"P02": (1, 1, 0, 0, 3), "P01": (1, 0, 0, 1, 0)}),
        ("-A", "TECHNICAL_LOSS", [0, 3], {"P02": (1, 1, 0, 0, 3), "P01": (1, 0, 0, 1, 0)}),
        ("--", "TECHNICAL_LOSS", [0, 0], {"P01": (1, 0, 0, 1, 0), "P02": (1, 0, 0, 1, 0)}),
    ],
)
def test_points_and_table_follow_from_how_the_match_ended(
    winner: str | None, status: str, points: list[int], table: dict[str, tuple[int, ...]]
) -> None:
    league = started(2)
    league.report("R1M1", winner)
    (result,) = league.of(e.ResultAccepted)
    assert (result.status, list(result.points.values())) == (status, points)
    assert rows(league) == table


@pytest.mark.requirement("REPORT.recomputed")
@pytest.mark.parametrize(
    "changed",
    [
        {"winner": "P02", "details": {"drawn_number": 12, "choices": {"P01": "even", "P02": "odd"}}},
        {"details": {"drawn_number": 4, "choices": {"P01": "even", "P03": "odd"}}},
        {"winner": "P03", "details": {"drawn_number": None, "choices": {"P01": "even", "P02": "odd"}}},
        {"winner": "P03", "details": {"drawn_number": 4, "choices": {"P01": "even", "P02": None}}},
        {
            "winner": "P02",
            "details": {
                "drawn_number": 4,
                "choices": {"P01": "even", "P02": "odd"},
                "status": "TECHNICAL_LOSS",
            },
        },
    ],
)
def test_a_report_that_contradicts_itself_is_refused(changed: dict[str, Any]) -> None:
    league = started(2)
    report = league.report_of("R1M1")
    report["result"] |= changed
    assert code_of(league.request(report)) == "E039"
    assert league.of(e.ResultAccepted) == []
    assert code_of(league.report("R1M1")) == ""


@pytest.mark.requirement("REPORT.corrected")
@pytest.mark.parametrize("winner", ["P02", None, "P03", "DRAW"])
def test_a_winner_that_contradicts_both_choices_and_the_number_is_corrected(winner: str | None) -> None:
    league = started(2)
    report = league.report_of("R1M1")
    report["result"]["winner"] = winner
    assert code_of(league.request(report)) == ""
    (result,) = league.of(e.ResultAccepted)
    assert (result.winner, result.points, result.verified) == ("P01", {"P01": 3, "P02": 0}, False)
    assert "REPORT.corrected" in {one.requirement for one in league.of(e.DeviationRecorded)}
    strict = started(2, profile="strict")
    assert code_of(strict.request(strict.report_of("R1M1") | {"result": report["result"]})) == "E039"


UNUSABLE = {"winner": "P03", "details": None}


@pytest.mark.requirement("REPORT.refused_reassigns")
@pytest.mark.requirement("REFUSED.shown")
def test_after_a_refused_report_the_match_goes_to_another_referee_at_once() -> None:
    league = started(4, referees=2)
    (match,) = [one for one in league.of(e.MatchAssigned) if one.referee_id == "REF01"]
    report = league.report_of(match.match_id)
    report["result"] |= UNUSABLE
    assert code_of(league.request(report)) == "E039"
    lost, again = league.of(e.MatchLost)[-1], league.of(e.MatchAssigned)[-1]
    assert (lost.match_id, lost.attempt) == (match.match_id, 1)
    assert "E039" in lost.why
    assert (again.match_id, again.referee_id, again.attempt) == (match.match_id, "REF02", 2)
    (refused,) = league.of(e.RequestRefused)
    told = (refused.request, refused.name, refused.match_id, refused.code)
    assert told == ("report", "REF01", match.match_id, "E039")
    shown = views.agents(league.manager)["refused"]
    assert [one["match_id"] for one in shown] == [match.match_id]


@pytest.mark.requirement("REPORT.refused_reassigns")
def test_a_referee_that_lost_a_match_gets_no_other_until_it_proves_itself() -> None:
    league = started(4, referees=2)
    first = next(one for one in league.of(e.MatchAssigned) if one.referee_id == "REF01")
    report = league.report_of(first.match_id)
    report["result"] |= UNUSABLE
    league.request(report)
    while not league.of(e.RoundOpened)[1:]:
        for one in ("R1M1", "R1M2"):
            league.report(one)
        league.answer_all()
    later = [one for one in league.of(e.MatchAssigned) if one.match_id.startswith("R2")]
    assert {one.referee_id for one in later} == {"REF02"}
    league.register("referee", 1)
    for one in ("R2M1", "R2M2"):
        league.report(one)
    league.answer_all()
    last = [one for one in league.of(e.MatchAssigned) if one.match_id.startswith("R3")]
    assert {one.referee_id for one in last} == {"REF01", "REF02"}


@pytest.mark.requirement("REPORT.status_derived")
def test_the_status_is_derived_when_it_is_absent() -> None:
    for winner, status in (("A", "WIN"), (None, "DRAW"), ("-B", "TECHNICAL_LOSS")):
        league = started(2)
        report = league.report_of("R1M1", winner)
        del report["result"]["details"]["status"]
        league.request(report)
        (result,) = league.of(e.ResultAccepted)
        assert (result.status, result.verified) == (status, True)


@pytest.mark.requirement("REPORT.wrong_score")
@pytest.mark.parametrize(
    ("changed", "requirement"),
    [
        ({"score": {"P01": 1, "P02": 0}}, "REPORT.wrong_score"),
        ({"score": {}}, "REPORT.wrong_score"),
        ({"details": {"drawn_number": 14, "choices": {"P01": "even", "P02": "odd"}}}, "REPORT.recomputed"),
        ({"details": {"drawn_number": 3, "choices": {"P01": None, "P02": "odd"}}}, "REPORT.recomputed"),
    ],
)
def test_what_leaves_no_doubt_about_the_winner_is_recorded_and_unverified(
    changed: dict[str, Any], requirement: str
) -> None:
    league, strict = started(2), started(2, profile="strict")
    report = league.report_of("R1M1")
    report["result"] |= changed
    assert isinstance(league.request(report), MatchResultAck)
    (result,) = league.of(e.ResultAccepted)
    assert (result.winner, result.points, result.verified) == ("P01", {"P01": 3, "P02": 0}, False)
    assert requirement in {event.requirement for event in league.of(e.DeviationRecorded)}
    report = strict.report_of("R1M1")
    report["result"] |= changed
    assert code_of(strict.request(report)) == "E039"


def test_a_report_without_details_is_stored_with_the_reported_winner() -> None:
    league = started(2)
    report = league.report_of("R1M1")
    del report["result"]["details"]
    assert code_of(league.request(report)) == ""
    (result,) = league.of(e.ResultAccepted)
    assert (result.status, result.winner, result.verified, result.details) == ("WIN", "P01", False, {})
    strict = started(2, profile="strict")
    report = strict.report_of("R1M1")
    del report["result"]["details"]
    assert code_of(strict.request(report)) == "E003"


def test_a_number_invented_for_a_technical_loss_does_not_hide_it() -> None:
    league = started(2)
    report = league.report_of("R1M1", "-B")
    report["result"]["details"] |= {"drawn_number": 5}
    league.request(report)
    (result,) = league.of(e.ResultAccepted)
    assert (result.status, result.winner, result.verified) == ("TECHNICAL_LOSS", "P01", False)


def test_the_word_draw_reads_as_no_winner() -> None:
    league = started(2)
    report = league.report_of("R1M1", None)
    report["result"]["winner"] = "DRAW"
    assert code_of(league.request(report)) == ""
    assert league.of(e.ResultAccepted)[0].winner is None
    assert code_of(league.report("R1M1", None)) == "E017"


@pytest.mark.requirement("REPORT.duplicate")
def test_the_same_result_again_is_as_good_as_acknowledged() -> None:
    league = started()
    league.report("R1M1")
    before = league.manager.snapshot()
    answer = league.report("R1M1")
    assert isinstance(answer, PeerError)
    assert answer.code == "E017"
    assert answer.context["identical"] is True
    assert answer.context["previous_report_time"] == league.of(e.ResultAccepted)[0].reported_at
    assert league.manager.snapshot() == before


@pytest.mark.requirement("REPORT.conflict")
def test_a_different_result_changes_nothing() -> None:
    league = started()
    league.report("R1M1")
    before = league.manager.snapshot()
    answer = league.report("R1M1", "B")
    assert isinstance(answer, PeerError)
    assert (answer.code, answer.context["identical"]) == ("E040", False)
    other_number = league.report_of("R1M1")
    other_number["result"]["details"]["drawn_number"] = 8
    assert code_of(league.request(other_number)) == "E040"
    nonsense = league.report_of("R1M1")
    nonsense["result"]["winner"] = "P99"
    assert code_of(league.request(nonsense)) == "E040"
    assert league.manager.snapshot() == before


def test_after_the_end_reports_are_still_told_what_they_are() -> None:
    league = started(2)
    league.report("R1M1")
    league.play()
    assert [code_of(league.report("R1M1", winner)) for winner in ("A", "B")] == ["E017", "E040"]


@pytest.mark.requirement("REPORT.unknown_match")
def test_an_unknown_match_is_not_found() -> None:
    league = started(2)
    assert code_of(league.request(league.report_of("R1M1") | {"match_id": "R9M9"})) == "E014"


@pytest.mark.requirement("REPORT.not_assigned")
def test_only_the_referee_that_holds_the_match_reports_it() -> None:
    league = started(4, referees=2)
    holder = league.manager.ledger.matches["R1M1"].referee_id
    other = "REF02" if holder == "REF01" else "REF01"
    wrong = league.report_of("R1M1", sender=f"referee:{other}", auth_token=league.tokens[other])
    assert code_of(league.request(wrong)) == "E016"
    assert code_of(league.report("R1M1", attempt=2)) == "E016"
    future = league.report_of("R3M1", sender="referee:REF01", auth_token=league.tokens["REF01"])
    assert code_of(league.request(future)) == "E016"
    without = league.report_of("R1M1")
    del without["attempt"]
    assert code_of(league.request(without)) == ""


def test_a_report_of_another_round_or_game_is_recorded() -> None:
    league = started()
    assert code_of(league.report("R1M1", round_id=2)) == ""
    assert {event.requirement for event in league.of(e.DeviationRecorded)} == {"MATCH_RESULT_REPORT.round_id"}


# --- which error comes first ------------------------------------------------------------------------------------------


@pytest.mark.requirement("ERROR.first")
@pytest.mark.requirement("TOKEN.missing")
@pytest.mark.requirement("TOKEN.invalid")
@pytest.mark.requirement("TOKEN.not_its_owner")
def test_of_several_errors_in_a_report_the_first_is_answered() -> None:
    league = started(2)
    good = league.report_of("R1M1")
    bad = good | {
        "protocol": "league.v1",
        "timestamp": "now",
        "auth_token": None,
        "sender": "player:P01",
        "league_id": "elsewhere",
        "round_id": "one",
        "match_id": "R7M7",
    }
    found = []
    for name, mended in (
        ("", None),
        ("protocol", "league.v2"),
        ("timestamp", good["timestamp"]),
        ("auth_token", "tok_REF01_guessed"),
        ("auth_token", league.tokens["P01"]),
        ("sender", "referee:REF01"),
        ("auth_token", league.tokens["REF01"]),
        ("league_id", good["league_id"]),
        ("round_id", 1),
        ("match_id", "R1M1"),
    ):
        bad |= {name: mended} if name else {}
        found.append(code_of(league.request(dict(bad))))
    assert found == ["E018", "E021", "E011", "E012", "E032", "E032", "E028", "E007", "E014", ""]


def test_who_calls_every_league_by_one_name_is_understood_where_its_match_leaves_no_doubt() -> None:
    league = started(2)
    assert code_of(league.report("R1M1", league_id="league_2025_even_odd")) == ""
    assert "MATCH_RESULT_REPORT.league_id" in {one.requirement for one in league.of(e.DeviationRecorded)}
    strict = started(2, profile="strict")
    assert code_of(strict.report("R1M1", league_id="league_2025_even_odd")) == "E028"


def test_a_token_of_the_wrong_type_and_an_empty_one() -> None:
    league = started(2)
    assert code_of(league.report("R1M1", auth_token=7)) == "E007"
    assert code_of(league.report("R1M1", auth_token="")) == "E011"


@pytest.mark.requirement("TOKEN.never_shown")
def test_a_wrong_token_is_shown_masked() -> None:
    league = started(2)
    answer = league.report("R1M1", auth_token="tok_REF01_abcdefghijklmnop")
    assert isinstance(answer, PeerError)
    assert answer.context == {"provided_token": "tok_…", "expected_format": "tok_{agent_id}_{hash}"}


def test_a_player_may_not_report() -> None:
    league = started(2)
    report = league.report_of("R1M1", sender="P01", auth_token=league.tokens["P01"])
    assert code_of(league.request(report)) == "E032"


def test_what_a_manager_does_not_take_is_refused() -> None:
    league = started(2)
    other = league.envelope("GAME_JOIN_ACK", "player:P01") | {"accept": True, "match_id": "R1M1", "player_id": "P01"}
    other["arrival_timestamp"] = other["timestamp"]
    assert code_of(league.request(other)) == "E036"
    assert code_of(league.request({"message_type": "NONSENSE"})) == "E038"


# --- seeds ------------------------------------------------------------------------------------------------------------


ANOTHER = seed_for("R1M1", 1, 5)


@pytest.mark.requirement("EVIDENCE.words")
@pytest.mark.parametrize(
    ("winner", "seed"),
    [*product(["A", "-A"], [None, "no hex", "00" * 31]), ("A", ANOTHER), ("A", ANOTHER[:-2] + "zz")],
)
def test_a_result_whose_seed_proves_nothing_is_by_word_wherever_it_is_shown(winner: str, seed: str | None) -> None:
    league = Managed(players=2).fill()
    league.answer_all()
    report = league.report_of("R1M1", winner)
    report["result"]["details"]["draw_seed"] = seed
    assert code_of(league.request(report)) == ""
    assert [one.verified for one in league.of(e.ResultAccepted)] == [winner == "-A"]
    assert views.standings(league.manager)["by_word"] == ["R1M1"]
    assert (views.match(league.manager, "R1M1") or {})["evidence"] == "by_referee"
    assert views.schedule(league.manager)["rounds"][0]["matches"][0]["evidence"] == "by_referee"


# --- the record of a match --------------------------------------------------------------------------------------------


def asked_for_records(league: Managed) -> list[str]:
    return [one.message.match_id for one in league.sent if isinstance(one.message, RecordRequest)]


def with_referee_of_ours() -> Managed:
    """One that lists its matches."""
    league = Managed(players=4).fill()
    for ping in league.calls("ping", "REF01"):
        league.answer(ping, Pong(()))
    league.answer_all()
    return league


@pytest.mark.requirement("MATCH_RESULT_REPORT.match_record")
def test_a_record_that_came_with_the_report_is_kept_and_not_asked_for() -> None:
    league = with_referee_of_ours()
    record = [{"event": "MatchBegun", "at": 1.0}, "nonsense", {"event": "PlayerJoined"}]
    assert isinstance(league.report("R1M1", match_record=record), MatchResultAck)
    (kept,) = league.of(e.MatchRecordKept)
    assert (kept.match_id, kept.attempt, kept.referee_id) == ("R1M1", 1, "REF01")
    assert kept.record == (record[0], record[2])
    assert asked_for_records(league) == []


def test_a_referee_of_ours_that_reports_without_a_record_is_asked_for_it() -> None:
    league = with_referee_of_ours()
    league.report("R1M1")
    assert asked_for_records(league) == ["R1M1"]
    assert league.of(e.MatchRecordKept) == []


def test_the_record_of_a_report_that_is_refused_is_not_kept() -> None:
    league = with_referee_of_ours()
    league.report("R1M1", match_record=[{"event": "MatchBegun"}])
    assert code_of(league.report("R1M1", match_record=[{"event": "Banana"}])) == "E017"
    assert len(league.of(e.MatchRecordKept)) == 1
