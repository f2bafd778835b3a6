"""Promise 12: no second draw for an attempt: its seed, commitment and number are the same wherever they are shown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from league import events as e
from league_lab.promises.evidence import Evidence
from league_lab.promises.findings import Breach, call_at, event_at
from league_lab.promises.history import Attempt, inner, places, settings_of, text, whole


class _Draw(NamedTuple):
    """What one place says of the draw of one attempt; None where it says nothing."""

    attempt: Attempt
    number: int | None
    seed: str | None
    promised: str | None
    where: str


def breaches(evidence: Evidence) -> Iterator[Breach]:
    yield from _seeds_used_twice(evidence)
    yield from _numbers_drawn_twice(evidence)
    yield from _contradictions([*_journalled(evidence), *_sent(evidence)])


def unobservable(evidence: Evidence) -> str | None:
    if evidence.traffic is None and not any(evidence.referees.values()):
        return "there is neither a referee's journal nor recorded traffic"
    return None


def _seeds_used_twice(evidence: Evidence) -> Iterator[Breach]:
    seeds: dict[str, Attempt] = {}
    for referee, journal in evidence.referees.items():
        for place, taken in places(journal, e.MatchTaken):
            attempt = (taken.match_id, taken.attempt)
            if seeds.setdefault(taken.seed, attempt) != attempt:
                yield Breach(f"{_name(attempt)} has the seed of {_name(seeds[taken.seed])}", event_at(referee, place))


def _numbers_drawn_twice(evidence: Evidence) -> Iterator[Breach]:
    settings = settings_of(evidence.manager)
    if settings is not None and settings.game_type != "even_odd":
        return
    drawn: set[Attempt] = set()
    for referee, journal in evidence.referees.items():
        for place, event in places(journal, e.NumberDrawn):
            attempt = (event.match_id, event.attempt)
            if attempt in drawn:
                yield Breach(f"{_name(attempt)} has a second number", event_at(referee, place))
            drawn.add(attempt)


def _contradictions(draws: Iterable[_Draw]) -> Iterator[Breach]:
    seen: dict[tuple[Attempt, str], object] = {}
    for draw in draws:
        for name, value in (("number", draw.number), ("seed", draw.seed), ("commitment", draw.promised)):
            if value is not None and seen.setdefault((draw.attempt, name), value) != value:
                yield Breach(f"{_name(draw.attempt)} shows a second {name}", draw.where)


def _name(attempt: Attempt) -> str:
    return f"{attempt[0]}, attempt {attempt[1]},"


def _journalled(evidence: Evidence) -> Iterator[_Draw]:
    for referee, journal in evidence.referees.items():
        for place, event in enumerate(journal):
            where = event_at(referee, place)
            if isinstance(event, e.MatchTaken):
                yield _Draw((event.match_id, event.attempt), None, event.seed, None, where)
            elif isinstance(event, e.MatchDecided):
                yield _shown((event.match_id, event.attempt), event.details, where)
    for place, result in places(evidence.manager, e.ResultAccepted):
        yield _shown((result.match_id, result.attempt), result.details, event_at("manager", place))


def _sent(evidence: Evidence) -> Iterator[_Draw]:
    for kind in ("GAME_INVITATION", "GAME_OVER", "MATCH_RESULT_REPORT"):
        for call in evidence.calls.get(kind, ()):
            if evidence.agent(call.sender_node) not in evidence.referees:
                continue
            shown = inner(call.message, "game_result") or inner(inner(call.message, "result"), "details")
            number = whole(call.message, "attempt") or whole(shown, "attempt")
            if number is not None:
                attempt = (text(call.message, "match_id") or "", number)
                promise = {"draw_commitment": call.message.get("draw_commitment")}
                yield _shown(attempt, {**shown, **promise}, call_at(call))


def _shown(attempt: Attempt, shown: dict[str, Any], where: str) -> _Draw:
    return _Draw(attempt, whole(shown, "drawn_number"), text(shown, "draw_seed"), text(shown, "draw_commitment"), where)
