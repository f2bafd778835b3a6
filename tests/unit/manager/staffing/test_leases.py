"""Referees that fall silent, forget or never report: whose match goes to whom, and when it is parked."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from league import events as e
from league.hosting import narration
from league.machine import Blame, Failure, Ping, Pong
from league.reading import views
from tests.support.managed import Managed, code_of, matches_in


def started(players: int = 2, referees: int = 2, **changed: Any) -> Managed:
    league = Managed(players=players, referees=referees, **changed).fill()
    league.answer_all(but=[f"REF0{n}" for n in range(1, 10)])
    for one in league.calls("ROUND_ANNOUNCEMENT"):
        league.answer(one)
    league.answer_pings()
    return league


def live(league: Managed, seconds: float, *, dead: tuple[str, ...] = (), lists: bool = True) -> None:
    """Time passes; all but the dead answer everything."""
    until = league.now + seconds
    while league.now < until:
        league.wait(min(0.5, until - league.now))
        for one in league.calls():
            if one.to.agent_id in dead:
                league.fail(one)
            else:
                league.answer(one, league.pong(one.to.agent_id) if lists else Pong())


def holder(league: Managed, match_id: str = "R1M1") -> str | None:
    return league.manager.ledger.matches[match_id].referee_id


@pytest.mark.requirement("REFEREE.lease_ping")
def test_referees_are_pinged_every_five_seconds_while_the_league_runs() -> None:
    league = started()
    live(league, 60)
    pings = [one.at for one in league.sent if one.kind == "ping" and one.to.agent_id == "REF01"][1:]
    assert {later - at for at, later in pairwise(pings)} == {5.0}
    assert len(pings) == 12
    league.play()
    before = len(league.sent)
    league.wait(100)
    assert len(league.sent) == before


def pings_of(league: Managed, referee_id: str) -> int:
    return len([one for one in league.sent if type(one.message) is Ping and one.to.agent_id == referee_id])


@pytest.mark.requirement("REFEREE.lease_ping")
def test_a_referee_that_reports_is_not_pinged_but_one_that_only_asks_is() -> None:
    league = started(players=4, referees=1)
    first, second = league.open_matches
    before = pings_of(league, "REF01")
    for match_id in (first, second):
        live(league, 3)
        league.report(match_id)
    live(league, 4)
    assert pings_of(league, "REF01") == before
    for _ in range(5):
        league.query("REF01", "GET_STATUS")
        live(league, 4)
    assert pings_of(league, "REF01") > before + 2


@pytest.mark.requirement("REFEREE.lease_ping")
def test_a_referee_that_has_just_answered_its_probe_is_not_pinged_when_the_league_starts() -> None:
    league = Managed(players=2, referees=1, start="manual").fill()
    league.answer_pings()
    before = pings_of(league, "REF01")
    league.operate("start")
    assert league.manager.state == "RUNNING_LEAGUE"
    assert pings_of(league, "REF01") == before


@pytest.mark.requirement("REFEREE.lease_ping")
def test_a_referee_that_does_not_know_its_match_is_pinged_whatever_it_says() -> None:
    league = Managed(players=2, referees=1).fill()
    league.answer_pings()
    league.answer_all(but=["REF01"])
    while calls := league.calls("ROUND_ANNOUNCEMENT", "REF01"):
        league.fail(calls[0], Failure.BROKEN)
        league.query("REF01", "GET_STATUS")
        league.wait(3)
    before = pings_of(league, "REF01")
    league.query("REF01", "GET_STATUS")
    league.wait(5)
    assert pings_of(league, "REF01") == before + 1


@pytest.mark.requirement("REFEREE.lease_silence")
def test_a_referee_that_listed_its_matches_is_dead_after_twenty_seconds() -> None:
    league = started()
    assert holder(league) == "REF01"
    live(league, 19, dead=("REF01",))
    assert league.state("REF01") == "ACTIVE"
    live(league, 2, dead=("REF01",))
    assert league.state("REF01") == "SUSPENDED"
    assert (holder(league), league.manager.ledger.matches["R1M1"].attempt) == ("REF02", 2)
    (lost,) = league.of(e.MatchLost)
    assert lost.is_silent
    assert narration.MANAGER[e.MatchLost](league.manager, lost) == "", "the line about the referee says it all"


@pytest.mark.parametrize("game_type", ["even_odd", "connect_four"])
def test_a_referee_that_lists_nothing_is_dead_after_the_time_of_a_turn(game_type: str) -> None:
    league = Managed(players=2, referees=2, game_type=game_type)
    for role, number in (("referee", 1), ("referee", 2), ("player", 1), ("player", 2)):
        league.register(role, number, game_types=[game_type])
        league.answer(league.calls("ping")[0], Pong())
    live(league, 1, lists=False)
    live(league, 208, dead=("REF01",), lists=False)
    assert league.state("REF01") == "ACTIVE"
    live(league, 7, dead=("REF01",), lists=False)
    assert league.state("REF01") == "SUSPENDED"


def test_any_message_of_a_referee_is_a_sign_of_life() -> None:
    league = started()
    for _ in range(5):
        live(league, 9, dead=("REF01",))
        league.query("REF01", "GET_STATUS")
    assert league.state("REF01") == "ACTIVE"


def test_a_dead_referee_comes_back_with_any_message() -> None:
    league = started()
    live(league, 25, dead=("REF01",))
    assert league.state("REF01") == "SUSPENDED"
    league.query("REF01", "GET_STATUS")
    assert league.state("REF01") == "ACTIVE"


@pytest.mark.requirement("REFEREE.lease_reassigned")
@pytest.mark.requirement("REFEREE.lease_no_blame")
def test_a_lost_match_is_announced_to_another_referee_alone() -> None:
    league = started(players=4)
    mine = [one for one in league.open_matches if holder(league, one) == "REF01"]
    before = len(league.sent)
    live(league, 25, dead=("REF01",))
    copies = [one for one in league.sent[before:] if one.kind == "ROUND_ANNOUNCEMENT"]
    assert [(one.to.agent_id, matches_in(one.message)) for one in copies] == [("REF02", mine)]
    assert [event.attempt for event in league.of(e.MatchLost)] == [1]
    assert all(row.losses == 0 for row in league.manager.standings)


@pytest.mark.requirement("REPORT.not_assigned")
def test_the_report_of_a_superseded_attempt_is_refused() -> None:
    league = started()
    old = league.report_of("R1M1")
    live(league, 25, dead=("REF01",))
    assert code_of(league.request(old)) == "E016"
    del old["attempt"]
    assert code_of(league.request(old)) == "E016"
    assert code_of(league.report("R1M1")) == ""


def test_while_no_other_referee_lives_a_match_stays_with_the_dead_one() -> None:
    league = started(referees=1)
    live(league, 60, dead=("REF01",))
    assert league.manager.waiting == "WAITING_FOR_REFEREE"
    assert league.of(e.MatchLost) == []
    assert code_of(league.report("R1M1")) == ""
    assert league.manager.waiting is None


def test_a_new_referee_takes_over_from_a_dead_one_at_once() -> None:
    league = started(referees=1)
    live(league, 60, dead=("REF01",))
    league.register("referee", 2)
    assert holder(league) == "REF02"


@pytest.mark.requirement("REFEREE.lease_longest_match")
@pytest.mark.parametrize(
    ("capacity", "move_seconds", "limits"),
    [(1, 30, (212, 424, 636)), (2, 30, (212, 212, 424)), (1, 5, (112, 224, 336))],
)
def test_a_match_without_a_report_is_lost_after_its_longest_duration(
    capacity: int, move_seconds: float, limits: tuple[float, ...]
) -> None:
    league = Managed(players=6, referees=2, move_seconds=float(move_seconds))
    league.register("referee", 1, max_concurrent_matches=10)
    league.answer_pings()
    league.register("referee", 2, max_concurrent_matches=capacity)
    league.fail(league.calls("ping")[0])
    for number in range(1, 7):
        league.register("player", number)
        league.answer_pings(but=["REF02"])
    league.query("REF02", "GET_STATUS")
    live(league, 25, dead=("REF01",))
    assert {holder(league, one) for one in league.open_matches} == {"REF02"}
    league.register("referee", 3)
    since = next(event.at for event in league.of(e.MatchAssigned) if event.attempt == 2)
    live(league, max(limits) + 5, dead=("REF01",))
    lost = [round(event.at - since) for event in league.of(e.MatchLost) if event.attempt == 2]
    assert lost == sorted(limits)


@pytest.mark.requirement("REFEREE.lease_longest_match")
def test_a_referee_that_was_silent_for_a_while_may_take_its_time_anew() -> None:
    """A referee that was restarted goes on with its match where it was."""
    league = started()
    live(league, 185)
    live(league, 15, dead=("REF01",))
    live(league, 190)
    assert league.of(e.MatchLost) == []
    live(league, 30)
    assert [event.why for event in league.of(e.MatchLost)] == ["no report in time"]


def test_a_match_is_given_to_the_same_referee_again_only_if_it_is_alone() -> None:
    league = started(referees=1)
    live(league, 215)
    assert [(event.referee_id, event.attempt) for event in league.of(e.MatchAssigned)] == [("REF01", 1), ("REF01", 2)]


def test_the_operator_learns_that_the_only_referee_does_not_report() -> None:
    league = started(referees=1)
    live(league, 105)
    assert views.league(league.manager, 0)["waiting"] is None
    live(league, 2)
    shown = views.league(league.manager, 0)
    assert (shown["waiting"], shown["waiting_reason"]) == (
        "WAITING_FOR_REPORT",
        "REF01 has not reported R1M1; a match takes at most 35 s, and 152 s with every retry; "
        "no other referee could play what it holds",
    )
    assert shown["awaited"][0] == f"Waiting for a report: {shown['waiting_reason']}."
    live(league, 110)
    assert league.manager.ledger.matches["R1M1"].attempt == 2
    assert league.manager.waiting == "WAITING_FOR_REPORT", "it has not reported anything since"
    league.report("R1M1")
    assert league.manager.waiting is None


def test_the_operator_learns_of_a_referee_whose_leases_begin_anew_with_every_lost_ping() -> None:
    league = started(referees=1)
    for _ in range(4):
        live(league, 5, dead=("REF01",))
        live(league, 100)
    assert league.of(e.MatchLost) == []
    assert league.manager.waiting == "WAITING_FOR_REPORT"


@pytest.mark.requirement("REFEREE.lease_parked")
def test_after_three_attempts_a_match_is_parked_and_the_others_go_on() -> None:
    league = started(players=4, referees=2)
    live(league, 640)
    for match_id in league.open_matches:
        league.report(match_id)
    live(league, 700)
    assert len(league.of(e.MatchParked)) >= 1
    assert league.manager.waiting == "WAITING_FOR_OPERATOR"
    parked = league.manager.parked
    assert league.manager.ledger.current_round == 1
    assert [event.attempt for event in league.of(e.MatchAssigned) if event.match_id == parked[0]] == [1, 2, 3]
    league.operate("replay-match", parked[0])
    assert league.manager.ledger.matches[parked[0]].attempt == 4
    for match_id in parked[1:]:
        league.operate("replay-match", match_id)
    league.play()
    assert all(event.status == "WIN" for event in league.of(e.ResultAccepted))


def test_a_referee_that_no_longer_lists_what_it_acknowledged_has_lost_it() -> None:
    league = started(referees=2)
    live(league, 6)
    while not league.calls("ping", "REF01"):
        league.wait(0.5)
    league.answer(league.calls("ping", "REF01")[0], Pong(()))
    assert (holder(league), league.of(e.MatchLost)[0].why) == ("REF02", "REF01 no longer holds it")


def test_an_answer_to_a_ping_sent_before_the_acknowledgement_proves_nothing() -> None:
    league = Managed(players=2, referees=2).fill()
    league.wait(1)
    while not (pings := league.calls("ping", "REF01")):
        league.wait(0.5)
    ping = pings[0]
    league.answer(league.calls("ROUND_ANNOUNCEMENT", "REF01")[0])
    league.answer(ping, Pong(()))
    assert league.of(e.MatchLost) == []
    assert league.calls("ROUND_ANNOUNCEMENT", "REF01") == []


def test_a_referee_that_lists_what_it_never_acknowledged_has_it() -> None:
    league = Managed(players=2).fill()
    league.answer_all(but=["REF01"])
    while calls := league.calls("ROUND_ANNOUNCEMENT", "REF01"):
        league.fail(calls[0], Failure.BROKEN)
        league.wait(2)
    before = len(league.told("REF01"))
    live(league, 11)
    assert len(league.told("REF01")) == before


def test_if_we_slept_silence_and_leases_are_not_held_against_referees() -> None:
    league = started()
    league.now += 500
    for one in league.calls("ping"):
        league.fail(one, Failure.TIMEOUT, Blame.LOCAL)
    league.take(league.manager.tick(league.now))
    for one in league.calls("ping", "REF01"):
        league.fail(one)
    assert league.state("REF01") == "ACTIVE"
    assert league.of(e.MatchLost) == []


def test_a_paused_league_takes_no_match_away() -> None:
    league = started()
    league.operate("pause")
    live(league, 300, dead=("REF01",))
    assert league.of(e.MatchLost) == []
    league.operate("resume")
    assert holder(league) == "REF02"


def test_a_ping_is_answered() -> None:
    assert Managed().request(Ping()) == Pong()


# --- referees that die together ---------------------------------------------------------------------------------------


def parked(league: Managed) -> Managed:
    """The only match was played in vain three times."""
    live(league, 640)
    assert league.manager.parked == ("R1M1",)
    return league


@pytest.mark.requirement("REFEREE.lease_unacknowledged")
def test_an_attempt_that_was_never_acknowledged_is_no_attempt() -> None:
    league = Managed(players=2, referees=4).fill()
    league.answer_all(but=[f"REF0{n}" for n in range(1, 5)])
    everybody = ("REF01", "REF02", "REF03", "REF04")
    for alive in everybody[1:]:
        # Each answers a ping while the one before it dies, so that it is given the match, and then dies too.
        live(league, 60, dead=everybody)
        league.query(alive, "GET_STATUS")
    live(league, 60, dead=everybody)
    lost = league.of(e.MatchLost)
    assert len(lost) >= 3
    assert not any(event.counts for event in lost)
    assert league.of(e.MatchParked) == []
    live(league, 60, dead=everybody[:3])
    assert (holder(league), code_of(league.report("R1M1"))) == ("REF04", "")


@pytest.mark.requirement("REFEREE.lease_unacknowledged")
def test_nothing_is_assigned_to_a_referee_whose_last_ping_failed() -> None:
    league = started(players=4, referees=2)
    first, second = sorted(league.open_matches, key=lambda one: str(holder(league, one)))
    league.report(first)
    live(league, 13, dead=("REF01",))
    league.report(second)
    live(league, 2, dead=("REF01",))
    assert (league.state("REF01"), league.manager.ledger.current_round) == ("ACTIVE", 2)
    assert {event.referee_id for event in league.of(e.MatchAssigned)[2:]} == {"REF02"}


@pytest.mark.requirement("REFEREE.lease_unacknowledged")
def test_while_the_last_ping_of_every_referee_failed_a_match_waits_for_one() -> None:
    league = started(players=4, referees=2)
    first, _ = league.open_matches
    league.report(first)
    live(league, 13, dead=("REF01", "REF02"))
    league.operate("replay-match", first)
    assert {league.state("REF01"), league.state("REF02")} == {"ACTIVE"}
    assert league.manager.ledger.matches[first].status == "WAITING"
    league.query("REF02", "GET_STATUS")
    assert (league.manager.ledger.matches[first].status, holder(league, first)) == ("ASSIGNED", "REF02")


@pytest.mark.requirement("REFEREE.lease_taken_up")
def test_a_parked_match_is_taken_up_when_a_referee_comes_back() -> None:
    league = parked(started(referees=2))
    live(league, 25, dead=("REF02",))
    assert (league.state("REF02"), league.manager.parked) == ("SUSPENDED", ("R1M1",))
    league.query("REF02", "GET_STATUS")
    assert league.of(e.MatchUnparked)[-1].key == ""
    assert league.manager.parked == ()
    assert league.manager.ledger.matches["R1M1"].attempt == 4
    live(league, 3)
    assert code_of(league.report("R1M1")) == ""


@pytest.mark.requirement("REFEREE.lease_taken_up")
def test_a_parked_match_is_taken_up_when_a_new_referee_comes() -> None:
    league = parked(started(referees=1))
    league.register("referee", 2)
    assert (league.manager.parked, holder(league)) == ((), "REF02")


@pytest.mark.requirement("REFEREE.lease_taken_up")
def test_a_referee_that_forgets_its_match_at_every_restart_uses_no_attempts_up() -> None:
    league = started(referees=1)
    for attempt in range(2, 7):
        live(league, 6)
        league.register("referee", 1, auth_token=league.tokens["REF01"])
        while not league.calls("ping", "REF01"):
            league.wait(0.5)
        league.answer(league.calls("ping", "REF01")[0], Pong(()))
        assert league.manager.ledger.matches["R1M1"].attempt == attempt
        live(league, 1)
    assert league.of(e.MatchParked) == []
