"""How a league ended is said in the same words everywhere: a champion, with what to know about it, or nobody."""

from __future__ import annotations

from typing import Any

import pytest

from league.events import LeagueFinished
from league.hosting.narration import MANAGER
from league.manager.season.standings import Decided, StandingsTable
from league.reading import endings, views
from tests.support.managed import Managed

RULES = ("points", "wins", "draws", "head_to_head")


def ended(winner: str | None, fallbacks: int = 0) -> Managed:
    """A league of four, all matches of which ended so; referees reported that many fallbacks of P01 in each."""
    managed = Managed(players=4, referees=1).fill()
    while not managed.manager.ledger.is_finished:
        managed.answer_pings()
        managed.answer_all()
        for match_id in managed.open_matches:
            report: dict[str, Any] = managed.report_of(match_id, winner)
            if fallbacks:
                report["result"]["details"]["provenance"] = {"P01": {"choices": 3, "fallbacks": fallbacks}}
            managed.request(report)
        managed.wait(0.5)
    return managed


def narrated(managed: Managed) -> str:
    (finished,) = [event for event in managed.events if isinstance(event, LeagueFinished)]
    return MANAGER[LeagueFinished](managed.manager, finished)


def test_a_league_without_a_win_was_won_by_nobody() -> None:
    managed = ended("--")
    assert managed.manager.ledger.champion is not None, "the protocol wants one"
    document = views.standings(managed.manager)
    assert document["ending"] == "Nobody won: no player has a win or a point"
    assert document["notes"] == []
    assert narrated(managed) == "the league is over; nobody won: no player has a win or a point"


def test_a_champion_by_a_tie_break_is_announced_with_it() -> None:
    managed = ended(None)
    remark = "ahead of P02 by the lower number, since everything else is equal"
    ending = views.standings(managed.manager)["ending"]
    assert ending.startswith("Champion: ")
    assert ending.endswith(f"(P01), 3 points, {remark}")
    assert narrated(managed).endswith(f"with 3 points, {remark}")


def test_a_champion_that_made_none_of_its_choices_is_announced_with_that() -> None:
    managed = ended(None, fallbacks=3)
    document = views.standings(managed.manager)
    assert document["ending"].endswith("9 of 9 choices were not its own")
    assert "P01: 9 of 9 choices were not its own" in document["notes"]
    assert narrated(managed).endswith("9 of 9 choices were not its own")


def test_a_voided_result_says_nothing_any_more() -> None:
    managed = Managed(players=4, referees=1).fill()
    managed.answer_pings()
    managed.answer_all()
    (first, second) = managed.open_matches
    for match_id in (first, second):
        report: dict[str, Any] = managed.report_of(match_id)
        report["result"]["details"]["provenance"] = {"P01": {"choices": 3, "fallbacks": 2, "thinking_s": 0.1}}
        managed.request(report)
    before = views.standings(managed.manager)
    assert before["notes"][-1] == "P01: 2 of 3 choices were not its own"
    assert sorted(before["by_word"]) == [first, second]
    own = next(match_id for match_id in (first, second) if "P01" in managed.manager.ledger.matches[match_id].players)
    managed.operate("replay-match", own)
    after = views.standings(managed.manager)
    assert not any("its own" in note for note in after["notes"])
    assert after["by_word"] == [match_id for match_id in before["by_word"] if match_id != own]
    assert "P01" not in managed.manager.ledger.sums.models


def test_nothing_is_decided_before_the_first_result() -> None:
    managed = Managed(players=4, referees=1).fill()
    assert endings.tie_breaks(managed.manager) == {}
    assert endings.ending(managed.manager) is None


def table(*results: tuple[str, str, str | None]) -> StandingsTable:
    standings = StandingsTable()
    for player in ("P01", "P02", "P03", "P04"):
        standings.enter(player)
    for first, second, winner in results:
        standings.add(Decided((first, second), winner))
    return standings


@pytest.mark.parametrize(
    ("results", "deciders"),
    [
        ([], ["number", "number", "number", "number"]),
        ([("P01", "P02", "P02")], ["points", "number", "number", "number"]),
        (
            [("P01", "P02", "P02"), ("P01", "P03", "P01"), ("P02", "P04", "P04"), ("P03", "P04", "P04")],
            ["points", "head_to_head", "points", "number"],
        ),
        (
            [("P01", "P02", "P01"), ("P03", "P02", None), ("P03", "P04", None), ("P03", "P02", None)],
            ["wins", "points", "points", "number"],
        ),
    ],
)
def test_the_decider_is_the_first_rule_that_separates_two_neighbours(
    results: list[tuple[str, str, str | None]], deciders: list[str]
) -> None:
    standings = table(*results)
    decided = standings.deciders(RULES)
    assert list(decided) == standings.ranking(RULES)
    assert list(decided.values()) == deciders
