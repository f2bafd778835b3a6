"""The success metrics of a league (R-53), from what its agents count under /metrics."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

_SAMPLE = re.compile(r"([a-z_]+)(?:\{([^}]*)\})? ([0-9.e+-]+)")
_LABEL = re.compile(r'([a-z_]+)="([^"]*)"')
FIELD_TYPE, ILLEGAL = "E007", ("E004", "E024")
REGISTRATIONS = ("LEAGUE_REGISTER_REQUEST", "REFEREE_REGISTER_REQUEST")
QUERY = "LEAGUE_QUERY"
CALLS = "league_calls_sent_total"

Sample = tuple[str, Mapping[str, str], float]


@dataclass(frozen=True, slots=True)
class Share:
    """A part of a total."""

    part: int
    of: int

    @property
    def rate(self) -> float | None:
        """None if the total is 0."""
        return self.part / self.of if self.of else None


@dataclass(frozen=True, slots=True)
class Success:
    """What went well in a league, over all its agents."""

    valid: Share
    """of all messages read"""
    field_type_errors: Share
    """of all messages read"""
    retries: Share
    """repeated calls that were answered"""
    timeouts: Share
    """of all calls"""
    illegal_choices: Share
    """of all choices"""
    first_try: Share
    """agents registered with their first attempt"""
    round_trip_s: float | None
    query_s: float | None
    """of a LEAGUE_QUERY"""
    queries: int
    standings_s: float | None
    """from a result's acceptance until a player acknowledged a table with it"""


def samples_in(page: str) -> list[Sample]:
    """The samples of one /metrics page."""
    found = (_SAMPLE.fullmatch(line) for line in page.splitlines() if not line.startswith("#"))
    return [(one[1], dict(_LABEL.findall(one[2] or "")), float(one[3])) for one in found if one]


def summarize(pages: Iterable[str]) -> Success:
    """The metrics of a league; one page for each of its agents."""
    totals: Counter[tuple[str, str]] = Counter()
    seconds: dict[str, float] = defaultdict(float)
    registered = first_try = 0
    for page in pages:
        samples = samples_in(page)
        for name, labels, value in samples:
            _add(totals, seconds, name, labels, value)
        attempts = [v for name, labels, v in samples if labels.get("message_type") in REGISTRATIONS and name == CALLS]
        registered += bool(attempts)
        first_try += sum(attempts) == 1
    reads, calls, choices = totals["read", ""], totals["call", ""], totals["move", ""] + totals["illegal", ""]
    return Success(
        valid=Share(totals["read", "valid"], reads),
        field_type_errors=Share(totals["read", FIELD_TYPE], reads),
        retries=Share(totals["retry", "answered"], totals["retry", ""]),
        timeouts=Share(totals["call", "timeout"], calls),
        illegal_choices=Share(totals["illegal", ""], choices),
        first_try=Share(first_try, registered),
        round_trip_s=_mean(seconds, "league_round_trip_seconds"),
        query_s=_mean(seconds, "league_answer_seconds"),
        queries=int(seconds["league_answer_seconds_count"]),
        standings_s=_mean(seconds, "league_standings_latency_seconds"),
    )


_COUNTED = {
    "league_messages_read_total": ("read", "verdict"),
    "league_calls_repeated_total": ("retry", "outcome"),
    CALLS: ("call", "outcome"),
}


def _add(
    totals: Counter[tuple[str, str]], seconds: dict[str, float], name: str, labels: Mapping[str, str], value: float
) -> None:
    if name in _COUNTED:
        what, label = _COUNTED[name]
        totals[what, ""] += int(value)
        totals[what, labels.get(label, "?")] += int(value)
    elif name == "league_events_total" and labels.get("event") == "MoveMade":
        totals["move", ""] += int(value)
    elif name == "league_faults_total" and labels.get("event") == "WrongAnswer" and labels.get("code") in ILLEGAL:
        totals["illegal", ""] += int(value)
    elif name.endswith(("_seconds_sum", "_seconds_count")) and labels.get("message_type", QUERY) == QUERY:
        seconds[name] += value


def _mean(seconds: Mapping[str, float], name: str) -> float | None:
    count = seconds[f"{name}_count"]
    return seconds[f"{name}_sum"] / count if count else None
