"""A match as its page shows it: why it ended so, its course as a sequence diagram, and the proof of its draw."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from league.events import MatchAssigned
from league_dashboard.board_view import BoardView, board_views
from league_dashboard.league_view import Named
from league_records.explain import Explanation, explain
from league_records.match_facts import MatchFacts
from league_records.timeline import MANAGER, TimelineAttempt, TimelineLine

OVER: Final = ("COMPLETED",)
_WORDS: Final = {"WIN": "Won", "DRAW": "A draw", "TECHNICAL_LOSS": "Technical loss", "WALKOVER": "Walkover"}


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
    lanes: tuple[str, str, str, str]
    steps: tuple[DiagramStep, ...]


@dataclass(frozen=True, slots=True)
class MatchPage:
    """All of the page; `is_over` is false while it is to be decided, and `pending` says what is known till then."""

    players: tuple[Named, Named]
    points: tuple[int, int] | None
    headline: str
    is_over: bool
    pending: str
    explanation: Explanation
    begun: str
    attempts: tuple[DiagramAttempt, ...]
    draw_label: str
    """What the seed of the draw is hashed with: the page computes the draw again by itself."""
    boards: tuple[BoardView, ...]


def match_page(facts: MatchFacts) -> MatchPage:
    """The page of a match."""
    told = explain(facts)
    verdict = told.verdict
    first, second = told.players
    points = (verdict.points[first], verdict.points[second]) if len(verdict.points) == 2 else None
    return MatchPage(
        players=(Named(first, told.names[first]), Named(second, told.names[second])),
        points=points,
        headline=_WORDS.get(verdict.outcome, verdict.outcome.capitalize()),
        is_over=facts.status in OVER,
        pending=_pending(facts),
        explanation=told,
        begun=f"{datetime.fromtimestamp(told.started_at, UTC):%Y-%m-%d %H:%M:%S} UTC" if told.started_at else "",
        attempts=tuple(_attempt(one, told) for one in told.attempts),
        draw_label=f"{told.league_id}|{told.match_id}|{facts.counted_attempt}",
        boards=board_views(facts),
    )


def _pending(facts: MatchFacts) -> str:
    """What is known of a match that is being played, and what is not."""
    if facts.status != "RUNNING":
        return ""
    referee, given = facts.referee_id, [one for one in facts.manager if isinstance(one, MatchAssigned)]
    since = f" at {datetime.fromtimestamp(given[-1].at, UTC):%H:%M:%S} UTC" if given else ""
    limit = f" {referee} has {facts.limit_s:.0f} s for it; then it is given to another." if facts.limit_s else ""
    return (
        f"It was given to {referee}{since}, and the manager has heard nothing of it yet.{limit} What passes between "
        f"{referee} and the players is learnt from its report: till then nobody can see here who has answered."
    )


def _attempt(one: TimelineAttempt, told: Explanation) -> DiagramAttempt:
    referee = one.referee_id or "referee"
    lanes = (MANAGER, referee, *told.players)
    title = f"Attempt {one.attempt}" if one.attempt else "Before the first attempt"
    return DiagramAttempt(title, lanes, tuple(_steps(one, lanes)))


def _steps(attempt: TimelineAttempt, lanes: tuple[str, str, str, str]) -> Iterator[DiagramStep]:
    has_letters = any(line.kind == "letter" for line in attempt.lines)
    for line in attempt.lines:
        # Where the letters themselves are drawn, what became of them is not drawn as another arrow.
        is_drawn = line.kind == "letter" or not has_letters or line.between[:1] == (MANAGER,)
        ends = [lanes.index(one) for one in line.between if one in lanes and is_drawn]
        here = lanes.index(line.by) if line.by in lanes else 0
        from_lane, to_lane = ends if len(ends) == 2 else (here, here)
        yield DiagramStep(
            after=f"{line.after:+.3f}",
            from_lane=from_lane,
            to_lane=to_lane,
            text=line.text,
            clause=str(line.clause) if line.clause and line.code else "",
            is_fault=line.code is not None,
            is_letter=line.kind == "letter",
            body=_pretty(line),
        )


def _pretty(line: TimelineLine) -> str:
    """The message, indented if it is JSON."""
    if not line.body:
        return ""
    try:
        return json.dumps(json.loads(line.body), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return line.body
