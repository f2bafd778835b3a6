"""News of matches that somebody watches (`live.v1`, spec section 8.20).

Theory of operation. Our manager names the watched matches in its pings. As long as one is named, every event of this
referee passes by here on its way, and each that changes what everybody may see of a watched match sets a timer that is
due at once: so all that happened in one step is told in one call. A call tells everything that may be seen so far, so
one that is lost does no harm, and while it is under way the next one waits. While nobody watches, events do not pass
by, and a match costs nothing more.

What must never happen: that anybody learns a choice of a turn that is still open, or what only one player may see. So
moves, draws and clocks are told of public games alone; a game that hides something may draw a board for everybody.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

import msgspec

from league.calling.delivery import Delivery, Ending, Policy
from league.events import Event, MatchDecided, MoveMade, NumberDrawn, PlayerFaulted, PlayerJoined
from league.games.boards import picture
from league.games.contract import SEATS
from league.machine import LiveMatch, MatchNews
from league.protocol.signing.tokens import MANAGER
from league.referee.match import Match
from league.referee.referee_context import RefereeContext

WATCHED_S: Final = 15.0
"""How long a match counts as watched after it was named. A manager that runs names it again before that."""
LARGEST_NEWS: Final = 9_000
"""The largest news, in bytes. Of a match that has more to tell, the moves are not told."""
_POLICY: Final = Policy(limit_s=3.0, is_waited_for=False)
_STEPS: Final = frozenset({PlayerJoined, MoveMade, NumberDrawn, PlayerFaulted, MatchDecided})


class LiveNews:
    """Tells the manager of the matches that it named last."""

    def __init__(self, context: RefereeContext) -> None:
        self._context = context
        self._happened = context.happened
        self._watched: frozenset[str] = frozenset()
        self._under_way: dict[str, Delivery] = {}
        """By match: the call that tells of it."""
        self._told: dict[str, LiveMatch] = {}

    def watch(self, match_ids: Sequence[str], now: float) -> None:
        """Tell of these matches from now on, and of no others."""
        new = frozenset(match_ids) - self._watched
        self._watched = frozenset(match_ids)
        self._context.happened = self._passes_by
        self._context.timers.set("live", now + WATCHED_S, self._forget)
        for match_id in new:
            self._told.pop(match_id, None)
            self._tell(match_id, now)

    def _forget(self, now: float) -> None:
        self._watched = frozenset()
        self._told.clear()
        self._context.happened = self._happened

    def _passes_by(self, event: Event) -> None:
        self._happened(event)
        match_id = getattr(event, "match_id", None)
        if match_id in self._watched and type(event) in _STEPS:
            self._context.timers.set(("live", match_id), event.at, partial(self._tell, match_id))

    def _tell(self, match_id: str, now: float) -> None:
        """Tell of a match, unless there is nothing new, or a call is under way: then its end leads here again."""
        match = self._context.docket.open.get(match_id)
        if match is None or match_id not in self._watched or match_id in self._under_way:
            return
        live = live_match(match)
        if self._told.get(match_id) == live:
            return
        self._told[match_id] = live
        membership = self._context.membership
        delivery = Delivery(
            MANAGER,
            f"{match.name}/live",
            MatchNews(match_id, match.attempt, live),
            _POLICY,
            address=lambda: membership.manager,
            on_end=partial(self._ended, match_id),
        )
        self._under_way[match_id] = delivery
        self._context.calls.deliver([delivery], now)

    def _ended(self, match_id: str, _delivery: Delivery, _ending: Ending, now: float) -> None:
        del self._under_way[match_id]
        self._tell(match_id, now)


def live_match(match: Match) -> LiveMatch:
    """Return what everybody may see of a match."""
    players = match.taken.players
    course = match.course
    game = match.game
    joined = tuple(players[seat] for seat in SEATS if match.seated[seat].joined)
    # Who is asked at once with the other one knows it; whose turn it is may be a secret.
    answered = tuple(players[seat] for seat in SEATS if seat in course.pending and len(course.to_move.seats) > 1)
    board = None
    if game.public_board is not None and match.turn:
        board = msgspec.to_builtins(picture(game.public_board(course.position)))
    live = LiveMatch(joined, answered, board=board)
    # In a game that hides something, even a clock would tell who has moved.
    if not game.is_public:
        return live
    limit_s = game.clock_s(match.taken.move_seconds)
    clock = {}
    if limit_s is not None and match.turn:
        clock = {players[seat]: round(max(limit_s - match.seated[seat].spent, 0.0), 1) for seat in SEATS}
    turns: dict[int, dict[str, str]] = {}
    for event in match.events:
        if isinstance(event, MoveMade) and event.turn < match.turn:
            turns.setdefault(event.turn, {})[event.player_id] = event.choice
    whole = LiveMatch(joined, answered, tuple(turns.values()), tuple(match.draws.numbers), clock)
    return whole if len(msgspec.json.encode(whole)) <= LARGEST_NEWS else live
