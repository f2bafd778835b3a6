"""The facts of one match: who played, where it stands, its result, and the events and letters about it.

Theory of operation. `explain`, the match page and the sparring report all show a match; none of them works out a fact
by itself. They get a `MatchFacts` from here, which is made in one of three ways, from the best source at hand:

- from a ledger (`facts_from_ledger`): the manager's state says where the match stands, whether that manager is running
  or was replayed from its journal. This is the only place where a status or a result in force comes from;
- from the record of a referee, if no journal of a manager is at hand: then its newest attempt counts;
- from the pages of a manager that runs elsewhere (`facts_from_pages`).

A `MatchFacts` never changes, and nothing here reads a file or a clock. Facts are plain: sentences about them are made
by `explain.py`, `timeline.py` and `fault_words.py`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from league import events as e
from league.games.contract import LOSS_POINTS, WIN_POINTS
from league.machine import LiveMatch
from league.manager.staffing.leases import lease_s
from league.manager.state.ledger import Ledger, MatchStatus, ResultInForce
from league.reading.journals import Journals, RefereeJournal, records_of
from league.storage.notices import UNFIT, JournalError
from league.storage.transcripts.transcript import LetterNote

Ending = e.ResultAccepted | e.MatchDecided
"""A result as the manager accepted it, or as the referee decided it."""


@dataclass(frozen=True, slots=True)
class FactSource:
    """Where the facts come from. `elsewhere` is a folder that may hold more journals."""

    has_manager_journal: bool = True
    elsewhere: str | None = None


@dataclass(frozen=True, slots=True)
class LeagueFacts:
    """What is the same for all matches of a league."""

    current_round: int = 0
    """The round being played; 0 before the start."""
    limit_s: float | None = None
    """The time that a referee gets for a match."""
    title: str = ""
    names: Mapping[str, str] = field(default_factory=dict)
    """The names of agents, by id."""


@dataclass(frozen=True, slots=True)
class MatchFacts:
    """One match. `manager` holds the manager's events about it, `records` the journals of its referees."""

    match_id: str
    league_id: str
    game_type: str
    round_id: int
    players: tuple[str, str]
    status: MatchStatus
    attempt: int = 0
    referee_id: str | None = None
    result: ResultInForce | None = None
    manager: Sequence[e.Event] = ()
    records: Mapping[str, RefereeJournal] = field(default_factory=dict)
    """By referee: its events of this match and its letters, if its journal is at hand."""
    conversations: Mapping[str, Sequence[e.ConversationKept]] = field(default_factory=dict)
    """By player: what it and its model said to each other, if its journal is at hand."""
    deviations: tuple[e.DeviationRecorded, ...] = ()
    live: LiveMatch | None = None
    """What everybody may see of it while it is played, if its referee tells."""
    league: LeagueFacts = field(default_factory=LeagueFacts)
    source: FactSource = FactSource()

    def named(self, player_id: str) -> str:
        """A player by id and name."""
        name = self.league.names.get(player_id)
        # Not every source has names, and a player may have its id for a name.
        if not name or name == player_id:
            return player_id
        return f"{player_id} ({name})"

    def opponent(self, player_id: str) -> str:
        first, second = self.players
        return second if player_id == first else first

    # --- the accounts of its referees ---------------------------------------------------------------------------------

    @property
    def events(self) -> Iterator[e.Event]:
        """What its referees recorded about this match."""
        return (event for record in self.records.values() for event in record.events)

    def events_in(self, attempt: int) -> list[e.Event]:
        """What the referee of one attempt recorded."""
        return [event for event in self.events if getattr(event, "attempt", None) == attempt]

    @property
    def letters(self) -> Iterator[LetterNote]:
        """What its referees sent and received about this match."""
        return (letter for record in self.records.values() for letter in record.letters.get(self.match_id, ()))

    def letters_with(self, agent_id: str) -> Iterator[LetterNote]:
        """The letters to one agent and from it, in order."""
        return (letter for letter in self.letters if letter.peer == agent_id)

    @property
    def taken(self) -> e.MatchTaken | None:
        """The newest assignment that a referee recorded."""
        assignments = [event for event in self.events if isinstance(event, e.MatchTaken)]
        return max(assignments, key=lambda event: event.attempt, default=None)

    def decided(self, attempt: int) -> e.MatchDecided | None:
        """What the referee of this attempt decided."""
        for event in self.events_in(attempt):
            if isinstance(event, e.MatchDecided):
                return event
        return None

    # --- how it ended -------------------------------------------------------------------------------------------------

    @property
    def counted_attempt(self) -> int:
        """The attempt whose result is in force; before there is one, the newest."""
        if isinstance(self.result, e.ResultAccepted):
            return self.result.attempt
        return self.attempt

    @property
    def ending(self) -> Ending | None:
        """The result of a match that was played. The referee's decision counts only if nothing of the manager's is
        here."""
        if isinstance(self.result, e.ResultAccepted):
            return self.result
        if self.manager:
            return None
        return self.decided(self.attempt)

    @property
    def voided(self) -> e.ResultVoided | None:
        """The order that voided its result, until it is assigned again."""
        for event in reversed(self.manager):
            if isinstance(event, e.ResultVoided):
                return event
            if isinstance(event, e.MatchAssigned | e.ResultAccepted | e.WalkoverDecided):
                return None
        return None

    @property
    def points(self) -> Mapping[str, int]:
        """The points of both players; nothing before it is decided."""
        if isinstance(self.result, e.WalkoverDecided):
            return points_of(self.result, self.players)
        ending = self.ending
        if ending is None:
            return {}
        return ending.points

    def choices_of(self, player_id: str) -> tuple[str, ...]:
        """What a player chose in the counted attempt, move by move."""
        moves = [event for event in self.events_in(self.counted_attempt) if isinstance(event, e.MoveMade)]
        return tuple(move.choice for move in moves if move.player_id == player_id)

    def fault_of(self, player_id: str) -> e.PlayerFaulted | None:
        """What lost the counted attempt for a player, if it was a fault."""
        for event in self.events_in(self.counted_attempt):
            if isinstance(event, e.PlayerFaulted) and event.player_id == player_id:
                return event
        return None

    @property
    def drawn_number(self) -> int | None:
        """The last number that was drawn in the counted attempt."""
        number = None
        for event in self.events_in(self.counted_attempt):
            if isinstance(event, e.NumberDrawn):
                number = event.number
        return number

    @property
    def draw_label(self) -> str:
        """The text that the seed of the draw is hashed with (spec section 12)."""
        return f"{self.league_id}|{self.match_id}|{self.counted_attempt}"


# --- what a result says -----------------------------------------------------------------------------------------------


def points_of(result: ResultInForce | None, players: Collection[str]) -> Mapping[str, int]:
    """The points that a result gives to each player; nothing before there is one."""
    if result is None:
        return {}
    if isinstance(result, e.ResultAccepted) or result.by_margin:
        return result.points
    return {player: WIN_POINTS if player == result.winner else LOSS_POINTS for player in players}


def reported_choices(result: Ending | e.WalkoverDecided | None) -> Mapping[str, object]:
    """What the players chose, as the result says it. A referee may report anything, or nothing."""
    if result is None or isinstance(result, e.WalkoverDecided):
        return {}
    choices = result.details.get("choices")
    if not isinstance(choices, dict):
        return {}
    return choices


# --- from journals ----------------------------------------------------------------------------------------------------


def facts_of(match_id: str, journals: Journals) -> MatchFacts | None:
    """The match in these journals; None if there is none of this id."""
    if journals.manager:
        return facts_from_ledger(match_id, _replayed(journals), journals)
    return _by_referee(match_id, journals)


def _replayed(journals: Journals) -> Ledger:
    """The league's state after the manager's journal. A ledger is enough: nothing here asks what comes next."""
    created = journals.manager[0]
    assert isinstance(created, e.LeagueCreated), "a manager's journal begins with its league"
    ledger = Ledger(created.settings)
    for event in journals.manager:
        try:
            ledger.apply(event)
        except UNFIT as error:
            raise JournalError(f"{journals.place} is damaged: {type(event).__name__} does not fit: {error}") from error
    return ledger


def facts_from_ledger(match_id: str, ledger: Ledger, journals: Journals) -> MatchFacts | None:
    """The match as a manager's state has it, with all accounts of it in these journals."""
    facts = bare_facts(match_id, ledger)
    if facts is None:
        return None
    return with_accounts(facts, journals)


def with_accounts(facts: MatchFacts, journals: Journals) -> MatchFacts:
    """The same match with all accounts of it in these journals."""
    events = _of_interest(journals.manager, facts)
    referees = {event.referee_id for event in events if isinstance(event, e.MatchAssigned)}
    return replace(
        facts,
        manager=events,
        records=_records(facts.match_id, journals),
        conversations=_conversations(facts.match_id, journals),
        deviations=_deviations({*facts.players, *referees}, journals),
        source=FactSource(elsewhere=journals.elsewhere),
    )


def bare_facts(match_id: str, ledger: Ledger) -> MatchFacts | None:
    """The match as a manager's state has it, without any account of how it was played."""
    match = ledger.matches.get(match_id)
    if match is None:
        return None
    # Before its first attempt a match only has the referee that is to play it.
    referee_id = match.referee_id if match.attempt else None
    return MatchFacts(
        match_id=match_id,
        league_id=ledger.settings.league_id,
        game_type=ledger.settings.game_type,
        round_id=match.round_id,
        players=match.players,
        status=match.status,
        attempt=match.attempt,
        referee_id=referee_id,
        result=match.result,
        league=LeagueFacts(
            ledger.current_round,
            lease_s(ledger.settings),
            ledger.settings.title,
            {member.agent_id: ledger.roster.shown_name(member) for member in ledger.roster.members.values()},
        ),
    )


def _records(match_id: str, journals: Journals) -> Mapping[str, RefereeJournal]:
    """What each referee recorded about this match."""
    records = {}
    for referee_id, journal in journals.referees.items():
        events = [event for event in journal.events if getattr(event, "match_id", None) == match_id]
        if events:
            records[referee_id] = RefereeJournal(events, journal.letters, journal.remarks)
    return records


def _conversations(match_id: str, journals: Journals) -> Mapping[str, Sequence[e.ConversationKept]]:
    """What players and their models said to each other in this match."""
    by_player = {}
    for player_id, events in journals.players.items():
        about = [event for event in events if isinstance(event, e.ConversationKept) and event.match_id == match_id]
        if about:
            by_player[player_id] = about
    return by_player


def _deviations(agents: Collection[str], journals: Journals) -> tuple[e.DeviationRecorded, ...]:
    """The deviations of these agents that were accepted: by the manager, and by its referees in any match."""
    accepted = [event for event in journals.manager if isinstance(event, e.DeviationRecorded)]
    for journal in journals.referees.values():
        accepted += [_as_recorded(event) for event in journal.events if isinstance(event, e.PlayerDeviated)]
    # A player repeats its habits in every match: each is told once.
    first_of_kind: dict[tuple[str, str, str], e.DeviationRecorded] = {}
    for deviation in accepted:
        kind = (deviation.agent_id, deviation.code, deviation.requirement)
        first_of_kind.setdefault(kind, deviation)
    return tuple(deviation for deviation in first_of_kind.values() if deviation.agent_id in agents)


def _as_recorded(deviated: e.PlayerDeviated) -> e.DeviationRecorded:
    return e.DeviationRecorded(
        at=deviated.at,
        agent_id=deviated.player_id,
        code=deviated.code,
        requirement=deviated.requirement,
        detail=deviated.detail,
    )


def _of_interest(events: Sequence[e.Event], facts: MatchFacts) -> list[e.Event]:
    """Events of the match and its round, and changes of its players' states that came with its result."""
    results = set()
    for event in events:
        if isinstance(event, e.ResultAccepted) and event.match_id == facts.match_id:
            results.add(event.at)

    def is_about(event: e.Event) -> bool:
        if isinstance(event, e.RoundOpened):
            return event.round_id == facts.round_id
        if isinstance(event, e.OrderCarriedOut) and event.order == "withdraw":
            return event.target in facts.players
        # Events of one step have one time: so a suspension is told with the result that caused it.
        if isinstance(event, e.AgentStateChanged):
            return event.agent_id in facts.players and event.at in results
        return getattr(event, "match_id", None) == facts.match_id

    return [event for event in events if is_about(event)]


def _by_referee(match_id: str, journals: Journals) -> MatchFacts | None:
    """The match as its referees alone know it."""
    records = _records(match_id, journals)
    # The newest assignment among the records says what this match is.
    facts = MatchFacts(match_id, "", "", 0, ("", ""), "ASSIGNED", records=records)
    taken = facts.taken
    if taken is None:
        return None
    is_over = facts.decided(taken.attempt) is not None
    return replace(
        facts,
        league_id=taken.league_id,
        game_type=taken.game_type,
        round_id=taken.round_id,
        players=taken.players,
        status="COMPLETED" if is_over else "ASSIGNED",
        attempt=taken.attempt,
        referee_id=next(name for name, record in records.items() if taken in record.events),
        conversations=_conversations(match_id, journals),
        deviations=_deviations(taken.players, journals),
        source=FactSource(has_manager_journal=False, elsewhere=journals.elsewhere),
    )


# --- from the pages of a manager --------------------------------------------------------------------------------------

Page = Mapping[str, Any]
"""A page of a manager (Any: it is JSON)."""


def facts_from_pages(match: Page, league: Page, agents: Sequence[Page]) -> MatchFacts:
    """The match as the pages of a running manager show it: its result, and the records of its referees."""
    players = (match["player_A_id"], match["player_B_id"])
    result = _result_on_page(match, players, agents)
    # A page has no events but the result and what it rests on; a walkover on it has no time.
    events: list[e.Event] = _refused_on_page(match)
    if result is not None and match["decided_at"]:
        events.append(result)
        events += _judged_on_page(match)
    records = records_of((record["referee_id"], record["events"]) for record in match.get("records", ()))
    # A page calls every match RUNNING that has begun and is neither decided nor parked.
    status: MatchStatus = match["status"]
    if match["status"] == "RUNNING":
        status = "ASSIGNED" if match["attempt"] else "WAITING"
    return MatchFacts(
        match_id=match["match_id"],
        league_id=league["league_id"],
        game_type=league["game_type"],
        round_id=match["round_id"],
        players=players,
        status=status,
        attempt=match["attempt"],
        referee_id=match["referee_id"],
        result=result,
        manager=events,
        records=records,
        deviations=_deviations(players, Journals(referees=records)),
        league=LeagueFacts(
            league["round"],
            title=league.get("title", ""),
            names={agent["agent_id"]: agent.get("shown_name", agent["display_name"]) for agent in agents},
        ),
        source=FactSource(has_manager_journal=False),
    )


def _refused_on_page(match: Page) -> list[e.Event]:
    """The refused reports on the page of a match. Refused answers are in the record of its referee."""
    rows = [row for row in match.get("refused", ()) if row["request"] != "answer"]
    return [e.RequestRefused(**row) for row in rows]


def _judged_on_page(match: Page) -> Iterator[e.ResultJudged]:
    if match["evidence"] is not None:
        yield e.ResultJudged(
            at=match["decided_at"],
            match_id=match["match_id"],
            attempt=match["attempt"],
            evidence=match["evidence"],
            unsigned=tuple(match["unsigned"]),
            doubt=match["doubt"],
        )


def _result_on_page(match: Page, players: tuple[str, str], agents: Sequence[Page]) -> ResultInForce | None:
    if match["outcome"] is None:
        return None
    at = match["decided_at"] or 0.0
    if match["outcome"] == "WALKOVER":
        # The page does not say who was withdrawn; it says who is out of the league and did not win.
        gone = {agent["agent_id"] for agent in agents if agent["state"] == "SHUTDOWN"}
        withdrawn = tuple(player for player in players if player != match["winner"] and player in gone)
        return e.WalkoverDecided(at=at, match_id=match["match_id"], winner=match["winner"], withdrawn=withdrawn)
    return e.ResultAccepted(
        at=at,
        match_id=match["match_id"],
        winner=match["winner"],
        attempt=match["attempt"],
        points=match["points"],
        details=match["details"],
        verified=match["evidence"] == "proven",
        referee_id=match["referee_id"] or "",
        status=match["outcome"],
        reported_at="",
        corrected=tuple(match.get("corrected", ())),
    )
