"""The manager's cost of an accepted report late in a league, with all results stored, compared with early in it.

Measured is the CPU time of whole rounds, from the first report to the announcement of the next round, per report. The
league of 1,000 players is cut short: thousands of stored results show the effect, half a million are not needed.
"""

from __future__ import annotations

from typing import NamedTuple

from benchmarks import Row
from benchmarks.reported_league import ReportedLeague


class _Plan(NamedTuple):
    players: int
    rounds: int | None
    """None: all rounds of the schedule."""
    leagues: int
    """Small leagues are played several times."""


PLANS = (_Plan(10, None, 30), _Plan(99, None, 2), _Plan(1000, 25, 1))


def run() -> list[Row]:
    return [_row(plan) for plan in PLANS]


def _row(plan: _Plan) -> Row:
    early = float("inf")
    late = float("inf")
    results = 0
    for _ in range(plan.leagues):
        costs = list(ReportedLeague(plan.players, plan.rounds).rounds())
        results = sum(cost.reports for cost in costs)
        # A fifth of the rounds at each end, without the first and the last round, which do more than report.
        fifth = max(1, len(costs) // 5)
        early = min(early, *(cost.per_report for cost in costs[1 : 1 + fifth]))
        late = min(late, *(cost.per_report for cost in costs[-1 - fifth : -1]))
    title = f"a report, {plan.players:,} players, {results:,} results at the end"
    return Row(title, late * 1e6, early * 1e6, "early in the same league", "us", goal=1.5)
