"""The league page while it changes, so that a viewer gets what it has not seen, whether it missed one frame or an hour.

Theory of operation. The page is a set of lists (standings, matches, …), and a list is made of pieces with HTML ids
(`rendering.parts_of`). Every change makes a new *edition* with the next number. An edition remembers, for each piece,
the number of the edition in which it last changed, and for each list the one in which its order last changed. So the
frame for a viewer that has seen edition n is simply everything with a number greater than n; no history is kept.

A viewer states its position as `ORIGIN-NUMBER`. The origin is drawn when the process starts: a viewer that comes with a
position of an earlier process gets everything.

An edition never changes once it is there, except that frames made from it are remembered. That is why one thread may
make the next edition while others read this one. A piece is rendered only if its data differs from that of the last
edition.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import msgspec

from league.features.dashboard.rendering import Renderer, parts_of
from league.features.dashboard.sections import Parts
from league.features.dashboard.views.league_view import LeagueView

_JSON = msgspec.json.Encoder()
LONGEST_NUMBER = 15


@dataclass(frozen=True, slots=True)
class Edition:
    """The page between two changes."""

    number: int
    view: LeagueView | None = None
    parts: Parts = field(default_factory=dict)
    pieces: dict[str, str] = field(default_factory=dict)
    """The rendered pieces, by their ids."""
    changed: dict[str, int] = field(default_factory=dict)
    """The edition in which each piece changed, or (by its name) the order of a list."""
    page: bytes = b""
    frames: dict[int, bytes] = field(default_factory=dict)
    """By the edition that their receivers have seen: each is encoded once."""


BLANK = Edition(0)


class LivePage:
    """The newest edition of the page; `origin` is empty for a page that never changes."""

    def __init__(self, renderer: Renderer, origin: str) -> None:
        self._renderer = renderer
        self._origin = origin
        self._newest = BLANK

    @property
    def edition(self) -> int:
        return self._newest.number

    @property
    def page(self) -> bytes:
        """The whole page, as it is now; nothing before the first edition."""
        return self._newest.page

    @property
    def position(self) -> str:
        """What a page tells its feed, to get what comes after it; nothing for a page that does not change."""
        return self._position_of(self.edition)

    def _position_of(self, number: int) -> str:
        return f"{self._origin}-{number}" if self._origin else ""

    def edition_at(self, position: str) -> int:
        """The edition of a position; 0, before all others, if it is none of ours."""
        origin, _, number = position.rpartition("-")
        is_number = number.isascii() and number.isdecimal() and len(number) <= LONGEST_NUMBER
        if origin != self._origin or not is_number:
            return 0
        return min(int(number), self.edition)

    def show(self, view: LeagueView) -> bool:
        """Make the next edition; return False if nothing of the page has changed."""
        last = self._newest
        if view == last.view:
            return False
        edition = Edition(last.number + 1, view, parts_of(view))
        for name in edition.parts:
            self._render(name, edition, last)
        lists = {}
        for name, part in edition.parts.items():
            lists[name] = [edition.pieces[piece] for piece in part]
        position = self._position_of(edition.number)
        page = self._renderer.league(view, lists, position)
        # Readers see it from here on, whole.
        self._newest = replace(edition, page=page.encode())
        return True

    def _render(self, name: str, edition: Edition, last: Edition) -> None:
        """Put the pieces of one list into an edition that is being made."""
        part = edition.parts[name]
        old = last.parts.get(name)
        is_same_order = old is not None and list(old) == list(part)
        edition.changed[name] = edition.number
        if is_same_order:
            edition.changed[name] = last.changed[name]
        for piece, data in part.items():
            # Comparing data is cheap, rendering is not.
            if old is not None and piece in old and old[piece] == data:
                edition.pieces[piece] = last.pieces[piece]
                edition.changed[piece] = last.changed[piece]
            else:
                edition.pieces[piece] = self._renderer.part(name, data)
                edition.changed[piece] = edition.number

    def frame(self, after: int) -> tuple[int, bytes]:
        """Everything that changed after that edition, as a server-sent event; and the edition it leads to."""
        newest = self._newest
        assert newest is not BLANK, "nothing was shown yet"
        # Most viewers have seen the same edition: they share a frame.
        if after not in newest.frames:
            newest.frames[after] = self._encoded(newest, after)
        return newest.number, newest.frames[after]

    def _encoded(self, edition: Edition, after: int) -> bytes:
        newer = {name for name, number in edition.changed.items() if number > after}
        pieces = {piece: html for piece, html in edition.pieces.items() if piece in newer}
        lists = {name: list(part) for name, part in edition.parts.items() if name in newer}
        data = _JSON.encode({"pieces": pieces, "lists": lists})
        position = self._position_of(edition.number)
        return b"id: %b\ndata: %b\n\n" % (position.encode(), data)
