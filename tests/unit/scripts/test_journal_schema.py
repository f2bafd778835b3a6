"""The events of a format stay readable: what would break that is named, with what to do."""

from __future__ import annotations

from typing import Any

import pytest

from scripts import journal_schema
from scripts.journal_schema import advice, current, incompatible, stored, text


def test_the_events_are_those_of_their_format() -> None:
    old = stored()
    assert old is not None, "run `make generate`"
    changes = list(incompatible(old, current()))
    assert changes == [], advice(changes)
    assert old == current(), "run `make generate`"


def event(required: tuple[str, ...] = ("at",), **fields: Any) -> dict[str, Any]:
    return {"properties": {"at": {"type": "number"}, **fields}, "required": list(required), "type": "object"}


@pytest.mark.parametrize(
    ("new", "changes"),
    [
        ({"Won": event()}, []),
        ({"Won": event(by={"type": "string", "default": ""})}, []),
        ({"Won": event(("at", "by"), by={"type": "string"})}, ["Won.by is new and has no default"]),
        ({"Won": {"properties": {}, "required": []}}, ["Won.at is gone"]),
        ({"Won": event(at={"type": "string"})}, ["Won.at has another type or default"]),
        ({"Won": event(at={"enum": ["home"]})}, ["Won.at has another type or default"]),
        ({"Won": event(), "Lost": event()}, []),
        ({}, ["Won is gone"]),
    ],
)
def test_only_new_events_and_new_fields_with_a_default_keep_the_format(new: dict[str, Any], changes: list[str]) -> None:
    assert list(incompatible({"Won": event()}, new)) == changes


def test_a_field_may_take_another_word_and_lose_none() -> None:
    few = {"Won": event(place={"enum": ["away", "home"]})}
    many = {"Won": event(place={"enum": ["away", "garden", "home"]})}
    assert list(incompatible(few, many)) == []
    assert list(incompatible(many, few)) == ["Won.place has another type or default"]


def test_generating_refuses_what_needs_a_new_format(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal_schema, "stored", lambda: {**current(), "Told": event()})
    with pytest.raises(SystemExit, match=r"Told is gone.*\n.*Change what a journal holds.*\n.*--same-format"):
        list(journal_schema.files())


def test_texts_of_events_are_not_part_of_a_format() -> None:
    assert "The referee acknowledged" not in text()
