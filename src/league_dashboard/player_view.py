"""A player as its page shows it: where it stands, its matches, how fast it answers, and what it did wrong."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from league import events as e
from league.manager.league import LeagueManager
from league.protocol.errors import ERRORS
from league.reports.models import ModelPlay, model_play
from league_dashboard.answers import AnswerTimes, answers, times_of
from league_dashboard.league_view import MatchView, Named, StandingView, league_view, match_view
from league_records.clauses import clause_of, named, violated
from league_records.faults import advice_for

MOST_MISTAKES: Final = 50


@dataclass(frozen=True, slots=True)
class Mistake:
    """What went wrong in a match, the clause it broke and what helps."""

    match_id: str
    code: str
    detail: str
    clause: str
    hint: str


@dataclass(frozen=True, slots=True)
class DeviationView:
    """A habit that the specification does not have, and that was let pass."""

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
    """By what was answered."""
    mistakes: tuple[Mistake, ...]
    deviations: tuple[DeviationView, ...]
    model: ModelPlay | None
    """If it leaves its choices to a language model."""


def player_page(manager: LeagueManager, player_id: str, records: Sequence[e.Event]) -> PlayerPage | None:
    """The page of a player; `records` is what referees wrote down of its matches. None if there is no such player."""
    ledger = manager.ledger
    member = ledger.roster.members.get(player_id)
    if member is None or not member.is_player:
        return None
    view = league_view(manager)
    names = {one.agent_id: Named(one.agent_id, one.display_name) for one in ledger.roster.members.values()}
    deviations = sorted((code, clause) for agent_id, code, clause in ledger.deviations if agent_id == player_id)
    return PlayerPage(
        league_id=view.league_id,
        player=names[player_id],
        standing=next(one for one in view.standings if one.player.agent_id == player_id),
        state=next(one.status for one in view.agents if one.agent.agent_id == player_id),
        endpoint=member.endpoint,
        version=member.version,
        matches=tuple(match_view(ledger.matches[one], names) for one in ledger.matches_of[player_id]),
        times=tuple(_times(player_id, records)),
        mistakes=tuple(_mistakes(player_id, records, view.game_type))[:MOST_MISTAKES],
        deviations=tuple(_deviation(code, requirement) for code, requirement in deviations),
        model=model_play(manager, member),
    )


def _deviation(code: str, requirement: str) -> DeviationView:
    clause = clause_of(code, requirement)
    return DeviationView(named(code), str(clause or requirement), ERRORS[code].when if code in ERRORS else "")


# --- answer times -----------------------------------------------------------------------------------------------------


def _times(player_id: str, records: Sequence[e.Event]) -> Iterator[tuple[str, AnswerTimes]]:
    took: dict[str, list[float]] = {"invitation": [], "choice": []}
    for answered, seconds in answers(records):
        if answered.player_id == player_id:
            took["choice" if isinstance(answered, e.MoveMade) else "invitation"].append(seconds)
    for what, found in took.items():
        if found:
            yield what, times_of(found)


# --- mistakes ---------------------------------------------------------------------------------------------------------


def _mistakes(player_id: str, records: Sequence[e.Event], game_type: str) -> Iterator[Mistake]:
    """The newest first."""
    for one in reversed(records):
        if not isinstance(one, e.AttemptFailed | e.WrongAnswer | e.PlayerFaulted) or one.player_id != player_id:
            continue
        requirement = one.requirement if isinstance(one, e.WrongAnswer) else ""
        clause = violated(one.code, one.phase, game_type, requirement)
        hint = advice_for(one.code, one.phase, one.detail)
        yield Mistake(one.match_id, named(one.code), one.detail, str(clause or ""), hint)
