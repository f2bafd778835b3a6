"""Which technical losses an outage excuses (spec section 8.15)."""

from __future__ import annotations

from collections.abc import Sequence

from league.events import ResultAccepted

OUT_OF_REACH = ("E001", "E009", None)
"""The codes of such a fault; None: its referee does not say why."""
SILENT_AFTER_JOINING = ("E001", "move")
"""Excused, but no sign of an outage: it may be thinking."""


def excusable(result: ResultAccepted, players: Sequence[str]) -> tuple[str, ...] | None:
    """The losers of a technical loss that could not be reached, as far as its referee says why they lost; None if an
    outage would not excuse it. Silence after joining is excused, but is no sign of an outage."""
    if result.status != "TECHNICAL_LOSS":
        return None
    said = result.details.get("faults")
    faults = said if isinstance(said, dict) else {}
    losers = [player for player in players if player != result.winner]
    found = [(player, _fault(faults.get(player))) for player in losers]
    if not any(code in OUT_OF_REACH for _, (code, _) in found):
        return None
    return tuple(
        player for player, (code, phase) in found if code in OUT_OF_REACH and (code, phase) != SILENT_AFTER_JOINING
    )


def _fault(said: object) -> tuple[str | None, str | None]:
    """Its code and its phase, as a report says them or not."""
    return (said.get("code"), said.get("phase")) if isinstance(said, dict) else (None, None)
