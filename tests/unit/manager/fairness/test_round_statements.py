"""What the manager signs: each result once, again when it changed, and each statement by the digest of the next."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import to_builtins

from league import events as e
from league.protocol.message.messages import LeagueCompleted, RoundCompleted
from league.protocol.signing.keys import is_signed
from league.protocol.signing.rounds import details_digest, digest_of
from tests.support.managed import LEAGUE, MANAGER_KEY, Managed

JSON = dict[str, Any]


def statements(league: Managed) -> list[JSON]:
    """The statements of a league. Their signatures are right, and each names the one before."""
    found: list[JSON] = []
    for event in league.events:
        if isinstance(event, e.RoundFinished | e.LeagueFinished) and event.signature:
            assert is_signed(event.signature, MANAGER_KEY, event.statement)
            assert (event.statement["manager_key"], event.statement["league_id"]) == (MANAGER_KEY, LEAGUE)
            assert event.statement["previous"] == (digest_of(found[-1]) if found else None)
            found.append(event.statement)
    return found


def winners(statement: JSON) -> dict[str, str | None]:
    return {result["match_id"]: result["winner"] for result in statement["results"]}


@pytest.mark.requirement("STATEMENT.signed")
def test_each_round_is_signed_with_its_results_and_the_table() -> None:
    league = Managed(players=4).fill()
    league.play("A")
    signed = statements(league)
    assert [statement["round_id"] for statement in signed] == [1, 2, 3]
    assert [list(winners(statement)) for statement in signed] == [
        ["R1M1", "R1M2"],
        ["R2M1", "R2M2"],
        ["R3M1", "R3M2"],
    ]
    (event,) = [result for result in league.of(e.ResultAccepted) if result.match_id == "R1M1"]
    (judged,) = [one for one in league.of(e.ResultJudged) if one.match_id == "R1M1"]
    assert signed[0]["results"][0] == {
        "match_id": "R1M1",
        "players": list(league.manager.ledger.matches["R1M1"].players),
        "attempt": 1,
        "referee_id": "REF01",
        "status": "WIN",
        "winner": event.winner,
        "points": event.points,
        "basis": {"evidence": "by_referee", "unsigned": ["P01", "P02"], "doubt": judged.doubt},
        "details": details_digest(event.details),
    }
    assert signed[-1]["table"] == to_builtins(league.manager.standings)
    assert all(statement["orders"] == [] for statement in signed)


@pytest.mark.requirement("STATEMENT.signed")
def test_results_are_stated_in_the_order_in_which_they_came() -> None:
    league = Managed(players=4).fill()
    league.answer_all()
    league.answer_pings()
    for match_id in ("R1M2", "R1M1"):
        league.report(match_id)
    assert list(winners(statements(league)[0])) == ["R1M2", "R1M1"]


def test_everybody_is_sent_the_statement_that_is_in_the_journal() -> None:
    league = Managed(players=2, double=True).fill()
    league.play("A")
    signed = statements(league)
    assert len(signed) == 2
    for member in ("P01", "P02", "REF01"):
        rounds = [one.message for one in league.told(member, "ROUND_COMPLETED")]
        assert [one.statement for one in rounds if isinstance(one, RoundCompleted)] == signed
        (end,) = [one.message for one in league.told(member, "LEAGUE_COMPLETED")]
        assert isinstance(end, LeagueCompleted)
        assert is_signed(end.signature, MANAGER_KEY, signed[-1])
        assert end.statement == signed[-1]


@pytest.mark.requirement("STATEMENT.signed")
def test_the_next_statement_lists_a_result_that_the_operator_changed_and_the_order() -> None:
    league = Managed(players=4).fill()
    league.answer_all()
    league.answer_pings()
    for match_id in ("R1M1", "R1M2"):
        league.report(match_id, "A")
    before = winners(statements(league)[0])["R1M1"]
    league.operate("replay-match", "R1M1")
    league.play("B")
    _, second, third = statements(league)
    # It waits until the open round is over.
    assert winners(second)["R1M1"] is None
    assert winners(third)["R1M1"] not in (before, None)
    assert set(winners(third)) == {"R1M1", "R3M1", "R3M2"}
    assert (second["orders"], third["orders"]) == (["replay-match R1M1"], [])
    assert [result["attempt"] for result in third["results"] if result["match_id"] == "R1M1"] == [2]


@pytest.mark.requirement("STATEMENT.signed")
def test_a_match_that_is_played_again_after_the_end_is_in_a_statement_of_its_own() -> None:
    league = Managed(players=2).fill()
    league.play("A")
    league.operate("replay-match", "R1M1")
    league.play("B")
    first, last = statements(league)
    assert winners(last) != winners(first)
    assert list(winners(last)) == ["R1M1"]
    assert (last["round_id"], last["orders"]) == (1, ["replay-match R1M1"])
    message = league.told("P01", "LEAGUE_COMPLETED")[-1].message
    assert isinstance(message, LeagueCompleted)
    assert message.statement == last


def test_a_withdrawal_is_stated_with_its_walkovers() -> None:
    league = Managed(players=4).fill()
    league.operate("withdraw", "P04")
    league.play("A")
    signed = statements(league)
    walkovers = [result for result in signed[0]["results"] if result["status"] == "WALKOVER"]
    assert len(walkovers) == 3
    assert all(result["details"] is None and result["winner"] != "P04" for result in walkovers)
    assert signed[0]["orders"] == ["withdraw P04"]


def test_a_restarted_manager_sends_and_signs_what_it_would_have() -> None:
    straight, broken = (Managed(players=4).fill() for _ in range(2))
    straight.play("A")
    while not broken.of(e.RoundFinished):
        broken.answer_pings()
        broken.answer_all(but=["P01"])
        for match_id in broken.open_matches:
            broken.report(match_id, "A")
        broken.wait(0.5)
    broken.restart()
    broken.play("A")
    assert [winners(one) for one in statements(broken)] == [winners(one) for one in statements(straight)]
    sent = [one.message for one in broken.told("P01", "ROUND_COMPLETED")]
    assert {one.signature for one in sent if isinstance(one, RoundCompleted)} == {
        event.signature for event in broken.of(e.RoundFinished)
    }


def test_a_league_from_before_there_were_keys_states_everything_so_far() -> None:
    league = Managed(players=4).fill()
    while len(league.of(e.RoundFinished)) < 2:
        league.answer_pings()
        league.answer_all()
        for match_id in league.open_matches:
            league.report(match_id, "A")
        league.wait(0.5)
    for place, event in enumerate(league.events):
        if isinstance(event, e.RoundFinished):
            league.events[place] = e.RoundFinished(at=event.at, round_id=event.round_id)
    league.reborn()
    league.play("A")
    (only,) = statements(league)
    assert len(only["results"]) == 6
