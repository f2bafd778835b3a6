"""Every statement of spec/vectors/statements.json is written, digested and signed as it says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from league.protocol.signing.choices import chained
from league.protocol.signing.keys import is_signed, sign, signing_key, statement_bytes
from league.protocol.signing.rounds import digest_of
from league.protocol.wire.canonical_json import canonical

PATH = Path(__file__).parents[2] / "spec" / "vectors" / "statements.json"
VECTORS = json.loads(PATH.read_text("utf-8"))["vectors"]


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["name"])
def test_a_statement_is_written_and_signed_as_its_vector_says(vector: dict[str, Any]) -> None:
    key = signing_key(bytes.fromhex(vector["secret"]))
    statement = vector["statement"]
    assert key.public == vector["public_key"]
    assert statement_bytes(statement).decode() == canonical(statement).decode() == vector["signed"]
    assert digest_of(statement) == vector["digest"]
    assert sign(key, statement) == vector["signature"]
    assert is_signed(vector["signature"], key.public, statement)
    assert not any(is_signed(wrong, key.public, statement) for wrong in vector["wrong_signatures"])


def test_each_names_the_one_before() -> None:
    first, second = [vector for vector in VECTORS if vector["statement"]["type"] == "league.v2 round"]
    assert (first["statement"]["previous"], second["statement"]["previous"]) == (None, first["digest"])


def test_views_are_chained_as_a_vector_says() -> None:
    vector = next(vector for vector in VECTORS if "move_requests" in vector)
    views = None
    for request, link in zip(vector["move_requests"], vector["chain"], strict=True):
        views = chained(views, request)
        assert views == link
    assert vector["statement"]["views"] == views
