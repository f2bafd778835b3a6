"""The journals of a league as they were kept: the manager's, and those of its referees, which alone know what passed
between referee and players.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from league.events import Enrolled, Event, LeagueCreated, MatchRecordKept, MatchTaken
from league.storage import urls
from league.storage.journal import decode
from league.storage.notices import JournalError
from league.storage.reading import JournalReader, open_for_reading
from league.storage.transcript import LetterNote


@dataclass(frozen=True, slots=True)
class RefereeJournal:
    """What a referee wrote down: events, and of the transcript the letters of the matches asked for."""

    events: Sequence[Event] = ()
    letters: Mapping[str, Sequence[LetterNote]] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
    """What the transcript says of itself: letters that are missing."""


@dataclass(frozen=True, slots=True)
class Journals:
    """All there is to know. `path` is the manager's file; `elsewhere` a folder where more journals seem to be."""

    manager: Sequence[Event] = ()
    referees: Mapping[str, RefereeJournal] = field(default_factory=dict)
    elsewhere: str | None = None
    path: Path | None = None
    seq: int = 0
    """How many events the manager's journal held, with the records of its referees."""


def read_journals(location: str, match_id: str | None = None, letters: bool = True) -> Journals:
    """What a journal holds; of a folder all its journals. With a match only its letters are read."""
    path = urls.parse(location).path
    if not path.is_dir():
        beside = any(one != path for one in path.parent.glob("*.db"))
        return _together([(path, _read(path, match_id, letters))], path, str(path.parent) if beside else None)
    read = [(one, _read(one, match_id, letters)) for one in sorted(path.glob("*.db"))]
    if not read:
        raise JournalError(f"there is no journal in {path}")
    return _together(read, path, None)


def _read(path: Path, match_id: str | None, letters: bool) -> RefereeJournal:
    with open_for_reading(path) as journal:
        events = list(journal.events())
        if not events or isinstance(events[0], LeagueCreated):
            return RefereeJournal(events)
        taken = {event.match_id for event in events if isinstance(event, MatchTaken)}
        wanted = taken if match_id is None else taken & {match_id}
        found = {one: list(journal.letters(one)) for one in wanted} if letters else {}
        return RefereeJournal(events, found, tuple(_remarks(journal)) if found else ())


def _remarks(journal: JournalReader) -> Iterator[str]:
    for note in journal.remarks():
        with suppress(UnicodeDecodeError):
            yield note.body.decode()


def _together(read: Sequence[tuple[Path, RefereeJournal]], path: Path, elsewhere: str | None) -> Journals:
    manager: tuple[Path | None, Sequence[Event]] = (None, ())
    referees: dict[str, RefereeJournal] = {}
    for file, one in read:
        enrolled = next((event for event in one.events if isinstance(event, Enrolled)), None)
        if one.events and isinstance(one.events[0], LeagueCreated):
            if manager[0] is not None:
                raise JournalError(f"{path} holds the journals of more than one league")
            manager = (file, one.events)
        elif enrolled is not None and any(isinstance(event, MatchTaken) for event in one.events):
            referees[enrolled.agent_id] = one
    if manager[0] is None and not referees:
        raise JournalError(f"{path} holds neither a manager's journal nor that of a referee with matches")
    records = _kept_by_the_manager(manager[1])
    own = [event for event in manager[1] if not isinstance(event, MatchRecordKept)]
    return Journals(own, {**records, **referees}, elsewhere, manager[0], len(manager[1]))


def _kept_by_the_manager(events: Sequence[Event]) -> Mapping[str, RefereeJournal]:
    """The match records the manager fetched from its referees: as good as their journals, but for the letters."""
    return kept((one.referee_id, one.record) for one in events if isinstance(one, MatchRecordKept))


def kept(records: Iterable[tuple[str, Iterable[object]]]) -> Mapping[str, RefereeJournal]:
    """Journals out of records: who kept each, and its events as JSON. A referee may have written anything there; what
    is no event is no record."""
    found: dict[str, list[Event]] = {}
    for referee_id, events in records:
        for one in events:
            with suppress(msgspec.MsgspecError):
                found.setdefault(referee_id, []).append(decode(msgspec.json.encode(one)))
    return {referee_id: RefereeJournal(events) for referee_id, events in found.items()}
