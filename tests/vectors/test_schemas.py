"""The JSON Schemas judge messages exactly as the code does, except where JSON Schema cannot."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

from league.protocol.message.messages import MESSAGES
from tests.support.vectors import Vector, check_all, named

FOLDER = Path(__file__).parents[2] / "spec" / "schemas"


@cache
def schemas() -> dict[str, Any]:
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in FOLDER.glob("*.json")}


@cache
def validator(message_type: str) -> Draft202012Validator:
    return Draft202012Validator(schemas()[message_type])


def accepted(message: dict[str, Any]) -> bool:
    kind = message.get("message_type")
    return isinstance(kind, str) and kind in schemas() and bool(validator(kind).is_valid(message))


def with_message(*folders: str) -> dict[str, Vector]:
    return {name: vector for name, vector in named(*folders).items() if "message" in vector}


def test_there_is_a_right_schema_for_each_message() -> None:
    assert {name for name in schemas() if name in MESSAGES} == set(MESSAGES)
    for message_type in MESSAGES:
        Draft202012Validator.check_schema(schemas()[message_type])


def test_the_schemas_accept_what_the_code_accepts() -> None:
    check_all(with_message("valid", "sources"), lambda vector: not accepted(vector["message"]) and "refused")


def test_the_schemas_reject_what_the_code_rejects_unless_they_cannot() -> None:
    check_all(
        with_message("invalid"),
        lambda vector: accepted(vector["message"]) != ("beyond_schema" in vector) and "not as it says",
    )
