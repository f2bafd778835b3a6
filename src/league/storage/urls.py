"""Where a journal is: a file, `sqlite:///…`, or (not in this version) `postgresql://…`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from league.storage.notices import JournalError

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://(.*)", re.DOTALL)
_FOLDER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}")


@dataclass(frozen=True, slots=True)
class Location:
    """A journal in an SQLite file."""

    path: Path


def parse(text: str) -> Location:
    """Read the value of `--journal`.

    As everywhere in Python, `sqlite:///` is followed by the path: `sqlite:///data/journal.db` is below the working
    directory, `sqlite:////data/journal.db` is not.
    """
    url = _SCHEME.fullmatch(text)
    if url is None:
        return _file(text)
    scheme = url[1].lower()
    rest = url[2]
    # A URL is never repeated in an error: it may hold a password.
    if scheme in ("postgresql", "postgres"):
        raise JournalError("a journal in PostgreSQL is not in this version; give a file or sqlite:///FILE")
    if scheme != "sqlite":
        raise JournalError(f"a journal cannot be kept in {scheme}://…; give a file or sqlite:///FILE")
    if not rest.startswith("/"):
        raise JournalError("sqlite:// names no host: write sqlite:///FILE, or sqlite:////FILE for an absolute path")
    if "?" in rest or "#" in rest:
        raise JournalError("sqlite:///FILE takes no options; write %3F for a question mark and %23 for a # in its name")
    return _file(unquote(rest[1:]))


def default(league_id: str) -> Location:
    """The place of a league's journal when nobody says otherwise."""
    if not _FOLDER.fullmatch(league_id):
        raise JournalError(f"no folder can be named after the league {league_id!r}; say where its journal is")
    return Location(Path("league-data", league_id, "journal.db"))


def _file(text: str) -> Location:
    if not text or "\0" in text:
        raise JournalError("the journal has no name; give a file or sqlite:///FILE")
    return Location(Path(text))
