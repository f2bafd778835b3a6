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

from league.events import (
    Event,
    GameEnded,
    InvitationAnswered,
    LeagueCreated,
    MatchRecordKept,
    MatchTaken,
    Registered,
)
from league.manager.league_manager import LeagueManager
from league.manager.state.ledger import Ledger
from league.protocol.message.exchanges import Role
from league.storage import damage, urls
from league.storage.journal import decode
from league.storage.notices import UNFIT, JournalError, UnfitEventError
from league.storage.opening import journals_at, journals_beside
from league.storage.reading import JournalReader, open_for_reading
from league.storage.transcripts.transcript import LetterNote
from league.storage.urls import FilePlace, Place

JOURNAL = "journal.db"
FIRST_EVENTS = 20
"""The registration of a referee or player is among its first events."""


@dataclass(frozen=True, slots=True)
class RefereeJournal:
    """A referee's events, and the letters of the requested matches from its transcript."""

    events: Sequence[Event] = ()
    letters: Mapping[str, Sequence[LetterNote]] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
    """The transcript's own notes about letters that are missing."""


@dataclass(frozen=True, slots=True)
class Journals:
    """The journals of one league. `place` is that of the manager's; `elsewhere` names more journals that may be its."""

    manager: Sequence[Event] = ()
    """Without the match records, which are under `referees`."""
    referees: Mapping[str, RefereeJournal] = field(default_factory=dict)
    elsewhere: str | None = None
    place: Place | None = None
    seq: int = 0
    """How many events of the manager's journal were read, match records included."""
    players: Mapping[str, Sequence[Event]] = field(default_factory=dict)
    """The events of players whose journals are at hand."""


def read_journals(
    location: str,
    match_id: str | None = None,
    letters: bool = True,
) -> Journals:
    """Read a journal, or all journals of a folder.

    With a match id, the letters and records of this match are read, and records of other matches with deviations.
    """
    place = urls.parse(location)
    journals = read_all(place, match_id, letters)
    if journals.place is None and not journals.has_matches:
        raise JournalError(f"{place} holds neither a manager's journal nor that of a referee with matches")
    events = []
    records = []
    for event in journals.manager:
        if not isinstance(event, MatchRecordKept):
            events.append(event)
        elif _matters(event, match_id):
            records.append((event.referee_id, event.lines))
    return Journals(
        manager=events,
        # A referee's own journal holds more than the records the manager fetched from it, so it wins.
        referees={**records_of(records), **journals.referees},
        elsewhere=_name_of_more(place),
        place=journals.place,
        seq=len(journals.manager),
        players=journals.players,
    )


def _matters(record: MatchRecordKept, match_id: str | None) -> bool:
    """True for records of the match, and for records of other matches in which players deviated."""
    if match_id is None or match_id == record.match_id:
        return True
    # Looking for the name in the text is much quicker than decoding every record.
    return b'"PlayerDeviated"' in bytes(record.written)


def _name_of_more(place: Place) -> str | None:
    """What to name instead of a journal to read others beside it too, if there are any."""
    if place.is_of_many or all(journal == place for journal in journals_beside(place)):
        return None
    if isinstance(place, FilePlace):
        return str(place.path.parent)
    return str(place.all_beside)


def letters_beside(place: Place, league_id: str, match_id: str) -> Mapping[str, Sequence[LetterNote]]:
    """The letters of a match in the referees' journals beside the manager's, by referee. Nothing else is read."""
    letters_by_referee: dict[str, Sequence[LetterNote]] = {}
    for neighbour in journals_beside(place):
        # A file that is not a journal, or is being written for the first time, is skipped.
        with suppress(JournalError), open_for_reading(neighbour) as journal:
            referee_id = _member_in(journal, Role.REFEREE, league_id)
            if referee_id is None:
                continue
            letters = list(journal.letters(match_id))
            if letters:
                letters_by_referee[referee_id] = letters
    return letters_by_referee


def players_beside(place: Place, league_id: str, match_id: str) -> Mapping[str, Sequence[Event]]:
    """What players kept about a match in journals beside the manager's: their events, by player."""
    events_by_player: dict[str, Sequence[Event]] = {}
    for neighbour in journals_beside(place):
        with suppress(JournalError), open_for_reading(neighbour) as journal:
            player_id = _member_in(journal, Role.PLAYER, league_id)
            if player_id is not None:
                events_by_player[player_id] = journal.events_of(match_id)
    return events_by_player


def _member_in(journal: JournalReader, role: Role, league_id: str) -> str | None:
    """The id that the agent of this journal has in a league; None if it is not a journal of such an agent."""
    if journal.meta.get("role") != role.value:
        return None
    for _, event in journal.read_chunk(0, FIRST_EVENTS):
        if isinstance(event, Registered) and event.league_id == league_id:
            return event.agent_id
    return None


def records_of(records: Iterable[tuple[str, Iterable[object]]]) -> Mapping[str, RefereeJournal]:
    """Make referees' journals from match records: the id of each record's referee, and its events as JSON.

    A referee may send anything, so lines that are not events are skipped.
    """
    events_by_referee: dict[str, list[Event]] = {}
    for referee_id, lines in records:
        events = events_by_referee.setdefault(referee_id, [])
        for line in lines:
            with suppress(ValueError, TypeError):
                events.append(decode(msgspec.json.encode(line)))
    return {referee_id: RefereeJournal(events) for referee_id, events in events_by_referee.items()}


# --- whose journal it is ----------------------------------------------------------------------------------------------


def role_of(events: Sequence[Event], stated: str | None = None) -> Role | None:
    """The role that wrote a journal; None if it cannot be determined.

    A manager's journal begins with LeagueCreated. Otherwise the role `stated` in the file counts, and in a file that
    states none, the first event that only one role writes. Ids may be anything, so they say nothing about the role.
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
    """The journals at a place, by the role that wrote them."""

    place: Place | None = None
    """That of the manager's."""
    manager: Sequence[Event] = ()
    referees: dict[str, RefereeJournal] = field(default_factory=dict)
    players: dict[str, Sequence[Event]] = field(default_factory=dict)

    @property
    def has_matches(self) -> bool:
        """True if a referee has taken a match."""
        return any(isinstance(event, MatchTaken) for journal in self.referees.values() for event in journal.events)


def read_all(place: Place, match_id: str | None, letters: bool) -> FoundJournals:
    """Read every journal at a place, which may be a folder. With a match id, hardly anything of others is read."""
    places = journals_at(place)
    if not places:
        raise JournalError(f"there is no journal in {place}")
    journals = FoundJournals()
    # The manager's journal may come last, but its league decides which events of the other journals count.
    league_id = league_of(places)
    for journal_place in places:
        with open_for_reading(journal_place) as journal:
            read = list(journal.events()) if match_id is None else journal.events_about(match_id)
            events = in_league(read, league_id)
            role = role_of(events, journal.meta.get("role"))
            # An agent that never registered has nothing to report.
            agent_id = next((event.agent_id for event in events if isinstance(event, Registered)), None)
            if role is Role.MANAGER and journals.place is not None:
                raise JournalError(f"{place} holds the journals of more than one league")
            if role is Role.MANAGER:
                journals.place = journal_place
                journals.manager = events
            elif role is Role.REFEREE and agent_id is not None:
                journals.referees[agent_id] = _referee_journal(journal, events, match_id, letters)
            elif role is Role.PLAYER and agent_id is not None:
                journals.players[agent_id] = events
    return journals


def league_of(places: Sequence[Place]) -> str | None:
    """The id of the league whose manager kept one of these journals."""
    for place in places:
        with open_for_reading(place) as journal:
            first = next(iter(journal.events()), None)
            if isinstance(first, LeagueCreated):
                return first.settings.league_id
    return None


def in_league(events: Sequence[Event], league_id: str | None) -> Sequence[Event]:
    """The events of an agent that belong to a league; without a league id, those of the last league it was in.

    A referee or player may go from league to league with one journal, and match ids are the same in every league.
    """
    starts = [place for place, event in enumerate(events) if isinstance(event, Registered) and event.new_league]
    if not starts:
        return events
    latest: Sequence[Event] = ()
    for first, last in pairwise([0, *starts, len(events)]):
        part = events[first:last]
        leagues = {event.league_id for event in part if isinstance(event, Registered)}
        if league_id is None or league_id in leagues:
            latest = part  # and a later one counts more
    return latest


def _referee_journal(
    journal: JournalReader,
    events: Sequence[Event],
    match_id: str | None,
    letters: bool,
) -> RefereeJournal:
    matches = {event.match_id for event in events if isinstance(event, MatchTaken)}
    if match_id is not None:
        matches &= {match_id}
    if not letters or not matches:
        return RefereeJournal(events)
    letters_by_match = {match: list(journal.letters(match)) for match in matches}
    return RefereeJournal(events, letters_by_match, tuple(_remarks(journal)))


def _remarks(journal: JournalReader) -> Iterator[str]:
    for note in journal.remarks():
        with suppress(UnicodeDecodeError):  # a damaged note is left out, the rest is shown
            yield note.body.decode()


# --- replay -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ReplayedLeague:
    """A league after `seq` events of its journal, which holds `events` in all."""

    manager: LeagueManager
    seq: int
    events: int

    @property
    def digest(self) -> str:
        """A hash of the whole state: the same journal up to the same event gives the same digest."""
        state = msgspec.to_builtins(
            self.manager.snapshot(),
            str_keys=True,
            order="deterministic",
        )
        return hashlib.sha256(msgspec.json.encode(state)).hexdigest()


def manager_place(location: str | Place) -> Place:
    """The manager's journal at a location: a file, a URL, a folder that holds it, or a pattern that fits its schema."""
    place = urls.parse(location)
    if not place.is_of_many:
        return place
    if isinstance(place, FilePlace):
        return FilePlace(place.path / JOURNAL)
    for journal_place in journals_at(place):
        with open_for_reading(journal_place) as journal:
            first = journal.read_chunk(0, 1)
            if first and isinstance(first[0][1], LeagueCreated):
                return journal_place
    raise JournalError(f"there is no manager's journal in {place}")


def read_events(location: str | Path | Place) -> Sequence[Event]:
    """All events of a journal."""
    with open_for_reading(location) as journal:
        return list(journal.events())


def replay(location: str | Place, until: int | None = None) -> ReplayedLeague:
    """Replay a manager's journal, up to an event if one is named."""
    place = manager_place(location)
    with open_for_reading(place) as journal:
        last = journal.last_seq
        if until is not None and until > last:
            raise JournalError(f"{place} holds {last} events; there is no event {until}")
        # Read no further than requested: later events may be damaged.
        events = list(journal.events(until))
        head = journal.head_at(len(events))
    manager = manager_after(events, place)
    manager.journal_head = lambda: head
    # A league that is being played may have gone on since `last` was read.
    return ReplayedLeague(manager, len(events), max(last, len(events)))


def blank_manager(created: LeagueCreated) -> LeagueManager:
    """A manager that can replay a league, before its first event."""
    return LeagueManager(created.settings, _no_chance)


def manager_with(ledger: Ledger) -> LeagueManager:
    """A manager that can go on replaying a league from an earlier state."""
    return LeagueManager(ledger.settings, _no_chance, ledger=ledger)


def manager_after(events: Sequence[Event], place: Place) -> LeagueManager:
    """A manager that has replayed these events of the journal at a place.

    The place is for error messages only.
    """
    manager = first_manager(events[0] if events else None, place)
    apply(manager.ledger, enumerate(events, start=1), place)
    return manager


def first_manager(first: Event | None, place: Place) -> LeagueManager:
    """A manager that can replay the journal that begins with this event."""
    if not isinstance(first, LeagueCreated):
        raise JournalError(
            f"{place} does not begin with a league: it is not a manager's journal, or nothing was played"
        )
    try:
        return blank_manager(first)
    except UNFIT as error:
        raise JournalError(f"{place} cannot be replayed here: {error}") from error


def apply(ledger: Ledger, events: Iterable[tuple[int, Event]], place: Place) -> None:
    """Replay events of a journal, each with its number."""
    for seq, event in events:
        try:
            ledger.apply(event)
        except UNFIT as error:
            raise JournalError(damage.unfit(place, UnfitEventError(seq, error))) from error


def _no_chance(_count: int) -> NoReturn:
    raise AssertionError("a replay draws nothing")
