"""Friendly matches as the guest sees them, the one most worth explaining, and hints on how it played."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pytest

from league.events import Event, MatchDecided, MatchTaken, MoveMade, NumberDrawn, PlayerFaulted, Status
from league.features.workshop.sparring_matches import (
    FriendlyMatch,
    Outcome,
    Timing,
    friendly_match,
    guest_facts,
    hints,
    instructive,
    usual_wins,
)
from league.reading.journals import Journals, RefereeJournal

GUEST_ID, RIVAL = "P01", "P99"
ENDPOINTS = ("http://127.0.0.1:9101/mcp", "http://127.0.0.1:8101/mcp")
NOW = 1_800_000_000.0


# --- one match --------------------------------------------------------------------------------------------------------


def match(*events: Event, winner: str | None = None, status: Status = "WIN") -> list[Event]:
    about: dict[str, Any] = {"at": NOW, "match_id": "R1M1", "attempt": 1}
    taken = MatchTaken(
        **about,
        league_id="sparring",
        round_id=1,
        game_type="even_odd",
        players=(RIVAL, GUEST_ID),
        endpoints=ENDPOINTS,
        records=({}, {}),
        suspended=(False, False),
        move_seconds=30.0,
        seed="00" * 32,
    )
    points = {one: 3 if one == winner else 0 for one in (RIVAL, GUEST_ID)}
    decided = MatchDecided(
        **about, status=status, winner=winner, points=points, reason="because", game_result={}, details={}
    )
    return [taken, *events, decided]


def from_the_guests_side(events: Sequence[Event], names: Mapping[str, str]) -> FriendlyMatch:
    journals = Journals(referees={"REF01": RefereeJournal(events)})
    return friendly_match(guest_facts("R1M1", journals, GUEST_ID, names), GUEST_ID)


def chose(player_id: str, choice: str) -> Event:
    return MoveMade(at=NOW, match_id="R1M1", attempt=1, player_id=player_id, turn=1, choice=choice)


def faulted(player_id: str, code: str, detail: str) -> Event:
    named: dict[str, Any] = {"match_id": "R1M1", "attempt": 1, "player_id": player_id, "phase": "join", "turn": 0}
    return PlayerFaulted(at=NOW, **named, code=code, detail=detail)


def test_a_match_is_told_from_the_guests_side() -> None:
    drawn = NumberDrawn(at=NOW, match_id="R1M1", attempt=1, number=7)
    events = match(chose(GUEST_ID, "odd"), chose(RIVAL, "even"), drawn, winner=GUEST_ID)
    assert from_the_guests_side(events, {RIVAL: "Random"}) == FriendlyMatch(
        "R1M1", "Random", "won", 3, ("odd",), ("even",), 7, None
    )


@pytest.mark.parametrize(
    ("at_fault", "winner", "outcome"),
    [(GUEST_ID, RIVAL, "technical loss"), (RIVAL, GUEST_ID, "technical win")],
)
def test_a_fault_is_held_against_whose_it_is(at_fault: str, winner: str, outcome: Outcome) -> None:
    events = match(faulted(at_fault, "E001", "no GAME_JOIN_ACK"), winner=winner, status="TECHNICAL_LOSS")
    seen = from_the_guests_side(events, {})
    assert seen.outcome == outcome
    assert (seen.fault is not None) == (at_fault == GUEST_ID)


# --- all matches ------------------------------------------------------------------------------------------------------


def friendly(
    outcome: Outcome, match_id: str = "R1M1", choices: tuple[str, ...] = ("even",), fault: str | None = None
) -> FriendlyMatch:
    return FriendlyMatch(match_id, "Random", outcome, 0, choices, ("odd",), 3, fault)


def test_the_most_instructive_match_is_the_first_technical_loss_or_the_last_lost_or_the_last() -> None:
    won, lost, again = friendly("won", "1"), friendly("lost", "2"), friendly("lost", "3")
    first, second = friendly("technical loss", "4"), friendly("technical loss", "5")
    assert instructive([won, first, second, lost]) == first
    assert instructive([lost, again, won]) == again
    assert instructive([friendly("drawn"), won]) == won
    assert instructive([]) is None


@pytest.mark.parametrize(("tosses", "usual"), [(0, (0, 0)), (1, (0, 1)), (5, (0, 5)), (6, (1, 5)), (20, (6, 14))])
def test_what_is_usual_for_a_coin(tosses: int, usual: tuple[int, int]) -> None:
    assert usual_wins(tosses) == usual


def test_a_thousand_tosses_are_counted_too() -> None:
    least, most = usual_wins(1000)
    assert (least + most, 460 < least < 475) == (1000, True)


def test_luck_is_not_praised_as_skill() -> None:
    said = " ".join(hints([*[friendly("won")] * 4, *[friendly("lost")] * 3, friendly("drawn")], (), "even_odd"))
    assert "Choices differed in 7 of 8 matches, and of these you won 4" in said
    assert "1 to 6 would be usual for any player: that is chance" in said


def test_what_chance_rarely_does_is_not_called_chance() -> None:
    assert "chance alone rarely does that" in " ".join(hints([friendly("lost")] * 12, (), "even_odd"))


def test_too_few_matches_prove_nothing_about_choices() -> None:
    said = " ".join(hints([friendly("won")] * 4, (), "even_odd"))
    assert "always chose" not in said
    assert "usual" not in said


def timings() -> Iterator[Timing]:
    yield Timing("GAME_INVITATION", 5.0, 20, 0, 0.1, 0.2, 0.3, 0)
    yield Timing("CHOOSE_PARITY_CALL", 30.0, 20, 0, 1.0, 8.0, 21.5, 3)


def test_slow_answers_are_a_warning() -> None:
    said = list(hints([], tuple(timings()), "even_odd"))
    assert len(said) == 1
    assert said[0].startswith("3 answers to CHOOSE_PARITY_CALL took longer than half the limit of 30 s")


def test_a_player_of_another_league_is_not_taken_for_a_broken_one() -> None:
    said_so = 'answered handle_game_invitation (SPEC) with "6003 we play in X" (E028 LEAGUE_NOT_FOUND)'
    refused = friendly("technical loss", fault=f"E009 CONNECTION_ERROR at the invitation: {said_so}")
    (said,) = hints([refused], (), "tic_tac_toe")
    assert "--league-id" in said


@pytest.mark.parametrize("makes", [lambda: ("even",), lambda: ("4", "0", "8")], ids=["one choice", "many moves"])
def test_playing_the_same_every_time_is_noticed(makes: Callable[[], tuple[str, ...]]) -> None:
    same = [friendly("drawn", choices=makes()) for _ in range(6)]
    other = [*same, friendly("drawn", choices=("odd",))]
    assert any("always" in hint for hint in hints(same, (), "tic_tac_toe"))
    assert not any("always" in hint for hint in hints(other, (), "tic_tac_toe"))
