"""Which technical losses an outage excuses (spec sections 8.15, 8.17)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from league.events import ResultAccepted

OUT_OF_REACH = ("E001", "E009", None)
"""Codes of a fault that means the player could not be reached. None: the referee gives no reason."""
UNAVAILABLE = "E045"
"""The code for a player that declined to choose."""


class Fault(NamedTuple):
    """Why a player lost, as its referee reports it. Reports may leave out code and phase."""

    player: str
    code: str | None
    phase: str | None

    @property
    def is_out_of_reach(self) -> bool:
        return self.code in OUT_OF_REACH

    @property
    def is_silent_after_joining(self) -> bool:
        """True for a player that may simply be thinking. That is excused, but it is no sign of an outage."""
        return self.code == "E001" and self.phase == "move"


def excusable(result: ResultAccepted, players: Sequence[str]) -> tuple[str, ...] | None:
    """Return the losers of a technical loss that could not be reached, or None if an outage would not excuse it."""
    faults = [fault for fault in _faults(result, players) if fault.is_out_of_reach]
    if not faults:
        return None
    return tuple(fault.player for fault in faults if not fault.is_silent_after_joining)


def declined(result: ResultAccepted, players: Sequence[str]) -> tuple[str, ...]:
    """Return the losers that declined to choose because a service that thinks for them did not answer."""
    return tuple(fault.player for fault in _faults(result, players) if fault.code == UNAVAILABLE)


def _faults(result: ResultAccepted, players: Sequence[str]) -> Iterator[Fault]:
    if result.status != "TECHNICAL_LOSS":
        return
    # A referee by others may say nothing about faults, or anything.
    reported = result.details.get("faults")
    if not isinstance(reported, dict):
        reported = {}
    for player in players:
        if player == result.winner:
            continue
        fault = reported.get(player)
        if isinstance(fault, dict):
            yield Fault(player, fault.get("code"), fault.get("phase"))
        else:
            yield Fault(player, None, None)
