"""Every vector gets the verdict it names, and the vectors cover what there is to judge."""

from __future__ import annotations

import tomllib
from collections import Counter

import pytest

from league.cli.judgement import judge
from league.protocol.envelope import STRICT, Reading, unseal
from league.protocol.errors import ERRORS
from league.protocol.messages import ACKS, MESSAGES, MOVES, THE_EIGHTEEN
from league.protocol.schemas import clauses
from scripts import make_vectors
from tests.support.vectors import ROOT, Vector, raw_of, vectors

VALID, INVALID, SOURCES = vectors("valid"), vectors("invalid"), vectors("sources")
COMPAT = Reading("compat")
READINGS = [pytest.param(STRICT, id="strict"), pytest.param(COMPAT, id="compat")]


def _named(some: list[Vector]) -> list[object]:
    return [pytest.param(vector, id=vector["name"]) for vector in some]


def _with_requirement(some: list[Vector]) -> list[object]:
    return [
        pytest.param(vector, id=vector["name"], marks=pytest.mark.requirement(vector["requirement"])) for vector in some
    ]


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("vector", _named(VALID))
def test_a_valid_vector_is_accepted_and_named(vector: Vector, reading: Reading) -> None:
    judgement = judge(raw_of(vector), reading)
    assert judgement.violations == ()
    assert judgement.deviations == ()
    assert judgement.message_type == vector["message_type"]


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("vector", _named(SOURCES))
def test_an_example_of_the_documents_is_accepted(vector: Vector, reading: Reading) -> None:
    judgement = judge(raw_of(vector), reading)
    assert judgement.violations == ()
    assert judgement.message_type == vector["message_type"]
    assert judgement.reads_as == vector.get("reads_as")


@pytest.mark.parametrize("vector", _with_requirement(INVALID))
def test_an_invalid_vector_gets_exactly_its_error_first(vector: Vector) -> None:
    decisive = judge(raw_of(vector)).violations[0]
    assert (decisive.code, decisive.path) == (vector["error"], vector["path"])
    assert decisive.requirement == vector["requirement"]
    assert decisive.detail


@pytest.mark.parametrize("vector", _named(INVALID))
def test_what_compat_lets_pass_it_records(vector: Vector) -> None:
    judgement = judge(raw_of(vector), COMPAT)
    assert judgement.violations or any(one.code == vector["error"] for one in judgement.deviations)


def test_the_vectors_are_what_the_script_writes() -> None:
    assert make_vectors.stale(make_vectors.files()) == []


def test_a_vector_is_called_like_its_file() -> None:
    for folder in ("valid", "invalid", "sources"):
        names = [f"{vector['name']}.json" for vector in vectors(folder)]
        assert names == [path.name for path in sorted((ROOT / folder).iterdir())]


@pytest.mark.parametrize("message_type", [*THE_EIGHTEEN, *MOVES, *ACKS])
def test_each_message_has_a_minimal_and_a_full_vector(message_type: str) -> None:
    names = {vector["name"] for vector in VALID if vector["message_type"] == message_type}
    assert {f"{message_type.lower()}.minimal", f"{message_type.lower()}.full"} <= names


@pytest.mark.parametrize("message_type", MESSAGES)
def test_the_valid_vectors_of_a_message_show_each_of_its_fields(message_type: str) -> None:
    shown: set[str] = set()
    for vector in VALID:
        if vector["message_type"] == message_type and "message" in vector:
            shown |= _paths(vector["message"])
    fields = {clause.path for clause in clauses(message_type) if clause.field is not None}
    assert fields - shown == set(), "add them to BASES and FIELDS in scripts/vectors/tables.py"


def _paths(value: object, path: str = "") -> set[str]:
    if isinstance(value, dict):
        inner = [(f"{path}.{name}" if path else name, one) for name, one in value.items()]
    elif isinstance(value, list):
        inner = [(f"{path}[]", one) for one in value]
    else:
        return {path}
    return {path}.union(*(_paths(one, place) for place, one in inner))


@pytest.mark.parametrize("message_type", MESSAGES)
def test_a_minimal_message_can_lose_no_field(message_type: str) -> None:
    (vector,) = (vector for vector in VALID if vector["name"] == f"{message_type.lower()}.minimal")
    message = vector["message"]
    for name in message:
        rest = {other: value for other, value in message.items() if other != name}
        assert unseal(rest).message is None, f"{name} may be left out"


@pytest.mark.parametrize("message_type", MESSAGES)
def test_each_field_of_a_message_has_a_wrong_vector(message_type: str) -> None:
    broken = {vector["requirement"] for vector in INVALID}
    needed = {clause.requirement for clause in clauses(message_type)}
    assert needed - broken == set(), "add them to FIELDS in scripts/vectors/tables.py"


def test_there_is_a_vector_for_each_error_a_document_alone_can_show() -> None:
    found = {vector["error"] for vector in INVALID}
    assert found == {
        *("E003", "E004", "E007", "E008", "E011", "E018", "E021", "E024", "E029", "E032"),
        *("E034", "E035", "E036", "E037", "E038", "E039"),
    }
    assert found <= set(ERRORS)


def test_no_two_invalid_vectors_are_the_same_bytes() -> None:
    repeated = {raw: count for raw, count in Counter(map(raw_of, INVALID)).items() if count > 1}
    assert repeated == {}


def test_each_requirement_of_a_vector_is_in_the_list_of_requirements() -> None:
    with (ROOT.parent / "requirements.toml").open("rb") as file:
        known = {requirement["id"] for requirement in tomllib.load(file)["requirement"]}
    assert {vector["requirement"] for vector in INVALID} - known == set()
