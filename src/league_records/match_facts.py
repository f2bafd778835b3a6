"""What is known of one match: who played, its state and result, and the events and letters that tell of it.

Taken from journals, or from the pages of a running manager.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from league import events as e
from league.manager.assignments import lease_s
from league.reports.journals import Journals, RefereeJournal, records_of
from league.settings import LeagueSettings
from league.storage.transcript import LetterNote

Status = Literal["SCHEDULED", "WAITING", "RUNNING", "PARKED", "VOIDED", "COMPLETED"]
Result = e.ResultAccepted | e.WalkoverDecided
_STATUS: Mapping[type[e.Event], Status] = {
    e.MatchAssigned: "RUNNING",
    e.MatchLost: "WAITING",
    e.MatchHeld: "WAITING",
    e.MatchParked: "PARKED",
    e.MatchUnparked: "WAITING",
    e.ResultAccepted: "COMPLETED",
    e.WalkoverDecided: "COMPLETED",
    e.ResultVoided: "VOIDED",
}


@dataclass(frozen=True, slots=True)
class FactSource:
    """Where the facts come from: the manager's journal, or only its page or its referee; and where there may be more
    journals."""

    has_manager_journal: bool = True
    elsewhere: str | None = None


@dataclass(frozen=True, slots=True)
class MatchFacts:
    """One match. `manager` holds the manager's events about it, `records` its referees' journals."""

    match_id: str
    league_id: str
    game_type: str
    round_id: int
    players: tuple[str, str]
    status: Status
    names: Mapping[str, str] = field(default_factory=dict)
    attempt: int = 0
    referee_id: str | None = None
    result: Result | None = None
    manager: Sequence[e.Event] = ()
    records: Mapping[str, RefereeJournal] = field(default_factory=dict)
    """Of each referee that had it and whose journal is at hand: its events of this match, its letters."""
    deviations: tuple[e.DeviationRecorded, ...] = ()
    current_round: int = 0
    limit_s: float | None = None
    """So long its referee may take."""
    source: FactSource = FactSource()

    def named(self, player_id: str) -> str:
        """A player by id and name."""
        name = self.names.get(player_id)
        return f"{player_id} ({name})" if name and name != player_id else player_id

    def opponent(self, player_id: str) -> str:
        return self.players[1] if player_id == self.players[0] else self.players[0]

    @property
    def events(self) -> Iterator[e.Event]:
        """What its referees wrote down of this match."""
        return (event for one in self.records.values() for event in one.events)

    @property
    def letters(self) -> Iterator[LetterNote]:
        """What its referees sent and received about this match."""
        return (note for one in self.records.values() for note in one.letters.get(self.match_id, ()))

    @property
    def taken(self) -> e.MatchTaken | None:
        """The newest assignment a referee wrote down."""
        found = [event for event in self.events if isinstance(event, e.MatchTaken)]
        return max(found, key=lambda event: event.attempt, default=None)

    @property
    def counted_attempt(self) -> int:
        """The attempt whose result is in force; before there is one, the newest."""
        return self.result.attempt if isinstance(self.result, e.ResultAccepted) else self.attempt

    def decided(self, attempt: int) -> e.MatchDecided | None:
        """What the referee of this attempt decided."""
        found = (event for event in self.events if isinstance(event, e.MatchDecided))
        return next((event for event in found if event.attempt == attempt), None)


def facts_of(match_id: str, journals: Journals) -> MatchFacts | None:
    """The match in these journals; None if there is none of this id."""
    records = {
        referee_id: RefereeJournal(events, one.letters, one.remarks)
        for referee_id, one in journals.referees.items()
        if (events := [event for event in one.events if getattr(event, "match_id", None) == match_id])
    }
    if journals.manager:
        return _by_manager(match_id, journals, records)
    return _by_referee(match_id, journals, records)


def _by_manager(match_id: str, journals: Journals, records: Mapping[str, RefereeJournal]) -> MatchFacts | None:
    events = journals.manager
    created = next(event for event in events if isinstance(event, e.LeagueCreated))
    found = _scheduled(match_id, events)
    if found is None:
        return None
    round_id, players = found
    about = [event for event in events if getattr(event, "match_id", None) == match_id]
    opened = [event.round_id for event in events if isinstance(event, e.RoundOpened)]
    assigned = next((one for one in reversed(about) if isinstance(one, e.MatchAssigned)), None)
    involved = {*players, *(one.referee_id for one in about if isinstance(one, e.MatchAssigned))}
    return MatchFacts(
        match_id=match_id,
        league_id=created.settings.league_id,
        game_type=created.settings.game_type,
        round_id=round_id,
        players=players,
        status=_status(about, round_id in opened),
        names={one.agent_id: one.display_name for one in events if isinstance(one, e.AgentRegistered)},
        attempt=assigned.attempt if assigned else 0,
        referee_id=assigned.referee_id if assigned else None,
        result=_in_force(about),
        manager=_of_interest(events, match_id, round_id, players),
        records=records,
        deviations=_deviations(involved, journals),
        current_round=max(opened, default=0),
        limit_s=lease_s(created.settings),
        source=FactSource(elsewhere=journals.elsewhere),
    )


def _deviations(involved: Collection[str], journals: Journals) -> tuple[e.DeviationRecorded, ...]:
    """The deviations of these agents that were accepted: by the manager, and by its referees in any match."""
    noticed = [
        e.DeviationRecorded(
            at=one.at, agent_id=one.player_id, code=one.code, requirement=one.requirement, detail=one.detail
        )
        for journal in journals.referees.values()
        for one in journal.events
        if isinstance(one, e.PlayerDeviated)
    ]
    own = [one for one in journals.manager if isinstance(one, e.DeviationRecorded)]
    kinds = {(one.agent_id, one.code, one.requirement): one for one in reversed([*own, *noticed])}
    return tuple(one for one in reversed(kinds.values()) if one.agent_id in involved)


def _scheduled(match_id: str, events: Sequence[e.Event]) -> tuple[int, tuple[str, str]] | None:
    rounds = [pairings for event in events if isinstance(event, e.ScheduleMade) for pairings in event.rounds]
    for round_id, pairings in enumerate(rounds, start=1):
        for one in pairings:
            if one.match_id == match_id:
                return round_id, (one.player_a, one.player_b)
    return None


def _status(about: Sequence[e.Event], opened: bool) -> Status:
    known = [_STATUS[type(event)] for event in about if type(event) in _STATUS]
    return known[-1] if known else "WAITING" if opened else "SCHEDULED"


def _in_force(about: Sequence[e.Event]) -> Result | None:
    result: Result | None = None
    for event in about:
        if isinstance(event, e.ResultAccepted | e.WalkoverDecided):
            result = event
        elif isinstance(event, e.ResultVoided):
            result = None
    return result


def _of_interest(events: Sequence[e.Event], match_id: str, round_id: int, players: tuple[str, str]) -> list[e.Event]:
    """Events of the match and its round, and changes of its players' states that came with its result."""
    results = {one.at for one in events if isinstance(one, e.ResultAccepted) and one.match_id == match_id}

    def is_about(event: e.Event) -> bool:
        if isinstance(event, e.RoundOpened):
            return event.round_id == round_id
        if isinstance(event, e.PlayerWithdrawn):
            return event.agent_id in players
        if isinstance(event, e.AgentStateChanged):
            return event.agent_id in players and event.at in results
        return getattr(event, "match_id", None) == match_id

    return [event for event in events if is_about(event)]


def _by_referee(match_id: str, journals: Journals, records: Mapping[str, RefereeJournal]) -> MatchFacts | None:
    if not records:
        return None
    facts = MatchFacts(match_id, "", "", 0, ("", ""), "RUNNING", records=records)
    taken = facts.taken
    if taken is None:
        return None
    referee_id = next(name for name, one in records.items() if taken in one.events)
    return MatchFacts(
        match_id=match_id,
        league_id=taken.league_id,
        game_type=taken.game_type,
        round_id=taken.round_id,
        players=taken.players,
        status="COMPLETED" if facts.decided(taken.attempt) else "RUNNING",
        attempt=taken.attempt,
        referee_id=referee_id,
        records=records,
        deviations=_deviations(taken.players, journals),
        source=FactSource(has_manager_journal=False, elsewhere=journals.elsewhere),
    )


def with_manager_events(facts: MatchFacts, events: Sequence[e.Event], settings: LeagueSettings) -> MatchFacts:
    """The same match, with all that its manager wrote down of it."""
    status = _status(events, facts.status != "SCHEDULED")
    return replace(facts, manager=events, status=status, limit_s=lease_s(settings))


Page = Mapping[str, Any]
"""A page of a manager (Any: it is JSON)."""


def facts_from_pages(match: Page, league: Page, agents: Sequence[Page]) -> MatchFacts:
    """The match as a running manager's pages show it: its result, and its referee's record."""
    players = (match["player_A_id"], match["player_B_id"])
    result = _result_on_page(match, players, agents)
    records = records_of((one["referee_id"], one["events"]) for one in match.get("records", ()))
    return MatchFacts(
        match_id=match["match_id"],
        league_id=league["league_id"],
        game_type=league["game_type"],
        round_id=match["round_id"],
        players=players,
        status=match["status"],
        names={one["agent_id"]: one["display_name"] for one in agents},
        attempt=match["attempt"],
        referee_id=match["referee_id"],
        result=result,
        manager=(result,) if result is not None and match["decided_at"] else (),
        records=records,
        deviations=_deviations(players, Journals(referees=records)),
        current_round=league["round"],
        source=FactSource(has_manager_journal=False),
    )


def _result_on_page(match: Page, players: tuple[str, str], agents: Sequence[Page]) -> Result | None:
    if match["outcome"] is None:
        return None
    named: dict[str, Any] = {"at": match["decided_at"] or 0.0, "match_id": match["match_id"], "winner": match["winner"]}
    if match["outcome"] == "WALKOVER":
        gone = [one["agent_id"] for one in agents if one["state"] == "SHUTDOWN"]
        withdrawn = tuple(one for one in players if one != match["winner"] and one in gone)
        return e.WalkoverDecided(**named, withdrawn=withdrawn)
    named |= {name: match[name] for name in ("attempt", "points", "details", "verified")}
    return e.ResultAccepted(**named, referee_id=match["referee_id"] or "", status=match["outcome"], reported_at="")
