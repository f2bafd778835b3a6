"""The only words for what a result rests on (spec section 8.18); every page, command and explanation uses these."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from league.events import Event, Evidence, MatchAssigned, ResultJudged
from league.manager.state.ledger import Basis, ResultInForce, basis_of

WORDS: Final[Mapping[Evidence, str]] = {
    "proven": "proven",
    "by_referee": "by the referee's word",
    "by_manager": "by the manager",
    "not_played": "not played",
}
_SENTENCES: Final[Mapping[Evidence, str]] = {
    "proven": "Proven: both players signed their choices, and nobody could choose a draw.",
    "by_referee": "By the referee's word",
    "by_manager": "By the manager: a walkover, or a technical loss in which its own call failed, too.",
    "not_played": "Not played.",
}


def basis_words(basis: Basis) -> str:
    """Say in a sentence or two what a result rests on."""
    words = _SENTENCES[basis.evidence]
    if basis.evidence == "by_referee":
        if basis.unsigned:
            words += f": {_listed(basis.unsigned)} did not sign"
        words += "."
    if basis.doubt:
        words += f" {basis.doubt[0].upper()}{basis.doubt[1:]}."
    return words


def basis_in(result: ResultInForce, events: Iterable[Event]) -> Basis | None:
    """Return what a result rests on, by the manager's events about its match; None until it is judged."""
    judged = None
    keys: Mapping[str, str] | None = {}
    for event in events:
        if getattr(event, "attempt", None) != getattr(result, "attempt", 0):
            continue
        if isinstance(event, ResultJudged):
            judged = event
        elif isinstance(event, MatchAssigned):
            keys = event.keys
    return basis_of(result, judged, keys)


def _listed(names: Sequence[str]) -> str:
    return " and ".join(names)
