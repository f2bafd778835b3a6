"""Referees that show no derived tokens: their players are told of them, or would not listen to them."""

from __future__ import annotations

import pytest

from league import events as e
from league.protocol.signing import tokens
from tests.support.managed import Managed, matches_in, plain
from tests.unit.manager.staffing.test_leases import holder, live, started

GUEST = "REF02"


def with_guest() -> Managed:
    """Two players, a referee of ours, which has the match, and a third-party one."""
    league = Managed(players=2, referees=2)
    league.register("referee", 1)
    league.register("referee", 2, token_scheme=None)
    league.fill(referees=0)
    league.answer_all(but=["REF01", GUEST])
    for one in league.calls("ROUND_ANNOUNCEMENT"):
        league.answer(one)
    assert holder(league) == "REF01"
    return league


def announced(league: Managed, player: str) -> list[dict[str, object]]:
    """What a player was told of R1M1, each time."""
    copies = league.told(player, "ROUND_ANNOUNCEMENT")
    return [match for one in copies for match in plain(one.message)["matches"]]  # type: ignore[arg-type]


@pytest.mark.requirement("TOKEN.referee_announced")
def test_players_are_told_the_digests_of_a_referee_that_shows_no_derived_tokens() -> None:
    league = Managed(players=2)
    league.register("referee", 1, token_scheme=None)
    league.fill(referees=0)
    (match,) = announced(league, "P01")
    assert match["referee_tokens"] == [tokens.verifier(league.tokens["REF01"])]


@pytest.mark.requirement("TOKEN.referee_announced")
def test_a_match_goes_to_such_a_referee_only_when_its_players_were_told() -> None:
    league = with_guest()
    while not league.of(e.MatchLost):
        league.wait(0.5)
        for one in league.calls():
            if one.to.agent_id == "REF01":
                league.fail(one)
            elif one.kind == "ping":
                league.answer(one)
    assert holder(league) == GUEST
    told = [one for one in league.calls("ROUND_ANNOUNCEMENT") if one.to.agent_id != "REF01"]
    assert [(one.to.agent_id, matches_in(one.message)) for one in told] == [("P01", ["R1M1"]), ("P02", ["R1M1"])]
    league.answer(told[0])
    assert league.calls("ROUND_ANNOUNCEMENT", GUEST) == []
    league.answer(told[1])
    assert len(league.calls("ROUND_ANNOUNCEMENT", GUEST)) == 1
    digests = [match.get("referee_tokens") for match in announced(league, "P01")]
    assert digests == [None, [tokens.verifier(league.tokens[GUEST])]]


@pytest.mark.requirement("TOKEN.referee_announced")
def test_a_player_that_cannot_be_told_holds_up_its_match_for_two_seconds_at_most() -> None:
    league = with_guest()
    live(league, 30, dead=("REF01", "P02"))
    assert [one.kind for one in league.told(GUEST) if one.kind == "ROUND_ANNOUNCEMENT"]
    assert holder(league) == GUEST


def test_nobody_is_told_of_a_referee_that_shows_its_token() -> None:
    league = started(players=2)
    live(league, 25, dead=("REF01",))
    assert holder(league) == "REF02"
    assert len(announced(league, "P01")) == 1


@pytest.mark.requirement("TOKEN.referee_announced")
def test_what_a_referee_says_when_it_comes_back_counts() -> None:
    league = Managed(players=2)
    league.register("referee", 1, token_scheme=None)
    league.register("referee", 1)
    assert league.manager.ledger.roster.members["REF01"].as_referee.shows_derived_tokens
    league.restart()
    assert league.manager.ledger.roster.members["REF01"].as_referee.shows_derived_tokens


def test_a_player_that_registers_again_is_shown_tokens_it_can_check() -> None:
    league = started(players=2)
    league.answer_all()
    before = len(league.sent)
    league.register("player", 1)
    (again,) = [one for one in league.sent[before:] if one.kind == "ROUND_ANNOUNCEMENT"]
    (match,) = plain(again.message)["matches"]  # type: ignore[arg-type]
    key = tokens.deriver(league.tokens["P01"])
    right = tokens.derive(key, "REF01", "P01", league.settings.league_id, "R1M1", 1)
    # Got by name and address alone, so that it comes after the one the player is known to go by.
    assert (again.to.agent_id, match["player_A_other_tokens"]) == ("REF01", [right])


@pytest.mark.requirement("TOKEN.another_shown")
def test_a_referee_gets_the_tokens_of_all_registrations_a_player_may_go_by() -> None:
    league = Managed(players=2)
    league.register("player", 1)
    first = league.tokens["P01"]
    league.fill()  # P01 registers again
    league.answer_all(but=["REF01"])
    (one,) = league.calls("ROUND_ANNOUNCEMENT", "REF01")
    (match,) = plain(one.message)["matches"]  # type: ignore[arg-type]

    def shown(token: str) -> str:
        return tokens.derive(tokens.deriver(token), "REF01", "P01", league.settings.league_id, "R1M1", 1)

    assert match["player_A_token"] == shown(first)
    assert match["player_A_other_tokens"] == [shown(league.tokens["P01"])]
    assert "player_B_other_tokens" not in match
