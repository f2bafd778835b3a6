"""A player as its page shows it: where it stands, its matches, how fast it answers, and what it did wrong."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from league import events as e
from league.features.dashboard.views.answer_times import AnswerTimes, answers, times_of
from league.features.dashboard.views.league_view import (
    PHASES,
    FormMark,
    Mark,
    NamedAgent,
    StandingView,
    league_view,
    mark_of,
    names_in,
    with_evidence,
)
from league.features.records.broken_clauses import clause_of, named
from league.features.records.fault_words import ListedMistake, listed_mistakes
from league.manager.league_manager import LeagueManager
from league.manager.state.ledger import ScheduledMatch, decided
from league.protocol.errors import ERRORS
from league.reading.models import ModelPlay, model_play

MOST_MISTAKES: Final = 50
_OUTCOMES: Final[Mapping[Mark, str]] = {
    "W": "won",
    "D": "drew",
    "L": "lost",
    "T": "lost through its own fault",
}


@dataclass(frozen=True, slots=True)
class DeviationView:
    """A habit that breaks the specification and was accepted all the same."""

    code: str
    clause: str
    meaning: str


@dataclass(frozen=True, slots=True)
class OwnMatch:
    """A match as one of its players sees it. `points` are its own and its opponent's; None until it is decided."""

    match_id: str
    opponent: NamedAgent
    points: tuple[int, int] | None
    mark: Mark | None
    outcome: str
    """How it ended for the player, in words; until then, how far it is."""
    referee_id: str
    status: str

    @property
    def form(self) -> FormMark:
        assert self.mark is not None, "it is decided"
        return FormMark(self.match_id, self.mark)


@dataclass(frozen=True, slots=True)
class PlayerPage:
    """All of the page."""

    league_title: str
    player: NamedAgent
    standing: StandingView
    state: str
    endpoint: str
    version: str
    matches: tuple[OwnMatch, ...]
    times: tuple[tuple[str, AnswerTimes], ...]
    """By the question that was answered."""
    mistakes: tuple[ListedMistake, ...]
    deviations: tuple[DeviationView, ...]
    model: ModelPlay | None
    """If a language model makes its choices."""


def player_page(manager: LeagueManager, player_id: str, records: Sequence[e.Event]) -> PlayerPage | None:
    """The page of a player; `records` are the referees' records of its matches. None if there is no such player."""
    ledger = manager.ledger
    member = ledger.roster.members.get(player_id)
    if member is None or not member.is_player:
        return None
    # The page shows the same rows as the league page does.
    view = league_view(manager)
    names = names_in(ledger)
    player = names[player_id]
    standing = next(row for row in view.standings if row.player == player)
    agent = next(row for row in view.agents if row.agent == player)
    matches = [ledger.matches[match_id] for match_id in ledger.matches_of[player_id]]
    # The newest mistakes are enough: a player that fails all the time would fill the page.
    mistakes = listed_mistakes(player_id, records, view.game_type)
    return PlayerPage(
        league_title=view.title,
        player=player,
        standing=standing,
        state=agent.status,
        endpoint=member.endpoint,
        version=member.version,
        matches=tuple(_own_match(match, player_id, names) for match in matches),
        times=tuple(_times(player_id, records)),
        mistakes=tuple(islice(mistakes, MOST_MISTAKES)),
        deviations=tuple(_deviations(manager, player_id)),
        model=model_play(manager, member),
    )


def _own_match(match: ScheduledMatch, player_id: str, names: Mapping[str, NamedAgent]) -> OwnMatch:
    opponent = match.opponent(player_id)
    points = None
    mark = None
    outcome = PHASES[match.status]
    if match.result is not None:
        result = decided(match, match.result)
        points = (result.points(player_id), result.points(opponent))
        mark = mark_of(result, player_id)
        outcome = _OUTCOMES[mark]
        if isinstance(match.result, e.WalkoverDecided):
            outcome = "won by walkover" if mark == "W" else "lost by walkover"
        elif mark == "W" and result.technical:
            outcome = "won by a technical loss of its opponent"
        outcome = with_evidence(outcome, match)
    return OwnMatch(
        match_id=match.match_id,
        opponent=names[opponent],
        points=points,
        mark=mark,
        outcome=outcome,
        referee_id=match.referee_id or "",
        status=match.status,
    )


def _deviations(manager: LeagueManager, player_id: str) -> Iterator[DeviationView]:
    for agent_id, code, requirement in sorted(manager.ledger.irregularities.deviations):
        if agent_id == player_id:
            clause = clause_of(code, requirement)
            # A referee of others may have sent a code that is none of ours.
            meaning = ""
            if code in ERRORS:
                meaning = ERRORS[code].when
            yield DeviationView(named(code), str(clause or requirement), meaning)


def _times(player_id: str, records: Sequence[e.Event]) -> Iterator[tuple[str, AnswerTimes]]:
    """How long its answers took, by question."""
    invitations = []
    choices = []
    for answer, seconds in answers(records):
        if answer.player_id != player_id:
            continue
        if isinstance(answer, e.MoveMade):
            choices.append(seconds)
        else:
            invitations.append(seconds)
    if invitations:
        yield "invitation", times_of(invitations)
    if choices:
        yield "choice", times_of(choices)
