"""A player as its page shows it: where it stands, its matches, how fast it answers, and what it did wrong."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from league import events as e
from league.dashboard.league_view import MatchView, Named, StandingView, league_view, match_view
from league.manager.league import LeagueManager
from league.protocol.errors import ERRORS
from league.reports.clauses import clause_of, named, violated
from league.reports.faults import advice_for

MOST_MISTAKES: Final = 50


@dataclass(frozen=True, slots=True)
class AnswerTimes:
    """Of the answers that came: how many, and how long they took, in seconds."""

    what: str
    count: int
    median: float
    p95: float
    longest: float


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
    times: tuple[AnswerTimes, ...]
    mistakes: tuple[Mistake, ...]
    deviations: tuple[DeviationView, ...]


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
    )


def _deviation(code: str, requirement: str) -> DeviationView:
    clause = clause_of(code, requirement)
    return DeviationView(named(code), str(clause or requirement), ERRORS[code].when if code in ERRORS else "")


# --- answer times -----------------------------------------------------------------------------------------------------


def _times(player_id: str, records: Sequence[e.Event]) -> Iterator[AnswerTimes]:
    took: dict[str, list[float]] = {"invitation": [], "choice": []}
    for answered, seconds in _answers(player_id, records):
        took["choice" if isinstance(answered, e.MoveMade) else "invitation"].append(seconds)
    for what, found in took.items():
        if found:
            yield _summary(what, sorted(found))


def _answers(player_id: str, records: Sequence[e.Event]) -> Iterator[tuple[e.Event, float]]:
    """Each answer with the seconds it took. A question is out as soon as the one before it was answered by both."""
    asked: dict[tuple[str, int, int], float] = {}
    for one in records:
        if not isinstance(one, e.MatchBegun | e.PlayerJoined | e.MoveMade):
            continue
        turn = one.turn if isinstance(one, e.MoveMade) else 0
        now, following = (one.match_id, one.attempt, turn), (one.match_id, one.attempt, turn + 1)
        if isinstance(one, e.MatchBegun):
            asked[now] = one.at
            continue
        asked[following] = one.at
        if one.player_id == player_id and now in asked:
            yield one, one.at - asked[now]


def _summary(what: str, seconds: Sequence[float]) -> AnswerTimes:
    """By the nearest rank."""
    median, p95 = (seconds[math.ceil(share * len(seconds)) - 1] for share in (0.5, 0.95))
    return AnswerTimes(what, len(seconds), median, p95, seconds[-1])


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
