"""Watched matches: the manager names them in its pings, and shows what their referees tell."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from league.machine import LiveMatch, MatchNews, Pong, Watch
from league.manager.telling.live import LOOK_S, WATCHED_S
from tests.support.managed import Managed, code_of

SEEN = LiveMatch(joined=("P01", "P02"), turns=({"P01": "4"},))


def started(*, is_live: bool = True, **changed: Any) -> Managed:
    """A league that has begun; its referee declares `live.v1`, or it does not."""
    league = Managed(players=2, referees=1, game_type="tic_tac_toe", **changed)
    league.is_live = is_live
    for role, number in (("referee", 1), ("player", 1), ("player", 2)):
        league.register(role, number, game_types=["tic_tac_toe"])
        league.answer_pings()
    league.answer_all(but=["REF01"])
    for one in league.calls("ROUND_ANNOUNCEMENT"):
        league.answer(one)
    league.answer_pings()
    return league


def watch(league: Managed, *match_ids: str) -> None:
    league.take(league.manager.watch(match_ids or ("R1M1",), league.now))


def named(league: Managed) -> list[tuple[str, ...]]:
    """What the pings have named so far."""
    return [one.message.match_ids for one in league.sent if isinstance(one.message, Watch)]


def tell(league: Managed, live: LiveMatch = SEEN, match_id: str = "R1M1", attempt: int = 1, token: str = "") -> object:
    return league.request(MatchNews(match_id, attempt, live, token or league.tokens["REF01"]))


def test_a_watched_match_is_named_at_once_and_with_every_ping() -> None:
    league = started()
    watch(league)
    assert named(league) == [("R1M1",)]
    league.answer_pings()
    watch(league)
    assert len(named(league)) == 1
    for _ in range(10):
        league.wait(1)
        league.answer_pings()
    assert len(named(league)) == 3


def test_nothing_is_named_to_a_referee_that_does_not_declare_it() -> None:
    league = started(is_live=False)
    watch(league)
    for _ in range(10):
        league.wait(1)
        league.answer_pings()
    assert named(league) == []


def test_a_match_is_watched_for_a_while_only() -> None:
    league = started()
    watch(league)
    tell(league)
    for _ in range(int(WATCHED_S) + 1):
        league.wait(1)
        league.answer_pings()
    count = len(named(league))
    assert league.manager.live.seen.get("R1M1") is None
    for _ in range(10):
        league.wait(1)
        league.answer_pings()
    assert len(named(league)) == count


def test_a_match_that_is_watched_before_its_league_starts_is_named_when_it_is_given_out() -> None:
    league = Managed(players=2, referees=1, start="manual").fill()
    league.operate("start")
    watch(league)
    league.answer_pings()
    league.answer_all(but=["REF01"])
    league.wait(LOOK_S)
    league.answer_pings()
    league.wait(LOOK_S)
    assert named(league) == [("R1M1",)]


def test_news_are_shown_and_not_journalled() -> None:
    league = started()
    watch(league)
    events = len(league.events)
    before = league.manager.sights
    assert tell(league) == Pong()
    assert league.manager.live.seen.get("R1M1") == SEEN
    assert league.manager.sights > before
    assert len(league.events) == events
    league.restart()
    assert league.manager.live.seen.get("R1M1") is None


def test_news_of_a_match_that_nobody_watches_are_dropped() -> None:
    league = started()
    assert tell(league) == Pong()
    assert league.manager.live.seen.get("R1M1") is None


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"token": "tok_REF01_x"}, "E012"),
        ({"match_id": "R9M9"}, "E014"),
        ({"attempt": 2}, "E014"),
        ({"live": LiveMatch(joined=("P03",))}, "E035"),
        ({"live": LiveMatch(turns=({"P03": "4"},))}, "E035"),
        ({"live": LiveMatch(turns=({"P01": "4"},) * 10)}, "E035"),
        ({"live": LiveMatch(clock={"P03": 1.0})}, "E035"),
        ({"live": LiveMatch(turns=({"P01": "4\n"},))}, "E035"),
        ({"live": LiveMatch(turns=({"P01": "4" * 300},))}, "E035"),
        ({"live": LiveMatch(board={"cells": 7})}, "E035"),
    ],
)
def test_news_that_cannot_be_are_refused(changed: dict[str, Any], code: str) -> None:
    league = started()
    watch(league)
    assert code_of(tell(league, **changed)) == code
    assert league.manager.live.seen.get("R1M1") is None


def test_a_player_cannot_tell_news() -> None:
    league = started()
    watch(league)
    assert code_of(tell(league, token=league.tokens["P01"])) == "E014"


def test_moves_of_a_game_that_hides_something_are_refused() -> None:
    league = Managed(players=2, referees=1).fill()
    league.answer_all(but=["REF01"])
    for one in league.calls("ROUND_ANNOUNCEMENT"):
        league.answer(one)
    league.answer_pings()
    watch(league)
    assert code_of(tell(league, LiveMatch(turns=({"P01": "even", "P02": "odd"},)))) == "E035"
    assert code_of(tell(league, LiveMatch(draws=(7,)))) == "E035"
    assert tell(league, LiveMatch(answered=("P01",))) == Pong()


def test_a_league_that_nobody_watches_runs_no_instruction_of_it() -> None:
    files = set()
    league = started()
    sys.setprofile(lambda frame, *_: files.add(frame.f_code.co_filename))
    try:
        league.wait(20)
        league.report("R1M1")
    finally:
        sys.setprofile(None)
    assert not any(file.endswith("manager/telling/live.py") for file in files)
