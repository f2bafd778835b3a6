"""A league without processes or sockets: a real manager, whose agents answer everything at once."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import NamedTuple

from league.events import LeagueSettings
from league.machine import Entry, Letter, Outgoing, Ping, Pong, Step
from league.manager.league_manager import LeagueManager
from league.manager.state.ledger import ScheduledMatch
from league.protocol.message.envelope import Unsealed, seal
from league.protocol.message.exchanges import Role
from league.protocol.message.messages import (
    LeagueRegisterRequest,
    MatchResultReport,
    RefereeRegisterRequest,
    RegisterResponse,
)
from league.protocol.message.parts import PlayerMeta, RefereeMeta, Result, ResultDetails
from league.storage.files.sqlite import SqliteJournal
from league.storage.notices import Durable, Notice

REFEREES = 10
START = 1_750_000_000.0


class RoundCost(NamedTuple):
    """The CPU time of the reports of one round."""

    cpu_seconds: float
    reports: int

    @property
    def per_report(self) -> float:
        return self.cpu_seconds / self.reports


class ReportedLeague:
    """A league that is played by handing reports to its manager. `keep` gets every step."""

    def __init__(
        self, players: int, rounds: int | None = None, keep: Callable[[Step], object] = lambda _: None
    ) -> None:
        self.now = START
        self._keep = keep
        self._letters = count(1)
        self._draws = count()
        self._tokens: dict[str, str] = {}
        settings = LeagueSettings(league_id="bench", players=players, rounds=rounds, referees=REFEREES)
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
        self._keep(step)
        waiting: list[Outgoing] = list(step.outbox)
        while waiting:
            outgoing = waiting.pop()
            for address in outgoing.to:
                letter = Letter(0, self._pong(outgoing, address.agent_id), outgoing.key, address.agent_id)
                answered = self.manager.handle(letter, self.now)
                self._keep(answered)
                waiting += answered.outbox

    def _pong(self, outgoing: Outgoing, agent_id: str) -> Pong:
        """Answer a call. A referee that is pinged names the matches it holds."""
        ledger = self.manager.ledger
        if isinstance(outgoing.message, Ping) and agent_id in ledger.in_play.holdings:
            return Pong(tuple((match.match_id, match.attempt) for match in ledger.held_by(agent_id)))
        return Pong()

    def rounds(self) -> Iterator[RoundCost]:
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
            yield RoundCost(cpu_seconds, len(reports))
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


def journalled(path: Path, players: int) -> None:
    """Play a league to its end, with its manager's journal at this path."""

    def fail_if_refused(notice: Notice) -> None:
        if not isinstance(notice, Durable):
            raise RuntimeError(notice.error)

    journal = SqliteJournal(path, fail_if_refused, identity={"role": Role.MANAGER.value})

    def keep(step: Step) -> None:
        if step.events:
            journal.append(Entry(tuple(step.events), step.secrets))

    with closing(journal):
        for _ in ReportedLeague(players, keep=keep).rounds():
            pass
