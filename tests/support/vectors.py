"""The vectors of spec/vectors, and the bytes they stand for."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2] / "spec" / "vectors"
Vector = dict[str, Any]
"""One vector (Any: its fields are JSON)."""


def vectors(folder: str) -> list[Vector]:
    """Every vector of one folder, by name."""
    return [json.loads(path.read_text(encoding="utf-8")) for path in sorted((ROOT / folder).glob("*.json"))]


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
    """The message of the valid vector of this name, fresh for each caller."""
    vector: Vector = json.loads((ROOT / "valid" / f"{name}.json").read_text(encoding="utf-8"))
    content: dict[str, Any] = vector["message"]
    return content
