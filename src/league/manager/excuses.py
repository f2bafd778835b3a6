"""Which technical losses an outage excuses (spec sections 8.15, 8.17)."""

from __future__ import annotations

from collections.abc import Sequence

from league.events import ResultAccepted

OUT_OF_REACH = ("E001", "E009", None)
"""The codes of such a fault; None: its referee does not say why."""
UNAVAILABLE = "E045"
"""The code of a player's fault that declined to choose."""
SILENT_AFTER_JOINING = ("E001", "move")
"""Excused, but no sign of an outage: it may be thinking."""


def excusable(result: ResultAccepted, players: Sequence[str]) -> tuple[str, ...] | None:
    """The losers of a technical loss that could not be reached, as far as its referee says why they lost; None if an
    outage would not excuse it. Silence after joining is excused, but is no sign of an outage."""
    found = _faults(result, players)
    if not any(code in OUT_OF_REACH for _, (code, _) in found):
        return None
    return tuple(
        player for player, (code, phase) in found if code in OUT_OF_REACH and (code, phase) != SILENT_AFTER_JOINING
    )


def declined(result: ResultAccepted, players: Sequence[str]) -> tuple[str, ...]:
    """The losers of a technical loss for whom a service thinks that did not answer (spec section 8.17)."""
    return tuple(player for player, (code, _) in _faults(result, players) if code == UNAVAILABLE)


def _faults(result: ResultAccepted, players: Sequence[str]) -> list[tuple[str, tuple[str | None, str | None]]]:
    """Why each loser of a technical loss lost, as far as its referee says so."""
    if result.status != "TECHNICAL_LOSS":
        return []
    said = result.details.get("faults")
    faults = said if isinstance(said, dict) else {}
    return [(player, _fault(faults.get(player))) for player in players if player != result.winner]


def _fault(said: object) -> tuple[str | None, str | None]:
    """Its code and its phase, as a report says them or not."""
    return (said.get("code"), said.get("phase")) if isinstance(said, dict) else (None, None)
