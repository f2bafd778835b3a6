"""Players that declared a key, with one defect each: the check that names it fails, and no other does."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from msgspec import structs

from league.features.kit.checks.outcome import CheckVerdict
from league.features.kit.runner import CheckReport
from tests.kit.defects import Defect, broken_by, failed, says, told, warned
from tests.kit.players import Conforming, Registration, checked, checked_member
from tests.kit.signers import KEY, Signing
from tests.kit.test_good_players import OneAtATime
from tests.support.player_keys import key_of
from tests.support.scripts import ABSENT, HONEST, Reaction, on

TIME_SCALE = 2.0
CALLED = "CHOOSE_PARITY_CALL"
MOVED = "GAME_MOVE_CALL"
STATEMENT = "SIGNATURE.statement"
FAMILIES = ("SIGNATURE", "DRAW")


def ordinary_base64(signature: str) -> str:
    return base64.b64encode(base64.urlsafe_b64decode(signature + "==")).decode()


def in_hex(signature: str) -> str:
    return base64.urlsafe_b64decode(signature + "==").hex()


DEFECTS = (
    broken_by(STATEMENT, note="missing", **says(CALLED, signature=ABSENT)),
    broken_by(STATEMENT, note="missing in a move", **says(MOVED, signature=ABSENT)),
    broken_by(STATEMENT, note="of something else", writes=lambda signature: signature[::-1]),
    broken_by(STATEMENT, note="and its key for everybody", derives=False),
    broken_by("SIGNATURE.once", gives_in=True),
    broken_by(
        "SIGNATURE.once",
        note="signed only the first time",
        script=on(CALLED, HONEST, *[Reaction(fields={"signature": ABSENT})] * 5, HONEST),
    ),
    broken_by("DRAW.one_commitment", blind=frozenset({"E023"})),
    broken_by(
        "REGISTER.again_after_E012",
        registration=Registration(meta={"public_key": KEY.public}, comes_back=False),
    ),
)  # fmt: skip


def checked_signer(player: Conforming, *only: str) -> CheckReport:
    return checked_member(player, TIME_SCALE, only)


@pytest.mark.parametrize("defect", DEFECTS)
def test_a_broken_signer_fails_the_check_that_names_its_defect(defect: Defect) -> None:
    report = checked_signer(Signing("Ada", **defect.player))
    assert failed(report) == defect.fails, told(report)
    assert warned(report) == defect.warned, told(report)


def test_a_good_signer_has_neither_failures_nor_warnings_and_is_tested_for_all_of_it() -> None:
    report = checked_signer(Signing("Ada"))
    assert (failed(report), warned(report)) == (set(), set()), told(report)
    untested = {result.clause.id for result in report.of(CheckVerdict.UNTESTABLE)}
    assert untested == {
        "KEEPING.bounded",
        "REGISTER.retries",
        "REGISTER.stops_when_rejected",
        "REGISTER.waits_for_approval",
    }


def test_a_signer_with_one_match_at_a_time_is_tested_too() -> None:
    busy = OneAtATime()
    report = checked_signer(Signing("Ada", refuses=busy), *FAMILIES)
    assert {result.verdict for result in report.results} == {CheckVerdict.PASS}, told(report)
    assert busy.match is None


@pytest.mark.parametrize(
    ("player", "advice"),
    [
        ({"writes": lambda signature: signature + "=="}, "without padding"),
        ({"writes": ordinary_base64}, "- and _ in place of + and /"),
        ({"writes": in_hex}, "without padding"),
        ({"key": key_of("somebody")}, "Sign exactly these bytes"),
        (
            {"signs": lambda statement: structs.replace(statement, draw_commitment="ab" * 32)},
            "Sign exactly these bytes",
        ),
        ({"signs": lambda statement: structs.replace(statement, choices=())}, "Sign exactly these bytes"),
    ],
    ids=["padded", "ordinary base64", "hex", "another key", "another commitment", "no choice"],
)
def test_a_usual_mistake_is_named(player: dict[str, Any], advice: str) -> None:
    report = checked_signer(Signing("Ada", **player), STATEMENT)
    (result,) = report.results
    assert result.verdict is CheckVerdict.WARN
    assert advice in result.outcome.advice


@pytest.mark.parametrize("family", FAMILIES)
def test_a_player_without_a_key_is_held_to_none_of_it(family: str) -> None:
    member = checked_signer(Conforming("Ada"), family)
    stranger = checked(Conforming("Ada"), only=(family,))
    assert {result.verdict for result in member.results + stranger.results} == {CheckVerdict.UNTESTABLE}
    assert "did not declare a public key" in member.results[0].outcome.detail
    assert "no player could register" in stranger.results[0].outcome.detail
    assert not member.record.of("other commitment", "false table")
