"""Reports without a token: refused and shown, or with `--trust class` counted at once, and perhaps doubted."""

from __future__ import annotations

from typing import Any

import pytest

from league import events as e
from league.machine import Acknowledged, Pong
from league.protocol.message.messages import MatchResultAck
from league.reading import views
from tests.support.managed import Managed, Object, code_of

ENVELOPE = ("protocol", "sender", "timestamp", "conversation_id", "auth_token")
ELSEWHERE = "10.9.9.9"


def bare(report: Object) -> Object:
    """A report as document 0 prints it."""
    printed = {name: value for name, value in report.items() if name not in (*ENVELOPE, "attempt")}
    details = {name: printed["result"]["details"][name] for name in ("drawn_number", "choices")}
    return {**printed, "result": {**printed["result"], "details": details}}


def league_of(trust: str = "class", players: int = 4, **changed: Any) -> Managed:
    """A league whose third-party referee has acknowledged its first matches with an empty 2xx, a second ago."""
    league = Managed(players=players, trust=trust, **changed)
    enter(league)
    acknowledge(league)
    league.wait(1)
    return league


def enter(league: Managed) -> None:
    """A third-party referee registers, and players of ours."""
    league.register("referee", 1, token_scheme=None)
    for number in range(1, league.settings.players + 1):
        league.register("player", number)


def acknowledge(league: Managed) -> None:
    """Everybody answers; the referee with nothing at all."""
    for _ in range(20):
        for call in league.calls():
            if call.kind == "ROUND_ANNOUNCEMENT" and call.to.agent_id == "REF01":
                league.answer(call, Acknowledged(is_empty=True))
            elif call.kind == "ping":
                league.answer(call, Pong())
            else:
                league.answer(call)


def result_of(league: Managed, match_id: str) -> e.ResultAccepted | None:
    result = league.manager.ledger.matches[match_id].result
    assert result is None or isinstance(result, e.ResultAccepted)
    return result


# --- the usual case: refused, and shown everywhere --------------------------------------------------------------------


@pytest.mark.requirement("REFUSED.shown")
@pytest.mark.parametrize(("kept", "code"), [((), "E003"), (ENVELOPE[:4], "E011")])
def test_a_report_without_token_is_refused_and_shown(kept: tuple[str, ...], code: str) -> None:
    league = league_of("tokens")
    whole = league.report_of("R1M1")
    report = bare(whole) | {name: whole[name] for name in kept}
    for _ in range(3):
        assert code_of(league.request(report)) == code
    (refused,) = views.agents(league.manager)["refused"]
    assert (refused["request"], refused["match_id"], refused["code"]) == ("report", "R1M1", code)
    assert views.match(league.manager, "R1M1")["refused"] == [{**refused, "attempt": 1}]  # type: ignore[index]
    shown = views.league(league.manager, 0)
    assert shown["waiting"] == "WAITING_FOR_REPORT"
    assert f"R1M1: {code}" in shown["waiting_reason"]
    assert shown["awaited"][0].startswith("Waiting for a report: a report was refused (R1M1:")
    assert code_of(league.report("R1M1")) == ""
    assert views.league(league.manager, 0)["waiting"] is None


@pytest.mark.requirement("REFUSED.shown")
def test_only_a_few_refused_reports_of_a_match_are_kept_and_those_of_others_stay_visible() -> None:
    league = league_of("tokens")
    for number in range(50):
        league.request(bare(league.report_of("R1M1")) | {"sender": f"referee:X{number}"})
    league.request(bare(league.report_of("R1M2")))
    matches = [refusal.match_id for refusal in league.of(e.RequestRefused)]
    assert (matches.count("R1M1"), matches.count("R1M2")) == (5, 1)


def test_reports_about_no_match_in_play_are_not_kept() -> None:
    league = league_of("tokens")
    league.request(bare(league.report_of("R1M1")) | {"match_id": "R9M9"})
    league.request(bare(league.report_of("R1M1")) | {"match_id": "R2M1"})
    assert league.of(e.RequestRefused) == []


# --- counted at once --------------------------------------------------------------------------------------------------


@pytest.mark.requirement("TRUST.reports_by_address")
@pytest.mark.parametrize("kept", [(), ENVELOPE[:4]])
def test_with_trust_class_the_first_report_counts_at_once(kept: tuple[str, ...]) -> None:
    league = league_of()
    for match_id in ("R1M1", "R1M2"):
        whole = league.report_of(match_id)
        report = bare(whole) | {name: whole[name] for name in kept}
        assert league.request(report) == Acknowledged()
        result = result_of(league, match_id)
        assert result is not None
        assert (result.winner, result.verified) == (whole["result"]["winner"], False)
        assert result.origin == "127.0.0.1"
        assert league.request(report) == Acknowledged()
    assert len(league.of(e.ResultAccepted)) == 2
    doubts = {judged.doubt for judged in league.of(e.ResultJudged)}
    assert doubts == {"it came from 127.0.0.1, and nobody knows who sent it"}
    assert views.match(league.manager, "R1M1")["evidence"] == "by_referee"  # type: ignore[index]
    assert league.manager.ledger.finished_rounds == 1


@pytest.mark.requirement("TRUST.reports_by_address")
def test_a_counted_report_frees_the_place_of_its_match_at_the_referee() -> None:
    league = league_of(players=8)
    dispatched = [match_id for match_id in ("R1M1", "R1M2", "R1M3", "R1M4") if match_id in league.open_matches]
    assert len(dispatched) == 4
    for match_id in dispatched:
        acknowledge(league)
        assert league.request(bare(league.report_of(match_id))) == Acknowledged()
    assert len(league.of(e.ResultAccepted)) == 4


# --- never believed ---------------------------------------------------------------------------------------------------


def _refused(league: Managed, because: str, report: Object, origin: str = "127.0.0.1") -> None:
    before = league.of(e.ResultAccepted)
    answer = league.request(report, origin)
    assert because in str(answer), answer
    assert league.of(e.ResultAccepted) == before
    assert league.of(e.RequestRefused)


@pytest.mark.requirement("TRUST.reports_by_address")
def test_another_address_is_not_believed() -> None:
    league = league_of()
    _refused(league, "is not the address of REF01", bare(league.report_of("R1M1")), ELSEWHERE)


@pytest.mark.requirement("TRUST.reports_by_address")
def test_a_referee_that_has_shown_a_token_is_not_spoken_for() -> None:
    league = league_of()
    league.query("REF01", "GET_STANDINGS")
    _refused(league, "REF01 has shown a token before", bare(league.report_of("R1M1")))


@pytest.mark.requirement("TRUST.reports_by_address")
def test_that_it_has_shown_a_token_is_not_forgotten_in_a_restart() -> None:
    league = league_of()
    assert code_of(league.report("R1M1")) == ""
    league.restart(probed=False)
    acknowledge(league)
    league.wait(1)
    _refused(league, "REF01 has shown a token before", bare(league.report_of("R1M2")))


@pytest.mark.requirement("TRUST.reports_by_address")
def test_a_referee_of_ours_is_not_spoken_for() -> None:
    league = Managed(players=2, trust="class")
    league.fill()
    league.answer_all()
    league.wait(1)
    _refused(league, "REF01 has shown a token before", bare(league.report_of("R1M1")))


@pytest.mark.requirement("TRUST.reports_by_address")
def test_a_wrong_token_is_refused_as_ever() -> None:
    league = league_of()
    _refused(league, "not valid", league.report_of("R1M1") | {"auth_token": "tok_guess"})


@pytest.mark.requirement("TRUST.reports_by_address")
def test_a_report_that_comes_after_a_restart_of_the_manager_counts() -> None:
    league = league_of(players=2)
    report = bare(league.report_of("R1M1"))
    league.restart(probed=False)
    assert league.request(report) == Acknowledged()
    assert len(league.of(e.ResultAccepted)) == 1


@pytest.mark.requirement("TRUST.reports_by_address")
def test_the_name_of_another_referee_is_refused() -> None:
    league = league_of()
    _refused(league, "is not assigned to", bare(league.report_of("R1M1")) | {"sender": "referee:REF02"})


# --- doubted ----------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("TRUST.reports_by_address")
@pytest.mark.parametrize("is_proven", [False, True])
def test_a_report_that_contradicts_it_is_shown_as_a_doubt_and_the_operator_decides(is_proven: bool) -> None:
    league = league_of(players=2)
    assert league.request(bare(league.report_of("R1M1", "A"))) == Acknowledged()
    for _ in range(3):
        other = league.report_of("R1M1", "B")
        assert code_of(league.request(other if is_proven else bare(other))) == "E040"
    result = result_of(league, "R1M1")
    assert result is not None
    assert result.winner == "P01"
    source = "with the token of REF01" if is_proven else "from 127.0.0.1"
    doubt = f"it came from 127.0.0.1; another report, {source}, names 'P02' as the winner"
    assert [judged.doubt for judged in league.of(e.ResultJudged)][1:] == [doubt]
    shown = views.match(league.manager, "R1M1")
    assert shown is not None
    assert (shown["evidence"], shown["doubt"]) == ("by_referee", doubt)
    assert code_of(league.operate("replay-match", "R1M1")) == ""
    assert league.manager.ledger.matches["R1M1"].attempt == 2


@pytest.mark.requirement("TRUST.reports_by_address")
@pytest.mark.parametrize("origin", ["127.0.0.1", ELSEWHERE])
def test_nobody_casts_doubt_on_a_referee_that_can_prove_itself_or_from_elsewhere(origin: str) -> None:
    league = league_of()
    if origin == ELSEWHERE:
        assert league.request(bare(league.report_of("R1M1", "A"))) == Acknowledged()
    else:
        assert code_of(league.report("R1M1", "A")) == ""
    assert code_of(league.request(bare(league.report_of("R1M1", "B")), origin)) == "E003"
    assert not any("another report" in judged.doubt for judged in league.of(e.ResultJudged))


@pytest.mark.requirement("TRUST.reports_by_address")
def test_a_closed_league_takes_no_more_doubts() -> None:
    league = league_of(players=2)
    assert league.request(bare(league.report_of("R1M1", "A"))) == Acknowledged()
    other = bare(league.report_of("R1M1", "B"))
    assert code_of(league.operate("close")) == ""
    assert code_of(league.request(other)) == "E040"
    assert not any("another report" in judged.doubt for judged in league.of(e.ResultJudged))


# --- what the manager changed is told ---------------------------------------------------------------------------------


@pytest.mark.requirement("REPORT.correction_told")
def test_the_acknowledgement_says_what_was_corrected() -> None:
    league = league_of("tokens", players=2)
    report = league.report_of("R1M1", "A")
    report["result"] |= {"winner": "P02", "score": {"P01": 0, "P02": 3}}
    answer = league.request(report)
    assert isinstance(answer, MatchResultAck)
    assert [correction.field for correction in answer.corrected or ()] == ["result.winner", "result.score"]
    result = result_of(league, "R1M1")
    assert result is not None
    assert "'P02' was reported as the winner" in result.corrected[0]
    assert result.winner == "P01"


def test_an_acknowledgement_of_a_right_report_says_nothing_of_corrections() -> None:
    league = league_of("tokens", players=2)
    answer = league.report("R1M1")
    assert isinstance(answer, MatchResultAck)
    assert answer.corrected is None


# --- an empty 2xx acknowledges an announcement ------------------------------------------------------------------------


@pytest.mark.requirement("REFEREE.empty_acknowledgement")
def test_an_empty_acknowledgement_is_believed_for_a_minute_and_for_long_after_a_report() -> None:
    league = league_of("tokens", players=2, double=True)
    for _ in range(58):
        acknowledge(league)
        league.wait(1)
    assert league.told("REF01", "START_MATCH") == []
    league.wait(2)
    assert len(league.told("REF01", "START_MATCH")) == 1
    league = league_of("tokens", players=2, double=True)
    assert code_of(league.report("R1M1")) == ""
    for _ in range(100):
        acknowledge(league)
        league.wait(1)
    assert league.told("REF01", "START_MATCH") == []


# --- referees that come in openly -------------------------------------------------------------------------------------


@pytest.mark.requirement("REFEREE.open_until_start")
def test_referees_come_in_openly_on_this_machine_until_the_start() -> None:
    league = Managed(players=2, open_referees=3)
    for number in (1, 2, 3):
        answer = league.register("referee", number, enrolment_key=None)
        assert answer.status == "ACCEPTED"
    assert league.register("referee", 4, enrolment_key=None).status == "REJECTED"
    assert league.register("referee", 5).status == "ACCEPTED"
    assert [joined.came_openly for joined in league.of(e.AgentRegistered)] == [True, True, True, False]
    league.fill(referees=0)
    assert league.register("referee", 6, enrolment_key=None).status == "REJECTED"
