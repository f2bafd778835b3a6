"""Series of agents that run elsewhere: real matches over HTTP, for `league compare`.

Theory of operation. These are the friendly matches of `league spar`: a League Manager and a referee in this process,
and guests that need not be registered anywhere. A strategy that is compared with an agent plays as an agent of this
process. The event loop runs only while a match is awaited, one match at a time. A session keeps everything in memory,
so it plays a leg of at most `LEG` matches, and the next leg begins with a new one.

What must never happen: a comparison is decided by an agent that has gone. So after each technical loss the agent is
asked whether it is still there, before the match counts. If it is not, or if it has lost twice in a row by its own
fault, the comparison ends without an answer.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Generator, Sequence
from typing import Final, TypeVar

from league.events import Event, MatchDecided, MatchTaken, MoveMade, NumberDrawn, PlayerFaulted
from league.features.experiments.contenders import entrant_of, is_agent
from league.features.experiments.playing.plan import TournamentPlan, game_named, openings_for
from league.features.experiments.playing.series import (
    FAILED,
    WHOLE,
    MatchEnd,
    PlayedSeries,
    SeriesResult,
    Start,
    moves_text,
)
from league.features.workshop.sparring import (
    SparringPlan,
    SparringSession,
    SparringWatcher,
    game_of,
    player_endpoint,
    probe_guest,
)
from league.features.workshop.sparring_manager import Fixtures, first_number, opponent_ids
from league.features.workshop.sparring_matches import in_short
from league.machine import Address
from league.terminal import CommandError, tables
from league.transport.http_client import HttpClient

LEG: Final = 1_000
LEAGUE: Final = "comparison"
"""The league's id, as the agents see it."""


def check_agents(plan: TournamentPlan) -> None:
    """Raise CommandError if the agents of a plan cannot be compared."""
    endpoints = [player_endpoint(agent) for agent in plan.agents]
    for endpoint in endpoints:
        game_of(endpoint)
    if len(set(endpoints)) < len(endpoints):
        raise CommandError(f"an agent cannot play against itself: start a second one beside {endpoints[0]}")
    if plan.asking:
        raise CommandError(
            "a player that asks meets running agents as one of them: start it with `league player --ask`"
        )


def played_by_agents(plan: TournamentPlan, length: int) -> Generator[PlayedSeries, None, None]:
    """Play series after series, and yield them. CommandError if an agent cannot be reached any more."""
    leg_length = length * max(LEG // length, 1)
    with asyncio.Runner() as runner:
        for start in range(0, plan.meetings, leg_length):
            leg = _Leg(plan, start, min(leg_length, plan.meetings - start))
            try:
                runner.run(leg.open())
                for _ in range(0, leg.matches, length):
                    yield runner.run(leg.series(length))
            finally:
                runner.run(leg.close())


class _Leg:
    """Matches that one manager gives out. `start` is the number of the first one among all matches."""

    def __init__(self, plan: TournamentPlan, start: int, matches: int) -> None:
        self.matches = matches
        self._plan = plan
        self._played = start
        self._openings = openings_for(plan.game, plan.openings, plan.seed)
        self._ids = _ids(plan)
        """The ids of the new and the old contender."""
        self._sparring = self._sparring_plan(start)
        self._client: HttpClient | None = None
        self._session: SparringSession | None = None

    def _sparring_plan(self, start: int) -> SparringPlan:
        plan = self._plan
        guests = []
        entrants = []
        for contender, agent_id in zip(plan.contenders, self._ids, strict=True):
            if is_agent(contender):
                guests.append(Address(agent_id, player_endpoint(contender)))
            else:
                entrants.append(entrant_of(contender))
        fixtures = Fixtures(
            league_id=LEAGUE,
            game_type=plan.game,
            guest=guests[0],
            opponents=opponent_ids(len(entrants)),
            matches=self.matches,
            first=first_number(time.time()),
            move_seconds=plan.move_seconds,
            rivals=tuple(guests[1:]),
            opening_at=lambda place: self._openings[self._opening(start + place)],
        )
        # Otherwise every leg would repeat the choices of the first one.
        return SparringPlan(fixtures, tuple(entrants), journal="", seed=plan.seed + start)

    def _opening(self, number: int) -> int:
        # After every two matches: both players sit on both sides of each.
        return number // 2 % len(self._openings)

    async def open(self) -> None:
        """Start our own agents. CommandError if a guest cannot play."""
        self._client = HttpClient()
        # Before any port is opened: without its guests a leg has no matches.
        for guest in self._sparring.fixtures.guests:
            findings = await probe_guest(self._sparring, guest, self._client)
            if findings.is_trouble or findings.is_elsewhere:
                raise CommandError(findings.in_words())
        self._session = SparringSession(self._sparring, self._client)
        await self._session.open()

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
        if self._client is not None:
            await self._client.close()

    async def series(self, length: int) -> PlayedSeries:
        """Play the next series."""
        result = SeriesResult()
        games = []
        for _ in range(min(length, self._plan.meetings - self._played)):
            account = await self._next_match()
            self._add(result, account)
            # With chance, equal moves are no sign that the two always play so.
            if not account.chance:
                opening = self._opening(self._played)
                start = Start(opening, account.seat(self._ids[0]))
                moves = account.moves
                if result.ends[-1] not in WHOLE:
                    moves = FAILED
                games.append((start, moves))
            self._played += 1
        return PlayedSeries(result, games)

    def _add(self, result: SeriesResult, account: _Account) -> None:
        result.ends.append(account.end(self._ids))
        result.moves.append(account.moves)
        result.chance.append(account.chance)
        if game_named(self._plan.game).scoring.by_margin:
            result.scores.append(account.points(self._ids))
        for fault in account.faults:
            place = self._ids.index(fault.player_id)
            result.failures[f"{place} {in_short(fault)}"] += 1

    async def _next_match(self) -> _Account:
        """Play a match. CommandError if it cannot count, because an agent has gone or fails all the time."""
        assert self._session is not None, "the leg is open"
        events = await self._session.next_match(SparringWatcher())
        assert events is not None, "the comparison ends when the manager gives up"
        account = _Account(events)
        for fault in account.faults:
            await self._require_still_there(fault)
        if self._session.manager.gave_up:
            raise CommandError(self._why_given_up(account.faults))
        return account

    async def _require_still_there(self, fault: PlayerFaulted) -> None:
        assert self._client is not None
        for guest in self._sparring.fixtures.guests:
            if guest.agent_id != fault.player_id:
                continue
            findings = await probe_guest(self._sparring, guest, self._client)
            if findings.is_trouble:
                raise CommandError(
                    f"{self._name(fault)} does not answer any more ({findings.failure or in_short(fault)}): the "
                    f"comparison ends without an answer, after {tables.counted(self._played, 'match')}"
                )

    def _why_given_up(self, faults: Sequence[PlayerFaulted]) -> str:
        names = " and ".join(self._name(fault) for fault in faults)
        return (
            f"{names} lost twice in a row by its own fault ({in_short(faults[0])}): the comparison ends without an "
            f"answer, after {tables.counted(self._played, 'match')}; `league spar` explains such a match"
        )

    def _name(self, fault: PlayerFaulted) -> str:
        return self._plan.names[self._ids.index(fault.player_id)]


def _ids(plan: TournamentPlan) -> tuple[str, ...]:
    """Return the ids of both contenders: agents that run elsewhere are P01 and P02, as in a league of their own."""
    ids = []
    guests = 0
    for contender in plan.contenders:
        if is_agent(contender):
            guests += 1
            ids.append(f"P{guests:02}")
        else:
            ids += opponent_ids(1)
    return tuple(ids)


class _Account:
    """A match as its referee recorded it."""

    def __init__(self, events: Sequence[Event]) -> None:
        (taken,) = _of(MatchTaken, events)
        self._players = taken.players
        self._moves = _of(MoveMade, events)
        self._numbers = _of(NumberDrawn, events)
        self._decisions = _of(MatchDecided, events)
        self.faults = _of(PlayerFaulted, events)

    @property
    def moves(self) -> str:
        """The moves in their order. Of those that were made at once, the one of the first seat comes first."""
        moves = sorted(self._moves, key=lambda move: (move.turn, self.seat(move.player_id)))
        return moves_text([move.choice for move in moves])

    @property
    def chance(self) -> str:
        return " ".join(str(drawn.number) for drawn in self._numbers)

    def seat(self, agent_id: str) -> int:
        return self._players.index(agent_id)

    def points(self, ids: Sequence[str]) -> tuple[int, int]:
        """The points of the first and the second contender."""
        (decided,) = self._decisions
        first, second = ids
        return decided.points[first], decided.points[second]

    def end(self, ids: Sequence[str]) -> MatchEnd:
        """How it ended, for the first and the second contender."""
        first = ids[0]
        faulted = {fault.player_id for fault in self.faults}
        if len(faulted) == len(ids):
            return MatchEnd.BOTH_FAILED
        if faulted:
            if first in faulted:
                return MatchEnd.FIRST_FAILED
            return MatchEnd.SECOND_FAILED
        (decided,) = self._decisions
        if decided.winner is None:
            return MatchEnd.DRAW
        if decided.winner == first:
            return MatchEnd.FIRST_WON
        return MatchEnd.SECOND_WON


E = TypeVar("E", bound=Event)


def _of(kind: type[E], events: Sequence[Event]) -> list[E]:
    return [event for event in events if isinstance(event, kind)]
