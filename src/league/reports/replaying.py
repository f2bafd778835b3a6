"""A league back from its journal: the manager as it was after any number of its events, and journals as evidence."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import msgspec

from league.events import Enrolled, Event, LeagueCreated
from league.manager.league import LeagueManager
from league.promises import Evidence
from league.storage import reading, urls
from league.storage.notices import JournalError

JOURNAL = "journal.db"


@dataclass(frozen=True, slots=True)
class Replayed:
    """A league after `seq` events of its journal, which has `events` in all."""

    manager: LeagueManager
    seq: int
    events: int

    @property
    def digest(self) -> str:
        """Of all the state there is: the same journal up to the same event gives the same."""
        state = msgspec.to_builtins(self.manager.snapshot(), str_keys=True, order="deterministic")
        return hashlib.sha256(msgspec.json.encode(state)).hexdigest()


def file_of(location: str) -> Path:
    """The manager's journal at a location: a file, a URL, or a folder that holds it."""
    path = urls.parse(location).path
    return path / JOURNAL if path.is_dir() else path


def replay(location: str, until: int | None = None) -> Replayed:
    """Replay a manager's journal, up to an event if one is named."""
    path = file_of(location)
    events = read(path)
    seq = len(events) if until is None else until
    if seq > len(events):
        raise JournalError(f"{path} holds {len(events)} events; there is no event {seq}")
    return Replayed(_manager_after(events[:seq], path), seq, len(events))


def read(path: Path) -> Sequence[Event]:
    """All events of a journal."""
    with reading.open_for_reading(path) as journal:
        return list(journal.events())


def blank_manager(created: LeagueCreated) -> LeagueManager:
    """A manager to replay a league on, before its first event."""
    return LeagueManager(created.settings, _no_chance)


def _manager_after(events: Sequence[Event], path: Path) -> LeagueManager:
    if not events or not isinstance(events[0], LeagueCreated):
        raise JournalError(f"{path} does not begin with a league: it is no manager's journal, or nothing was played")
    try:
        manager = blank_manager(events[0])
    except ValueError as error:
        raise JournalError(f"{path} cannot be replayed here: {error}") from error
    for seq, event in enumerate(events, start=1):
        try:
            manager.apply(event)
        except (LookupError, AssertionError) as error:
            raise JournalError(f"event {seq} of {path} does not fit those before it: {error!r}") from error
    return manager


def _no_chance(_count: int) -> NoReturn:
    raise AssertionError("a replay draws nothing")


# --- evidence ---------------------------------------------------------------------------------------------------------


def evidence(location: str) -> Evidence:
    """What a journal shows; of a folder all its journals, told apart by what they begin with."""
    path = urls.parse(location).path
    journals = [read(one) for one in sorted(path.glob("*.db"))] if path.is_dir() else [read(path)]
    if not any(journals):
        raise JournalError(f"there is no journal in {path}" if path.is_dir() else f"{path} holds no event")
    return _told_apart([one for one in journals if one], path)


def _told_apart(journals: Iterable[Sequence[Event]], path: Path) -> Evidence:
    manager: Sequence[Event] = ()
    referees: dict[str, Sequence[Event]] = {}
    players: dict[str, Sequence[Event]] = {}
    for events in journals:
        enrolled = next((event for event in events if isinstance(event, Enrolled)), None)
        if isinstance(events[0], LeagueCreated):
            if manager:
                raise JournalError(f"{path} holds the journals of more than one league")
            manager = events
        elif enrolled is not None:
            kind = referees if enrolled.agent_id.startswith("REF") else players
            kind[enrolled.agent_id] = events
    if not manager:
        return Evidence(referees=referees, players=players)
    league = _manager_after(manager, path)
    return Evidence(
        manager=manager, referees=referees, players=players, finished=league.is_finished, waiting=league.waiting
    )
