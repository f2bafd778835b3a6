"""The operator: pause, withdraw, void, and that an order given twice is carried out once."""

from __future__ import annotations

from typing import Any

import pytest

from league import events as e
from league.machine import Acknowledged, Ping
from tests.support.managed import Managed, Sent, code_of, matches_in, plain


def started(players: int = 4, **changed: Any) -> Managed:
    league = Managed(players=players, **changed).fill()
    league.answer_all()
    return league


def said(sent: Sent) -> dict[str, Any]:
    """The message of a call as JSON."""
    assert not isinstance(sent.message, Ping)
    return plain(sent.message)


def play_round(league: Managed) -> None:
    for match_id in league.open_matches:
        league.report(match_id)


@pytest.mark.requirement("LEAGUE.paused")
def test_a_paused_league_finishes_its_round_and_opens_no_other() -> None:
    league = started()
    assert league.operate("pause") == Acknowledged()
    assert league.manager.waiting == "PAUSED"
    play_round(league)
    assert [event.round_id for event in league.of(e.RoundFinished)] == [1]
    for _ in range(10):
        league.wait(5)
        league.answer_pings()
    assert league.manager.ledger.current_round == 1
    assert code_of(league.query("P01", "GET_STATUS")) == ""
    assert code_of(league.register("player", 1)) == ""
    assert league.operate("resume") == Acknowledged()
    assert league.manager.ledger.current_round == 2


def test_a_pause_during_the_announcement_holds_back_the_assignments() -> None:
    league = Managed(players=2).fill()
    league.operate("pause")
    league.answer_all()
    league.wait(5)
    assert league.of(e.AssignmentsSent) == []
    league.operate("resume")
    assert len(league.of(e.AssignmentsSent)) == 1


def test_a_paused_league_does_not_end() -> None:
    league = started(2)
    league.operate("pause")
    league.report("R1M1")
    assert not league.manager.is_finished
    assert league.operate("replay-match", "R1M1") == Acknowledged()
    assert league.open_matches == []
    league.operate("resume")
    assert league.open_matches == ["R1M1"]
    league.play()


@pytest.mark.requirement("LEAGUE.withdrawn")
def test_a_withdrawn_players_open_matches_become_walkovers_at_once() -> None:
    league = started()
    league.report("R1M1", "B")
    assert league.operate("withdraw", "P01") == Acknowledged()
    decided = {event.match_id: (event.winner, event.withdrawn) for event in league.of(e.WalkoverDecided)}
    assert set(decided.values()) == {("P03", ("P01",)), ("P04", ("P01",))}
    row = next(one for one in league.manager.standings if one.player_id == "P01")
    assert (row.played, row.losses, row.points) == (3, 3, 0)
    assert league.state("P01") == "SHUTDOWN"
    before = len(league.told("P01"))
    league.play()
    assert len(league.told("P01")) == before
    assert len(league.manager.standings) == 4
    assert league.manager.is_finished


def test_the_running_attempt_of_a_walkover_is_superseded() -> None:
    league = started()
    report = league.report_of("R1M1")
    league.operate("withdraw", "P01")
    assert code_of(league.request(report)) == "E016"


def test_a_match_without_any_player_left_is_lost_by_both() -> None:
    league = started()
    league.operate("withdraw", "P01")
    league.operate("withdraw", "P04")
    both = [event for event in league.of(e.WalkoverDecided) if event.winner is None]
    assert both == []
    early = started(4)
    early.operate("withdraw", "P02")
    early.operate("withdraw", "P03")
    rows = {row.player_id: row.points for row in early.manager.standings}
    assert rows == {"P01": 6, "P02": 0, "P03": 3, "P04": 6}


def test_walkovers_are_not_announced_and_a_round_of_walkovers_opens_and_ends() -> None:
    league = started(3, rounds=3)
    league.operate("withdraw", "P03")
    league.play()
    assert [event.round_id for event in league.of(e.RoundFinished)] == [1, 2, 3]
    announced = {match for one in league.told("P01", "ROUND_ANNOUNCEMENT")[1:] for match in matches_in(one.message)}
    assert not announced & {event.match_id for event in league.of(e.WalkoverDecided)}


def test_a_pending_retry_to_a_withdrawn_player_is_not_made() -> None:
    league = Managed(players=4).fill()
    league.fail(league.calls("ROUND_ANNOUNCEMENT", "P01")[0])
    league.operate("withdraw", "P01")
    before = len(league.told("P01"))
    league.wait(20)
    assert len(league.told("P01")) == before


@pytest.mark.requirement("LEAGUE.void")
def test_a_voided_match_of_the_current_round_is_played_again_at_once() -> None:
    league = started()
    league.report("R1M1")
    assert league.operate("replay-match", "R1M1") == Acknowledged()
    assert all(row.played == 0 for row in league.manager.standings)
    match = league.manager.ledger.matches["R1M1"]
    assert (match.status, match.attempt) == ("ASSIGNED", 2)
    old = league.report_of("R1M1") | {"attempt": 1}
    assert code_of(league.request(old)) == "E016"
    league.report("R1M1", "B")
    assert [(event.attempt, event.winner) for event in league.of(e.ResultAccepted)] == [(1, "P01"), (2, "P02")]
    assert league.manager.ledger.standings.version == 3


def test_a_voided_match_of_an_earlier_round_is_played_between_rounds() -> None:
    league = started()
    play_round(league)
    league.answer_all()
    league.operate("replay-match", "R1M1")
    assert "R1M1" not in league.open_matches
    play_round(league)
    assert league.open_matches == ["R1M1"]
    assert league.manager.ledger.current_round == 2
    league.report("R1M1", "B")
    assert league.manager.ledger.current_round == 3
    league.play()
    assert [event.round_id for event in league.of(e.RoundFinished)] == [1, 2, 3]
    assert len(league.of(e.LeagueFinished)) == 1


def test_a_voided_technical_loss_no_longer_counts() -> None:
    league = started()
    league.report("R1M1", "-A")
    league.operate("replay-match", "R1M1")
    answer = league.query("P01", "GET_PLAYER_STATS")
    assert answer.data is not None
    assert answer.data["technical_losses"] == 0


@pytest.mark.parametrize(
    ("order", "target", "code"),
    [
        ("replay-match", "R1M1", "E030"),
        ("pause", "", "E030"),
        ("resume", "", "E030"),
        ("withdraw", "P99", "E005"),
        ("withdraw", "REF01", "E005"),
        ("dance", "", "E023"),
    ],
)
def test_orders_out_of_season_before_the_start(order: str, target: str, code: str) -> None:
    assert code_of(Managed(players=4).fill(players=2).operate(order, target)) == code


@pytest.mark.parametrize(
    ("order", "target", "code"),
    [
        ("replay-match", "R1M1", "E023"),
        ("replay-match", "R9M9", "E014"),
        ("resume", "", "E023"),
        ("start", "", "E023"),
    ],
)
def test_orders_out_of_season_while_it_runs(order: str, target: str, code: str) -> None:
    assert code_of(started().operate(order, target)) == code


def test_what_cannot_be_done_twice_is_refused_the_second_time() -> None:
    league = started()
    league.operate("pause")
    assert code_of(league.operate("pause")) == "E023"
    league.operate("resume")
    league.operate("withdraw", "P01")
    assert code_of(league.operate("withdraw", "P01")) == "E023"
    assert code_of(league.operate("replay-match", "R1M1")) == "E023"


@pytest.mark.parametrize(
    ("order", "target"), [("start", ""), ("pause", ""), ("withdraw", "P01"), ("resume", ""), ("replay-match", "R1M1")]
)
def test_in_a_closed_league_nothing_can_be_ordered(order: str, target: str) -> None:
    league = started(2)
    league.play()
    assert order == "replay-match" or code_of(league.operate(order, target)) == "E031", "only this after the end"
    assert league.operate("close", key="k") == Acknowledged()
    assert league.operate("close", key="k") == Acknowledged()
    assert (code_of(league.operate("close")), code_of(league.operate(order, target))) == ("E023", "E031")
    assert len(league.orders("close")) == 1


def test_a_league_is_closed_after_its_end_only() -> None:
    assert code_of(started(2).operate("close")) == "E023"


@pytest.mark.requirement("LEAGUE.replayed_after_the_end")
def test_a_match_may_be_played_again_after_the_end_and_everybody_is_told_the_new_end() -> None:
    league = started(3)
    league.play("A")
    before = league.manager.ledger.champion
    assert league.operate("replay-match", "R1M1") == Acknowledged()
    assert (league.manager.state, league.manager.ledger.champion) == ("RUNNING_LEAGUE", None)
    assert {league.state(one) for one in ("P01", "P02", "P03", "REF01")} == {"ACTIVE"}
    (copy,) = [one for one in league.told("REF01", "ROUND_ANNOUNCEMENT") if said(one)["matches"][0]["attempt"] > 1]
    assert matches_in(copy.message) == ["R1M1"]
    league.report("R1M1", "B")
    league.play()
    assert league.manager.is_finished
    assert [event.champion for event in league.of(e.LeagueFinished)] == [before, league.manager.ledger.champion]
    for agent in ("P01", "P02", "P03", "REF01"):
        told = [said(one)["final_standings"] for one in league.told(agent, "LEAGUE_COMPLETED")]
        assert len(told) == 2
        assert told[0] != told[1]


def test_what_is_under_way_at_the_reopening_is_not_said_any_more() -> None:
    league = started(2)
    league.report("R1M1")
    league.answer_all(but=["P01"])
    while not league.calls("LEAGUE_COMPLETED", "P01"):
        for one in league.calls(to="P01"):
            if one.kind != "LEAGUE_COMPLETED":
                league.answer(one)
    league.operate("replay-match", "R1M1")
    league.report("R1M1", "B")
    league.play()
    first, second = league.told("P01", "LEAGUE_COMPLETED")
    assert said(first)["champion"] != said(second)["champion"]


def test_a_restart_after_the_reopening_knows_who_was_told_which_end() -> None:
    league = started(2)
    league.play()
    league.operate("replay-match", "R1M1")
    league.restart()
    assert {league.state(one) for one in ("P01", "P02", "REF01")} == {"ACTIVE"}
    league.answer_all()
    league.report("R1M1", "B")
    league.play()
    assert len(league.told("P02", "LEAGUE_COMPLETED")) == 2


@pytest.mark.parametrize(("order", "target"), [("pause", ""), ("withdraw", "P01"), ("replay-match", "R1M1")])
def test_the_same_order_again_gets_the_same_answer_and_does_nothing(order: str, target: str) -> None:
    league = started()
    league.report("R1M1")
    assert league.operate(order, target, key="k") == Acknowledged()
    before = league.manager.snapshot()
    assert league.operate(order, target, key="k") == Acknowledged()
    assert league.manager.snapshot() == before
    league.restart()
    taken_up = league.manager.snapshot()
    assert league.operate(order, target, key="k") == Acknowledged()
    assert league.manager.snapshot() == taken_up


def test_a_key_is_good_for_one_order() -> None:
    league = started()
    league.operate("pause", key="k")
    assert code_of(league.operate("resume", key="k")) == "E023"
