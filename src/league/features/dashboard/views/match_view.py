"""A match as its page shows it: why it ended as it did, its course as a sequence diagram, and the proof of its draw.

All facts and sentences come from `league.features.records`; here they only get the shape that the template needs.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from league.events import MatchAssigned, RequestRefused
from league.features.dashboard.views.board_view import PlayView, play_view
from league.features.dashboard.views.league_view import PHASES, NamedAgent, by_name, title_in, title_of
from league.features.records.explain import Explanation, explain
from league.features.records.match_facts import MatchFacts
from league.features.records.timeline import MANAGER, TimelineAttempt, TimelineLine

_OUTCOMES: Final = {
    "WIN": "Won",
    "DRAW": "A draw",
    "TECHNICAL_LOSS": "Technical loss",
    "WALKOVER": "Walkover",
}
Lanes = tuple[str, str, str, str]
"""The columns of the diagram: manager, referee and both players."""


@dataclass(frozen=True, slots=True)
class DiagramStep:
    """A row of the diagram: an arrow from one lane to another, or something that happened at one lane (then `to_lane`
    is the same). `body` is the message, if it is at hand; `is_fault` marks what went wrong."""

    after: str
    from_lane: int
    to_lane: int
    text: str
    clause: str
    is_fault: bool
    is_letter: bool
    body: str


@dataclass(frozen=True, slots=True)
class DiagramAttempt:
    """One attempt to play the match."""

    title: str
    lanes: Lanes
    steps: tuple[DiagramStep, ...]


@dataclass(frozen=True, slots=True)
class MatchPage:
    """All of the page. `pending` says what is known of a match that is being played."""

    league_title: str
    players: tuple[NamedAgent, NamedAgent]
    points: tuple[int, int] | None
    headline: str
    is_over: bool
    pending: str
    explanation: Explanation
    begun: str
    attempts: tuple[DiagramAttempt, ...]
    draw_label: str
    """The text that the seed of the draw is hashed with: the page computes the draw again by itself."""
    play: PlayView | None
    """Its boards and moves, and the players beside them."""
    game_title: str
    why: tuple[str, ...]
    awaits_news: bool
    """True while its referee may still tell of it."""


def match_page(facts: MatchFacts) -> MatchPage:
    """The page of a match."""
    explanation = explain(facts)
    first, second = facts.players
    points = None
    # A referee of others may have reported points of somebody else.
    if set(facts.points) == {first, second}:
        points = (facts.points[first], facts.points[second])
    begun = ""
    if explanation.started_at:
        begun = f"{datetime.fromtimestamp(explanation.started_at, UTC):%Y-%m-%d %H:%M:%S} UTC"
    headline = _OUTCOMES.get(explanation.verdict.outcome)
    winner = explanation.verdict.winner
    if explanation.verdict.outcome == "WIN" and winner is not None:
        headline = f"{explanation.names[winner]} won"
    if headline is None:
        headline = PHASES[facts.status].capitalize()
    names = explanation.names
    named = {player: NamedAgent(player, name) for player, name in names.items()}
    return MatchPage(
        league_title=title_in(facts.league.title, facts.league_id, title_of(facts.game_type)),
        players=(named[first], named[second]),
        points=points,
        headline=headline,
        is_over=facts.status == "COMPLETED",
        pending=_pending(facts),
        explanation=explanation,
        begun=begun,
        attempts=tuple(_attempt(attempt, explanation) for attempt in explanation.attempts),
        draw_label=facts.draw_label,
        play=play_view(facts),
        game_title=title_of(facts.game_type),
        why=tuple(by_name(sentence, named) for sentence in explanation.verdict.why),
        awaits_news=facts.status == "ASSIGNED",
    )


def _pending(facts: MatchFacts) -> str:
    """What is known of a match that is being played, and what is not."""
    if facts.status != "ASSIGNED":
        return ""
    referee = facts.referee_id
    assignments = [event for event in facts.manager if isinstance(event, MatchAssigned)]
    since = ""
    if assignments:
        since = f" at {datetime.fromtimestamp(assignments[-1].at, UTC):%H:%M:%S} UTC"
    if facts.live is not None:
        return f"{referee} got it{since}, and tells everybody what may be seen."
    limit = ""
    if facts.league.limit_s:
        limit = f" {referee} has {facts.league.limit_s:.0f} s for it; after that, another referee gets it."
    news = "the manager has not heard about it since"
    if any(isinstance(event, RequestRefused) for event in facts.manager):
        news = "no report of it has counted since"
    return (
        f"It was given to {referee}{since}, and {news}.{limit} What {referee} and "
        "the players say to each other comes with its report: until then nobody can see here who has answered."
    )


def _attempt(attempt: TimelineAttempt, explanation: Explanation) -> DiagramAttempt:
    referee = attempt.referee_id or "referee"
    lanes = (MANAGER, referee, *explanation.players)
    title = "Before the first attempt"
    if attempt.attempt:
        title = f"Attempt {attempt.attempt}"
    return DiagramAttempt(title, lanes, tuple(_steps(attempt, lanes)))


def _steps(attempt: TimelineAttempt, lanes: Lanes) -> Iterator[DiagramStep]:
    has_letters = any(line.kind == "letter" for line in attempt.lines)
    for line in attempt.lines:
        from_lane, to_lane = _ends(line, lanes, has_letters)
        clause = ""
        if line.clause and line.code:
            clause = str(line.clause)
        yield DiagramStep(
            after=f"{line.after:+.3f}",
            from_lane=from_lane,
            to_lane=to_lane,
            text=line.text,
            clause=clause,
            is_fault=line.code is not None,
            is_letter=line.kind == "letter",
            body=_pretty(line),
        )


def _ends(line: TimelineLine, lanes: Lanes, has_letters: bool) -> tuple[int, int]:
    """The lanes where a step begins and ends; twice the same one if it is no arrow."""
    # If the letters themselves are drawn, what became of them is not drawn as another arrow.
    is_arrow = line.kind == "letter" or not has_letters or line.between[:1] == (MANAGER,)
    if is_arrow and len(line.between) == 2:
        sender, receiver = line.between
        if sender in lanes and receiver in lanes:
            return lanes.index(sender), lanes.index(receiver)
    lane = 0
    if line.by in lanes:
        lane = lanes.index(line.by)
    return lane, lane


def _pretty(line: TimelineLine) -> str:
    """The message, indented if it is JSON."""
    if not line.body:
        return ""
    # Others may send anything, also JSON nested too deep to be read again.
    try:
        message = json.loads(line.body)
        return json.dumps(message, indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return line.body
