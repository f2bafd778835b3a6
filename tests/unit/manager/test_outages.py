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
    first = players_of(league, "R1M1")
    lose(league, "R1M1")
    power_cut(league, *first)
    assert (in_force(league), len(league.of(e.PlayersProbed))) == (["R1M1"], 1)
    lose(league, "R1M2")
    power_cut(league, *first, *players_of(league, "R1M2"))
    assert [event.match_id for event in league.of(e.ResultVoided)] == ["R1M1", "R1M2"]
    assert waiting(league) == "WAITING_FOR_PLAYERS"
    assert all(row.played == 0 for row in league.manager.standings)


@pytest.mark.requirement("OUTAGE.in_reach")
def test_a_player_that_answers_our_probe_was_never_out_of_reach() -> None:
    """A referee by others that plays no match reports losses of both players, for no reason that it would give."""
    league = started()
    first = players_of(league, "R1M1")
    for match_id in ("R1M1", "R1M2"):
        lose(league, match_id, None)
        power_cut(league)
    assert (waiting(league), in_force(league)) == (None, ["R1M1", "R1M2"])
    assert league.of(e.ResultVoided) == []
    # An outage that comes later does not excuse them either.
    lose(league, "R1M3")
    power_cut(league, *players_of(league, "R1M3"), *players_of(league, "R1M4"), first[0])
    assert [event.match_id for event in league.of(e.ResultVoided)] == ["R1M3"]


@pytest.mark.requirement("OUTAGE.in_reach")
@pytest.mark.parametrize("answer", [Failure.NOT_UNDERSTOOD, Failure.SERVER_ERROR, Failure.BUSY])
def test_an_answer_of_any_kind_is_reach(answer: Failure) -> None:
    """HTTP 401, 405 and 307 are not understood; 500 is a server error; 503 is busy."""
    league = started(4)
    lose(league, "R1M1")
    lose(league, "R1M2")
    for one in league.calls("ping"):
        if one.to.agent_id not in REFEREES:
            league.fail(one, answer)
    assert (waiting(league), league.of(e.OutageBegan)) == (None, [])
    assert league.manager.not_answering == {}


@pytest.mark.requirement("OUTAGE.in_reach")
def test_a_loss_whose_referee_says_that_the_player_answered_asks_for_no_probe() -> None:
    league = started(4)
    report = league.report_of("R1M1", "--")
    details = report["result"]["details"]
    details["faults"] = {player: {"code": "E009", "reached": True} for player in details["faults"]}
    assert code_of(league.request(report)) == ""
    assert probes(league) == []


@pytest.mark.requirement("OUTAGE.no_fresh_game")
def test_a_match_in_which_anything_was_shown_does_not_begin_anew() -> None:
    league = started()
    lose(league, "R1M1", who="-A")
    power_cut(league, *everybody(league))
    assert waiting(league) is None
    assert code_of(lose(league, "R1M2")) == ""
    power_cut(league, *everybody(league))
    assert waiting(league) == "WAITING_FOR_PLAYERS"
    assert code_of(lose(league, "R1M3", who="-B")) == "", "the other one's choice was shown with GAME_OVER"
    assert in_force(league) == ["R1M1", "R1M3"]
    assert [event.match_id for event in league.of(e.ResultVoided)] == ["R1M2"]


@pytest.mark.parametrize("gone", [(), ("P01",), ("P01", "P02")])
def test_fewer_than_a_third_hold_nothing(gone: tuple[str, ...]) -> None:
    league = started()
    lose(league, "R1M1")
    power_cut(league, *gone)
    assert (league.manager.waiting, in_force(league)) == (None, ["R1M1"])


@pytest.mark.requirement("OUTAGE.share")
@pytest.mark.parametrize(
    ("players", "missing", "share", "waits"),
    [
        (9, 3, 1 / 3, True),
        (12, 4, 1 / 3, True),
        (12, 3, 1 / 3, False),
        (6, 2, 1 / 3, False),
        (12, 3, 0.25, True),
        (12, 4, 0.5, False),
        (4, 2, 0.9, True),
    ],
)
def test_a_third_of_the_players_and_at_least_three_are_an_outage(
    players: int, missing: int, share: float, waits: bool
) -> None:
    league = started(players, outage_share=share)
    lose(league, "R1M1")
    power_cut(league, *everybody(league)[:missing])
    assert (waiting(league) == "WAITING_FOR_PLAYERS") is waits


# --- all players at one address ---------------------------------------------------------------------------------------


def hosted(at_host: int = 3, players: int = 12, host: str = "10.0.0.7", **changed: Any) -> Managed:
    """A league whose first players have registered from one address, and each of the others from its own."""
    league = Managed(players=players, endpoints="public", **changed)
    league.fill(players=0)
    for number in range(1, players + 1):
        origin = host if number <= at_host else f"10.0.1.{number}"
        league.register("player", number, origin)
        league.answer_pings()
    league.answer_all()
    return league


@pytest.mark.requirement("OUTAGE.address")
def test_all_players_at_one_address_gone_hold_nobody_elses_matches() -> None:
    league = hosted()
    gone = ("P01", "P02", "P03")
    lose(league, next(match_id for match_id in league.open_matches if "P01" in players_of(league, match_id)))
    power_cut(league, *gone)
    (began,) = league.of(e.OutageBegan)
    assert (began.origin, began.missing) == ("10.0.0.7", gone)
    assert waiting(league) is None
    assert not league.manager.ledger.is_held
    pass_time(league, 6)
    (ended,) = league.of(e.OutageEnded)
    assert (ended.origin, ended.why) == ("10.0.0.7", "answered")


@pytest.mark.parametrize(
    ("at_host", "players", "host"),
    [(2, 12, "10.0.0.7"), (3, 12, "127.0.0.1"), (3, 12, "::1")],
)
def test_an_address_of_two_players_or_on_loopback_says_nothing(at_host: int, players: int, host: str) -> None:
    league = hosted(at_host, players, host)
    lose(league, "R1M1")
    power_cut(league, *everybody(league)[:at_host])
    assert league.of(e.OutageBegan) == []


def test_an_address_is_waited_for_twice_in_a_league() -> None:
    league = hosted(players=10)
    gone = ("P01", "P02", "P03")
    for _ in range(4):
        match_id = next(one for one in league.open_matches if "P01" in players_of(league, one))
        lose(league, match_id)
        power_cut(league, *gone)
        pass_time(league, 6)
        for one in league.open_matches:
            league.report(one)
        league.answer_all()
        league.wait(2)
        league.answer_pings()
        league.answer_all()
    assert len(league.of(e.OutageBegan)) == 2


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
    power_cut(league, *players_of(league, "R1M2"))
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
    ("E001", "move", True), ("DECLINED", "join", False), ("E004", "move", False),
])  # fmt: skip
def test_what_asks_for_a_probe(code: str | None, phase: str, counts: bool) -> None:
    league = started(4)
    lose(league, "R1M1", code, phase)
    assert (probes(league) == list(everybody(league))) is counts
    power_cut(league, *players_of(league, "R1M1"))
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


def test_who_answers_probes_but_plays_no_match_holds_no_league() -> None:
    league = started(4)
    lose(league, "R1M1")
    pass_time(league, 6)
    assert league.of(e.OutageBegan) == []
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


# --- a language model under a referee that does not ask ---------------------------------------------------------------


@pytest.mark.requirement("OUTAGE.declined")
def test_a_loss_by_a_language_model_that_nobody_asked_about_stands() -> None:
    league = started()
    assert code_of(lose(league, "R1M1", "E045", "move", "-A")) == ""
    assert league.of(e.MatchHeld) == []
