"""The journals of a league as evidence: their chains, their events, their transcripts.

Theory of operation. Every journal at a location is read once. First its chain is followed from the first event to the
last. A journal whose chain is broken is named and then left out: nothing that it says counts. The events and letters
of the others become the `Evidence` for the promises.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from league.events import Event, LeagueCreated, Registered
from league.features.audit.promises import Evidence
from league.features.audit.promises.grounds.event_log import EventLog
from league.features.audit.recorded_letters import Transcript, read_transcript, traffic_of
from league.protocol.message.exchanges import Role
from league.protocol.signing.keys import SIGNING_SECRET, signing_key
from league.protocol.signing.tokens import MANAGER
from league.reading.journals import in_league, manager_after, role_of
from league.storage import urls
from league.storage.chain import ChainHead, Examination, examine
from league.storage.notices import JournalError
from league.storage.opening import journals_at
from league.storage.reading import open_for_reading
from league.storage.urls import Place


@dataclass(frozen=True, slots=True)
class ReadJournal:
    """One journal, read to its end. Without events if its chain is broken."""

    place: Place
    chain: Examination
    stated_role: str | None
    events: EventLog = field(default_factory=EventLog)
    transcript: Transcript = field(default_factory=Transcript)
    public_key: str = ""
    """That of the agent that kept it, which has its secret; empty if it does not sign."""


@dataclass(slots=True)
class LeagueJournals:
    """The journals of one league, by the role that wrote each."""

    journals: Sequence[ReadJournal]
    manager: ReadJournal | None = None
    referees: dict[str, ReadJournal] = field(default_factory=dict)
    players: dict[str, ReadJournal] = field(default_factory=dict)

    @property
    def broken(self) -> Sequence[ReadJournal]:
        """The journals whose chain is broken."""
        return [journal for journal in self.journals if not journal.chain.is_whole]

    @property
    def head(self) -> ChainHead | None:
        """The head of the manager's chain."""
        if self.manager is None or not self.manager.chain.heads:
            return None
        return self.manager.chain.heads[-1]


def add_player(journals: LeagueJournals, location: str) -> str:
    """Add the journal of a player that checks its own matches; return its id."""
    journal = _read(urls.parse(location))
    journals.journals = [*journals.journals, journal]
    before = set(journals.players)
    _sort_in(journals, journal, _league_id(journals.manager))
    added = set(journals.players) - before
    if not added:
        agent_id = next(
            (name for name, player in journals.players.items() if player.place == journal.place),
            None,
        )
        if agent_id is None:
            raise JournalError(f"{location} is not the journal of a player of this league")
        added = {agent_id}
    return added.pop()


def read_league(location: str) -> LeagueJournals:
    """Read a journal, or all journals of a folder."""
    place = urls.parse(location)
    places = journals_at(place)
    if not places:
        raise JournalError(f"there is no journal in {place}")
    journals = LeagueJournals([_read(journal_place) for journal_place in places])
    for journal in journals.journals:
        if role_of(journal.events, journal.stated_role) is Role.MANAGER:
            if journals.manager is not None:
                raise JournalError(f"{place} holds the journals of more than one league")
            journals.manager = journal
    if not journals.broken and not any(journal.events for journal in journals.journals):
        raise JournalError(f"{place} holds no event")
    league_id = _league_id(journals.manager)
    for journal in journals.journals:
        _sort_in(journals, journal, league_id)
    return journals


def _read(place: Place) -> ReadJournal:
    with open_for_reading(place) as journal:
        events: list[Event] = []
        chain = examine(journal.stored_rows(events.append))
        stated_role = journal.meta.get("role")
        if not chain.is_whole:
            return ReadJournal(place, chain, stated_role)
        log = EventLog(events)
        return ReadJournal(
            place=place,
            chain=chain,
            stated_role=stated_role,
            events=log,
            transcript=read_transcript(journal, log),
            public_key=_own_key(journal.secrets()),
        )


def _own_key(secrets: Mapping[str, object]) -> str:
    """Return the public key of an agent, by its secret; a file that somebody else made may hold anything as one."""
    secret = secrets.get(SIGNING_SECRET)
    try:
        return signing_key(bytes.fromhex(str(secret))).public
    except ValueError:
        return ""


def _league_id(manager: ReadJournal | None) -> str | None:
    if manager is None:
        return None
    created = manager.events[0]
    assert isinstance(created, LeagueCreated), "this is how a manager's journal is recognised"
    return created.settings.league_id


def _sort_in(journals: LeagueJournals, journal: ReadJournal, league_id: str | None) -> None:
    """Put the journal of a referee or player where it belongs, with its events of this league."""
    if journal is journals.manager:
        return
    events = EventLog(in_league(journal.events, league_id))
    agent_id = next((event.agent_id for event in events if isinstance(event, Registered)), None)
    if agent_id is None:
        # An agent that never registered has nothing to report.
        return
    belonging = replace(journal, events=events)
    role = role_of(events, journal.stated_role)
    if role is Role.REFEREE:
        journals.referees[agent_id] = belonging
    elif role is Role.PLAYER:
        journals.players[agent_id] = belonging


def evidence_in(journals: LeagueJournals) -> Evidence:
    """Make the evidence for the promises."""
    referees = {agent_id: journal.events for agent_id, journal in journals.referees.items()}
    players = {agent_id: journal.events for agent_id, journal in journals.players.items()}
    manager = journals.manager
    if manager is None:
        return Evidence(referees=referees, players=players)
    transcripts = {MANAGER: manager.transcript}
    for group in (journals.referees, journals.players):
        transcripts |= {agent_id: journal.transcript for agent_id, journal in group.items()}
    traffic = traffic_of(transcripts, manager.events)
    # Events that cannot have followed each other are no evidence. Only the manager's own state tells what it waits for.
    league = manager_after(manager.events, manager.place)
    return Evidence(
        manager=manager.events,
        referees=referees,
        players=players,
        traffic=traffic.calls,
        unrecorded=traffic.unrecorded,
        restarts=manager.transcript.restarts,
        unnoted=manager.transcript.ends,
        finished=league.is_finished,
        waiting=league.waiting,
    )
