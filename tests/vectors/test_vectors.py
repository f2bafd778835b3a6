"""Every vector gets the verdict it names, and the vectors cover what there is to judge."""

from __future__ import annotations

import tomllib
from collections import Counter
from pathlib import Path

import pytest

from league.features.kit.message_verdicts import judge
from league.features.mcp.message_schemas import clauses
from league.protocol.errors import ERRORS
from league.protocol.message.envelope import STRICT, Reading, unseal
from league.protocol.message.messages import ACKS, AMONG_OURS, MESSAGES, MOVES, THE_EIGHTEEN
from scripts import make_vectors
from scripts.vectors import shapes, tables
from tests.support.vectors import ROOT, Vector, check_all, message, named, raw_of, vectors

READINGS = pytest.mark.parametrize("reading", [STRICT, Reading("compat")], ids=["strict", "compat"])
MESSAGE_TYPES = {one: one for one in MESSAGES}
TESTS = Path(__file__).parents[1]
NEEDS_A_LEAGUE = {
    *("E001", "E005", "E009", "E010", "E012", "E013", "E014", "E015", "E016", "E017", "E019", "E020", "E022", "E023"),
    *(
        "E025",
        "E026",
        "E027",
        "E028",
        "E030",
        "E031",
        "E033",
        "E040",
        "E041",
        "E042",
        "E043",
        "E044",
        "E045",
        "E046",
        "E099",
    ),
}
"""Errors that depend on what happened before, so that no message alone can show them."""


@READINGS
def test_a_valid_vector_is_accepted_and_named(reading: Reading) -> None:
    def complaint(vector: Vector) -> object:
        judgement = judge(raw_of(vector), reading)
        found = (judgement.violations, judgement.deviations, judgement.message_type)
        return found != ((), (), vector["message_type"]) and found

    check_all(named("valid"), complaint)


@READINGS
def test_an_example_of_the_documents_is_accepted(reading: Reading) -> None:
    def complaint(vector: Vector) -> object:
        judgement = judge(raw_of(vector), reading)
        found = (judgement.violations, judgement.message_type, judgement.reads_as)
        return found != ((), vector["message_type"], vector.get("reads_as")) and found

    check_all(named("sources"), complaint)


def test_an_invalid_vector_gets_exactly_its_error_first() -> None:
    def complaint(vector: Vector) -> object:
        violations = judge(raw_of(vector)).violations
        found = [(one.code, one.path, one.requirement) for one in violations[:1] if one.detail]
        return found != [(vector["error"], vector["path"], vector["requirement"])] and violations

    check_all(named("invalid"), complaint)


def test_what_compat_lets_pass_it_records() -> None:
    def complaint(vector: Vector) -> object:
        judgement = judge(raw_of(vector), Reading("compat"))
        recorded = any(one.code == vector["error"] for one in judgement.deviations)
        return not (judgement.violations or recorded) and judgement

    check_all(named("invalid"), complaint)


def test_the_vectors_are_what_the_script_writes() -> None:
    assert make_vectors.stale(make_vectors.files()) == []


def test_each_vector_has_a_name_of_its_own() -> None:
    repeated = {
        (folder, name): count
        for folder in ("valid", "invalid", "sources")
        for name, count in Counter(vector["name"] for vector in vectors(folder)).items()
        if count > 1
    }
    assert repeated == {}


def test_each_message_has_a_minimal_and_a_full_vector() -> None:
    names = {(vector["message_type"], vector["name"]) for vector in vectors("valid")}
    kinds = [*THE_EIGHTEEN, *MOVES, *AMONG_OURS, *ACKS]
    assert {(kind, f"{kind.lower()}.{size}") for kind in kinds for size in ("minimal", "full")} - names == set()


def test_the_valid_vectors_of_a_message_show_each_of_its_fields() -> None:
    """Those that are missing are to be added to BASES and FIELDS in scripts/vectors/tables.py."""
    shown: dict[str, set[str]] = {}
    for vector in vectors("valid"):
        if "message" in vector:
            shown.setdefault(vector["message_type"], set()).update(_paths(vector["message"]))

    def missing(message_type: str) -> set[str]:
        return {clause.path for clause in clauses(message_type) if clause.field is not None} - shown[message_type]

    check_all(MESSAGE_TYPES, missing)


def _paths(value: object, path: str = "") -> set[str]:
    if isinstance(value, dict):
        inner = [(f"{path}.{name}" if path else name, one) for name, one in value.items()]
    elif isinstance(value, list):
        inner = [(f"{path}[]", one) for one in value]
    else:
        return {path}
    return {path}.union(*(_paths(one, place) for place, one in inner))


def test_a_minimal_message_can_lose_no_field() -> None:
    def needless(message_type: str) -> list[str]:
        fields = message(f"{message_type.lower()}.minimal")
        rest = ((name, {other: value for other, value in fields.items() if other != name}) for name in fields)
        return [name for name, others in rest if unseal(others).message is not None]

    check_all(MESSAGE_TYPES, needless)


def test_each_field_of_a_message_has_a_wrong_vector() -> None:
    """Those that are missing are to be added to FIELDS in scripts/vectors/tables.py."""
    broken = {vector["requirement"] for vector in vectors("invalid")}
    check_all(MESSAGE_TYPES, lambda one: {clause.requirement for clause in clauses(one)} - broken)


def test_every_error_has_an_invalid_vector_unless_no_message_alone_can_cause_it() -> None:
    shown = {vector["error"] for vector in vectors("invalid")}
    missing = sorted(set(ERRORS) - shown - NEEDS_A_LEAGUE)
    assert not missing, (
        f"{missing[0]} has no invalid example: add a message that gets it to scripts/vectors/wrong.py and run "
        "`make generate`. If no message alone can cause the error, add its code to NEEDS_A_LEAGUE in this file, and a "
        "test of the role that sends it."
    )
    assert shown <= set(ERRORS)
    assert not NEEDS_A_LEAGUE & shown, "these have an invalid example: take them out of NEEDS_A_LEAGUE"


def test_every_error_that_needs_a_league_is_named_by_a_test_of_a_role() -> None:
    tests = "".join(path.read_text(encoding="utf-8") for path in TESTS.rglob("test_*.py") if path != Path(__file__))
    missing = [code for code in sorted(NEEDS_A_LEAGUE) if f'"{code}"' not in tests]
    assert not missing, f"no test expects {missing[0]}: add one that makes a manager, referee or player send it"


def test_a_field_without_an_example_is_told_with_where_to_add_it() -> None:
    with pytest.raises(SystemExit, match=r"FIELDS has a row for mood of GAME_OVER.*Add it to one of them"):
        shapes.base_with("GAME_OVER", "mood")


def test_a_message_in_only_one_of_the_tables_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shapes, "FIELDS", tables.FIELDS + "GAME_PAUSED\n  match_id text r\n")
    with pytest.raises(SystemExit, match="FIELDS describes GAME_PAUSED, but BASES has no message"):
        make_vectors.files()
    monkeypatch.setattr(shapes, "FIELDS", "")
    with pytest.raises(SystemExit, match="BASES has messages of type CHOOSE_PARITY_CALL, but FIELDS does not"):
        make_vectors.files()


def test_no_two_invalid_vectors_are_the_same_bytes() -> None:
    repeated = {raw: count for raw, count in Counter(map(raw_of, vectors("invalid"))).items() if count > 1}
    assert repeated == {}


def test_each_requirement_of_a_vector_is_in_the_list_of_requirements() -> None:
    with (ROOT.parent / "requirements.toml").open("rb") as file:
        known = {requirement["id"] for requirement in tomllib.load(file)["requirement"]}
    assert {vector["requirement"] for vector in vectors("invalid")} - known == set()


def test_every_complaint_is_told_and_nothing_to_check_is_one() -> None:
    with pytest.raises(AssertionError, match="2 of 3:\na: 1\nc: 3"):
        check_all({"a": 1, "b": 2, "c": 3}, lambda one: one % 2 and one)
    with pytest.raises(AssertionError, match="nothing to check"):
        check_all({}, lambda one: one)
