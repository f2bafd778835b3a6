"""Journals as earlier versions wrote them (tests/data/journals)."""

from __future__ import annotations

import gzip
from pathlib import Path

from tests.support.pages import ROOT

JOURNALS = ROOT / "tests" / "data" / "journals"
OLD_FORMATS = (2, 3, 4)


def unpack(number: int, league: str, folder: Path) -> Path:
    """Unpack the journals of a league into a folder, the manager's as journal.db; return the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for packed in sorted((JOURNALS / f"format-{number}" / league).glob("*.db.gz")):
        name = packed.name.removesuffix(".gz")
        target = folder / ("journal.db" if name == "manager.db" else name)
        target.write_bytes(gzip.decompress(packed.read_bytes()))
    return folder
