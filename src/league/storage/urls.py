"""The places of journals: a file, `sqlite:///…`, or a schema of a PostgreSQL database, `postgresql://…?schema=NAME`.

A folder of files and a pattern of schemas (`?schema=spring*`) name all journals of a league together.
"""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from msgspec import Struct

from league.storage.notices import JournalError

USUAL_SCHEMA = "league"
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://(.*)", re.DOTALL)
_FOLDER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}")
_SCHEMA = re.compile(r"[a-z_][a-z0-9_]{0,59}")
_PATTERN = re.compile(r"([a-z_][a-z0-9_]{0,59})?\*")


class FilePlace(Struct, frozen=True):
    """A journal in an SQLite file, or the folder of several."""

    path: Path

    def __str__(self) -> str:
        return str(self.path)

    @property
    def name(self) -> str:
        """Its name among the journals beside it."""
        return self.path.name

    @property
    def folder(self) -> Path | None:
        """The folder for the files that belong to the journal."""
        return self.path.parent

    @property
    def is_of_many(self) -> bool:
        """True if it holds several journals."""
        return self.path.is_dir()

    def numbered(self, number: int) -> FilePlace:
        """The place of the journal of another member of the same process: journal-2.db."""
        if not self.path.stem or not self.path.suffix:
            return FilePlace(self.path.with_name(f"{self.path.name}-{number}"))
        return FilePlace(self.path.with_name(f"{self.path.stem}-{number}{self.path.suffix}"))


class DatabasePlace(Struct, frozen=True):
    """A journal in a schema of a PostgreSQL database. Its text leaves the password out."""

    dsn: str
    """The URL of the database, as asyncpg takes it."""
    schema: str

    def __str__(self) -> str:
        parts = urlsplit(self.dsn)
        user, _, host = parts.netloc.rpartition("@")
        if user:
            host = f"{user.partition(':')[0]}@{host}"
        options = [(name, value) for name, value in parse_qsl(parts.query) if name != "password"]
        query = urlencode([*options, ("schema", self.schema)], safe="/*")
        return _url(host, parts.path, query)

    @property
    def name(self) -> str:
        """Its name among the journals beside it."""
        return self.schema

    @property
    def folder(self) -> Path | None:
        """Nothing is kept beside a database."""
        return None

    @property
    def is_of_many(self) -> bool:
        """True if it is a pattern, and so may stand for several journals."""
        return self.schema.endswith("*")

    @property
    def all_beside(self) -> DatabasePlace:
        """All journals of the same database."""
        return DatabasePlace(self.dsn, "*")

    def numbered(self, number: int) -> DatabasePlace:
        """The place of the journal of another member of the same process: league_2."""
        return DatabasePlace(self.dsn, f"{self.schema}_{number}")


Place = FilePlace | DatabasePlace


def parse(text: str | Path | Place) -> Place:
    """Read the value of `--journal`.

    As everywhere in Python, `sqlite:///` is followed by the path: `sqlite:///data/journal.db` is below the working
    directory, `sqlite:////data/journal.db` is not.
    """
    if isinstance(text, FilePlace | DatabasePlace):
        return text
    url = None
    if isinstance(text, str):
        url = _SCHEME.fullmatch(text)
    if url is None:
        return _file(str(text))
    scheme = url[1].lower()
    rest = url[2]
    # A URL is never repeated in an error: it may hold a password.
    if scheme in ("postgresql", "postgres"):
        return _database(rest)
    if scheme != "sqlite":
        raise JournalError(f"a journal cannot be kept in {scheme}://…; give a file, sqlite:///FILE or postgresql://…")
    if not rest.startswith("/"):
        raise JournalError("sqlite:// names no host: write sqlite:///FILE, or sqlite:////FILE for an absolute path")
    if "?" in rest or "#" in rest:
        raise JournalError("sqlite:///FILE takes no options; write %3F for a question mark and %23 for a # in its name")
    return _file(unquote(rest[1:]))


def default(league_id: str) -> FilePlace:
    """The place of a league's journal when nobody says otherwise."""
    if not _FOLDER.fullmatch(league_id):
        raise JournalError(f"no folder can be named after the league {league_id!r}; say where its journal is")
    return FilePlace(Path("league-data", league_id, "journal.db"))


def _file(text: str) -> FilePlace:
    if not text or "\0" in text:
        raise JournalError("the journal has no name; give a file, sqlite:///FILE or postgresql://…")
    return FilePlace(Path(text))


def _database(rest: str) -> DatabasePlace:
    try:
        parts = urlsplit(f"postgresql://{rest}")
        options = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
        if parts.fragment:
            raise ValueError("a fragment")
    except ValueError as error:
        raise JournalError("this is not the URL of a database: postgresql://USER@HOST:PORT/DATABASE") from error
    schemas = [value for name, value in options if name == "schema"]
    schema = USUAL_SCHEMA
    if schemas:
        schema = schemas[-1]
    if not _SCHEMA.fullmatch(schema) and not _PATTERN.fullmatch(schema):
        raise JournalError(
            f"{schema!r} cannot be the schema of a journal: use up to 60 lower-case letters, digits and underscores"
        )
    # asyncpg would take the name of our own option for a setting of the server.
    query = urlencode([(name, value) for name, value in options if name != "schema"])
    return DatabasePlace(_url(parts.netloc, parts.path, query), schema)


def _url(netloc: str, path: str, query: str) -> str:
    # By hand: urllib leaves the slashes out if there is no host.
    url = f"postgresql://{netloc}{path}"
    return f"{url}?{query}" if query else url
