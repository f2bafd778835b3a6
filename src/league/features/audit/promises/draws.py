"""Promise 12: an attempt has only one draw: its seed, commitment and number are the same wherever they appear. Once the
manager has released its share of a draw after which nobody chooses, the match is decided, and no other attempt begins.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

from league import events as e
from league.features.audit.promises.grounds.event_history import (
    game_of,
    inner,
    settings_of,
    text,
    whole,
    word_of,
)
from league.features.audit.promises.grounds.event_log import Attempt, attempt_of
from league.features.audit.promises.grounds.evidence import Evidence, Object
from league.features.audit.promises.grounds.promise_findings import Breach, call_at, event_at


class _Draw(NamedTuple):
    """What one place says about the draw of an attempt."""

    attempt: Attempt
    where: str
    values: dict[str, object]
    """Its number, seed and commitment, as far as it says them."""


def breaches(evidence: Evidence) -> Iterator[Breach]:
    yield from _seeds_used_twice(evidence)
    yield from _numbers_drawn_twice(evidence)
    yield from _contradictions(evidence)
    yield from _begun_anew(evidence)


def unobservable(evidence: Evidence) -> str | None:
    if evidence.traffic is None and not any(evidence.referees.values()):
        return "there is neither a referee's journal nor recorded traffic"
    return None


def _seeds_used_twice(evidence: Evidence) -> Iterator[Breach]:
    seeds: dict[str, Attempt] = {}
    for referee, journal in evidence.referees.items():
        for place, match in journal.places(e.MatchTaken):
            attempt = attempt_of(match)
            first = seeds.setdefault(match.seed, attempt)
            if first != attempt:
                yield Breach(
                    f"{_name(attempt)} has the seed of {_name(first)}",
                    event_at(referee, place),
                )


def _numbers_drawn_twice(evidence: Evidence) -> Iterator[Breach]:
    settings = settings_of(evidence.manager)
    if settings is not None and settings.game_type != "even_odd":
        # Other games may draw more than one number.
        return
    drawn: set[Attempt] = set()
    for referee, journal in evidence.referees.items():
        for place, event in journal.places(e.NumberDrawn):
            attempt = attempt_of(event)
            if attempt in drawn:
                yield Breach(f"{_name(attempt)} has a second number", event_at(referee, place))
            drawn.add(attempt)


def _contradictions(evidence: Evidence) -> Iterator[Breach]:
    told = [*_journalled(evidence), *_sent(evidence)]
    # Alone the manager contradicts nobody: promise 2 says that a match has one result.
    if not told:
        return
    # The first place that says something is as good as any: two different values are one too many.
    first_values: dict[Attempt, dict[str, object]] = {}
    for draw in chain(told, _stored(evidence)):
        known = first_values.setdefault(draw.attempt, draw.values)
        for name, value in draw.values.items():
            if known.setdefault(name, value) != value:
                yield Breach(f"{_name(draw.attempt)} shows a second {name}", draw.where)


def _begun_anew(evidence: Evidence) -> Iterator[Breach]:
    game = game_of(evidence.manager)
    if game is None or not game.single_draw_last:
        # Choices follow: a match that is lost after its draw is played again.
        return
    released: set[str] = set()
    for place, event in evidence.manager.places(e.DrawReleased, e.ResultVoided, e.MatchAssigned):
        if isinstance(event, e.DrawReleased):
            released.add(event.match_id)
        elif isinstance(event, e.ResultVoided):
            released.discard(event.match_id)
        elif isinstance(event, e.MatchAssigned) and event.match_id in released:
            yield Breach(
                f"{event.match_id} began anew after its draw",
                event_at("manager", place),
            )


def _name(attempt: Attempt) -> str:
    return f"{attempt.match_id}, attempt {attempt.number},"


def _journalled(evidence: Evidence) -> Iterator[_Draw]:
    for referee, journal in evidence.referees.items():
        for place, taken in journal.places(e.MatchTaken):
            yield _Draw(attempt_of(taken), event_at(referee, place), {"seed": taken.seed})
        for place, decided in journal.places(e.MatchDecided):
            yield _draw(attempt_of(decided), event_at(referee, place), decided.details)


def _stored(evidence: Evidence) -> Iterator[_Draw]:
    for place, result in evidence.manager.places(e.ResultAccepted):
        # A dishonest referee may report any draw, but only by its word.
        is_dishonest = result.referee_id in evidence.simulator.dishonest
        if is_dishonest and word_of(evidence.manager, result) != "proven":
            continue
        yield _draw(attempt_of(result), event_at("manager", place), result.details)


def _sent(evidence: Evidence) -> Iterator[_Draw]:
    for kind in ("GAME_INVITATION", "GAME_OVER", "MATCH_RESULT_REPORT"):
        for call in evidence.calls.get(kind, ()):
            sender = evidence.agent(call.sender_node)
            is_lie = kind == "MATCH_RESULT_REPORT" and sender in evidence.simulator.dishonest
            if is_lie or sender not in evidence.referees:
                continue
            details = inner(call.message, "game_result") or inner(inner(call.message, "result"), "details")
            number = whole(call.message, "attempt") or whole(details, "attempt")
            if number is not None:
                attempt = Attempt(text(call.message, "match_id") or "", number)
                promised = {"draw_commitment": text(call.message, "draw_commitment")}
                yield _draw(attempt, call_at(call), {**details, **promised})


def _draw(attempt: Attempt, where: str, details: Object) -> _Draw:
    said = {
        "number": whole(details, "drawn_number"),
        "seed": text(details, "draw_seed"),
        "commitment": text(details, "draw_commitment"),
    }
    return _Draw(attempt, where, {name: value for name, value in said.items() if value is not None})
