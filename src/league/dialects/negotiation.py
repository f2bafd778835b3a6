"""In which calling convention an endpoint understands a message: found out by trying one after the other (R-02, spec
section 13.1). "Understood and refused" ends the search, "not understood" goes on with the next convention."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Final

from msgspec import Struct

from league.protocol.conventions import WAYS, Convention

PATIENCE_S: Final = 1.0
"""So long an acknowledgement in a convention that is not proven may be followed by the answer (R-02)."""
REGISTER_PATH: Final = "/register"
"""Where some managers take registrations, and nothing else, as a bare object."""
RUN_MATCH_PATH: Final = "/run_match"
"""Where some referees take a match so."""


class Route(Struct, frozen=True):
    """Where and how a call is made."""

    endpoint: str
    convention: Convention


@lru_cache(maxsize=1024)
def routes(endpoint: str, first: Convention) -> tuple[Route, ...]:
    """Every way to call an endpoint, the likeliest first."""
    return tuple(Route(endpoint, one) for one in WAYS[first])


def registration_routes(endpoint: str, first: Convention) -> tuple[Route, ...]:
    """Every way to register with a manager."""
    return (*routes(endpoint, first), bare_route(endpoint, REGISTER_PATH))


def bare_route(endpoint: str, path: str) -> Route:
    """A page of the same server that takes one kind of message, as a bare object."""
    scheme, _, rest = endpoint.partition("://")
    host = rest.partition("/")[0].partition("?")[0]
    return Route(f"{scheme}://{host}{path}", Convention.BARE)


class Negotiation(Struct, eq=False):
    """The search for one message to one endpoint. `is_proven`: the endpoint answered in the first convention before.
    `is_harmless`: the message may well arrive twice; if not, only who says that it knows no such method is asked
    otherwise. `on_understood` is told the convention in which it answered; `pause_s` is how long to wait before the
    next try."""

    candidates: tuple[Route, ...]
    is_proven: bool = False
    is_harmless: bool = True
    on_understood: Callable[[Convention, float], None] = lambda *_: None
    pause_s: float = 0.0
    verdict: object = None
    """What was made of the first call that it did not understand, or of the one it said most about: it counts if no
    candidate helps."""
    _left: tuple[Route, ...] = ()
    """Where the next call goes, and what was not tried yet; at first all candidates."""
    _ruled_out: frozenset[Route] = frozenset()
    _told_best: Route | None = None
    """The first route that was acknowledged, or else refused for more than its form."""
    _was_acknowledged: bool = False
    _was_told_more: bool = False

    @property
    def route(self) -> Route:
        """Where the next call goes."""
        return (self._left or self.candidates)[0]

    @property
    def _best(self) -> Route:
        """What to come back to: what was said most about, or else the likeliest."""
        return self._told_best or self.candidates[0]

    @property
    def has_candidates(self) -> bool:
        """Is there a route that was not tried yet?"""
        return len(self._left or self.candidates) > 1

    @property
    def answering_route(self) -> Route:
        """Which route an answer that came as a request of its own belongs to."""
        return self._best if self._was_acknowledged else self.route

    def acknowledged(self) -> bool:
        """The call was acknowledged, and nothing more. Some acknowledge what they do not know: True if the next
        candidate should be tried soon."""
        if not self._was_acknowledged:
            self._was_acknowledged, self._told_best = True, self.route
        return self.has_candidates and not self.is_proven

    def not_understood(self, verdict: object = None, *, tells_more: bool = False, prefer_bare: bool = False) -> bool:
        """The peer said that it did not understand. True if `route` is now another candidate. `tells_more`: what it
        said is about more than the form of the call. `prefer_bare`: it answered without JSON-RPC."""
        if not self._was_acknowledged or self.route is not self._best:
            self.rule_out()
        if tells_more and not (self._was_told_more or self._was_acknowledged):
            self._was_told_more, self._told_best, self.verdict = True, self.route, verdict
        self.verdict = self.verdict or verdict
        return self._next(prefer_bare)

    def rule_out(self) -> None:
        """The next attempt is better made in another convention."""
        self._ruled_out |= {self.route}

    def hung_up(self, verdict: object = None) -> bool:
        """The connection broke: some hang up on what they do not know, so another candidate may help. That route may
        also just have been unlucky: it is not ruled out."""
        if self.is_proven:
            return False
        self.verdict = self.verdict or verdict
        return self._next()

    def _next(self, prefer_bare: bool = False) -> bool:
        untried = (self._left or self.candidates)[1:]
        if prefer_bare:
            untried = tuple(sorted(untried, key=lambda one: one.convention is not Convention.BARE))
        self._left = untried or self._left
        return bool(untried)

    def begin_again(self) -> None:
        """Another attempt: what it said it does not understand is not tried again, as long as anything else is left.
        What was tried last comes early: the answer may still be on its way."""
        order = dict.fromkeys((self._best, self.route, *self.candidates))
        self._left = tuple(one for one in order if one not in self._ruled_out) or (self._best,)
        self.verdict = None

    def forget(self) -> None:
        """Somebody else may be there by now: begin with nothing ruled out."""
        self._ruled_out, self._told_best = frozenset(), None
        self._was_acknowledged = self._was_told_more = False
        self.begin_again()
