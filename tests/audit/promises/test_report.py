"""The report: a finding for each promise, what cannot be seen is called unobservable, and nothing anybody sends can
make a check fail."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from league.features.audit.promises import PROMISES, Evidence, RecordedCall, check
from league.protocol.message.envelope import unseal
from tests.support.honest_league import honest_league
from tests.support.planted import broken, journal_only, known, sent

EVERY = range(1, 22)
SCRIPTS: list[dict[str, Any]] = [
    {},
    {"silent": {"R1M1": ("P04",)}, "mute": {"R2M1": ("P01",), "R3M1": ("P01", "P02")}},
    {"slips": frozenset({"R1M1"}), "lost": frozenset({"R2M2"}), "voided": frozenset({"R1M2", "R3M1"})},
    {"withdrawn": "P02"},
    {"game_type": "rock_paper_scissors", "lost": frozenset({"R1M1"})},
]


def test_there_are_21_promises_in_order() -> None:
    assert [promise.number for promise in PROMISES] == list(EVERY)
    assert all(promise.sentence.endswith(".") for promise in PROMISES)


@pytest.mark.parametrize("script", SCRIPTS)
def test_an_honest_league_keeps_every_promise(script: dict[str, Any]) -> None:
    findings = check(honest_league(**script)).findings
    assert [finding.verdict for finding in findings] == ["kept"] * 21, findings


@pytest.mark.parametrize("script", SCRIPTS)
def test_an_honest_league_says_nothing_but_valid_messages(script: dict[str, Any]) -> None:
    for call in honest_league(**script).traffic or ():
        for content in (call.message, call.answer):
            if content is not None:
                assert unseal(content).violations == (), content


def test_of_a_managers_journal_alone_eleven_promises_can_be_observed() -> None:
    report = check(journal_only(honest_league()))
    assert [number for number in EVERY if report.verdict(number) == "kept"] == [1, 2, 3, 4, 6, 8, 9, 10, 11, 14, 19]
    assert report.broken == []


def test_of_nothing_nothing_can_be_said() -> None:
    report = check(Evidence())
    assert {finding.verdict for finding in report.findings} == {"unobservable"}
    assert all(finding.detail for finding in report.findings)


def test_a_promise_that_needs_two_kinds_of_evidence_is_not_kept_by_one() -> None:
    honest = honest_league()
    assert check(Evidence(traffic=())).verdict(5) == "unobservable"
    assert check(Evidence(traffic=honest.traffic)).verdict(13) == "unobservable"
    assert check(Evidence(manager=honest.manager, referees=honest.referees)).verdict(13) == "unobservable"


def test_the_report_reads_as_one_line_a_promise() -> None:
    planted = known(journal_only(honest_league(silent={"R1M1": ("P04",)})), faulted=frozenset())
    lines = str(check(planted)).splitlines()
    assert len(lines) == 21
    assert lines[0] == " 1 kept"
    assert lines[10].startswith("11 broken: P04 lost R1M1 without a fault [manager #")
    assert lines[17] == "18 unobservable: there is no second run"


def test_several_breaches_are_counted() -> None:
    bounds = {"one": (2, 1), "two": (2, 1), "three": (1, 1)}
    (finding,) = check(known(Evidence(), bounds=bounds)).broken
    assert finding.detail == "2 where 1 are allowed (and 1 more)"
    assert finding.where == "one"


def test_nodes_may_have_names_of_their_own() -> None:
    honest = honest_league()
    names = {"league_manager": "manager", "REF01": "referee-1", "REF02": "referee-2"}
    renamed = tuple(
        replace(
            call,
            sender_node=names.get(call.sender_node, f"node of {call.sender_node}"),
            receiver_node=names.get(call.receiver_node, f"node of {call.receiver_node}"),
        )
        for call in honest.traffic or ()
    )
    agents = {node: agent for agent, node in names.items()} | {f"node of P0{n}": f"P0{n}" for n in (1, 2, 3, 4)}
    assert [f.verdict for f in check(replace(honest, traffic=renamed, agents=agents)).findings] == ["kept"] * 21
    assert broken(replace(honest, traffic=renamed)) != set()


JUNK: list[Any] = [None, True, -1, 3.5, "", "P01", [], [None], [[]], {}, {"P01": []}, [{"player_id": {}}]]
FIELDS = (
    "match_id",
    "attempt",
    "round_id",
    "matches",
    "standings",
    "final_standings",
    "champion",
    "summary",
    "result",
    "game_result",
    "draw_commitment",
    "conversation_id",
    "player_meta",
    "context",
    "move_request",
    "query_type",
    "version",
)


@pytest.mark.parametrize("junk", JUNK, ids=repr)
def test_no_message_can_make_a_check_fail(junk: Any) -> None:
    """Whatever anybody says, the manager and the referees included: a verdict, never an exception."""
    honest = honest_league(slips=frozenset({"R1M1"}))
    nodes = ("league_manager", "REF01", "P01", "stranger")
    kinds = sorted({call.kind for call in honest.traffic or ()})
    hostile = [
        RecordedCall(
            1_010.0,
            sender,
            receiver,
            {**dict.fromkeys(FIELDS, junk), "message_type": kind},
            dict.fromkeys(FIELDS, junk),
        )
        for kind in (*kinds, junk)
        for sender in nodes
        for receiver in nodes
    ]
    assert len(check(sent(honest, *hostile)).findings) == 21
