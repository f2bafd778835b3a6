"""Standings: how they are counted and ranked, when they are broadcast, and how slow agents are spared."""

from __future__ import annotations

from typing import Any

import pytest

from league import events as e
from league.machine import Failure, Pong, Refusal
from league.manager.telling.broadcasts import MOST_AT_ONCE, PLACE_HELD_S
from league.protocol.message.messages import LeagueStandingsUpdate, RoundAnnouncement
from tests.support.managed import Managed, Sent


def started(players: int = 4, **changed: Any) -> Managed:
    """Its first round was announced a while ago."""
    league = Managed(players=players, **changed).fill()
    league.answer_all()
    league.wait(1)
    return league


def versions(sent: list[Sent]) -> list[int | None]:
    return [one.message.version for one in sent if isinstance(one.message, LeagueStandingsUpdate)]


@pytest.mark.requirement("STANDINGS.after_each_result")
@pytest.mark.requirement("STANDINGS.everybody")
@pytest.mark.requirement("STANDINGS.sorted")
@pytest.mark.requirement("STANDINGS.adds_up")
def test_after_a_result_all_players_get_the_table_in_one_call() -> None:
    league = started()
    league.report("R1M1")
    updates = [one for one in league.outgoing if isinstance(one.message, LeagueStandingsUpdate)]
    assert [address.agent_id for address in updates[0].to] == ["P01", "P02", "P03", "P04"]
    message = updates[0].message
    assert isinstance(message, LeagueStandingsUpdate)
    assert (message.round_id, message.version) == (1, 1)
    assert [row.rank for row in message.standings] == [1, 2, 3, 4]
    assert {row.player_id for row in message.standings} == {"P01", "P02", "P03", "P04"}
    for row in message.standings:
        assert row.played == row.wins + row.draws + row.losses
        assert row.points == 3 * row.wins + row.draws


@pytest.mark.requirement("STANDINGS.apart")
def test_updates_are_a_second_apart_and_only_the_newest_waits() -> None:
    league = started(8)
    matches = league.open_matches
    for match_id in matches[:3]:
        league.report(match_id)
        league.answer_all()
        league.wait(0.2)
    sent = league.told("P01", "LEAGUE_STANDINGS_UPDATE")
    assert versions(sent) == [1]
    league.wait(0.4)
    sent = league.told("P01", "LEAGUE_STANDINGS_UPDATE")
    assert versions(sent) == [1, 3]
    assert sent[1].at - sent[0].at == pytest.approx(1.0)


def test_one_update_is_under_way_and_one_slow_player_delays_nobody() -> None:
    league = started(8)
    for match_id in league.open_matches[:3]:
        league.report(match_id)
        league.answer_all(but=["P08"])
        league.wait(1)
        league.answer_all(but=["P08"])
    assert versions(league.told("P08", "LEAGUE_STANDINGS_UPDATE")) == [1]
    assert versions(league.told("P01", "LEAGUE_STANDINGS_UPDATE")) == [1, 2, 3]
    league.answer(league.calls("LEAGUE_STANDINGS_UPDATE", "P08")[0])
    assert versions(league.told("P08", "LEAGUE_STANDINGS_UPDATE")) == [1, 3]


def answered_after(league: Managed, seconds: float) -> None:
    """A result, and players that take so long to acknowledge its table."""
    league.report(league.open_matches[0])
    league.answer_all(but=league.machine.player_ids)
    league.wait(seconds)
    league.answer_all()


@pytest.mark.requirement("STANDINGS.after_each_result")
@pytest.mark.parametrize(("took", "apart"), [(0.05, 1.0), (0.25, 2.0), (0.6, 4.8), (3.0, 24.0), (9.0, 60.0)])
def test_where_tables_take_long_they_are_further_apart_and_never_too_far(took: float, apart: float) -> None:
    league = started(10)
    answered_after(league, took)
    league.wait(max(4, apart - took))
    answered_after(league, 0)
    league.report(league.open_matches[0])
    league.answer_all()
    league.wait(apart - 0.1)
    assert versions(league.told("P01", "LEAGUE_STANDINGS_UPDATE")) == [1, 2]
    league.wait(0.2)
    assert versions(league.told("P01", "LEAGUE_STANDINGS_UPDATE")) == [1, 2, 3]


def test_tables_are_a_second_apart_again_when_players_answer_at_once() -> None:
    league = started(12)
    for took in (2.0, 0.0, 0.0):
        answered_after(league, took)
        league.wait(16)
    answered_after(league, 0)
    sent = league.told("P01", "LEAGUE_STANDINGS_UPDATE")
    league.report(league.open_matches[0])
    league.wait(1.1)
    assert len(league.told("P01", "LEAGUE_STANDINGS_UPDATE")) == len(sent) + 1


def test_an_ordinary_update_is_never_repeated() -> None:
    league = started(8)
    league.report(league.open_matches[0])
    league.fail(league.calls("LEAGUE_STANDINGS_UPDATE", "P01")[0])
    league.wait(9)
    assert len(league.told("P01", "LEAGUE_STANDINGS_UPDATE")) == 1


@pytest.mark.requirement("STANDINGS.final_before_round_completed")
def test_the_final_table_of_a_round_is_repeated_and_round_completed_waits_for_it() -> None:
    league = started(2, double=True)
    league.report("R1M1")
    for _ in range(4):
        assert league.calls("ROUND_COMPLETED", "P01") == []
        league.fail(league.calls("LEAGUE_STANDINGS_UPDATE", "P01")[0])
        league.wait(2)
    assert len(league.told("P01", "LEAGUE_STANDINGS_UPDATE")) == 4
    assert len(league.calls("ROUND_COMPLETED", "P01")) == 1
    kinds = [one.kind for one in league.told("P02")]
    assert kinds.index("LEAGUE_STANDINGS_UPDATE") < len(kinds)


# --- the order at the end of a round ----------------------------------------------------------------------------------

IN_ORDER = ["LEAGUE_STANDINGS_UPDATE", "ROUND_COMPLETED", "ROUND_ANNOUNCEMENT"]


def after_the_round(league: Managed, player: str, *, since: int) -> list[tuple[str, float]]:
    """What this player was sent since, and how many seconds after the first of it."""
    sent = league.told(player)[since:]
    return [(one.kind, one.at - sent[0].at) for one in sent]


@pytest.mark.requirement("BROADCAST.order")
def test_at_the_end_of_a_round_each_message_leaves_when_the_one_before_was_answered() -> None:
    league = started(2, double=True)
    league.report("R1M1")
    for kind in IN_ORDER:
        (one,) = league.calls(to="P01")
        assert one.kind == kind
        league.answer(one)


@pytest.mark.requirement("BROADCAST.order")
def test_a_slow_player_gets_them_in_order_two_seconds_apart_and_delays_nobody_else() -> None:
    league = started(4)
    league.report("R1M1")
    league.answer_all()
    known = len(league.told("P01"))
    league.report("R1M2")
    for _ in range(50):
        league.answer_all(but=["P01"])
        league.wait(0.1)
    sent = after_the_round(league, "P01", since=known)
    assert [kind for kind, _ in sent] == IN_ORDER
    assert [seconds for _, seconds in sent] == pytest.approx([0, 2, 4])
    assert [seconds for _, seconds in after_the_round(league, "P02", since=-3)] == [0, 0, 0]


@pytest.mark.requirement("BROADCAST.order")
@pytest.mark.parametrize("failure", [Failure.TIMEOUT, Failure.BROKEN])
def test_what_failed_at_a_player_that_listens_is_followed_at_once_and_not_repeated(failure: Failure) -> None:
    league = started(2, double=True)
    league.report("R1M1")
    known = len(league.told("P01")) - 1
    league.fail(league.calls("LEAGUE_STANDINGS_UPDATE", "P01")[0], failure)
    league.fail(league.calls("ROUND_COMPLETED", "P01")[0], failure)
    league.answer(league.calls("ROUND_ANNOUNCEMENT", "P01")[0])
    league.wait(9)
    assert after_the_round(league, "P01", since=known) == [(kind, 0) for kind in IN_ORDER]


@pytest.mark.requirement("BROADCAST.order")
def test_a_player_that_comes_back_gets_them_in_order() -> None:
    league = started(2, double=True)
    league.report("R1M1")
    known = len(league.told("P01")) - 1
    league.fail(league.calls("LEAGUE_STANDINGS_UPDATE", "P01")[0], Failure.REFUSED)
    league.wait(2)
    for kind in IN_ORDER:
        # The failed call made the manager ask whether the players are there.
        (one,) = [one for one in league.calls(to="P01") if one.kind != "ping"]
        assert one.kind == kind
        league.answer(one)
    kinds = [kind for kind, _ in after_the_round(league, "P01", since=known) if kind != "ping"]
    assert kinds == [IN_ORDER[0], *IN_ORDER]


def test_a_busy_player_is_not_repeated_what_was_overtaken() -> None:
    league = started(2, double=True)
    league.report("R1M1")
    known = len(league.told("P01")) - 1
    league.fail(league.calls("LEAGUE_STANDINGS_UPDATE", "P01")[0], Failure.BUSY, retry_after=3.0)
    league.wait(2)
    league.answer(league.calls("ROUND_COMPLETED", "P01")[0])
    league.wait(9)
    assert [kind for kind, _ in after_the_round(league, "P01", since=known)] == IN_ORDER


@pytest.mark.requirement("ROUND.players_first")
def test_matches_begin_after_the_announcements_also_at_a_slow_player() -> None:
    league = started(4)
    for match_id in league.open_matches:
        league.report(match_id)
    for _ in range(7):
        assert len(league.of(e.AssignmentsSent)) == 1
        league.answer_all(but=["P01"])
        league.wait(1)
    assert [one.kind for one in league.calls(to="P01")] == [IN_ORDER[0], *IN_ORDER]
    assert len(league.of(e.AssignmentsSent)) == 2


@pytest.mark.requirement("STANDINGS.final_before_round_completed")
@pytest.mark.requirement("STANDINGS.apart")
def test_every_round_has_a_final_table_however_soon_after_the_last() -> None:
    league = started(4)
    while not league.manager.is_finished:
        for match_id in league.open_matches:
            league.report(match_id)
        league.answer_all()
    table, completed, announced = IN_ORDER
    assert [one.kind for one in league.told("P01")] == [
        announced, table, table, completed, announced, table, completed, announced, table, completed,
        "LEAGUE_COMPLETED",
    ]  # fmt: skip
    assert versions(league.told("P01")) == [1, 2, 4, 6]


@pytest.mark.requirement("ROUND.walkovers")
def test_a_round_of_walkovers_is_announced_and_completed_like_any_other() -> None:
    league = started(2, double=True)
    league.operate("withdraw", "P02")
    league.play()
    kinds = [one.kind for one in league.told("P01")]
    assert kinds == ["ROUND_ANNOUNCEMENT", *IN_ORDER, *IN_ORDER[:2], "LEAGUE_COMPLETED"]
    second = league.told("P01", "ROUND_ANNOUNCEMENT")[1].message
    assert isinstance(second, RoundAnnouncement)
    assert (second.round_id, second.matches) == (2, [])
    tables = [one.message for one in league.told("P01") if isinstance(one.message, LeagueStandingsUpdate)]
    assert [(one.round_id, one.version) for one in tables] == [(1, 2), (2, 2)]
    assert [event.round_id for event in league.of(e.RoundFinished)] == [1, 2]


# --- the order at the end of the league -------------------------------------------------------------------------------


def test_referees_get_completions_and_no_tables() -> None:
    league = started(2)
    league.play()
    assert [one.kind for one in league.told("REF01")] == ["ROUND_ANNOUNCEMENT", "ROUND_COMPLETED", "LEAGUE_COMPLETED"]


def test_an_assignment_does_not_wait_behind_other_notifications() -> None:
    league = started(2, double=True)
    league.report("R1M1")
    assert len(league.calls("ROUND_COMPLETED", "REF01")) == 1
    league.answer_all(but=["REF01"])
    assert len(league.calls("ROUND_ANNOUNCEMENT", "REF01")) == 1


def test_completions_wait_until_everything_else_to_the_agent_has_ended() -> None:
    slow = Managed(players=2).fill()
    slow.wait(1)
    slow.answer_all(but=["P01"])
    slow.report("R1M1")
    slow.answer_all(but=["P01"])
    slow.wait(1)
    for kind in ("LEAGUE_STANDINGS_UPDATE", "ROUND_COMPLETED"):
        slow.answer(slow.calls(kind, "P01")[0])
    assert slow.calls("LEAGUE_COMPLETED", "P01") == []
    slow.answer(slow.calls("ROUND_ANNOUNCEMENT", "P01")[0])
    assert len(slow.calls("LEAGUE_COMPLETED", "P01")) == 1


# --- the breaker ------------------------------------------------------------------------------------------------------


def test_five_failures_in_a_row_spare_a_player_for_a_minute() -> None:
    league = started(2, double=True, rounds=2)
    league.report("R1M1")
    league.answer_all(but=["P02"])
    while league.calls(to="P02"):
        for one in league.calls(to="P02"):
            league.fail(one)
        league.wait(2)
        league.answer_pings(but=["P02"])
    sent = len(league.told("P02"))
    league.wait(1)
    league.report("R2M1")
    league.answer_all(but=["P02"])
    assert league.manager.is_finished
    assert [one.kind for one in league.told("P02")[sent:]] == ["LEAGUE_COMPLETED"]
    delivered = [event.bulletins["P02"] for event in league.of(e.BulletinsDelivered) if "P02" in event.bulletins]
    assert delivered[-1] == e.Bulletin("round_completed", 2)


@pytest.mark.parametrize("sign", ["a message", "an answer", "its token", "its name and address", "the operator's word"])
def test_any_sign_of_life_closes_the_breaker(sign: str) -> None:
    league = started(2, double=True)
    league.report("R1M1")
    league.answer_all(but=["P02"])
    while not league.manager._calls.peers["P02"].breaker.is_open(league.now):
        for one in league.calls(to="P02"):
            league.fail(one)
        league.wait(2)
    if sign == "a message":
        league.query("P02", "GET_STATUS")
    elif sign == "an answer":
        league.wait(60)
    elif sign == "its token":
        league.register("player", 2, auth_token=league.tokens["P02"])
    elif sign == "its name and address":
        league.register("player", 2)
        league.answer_all()
    else:
        league.operate("readmit", "P02")
        league.register("player", 2, contact_endpoint="http://127.0.0.1:9999/mcp")
    assert not league.manager._calls.peers["P02"].breaker.is_open(league.now)


# --- suspension -------------------------------------------------------------------------------------------------------


def lose(league: Managed, player: str, times: int) -> None:
    """The player loses so many matches by its own fault; everybody else answers and wins or draws."""
    lost = 0
    while lost < times:
        league.answer_pings()
        league.answer_all(but=[player])
        league.wait(1)
        for match_id in league.open_matches:
            match = league.manager.ledger.matches[match_id]
            if player in match.players:
                lost += 1
                league.report(match_id, "-A" if match.player_a == player else "-B")
            else:
                league.report(match_id, None)


@pytest.mark.requirement("SUSPENDED.after_two")
@pytest.mark.requirement("SUSPENDED.still_told")
def test_two_technical_losses_in_a_row_suspend_a_player() -> None:
    league = started(4, double=True)
    lose(league, "P01", 1)
    assert league.state("P01") == "ACTIVE"
    lose(league, "P01", 1)
    assert league.state("P01") == "SUSPENDED"
    league.answer_all(but=["P01", "REF01"])
    copy = league.calls("ROUND_ANNOUNCEMENT", "REF01")[-1].message
    assert isinstance(copy, RoundAnnouncement)
    flags = {one.player_A_id: one.player_A_suspended for one in copy.matches}
    flags |= {one.player_B_id: one.player_B_suspended for one in copy.matches}
    assert flags == {"P01": True, "P02": False, "P03": False, "P04": False}
    told = len(league.told("P01"))
    for _ in range(20):
        league.wait(0.5)
        league.answer_pings()
    assert [one.kind for one in league.told("P01")[told:]][-1] == "ROUND_ANNOUNCEMENT"


@pytest.mark.requirement("SUSPENDED.recovers")
def test_a_match_without_own_fault_makes_it_active_again() -> None:
    league = started(4, double=True)
    lose(league, "P01", 2)
    league.answer_all(but=["P01"])
    for match_id in league.open_matches:
        league.report(match_id, None)
    assert league.state("P01") == "ACTIVE"


def test_acknowledging_a_broadcast_makes_it_active_again_but_an_error_or_a_ping_does_not() -> None:
    league = started(4, double=True)
    lose(league, "P01", 2)
    league.wait(1)
    calls = [one for one in league.calls(to="P01") if one.at == league.now]
    assert len(calls) >= 1
    league.answer(calls[0], Refusal("E012", "who are you?"))
    assert league.state("P01") == "SUSPENDED"
    while league.state("P01") == "SUSPENDED":
        league.wait(1)
        league.answer_pings()
        for one in league.calls(to="P01"):
            league.answer(one, Pong())
    assert league.of(e.AgentStateChanged)[-1].why == "recover"


def test_an_answer_to_what_was_sent_before_the_suspension_does_not_end_it() -> None:
    league = started(4, double=True)
    lose(league, "P01", 2)
    league.wait(1)
    old = next(one for one in league.calls(to="P01") if one.at < league.now)
    new = next(one for one in league.calls(to="P01") if one.at == league.now)
    league.answer(old)
    assert league.state("P01") == "SUSPENDED"
    league.answer(new)
    assert league.state("P01") == "ACTIVE"


def test_both_at_fault_are_both_suspended() -> None:
    league = started(2, double=True, rounds=2)
    league.report("R1M1", "--")
    league.wait(1)
    league.answer_all(but=["P01", "P02"])
    league.report("R2M1", "--")
    suspended = [event.agent_id for event in league.of(e.AgentStateChanged) if event.state == "SUSPENDED"]
    assert sorted(suspended) == ["P01", "P02"]


def test_a_failure_of_the_transport_is_no_technical_loss() -> None:
    league = started(2)
    for one in league.calls():
        league.fail(one, Failure.BROKEN)
    assert league.state("P01") == "ACTIVE"


# --- large leagues ----------------------------------------------------------------------------------------------------


def announced(league: Managed) -> list[Sent]:
    return [one for one in league.calls("ROUND_ANNOUNCEMENT") if one.to.agent_id.startswith("P")]


def test_a_large_league_is_told_in_turns() -> None:
    league = Managed(players=MOST_AT_ONCE + 50).fill()
    first = announced(league)
    assert len(first) == MOST_AT_ONCE
    for count, one in enumerate(first[:20], start=1):
        league.answer(one)
        assert len(announced(league)) == MOST_AT_ONCE, f"after {count} answers"
    league.answer_all()
    assert all(league.told(player, "ROUND_ANNOUNCEMENT") for player in league.machine.player_ids)
    assert league.of(e.AssignmentsSent)


def test_players_that_do_not_answer_delay_the_others_by_a_second_and_no_more() -> None:
    league = Managed(players=MOST_AT_ONCE + 50).fill()
    silent = [one.to.agent_id for one in announced(league)]
    league.wait(PLACE_HELD_S - 0.01)
    assert len(announced(league)) == MOST_AT_ONCE
    league.wait(0.02)
    told = [player for player in league.machine.player_ids if league.told(player, "ROUND_ANNOUNCEMENT")]
    assert set(told) - set(silent) == set(league.machine.player_ids) - set(silent) != set()


def test_a_round_that_is_over_at_once_has_one_table() -> None:
    league = Managed(players=8).fill()
    league.answer_all()
    for _ in range(2):
        for match_id in league.open_matches:
            league.report(match_id)
            league.answer_all()
    assert versions(league.told("P01")) == [4, 8]


@pytest.mark.requirement("STANDINGS.after_each_result")
@pytest.mark.parametrize(("took", "waits"), [(0.05, 1.0), (0.25, 2.0), (0.6, 4.8)])
def test_the_first_table_of_a_round_waits_longer_where_the_last_of_the_round_before_took_long(
    took: float, waits: float
) -> None:
    league = Managed(players=8).fill()
    league.answer_all()
    for match_id in league.open_matches:
        league.report(match_id)
    league.wait(took)
    league.answer_all()
    league.report(league.open_matches[0])
    league.wait(waits - 0.1)
    assert versions(league.told("P01")) == [4]
    league.wait(0.2)
    assert versions(league.told("P01")) == [4, 5]
