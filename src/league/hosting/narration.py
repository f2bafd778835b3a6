"""What agents say at the terminal while they work: a line for each thing that happens and that people wait for.

Each role has a table from what happened to the sentence about it. What is in no table is not worth a line.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from league import events
from league.events import Event
from league.hosting import authors
from league.protocol.versions import KIT_LEAGUE
from league.terminal import console
from league.terminal.display import Style, paint

if TYPE_CHECKING:  # a process of one role does not load the others
    from league.agent.watch import ErrorNote
    from league.machine import Machine
    from league.manager.league import LeagueManager
    from league.player.competitor import Competitor
    from league.referee.desk import RefereeDesk

WITHDRAWN = "the operator has taken this agent out of the league"
LEADERS = 3
"""So many of the table are named when a round is over."""
SHOWN_AGAIN = frozenset(10**power for power in range(1, 10))
MOST_ERRORS = 1_000
"""More different errors than this are not shown: they would only fill our memory."""

Sentence = Callable[[Any, Any], str]
"""What to say about an event, given the machine that it happened to; empty: nothing."""
Say = Callable[[str], None]


STYLES: Mapping[type[Event], Style] = {
    **dict.fromkeys((events.ScheduleMade, events.LeagueFinished, events.LeagueEnded), Style.STRONG),
    **dict.fromkeys((events.Registered, events.OutageEnded), Style.GOOD),
    **dict.fromkeys((events.OutageBegan, events.MatchParked, events.AgentApplied), Style.WARNING),
    **dict.fromkeys((events.RequestRefused, events.IdentityContested), Style.BAD),
}
"""What stands out where the terminal has colours."""


@dataclass(frozen=True, slots=True)
class Narrator:
    """Says what happens to an agent."""

    sentences: Mapping[type[Event], Sentence]
    prefix: Callable[[], str] = lambda: ""
    """Who it is about, where several agents share a terminal."""
    say: Say = console.say

    def __call__(self, machine: Machine, happened: Sequence[Event]) -> None:
        for event in happened:
            sentence = self.sentences.get(type(event))
            if sentence is not None and (text := sentence(machine, event)):
                style, told = STYLES.get(type(event)), self.prefix() + text
                self.say(paint(told, style) if style else told)


@dataclass(slots=True)
class ErrorLines:
    """Shows the errors that others tell us of; one that comes again and again only every so often."""

    say: Say = console.complain
    _times: Counter[str] = field(default_factory=Counter)

    def __call__(self, error: ErrorNote) -> None:
        text = str(error)
        if len(self._times) >= MOST_ERRORS and text not in self._times:
            return
        self._times[text] += 1
        times = self._times[text]
        if times == 1:
            self.say(text)
        elif times in SHOWN_AGAIN:
            self.say(f"{text} ({times} times by now)")


# --- the manager ------------------------------------------------------------------------------------------------------


def _who(manager: LeagueManager, agent_id: str) -> str:
    return f"{manager.ledger.roster.members[agent_id].role} {_named(manager, agent_id)}"


def _named(manager: LeagueManager, agent_id: str) -> str:
    return f'{agent_id} "{manager.ledger.roster.members[agent_id].display_name}"'


def _joined(manager: LeagueManager, event: events.AgentRegistered) -> str:
    settings, there = manager.ledger.settings, manager.ledger.roster.count(event.role)
    needed = settings.players if event.role == "player" else settings.referees
    who = f"{_who(manager, event.agent_id)} registered, at {event.endpoint}"
    if event.agent_id in manager.ledger.late:
        return f"{who}; it comes late, and plays what it missed in extra rounds at the end"
    return f"{who} ({there} of {max(there, needed)})"


def _applied(_: LeagueManager, event: events.AgentApplied) -> str:
    who = f'{event.role} "{event.display_name}" at {event.endpoint}'
    return f"{who} waits for approval: league approve {event.applicant_id}"


def _state_changed(manager: LeagueManager, event: events.AgentStateChanged) -> str:
    if event.state == "SUSPENDED":
        return f"{_who(manager, event.agent_id)} is lost: it does not play or answer"
    is_back = event.state == "ACTIVE" and event.why != "league_start"
    return f"{_who(manager, event.agent_id)} is back" if is_back else ""


def _scheduled(manager: LeagueManager, event: events.ScheduleMade) -> str:
    matches = sum(map(len, event.rounds))
    if len(event.rounds) < len(manager.ledger.rounds):
        return f"{len(event.rounds)} extra rounds for players that came late: {matches} matches"
    players = manager.ledger.roster.count("player")
    silent = ", ".join(_named(manager, one) for one in manager.not_answering)
    warning = f"; not answering: {silent}" if silent else ""
    return f"the league starts: {players} players, {len(event.rounds)} rounds, {matches} matches{warning}"


def _round_opened(manager: LeagueManager, event: events.RoundOpened) -> str:
    rounds = manager.ledger.rounds
    pairs = len(rounds[event.round_id - 1].matches)
    return f"round {event.round_id} of {len(rounds)} begins: {pairs} match{'es' if pairs != 1 else ''}"


def _round_finished(manager: LeagueManager, event: events.RoundFinished) -> str:
    ledger = manager.ledger
    tallies, ranking = ledger.standings.tallies, ledger.standings.ranking(ledger.settings.tiebreakers)
    leaders = ", ".join(f"{_named(manager, one)} {tallies[one].points}" for one in ranking[:LEADERS])
    return f"round {event.round_id} of {len(ledger.rounds)} is over; in front: {leaders}"


def _result_accepted(manager: LeagueManager, event: events.ResultAccepted) -> str:
    if event.status != "TECHNICAL_LOSS":
        return ""
    match = manager.ledger.matches[event.match_id]
    losers = [_named(manager, one) for one in (match.player_a, match.player_b) if one != event.winner]
    return f"{event.match_id}: technical loss of {' and '.join(losers)}; league explain {event.match_id} tells why"


def _outage_began(_: LeagueManager, event: events.OutageBegan) -> str:
    missing = f" (missing: {', '.join(event.missing)})" if event.missing else ""
    return f"the league waits: {event.reason}{missing}"


def _champion(manager: LeagueManager, event: events.LeagueFinished) -> str:
    points = manager.ledger.standings.tallies[event.champion].points
    return f"the league is over; the champion is {_named(manager, event.champion)} with {points} points"


def _refused(_: LeagueManager, event: events.RequestRefused) -> str:
    what = f"report of {event.match_id}" if event.match_id else event.request
    return f"refused the {what} by {event.role} {event.name} ({event.endpoint}): {event.code} {event.detail}"


REFUSALS: Mapping[type[Event], Sentence] = {
    events.RequestRefused: _refused,
    events.IdentityContested: lambda _, event: f"two agents seem to go by the name of {event.agent_id}: {event.detail}",
}
"""What a manager says even if it is to be quiet: registrations, reports and tokens that it refused, and where two go by
one name."""

_WHY_ON = {"answered": "players answer again", "operator": "by the operator's order", "time": "it waited long enough"}

MANAGER: Mapping[type[Event], Sentence] = {
    events.AgentRegistered: _joined,
    events.AgentApplied: _applied,
    events.AgentApproved: lambda _, event: f"{event.applicant_id} is approved",
    events.AgentRejected: lambda _, event: f"{event.applicant_id} is rejected",
    events.AgentMoved: lambda manager, event: f"{_who(manager, event.agent_id)} is at {event.endpoint} now",
    events.AgentStateChanged: _state_changed,
    events.ScheduleMade: _scheduled,
    events.RoundOpened: _round_opened,
    events.RoundFinished: _round_finished,
    events.ResultAccepted: _result_accepted,
    events.WalkoverDecided: lambda _, event: f"{event.match_id}: not played, {' and '.join(event.withdrawn)} withdrew",
    events.MatchParked: lambda _, event: (
        f"{event.match_id} waits for the operator: league replay-match {event.match_id}"
    ),
    events.ResultVoided: lambda _, event: f"{event.match_id}: its result is void, it is played again",
    events.OutageBegan: _outage_began,
    events.OutageEnded: lambda _, event: f"the league goes on: {_WHY_ON[event.why]}",
    events.PlayerWithdrawn: lambda manager, event: f"{_who(manager, event.agent_id)} is withdrawn",
    events.LeaguePaused: lambda *_: "the league is paused",
    events.LeagueResumed: lambda *_: "the league goes on: by the operator's order",
    events.LeagueReopened: lambda *_: "the league is open again",
    events.LeagueClosed: lambda *_: "the league is closed",
    events.LeagueFinished: _champion,
}


# --- referees and players ---------------------------------------------------------------------------------------------


def _registered(_: Machine, event: events.Registered) -> str:
    if event.league_id == KIT_LEAGUE:
        return f"registered as {event.agent_id} with the conformance kit: its matches are of no league"
    again = "the manager has begun another league: " if event.new_league else ""
    return f"{again}registered as {event.agent_id}" + (f" in {event.league_id}" if event.league_id else "")


def _decided(_: RefereeDesk, event: events.MatchDecided) -> str:
    how = " (a technical loss)" if event.status == "TECHNICAL_LOSS" else ""
    return f"{event.match_id}: {event.reason}{how}"


REFEREE: Mapping[type[Event], Sentence] = {
    events.Registered: _registered,
    events.MatchDecided: _decided,
    events.ReportSettled: lambda _, event: (
        "" if event.answer == "ACCEPTED" else f"{event.match_id}: the manager does not count it ({event.answer})"
    ),
    events.MatchDropped: lambda _, event: f"{event.match_id} is dropped: {event.why}",
    events.LeagueEnded: lambda _, event: f"the league is over; the champion is {event.champion}",
    events.Withdrawn: lambda *_: WITHDRAWN,
}


OF_KIT = "the kit's "


def _announced(player: Competitor, event: events.RoundAnnounced) -> str:
    me, matches = player.agent_id, player.announcement.matches if player.announcement else ()
    opponents = [
        one.player_B_id if one.player_A_id == me else one.player_A_id
        for one in matches
        if me in (one.player_A_id, one.player_B_id)
    ]
    of_kit = player.announcement is not None and player.announcement.league_id == KIT_LEAGUE
    title = f"{OF_KIT if of_kit else ''}round {event.round_id}"
    if not opponents:
        return f"{title}: you have a bye"
    return f"{title}: you play against {' and '.join(_title(player, one) for one in opponents)}"


def _title(player: Competitor, player_id: str) -> str:
    """A player with its name, which tables say."""
    rows = player.standings.standings if player.standings else ()
    return next((f'{player_id} "{one.display_name}"' for one in rows if one.player_id == player_id), player_id)


def _game_ended(player: Competitor, event: events.GameEnded) -> str:
    told = authors.result(player.history[-1])
    if not player.plays_with_kit(event.match_id, event.referee_id):
        return told
    is_over = event.status != "TECHNICAL_LOSS"
    return f"{OF_KIT}match {told if is_over else f'{event.match_id} was called off: it has seen enough of it'}"


def _league_over(player: Competitor, event: events.LeagueEnded) -> str:
    champion = f"the champion is {_title(player, event.champion)}"
    if event.rank is None:
        return f"the league is over; {champion}"
    count = len(player.standings.standings) if player.standings else 0
    rank = f"number {event.rank}" + (f" of {count}" if count else "")
    won = "you are the champion" if event.champion == player.agent_id else champion
    return f"the league is over: you are {rank} with {event.points} points; {won}"


PLAYER: Mapping[type[Event], Sentence] = {
    events.Registered: _registered,
    events.RoundAnnounced: _announced,
    events.GameEnded: _game_ended,
    events.LeagueEnded: _league_over,
    events.Withdrawn: lambda *_: WITHDRAWN,
}
