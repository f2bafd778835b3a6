"""What an accepted report costs the manager: late in a league, with all results stored, compared with early in it.

The CPU time of whole rounds, from the first report to the announcement of the next round, per report. A league of
1,000 players is cut short: what counts is that thousands of results are stored, not that all half a million are.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from itertools import count

from benchmarks import Row
from league.events import LeagueSettings
from league.machine import Letter, Outgoing, Ping, Pong, Step
from league.manager.league import LeagueManager
from league.manager.ledger import ScheduledMatch
from league.protocol.envelope import Unsealed, seal
from league.protocol.messages import (
    LeagueRegisterRequest,
    MatchResultReport,
    RefereeRegisterRequest,
    RegisterResponse,
)
from league.protocol.parts import PlayerMeta, RefereeMeta, Result, ResultDetails

NAME = "results_cost"
LEAGUES = ((10, None, 30), (99, None, 2), (1000, 25, 1))
"""Players, rounds (None: all), and how many such leagues are played."""
REFEREES = 10
START = 1_750_000_000.0


def run() -> list[Row]:
    """Ours is late, the yardstick early."""
    return [_row(*league) for league in LEAGUES]


def _row(players: int, rounds: int | None, repeats: int) -> Row:
    early, late = float("inf"), float("inf")
    stored = 0
    for _ in range(repeats):
        costs = list(_League(players, rounds).rounds())
        some = max(1, len(costs) // 5)
        stored = sum(reports for _, reports in costs)
        early = min(early, *(seconds / reports for seconds, reports in costs[1 : 1 + some]))
        late = min(late, *(seconds / reports for seconds, reports in costs[-1 - some : -1]))
    what = f"a report, {players} players, {stored} results at the end"
    return Row(what, late * 1e6, early * 1e6, "early in the same league", "us", goal=1.5)


class _League:
    """A manager whose agents answer everything at once."""

    def __init__(self, players: int, rounds: int | None) -> None:
        self.now = START
        self._letters, self._drawn = count(1), count()
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

    def _chance(self, size: int) -> bytes:
        return hashlib.shake_128(b"%d" % next(self._drawn)).digest(size)

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
        """Everybody answers, and answers what follows."""
        waiting: list[Outgoing] = list(step.outbox)
        while waiting:
            outgoing = waiting.pop()
            for address in outgoing.to:
                known = address.agent_id in self.manager.ledger.in_play.holdings and isinstance(outgoing.message, Ping)
                pong = Pong(self._held(address.agent_id)) if known else Pong()
                letter = Letter(0, pong, outgoing.key, address.agent_id)
                waiting += self.manager.handle(letter, self.now).outbox

    def _held(self, referee_id: str) -> tuple[tuple[str, int], ...]:
        ledger = self.manager.ledger
        return tuple((one.match_id, one.attempt) for one in ledger.held_by(referee_id))

    def rounds(self) -> Iterator[tuple[float, int]]:
        """CPU seconds and reports of each round."""
        while not self.manager.is_finished:
            ledger = self.manager.ledger
            reports = [self._report(match) for match in ledger.matches_in(ledger.current_round)]
            spent = 0.0
            for report in reports:
                self.now += 0.01
                start = time.process_time()
                step = self._handle(report)
                spent += time.process_time() - start
                self._settle(step)
            yield spent, len(reports)
            while (due := self.manager.deadline) is not None and due <= self.now:
                self._settle(self.manager.tick(self.now))

    def _report(self, match: ScheduledMatch) -> MatchResultReport:
        a, b = match.players
        details = ResultDetails(drawn_number=4, choices={a: "even", b: "odd"}, status="WIN")
        envelope = seal(f"referee:{match.referee_id}", self.now, "conv-2", self._tokens[match.referee_id or ""])
        return MatchResultReport(
            **envelope,
            league_id="bench",
            round_id=match.round_id,
            match_id=match.match_id,
            game_type="even_odd",
            result=Result(winner=a, score={a: 3, b: 0}, details=details),
            attempt=match.attempt,
        )
