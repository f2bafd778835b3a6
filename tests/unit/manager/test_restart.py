"""The manager dies and comes back: nothing acknowledged is forgotten, and what was owed goes out again."""

from __future__ import annotations

from typing import Any

import pytest

from league import events as e
from league.machine import Letter, Pong
from league.protocol.message.envelope import unseal
from league.protocol.message.messages import LeagueQueryResponse, LeagueStandingsUpdate
from tests.support.managed import Managed, code_of, matches_in, replayed


def started(players: int = 4, **changed: Any) -> Managed:
    league = Managed(players=players, **changed).fill()
    league.answer_all()
    return league


def test_agents_are_probed_again_until_the_start() -> None:
    league = Managed(players=4)
    league.fill(players=2)
    league.restart()
    assert sorted(one.to.agent_id for one in league.calls("ping")) == ["P01", "P02", "REF01"]


def test_the_current_round_goes_out_again_to_players_and_referees() -> None:
    league = started()
    league.report("R1M1")
    league.restart(after=3)
    assert matches_in(league.calls("ROUND_ANNOUNCEMENT", "P01")[0].message) == ["R1M1", "R1M2"]
    assert matches_in(league.calls("ROUND_ANNOUNCEMENT", "REF01")[0].message) == ["R1M2"]
    assert [event.attempt for event in league.of(e.MatchAssigned)] == [1, 1]
    assert code_of(league.report("R1M2")) == ""


def test_the_newest_table_goes_out_again() -> None:
    league = started()
    league.report("R1M1")
    league.restart()
    league.answer(league.calls("ROUND_ANNOUNCEMENT", "P03")[0])
    (one,) = league.calls("LEAGUE_STANDINGS_UPDATE", "P03")
    assert isinstance(one.message, LeagueStandingsUpdate)
    assert one.message.version == 1


def test_completions_that_were_not_delivered_go_out_again_and_others_do_not() -> None:
    league = started(2, double=True)
    league.report("R1M1")
    league.answer_all(but=["P02"])
    league.restart()
    league.answer_all()
    assert [len(league.told(one, "ROUND_COMPLETED")) for one in ("P01", "P02", "REF01")] == [1, 1, 1]


def test_nobody_hears_that_a_round_was_completed_after_the_next_was_announced() -> None:
    league = started(2, double=True)
    league.report("R1M1")
    league.answer_all(kind="LEAGUE_STANDINGS_UPDATE")
    league.answer_all(kind="ROUND_COMPLETED", but=["P02"])
    assert league.calls("ROUND_ANNOUNCEMENT", "P01")
    league.restart()
    league.answer_all()
    completions = [len(league.told(one, "ROUND_COMPLETED")) for one in ("P01", "P02", "REF01")]
    assert completions == [1, 2, 1]


@pytest.mark.parametrize(("after", "times"), [(0.5, 2), (2.5, 1)])
def test_a_completion_that_nothing_follows_is_journalled_2_seconds_later(after: float, times: int) -> None:
    """Before that its answer may be lost, as if it had never come."""
    league = started(2, double=True)
    league.operate("pause")
    league.report("R1M1")
    league.answer_all()
    league.wait(after)
    league.restart()
    league.answer_all()
    assert [len(league.told(one, "ROUND_COMPLETED")) for one in ("P01", "P02", "REF01")] == [times] * 3


def test_leases_run_anew() -> None:
    league = started(2)
    league.wait(150)
    league.restart()
    league.wait(0.1)
    league.answer_all()
    for _ in range(420):
        league.wait(0.5)
        league.answer_pings()
    assert league.of(e.MatchLost) == []
    league.wait(3)
    league.answer_pings()
    assert len(league.of(e.MatchLost)) == 1


def test_a_lead_goes_on_where_it_was() -> None:
    league = Managed(players=2, announcement_lead_s=60.0).fill()
    league.answer_all()
    league.restart(after=40)
    league.answer_all(kind="ROUND_ANNOUNCEMENT")
    league.wait(19)
    assert league.of(e.AssignmentsSent) == []
    league.wait(1)
    assert len(league.of(e.AssignmentsSent)) == 1


def test_a_clock_that_was_set_back_does_not_stop_the_league() -> None:
    league = Managed(players=2, announcement_lead_s=60.0).fill()
    league.restart(after=-100_000)
    league.answer_all(kind="ROUND_ANNOUNCEMENT")
    league.wait(60)
    assert len(league.of(e.AssignmentsSent)) == 1


def test_the_end_is_told_to_those_who_were_not_told() -> None:
    league = started(2)
    league.report("R1M1")
    league.answer_all(but=["P02"])
    league.restart()
    league.play()
    assert [len(league.told(one, "LEAGUE_COMPLETED")) for one in ("P01", "P02", "REF01")] == [1, 1, 1]
    assert league.manager.has_notified_everybody


def test_a_suspended_referee_is_dead_until_it_answers() -> None:
    league = started(2)
    league.wait(300)
    assert league.manager.waiting == "WAITING_FOR_REFEREE"
    league.restart()
    assert league.manager.waiting == "WAITING_FOR_REFEREE"
    league.answer(league.calls("ping", "REF01")[0], Pong())
    assert league.manager.waiting is None


def test_late_and_foreign_answers_are_ignored() -> None:
    league = started()
    one = league.sent[-1]
    before = league.manager.snapshot()
    for _ in range(2):
        step = league.answer(one, Pong())
        assert (step.events, step.outbox, step.replies) == ([], [], [])
    assert league.manager.snapshot() == before


def test_before_it_is_resumed_it_answers_questions_and_does_nothing_else() -> None:
    league = started(2)
    league.report("R1M1")
    asleep = replayed(league.settings, league.events, bytes, league.secrets)
    query = unseal(league.query_of("P01", "GET_STANDINGS"))
    step = asleep.handle(Letter(1, query), league.now)
    assert isinstance(step.replies[0].content, LeagueQueryResponse)
    assert (step.events, step.outbox) == ([], [])


@pytest.mark.parametrize("players", [2, 3, 4])
def test_a_league_cut_off_after_any_event_can_be_played_to_its_end(players: int) -> None:
    whole = started(players, referees=2)
    whole.operate("pause")
    whole.report(whole.open_matches[0], "-A")
    whole.operate("replay-match", "R1M1")
    whole.operate("resume")
    if players > 2:
        whole.operate("withdraw", "P03")
    whole.play()
    for keep in range(1, len(whole.events)):
        cut = started(players, referees=2)
        cut.journal, cut.secrets, cut.tokens = list(whole.events), dict(whole.secrets), dict(whole.tokens)
        cut.restart(after=10, keep=keep)
        if cut.manager.waiting == "PAUSED":
            cut.operate("resume", key="again")
        if cut.manager.ledger.state == "WAITING_FOR_REGISTRATIONS":
            cut.fill()
        cut.play()
        assert cut.manager.ledger.undecided == 0
        assert len(cut.of(e.LeagueFinished)) == 1
