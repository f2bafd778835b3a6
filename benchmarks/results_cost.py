"""The manager's cost of an accepted report late in a league, with all results stored, compared with early in it.

Measured is the CPU time of whole rounds, from the first report to the announcement of the next round, per report. The
league of 1,000 players is cut short: thousands of stored results show the effect, half a million are not needed.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from itertools import count
from typing import NamedTuple

from benchmarks import Row
from league.events import LeagueSettings
from league.machine import Letter, Outgoing, Ping, Pong, Step
from league.manager.league_manager import LeagueManager
from league.manager.ledger import ScheduledMatch
from league.protocol.envelope import Unsealed, seal
from league.protocol.messages import (
    LeagueRegisterRequest,
    MatchResultReport,
    RefereeRegisterRequest,
    RegisterResponse,
)
from league.protocol.parts import PlayerMeta, RefereeMeta, Result, ResultDetails

REFEREES = 10
START = 1_750_000_000.0


class _Plan(NamedTuple):
    players: int
    rounds: int | None
    """None: all rounds of the schedule."""
    leagues: int
    """Small leagues are played several times."""


PLANS = (_Plan(10, None, 30), _Plan(99, None, 2), _Plan(1000, 25, 1))


class _RoundCost(NamedTuple):
    cpu_seconds: float
    reports: int

    @property
    def per_report(self) -> float:
        return self.cpu_seconds / self.reports


def run() -> list[Row]:
    return [_row(plan) for plan in PLANS]


def _row(plan: _Plan) -> Row:
    early = float("inf")
    late = float("inf")
    results = 0
    for _ in range(plan.leagues):
        costs = list(_League(plan.players, plan.rounds).rounds())
        results = sum(cost.reports for cost in costs)
        # A fifth of the rounds at each end, without the first and the last round, which do more than report.
        fifth = max(1, len(costs) // 5)
        early = min(early, *(cost.per_report for cost in costs[1 : 1 + fifth]))
        late = min(late, *(cost.per_report for cost in costs[-1 - fifth : -1]))
    title = f"a report, {plan.players:,} players, {results:,} results at the end"
    return Row(title, late * 1e6, early * 1e6, "early in the same league", "us", goal=1.5)


class _League:
    """A manager whose agents answer everything at once."""

    def __init__(self, players: int, rounds: int | None) -> None:
        self.now = START
        self._letters = count(1)
        self._draws = count()
        self._tokens: dict[str, str] = {}
        settings = LeagueSettings(
            league_id="bench", players=players, rounds=rounds, referees=REFEREES, max_referees=REFEREES
        )
        self.manager = LeagueManager(settings, self._chance)
        self._settle(self.manager.resume(self.now))
        for number in range(1, REFEREES + 1):
            self._register_referee(number)
        for number in range(1, players + 1):
            self._register_player(number)

    # Not random, so that all leagues draw the same schedule.
    def _chance(self, size: int) -> bytes:
        return hashlib.shake_128(b"%d" % next(self._draws)).digest(size)

    def _register_referee(self, number: int) -> None:
        meta = RefereeMeta(
            display_name=f"Referee {number}",
            version="1.0.0",
            game_types=["even_odd"],
            contact_endpoint=f"http://10.1.0.{number}/mcp",
            max_concurrent_matches=10,
        )
        self._register(RefereeRegisterRequest(**seal("referee:new", self.now, "conv-1"), referee_meta=meta))

    def _register_player(self, number: int) -> None:
        meta = PlayerMeta(
            display_name=f"Player {number}",
            version="1.0.0",
            game_types=["even_odd"],
            contact_endpoint=f"http://10.2.{number // 250}.{number % 250}/mcp",
        )
        self._register(LeagueRegisterRequest(**seal("player:new", self.now, "conv-1"), player_meta=meta))

    def _register(self, message: RefereeRegisterRequest | LeagueRegisterRequest) -> None:
        step = self._handle(message)
        answer = step.replies[0].content
        assert isinstance(answer, RegisterResponse)
        token = answer.auth_token or ""
        self._tokens[token.split("_")[1]] = token
        self._settle(step)

    def _handle(self, message: RefereeRegisterRequest | LeagueRegisterRequest | MatchResultReport) -> Step:
        letter = Letter(next(self._letters), Unsealed(message.type, message), origin="10.0.0.1")
        return self.manager.handle(letter, self.now)

    def _settle(self, step: Step) -> None:
        """Let everybody answer, also the calls that follow from answers."""
        waiting: list[Outgoing] = list(step.outbox)
        while waiting:
            outgoing = waiting.pop()
            for address in outgoing.to:
                letter = Letter(0, self._pong(outgoing, address.agent_id), outgoing.key, address.agent_id)
                waiting += self.manager.handle(letter, self.now).outbox

    def _pong(self, outgoing: Outgoing, agent_id: str) -> Pong:
        """Answer a call. A referee that is pinged names the matches it holds."""
        ledger = self.manager.ledger
        if isinstance(outgoing.message, Ping) and agent_id in ledger.in_play.holdings:
            return Pong(tuple((match.match_id, match.attempt) for match in ledger.held_by(agent_id)))
        return Pong()

    def rounds(self) -> Iterator[_RoundCost]:
        """Play the league, and yield the cost of each round."""
        while not self.manager.is_finished:
            ledger = self.manager.ledger
            reports = [self._report(match) for match in ledger.matches_in(ledger.current_round)]
            cpu_seconds = 0.0
            # Only the report itself is timed, not the answers of the agents.
            for report in reports:
                self.now += 0.01
                start = time.process_time()
                step = self._handle(report)
                cpu_seconds += time.process_time() - start
                self._settle(step)
            yield _RoundCost(cpu_seconds, len(reports))
            while (deadline := self.manager.deadline) is not None and deadline <= self.now:
                self._settle(self.manager.tick(self.now))

    def _report(self, match: ScheduledMatch) -> MatchResultReport:
        winner, loser = match.players
        details = ResultDetails(drawn_number=4, choices={winner: "even", loser: "odd"}, status="WIN")
        envelope = seal(f"referee:{match.referee_id}", self.now, "conv-2", self._tokens[match.referee_id or ""])
        return MatchResultReport(
            **envelope,
            league_id="bench",
            round_id=match.round_id,
            match_id=match.match_id,
            game_type="even_odd",
            result=Result(winner=winner, score={winner: 3, loser: 0}, details=details),
            attempt=match.attempt,
        )
