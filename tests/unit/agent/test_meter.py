"""What /metrics shows of a match, and when: nothing before it is over."""

from __future__ import annotations

import pytest

from league import events as e
from league.agent.watch import OPEN_KEPT, Meter
from league.protocol.envelope import Unsealed


def begun(match_id: str = "R1M1") -> e.MatchBegun:
    return e.MatchBegun(at=1.0, match_id=match_id, attempt=1)


def moved(match_id: str = "R1M1") -> e.MoveMade:
    return e.MoveMade(at=2.0, match_id=match_id, attempt=1, player_id="P01", turn=1, choice="even")


def dropped(match_id: str = "R1M1") -> e.MatchDropped:
    return e.MatchDropped(at=3.0, match_id=match_id, attempt=1, why="")


def invited(match_id: str = "R1M1") -> e.InvitationAnswered:
    return e.InvitationAnswered(
        at=1.0,
        match_id=match_id,
        attempt=1,
        game_type="even_odd",
        opponent_id="P02",
        role="PLAYER_A",
        accepted=True,
        round_id=1,
        referee_id="REF01",
        conversation_id="conv",
    )


def wrong(match_id: str) -> e.WrongAnswer:
    return e.WrongAnswer(
        at=2.0,
        match_id=match_id,
        attempt=1,
        player_id="P01",
        phase="move",
        turn=1,
        code="E004",
        detail="",
        left=1,
    )


def count_everything(meter: Meter, match_id: str = "R1M1") -> None:
    """All that an answer of a player makes a shell count."""
    read = Unsealed("CHOOSE_PARITY_RESPONSE", None)
    meter.call_ended("CHOOSE_PARITY_CALL", ("P01", "conv"), "timeout", match_id)
    meter.call_ended("CHOOSE_PARITY_CALL", ("P01", "conv"), "answered", match_id, read, 0.2)
    meter.answered("CHOOSE_PARITY_CALL", "ok", read, 0.2, match_id)
    meter.happened([moved(match_id), wrong(match_id)])


@pytest.mark.requirement("MATCH.hides_who_answered")
@pytest.mark.requirement("PLAYER.hides_that_it_answered")
@pytest.mark.parametrize("begins", [begun(), invited()], ids=lambda one: type(one).__name__)
def test_nothing_about_a_match_shows_before_it_is_over_and_all_of_it_afterwards(begins: e.Event) -> None:
    meter, plain = Meter(), Meter()
    meter.happened([begins])
    before = meter.prometheus({})
    count_everything(meter)
    assert meter.prometheus({}) == before
    meter.happened([dropped()])
    count_everything(plain)
    plain.happened([begins, dropped()])
    assert meter.prometheus({}) == plain.prometheus({})


@pytest.mark.requirement("MATCH.hides_who_answered")
def test_matches_that_were_open_before_a_restart_are_open_after_it() -> None:
    meter = Meter()
    meter.replay([begun("R1M1"), begun("R1M2"), moved("R1M1"), dropped("R1M2")])
    before = meter.prometheus({})
    count_everything(meter, "R1M1")
    assert meter.prometheus({}) == before
    meter.happened([moved("R1M2")])
    assert 'league_events_total{event="MoveMade"} 1' in meter.prometheus({})


@pytest.mark.parametrize("end", [e.RoundEnded(at=9.0, round_id=1), e.LeagueEnded(at=9.0, champion="P01")])
def test_a_match_whose_end_was_not_heard_of_is_over_with_its_round(end: e.Event) -> None:
    meter = Meter()
    meter.happened([invited(), moved()])
    assert "MoveMade" not in meter.prometheus({})
    meter.happened([end])
    assert 'league_events_total{event="MoveMade"} 1' in meter.prometheus({})


@pytest.mark.requirement("KEEPING.bounded")
def test_open_matches_are_not_kept_without_end() -> None:
    meter = Meter()
    meter.happened([invited(f"M{number}") for number in range(OPEN_KEPT + 5)])
    assert 'league_events_total{event="InvitationAnswered"} 5\n' in meter.prometheus({})


def test_what_is_about_no_match_shows_at_once() -> None:
    meter = Meter()
    meter.happened([begun(), e.RoundAnnounced(at=1.0, round_id=2)])
    meter.answered("LEAGUE_QUERY", "ok", Unsealed("LEAGUE_QUERY", None), 0.2)
    shown = meter.prometheus({})
    assert 'event="RoundAnnounced"' in shown
    assert 'message_type="LEAGUE_QUERY"' in shown
