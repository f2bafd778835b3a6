"""Writes spec/vectors/valid and spec/vectors/invalid: python -m scripts.make_vectors

Each message type has a file, and each line of it is a vector. The vectors come from scripts/vectors: a file that was
added to these folders by hand is removed, and named. `--check` writes nothing and exits 1 if a file is stale, missing
or left over.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from scripts.vectors.right import valid
from scripts.vectors.shapes import Vector, check_tables
from scripts.vectors.wrong import invalid

ROOT = Path(__file__).parents[1] / "spec" / "vectors"


def _files(folder: str, vectors: Iterable[Vector]) -> dict[Path, str]:
    lines: dict[Path, list[str]] = {}
    names: set[str] = set()
    for vector in vectors:
        name = str(vector["name"])
        if name in names:
            raise ValueError(f"two vectors are called {name}")
        names.add(name)
        message_type = name.partition(".")[0]
        lines.setdefault(ROOT / folder / f"{message_type}.jsonl", []).append(json.dumps(vector) + "\n")
    return {path: "".join(sorted(rows)) for path, rows in lines.items()}


def files() -> dict[Path, str]:
    """Return the path and the text of every generated file."""
    check_tables()
    return {**_files("valid", valid()), **_files("invalid", invalid())}


def stale(wanted: Mapping[Path, str]) -> list[Path]:
    """Files that are missing, different or left over."""
    found = {
        path: path.read_text(encoding="utf-8") for folder in ("valid", "invalid") for path in (ROOT / folder).glob("*")
    }
    return sorted(path for path in {*wanted, *found} if wanted.get(path) != found.get(path))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="only look whether the files are up to date")
    check = parser.parse_args().check
    wanted = files()
    changes = stale(wanted)
    for path in changes:
        if check:
            print(f"not up to date: {path.relative_to(ROOT)}", file=sys.stderr)
        elif path in wanted:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(wanted[path], encoding="utf-8")
        else:
            print(f"removed {path.relative_to(ROOT)}: vectors come from the tables in scripts/vectors; add yours there")
            path.unlink()
    return 1 if check and changes else 0


if __name__ == "__main__":
    sys.exit(main())
