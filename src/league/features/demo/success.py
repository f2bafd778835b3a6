"""The success metrics of a league (R-53), computed from the counters that its agents show under /metrics."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

_SAMPLE = re.compile(r"([a-z_]+)(?:\{([^}]*)\})? ([0-9.e+-]+)")
_LABEL = re.compile(r'([a-z_]+)="([^"]*)"')
FIELD_TYPE = "E007"
ILLEGAL = ("E004", "E024")
REGISTRATIONS = ("LEAGUE_REGISTER_REQUEST", "REFEREE_REGISTER_REQUEST")
QUERY = "LEAGUE_QUERY"
READS = "league_messages_read_total"
RETRIES = "league_calls_repeated_total"
CALLS = "league_calls_sent_total"
SECONDS = ("_seconds_sum", "_seconds_count")
VERDICTS = {READS: "verdict", RETRIES: "outcome", CALLS: "outcome"}
"""The counters that are added up, and the label that says how it went."""


class MetricSample(NamedTuple):
    """One line of a /metrics page."""

    name: str
    labels: Mapping[str, str]
    value: float


@dataclass(frozen=True, slots=True)
class Share:
    """A part of a total."""

    part: int
    of: int

    @property
    def rate(self) -> float | None:
        """None if the total is 0."""
        if self.of == 0:
            return None
        return self.part / self.of


@dataclass(frozen=True, slots=True)
class Success:
    """How well a league went, over all its agents."""

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


@dataclass(slots=True)
class Totals:
    """The sums over all pages that were read."""

    counters: Counter[str] = field(default_factory=Counter)
    """By the name of a counter: everything it counted."""
    verdicts: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By the name of a counter and how it went."""
    seconds: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    """By the name of a sum or count of seconds."""
    choices: int = 0
    illegal_choices: int = 0
    registered: int = 0
    registered_at_once: int = 0

    def add_page(self, samples: Sequence[MetricSample]) -> None:
        for sample in samples:
            self._add(sample)
        # A manager registers nowhere, so it has no attempts at all.
        attempts = sum(sample.value for sample in samples if _is_registration(sample))
        self.registered += attempts > 0
        self.registered_at_once += attempts == 1

    def _add(self, sample: MetricSample) -> None:
        labels = sample.labels
        if sample.name in VERDICTS:
            verdict = labels.get(VERDICTS[sample.name], "?")
            self.counters[sample.name] += int(sample.value)
            self.verdicts[sample.name, verdict] += int(sample.value)
        elif sample.name == "league_events_total" and labels.get("event") == "MoveMade":
            self.choices += int(sample.value)
        elif sample.name == "league_faults_total" and labels.get("event") == "WrongAnswer":
            # An illegal choice is a choice, too, though no move came of it.
            if labels.get("code") in ILLEGAL:
                self.choices += int(sample.value)
                self.illegal_choices += int(sample.value)
        # Of the times to answer, only those of queries are a metric. Other times have no message type.
        elif sample.name.endswith(SECONDS) and labels.get("message_type", QUERY) == QUERY:
            self.seconds[sample.name] += sample.value

    def share(self, counter: str, verdict: str) -> Share:
        return Share(self.verdicts[counter, verdict], self.counters[counter])

    def mean(self, name: str) -> float | None:
        count = self.seconds[f"{name}_count"]
        if count == 0:
            return None
        return self.seconds[f"{name}_sum"] / count


def _is_registration(sample: MetricSample) -> bool:
    return sample.name == CALLS and sample.labels.get("message_type") in REGISTRATIONS


def samples_in(page: str) -> list[MetricSample]:
    """Return the samples of one /metrics page."""
    samples = []
    for line in page.splitlines():
        match = _SAMPLE.fullmatch(line)
        if match:
            labels = dict(_LABEL.findall(match[2] or ""))
            samples.append(MetricSample(match[1], labels, float(match[3])))
    return samples


def summarize(pages: Iterable[str]) -> Success:
    """Return the metrics of a league. There is one page for each of its agents."""
    totals = Totals()
    for page in pages:
        totals.add_page(samples_in(page))
    return Success(
        valid=totals.share(READS, "valid"),
        field_type_errors=totals.share(READS, FIELD_TYPE),
        retries=totals.share(RETRIES, "answered"),
        timeouts=totals.share(CALLS, "timeout"),
        illegal_choices=Share(totals.illegal_choices, totals.choices),
        first_try=Share(totals.registered_at_once, totals.registered),
        round_trip_s=totals.mean("league_round_trip_seconds"),
        query_s=totals.mean("league_answer_seconds"),
        queries=int(totals.seconds["league_answer_seconds_count"]),
        standings_s=totals.mean("league_standings_latency_seconds"),
    )
