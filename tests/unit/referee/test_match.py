"""A referee that dies at any moment plays on as if nothing had happened: same seed, same faults, same result."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from league import events as e
from league.machine import Failure
from league.protocol.message.messages import ChooseParityCall, GameError, GameInvitation, GameOver, MatchResultReport
from tests.support.referee_rig import LEAGUE, ME, START, TOKEN, Rig, announced, code_of, plain

# Each script answers whatever is asked, as often as it is asked, until the report is in.
Script = Callable[[Rig, str, int], None]
"""What a player does about its question; the number counts the questions it got in this phase, over all lives."""


def honest(rig: Rig, player: str, asked: int) -> None:
    """Joins and chooses at once."""
    kind = rig.question(player).message.type
    game = rig.desk.matches["R1M1", 1].taken.game_type
    choices = {"even_odd": {"P01": "even", "P02": "odd"}, "rock_paper_scissors": {"P01": "rock", "P02": "paper"}}
    if kind == "GAME_INVITATION":
        rig.joins(player)
    elif game == "tic_tac_toe":
        request = plain(rig.question(player).message)["move_request"]
        rig.chooses(player, request["valid_options"][0])
    else:
        rig.chooses(player, choices[game][player])


def silent(rig: Rig, player: str, asked: int) -> None:
    """Never answers."""


def hesitant(rig: Rig, player: str, asked: int) -> None:
    """Breaks the connection twice, then answers wrong twice, then right."""
    if asked <= 2:
        rig.breaks(player)
    elif asked <= 4:
        rig.says(player, b"banana")
    else:
        honest(rig, player, asked)


def hopeless(rig: Rig, player: str, asked: int) -> None:
    """Joins, and then talks nonsense."""
    if rig.question(player).message.type == "GAME_INVITATION":
        rig.joins(player)
    else:
        rig.says(player, b"banana")


def declining(rig: Rig, player: str, asked: int) -> None:
    rig.says(player, rig.joining(player, accept=False))


def play(rig: Rig, scripts: dict[str, Script]) -> Rig:
    """Until the report is acknowledged."""
    answered: set[str] = set()
    for _ in range(2_000):
        if rig.of(e.ReportSettled):
            return rig
        for sent in list(rig.under_way.values()):
            player, kind = sent.to.agent_id, sent.message.type
            if kind == "GAME_OVER":
                rig.hears_game_over(player)
            elif kind == "MATCH_RESULT_REPORT":
                rig.acknowledge()
            elif player in scripts and kind != "GAME_ERROR" and (life := f"{rig.lives}/{sent.key}") not in answered:
                answered.add(life)
                scripts[player](rig, player, _trouble(rig, player) + 1)
        rig.wait(0.5)
    raise AssertionError("the match does not end")


def _trouble(rig: Rig, player: str) -> int:
    """What is on record against this player in this phase."""
    match = rig.desk.matches["R1M1", 1]
    seated = match.seated[match.taken.players.index(player)]
    return seated.failed + seated.wrong


STORIES: dict[str, tuple[str, dict[str, Script]]] = {
    "honest": ("even_odd", {"P01": honest, "P02": honest}),
    "hesitant": ("even_odd", {"P01": honest, "P02": hesitant}),
    "a silent player": ("even_odd", {"P01": honest, "P02": silent}),
    "two silent players": ("even_odd", {"P01": silent, "P02": silent}),
    "nonsense": ("even_odd", {"P01": hopeless, "P02": honest}),
    "nonsense of both": ("even_odd", {"P01": hopeless, "P02": hopeless}),
    "declined": ("even_odd", {"P01": declining, "P02": hesitant}),
    "throws": ("rock_paper_scissors", {"P01": hesitant, "P02": honest}),
    "cells": ("tic_tac_toe", {"P01": honest, "P02": honest}),
}


def started(story: str) -> Rig:
    return Rig().given(announced(game_type=STORIES[story][0]))


def outcome(rig: Rig) -> tuple[object, ...]:
    """The result, and all that led to it; two players' troubles may come in another order."""
    decided = rig.decided
    troubles: tuple[e.PlayerFaulted | e.AttemptFailed | e.WrongAnswer, ...] = (
        *rig.of(e.PlayerFaulted),
        *rig.of(e.AttemptFailed),
        *rig.of(e.WrongAnswer),
    )
    return (
        (decided.status, decided.winner, decided.points, decided.game_result, decided.details),
        Counter((type(one).__name__, one.player_id, one.phase, one.turn, one.code, one.detail) for one in troubles),
        sorted((one.turn, one.player_id, one.choice) for one in rig.of(e.MoveMade)),
    )


@pytest.mark.requirement("MATCH.one_draw_per_attempt")
@pytest.mark.parametrize("story", STORIES)
def test_a_restart_after_any_event_changes_nothing_of_the_match(story: str) -> None:
    scripts = STORIES[story][1]
    whole = play(started(story), scripts)
    expected = outcome(whole)
    first = next(place for place, event in enumerate(whole.journal) if isinstance(event, e.MatchTaken)) + 1
    for upto in range(first, len(whole.journal) + 1):
        rig = Rig(journal=whole.journal[:upto], secrets=dict(whole.secrets))
        rig.t = whole.journal[upto - 1].at - START
        play(rig.restart(), scripts)
        assert outcome(rig) == expected, upto
        assert len(rig.of(e.NumberDrawn)) <= 1
        assert len(rig.of(e.MatchDecided)) == 1
        assert len(rig.of(e.MatchTaken)) == 1


@pytest.mark.parametrize("story", STORIES)
def test_replaying_any_part_of_the_journal_gives_the_state_of_that_moment(story: str) -> None:
    rig = play(started(story), STORIES[story][1])
    again = Rig(journal=rig.journal, secrets=rig.secrets)
    snapshots = []
    desk = again.replayed(0)
    for event in rig.journal:
        desk.apply(event)
        snapshots.append(desk.snapshot())
    assert snapshots[-1] == rig.desk.snapshot()
    for upto in range(1, len(rig.journal) + 1):
        assert again.replayed(upto).snapshot() == snapshots[upto - 1]


def test_a_restarted_referee_keeps_its_registration_and_invites_again() -> None:
    rig = Rig().given().wait(3).restart()
    assert rig.times("REFEREE_REGISTER_REQUEST", "league_manager") == [0]
    assert rig.times("GAME_INVITATION", "P01") == [0, 3]
    assert rig.question("P01").deadline == 8
    first, second = rig.said(GameInvitation, "P01")
    assert first.draw_commitment == second.draw_commitment
    assert rig.question("P01").to.token is not None


def test_joined_players_stay_joined_and_choices_stay() -> None:
    rig = Rig().given().joins("P01").restart()
    assert not rig.asked("P01")
    rig.joins("P02").chooses("P02", "odd").wait(20).restart()
    assert not rig.asked("P02")
    assert rig.question("P01").deadline == 50
    rig.chooses("P01", "even")
    assert rig.decided.game_result["choices"] == {"P01": "even", "P02": "odd"}


def test_an_attempt_that_was_open_is_repeated_with_a_fresh_limit_and_costs_nothing() -> None:
    rig = Rig().given().joins("P01", "P02").chooses("P01", "even").until(45).restart()
    assert rig.question("P02").deadline == 75
    assert [one.retry for one in rig.of(e.AttemptFailed)] == [1]
    rig.until(75)
    assert [one.retry for one in rig.of(e.AttemptFailed)] == [1, 2]


def test_a_pause_goes_on_where_it_was() -> None:
    rig = Rig().given().joins("P01").until(6).restart()
    assert not rig.asked("P02")
    rig.until(7)
    assert rig.question("P02").deadline == 12
    rig.until(12.5).restart(upto=None).until(13.9)
    assert not rig.asked("P02")
    rig.until(14)
    assert rig.asked("P02")


def test_a_clock_that_was_set_back_does_not_lengthen_a_pause() -> None:
    rig = Rig().given().joins("P01").until(6)
    rig.t = -1_000.0
    rig.restart().until(-998)
    assert rig.asked("P02")


def test_wrong_answers_are_not_forgotten() -> None:
    rig = Rig().given().joins("P01", "P02").chooses("P01", "even").says("P02", b"banana").says("P02", b"apple")
    rig.until(20).restart()
    assert rig.question("P02").deadline == 50
    rig.says("P02", b"cherry").says("P02", b"date").until(60)
    assert rig.decided.winner == "P01"
    assert [one.left for one in rig.of(e.WrongAnswer)] == [3, 2, 1, 0]


def test_the_decided_result_goes_out_again_as_it_was() -> None:
    rig = Rig().given().joins("P01", "P02").chooses("P01", "even").chooses("P02", "odd").wait(3).restart()
    first, _, third, _ = rig.said(GameOver)
    assert first == third
    assert len(rig.of(e.NumberDrawn)) == 1
    rig.hears_game_over("P01", "P02")
    assert rig.said(MatchResultReport)[0].timestamp == first.timestamp


def test_once_both_have_been_told_only_the_report_goes_out_again() -> None:
    rig = Rig().given().joins("P01", "P02").chooses("P01", "even").chooses("P02", "odd").hears_game_over("P01", "P02")
    rig.wait(3).restart()
    assert len(rig.said(GameOver)) == 2
    assert rig.times("MATCH_RESULT_REPORT", "league_manager") == [0, 3]


def test_a_settled_match_stays_settled() -> None:
    rig = Rig().given().plays()
    sent = len(rig.sent)
    rig.restart()
    assert len(rig.sent) == sent
    assert code_of(rig.announce(announced())) == ""
    assert len(rig.of(e.MatchTaken)) == 1


@pytest.mark.requirement("MATCH.capacity")
def test_places_and_queue_survive() -> None:
    matches = [announced("R1M1", "P01", "P02"), announced("R1M2", "P03", "P04"), announced("R1M3", "P05", "P06")]
    rig = Rig(capacity=1).given(*matches)
    rig.joins("P01", "P02").chooses("P01", "even").chooses("P02", "odd").restart()
    assert not rig.asked("P03")
    rig.hears_game_over("P01", "P02").restart()
    assert rig.asked("P03")
    assert not rig.asked("P05")
    assert [one.match_id for one in rig.of(e.MatchBegun)] == ["R1M1", "R1M2"]


def test_a_restart_between_taking_and_beginning_begins() -> None:
    rig = Rig().given()
    upto = rig.journal.index(rig.of(e.MatchBegun)[0])
    rig.restart(upto)
    assert len(rig.of(e.MatchBegun)) == 1
    assert rig.asked("P01")


def test_a_busy_wait_starts_anew_after_a_restart_and_nothing_is_counted() -> None:
    rig = Rig().given().joins("P01").breaks("P02", Failure.BUSY, retry_after=40.0).until(10).restart()
    assert rig.question("P02").at == 10
    assert rig.said(GameError) == []
    assert rig.joins("P02").said(ChooseParityCall)


def test_nothing_secret_is_needed_to_replay() -> None:
    rig = Rig().given().plays()
    bare = Rig(journal=rig.journal, secrets={})
    assert bare.replayed().snapshot() == rig.desk.snapshot()
    assert (LEAGUE in str(rig.journal), ME in str(rig.journal), TOKEN in str(rig.journal)) == (True, True, False)
