"""The only words for what a result rests on (spec section 8.18); every page, command and explanation uses these."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from league.events import Event, Evidence, EvidenceFound, ProtestReceived
from league.manager.ledger import Basis, ResultInForce, basis_of

WORDS: Final[Mapping[Evidence, str]] = {
    "proven": "proven",
    "by_referee": "by the referee's word",
    "loss_confirmed": "technical loss, confirmed",
    "loss_by_referee": "technical loss, by the referee's word",
    "by_manager": "by the manager",
    "by_address": "from the referee's address",
    "disputed": "disputed",
}
BY_WORD: Final[frozenset[Evidence]] = frozenset({"by_referee", "loss_by_referee", "by_address", "disputed"})
"""What nobody but the referee, or not even that, stands for."""
_SENTENCES: Final[Mapping[Evidence, str]] = {
    "proven": "Proven: both players signed their choices, and nobody could pick a draw afterwards.",
    "by_referee": "By the referee's word",
    "loss_confirmed": (
        "A technical loss, confirmed: the player declined and signed that, or the manager could not reach it either."
    ),
    "loss_by_referee": "A technical loss, by the referee's word: nobody else knows.",
    "by_manager": "By the manager: a walkover, or decided from what was handed in before the referee was lost.",
    "by_address": "From the referee's address: nobody knows who sent it.",
    "disputed": "Disputed: two signed statements contradict each other. The first stands until the operator decides.",
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


def basis_in(result: ResultInForce, events: Iterable[Event]) -> Basis:
    """Return what a result rests on, by the manager's events about its match."""
    found = None
    for event in events:
        if isinstance(event, EvidenceFound) and event.attempt == getattr(result, "attempt", 0):
            found = event
    return basis_of(result, found)


def protest_words(protest: ProtestReceived) -> str:
    """Say who protested and why. The player's own words stand last."""
    words = f"{protest.player_id} protested (attempt {protest.attempt})"
    if protest.signed:
        choices = ", ".join(protest.signed.values())
        words += f", and proved that it chose {choices}"
    return f"{words}: {protest.why}"


def _listed(names: Sequence[str]) -> str:
    return " and ".join(names)
