"""The JSON Schemas judge messages exactly as the code does, except where JSON Schema cannot."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from league.protocol.messages import MESSAGES
from tests.support.vectors import Vector, vectors

FOLDER = Path(__file__).parents[2] / "spec" / "schemas"
SCHEMAS: dict[str, Any] = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in FOLDER.glob("*.json")}
VALIDATORS = {message_type: Draft202012Validator(schema) for message_type, schema in SCHEMAS.items()}


def _messages(*folders: str) -> list[object]:
    found = [vector for folder in folders for vector in vectors(folder) if "message" in vector]
    return [pytest.param(vector, id=vector["name"]) for vector in found]


def _accepted(message: dict[str, Any]) -> bool:
    message_type = message.get("message_type")
    return (
        isinstance(message_type, str)
        and message_type in VALIDATORS
        and bool(VALIDATORS[message_type].is_valid(message))
    )


def test_there_is_a_schema_for_each_message() -> None:
    assert {name for name in SCHEMAS if name in MESSAGES} == set(MESSAGES)


@pytest.mark.parametrize("message_type", MESSAGES)
def test_a_schema_is_itself_valid(message_type: str) -> None:
    Draft202012Validator.check_schema(SCHEMAS[message_type])


@pytest.mark.parametrize("vector", _messages("valid", "sources"))
def test_the_schema_accepts_what_the_code_accepts(vector: Vector) -> None:
    assert _accepted(vector["message"])


@pytest.mark.parametrize("vector", _messages("invalid"))
def test_the_schema_rejects_what_the_code_rejects_unless_it_cannot(vector: Vector) -> None:
    assert _accepted(vector["message"]) == ("beyond_schema" in vector)
