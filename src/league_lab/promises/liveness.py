"""Promises 9, 15 and 18: the league ends or says what it waits for, stays within bounds, and is reproducible."""

from __future__ import annotations

from collections.abc import Iterator

from league import events as e
from league_lab.promises.evidence import Evidence
from league_lab.promises.findings import Breach

AT_THE_END = "at the end"


def _is_finished(evidence: Evidence) -> bool:
    ends = [event for event in evidence.manager if isinstance(event, e.LeagueFinished | e.LeagueReopened)]
    return bool(ends) and isinstance(ends[-1], e.LeagueFinished)


def stuck(evidence: Evidence) -> Iterator[Breach]:
    if evidence.finished and evidence.manager and not _is_finished(evidence):
        yield Breach("called finished, but the manager's journal is not", AT_THE_END)
    if evidence.finished or _is_finished(evidence) or evidence.waiting or evidence.stalled is None:
        return
    yield Breach("nothing happens any more" if evidence.stalled else "neither finished nor waiting", AT_THE_END)


def stuck_unobservable(evidence: Evidence) -> str | None:
    if evidence.finished or _is_finished(evidence) or evidence.waiting or evidence.stalled is not None:
        return None
    return "the league is not finished, and nobody waited for it"


def beyond_bounds(evidence: Evidence) -> Iterator[Breach]:
    for name, (seen, allowed) in (evidence.bounds or {}).items():
        if seen > allowed:
            yield Breach(f"{seen} where {allowed} are allowed", name)


def beyond_bounds_unobservable(evidence: Evidence) -> str | None:
    return None if evidence.bounds else "nothing was measured"


def different(evidence: Evidence) -> Iterator[Breach]:
    if evidence.twin_digest is not None and len(set(evidence.twin_digest)) > 1:
        yield Breach("two runs with the same seed and inputs have different journals", AT_THE_END)


def different_unobservable(evidence: Evidence) -> str | None:
    return None if evidence.twin_digest else "there is no second run"
