"""Journals of simulated leagues held against each other: honest ones agree, and rewritten ones are found."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from league import events as e
from league.features.audit.contradictions import contradictions
from league.features.audit.promises import Evidence
from league.features.lab.simulation.misconduct import rewriting
from league.features.lab.simulation.misconduct.rewriting import REWRITES, Rewrite, is_noticed, rewritten, unnoticed
from league.features.lab.simulation.runs import Plan

SEEDS = 12


def honest(seed: int) -> Evidence:
    """A league with faults, outages, third-party agents and players that came late."""
    plan = Plan(players=6, faults=(0.1, 0.3, 0.5)[seed % 3], dialects=0.4 * (seed % 2), late=seed % 2)
    return plan.world(seed).run()


@pytest.mark.parametrize("seed", range(SEEDS))
def test_honest_journals_never_contradict_each_other(seed: int) -> None:
    assert list(contradictions(honest(seed))) == []


@pytest.mark.parametrize("rewrite", REWRITES)
@pytest.mark.parametrize("seed", range(3))
def test_a_rewritten_result_is_found(rewrite: Rewrite, seed: int) -> None:
    evidence = Plan(players=4, faults=0.0).world(seed).run()
    dice = Random(seed)
    places = [place for place, event in enumerate(evidence.manager) if isinstance(event, e.ResultAccepted)]
    changed = rewritten(evidence, dice.choice(places), rewrite, dice)
    assert changed is not None
    assert is_noticed(changed)
    # Without any letter, too.
    assert is_noticed(replace(changed, traffic=None))


def test_a_change_that_nothing_shows_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    evidence = Plan(players=4, faults=0.0).world(3).run()
    assert list(unnoticed(evidence, 3)) == []
    monkeypatch.setattr(rewriting, "is_noticed", lambda _: False)
    findings = list(unnoticed(evidence, 3))
    assert [(finding.promise, finding.verdict) for finding in findings] == [(21, "broken")] * len(REWRITES)
    assert all("was rewritten" in finding.detail for finding in findings)
