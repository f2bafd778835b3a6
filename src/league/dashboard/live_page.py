"""The league page while it changes: which pieces changed in which edition, so that a viewer gets what it has not seen,
whether it missed one frame or an hour."""

from __future__ import annotations

import msgspec

from league.dashboard.league_view import LeagueView
from league.dashboard.rendering import Parts, Renderer, parts_of

_JSON = msgspec.json.Encoder()


class LivePage:
    """Pieces are rendered when what they show has changed, and a frame is encoded once for all who need the same.

    `origin` tells this page from that of a process before it: who comes with a position of that one gets everything.
    """

    def __init__(self, renderer: Renderer, origin: str) -> None:
        self.edition = 0
        self._renderer = renderer
        self._origin = origin
        self._view: LeagueView | None = None
        self._parts: Parts = {}
        self._pieces: dict[str, str] = {}
        """By their ids."""
        self._changed: dict[str, int] = {}
        """The edition in which each piece changed, or (by its name) the order of a list."""
        self._frames: dict[int, bytes] = {}
        """Of this edition, by the edition that their receivers have seen."""
        self._page = b""

    @property
    def position(self) -> str:
        """What a page tells its feed, to get what comes after it; nothing for a page that does not change."""
        return f"{self._origin}-{self.edition}" if self._origin else ""

    def edition_at(self, position: str) -> int:
        """The edition of a position; 0, before all others, if it is none of ours."""
        origin, _, number = position.rpartition("-")
        is_ours = origin == self._origin and number.isascii() and number.isdecimal() and len(number) < 16
        return min(int(number), self.edition) if is_ours else 0

    def show(self, view: LeagueView) -> bool:
        """The league is like this now; whether anything of the page has changed."""
        if view == self._view:
            return False
        self._view, edition = view, self.edition + 1
        before, self._parts = self._parts, parts_of(view)
        for name, part in self._parts.items():
            old = before.get(name, {})
            if list(old) != list(part) or name not in self._changed:
                self._changed[name] = edition
            for piece in old.keys() - part.keys():
                del self._pieces[piece], self._changed[piece]
            for piece, data in part.items():
                if piece not in old or old[piece] != data:
                    self._pieces[piece] = self._renderer.part(name, data)
                    self._changed[piece] = edition
        self.edition, self._page = edition, b""
        self._frames.clear()
        return True

    def frame(self, after: int) -> bytes:
        """All that changed after that edition, as a server-sent event."""
        if after not in self._frames:
            pieces = {piece: html for piece, html in self._pieces.items() if self._changed[piece] > after}
            lists = {name: list(part) for name, part in self._parts.items() if self._changed[name] > after}
            data = _JSON.encode({"pieces": pieces, "lists": lists})
            self._frames[after] = b"id: %b\ndata: %b\n\n" % (self.position.encode(), data)
        return self._frames[after]

    def page(self) -> bytes:
        """The whole page, as it is now."""
        assert self._view is not None, "nothing was shown yet"
        if not self._page:
            lists = {name: [self._pieces[piece] for piece in part] for name, part in self._parts.items()}
            self._page = self._renderer.league(self._view, lists, self.position).encode()
        return self._page
