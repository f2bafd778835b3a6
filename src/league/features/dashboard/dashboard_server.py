"""The dashboard over HTTP: pages, the files beside them, and the feed of what changes.

Theory of operation. Viewers must never hold up the league, which runs in the same process:

- The league page is made at most four times a second, however many ask for it. `_look` takes a view of the manager
  (quick, between two of its inputs), then renders in a thread what has changed, and rests twenty times as long as that
  took. Whoever asks in the meantime gets the page as it was (`LivePage`).
- Pages of matches and players are made one at a time, with a pause after each (`Turns`). Pages of the past may take a
  second each, so they have turns of their own, with longer pauses. If too many wait for a turn, the answer is 503.
- A feed is a response that stays open. All feeds wait for the same event, `_newer`, which is set with every new edition
  and then replaced; each feed then sends what its viewer has not seen. One task, `_keep_fresh`, looks for changes as
  long as there is a feed, so a league that nobody watches renders nothing.
- Feeds are counted apart from all other connections, and are the first to be closed if the server runs short.
- Feeds and waiting pages have a limited number of places, which addresses share (`FairPlaces`): a greedy viewer
  leaves half of them to others.

The same dashboard serves a running manager and a journal (`league view`): `LeaguePages` is what they have in common.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol
from urllib.parse import parse_qs
from uuid import uuid4

from league.agent.agent import Shown
from league.calling.fair_places import FairPlaces
from league.events import Event
from league.hosting.background import Background
from league.hosting.serving import HostedAgent
from league.machine import LiveMatch
from league.manager.league_manager import LeagueManager
from league.manager.state.ledger import ScheduledMatch
from league.storage.notices import JournalError
from league.transport.http import Answer, Headers, HttpRequest, Response, StreamingResponse

if TYPE_CHECKING:
    from league.features.dashboard.league_history import LeagueHistory, Moment
    from league.features.dashboard.live_page import LivePage
    from league.features.dashboard.rendering import Renderer
    from league.features.dashboard.views.answer_times import AnswerSummary
    from league.features.dashboard.views.board_view import PlayView
    from league.features.dashboard.views.league_view import LeagueView
    from league.features.records.match_facts import MatchFacts

FRAME_S: Final = 0.25
"""The shortest time between two editions of the league page."""
PAUSE: Final = 20
"""The pause after looking for what has changed, as a multiple of the time it took."""
FEEDS: Final = 256
"""The most feeds at a time. One address gets half of them at most."""
QUIET_S: Final = 15.0
"""A feed sends something at least this often; otherwise nobody would notice that its reader is gone."""
EVENTS: Final = "/api/events"
MATCH: Final = "/match/"
PLAYER: Final = "/player/"
ASSETS: Final = "/assets/"
LONGEST_NUMBER: Final = 15
OURSELVES: Final = ""
"""Stands for no address: the league page is made for everybody."""
HTML: Final = "text/html; charset=utf-8"
SAFE: Final[Headers] = (
    (
        "content-security-policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("cache-control", "no-cache"),
)
_FULL: Final = Response(
    503,
    b'{"error":"too many viewers at the moment"}',
    headers=(("retry-after", "10"),),
)
_STARTING: Final = Response(
    503,
    b'{"error":"the league is starting"}',
    headers=(("retry-after", "1"),),
)


Render = Callable[[], Awaitable[str | None]]
"""Makes a page; None if there is no such page."""
Results = Mapping[str, Any]
"""The results of views, by name (Any: each feature has its own)."""
Handle = Callable[[], Awaitable[Answer]]
"""Answers a request."""


class LeaguePages(Protocol):
    """The league that the pages show."""

    @property
    def is_live(self) -> bool:
        """Does it change while it is looked at?"""

    @property
    def address(self) -> str:
        """Where agents can register; empty if they cannot."""

    async def shown(self, show: Callable[[LeagueManager], Shown]) -> Shown | None:
        """A view of the league; None while there is nothing to show."""

    async def facts(self, match_id: str) -> MatchFacts | None:
        """The facts of a match, if there is such a match."""

    async def records(self, player_id: str) -> Sequence[Event]:
        """The referees' records of the matches of a player."""

    async def answering(self) -> Mapping[str, AnswerSummary]:
        """How players answer, by their ids."""

    async def changed(self) -> None:
        """Return when there may be something new to show."""

    async def watch(self, match_id: str) -> None:
        """Somebody looks at a match."""

    @property
    def position(self) -> int:
        """How many events its journal had when it was shown last; 0 if there is none to look back into."""

    @property
    def history(self) -> LeagueHistory | None:
        """The league as it was, if there is a journal."""


class Turns:
    """Lets pages be made one at a time, with a pause after each, so that the league has the processor.

    Addresses take turns, too: a page waits for at most one page of each other address.
    """

    def __init__(self, *, waiting: int, pause: float, longest_pause_s: float) -> None:
        self._is_busy = False
        self._places = FairPlaces(waiting)
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}
        """By address; the first address is next."""
        self._pause = pause
        self._longest_pause_s = longest_pause_s

    async def page(self, address: str, render: Render, missing: str) -> Response:
        """A page, when its turn has come; `missing` is the sentence for a page that does not exist."""
        if not self._places.take(address):
            return _FULL
        try:
            await self.begin(address)
        finally:
            self._places.leave(address)
        began = time.perf_counter()
        try:
            html = await render()
        except JournalError as error:
            return _error_page(f"The journal cannot be read: {error}", 503)
        finally:
            duration = time.perf_counter() - began
            pause = min(self._longest_pause_s, self._pause * duration)
            # The turn ends after the pause, not now: the next page waits for it.
            asyncio.get_running_loop().call_later(pause, self.end)
        if html is None:
            return _error_page(missing, 404)
        return _page(html.encode())

    async def begin(self, address: str) -> None:
        """Wait for a turn."""
        if not self._is_busy:
            self._is_busy = True
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(address, deque()).append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            # The turn may have come in the very moment in which nobody wanted it any more.
            if turn.done() and not turn.cancelled():
                self.end()
            raise

    def end(self) -> None:
        """End a turn: the next address is served."""
        while self._waiting:
            address = next(iter(self._waiting))
            turns = self._waiting.pop(address)
            turn = turns.popleft()
            if turns:
                self._waiting[address] = turns
            if not turn.done():
                turn.set_result(None)
                return
        self._is_busy = False


class _Look(NamedTuple):
    """The league at a moment: its view, the observations for other features, and how long it took to look."""

    view: LeagueView
    live: Sequence[tuple[ScheduledMatch, LiveMatch]]
    """The watched matches, and what is to be seen of them."""
    observations: Mapping[str, Any]
    seconds: float


def open_dashboard(host: HostedAgent, views: Mapping[str, Background]) -> Dashboard:
    """The dashboard of a running manager."""
    from league.features.dashboard.live_league import LiveLeague

    return Dashboard(LiveLeague(host), views)


class Dashboard:
    """Serves `/`, everything below `/match/`, `/player/` and `/assets/`, and `/api/events`."""

    def __init__(self, pages: LeaguePages, views: Mapping[str, Background]) -> None:
        self._pages = pages
        self._views = views
        """Views of the league that sections show, by name."""
        self._live: LivePage | None = None
        self._look_again_at = 0.0
        self._shown_results: Results = {}
        """The results that the page shows."""
        self._turns = Turns(waiting=32, pause=3, longest_pause_s=0.5)
        # Looking back gets a fifth of a processor, since a moment of long ago may take a second. There is a league to
        # spare only while it is played.
        pause = 4 if pages.is_live else 0
        self._turns_back = Turns(waiting=8, pause=pause, longest_pause_s=5)
        self._plays: dict[str, tuple[LiveMatch, PlayView]] = {}
        """The watched matches as they were drawn last."""
        self._feeds = FairPlaces(FEEDS)
        self._refreshing: asyncio.Task[None] | None = None
        self._newer = asyncio.Event()
        """Set with the next edition, and then replaced."""
        self._is_closing = False

    async def answer(self, request: HttpRequest) -> Answer | None:
        """The answer to a request; None if nothing is served there."""
        handle = self._handler_of(request)
        if handle is None:
            return None
        if request.method not in ("GET", "HEAD"):
            return Response(405, b'{"error":"this page is read with GET"}', headers=(("allow", "GET, HEAD"),))
        return await handle()

    def _handler_of(self, request: HttpRequest) -> Handle | None:
        path = request.path
        if path == "/":
            return lambda: self._league(request.address, _query(request, "at"), _query(request, "round"))
        if path == EVENTS and self._pages.is_live:
            return lambda: self._feed(request)
        if path.startswith(MATCH):
            return lambda: self._match(request.address, path.removeprefix(MATCH))
        if path.startswith(PLAYER):
            return lambda: self._player(request.address, path.removeprefix(PLAYER))
        if path.startswith(ASSETS):
            return lambda: _asset(path.removeprefix(ASSETS))
        return None

    def close(self) -> None:
        """End all feeds."""
        # Feeds notice it when they wake, which `_newer` makes them do.
        self._is_closing = True
        if self._refreshing is not None:
            self._refreshing.cancel()
        self._newer.set()

    # --- pages --------------------------------------------------------------------------------------------------------

    async def _league(self, address: str, at: str, round_id: str) -> Response:
        if at or round_id:
            return await self._past(address, at, round_id)
        live = await self._look()
        # A manager that recovers its journal has nothing to show yet.
        if live is None:
            return _STARTING
        return _page(live.page)

    async def _past(self, address: str, at: str, round_id: str) -> Response:
        """The league as it was after an event of its journal, or after a round."""
        number = _number(at or round_id)

        async def render() -> str | None:
            history = self._pages.history
            rounds = await self._pages.shown(lambda manager: manager.ledger.finished_rounds)
            if history is None or number is None or rounds is None:
                return None
            find = history.at if at else history.after_round
            return await asyncio.to_thread(_moment, find, number, rounds)

        return await self._turns_back.page(address, render, "There is no such moment in the journal of this league.")

    async def _match(self, address: str, match_id: str) -> Response:
        from league.features.dashboard.views.match_view import match_page

        await self._pages.watch(match_id)
        # Only the page of a live league has a feed to follow; it goes on from before the facts.
        live = await self._look() if self._pages.is_live else None

        async def render() -> str | None:
            facts = await self._pages.facts(match_id)
            if facts is None:
                return None
            position = live.position if live is not None else ""
            return _renderer().match(match_page(facts), position)

        return await self._turns.page(address, render, "There is no such match in this league.")

    async def _player(self, address: str, player_id: str) -> Response:
        from league.features.dashboard.views.player_view import player_page

        async def render() -> str | None:
            records = await self._pages.records(player_id)
            page = await self._pages.shown(lambda manager: player_page(manager, player_id, records))
            if page is None:
                return None
            return _renderer().player(page)

        return await self._turns.page(address, render, "There is no such player in this league.")

    async def _look(self) -> LivePage | None:
        """The league page as it is now, or as it was a moment ago; None while there is nothing to show."""
        await self._turns.begin(OURSELVES)
        try:
            return await self._edition()
        finally:
            self._turns.end()

    async def _edition(self) -> LivePage | None:
        loop = asyncio.get_running_loop()
        has_rested = loop.time() >= self._look_again_at or self._has_newer_results()
        if self._live is not None and not has_rested:
            return self._live
        look = await self._pages.shown(self._view)
        if look is None:
            return None
        # Other features work their results out beside the league; a later look shows them.
        for name, observations in look.observations.items():
            self._views[name].begin(observations)
        results = {name: view.latest for name, view in self._views.items()}
        self._shown_results = results
        answering = await self._pages.answering()
        rendering_s = await asyncio.to_thread(self._show, look, results, answering)
        # Wake the feeds that wait for this edition; those that come later wait for the next.
        self._newer.set()
        self._newer = asyncio.Event()
        pause = max(FRAME_S, PAUSE * (look.seconds + rendering_s))
        self._look_again_at = loop.time() + pause
        return self._live

    def _has_newer_results(self) -> bool:
        shown_results = self._shown_results
        return any(view.latest is not shown_results.get(name) for name, view in self._views.items())

    def _view(self, manager: LeagueManager) -> _Look:
        from league.features.dashboard.views.league_view import league_view

        began = time.perf_counter()
        view = league_view(manager)
        observations = {}
        for name, background in self._views.items():
            observations[name] = background.look(manager)
        duration = time.perf_counter() - began
        live = [(manager.ledger.matches[match_id], seen) for match_id, seen in manager.live.seen.items()]
        return _Look(view, live, observations, duration)

    def _show(self, look: _Look, results: Results, answering: Mapping[str, AnswerSummary]) -> float:
        """Render what has changed, in a thread of its own; return how long that took, in seconds."""
        from league.features.dashboard.history_view import HistoryView
        from league.features.dashboard.live_page import LivePage
        from league.features.dashboard.sections import section_rows, section_view
        from league.features.dashboard.views.league_view import completed

        began = time.perf_counter()
        view = look.view
        live = self._live
        if live is None:
            origin = uuid4().hex[:12] if self._pages.is_live else ""
            live = LivePage(_renderer(), origin)
        last = self._pages.position
        history = HistoryView(view.progress.finished_rounds, last) if last else None
        # A feature may bring a section for a view that this manager does not have.
        rows = [row for row in section_rows() if row.view in results]
        sections = [section_view(row, results[row.view]) for row in rows]
        plays = tuple(self._play(view, *match) for match in look.live)
        live.show(completed(view, tuple(sections), answering, history, self._pages.address, plays))
        self._live = live
        return time.perf_counter() - began

    def _play(self, view: LeagueView, match: ScheduledMatch, seen: LiveMatch) -> PlayView:
        """A match that is being played; it is drawn again only when there is something new to be seen."""
        from league.features.dashboard.views.board_view import live_view

        last_seen, play = self._plays.get(match.match_id, (None, None))
        if play is None or last_seen is not seen:
            named = {row.player.agent_id: row.player for row in view.standings}
            play = live_view(view.game_type, match.match_id, [named[player] for player in match.players], seen)
            self._plays[match.match_id] = (seen, play)
        return play

    # --- the feed -----------------------------------------------------------------------------------------------------

    async def _feed(self, request: HttpRequest) -> Answer:
        live = self._live or await self._look()
        if live is None:
            return _STARTING
        if self._is_closing or not self._feeds.has_room(request.address):
            return _FULL
        # A browser that reconnects states its position in a header; at first it is in the address.
        position = _query(request, "after")
        if b"last-event-id" in request.headers:
            position = request.headers[b"last-event-id"].decode("latin-1")
        frames = self._frames(request.address, live, live.edition_at(position))
        return StreamingResponse(200, frames, headers=SAFE, may_be_broken_off=True)

    async def _frames(self, address: str, live: LivePage, edition: int) -> AsyncGenerator[bytes, None]:
        # Taken here: a response that is never sent holds no place.
        if not self._feeds.take(address):
            return
        if self._refreshing is None or self._refreshing.done():
            self._refreshing = asyncio.create_task(self._keep_fresh())
        try:
            while not self._is_closing:
                # Taken before looking: an edition that comes in between has set it.
                newer = self._newer
                if edition < live.edition:
                    edition, frame = live.frame(edition)
                    yield frame
                    continue
                try:
                    async with asyncio.timeout(QUIET_S):
                        await newer.wait()
                except TimeoutError:
                    # A comment of server-sent events: it means nothing, but fails if the reader is gone.
                    yield b":\n\n"
        finally:
            self._feeds.leave(address)

    async def _keep_fresh(self) -> None:
        """As long as anybody follows, look when something has changed, but not too often."""
        while self._feeds.taken and not self._is_closing:
            await self._look()
            now = asyncio.get_running_loop().time()
            await asyncio.sleep(max(0.0, self._look_again_at - now))
            await self._something_new()

    async def _something_new(self) -> None:
        """Return when the league or a result about it may have changed."""
        waiting = {asyncio.create_task(self._pages.changed())}
        for name, view in self._views.items():
            shown_result = self._shown_results.get(name)
            waiting.add(asyncio.create_task(view.newer(shown_result)))
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in waiting:
                task.cancel()


async def open_page(address: str) -> None:
    """Open it in the reader's browser, if there is one."""
    import webbrowser

    await asyncio.to_thread(webbrowser.open, address)


def _query(request: HttpRequest, name: str) -> str:
    """A value of the query; nothing if it is not there."""
    query = parse_qs(request.query.decode("latin-1"))
    values = query.get(name, [""])
    return values[0]


def _number(text: str) -> int | None:
    """The number of an event or a round; None if the text is neither."""
    if not text.isascii() or not text.isdecimal() or len(text) > LONGEST_NUMBER:
        return None
    return int(text)


def _moment(find: Callable[[int], Moment | None], number: int, rounds: int) -> str | None:
    """The page of a moment, if there is such a moment."""
    from league.features.dashboard.history_view import as_it_was

    moment = find(number)
    if moment is None:
        return None
    return _renderer().league(as_it_was(moment, rounds))


def _page(html: bytes, status: int = 200) -> Response:
    return Response(status, html, HTML, headers=SAFE)


def _error_page(sentence: str, status: int) -> Response:
    return _page(_renderer().missing(sentence).encode(), status)


@cache
def _renderer() -> Renderer:
    """Made when somebody looks: an agent that shows no page does not pay for the engine."""
    from league.features.dashboard.rendering import Links, Renderer

    return Renderer(Links())


async def _asset(name: str) -> Response:
    from league.features.dashboard import rendering

    if name not in rendering.ASSETS:
        return Response(404, b'{"error":"there is nothing at this path"}')
    content = rendering.asset(name)
    return Response(200, content, rendering.ASSETS[name], headers=SAFE)
