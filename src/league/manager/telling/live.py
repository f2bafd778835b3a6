"""Matches that somebody watches (`live.v1`, spec section 8.20): whose referees are asked for news, and what they said.

A match is watched for a while after somebody has looked at it. The pings to its referee name it, and the referee tells
us what everybody may see of it. None of this is journalled, nothing is decided by it, and it is gone with the process;
while nobody watches, no timer runs and no ping names anything.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

import msgspec

from league.games import registry
from league.games.boards import Picture
from league.machine import Letter, LiveMatch, MatchNews, Pong
from league.manager.manager_context import ManagerPart
from league.manager.staffing.leases import Leases
from league.manager.state.ledger import ScheduledMatch
from league.protocol.errors import PeerError

WATCHED_S: Final = 30.0
"""How long a match counts as watched after somebody has looked at it."""
LOOK_S: Final = 0.5
"""How often we look whether a watched match has a referee by now."""
MOST_WATCHED: Final = 64
LONGEST_MOVE: Final = 200


@dataclass(slots=True)
class LiveMatches(ManagerPart):
    """The watched matches. `version` grows with all that is to be seen of them."""

    leases: Leases
    version: int = 0
    seen: dict[str, LiveMatch] = field(default_factory=dict)
    """What is to be seen of them, as far as somebody has told us."""
    _until: dict[str, float] = field(default_factory=dict)

    def is_awaited(self, match_id: str) -> bool:
        """True if the referee of a match was asked for news, and has told nothing yet."""
        match = self._ledger.matches.get(match_id)
        if match is None or match_id in self.seen or match_id not in self._until or match.result is not None:
            return False
        named = self.leases.watched.get(match.referee_id or "")
        return named is not None and match_id in named.match_ids

    def watch(self, match_ids: Iterable[str], now: float) -> None:
        """Somebody looks at these matches."""
        for match_id in match_ids:
            match = self._ledger.matches.get(match_id)
            has_room = match_id in self._until or len(self._until) < MOST_WATCHED
            if match is not None and match.result is None and has_room:
                self._until[match_id] = now + WATCHED_S
        self._look(now)

    def _look(self, now: float) -> None:
        """Name the watched matches to their referees."""
        watched: dict[str, list[str]] = {}
        for match_id, until in list(self._until.items()):
            match = self._ledger.matches[match_id]
            if until <= now or match.result is not None:
                del self._until[match_id]
            elif match.status == "ASSIGNED" and match.referee_id:
                watched.setdefault(match.referee_id, []).append(match_id)
        for match_id in self.seen.keys() - self._until.keys():
            del self.seen[match_id]
            self.version += 1
        self.leases.name(watched, now)
        if self._until:
            self.context.timers.set("live", now + LOOK_S, self._look)

    def take_news(self, letter: Letter, news: MatchNews) -> None:
        """Take the news of a referee about a match that it plays. PeerError refuses them."""
        if not news.token:
            raise PeerError("E011", "auth_token is missing")
        owner = self._ledger.roster.owner(news.token)
        if owner is None:
            raise PeerError("E012", "this is no token of a referee")
        match = self._ledger.matches.get(news.match_id)
        holder = (owner[0].agent_id, news.attempt)
        if match is None or match.status != "ASSIGNED" or holder != (match.referee_id, match.attempt):
            raise PeerError("E014", f"attempt {news.attempt} of {news.match_id[:80]!r} is not played by this referee")
        if not self._is_sound(match, news.live):
            raise PeerError("E035", "live names others than the players, or what nobody may see", {"field": "live"})
        if news.match_id in self._until:
            self.seen[news.match_id] = news.live
            self.version += 1
        self.context.reply(letter, Pong())

    def _is_sound(self, match: ScheduledMatch, live: LiveMatch) -> bool:
        """True if it is about the players of the match, and shows nothing that the game keeps secret."""
        game = registry.find(self._ledger.settings.game_type)
        named = {*live.joined, *live.answered, *live.clock}.union(*live.turns)
        if game is None or not named <= set(match.players) or len(live.turns) > game.turns:
            return False
        moves = [move for turn in live.turns for move in turn.values()]
        if not all(len(move) <= LONGEST_MOVE and move.isprintable() for move in moves):
            return False
        try:
            msgspec.convert(live.board, Picture | None)
        except msgspec.ValidationError:
            return False
        return game.is_public or not (live.turns or live.draws)
