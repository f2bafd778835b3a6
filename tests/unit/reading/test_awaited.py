"""A league says what it waits for: registrations, silent agents, and the matches in play."""

from __future__ import annotations

from league.reading import views
from tests.support.managed import Managed


def test_a_league_says_who_is_missing_before_it_starts() -> None:
    managed = Managed(players=2, referees=1)
    managed.register("player", 1)
    assert views.league(managed.manager, 0)["awaited"] == ["1 of 2 players and 0 of 1 referees have registered."]


def test_a_league_names_the_matches_in_play_until_it_is_over() -> None:
    managed = Managed(players=2, referees=1).fill()
    managed.answer_pings()
    managed.answer_all()
    (match,) = managed.manager.ledger.matches.values()
    in_play = f"R1M1: {match.player_a} against {match.player_b}, with REF01"
    assert in_play in views.league(managed.manager, 0)["awaited"]
    managed.play("A")
    assert views.league(managed.manager, 0)["awaited"] == []
