"""Dishonest referees: whatever they report, nothing of it is called proven."""

from __future__ import annotations

from dataclasses import replace

import pytest

from league import events as e
from league.features.audit.promises import authorship, check
from league.features.audit.promises.grounds.event_history import is_handed_in, word_of
from league.features.audit.promises.grounds.evidence import Evidence
from league.features.lab.simulation.misconduct.rogues import DROP, KIND, LEAK, LIES, PEEK, QUIET_LIES
from league.features.lab.simulation.runs import Plan, play

PLAN = Plan(4, 1, 0.0)
TWO_REFEREES = Plan(5, 2, 0.0)
ALONE, SHARED = 6, 7
"""Seeds of leagues whose referees draw alone, and together with the manager."""


def played(kind: str, seed: int, game_type: str = "even_odd") -> Evidence:
    world = replace(PLAN, game_type=game_type).world(seed)
    world.rogues.kinds["referee-1"] = kind
    return world.run()


def results(evidence: Evidence) -> list[e.ResultAccepted]:
    return list(evidence.manager.of_kind(e.ResultAccepted))


def told_by(evidence: Evidence) -> dict[str, tuple[str, str | None]]:
    """What the referee's own journal says about each match: it was honest until its report left."""
    (journal,) = evidence.referees.values()
    return {event.match_id: (event.status, event.winner) for event in journal.of_kind(e.MatchDecided)}


def objections(evidence: Evidence) -> set[str]:
    """The matches whose results players object to."""
    ended = [event for journal in evidence.players.values() for event in journal.of_kind(e.GameEnded)]
    return {event.match_id for event in ended if event.objection}


@pytest.mark.requirement("EVIDENCE.proven")
def test_a_referee_that_shares_its_draws_gets_every_result_proven() -> None:
    for seed, word in ((ALONE, "by_referee"), (SHARED, "proven")):
        evidence = played("leak", seed)
        assert {word_of(evidence.manager, result) for result in results(evidence)} == {word}
        assert objections(evidence) == set()


@pytest.mark.requirement("EVIDENCE.proven")
@pytest.mark.parametrize("kind", sorted(LIES))
def test_what_a_rogue_reports_is_never_proven(kind: str) -> None:
    evidence = played(kind, ALONE)
    assert evidence.finished
    truth = told_by(evidence)
    lies = [result for result in results(evidence) if (result.status, result.winner) != truth[result.match_id]]
    assert lies
    assert all(word_of(evidence.manager, result) != "proven" for result in lies)
    assert list(authorship._unsigned(evidence)) == []
    told = {result.match_id for result in lies}
    assert objections(evidence) <= told


@pytest.mark.requirement("DRAW.shared")
@pytest.mark.parametrize("kind", sorted(LIES))
def test_after_a_shared_draw_a_lie_changes_no_result(kind: str) -> None:
    evidence = played(kind, SHARED)
    assert evidence.finished
    truth = told_by(evidence)
    assert all((result.status, result.winner) == truth[result.match_id] for result in results(evidence))
    changed = [result for result in results(evidence) if word_of(evidence.manager, result) != "proven"]
    assert changed
    # Whether an invented choice was signed is found out afterwards; that it changes nothing is decided at once.
    assert {word_of(evidence.manager, result) for result in changed} <= {"by_manager", "by_referee"}


@pytest.mark.requirement("EVIDENCE.proven")
@pytest.mark.parametrize(
    ("kind", "game_type"),
    [
        ("frame", "even_odd"),
        ("frame", "kuhn_poker"),
        ("deal", "even_odd"),
        ("deal", "kuhn_poker"),
        ("lie", "kuhn_poker"),
        ("lie", "connect_four"),
    ],
)
def test_a_match_that_was_tampered_with_is_by_the_referees_word(kind: str, game_type: str) -> None:
    evidence = played(kind, SHARED, game_type)
    assert evidence.finished
    words = {result.match_id: word_of(evidence.manager, result) for result in results(evidence)}
    assert set(words.values()) == {"by_referee"}
    assert list(authorship._unsigned(evidence)) == []
    assert list(check(evidence).broken) == []


@pytest.mark.requirement("EVIDENCE.proven")
def test_a_choice_that_was_invented_for_the_draw_is_decided_and_never_proven() -> None:
    evidence = played("hand in", SHARED)
    assert evidence.finished
    (journal,) = evidence.referees.values()
    truth = {event.match_id: event.details["choices"] for event in journal.of_kind(e.MatchDecided)}
    for result in results(evidence):
        is_true = result.details["choices"] == truth[result.match_id]
        assert word_of(evidence.manager, result) == ("proven" if is_true else "by_referee")
    assert len({word_of(evidence.manager, result) for result in results(evidence)}) == 2


@pytest.mark.requirement("EVIDENCE.proven")
def test_a_match_whose_draws_its_referee_looked_at_and_forgot_is_played_again_and_never_proven() -> None:
    world = replace(TWO_REFEREES, game_type="kuhn_poker").world(SHARED)
    world.rogues.kinds["referee-2"] = PEEK
    evidence = world.run()
    assert evidence.finished
    assert world.faults.counts["match dropped by its referee"]
    words = {(result.attempt > 1, word_of(evidence.manager, result)) for result in results(evidence)}
    assert words == {(False, "proven"), (True, "by_referee")}


def tipped(evidence: Evidence) -> list[bool]:
    """Whether the friend of the referee won, the player with the lower id, for each match that was not drawn."""
    return [result.winner == min(result.points) for result in results(evidence) if result.status != "DRAW"]


def test_a_leaked_number_wins_unless_the_draw_is_shared() -> None:
    assert all(tipped(played(LEAK, ALONE)))
    won = [victory for seed in (3, 5, 7) for victory in tipped(played(LEAK, seed))]
    assert not all(won)


@pytest.mark.requirement("DRAW.shared")
def test_a_match_that_its_referee_drops_is_decided_by_the_manager_once_the_draw_is_released() -> None:
    world = TWO_REFEREES.world(SHARED)
    world.rogues.kinds["referee-2"] = DROP
    evidence = world.run()
    assert evidence.finished
    assert world.faults.counts["match dropped by its referee"]
    decided = [result for result in results(evidence) if is_handed_in(evidence.manager, result)]
    assert decided
    assert {result.attempt for result in decided} == {1}


def test_a_match_that_its_referee_drops_before_the_draw_counts_goes_to_another_referee() -> None:
    world = TWO_REFEREES.world(ALONE)
    world.rogues.kinds["referee-2"] = DROP
    evidence = world.run()
    assert evidence.finished
    assert max(result.attempt for result in results(evidence)) > 1


@pytest.mark.slow
def test_every_kind_is_cast_and_no_promise_is_broken() -> None:
    kinds = set()
    for seed in range(101, 141):
        run = play(Plan(4, 2, 0.1, rogues=1.0), seed)
        assert (run.finished, run.broken) == (True, ()), seed
        kinds |= {kind for kind in run.faults if kind.endswith("by a referee")}
    assert kinds == {f"{kind} by a referee" for kind in (*LIES, *QUIET_LIES, LEAK, DROP, PEEK)}


def test_the_kind_of_fault_can_be_left_out() -> None:
    world = Plan(4, 2, 0.0, rogues=1.0).world(1, frozenset({KIND}))
    assert world.rogues.kinds == {}
