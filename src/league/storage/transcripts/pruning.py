"""Removing letters from a transcript that nobody needs any more.

Letters are no part of the chain, and no result rests on them. What goes is decided before (`Pruning`), and then done in
one transaction of the journal's writer: whenever the process dies, all of it is done or none. A remark stays in the
transcript, so that nobody takes what is left for the whole. It also has the highest number of all letters, so no number
is ever given twice.

What must never happen: that a letter is kept without its body. A body that several letters have stands in the first of
them only, so before that one goes, the first that stays inherits it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from league.storage.reading import JournalRows
from league.storage.transcripts.transcript import ROW_COST, SIZE, STOPPED

Statement = tuple[str, Sequence[object]]
"""A statement that both kinds of databases understand, and its values."""


class Topic(NamedTuple):
    """Letters about one match, or about none (""): how many there are, and their size in bytes."""

    match_id: str
    letters: int
    size: int


@dataclass(frozen=True, slots=True)
class Pruning:
    """The letters that are to go from one journal: those from before a time, but of no match in `kept`."""

    before: float
    kept: Collection[str]
    topics: Sequence[Topic]
    """Letters that go."""
    kept_letters: int
    """Letters that stay."""

    @property
    def letters(self) -> int:
        return sum(topic.letters for topic in self.topics)

    @property
    def size(self) -> int:
        return sum(topic.size for topic in self.topics)

    @property
    def matches(self) -> Sequence[str]:
        """The matches whose letters go."""
        return [topic.match_id for topic in self.topics if topic.match_id]

    def statements(self, at: float, remark: str) -> Iterator[Statement]:
        """The steps of the transaction."""
        yield "CREATE TEMPORARY TABLE kept_matches(match_id text PRIMARY KEY)", ()
        for match_id in self.kept:
            yield "INSERT INTO kept_matches VALUES (?)", (match_id,)
        yield "CREATE TEMPORARY TABLE doomed(id bigint PRIMARY KEY)", ()
        yield f"INSERT INTO doomed SELECT id FROM letters WHERE {_GOES}", (self.before,)
        yield "CREATE TEMPORARY TABLE heirs(old_id bigint PRIMARY KEY, id bigint)", ()
        yield from ((step, ()) for step in _BEQUEATH)
        # Before the others go: its number follows theirs.
        yield _ADD_REMARK, (at, remark.encode())
        yield "DELETE FROM letters WHERE id IN (SELECT id FROM doomed)", ()
        yield _COUNT, ()
        # There is room again for a transcript that had reached its limit.
        yield f"DELETE FROM meta WHERE key = '{STOPPED}'", ()
        for table in ("kept_matches", "doomed", "heirs"):
            yield f"DROP TABLE {table}", ()


_GOES = "kind <> 'remark' AND at < ? AND match_id NOT IN (SELECT match_id FROM kept_matches)"
_BEQUEATH = (
    """INSERT INTO heirs SELECT same_as, min(id) FROM letters
        WHERE same_as IN (SELECT id FROM doomed) AND id NOT IN (SELECT id FROM doomed) GROUP BY same_as""",
    """UPDATE letters SET body = (SELECT body FROM letters AS first WHERE first.id = letters.same_as), same_as = 0
        WHERE id IN (SELECT id FROM heirs)""",
    """UPDATE letters SET same_as = (SELECT heirs.id FROM heirs WHERE heirs.old_id = letters.same_as)
        WHERE same_as IN (SELECT old_id FROM heirs)""",
)
_ADD_REMARK = """INSERT INTO letters
    VALUES ((SELECT coalesce(max(id), 0) + 1 FROM letters), ?, 'in', '', NULL, '', 'remark', '', ?, 0)"""
_COUNT = f"""INSERT INTO meta
    SELECT '{SIZE}', CAST(coalesce(sum({ROW_COST} + length(body)), 0) AS text) FROM letters WHERE true
    ON CONFLICT (key) DO UPDATE SET value = excluded.value"""


def plan_pruning(tables: JournalRows, before: float, kept: Collection[str]) -> Pruning:
    """Find out what would go."""
    query = f"""SELECT match_id, count(*), sum({ROW_COST} + length(body)) FROM letters
        WHERE kind <> 'remark' AND at < ? GROUP BY match_id ORDER BY min(id)"""
    topics = [Topic(match_id, letters, int(size)) for match_id, letters, size in tables.rows(query, (before,))]
    going = [topic for topic in topics if topic.match_id not in kept]
    all_letters: int = tables.rows("SELECT count(*) FROM letters WHERE kind <> 'remark'")[0][0]
    return Pruning(before, kept, going, all_letters - sum(topic.letters for topic in going))
