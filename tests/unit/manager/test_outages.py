"""Many players gone at once: the league waits for them, and nobody loses by it (spec section 8.15)."""

from __future__ import annotations

from typing import Any

import pytest

from league import events as e
from league.machine import Acknowledged, Blame, Failure
from tests.support.bench import Replied
from tests.support.managed import Managed, code_of

REFEREES = ("REF01",)


def started(players: int = 8, **changed: Any) -> Managed:
    league = Managed(players=players, **changed).fill()
    league.answer_all()
    return league


def players_of(league: Managed, match_id: str) -> tuple[str, str]:
    return league.manager.ledger.matches[match_id].players


def lose(
    league: Managed, match_id: str, code: str | None = "E009", phase: str = "join", who: str = "--"
) -> Replied | None:
    """The referee reports that it could not reach them; without a code it does not say why they lost."""
    report = league.report_of(match_id, who)
    details = report["result"]["details"]
    if code is None:
        del details["faults"]
    else:
        details["faults"] = {player: {"code": code, "phase": phase} for player in details["faults"]}
    return league.request(report)


def probes(league: Managed) -> list[str]:
    """The players being probed."""
    return sorted(one.to.agent_id for one in league.calls("ping") if one.to.agent_id not in REFEREES)


def power_cut(league: Managed, *gone: str) -> None:
    """The players' probes are refused; everybody else answers."""
    for one in league.calls("ping"):
        if one.to.agent_id in gone:
            league.fail(one, Failure.REFUSED)
        else:
            league.answer(one, league.pong(one.to.agent_id))


def pass_time(league: Managed, seconds: float, *gone: str) -> None:
    for _ in range(int(seconds)):
        league.wait(1)
        power_cut(league, *gone)
        league.answer_all(but=gone)
        for one in league.calls():
            league.fail(one, Failure.REFUSED)


def everybody(league: Managed) -> tuple[str, ...]:
    return league.manager.player_ids


def waiting(league: Managed) -> str | None:
    return league.manager.waiting


def in_force(league: Managed) -> list[str]:
    return list(league.manager.completed)


# --- how it begins ----------------------------------------------------------------------------------------------------


@pytest.mark.requirement("OUTAGE.held")
def test_when_half_of_the_players_are_gone_the_league_waits_for_them() -> None:
    league = started()
    lose(league, "R1M1")
    assert probes(league) == list(everybody(league))
    gone = (*players_of(league, "R1M1"), *players_of(league, "R1M2"))
    power_cut(league, *gone)
    assert waiting(league) == "WAITING_FOR_PLAYERS"
    assert str(league.manager.waiting_reason).startswith("4 of 8 players can't be reached: P0")
    assert league.of(e.OutageBegan)[0].missing == tuple(sorted(gone))
    assert in_force(league) == []


def test_the_losses_that_came_first_do_not_stand_either() -> None:
    league = started()
    lose(league, "R1M1")
    power_cut(league)
    assert (in_force(league), len(league.of(e.PlayersProbed))) == (["R1M1"], 1)
    lose(league, "R1M2")
    power_cut(league)
    assert [event.match_id for event in league.of(e.ResultVoided)] == ["R1M1", "R1M2"]
    assert waiting(league) == "WAITING_FOR_PLAYERS"
    assert all(row.played == 0 for row in league.manager.standings)


@pytest.mark.parametrize("gone", [(), ("P01",), ("P01", "P02", "P03")])
def test_fewer_than_half_hold_nothing(gone: tuple[str, ...]) -> None:
    league = started()
    lose(league, "R1M1", who="-A")
    power_cut(league, *gone)
    assert (league.manager.waiting, in_force(league)) == (None, ["R1M1"])


@pytest.mark.requirement("OUTAGE.half_and_two")
def test_one_player_alone_holds_nothing_be_it_half_of_the_league() -> None:
    league = started(2)
    lose(league, "R1M1", who="-A")
    power_cut(league, players_of(league, "R1M1")[0])
    assert league.manager.is_finished


def test_a_call_of_our_own_that_fails_is_reason_enough_to_probe_everybody() -> None:
    league = started()
    league.wait(1)
    league.report("R1M1")
    league.fail(league.calls("LEAGUE_STANDINGS_UPDATE", "P03")[0], Failure.REFUSED)
    assert probes(league) == list(everybody(league))
    power_cut(league, *everybody(league))
    assert waiting(league) == "WAITING_FOR_PLAYERS"
    assert in_force(league) == ["R1M1"]


def test_failing_calls_do_not_hold_up_the_round_before_the_probes_are_back() -> None:
    league = started(4)
    league.wait(1)
    league.report("R1M1")
    league.fail(league.calls("LEAGUE_STANDINGS_UPDATE", "P03")[0], Failure.TIMEOUT)
    assert probes(league)
    league.report("R1M2")
    assert league.manager.ledger.current_round == 2


def test_a_round_does_not_end_before_the_players_were_probed() -> None:
    league = started(4)
    league.report("R1M1")
    lose(league, "R1M2")
    assert league.of(e.RoundFinished) == []
    power_cut(league)
    assert waiting(league) == "WAITING_FOR_PLAYERS", "two of four could not be reached"
    eight = started()
    for match_id in ("R1M1", "R1M2", "R1M3"):
        eight.report(match_id)
    lose(eight, "R1M4")
    assert eight.of(e.RoundFinished) == []
    power_cut(eight)
    assert [event.round_id for event in eight.of(e.RoundFinished)] == [1]


@pytest.mark.parametrize(("code", "phase", "counts"), [
    ("E009", "join", True), ("E009", "move", True), ("E001", "join", True), (None, "join", True),
    ("E001", "move", False), ("DECLINED", "join", False), ("E004", "move", False),
])  # fmt: skip
def test_what_counts_as_out_of_reach(code: str | None, phase: str, counts: bool) -> None:
    league = started(4)
    lose(league, "R1M1", code, phase)
    power_cut(league)
    assert (waiting(league) == "WAITING_FOR_PLAYERS") is counts


def test_a_probe_that_hangs_is_waited_for_ten_seconds_at_most() -> None:
    league = started()
    lose(league, "R1M1")
    league.answer_pings(but=everybody(league))
    begun = league.now
    while not league.of(e.OutageBegan):
        league.wait(1)
    assert league.now - begun <= 10


@pytest.mark.requirement("OUTAGE.never")
def test_a_league_may_be_set_never_to_wait() -> None:
    league = started(4, outage_minutes=0.0)
    lose(league, "R1M1")
    lose(league, "R1M2")
    assert probes(league) == []
    assert (league.manager.waiting, league.manager.ledger.current_round) == (None, 2)


# --- while it lasts ---------------------------------------------------------------------------------------------------


def cut(players: int = 8, **changed: Any) -> Managed:
    """All players are gone, R1M1 was lost by it."""
    league = started(players, **changed)
    lose(league, "R1M1")
    power_cut(league, *everybody(league))
    assert waiting(league) == "WAITING_FOR_PLAYERS"
    return league


@pytest.mark.requirement("OUTAGE.refused")
def test_a_loss_reported_meanwhile_is_refused_and_its_match_played_again() -> None:
    league = cut()
    assert code_of(lose(league, "R1M2")) == "E016"
    assert [(one.match_id, one.attempt) for one in league.of(e.MatchHeld)] == [("R1M2", 1)]
    assert in_force(league) == []
    pass_time(league, 6)
    assert (league.manager.waiting, league.manager.ledger.matches["R1M2"].attempt) == (None, 2)
    assert code_of(league.report("R1M2")) == ""


def test_results_that_were_played_count() -> None:
    league = cut()
    assert code_of(league.report("R1M3")) == ""
    assert code_of(league.report("R1M4", "-A")) == "", "whoever declined was there"
    assert in_force(league) == ["R1M3", "R1M4"]


def test_nothing_begins_and_no_referee_loses_a_match() -> None:
    league = cut(4)
    assigned = len(league.of(e.MatchAssigned))
    pass_time(league, 400, *everybody(league))
    assert len(league.of(e.MatchAssigned)) == assigned
    assert league.of(e.MatchLost) == []


def test_whom_only_the_outage_suspended_is_active_again() -> None:
    league = started(4)
    a, _ = players_of(league, "R1M1")
    lose(league, "R1M1", "DECLINED", who="-A")
    league.report("R1M2")
    league.answer_all()
    match_id = next(one for one in league.open_matches if a in players_of(league, one))
    assert lose(league, match_id) is not None
    assert league.state(a) == "SUSPENDED"
    power_cut(league, *everybody(league))
    assert league.state(a) == "ACTIVE"


# --- how it ends ------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("OUTAGE.goes_on")
def test_it_goes_on_by_itself_when_all_of_them_answer() -> None:
    league = cut()
    for _ in range(3):
        league.wait(5)
        assert probes(league) == list(everybody(league)), "every five seconds"
        power_cut(league, *everybody(league))
    league.wait(5)
    power_cut(league)
    (ended,) = league.of(e.OutageEnded)
    assert (ended.why, ended.missing, ended.lasted_s) == ("answered", (), 20.0)
    assert league.manager.ledger.matches["R1M1"].attempt == 2
    league.play()
    assert league.manager.is_finished


def test_the_last_few_are_waited_for_half_a_minute() -> None:
    league = cut()
    pass_time(league, 29, "P08")
    assert waiting(league) == "WAITING_FOR_PLAYERS"
    pass_time(league, 12, "P08")
    assert waiting(league) is None
    assert league.of(e.OutageEnded)[0].missing == ("P08",)


@pytest.mark.requirement("OUTAGE.bounded")
def test_after_ten_minutes_it_goes_on_by_the_usual_rules() -> None:
    league = cut(4)
    pass_time(league, 599, *everybody(league))
    assert waiting(league) == "WAITING_FOR_PLAYERS"
    pass_time(league, 2, *everybody(league))
    assert [event.why for event in league.of(e.OutageEnded)] == ["time"]
    for _ in range(20):
        for match_id in league.open_matches:
            assert code_of(lose(league, match_id)) == ""
        pass_time(league, 2, *everybody(league))
    assert league.manager.is_finished
    assert len(league.of(e.OutageBegan)) == 1, "whom it waited for in vain counts no more"


def test_who_was_waited_for_in_vain_counts_again_after_a_match() -> None:
    league = cut(4, outage_minutes=1.0)
    pass_time(league, 61, *everybody(league))
    for match_id in league.open_matches:
        league.report(match_id)
    league.answer_all()
    lose(league, league.open_matches[0])
    power_cut(league, *everybody(league))
    assert len(league.of(e.OutageBegan)) == 2


def test_who_answers_probes_but_plays_no_match_holds_a_league_once() -> None:
    league = started(4)
    for _ in range(3):
        if "R1M1" in league.open_matches:
            lose(league, "R1M1")
        pass_time(league, 6)
    assert len(league.of(e.OutageBegan)) == 1
    assert "R1M1" in in_force(league)


def test_who_comes_and_goes_cannot_hold_a_round_for_ever() -> None:
    league = started(4)
    gone = players_of(league, "R1M1")
    for _ in range(30):
        if "R1M1" in league.open_matches and league.manager.ledger.current_round == 1:
            lose(league, "R1M1")
            power_cut(league, *gone)
        pass_time(league, 6)
    assert len(league.of(e.OutageBegan)) == 10, "each counts as a minute of ten"
    assert "R1M1" in in_force(league)


@pytest.mark.requirement("OUTAGE.goes_on")
def test_the_operator_may_let_it_go_on() -> None:
    league = cut(4)
    assert league.operate("resume", key="k") == Acknowledged()
    assert league.operate("resume", key="k") == Acknowledged()
    assert [(one.why, one.key) for one in league.of(e.OutageEnded)] == [("operator", "k")]
    assert waiting(league) is None
    lose(league, "R1M1")
    lose(league, "R1M2")
    power_cut(league, *everybody(league))
    assert len(league.of(e.OutageBegan)) == 1
    assert code_of(league.operate("resume")) == "E023"


def test_who_is_withdrawn_is_not_waited_for() -> None:
    league = cut(4)
    for player in ("P03", "P04"):
        league.operate("withdraw", player)
    pass_time(league, 6)
    assert waiting(league) is None


# --- the manager itself, and referees ---------------------------------------------------------------------------------


@pytest.mark.requirement("OUTAGE.restart")
def test_after_a_restart_nothing_begins_before_the_players_were_probed() -> None:
    league = started(4)
    sent = len(league.sent)
    league.restart(probed=False)
    assert waiting(league) == "WAITING_FOR_PLAYERS"
    assert {one.kind for one in league.sent[sent:]} == {"ping"}
    assert probes(league) == list(everybody(league))
    power_cut(league)
    assert waiting(league) is None
    assert {one.kind for one in league.calls()} == {"ROUND_ANNOUNCEMENT"}


def test_after_a_restart_it_waits_for_those_who_are_gone() -> None:
    league = started()
    league.restart(probed=False)
    power_cut(league, "P01", "P02", "P03", "P04")
    assert len(league.of(e.OutageBegan)) == 1
    assert league.calls("ROUND_ANNOUNCEMENT") == []
    pass_time(league, 6)
    assert waiting(league) is None
    league.play()


def test_players_that_hang_delay_a_restart_by_ten_seconds_at_most() -> None:
    league = started(4)
    league.restart(probed=False)
    league.answer_pings(but=["P01"])
    league.wait(10)
    assert waiting(league) is None


def test_an_outage_goes_on_after_a_restart() -> None:
    league = cut(4)
    league.restart(after=3600, probed=False)
    power_cut(league, *everybody(league))
    assert waiting(league) == "WAITING_FOR_PLAYERS", "the time in which we were away does not count"
    pass_time(league, 6)
    assert waiting(league) is None
    league.play()


@pytest.mark.requirement("OUTAGE.interrupted")
def test_who_was_out_of_reach_while_the_manager_was_away_plays_again() -> None:
    league = started()
    league.restart()
    assert code_of(lose(league, "R1M1")) == "E016"
    assert league.manager.ledger.matches["R1M1"].attempt == 2
    assert code_of(lose(league, "R1M1")) == ""


def test_a_loss_that_was_not_checked_before_the_manager_died_does_not_stand() -> None:
    league = started()
    lose(league, "R1M1")
    league.restart()
    assert in_force(league) == []


def test_who_was_out_of_reach_of_a_referee_that_was_itself_plays_again() -> None:
    league = started()
    league.wait(5)
    league.answer_pings()
    league.wait(5)
    league.fail(league.calls("ping", "REF01")[0])
    assert code_of(lose(league, "R1M1")) == "E016"
    assert league.of(e.MatchInterrupted)[0].why == "its referee did not answer"


def test_who_was_out_of_reach_while_the_manager_stood_still_plays_again() -> None:
    league = started()
    league.wait(10)
    league.fail(league.calls("ping", "REF01")[0], Failure.TIMEOUT, Blame.LOCAL)
    assert code_of(lose(league, "R1M1")) == "E016"


def test_a_match_is_played_again_so_three_times_at_most() -> None:
    league = started()
    for _ in range(3):
        league.restart()
        assert code_of(lose(league, "R1M1")) == "E016"
    league.restart()
    assert code_of(lose(league, "R1M1")) == ""


# --- a service that thinks for a player -------------------------------------------------------------------------------


def declines(league: Managed, match_id: str, who: str) -> str:
    """The code that is answered when this player declined to choose, and so did nobody else."""
    first, _ = players_of(league, match_id)
    return code_of(lose(league, match_id, "E045", "move", "-A" if who == first else "-B"))


def after_round_one(league: Managed) -> None:
    while league.manager.ledger.current_round == 1 or not league.open_matches:
        league.answer_all()
        for match_id in league.open_matches:
            league.report(match_id)
        league.wait(0.5)
        league.answer_pings()


@pytest.mark.requirement("OUTAGE.declined")
def test_a_match_in_which_a_player_declined_to_choose_is_played_again() -> None:
    league = started()
    player, _ = players_of(league, "R1M1")
    assert declines(league, "R1M1", player) == "E016"
    (held,) = league.of(e.MatchHeld)
    assert (held.match_id, held.declined, held.players) == ("R1M1", (player,), ())
    assert player in held.why
    assert league.manager.ledger.matches["R1M1"].result is None
    assert league.manager.ledger.roster.members[player].technical_losses == 0
    assert waiting(league) is None
    league.answer_all()
    assert code_of(league.report("R1M1")) == ""


@pytest.mark.requirement("OUTAGE.declined")
def test_nobody_gets_out_of_a_loss_by_declining_again_and_again() -> None:
    league = started()
    player, _ = players_of(league, "R1M1")
    for _ in range(3):
        assert declines(league, "R1M1", player) == "E016"
        league.answer_all()
    league.restart()
    assert declines(league, "R1M1", player) == ""
    assert league.manager.ledger.roster.members[player].technical_losses == 1


def test_who_has_declined_three_times_in_a_league_loses_its_next_match_at_once() -> None:
    league = started(players=4)
    player, _ = players_of(league, "R1M1")
    for _ in range(2):
        assert declines(league, "R1M1", player) == "E016"
        league.answer_all()
    after_round_one(league)
    second = next(one for one in league.open_matches if player in players_of(league, one))
    assert declines(league, second, player) == "E016"
    league.answer_all()
    assert declines(league, second, player) == ""


def test_a_league_that_is_never_held_excuses_nobody() -> None:
    league = started(outage_minutes=0.0)
    player, _ = players_of(league, "R1M1")
    assert declines(league, "R1M1", player) == ""
