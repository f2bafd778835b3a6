"""The journals of a league: read from a file or folder, sorted by the role that wrote each, and replayed.

Every report starts here. A manager's journal also holds the match records it fetched from its referees.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import NoReturn

import msgspec

from league.events import Event, GameEnded, InvitationAnswered, LeagueCreated, MatchRecordKept, MatchTaken, Registered
from league.manager.league import LeagueManager
from league.manager.ledger import Ledger
from league.protocol.exchanges import Role
from league.storage import urls
from league.storage.files import damaged
from league.storage.journal import decode
from league.storage.notices import UNFIT, JournalError, UnfitEventError
from league.storage.reading import JournalReader, open_for_reading
from league.storage.transcript import LetterNote

JOURNAL = "journal.db"
FIRST_EVENTS = 20
"""A referee's registration is among these."""


@dataclass(frozen=True, slots=True)
class RefereeJournal:
    """A referee's events, and from its transcript the letters of the matches asked for."""

    events: Sequence[Event] = ()
    letters: Mapping[str, Sequence[LetterNote]] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
    """What the transcript says of itself: letters that are missing."""


@dataclass(frozen=True, slots=True)
class Journals:
    """The journals of one league. `path` is the manager's file; `elsewhere` a folder that may hold more of them."""

    manager: Sequence[Event] = ()
    """Without the match records, which are under `referees`."""
    referees: Mapping[str, RefereeJournal] = field(default_factory=dict)
    elsewhere: str | None = None
    path: Path | None = None
    seq: int = 0
    """How many events the manager's journal holds, match records included."""


def read_journals(location: str, match_id: str | None = None, letters: bool = True) -> Journals:
    """Read a journal, or all journals of a folder. With a match, only its letters and records are read, and what else
    was told of deviations."""
    path = urls.parse(location).path
    found = read_all(path, match_id, letters)
    if path.is_dir() and not found.files:
        raise JournalError(f"there is no journal in {path}")
    has_matches = any(isinstance(event, MatchTaken) for one in found.referees.values() for event in one.events)
    if found.path is None and not has_matches:
        raise JournalError(f"{path} holds neither a manager's journal nor that of a referee with matches")
    beside = not path.is_dir() and any(one != path for one in path.parent.glob("*.db"))
    kept = (one for one in found.manager if isinstance(one, MatchRecordKept) and _matters(one, match_id))
    records = records_of((one.referee_id, one.lines) for one in kept)
    return Journals(
        manager=[event for event in found.manager if not isinstance(event, MatchRecordKept)],
        referees={**records, **found.referees},
        elsewhere=str(path.parent) if beside else None,
        path=found.path,
        seq=len(found.manager),
    )


def _matters(kept: MatchRecordKept, match_id: str | None) -> bool:
    """With a match, other matches matter only as far as players deviated in them."""
    return match_id in (None, kept.match_id) or b'"PlayerDeviated"' in bytes(kept.written)


def letters_beside(path: Path, league_id: str, match_id: str) -> Mapping[str, Sequence[LetterNote]]:
    """The letters of a match in the referees' journals beside the manager's, by referee; no more of them is read."""
    found: dict[str, Sequence[LetterNote]] = {}
    for file in sorted(path.parent.glob("*.db")):
        with suppress(JournalError), open_for_reading(file) as journal:
            if journal.meta.get("role") == Role.REFEREE.value:
                begun = (event for _, event in journal.read_chunk(0, FIRST_EVENTS) if isinstance(event, Registered))
                enrolled = next((event for event in begun if event.league_id == league_id), None)
                if enrolled is not None and (letters := list(journal.letters(match_id))):
                    found[enrolled.agent_id] = letters
    return found


def records_of(records: Iterable[tuple[str, Iterable[object]]]) -> Mapping[str, RefereeJournal]:
    """Referees' journals from match records: the referee of each, and its events as JSON. Whatever is not an event is
    skipped, since a referee may send anything."""
    found: dict[str, list[Event]] = {}
    for referee_id, events in records:
        for one in events:
            with suppress(msgspec.MsgspecError):
                found.setdefault(referee_id, []).append(decode(msgspec.json.encode(one)))
    return {referee_id: RefereeJournal(events) for referee_id, events in found.items()}


# --- whose journal it is ----------------------------------------------------------------------------------------------


def role_of(events: Sequence[Event], stated: str | None = None) -> Role | None:
    """Whose journal this is. A manager's begins with LeagueCreated. Otherwise the role `stated` in the file counts,
    and in a file that states none, the first event that only one role writes. Ids tell nothing: they may be anything.
    """
    if events and isinstance(events[0], LeagueCreated):
        return Role.MANAGER
    if stated in (Role.REFEREE.value, Role.PLAYER.value):
        return Role(stated)
    for event in events:
        if isinstance(event, MatchTaken):
            return Role.REFEREE
        if isinstance(event, InvitationAnswered | GameEnded):
            return Role.PLAYER
    return None


@dataclass(slots=True)
class FoundJournals:
    """The journals at a location, by the role that wrote them."""

    files: Sequence[Path]
    has_events: bool = False
    path: Path | None = None
    manager: Sequence[Event] = ()
    referees: dict[str, RefereeJournal] = field(default_factory=dict)
    players: dict[str, Sequence[Event]] = field(default_factory=dict)


def read_all(path: Path, match_id: str | None, letters: bool) -> FoundJournals:
    """Read every journal at a path, which may be a folder."""
    found = FoundJournals(sorted(path.glob("*.db")) if path.is_dir() else [path])
    league_id = _league_of(found.files)
    for file in found.files:
        with open_for_reading(file) as journal:
            events = _in_league(list(journal.events()), league_id)
            found.has_events |= bool(events)
            role = role_of(events, journal.meta.get("role"))
            enrolled = next((event.agent_id for event in events if isinstance(event, Registered)), None)
            if role is Role.MANAGER:
                if found.path is not None:
                    raise JournalError(f"{path} holds the journals of more than one league")
                found.path, found.manager = file, events
            elif role is Role.REFEREE and enrolled is not None:
                found.referees[enrolled] = _referee_journal(journal, events, match_id, letters)
            elif role is Role.PLAYER and enrolled is not None:
                found.players[enrolled] = events
    return found


def _league_of(files: Sequence[Path]) -> str | None:
    """The id of the league whose manager kept one of these journals."""
    for file in files:
        with open_for_reading(file) as journal:
            first = next(iter(journal.events()), None)
            if isinstance(first, LeagueCreated):
                return first.settings.league_id
    return None


def _in_league(events: Sequence[Event], league_id: str | None) -> Sequence[Event]:
    """Of a referee or player that was in several leagues, what belongs to this one, or to the last: match ids come
    again."""
    begun = [place for place, event in enumerate(events) if isinstance(event, Registered) and event.new_league]
    parts = [events[first:last] for first, last in pairwise([0, *begun, len(events)])]
    in_league = ((one, {event.league_id for event in one if isinstance(event, Registered)}) for one in parts)
    wanted = [one for one, leagues in in_league if league_id is None or league_id in leagues]
    return events if not begun else wanted[-1] if wanted else ()


def _referee_journal(
    journal: JournalReader, events: Sequence[Event], match_id: str | None, letters: bool
) -> RefereeJournal:
    taken = {event.match_id for event in events if isinstance(event, MatchTaken)}
    wanted = taken if match_id is None else taken & {match_id}
    found = {one: list(journal.letters(one)) for one in wanted} if letters else {}
    return RefereeJournal(events, found, tuple(_remarks(journal)) if found else ())


def _remarks(journal: JournalReader) -> Iterator[str]:
    for note in journal.remarks():
        with suppress(UnicodeDecodeError):
            yield note.body.decode()


# --- replay -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Replayed:
    """A league after `seq` events of its journal, which holds `events` in all."""

    manager: LeagueManager
    seq: int
    events: int

    @property
    def digest(self) -> str:
        """A hash of the whole state: the same journal up to the same event gives the same digest."""
        state = msgspec.to_builtins(self.manager.snapshot(), str_keys=True, order="deterministic")
        return hashlib.sha256(msgspec.json.encode(state)).hexdigest()


def manager_file(location: str) -> Path:
    """The manager's journal at a location: a file, a URL, or a folder that holds it."""
    path = urls.parse(location).path
    return path / JOURNAL if path.is_dir() else path


def read_events(path: Path) -> Sequence[Event]:
    """All events of a journal."""
    with open_for_reading(path) as journal:
        return list(journal.events())


def replay(location: str, until: int | None = None) -> Replayed:
    """Replay a manager's journal, up to an event if one is named."""
    path = manager_file(location)
    with open_for_reading(path) as journal:
        last = journal.last_seq
        if until is not None and until > last:
            raise JournalError(f"{path} holds {last} events; there is no event {until}")
        # No further than asked: what comes after it may be damaged.
        events = [event for _, event in journal.events_after(0, until)]
    return Replayed(manager_after(events, path), len(events), max(last, len(events)))


def blank_manager(created: LeagueCreated) -> LeagueManager:
    """A manager to replay a league on, before its first event."""
    return LeagueManager(created.settings, _no_chance)


def manager_with(ledger: Ledger) -> LeagueManager:
    """A manager to go on replaying a league on, from a state it had."""
    return LeagueManager(ledger.settings, _no_chance, ledger=ledger)


def manager_after(events: Sequence[Event], path: Path) -> LeagueManager:
    """A manager that has replayed these events of the journal at a path."""
    manager = first_manager(events[0] if events else None, path)
    for seq, event in enumerate(events, start=1):
        apply(manager, seq, event, path)
    return manager


def first_manager(first: Event | None, path: Path) -> LeagueManager:
    """A manager to replay the journal on that begins with this event."""
    if not isinstance(first, LeagueCreated):
        raise JournalError(f"{path} does not begin with a league: it is no manager's journal, or nothing was played")
    try:
        return blank_manager(first)
    except ValueError as error:
        raise JournalError(f"{path} cannot be replayed here: {error}") from error


def apply(manager: LeagueManager, seq: int, event: Event, path: Path) -> None:
    """Replay one event of a journal."""
    try:
        manager.apply(event)
    except UNFIT as error:
        raise JournalError(damaged(path, UnfitEventError(seq, error))) from error


def _no_chance(_count: int) -> NoReturn:
    raise AssertionError("a replay draws nothing")
