"""Dishonest referees: whatever they report, nothing of it is called proven, and the players say so."""

from __future__ import annotations

import pytest

from league import events as e
from league_audit.promises import authorship
from league_audit.promises.event_history import of_kind
from league_audit.promises.evidence import Evidence
from league_lab.simulation.rogues import DROP, KIND, LEAK, LIES
from league_lab.simulation.runs import Plan, play

PLAN = Plan(4, 1, 0.0)
TWO_REFEREES = Plan(5, 2, 0.0)
ALONE, SHARED = 2, 3
"""Seeds of leagues whose referees draw alone, and together with the manager."""


def played(kind: str, seed: int) -> Evidence:
    world = PLAN.world(seed)
    world.rogues.kinds["referee-1"] = kind
    return world.run()


def results(evidence: Evidence) -> list[e.ResultAccepted]:
    return list(of_kind(evidence.manager, e.ResultAccepted))


def told_by(evidence: Evidence) -> dict[str, tuple[str, str | None]]:
    """What the referee's own journal says about each match: it was honest until its report left."""
    (journal,) = evidence.referees.values()
    return {event.match_id: (event.status, event.winner) for event in of_kind(journal, e.MatchDecided)}


@pytest.mark.requirement("EVIDENCE.proven")
def test_an_honest_referee_gets_every_result_proven() -> None:
    for seed in (ALONE, SHARED):
        evidence = played("leak", seed)
        assert {result.evidence for result in results(evidence)} == {"proven"}
        assert list(of_kind(evidence.manager, e.ProtestReceived)) == []


@pytest.mark.requirement("EVIDENCE.proven")
@pytest.mark.parametrize("kind", sorted(LIES))
def test_what_a_rogue_reports_is_never_proven_and_is_protested(kind: str) -> None:
    evidence = played(kind, ALONE)
    assert evidence.finished
    truth = told_by(evidence)
    lies = [result for result in results(evidence) if (result.status, result.winner) != truth[result.match_id]]
    assert lies
    assert all(result.evidence in ("by_referee", "loss_by_referee") for result in lies)
    assert list(authorship._unsigned(evidence)) == []
    protested = {protest.match_id for protest in of_kind(evidence.manager, e.ProtestReceived)}
    assert {result.match_id for result in lies} <= protested


@pytest.mark.requirement("DRAW.shared")
@pytest.mark.parametrize("kind", sorted(LIES))
def test_after_a_shared_draw_a_lie_changes_no_result(kind: str) -> None:
    evidence = played(kind, SHARED)
    assert evidence.finished
    truth = told_by(evidence)
    assert all((result.status, result.winner) == truth[result.match_id] for result in results(evidence))
    changed = [result for result in results(evidence) if result.evidence != "proven"]
    assert changed
    assert {result.evidence for result in changed} == {"by_manager"}


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
    decided = [result for result in results(evidence) if result.evidence == "by_manager"]
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
    for seed in range(1, 25):
        run = play(Plan(4, 2, 0.1, rogues=1.0), seed)
        assert (run.finished, run.broken) == (True, ()), seed
        kinds |= {kind for kind in run.faults if kind.endswith("by a referee")}
    assert kinds == {f"{kind} by a referee" for kind in (*LIES, LEAK, DROP)}


def test_the_kind_of_fault_can_be_left_out() -> None:
    world = Plan(4, 2, 0.0, rogues=1.0).world(1, frozenset({KIND}))
    assert world.rogues.kinds == {}
