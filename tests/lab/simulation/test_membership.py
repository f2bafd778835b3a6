"""Leagues that need their operator to begin, in virtual time and with faults: they are played to the end."""

from __future__ import annotations

from typing import Any

import pytest

from league.events import AgentApplied, AgentRegistered, LeagueSettings, OrderCarriedOut, RoundOpened
from league.features.audit.promises import check
from league.features.audit.promises.grounds.evidence import Evidence
from league.features.lab.simulation.agenda import EPOCH
from league.features.lab.simulation.world import World

SEEDS = range(1, 7)


def played(seed: int, **changed: Any) -> Evidence:
    settings = LeagueSettings(league_id=f"sim_{seed}", players=4, referees=2, **changed)
    evidence = World(settings, seed, rate=0.1).run()
    assert evidence.finished
    assert [one for one in check(evidence).findings if one.verdict == "broken"] == []
    return evidence


@pytest.mark.parametrize("seed", SEEDS)
def test_whoever_is_approved_plays(seed: int) -> None:
    events = played(seed, enrolment="approve").manager
    applied = [one.applicant_id for one in events if isinstance(one, AgentApplied)]
    approved = [one.target for one in events if isinstance(one, OrderCarriedOut) and one.order == "approve"]
    registered = [one for one in events if isinstance(one, AgentRegistered)]
    assert sorted(approved) == sorted(set(approved))
    assert set(approved) <= set(applied)
    assert 2 < len(registered) <= len(approved)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_league_with_an_hour_opens_its_first_round_then(seed: int) -> None:
    events = played(seed, start=EPOCH + 60).manager
    first = next(one for one in events if isinstance(one, RoundOpened))
    assert first.at >= EPOCH + 60
