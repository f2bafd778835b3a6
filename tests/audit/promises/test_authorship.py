"""Promises 20 and 21: who learns a choice before both are in, and whose decision a result is."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from league import events as e
from league.features.audit.promises import Evidence, RecordedCall, check
from tests.support.honest_league import honest_league
from tests.support.planted import added, breaches, broken, changed, find, journal_only, known, sent, with_journal

GAMES = ("even_odd", "rock_paper_scissors")


def peeked(evidence: Evidence, game_type: str, by: str = "P04", before: float = 0.01, **said: Any) -> Evidence:
    """Somebody asked P01 for its choice in R1M1, and P01 answered."""
    moves = [one for one in evidence.referees["REF01"] if isinstance(one, e.MoveMade) and one.match_id == "R1M1"]
    mine = next(one for one in moves if one.player_id == "P01")
    at = max(one.at for one in moves) - before
    answer = {"match_id": "R1M1", "player_id": "P01", "message_type": "CHOOSE_PARITY_RESPONSE"}
    choice = {"parity_choice": mine.choice} if game_type == "even_odd" else {"move_data": {"choice": mine.choice}}
    asked = {"message_type": "CHOOSE_PARITY_CALL", "match_id": "R1M1"}
    return sent(evidence, RecordedCall(at, by, "P01", asked, {**answer, **choice, **said}, at))


@pytest.mark.parametrize("game_type", GAMES)
def test_a_choice_told_to_the_opponent_breaks_promise_20(game_type: str) -> None:
    told = peeked(honest_league(game_type=game_type), game_type)
    assert 20 in broken(told)
    assert breaches(told, 20) == ["P04 learned what P01 chose in R1M1"]


def test_a_choice_posted_to_the_opponent_breaks_promise_20() -> None:
    honest = honest_league()
    _, move = find(honest, "REF01", e.MoveMade, match_id="R1M1", player_id="P01")
    posted = {"message_type": "CHOOSE_PARITY_RESPONSE", "match_id": "R1M1", "parity_choice": move.choice}
    assert 20 in broken(sent(honest, RecordedCall(move.at - 0.01, "P01", "P04", posted)))


def test_what_is_told_when_both_are_in_to_its_referee_or_falsely_is_no_leak() -> None:
    honest = honest_league()
    assert breaches(peeked(honest, "even_odd", before=-0.01), 20) == []
    assert breaches(peeked(honest, "even_odd", by="REF01"), 20) == []
    assert breaches(peeked(honest, "even_odd", parity_choice="neither"), 20) == []


def in_class(evidence: Evidence) -> Evidence:
    """The same league with `--trust class`."""
    place, created = find(evidence, "manager", e.LeagueCreated)
    return changed(evidence, "manager", place, settings=structs.replace(created.settings, trust="class"))


def test_a_player_may_answer_a_stranger_where_referees_show_no_tokens() -> None:
    told = in_class(peeked(honest_league(), "even_odd"))
    assert 20 in broken(told)
    place, _ = find(told, "P01", e.InvitationAnswered, match_id="R1M1")
    assert breaches(changed(told, "P01", place, trusted=False), 20) == []


def test_a_result_by_an_address_needs_the_rule_the_address_and_a_referee_without_a_token() -> None:
    honest = honest_league(rounds=1)
    place, first = find(honest, "manager", e.ResultAccepted)
    _, member = find(honest, "manager", e.AgentRegistered, agent_id=first.referee_id)
    result = structs.replace(first, verified=False, origin=member.origin)
    counted = with_journal(honest, "manager", [*honest.manager[:place], result, *honest.manager[place + 1 :]])
    assert breaches(counted, 21) == [f"{first.match_id} counts by an address in a league that trusts tokens only"]
    assert breaches(in_class(counted), 21) == []
    elsewhere = changed(in_class(counted), "manager", place, origin="10.9.9.9")
    assert breaches(elsewhere, 21) == [f"{first.match_id} counts by an address that is not its referee's"]
    proven = structs.replace(first, at=first.at - 1.0)
    assert f"{first.match_id} counts by an address, though {first.referee_id} has shown a token" in breaches(
        added(in_class(counted), "manager", place, proven), 21
    )


def test_a_result_its_referee_did_not_decide_breaks_promise_21() -> None:
    honest = honest_league()
    place, result = find(honest, "manager", e.ResultAccepted, match_id="R1M1")
    other = changed(honest, "manager", place, winner="P04" if result.winner == "P01" else "P01")
    assert breaches(other, 21) == [f"R1M1 counts as {result.referee_id} did not decide it"]


def test_a_result_of_an_impostor_breaks_promise_21() -> None:
    honest = honest_league(rounds=1)
    assert set(breaches(known(honest, impostors=frozenset({"REF02"})), 21)) == {
        "R1M2 was decided by REF02, an impostor"
    }
    assert breaches(known(honest, impostors=frozenset({"REF09"})), 21) == []


def test_a_choice_its_player_never_made_breaks_promise_21() -> None:
    honest = honest_league()
    place, move = find(honest, "REF01", e.MoveMade, match_id="R1M1", player_id="P01")
    other = "odd" if move.choice == "even" else "even"
    assert breaches(changed(honest, "REF01", place, choice=other), 21) == [f"P01 never answered {other} in R1M1"]


def test_a_player_that_believes_an_invented_result_breaks_promise_21() -> None:
    honest = honest_league()
    place, ended = find(honest, "P01", e.GameEnded, match_id="R1M1")
    lied = changed(honest, "P01", place, winner=None if ended.winner else "P01", referee_id="REF01")
    assert breaches(lied, 21) == ["P01 was told a result of R1M1 nobody decided"]
    assert breaches(changed(lied, "P01", place, trusted=False), 21) == []


def test_without_the_referees_journals_neither_can_be_seen() -> None:
    report = check(journal_only(honest_league()))
    assert (report.verdict(20), report.verdict(21)) == ("unobservable", "unobservable")
