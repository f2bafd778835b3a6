"""Which technical losses may be played again because of an outage, if their referee did not ask first (spec section
8.15).

Such a referee has told its players that the match is over. So a match begins anew only if nobody had been shown
anything: no choice, no move and no number. Otherwise going away would be a way out of a lost position.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from league.events import ResultAccepted

UNAVAILABLE = "E045"
"""The code for a player whose language model did not answer."""
OUT_OF_REACH = ("E001", "E009", UNAVAILABLE, None)
"""Codes of a fault that an outage may have caused. None: the referee gives no reason."""


class ReportedFault(NamedTuple):
    """Why a player lost, as its referee reports it. Reports may leave out all but the player."""

    player: str
    code: str | None = None
    is_reached: bool = False
    """True if the referee says that the player answered, if only with an error."""

    @property
    def may_be_out_of_reach(self) -> bool:
        return self.code in OUT_OF_REACH and not self.is_reached


def excusable(result: ResultAccepted, players: Sequence[str]) -> tuple[str, ...]:
    """Return the losers of a technical loss that an outage may excuse; none if anything was shown to anybody."""
    if result.status != "TECHNICAL_LOSS" or _shows_anything(result):
        return ()
    return tuple(fault.player for fault in _faults(result, players) if fault.may_be_out_of_reach)


def declined(result: ResultAccepted, players: Sequence[str]) -> tuple[str, ...]:
    """Return the losers whose language model did not answer."""
    if result.status != "TECHNICAL_LOSS":
        return ()
    return tuple(fault.player for fault in _faults(result, players) if fault.code == UNAVAILABLE)


def _shows_anything(result: ResultAccepted) -> bool:
    details = result.details
    choices = details.get("choices")
    if isinstance(choices, dict) and any(choice is not None for choice in choices.values()):
        return True
    return bool(details.get("moves")) or details.get("drawn_number") is not None


def _faults(result: ResultAccepted, players: Sequence[str]) -> Iterator[ReportedFault]:
    # A referee by others may say nothing about faults, or anything.
    reported = result.details.get("faults")
    if not isinstance(reported, dict):
        reported = {}
    for player in players:
        if player == result.winner:
            continue
        fault = reported.get(player)
        if isinstance(fault, dict):
            yield ReportedFault(player, fault.get("code"), fault.get("reached") is True)
        else:
            yield ReportedFault(player)
