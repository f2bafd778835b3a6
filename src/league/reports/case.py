"""What is known of one match before it is told: who played, where it stands, its result, and by whose account."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from league.events import (
    AgentRegistered,
    AgentStateChanged,
    DeviationRecorded,
    Event,
    LeagueCreated,
    MatchAssigned,
    MatchDecided,
    MatchLost,
    MatchParked,
    MatchTaken,
    MatchUnparked,
    PlayerDeviated,
    PlayerWithdrawn,
    ResultAccepted,
    ResultVoided,
    RoundOpened,
    ScheduleMade,
    WalkoverDecided,
)
from league.reports.journals import Journals, RefereeJournal, kept

Status = Literal["SCHEDULED", "WAITING", "RUNNING", "PARKED", "VOIDED", "COMPLETED"]
Result = ResultAccepted | WalkoverDecided
_STATUS: Mapping[type[Event], Status] = {
    MatchAssigned: "RUNNING",
    MatchLost: "WAITING",
    MatchParked: "PARKED",
    MatchUnparked: "WAITING",
    ResultAccepted: "COMPLETED",
    WalkoverDecided: "COMPLETED",
    ResultVoided: "VOIDED",
}


@dataclass(frozen=True, slots=True)
class Case:
    """One match. `manager` holds the manager's events about it; `decided` the referees' decisions, by attempt."""

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
    manager: Sequence[Event] = ()
    records: Mapping[str, RefereeJournal] = field(default_factory=dict)
    """The journals at hand of referees that had it, with the events of this match alone."""
    deviations: tuple[DeviationRecorded, ...] = ()
    elsewhere: str | None = None
    current_round: int = 0
    has_journal: bool = True
    """Is the manager's account its journal, or only its page?"""

    def named(self, player_id: str) -> str:
        """A player by id and name."""
        name = self.names.get(player_id)
        return f"{player_id} ({name})" if name and name != player_id else player_id

    def opponent(self, player_id: str) -> str:
        return self.players[1] if player_id == self.players[0] else self.players[0]

    @property
    def taken(self) -> MatchTaken | None:
        """The newest assignment a referee wrote down."""
        found = [event for one in self.records.values() for event in one.events if isinstance(event, MatchTaken)]
        return max(found, key=lambda event: event.attempt, default=None)

    def decided(self, attempt: int) -> MatchDecided | None:
        """What the referee of this attempt decided."""
        for one in self.records.values():
            for event in one.events:
                if isinstance(event, MatchDecided) and event.attempt == attempt:
                    return event
        return None


def case_of(match_id: str, journals: Journals) -> Case | None:
    """The match in these journals; None if there is none of this id."""
    records = {
        referee_id: RefereeJournal(events, one.letters, one.remarks)
        for referee_id, one in journals.referees.items()
        if (events := [event for event in one.events if getattr(event, "match_id", None) == match_id])
    }
    if journals.manager:
        return _by_the_manager(match_id, journals, records)
    return _by_the_referee(match_id, journals, records)


def _by_the_manager(match_id: str, journals: Journals, records: Mapping[str, RefereeJournal]) -> Case | None:
    events = journals.manager
    created = next(event for event in events if isinstance(event, LeagueCreated))
    found = _scheduled(match_id, events)
    if found is None:
        return None
    round_id, players = found
    about = [event for event in events if getattr(event, "match_id", None) == match_id]
    opened = [event.round_id for event in events if isinstance(event, RoundOpened)]
    assigned = next((one for one in reversed(about) if isinstance(one, MatchAssigned)), None)
    involved = {*players, *(one.referee_id for one in about if isinstance(one, MatchAssigned))}
    return Case(
        match_id=match_id,
        league_id=created.settings.league_id,
        game_type=created.settings.game_type,
        round_id=round_id,
        players=players,
        status=_status(about, round_id in opened),
        names={one.agent_id: one.display_name for one in events if isinstance(one, AgentRegistered)},
        attempt=assigned.attempt if assigned else 0,
        referee_id=assigned.referee_id if assigned else None,
        result=_in_force(about),
        manager=_of_interest(events, match_id, round_id, players),
        records=records,
        deviations=_deviations(involved, journals),
        elsewhere=journals.elsewhere,
        current_round=max(opened, default=0),
    )


def _deviations(involved: Collection[str], journals: Journals) -> tuple[DeviationRecorded, ...]:
    """What was let pass of these agents: by the manager, and by its referees in whatever match it was noticed in."""
    noticed = [
        DeviationRecorded(
            at=one.at, agent_id=one.player_id, code=one.code, requirement=one.requirement, detail=one.detail
        )
        for journal in journals.referees.values()
        for one in journal.events
        if isinstance(one, PlayerDeviated)
    ]
    own = [one for one in journals.manager if isinstance(one, DeviationRecorded)]
    kinds = {(one.agent_id, one.code, one.requirement): one for one in reversed([*own, *noticed])}
    return tuple(one for one in reversed(kinds.values()) if one.agent_id in involved)


def _scheduled(match_id: str, events: Sequence[Event]) -> tuple[int, tuple[str, str]] | None:
    for event in events:
        if isinstance(event, ScheduleMade):
            for round_id, pairings in enumerate(event.rounds, start=1):
                for one in pairings:
                    if one.match_id == match_id:
                        return round_id, (one.player_a, one.player_b)
    return None


def _status(about: Sequence[Event], opened: bool) -> Status:
    known = [_STATUS[type(event)] for event in about if type(event) in _STATUS]
    return known[-1] if known else "WAITING" if opened else "SCHEDULED"


def _in_force(about: Sequence[Event]) -> Result | None:
    result: Result | None = None
    for event in about:
        if isinstance(event, ResultAccepted | WalkoverDecided):
            result = event
        elif isinstance(event, ResultVoided):
            result = None
    return result


def _of_interest(events: Sequence[Event], match_id: str, round_id: int, players: tuple[str, str]) -> list[Event]:
    """The match itself, its round, and what became of its players at that very moment."""
    results = {one.at for one in events if isinstance(one, ResultAccepted) and one.match_id == match_id}

    def is_about(event: Event) -> bool:
        if isinstance(event, RoundOpened):
            return event.round_id == round_id
        if isinstance(event, PlayerWithdrawn):
            return event.agent_id in players
        if isinstance(event, AgentStateChanged):
            return event.agent_id in players and event.at in results
        return getattr(event, "match_id", None) == match_id

    return [event for event in events if is_about(event)]


def _by_the_referee(match_id: str, journals: Journals, records: Mapping[str, RefereeJournal]) -> Case | None:
    if not records:
        return None
    case = Case(match_id, "", "", 0, ("", ""), "RUNNING", records=records, elsewhere=journals.elsewhere)
    taken = case.taken
    if taken is None:
        return None
    referee_id = next(name for name, one in records.items() if taken in one.events)
    return Case(
        match_id=match_id,
        league_id=taken.league_id,
        game_type=taken.game_type,
        round_id=taken.round_id,
        players=taken.players,
        status="COMPLETED" if case.decided(taken.attempt) else "RUNNING",
        attempt=taken.attempt,
        referee_id=referee_id,
        records=records,
        deviations=_deviations(taken.players, journals),
        elsewhere=journals.elsewhere,
        has_journal=False,
    )


def case_of_page(match: Mapping[str, Any], league: Mapping[str, Any], agents: Sequence[Mapping[str, Any]]) -> Case:
    """The match as a running manager's pages show it (Any: they are JSON): its result, and what its referee told."""
    named: dict[str, Any] = {"at": match["decided_at"] or 0.0, "match_id": match["match_id"], "winner": match["winner"]}
    result: Result | None = None
    if match["outcome"] == "WALKOVER":
        gone = [one["agent_id"] for one in agents if one["state"] == "SHUTDOWN"]
        players = (match["player_A_id"], match["player_B_id"])
        withdrawn = tuple(one for one in players if one != match["winner"] and one in gone)
        result = WalkoverDecided(**named, withdrawn=withdrawn)
    elif match["outcome"] is not None:
        judged = {name: match[name] for name in ("attempt", "points", "details", "verified")}
        result = ResultAccepted(
            **named, **judged, referee_id=match["referee_id"] or "", status=match["outcome"], reported_at=""
        )
    records = kept((one["referee_id"], one["events"]) for one in match.get("records", ()))
    return Case(
        match_id=match["match_id"],
        league_id=league["league_id"],
        game_type=league["game_type"],
        round_id=match["round_id"],
        players=(match["player_A_id"], match["player_B_id"]),
        status=match["status"],
        names={one["agent_id"]: one["display_name"] for one in agents},
        attempt=match["attempt"],
        referee_id=match["referee_id"],
        result=result,
        manager=(result,) if result is not None and match["decided_at"] else (),
        records=records,
        deviations=_deviations((match["player_A_id"], match["player_B_id"]), Journals(referees=records)),
        current_round=league["round"],
        has_journal=False,
    )
