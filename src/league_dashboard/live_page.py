"""The league page while it changes: which pieces changed in which edition, so that a viewer gets what it has not seen,
whether it missed one frame or an hour."""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec

from league_dashboard.league_view import LeagueView
from league_dashboard.rendering import Renderer, parts_of
from league_dashboard.sections import Parts

_JSON = msgspec.json.Encoder()


@dataclass(frozen=True, slots=True)
class Edition:
    """The page between two changes."""

    number: int
    view: LeagueView
    parts: Parts
    pieces: dict[str, str]
    """By their ids, rendered."""
    changed: dict[str, int]
    """The edition in which each piece changed, or (by its name) the order of a list."""
    page: bytes
    frames: dict[int, bytes] = field(default_factory=dict)
    """By the edition that their receivers have seen: each is encoded once."""


class LivePage:
    """Pieces are rendered when what they show has changed.

    `origin` tells this page from that of a process before it: who comes with a position of that one gets everything.
    Another thread may call `show`: an edition that is read never changes.
    """

    def __init__(self, renderer: Renderer, origin: str) -> None:
        self._renderer = renderer
        self._origin = origin
        self._edition: Edition | None = None

    @property
    def edition(self) -> int:
        return self._edition.number if self._edition else 0

    @property
    def page(self) -> bytes:
        """The whole page, as it is now; nothing before it was shown."""
        return self._edition.page if self._edition else b""

    @property
    def position(self) -> str:
        """What a page tells its feed, to get what comes after it; nothing for a page that does not change."""
        return self._position_of(self.edition)

    def _position_of(self, number: int) -> str:
        return f"{self._origin}-{number}" if self._origin else ""

    def edition_at(self, position: str) -> int:
        """The edition of a position; 0, before all others, if it is none of ours."""
        origin, _, number = position.rpartition("-")
        is_ours = origin == self._origin and number.isascii() and number.isdecimal() and len(number) < 16
        return min(int(number), self.edition) if is_ours else 0

    def show(self, view: LeagueView) -> bool:
        """The league is like this now; whether anything of the page has changed."""
        last = self._edition
        if last is not None and view == last.view:
            return False
        number, before = self.edition + 1, last.parts if last else {}
        parts, pieces, changed = parts_of(view), dict[str, str](), dict[str, int]()
        for name, part in parts.items():
            old = before.get(name, {})
            is_reordered = last is None or list(old) != list(part)
            changed[name] = number if is_reordered or last is None else last.changed[name]
            for piece, data in part.items():
                if last is not None and piece in old and old[piece] == data:
                    pieces[piece], changed[piece] = last.pieces[piece], last.changed[piece]
                else:
                    pieces[piece], changed[piece] = self._renderer.part(name, data), number
        lists = {name: [pieces[piece] for piece in part] for name, part in parts.items()}
        page = self._renderer.league(view, lists, self._position_of(number)).encode()
        self._edition = Edition(number, view, parts, pieces, changed, page)
        return True

    def frame(self, after: int) -> tuple[int, bytes]:
        """All that changed after that edition, as a server-sent event; and which edition it leads to."""
        now = self._edition
        assert now is not None, "nothing was shown yet"
        if after not in now.frames:
            pieces = {piece: html for piece, html in now.pieces.items() if now.changed[piece] > after}
            lists = {name: list(part) for name, part in now.parts.items() if now.changed[name] > after}
            data = _JSON.encode({"pieces": pieces, "lists": lists})
            now.frames[after] = b"id: %b\ndata: %b\n\n" % (self._position_of(now.number).encode(), data)
        return now.number, now.frames[after]
