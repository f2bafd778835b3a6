"""The examples of spec/league-v2.md as files, one message each: registration, the flow of games, errors."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SPEC = Path(__file__).parents[1] / "spec" / "league-v2.md"
BLOCK = re.compile(r"^```json\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FOLDERS = {
    "registration": ("LEAGUE_REGISTER_", "REFEREE_REGISTER_"),
    "errors": ("LEAGUE_ERROR", "GAME_ERROR"),
    "gameflow": ("",),
}
"""Each folder with how its message types begin; what is nowhere else belongs to the flow of games."""
HEAD = """\
# Message examples

These files are the examples of [the specification](../league-v2.md), one complete message each, without the JSON-RPC
around it. `registration/` has the messages of registration, `gameflow/` those of leagues and matches, `errors/` the
errors. The second example of a message ends in `-2`. `league validate FILE` judges any of them. `make generate` writes
this folder.
"""


def files() -> Iterator[tuple[str, str]]:
    """Every file by its name below spec/examples/."""
    yield "README.md", HEAD
    seen: Counter[str] = Counter()
    told: list[dict[str, Any]] = []
    for message in messages():
        if message in told:
            continue
        told.append(message)
        kind = message["message_type"]
        seen[kind] += 1
        ending = f"-{seen[kind]}" if seen[kind] > 1 else ""
        yield f"{folder_of(kind)}/{kind.lower()}{ending}.json", json.dumps(message, indent=2, ensure_ascii=False) + "\n"


def messages() -> Iterator[dict[str, Any]]:
    """The messages on the page (Any: JSON): bare, or in a JSON-RPC request, result or error."""
    for block in BLOCK.findall(SPEC.read_text(encoding="utf-8")):
        value = json.loads(block)
        for inner in (value, value.get("params"), value.get("result"), value.get("error", {}).get("data")):
            if isinstance(inner, dict) and "message_type" in inner:
                yield inner


def folder_of(message_type: str) -> str:
    return next(name for name, starts in FOLDERS.items() if message_type.startswith(starts))
