"""A player as its page shows it: where it stands, its matches, how fast it answers, and what it did wrong."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from league import events as e
from league.manager.league_manager import LeagueManager
from league.protocol.errors import ERRORS
from league.reports.models import ModelPlay, model_play
from league_dashboard.answer_times import AnswerTimes, answers, times_of
from league_dashboard.league_view import MatchView, Named, StandingView, league_view, match_view, names_in
from league_records.broken_clauses import clause_of, named
from league_records.fault_words import ListedMistake, listed_mistakes

MOST_MISTAKES: Final = 50


@dataclass(frozen=True, slots=True)
class DeviationView:
    """A habit that breaks the specification and was accepted all the same."""

    code: str
    clause: str
    meaning: str


@dataclass(frozen=True, slots=True)
class PlayerPage:
    """All of the page."""

    league_id: str
    player: Named
    standing: StandingView
    state: str
    endpoint: str
    version: str
    matches: tuple[MatchView, ...]
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
        league_id=view.league_id,
        player=player,
        standing=standing,
        state=agent.status,
        endpoint=member.endpoint,
        version=member.version,
        matches=tuple(match_view(match, names) for match in matches),
        times=tuple(_times(player_id, records)),
        mistakes=tuple(islice(mistakes, MOST_MISTAKES)),
        deviations=tuple(_deviations(manager, player_id)),
        model=model_play(manager, member),
    )


def _deviations(manager: LeagueManager, player_id: str) -> Iterator[DeviationView]:
    for agent_id, code, requirement in sorted(manager.ledger.deviations):
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
