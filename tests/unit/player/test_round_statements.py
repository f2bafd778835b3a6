"""What a player keeps of the manager's statements: those that are signed with the key it was told, of its league."""

from __future__ import annotations

from typing import Any

import pytest

from league.events import DeviationRecorded, LeagueEnded, RoundEnded
from league.protocol.signing.keys import sign, signing_key
from tests.support.player_rig import LEAGUE, Rig

KEY = signing_key(bytes(range(32)))
OTHER = signing_key(bytes(32))
STATEMENT: dict[str, Any] = {"type": "league.v2 round", "league_id": LEAGUE, "round_id": 1, "results": []}
SIGNED: dict[str, Any] = {"statement": STATEMENT, "signature": sign(KEY, STATEMENT)}


@pytest.fixture
def rig() -> Rig:
    rig = Rig()
    rig.manager_key = KEY.public
    return rig.enrolled()


def ended(rig: Rig) -> RoundEnded | LeagueEnded:
    return next(event for event in reversed(rig.journal) if isinstance(event, RoundEnded | LeagueEnded))


def test_a_statement_with_its_signature_is_kept_also_after_a_restart(rig: Rig) -> None:
    rig.say(rig.round_completed(**SIGNED))
    event = ended(rig)
    assert (event.statement, event.signature) == (STATEMENT, SIGNED["signature"])
    rig.say(rig.completed(**SIGNED))
    assert ended(rig).statement == STATEMENT
    rig.reborn()
    assert rig.player.snapshot()["final"]["signature"] == SIGNED["signature"]


@pytest.mark.parametrize(
    "signed",
    [
        {"statement": STATEMENT, "signature": sign(OTHER, STATEMENT)},
        {"statement": {**STATEMENT, "round_id": 2}, "signature": SIGNED["signature"]},
        {"statement": STATEMENT},
        {
            "statement": {**STATEMENT, "league_id": "another"},
            "signature": sign(KEY, {**STATEMENT, "league_id": "another"}),
        },
        {"statement": {}, "signature": sign(KEY, {})},
    ],
    ids=["another key", "another statement", "no signature", "another league", "an empty statement"],
)
def test_anything_else_is_not_kept_and_the_author_is_told(rig: Rig, signed: dict[str, Any]) -> None:
    rig.say(rig.round_completed(**signed))
    assert (ended(rig).statement, ended(rig).signature) == ({}, "")
    (deviation,) = [event for event in rig.journal if isinstance(event, DeviationRecorded)]
    assert (deviation.code, deviation.requirement) == ("E008", "ROUND_COMPLETED.signature")


def test_a_round_without_a_statement_is_no_deviation(rig: Rig) -> None:
    rig.say(rig.round_completed())
    assert ended(rig).statement == {}
    assert [event for event in rig.journal if isinstance(event, DeviationRecorded)] == []


def test_a_manager_without_a_key_signs_nothing_that_is_kept() -> None:
    rig = Rig().enrolled()
    rig.say(rig.round_completed(**SIGNED))
    assert ended(rig).statement == {}
