"""Keeps the JSON Schema of all events in the format of journals, so that nobody changes it by accident.

`make generate` writes the file of the current format, as long as old journals mean what they meant. An older version
that knows the format, but not an event of a journal, says which version wrote it. Otherwise it refuses, and says what
to do. With `--same-format`, for a format that no release has written yet, `python -m scripts.journal_schema` writes the
file in any case.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from league.events import EVENTS
from league.storage.formats import FORMAT

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "tests" / "data" / "journals"
IN_WORDS = ("description", "title")
Schemas = Mapping[str, Mapping[str, Any]]
"""By the name of an event, or of a part of one (Any: JSON Schema)."""


def path_of(number: int) -> Path:
    """The file with the events of a format."""
    return FOLDER / f"events-{number}.json"


def current() -> Schemas:
    """The schemas of all events as they are declared now, without their texts."""
    _, components = msgspec.json.schema_components(EVENTS)
    return {name: _without_words(schema) for name, schema in sorted(components.items())}


def stored() -> Schemas | None:
    """The schemas of the current format as they were declared before; None for a new format."""
    path = path_of(FORMAT)
    if not path.exists():
        return None
    schemas: Schemas = json.loads(path.read_text(encoding="utf-8"))
    return schemas


def text() -> str:
    """The content of the file: one event a line."""
    lines = [f"{json.dumps(name)}: {json.dumps(schema, sort_keys=True)}" for name, schema in current().items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def incompatible(old: Schemas, new: Schemas) -> Iterator[str]:
    """Say what must not change within a format. New events, new fields with a default and new words may come."""
    for name in sorted(old.keys() | new.keys()):
        if name not in new:
            yield f"{name} is gone"
        elif name in old:
            yield from _changed_fields(name, old[name], new[name])


def _changed_fields(name: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    before = old.get("properties", {})
    after = new.get("properties", {})
    for field in sorted(before.keys() | after.keys()):
        if field not in after:
            yield f"{name}.{field} is gone"
        elif field not in before:
            if field in new.get("required", ()):
                yield f"{name}.{field} is new and has no default"
        elif not _is_same_or_more(before[field], after[field]):
            yield f"{name}.{field} has another type or default"


def _is_same_or_more(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    """True if a field takes what it took, and perhaps more words."""
    words = before.get("enum", ())
    return before == after or (set(words) < set(after.get("enum", ())) and {**before, "enum": after["enum"]} == after)


def advice(changes: list[str]) -> str:
    """What to do about changes that a format does not allow."""
    return (
        f"The events of format {FORMAT} are no longer what they were: {'; '.join(changes)}.\n"
        "Other versions would misread new journals, or this one would misread old ones. Give `FORMAT` in "
        "src/league/storage/formats.py the next number, add journals of the old format to tests/data/journals, and "
        'rows to src/league/storage/retired.py: see "Change what a journal holds" in CONTRIBUTING.md.\n'
        f"If no release has written format {FORMAT} yet, run `python -m scripts.journal_schema --same-format`."
    )


def files() -> Iterator[tuple[Path, str]]:
    """The generated file; SystemExit if the change needs a new format."""
    old = stored()
    changes = list(incompatible(old, current())) if old is not None else []
    if changes:
        raise SystemExit(advice(changes))
    yield path_of(FORMAT), text()


def _without_words(schema: Any) -> Any:
    if isinstance(schema, dict):
        # A field may be called "description" too; its schema is not a text.
        return {
            key: _without_words(value)
            for key, value in schema.items()
            if key not in IN_WORDS or not isinstance(value, str)
        }
    if isinstance(schema, list | tuple):  # defaults are tuples, which JSON does not have
        return [_without_words(item) for item in schema]
    return schema


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--same-format", action="store_true", help="no release has written this format yet")
    if parser.parse_args().same_format:
        path_of(FORMAT).write_text(text(), encoding="utf-8")
        return 0
    for path, content in files():
        path.write_text(content, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
