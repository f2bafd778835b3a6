"""Matches that ended while a player was away: its author hears of them when it is back.

GAME_OVER is sent once, so a player that could not be reached never learns how its match ended. At the end of each round
its own row in the table says how many of its matches have a result. If that is more than it knows of, it asks the
manager for them (GET_PLAYER_STATS) and records each as MatchMissed, once. Only managers that derive their tokens are
asked: the numbers of others may mean anything.
"""

from __future__ import annotations

from typing import Any, Final

from league.events import MatchMissed
from league.player.league_queries import ManagerQueries, QueryAnswer
from league.player.player_context import PlayerContext
from league.protocol.message.messages import LeagueStandingsUpdate
from league.protocol.message.parts import QueryParams

OUTCOMES: Final = frozenset({"WIN", "DRAW", "LOSS", "TECHNICAL_LOSS", "WALKOVER"})
LONGEST_ID: Final = 80


class MissedMatches:
    """Looks for them at the end of each round."""

    def __init__(self, context: PlayerContext, queries: ManagerQueries) -> None:
        self._context = context
        self._queries = queries

    def look(self, standings: LeagueStandingsUpdate | None, now: float) -> None:
        """Compare our row of the newest table with what we know, at the end of a round."""
        membership = self._context.membership
        if standings is None or not membership.agreement.derived_tokens:
            return
        for row in standings.standings:
            if row.player_id == membership.agent_id and row.played > self._known():
                self._queries.ask_for_us("GET_PLAYER_STATS", QueryParams(), now, self.learn)

    def _known(self) -> int:
        """Return how many of our matches we know the end of."""
        memory = self._context.memory
        return len(memory.history.by_match.keys() | memory.missed)

    def learn(self, answer: QueryAnswer, now: float) -> None:
        """Take the manager's account of our matches."""
        response = answer.response
        matches: Any = None  # Any: JSON that the manager wrote
        if response is not None and response.data is not None:
            matches = response.data.get("matches")
        if not isinstance(matches, list):
            return
        memory = self._context.memory
        for match in matches:
            if not isinstance(match, dict) or match.get("outcome") not in OUTCOMES:
                continue
            match_id = str(match.get("match_id"))[:LONGEST_ID]
            if match_id in memory.history.by_match or match_id in memory.missed:
                continue
            self._context.happened(
                MatchMissed(
                    at=now,
                    match_id=match_id,
                    opponent_id=str(match.get("opponent_id"))[:LONGEST_ID],
                    outcome=match["outcome"],
                )
            )
