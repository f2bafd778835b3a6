"""The vectors of spec/vectors, the bytes they stand for, and a check of many things at once."""

from __future__ import annotations

import base64
import copy
import json
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2] / "spec" / "vectors"
Vector = dict[str, Any]
"""One vector (Any: its fields are JSON)."""


@cache
def vectors(folder: str) -> tuple[Vector, ...]:
    """Return every vector of one folder, by name; not to be changed."""
    files = (ROOT / folder).glob("*.jsonl")
    lines = (line for path in files for line in path.read_text(encoding="utf-8").split("\n") if line)
    return tuple(sorted(map(json.loads, lines), key=lambda vector: str(vector["name"])))


def raw_of(vector: Vector) -> bytes:
    """The bytes to judge: the text that is given, or the message or document as JSON."""
    if "raw_base64" in vector:
        return base64.b64decode(vector["raw_base64"])
    if "raw" not in vector:
        return json.dumps(vector.get("message", vector.get("document"))).encode()
    text = str(vector["raw"])
    if "repeat" in vector:
        repeat = vector["repeat"]
        text = text.replace(repeat["find"], repeat["text"] * repeat["times"])
    return text.encode()


def message(name: str) -> dict[str, Any]:
    """Return the message of the valid vector of this name, fresh for each caller."""
    content: dict[str, Any] = copy.deepcopy(_valid()[name]["message"])
    return content


@cache
def _valid() -> dict[str, Vector]:
    return named("valid")


def named(*folders: str) -> dict[str, Vector]:
    """The vectors of these folders by name."""
    return {one["name"]: one for folder in folders for one in vectors(folder)}


def check_all(some: Mapping[str, Any], complaint: Callable[[Any], object]) -> None:
    """Fail with every complaint about one of these, a truthy value; that there are none of them is one too."""
    assert some, "there is nothing to check"
    wrong = {name: found for name, one in some.items() if (found := complaint(one))}
    told = "\n".join(f"{name}: {found}" for name, found in wrong.items())
    assert not wrong, f"{len(wrong)} of {len(some)}:\n{told}"
