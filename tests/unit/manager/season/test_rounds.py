"""Rounds: the announcement, the lead, who gets which match, one round after another, the end."""

from __future__ import annotations

from collections import Counter

import pytest

from league import events as e
from league.machine import Blame, Failure, Pong, Refusal
from league.protocol.message.messages import LeagueCompleted, RoundAnnouncement, RoundCompleted
from league.protocol.signing import tokens
from tests.support.managed import LEAGUE, Managed, code_of, matches_in, plain


@pytest.mark.requirement("ROUND.announced_to_all")
@pytest.mark.requirement("ROUND.copies")
def test_players_are_told_the_whole_round_and_referees_their_own_matches() -> None:
    league = Managed(players=6, referees=2).fill()
    copies = league.calls("ROUND_ANNOUNCEMENT")
    assert [one.to.agent_id for one in copies] == [f"P0{n}" for n in range(1, 7)]
    assert {tuple(matches_in(one.message)) for one in copies} == {("R1M1", "R1M2", "R1M3")}
    league.answer_all()
    mine = {one.to.agent_id: matches_in(one.message) for one in league.sent if one.to.agent_id.startswith("REF")
            if one.kind == "ROUND_ANNOUNCEMENT"}  # fmt: skip
    assert sorted(match_id for matches in mine.values() for match_id in matches) == ["R1M1", "R1M2", "R1M3"]
    assert sorted(map(len, mine.values())) == [1, 2]


@pytest.mark.requirement("TOKEN.never_to_players")
def test_the_players_copy_holds_nothing_that_is_meant_for_referees() -> None:
    league = Managed(players=2).fill()
    (match,) = plain(league.calls("ROUND_ANNOUNCEMENT", "P01")[0].message)["matches"]  # type: ignore[arg-type]
    names = {"player_A_name", "player_B_name"}
    assert set(match) == {"match_id", "game_type", "player_A_id", "player_B_id", "referee_endpoint", *names}


@pytest.mark.requirement("ROUND.assignment_complete")
def test_a_referees_copy_holds_all_it_needs() -> None:
    league = Managed(players=2, move_seconds=7.0, retry_delays_s=(1.0, 2.0, 4.0)).fill()
    league.answer_all(kind="ROUND_ANNOUNCEMENT", but=["REF01"])
    (one,) = league.calls("ROUND_ANNOUNCEMENT", "REF01")
    (match,) = plain(one.message)["matches"]  # type: ignore[arg-type]
    key = tokens.deriver(league.tokens["P01"])
    derived = tokens.derive(key, "P01", "REF01", LEAGUE, "R1M1", 1)
    assert match["referee_id"] == "REF01"
    assert match["player_A_endpoint"] == "http://127.0.0.1:8101/mcp"
    assert match["player_A_standings"] == {"wins": 0, "losses": 0, "draws": 0, "points": 0}
    assert match["player_A_token"] == tokens.derive(key, "REF01", "P01", LEAGUE, "R1M1", 1)
    assert match["player_A_answers"] == [tokens.verifier(league.tokens["P01"]), tokens.verifier(derived)]
    assert (match["attempt"], match["move_seconds"], match["retry_delays_s"]) == (1, 7.0, [1.0, 2.0, 4.0])
    assert one.to.token == tokens.derive(tokens.deriver(league.tokens["REF01"]), "league_manager", "REF01", LEAGUE)


def test_a_broadcast_is_one_call_with_one_message_for_all() -> None:
    league = Managed(players=8).fill()
    (announcement,) = [one for one in league.outgoing if isinstance(one.message, RoundAnnouncement)]
    assert len(announcement.to) == 8


@pytest.mark.requirement("ROUND.players_first")
def test_referees_wait_until_the_calls_to_players_have_ended() -> None:
    league = Managed(players=3).fill()
    first, second, third = league.calls("ROUND_ANNOUNCEMENT")
    league.answer(first)
    league.answer(second, Refusal("E099", "no"))
    assert league.of(e.AssignmentsSent) == []
    league.fail(third)
    assert [event.round_id for event in league.of(e.AssignmentsSent)] == [1]
    assert len(league.calls("ROUND_ANNOUNCEMENT", "REF01")) == 1


def test_a_silent_player_holds_up_the_round_for_a_second_at_most() -> None:
    league = Managed(players=2).fill()
    league.wait(0.9)
    assert league.of(e.AssignmentsSent) == []
    league.wait(0.1)
    assert len(league.of(e.AssignmentsSent)) == 1


def test_a_silent_player_that_was_told_later_is_waited_for_as_long() -> None:
    league = Managed(players=2, double=True).fill()
    league.answer_all()
    league.report("R1M1")
    for player, waited_s in (("P01", 0.5), ("P02", 1.0)):
        while len(league.told(player, "ROUND_ANNOUNCEMENT")) < 2:
            league.answer(next(one for one in league.under_way.values() if one.to.agent_id == player))
        league.wait(waited_s - 0.001)
        assert len(league.of(e.AssignmentsSent)) == 1
        league.wait(0.001)
    assert len(league.of(e.AssignmentsSent)) == 2


@pytest.mark.requirement("ROUND.official_lead")
def test_an_official_league_has_a_minutes_lead() -> None:
    league = Managed(players=2, announcement_lead_s=60.0).fill()
    league.answer_all()
    for _ in range(59):
        league.wait(1)
        league.answer_pings()
    assert league.of(e.AssignmentsSent) == []
    league.wait(1)
    assert len(league.of(e.AssignmentsSent)) == 1


def test_whoever_did_not_answer_the_last_broadcast_is_not_waited_for() -> None:
    league = Managed(players=4).fill()
    league.answer_all(but=["P04"])
    league.wait(1)
    league.answer_all(but=["P04"])
    league.fail(league.calls("ROUND_ANNOUNCEMENT", "P04")[0])
    for match_id in league.open_matches:
        league.report(match_id)
    assert league.manager.ledger.current_round == 2
    assert len(league.of(e.AssignmentsSent)) == 1
    league.answer_all(but=["P04"])
    assert len(league.of(e.AssignmentsSent)) == 2


@pytest.mark.requirement("ROUND.repeated")
def test_an_announcement_is_repeated_three_times_two_seconds_apart() -> None:
    league = Managed(players=2).fill()
    league.answer_all(but=["P01"])
    times = []
    while calls := league.calls("ROUND_ANNOUNCEMENT", "P01"):
        times.append(league.now)
        league.fail(calls[0])
        league.wait(2)
    start = times[0]
    assert [moment - start for moment in times] == [0, 2, 4, 6]


def test_a_busy_player_is_asked_again_when_it_said_and_without_counting() -> None:
    league = Managed(players=2).fill()
    league.fail(league.calls("ROUND_ANNOUNCEMENT", "P01")[0], Failure.BUSY, retry_after=7.0)
    league.wait(6.9)
    assert league.calls("ROUND_ANNOUNCEMENT", "P01") == []
    league.wait(0.1)
    assert len(league.calls("ROUND_ANNOUNCEMENT", "P01")) == 1
    assert league.manager._calls.peers["P01"].breaker.failures == 0


def test_only_the_first_announcement_has_names_which_tables_have_later() -> None:
    league = Managed(players=2, double=True).fill()
    league.play()
    names = {
        (match.match_id, match.player_A_name, match.player_B_name)
        for told in league.outgoing
        if isinstance(told.message, RoundAnnouncement)
        for match in told.message.matches
        if match.referee_id is None
    }
    assert names == {("R1M1", "Player 1", "Player 2"), ("R2M1", None, None)}


def test_an_announcement_that_a_player_did_not_understand_is_not_repeated() -> None:
    league = Managed(players=2).fill()
    league.answer_all(but=["P01"])
    (call,) = league.calls("ROUND_ANNOUNCEMENT", "P01")
    league.fail(call, Failure.NOT_UNDERSTOOD)
    assert league.calls("ROUND_ANNOUNCEMENT", "P01") == []
    assert league.manager.ledger.roster.members["P01"].convention == "SPEC"


@pytest.mark.parametrize(
    ("answered_without_json_rpc", "order"),
    [
        (False, ["SPEC", "TYPE", "TOOLS", "NESTED", "BARE", "LOWER"]),
        (True, ["SPEC", "BARE", "TYPE", "TOOLS", "NESTED", "LOWER"]),
    ],
)
def test_an_assignment_that_was_not_understood_is_sent_in_every_other_convention_at_once(
    answered_without_json_rpc: bool, order: list[str]
) -> None:
    league = Managed(players=2).fill()
    league.answer_all(but=["REF01"])
    tried = []
    while calls := league.calls("ROUND_ANNOUNCEMENT", "REF01"):
        tried.append(calls[0].to.convention.name)
        if answered_without_json_rpc:
            league.fail(calls[0], Failure.NOT_UNDERSTOOD)
        else:
            league.answer(calls[0], Refusal("E036", "no such method", understood=False))
    assert tried == order
    assert league.manager.ledger.roster.members["REF01"].convention == "SPEC"
    assert not league.of(e.ConventionLearned)


def test_a_call_we_slept_through_is_repeated_at_once_and_does_not_count() -> None:
    league = Managed(players=2).fill()
    for _ in range(9):
        league.fail(league.calls("ROUND_ANNOUNCEMENT", "P01")[0], Failure.TIMEOUT, Blame.LOCAL)
    assert len(league.calls("ROUND_ANNOUNCEMENT", "P01")) == 1


# --- assignments ------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("SCHEDULE.fit_referee")
def test_matches_are_spread_evenly_by_capacity() -> None:
    league = Managed(players=20, referees=3)
    for number, capacity in ((1, 1), (2, 2), (3, 7)):
        league.register("referee", number, max_concurrent_matches=capacity)
    league.fill(referees=0)
    held = Counter(event.referee_id for event in league.of(e.MatchAssigned))
    assert held == {"REF01": 1, "REF02": 2, "REF03": 7}


def test_a_referee_without_a_number_takes_one_match_at_a_time() -> None:
    league = Managed(players=2)
    league.register("referee", 1, max_concurrent_matches=None)
    assert league.manager.ledger.roster.members["REF01"].as_referee.capacity == 1


def test_a_referee_with_many_matches_gets_them_in_several_messages() -> None:
    league = Managed(players=242).fill()
    league.answer_all(but=["REF01"])
    copies = league.calls("ROUND_ANNOUNCEMENT", "REF01")
    assert [len(matches_in(one.message)) for one in copies] == [100, 21]


def test_an_assignment_is_repeated_until_it_is_acknowledged() -> None:
    league = Managed(players=2).fill()
    league.answer_all(but=["REF01"])
    for pause in (2, 2, 2):
        league.fail(league.calls("ROUND_ANNOUNCEMENT", "REF01")[0])
        league.wait(pause)
        league.answer_pings()
    league.fail(league.calls("ROUND_ANNOUNCEMENT", "REF01")[0])
    while not (pings := league.calls("ping", "REF01")):
        league.wait(1)
    assert league.calls("ROUND_ANNOUNCEMENT", "REF01") == []
    league.answer(pings[0], Pong(()))
    (again,) = league.calls("ROUND_ANNOUNCEMENT", "REF01")
    assert matches_in(again.message) == ["R1M1"]
    league.answer(again)
    league.wait(10)
    assert league.calls("ROUND_ANNOUNCEMENT", "REF01") == []
    assert [event.attempt for event in league.of(e.MatchAssigned)] == [1]


def test_a_referee_that_lists_nothing_is_not_sent_again_what_it_may_have_heard() -> None:
    for failure, again in ((Failure.TIMEOUT, 0), (Failure.REFUSED, 1)):
        league = Managed(players=2).fill()
        league.answer_all(but=["REF01"])
        while calls := league.calls("ROUND_ANNOUNCEMENT", "REF01"):
            league.fail(calls[0], failure)
            league.wait(2)
        while not (pings := league.calls("ping", "REF01")):
            league.wait(1)
        league.answer(pings[0], Pong(None))
        assert len(league.calls("ROUND_ANNOUNCEMENT", "REF01")) == again


# --- one after another ------------------------------------------------------------------------------------------------


@pytest.mark.requirement("ROUND.in_order")
def test_the_next_round_opens_as_soon_as_the_last_one_is_finished() -> None:
    league = Managed(players=4).fill()
    league.answer_all()
    for match_id in league.open_matches:
        league.report(match_id)
    assert [type(event) for event in league.events if isinstance(event, e.RoundOpened | e.RoundFinished)] == [
        e.RoundOpened,
        e.RoundFinished,
        e.RoundOpened,
    ]
    league.answer_all()
    assert len(league.told("P01", "ROUND_ANNOUNCEMENT")) == 2


@pytest.mark.requirement("ROUND.completed_after_all_results")
@pytest.mark.requirement("ROUND.counts_agree")
@pytest.mark.requirement("ROUND.last")
def test_round_completed_counts_and_names_the_next_round() -> None:
    league = Managed(players=6).fill()
    league.answer_all()
    for match_id, winner in zip(league.open_matches, ("A", None, "--"), strict=True):
        assert league.told("P01", "ROUND_COMPLETED") == []
        league.report(match_id, winner)
    league.wait(1)
    league.answer_all()
    first = plain(league.told("P01", "ROUND_COMPLETED")[0].message)  # type: ignore[arg-type]
    assert first["matches_completed"] == first["matches_played"] == 3
    assert first["summary"] == {"total_matches": 3, "wins": 1, "draws": 1, "technical_losses": 1}
    assert (first["round_id"], first["next_round_id"]) == (1, 2)
    league.play()
    completed = [one.message for one in league.told("REF01", "ROUND_COMPLETED")]
    numbers = [(one.round_id, one.next_round_id) for one in completed if isinstance(one, RoundCompleted)]
    assert numbers == [(1, 2), (2, 3), (3, 4), (4, 5), (5, None)]


@pytest.mark.requirement("LEAGUE.completed_once")
@pytest.mark.requirement("LEAGUE.champion")
@pytest.mark.requirement("LEAGUE.final_table")
def test_the_league_ends_once_and_everybody_is_told_last() -> None:
    league = Managed(players=4).fill()
    league.play()
    (finished,) = league.of(e.LeagueFinished)
    for agent in ("P01", "P02", "P03", "P04", "REF01"):
        last = league.told(agent)[-1].message
        assert isinstance(last, LeagueCompleted)
        assert (last.total_rounds, last.total_matches) == (3, 6)
        assert last.champion.player_id == finished.champion == last.final_standings[0].player_id
        rows, table = plain(last)["final_standings"], [plain(row) for row in league.manager.standings]  # type: ignore[arg-type]
        assert rows == table
        assert len(league.told(agent, "LEAGUE_COMPLETED")) == 1
        assert league.state(agent) == "SHUTDOWN"
    assert league.manager.has_notified_everybody
    league.wait(10_000)
    assert league.manager.deadline is None


@pytest.mark.requirement("LEAGUE.completed_repetition")
@pytest.mark.parametrize(
    ("failure", "blame", "times"),
    [
        (Failure.REFUSED, Blame.PEER, 4),
        (Failure.TIMEOUT, Blame.PEER, 1),
        (Failure.BROKEN, Blame.PEER, 1),
        (Failure.TIMEOUT, Blame.LOCAL, 1),
    ],
)
def test_only_a_refused_connection_lets_the_end_be_told_again(failure: Failure, blame: Blame, times: int) -> None:
    league = Managed(players=2).fill()
    league.answer_all()
    league.report("R1M1")
    while not league.calls("LEAGUE_COMPLETED", "P01"):
        league.answer_all(but=["P01"])
        for one in league.calls(to="P01"):
            if one.kind != "LEAGUE_COMPLETED":
                league.answer(one)
        league.wait(0.5)
    while calls := league.calls("LEAGUE_COMPLETED", "P01"):
        league.fail(calls[0], failure, blame)
        league.wait(2)
    assert len(league.told("P01", "LEAGUE_COMPLETED")) == times
    assert league.state("P01") == "SHUTDOWN"


def test_a_league_of_every_size_is_played_to_its_end() -> None:
    for players in (2, 3, 5, 8):
        league = Managed(players=players, referees=2, double=players == 5).fill()
        league.play()
        assert league.manager.ledger.undecided == 0


# --- who is told, and who will play -----------------------------------------------------------------------------------


@pytest.mark.requirement("ROUND.announced_to_referees")
def test_a_referee_without_a_match_in_a_round_is_told_of_it_too() -> None:
    league = Managed(players=2, referees=3, double=True).fill()
    league.play()
    told = {one: league.told(one, "ROUND_ANNOUNCEMENT") for one in ("REF01", "REF02", "REF03")}
    assert {one: [matches_in(sent.message) for sent in copies] for one, copies in told.items()} == {
        "REF01": [["R1M1"], ["R2M1"]],
        "REF02": [[], []],
        "REF03": [[], []],
    }
    assert [plain(one.message)["round_id"] for one in told["REF03"]] == [1, 2]  # type: ignore[arg-type]
    kinds = [one.kind for one in league.told("REF02")]
    assert kinds == ["ROUND_ANNOUNCEMENT", "ROUND_COMPLETED"] * 2 + ["LEAGUE_COMPLETED"]


@pytest.mark.requirement("ROUND.announced_to_referees")
def test_a_referee_whose_only_match_is_a_walkover_is_told_of_the_round() -> None:
    league = Managed(players=4, referees=2).fill()
    league.answer_all()
    assert league.manager.ledger.matches["R2M2"].referee_id == "REF02"
    league.operate("withdraw", "P04")
    league.play()
    assert [matches_in(one.message) for one in league.told("REF02", "ROUND_ANNOUNCEMENT")] == [["R1M2"], [], []]


def test_a_referee_that_comes_during_a_round_is_told_of_it() -> None:
    league = Managed(players=2).fill()
    league.answer_all()
    league.register("referee", 2)
    assert [matches_in(one.message) for one in league.calls("ROUND_ANNOUNCEMENT", "REF02")] == [[]]


def test_who_holds_up_nothing_by_not_answering_an_announcement_without_matches() -> None:
    league = Managed(players=2, referees=2).fill()
    league.answer_all(but=["REF02"])
    assert len(league.of(e.AssignmentsSent)) == 1


@pytest.mark.requirement("SCHEDULE.referees_named")
def test_referees_are_named_when_the_schedule_is_made_and_play_what_they_were_named_for() -> None:
    league = Managed(players=6, referees=2).fill()
    (named,) = league.of(e.RefereesNamed)
    assert set(named.referees) == set(league.manager.ledger.matches)
    counts = Counter(named.referees.values())
    # Three matches a round: each referee gets one or two of them.
    assert counts.total() == 15
    assert all(5 <= counts[referee] <= 10 for referee in ("REF01", "REF02"))
    league.play()
    assert {event.match_id: event.referee_id for event in league.of(e.MatchAssigned)} == named.referees


@pytest.mark.requirement("SCHEDULE.referees_named")
def test_matches_of_the_rounds_to_come_are_shared_out_anew_when_a_referee_comes_or_dies() -> None:
    league = Managed(players=4, referees=1).fill()
    league.answer_all()
    league.register("referee", 2)
    later = [event.referees for event in league.of(e.RefereesNamed)][1:]
    assert later == [{"R2M2": "REF02", "R3M2": "REF02"}]
    league.answer_pings()
    for _ in range(30):
        league.wait(1)
        league.answer_pings(but=["REF02"])
        league.answer_all(but=["REF02"])
        for one in league.calls(to="REF02"):
            league.fail(one)
    assert league.state("REF02") == "SUSPENDED"
    assert league.of(e.RefereesNamed)[-1].referees == {"R2M2": "REF01", "R3M2": "REF01"}
    league.restart()
    assert len(league.of(e.RefereesNamed)) == 3
    assert league.manager.ledger.matches["R2M2"].referee_id == "REF01"


def test_a_match_is_not_held_by_the_referee_that_is_only_named_for_it() -> None:
    league = Managed(players=4).fill()
    league.answer_all()
    ahead = league.report_of("R2M1") | {"attempt": 1}
    assert code_of(league.request(ahead)) == "E016"


@pytest.mark.requirement("ROUND.official_lead")
def test_the_lead_of_a_later_round_counts_from_its_announcement() -> None:
    league = Managed(players=2, double=True, announcement_lead_s=60.0).fill()
    for _ in range(60):
        league.answer_all()
        league.wait(1)
    league.report("R1M1")
    league.wait(1.5)
    league.answer_all()
    announced_at = league.told("P01", "ROUND_ANNOUNCEMENT")[-1].at
    while len(league.of(e.AssignmentsSent)) < 2:
        league.wait(0.5)
        league.answer_pings()
    assert league.of(e.AssignmentsSent)[-1].at - announced_at == pytest.approx(60.0)
