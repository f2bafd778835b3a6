"""Promises 9, 15 and 18: the league ends or says what it waits for, stays within bounds, and is reproducible."""

from __future__ import annotations

from collections.abc import Iterator

from league.features.audit.promises.grounds.event_history import is_over
from league.features.audit.promises.grounds.evidence import Evidence
from league.features.audit.promises.grounds.promise_findings import Breach

AT_THE_END = "at the end"


def _has_ended(evidence: Evidence) -> bool:
    """Whether the league finished, or says what it waits for."""
    return evidence.finished or is_over(evidence.manager) or bool(evidence.waiting)


def stuck(evidence: Evidence) -> Iterator[Breach]:
    if evidence.finished and evidence.manager and not is_over(evidence.manager):
        yield Breach("called finished, but the manager's journal is not", AT_THE_END)
    stalled = evidence.simulator.stalled
    if _has_ended(evidence) or stalled is None:
        return
    detail = "neither finished nor waiting"
    if stalled:
        detail = "nothing happens any more"
    yield Breach(detail, AT_THE_END)


def stuck_unobservable(evidence: Evidence) -> str | None:
    if _has_ended(evidence) or evidence.simulator.stalled is not None:
        return None
    return "the league is not finished, and nobody waited for it"


def beyond_bounds(evidence: Evidence) -> Iterator[Breach]:
    for name, (largest, allowed) in (evidence.simulator.bounds or {}).items():
        if largest > allowed:
            yield Breach(f"{largest} where {allowed} are allowed", name)


def beyond_bounds_unobservable(evidence: Evidence) -> str | None:
    if not evidence.simulator.bounds:
        return "nothing was measured"
    return None


def different(evidence: Evidence) -> Iterator[Breach]:
    digests = evidence.simulator.twin_digest or ()
    if len(set(digests)) > 1:
        yield Breach("two runs with the same seed and inputs have different journals", AT_THE_END)


def different_unobservable(evidence: Evidence) -> str | None:
    if not evidence.simulator.twin_digest:
        return "there is no second run"
    return None
