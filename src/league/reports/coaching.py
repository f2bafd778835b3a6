"""What an honest coach would say after friendly matches; the rest of what is worth changing is in the findings."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from league.reports.bouts import Bout, Timing
from league.reports.telling import named

USUAL: Final = 0.95
"""How often chance alone stays within what is called usual."""
ELSEWHERE: Final = ("E005", "E012", "E028", "E031", "E033")
"""How a player says that it belongs to somebody else's league."""
FEW: Final = 5
"""Fewer matches than this show nothing about choices."""
_CALLED: Final[Mapping[str, str]] = {
    "TYPE": "the method is the message type",
    "TOOLS": "tools/call, as in MCP",
    "NESTED": "the message one level deeper in params",
    "BARE": "the message without JSON-RPC",
}


def hints(bouts: Sequence[Bout], timings: Sequence[Timing], game_type: str) -> Iterator[str]:
    """Remarks on how it played."""
    yield from _on_membership(bouts)
    yield from _on_times(timings)
    yield from _on_choices(bouts, game_type)
    if game_type == "even_odd":
        yield from _on_chance(bouts)


def on_convention(name: str) -> Iterator[str]:
    """How it had to be called."""
    if name in _CALLED:
        yield (
            f"It was called as {name}: {_CALLED[name]}. Our referee finds that out with the invitation; another may "
            "know only one way, so it is safest to take any method and go by params.message_type."
        )


def _on_membership(bouts: Sequence[Bout]) -> Iterator[str]:
    """A member of a league is right to refuse others: that is no fault to mend."""
    refused = next((code for one in bouts for code in ELSEWHERE if f"answered with {code}" in (one.fault or "")), None)
    if refused is not None:
        yield (
            f"It answered with {named(refused)}: it seems to be registered in a league and to play for that alone. "
            "Name that league and the player's id in it with --league-id and --id, or spar before it registers."
        )


def _on_times(timings: Sequence[Timing]) -> Iterator[str]:
    for one in timings:
        if one.slow:
            answers = "1 answer" if one.slow == 1 else f"{one.slow} answers"
            yield (
                f"{answers} to {one.call} took longer than half the limit of {one.limit_s:g} s (the slowest "
                f"{one.most:.2f} s): on a slower or busier machine that may be too late."
            )


def _on_choices(bouts: Sequence[Bout], game_type: str) -> Iterator[str]:
    chosen = [one.choices for one in bouts if one.choices]
    if len(chosen) < FEW or len(set(chosen)) > 1:
        return
    said = ", then ".join(chosen[0])
    if game_type == "even_odd":
        yield (
            f"You always chose {said}. The number does not mind, but an opponent that notices decides alone whether "
            "you differ (somebody wins) or draw."
        )
    else:
        yield f"You always played {said}: an opponent that notices knows what comes next."


def _on_chance(bouts: Sequence[Bout]) -> Iterator[str]:
    """Even/Odd is a game of chance, and a coach who praises luck teaches nothing."""
    differed = [one for one in bouts if one.outcome in ("won", "lost")]
    drawn = sum(one.outcome == "drawn" for one in bouts)
    won, count = sum(one.outcome == "won" for one in differed), len(differed)
    if count >= FEW:
        least, most = usual_wins(count)
        verdict = "that is chance, no skill and no fault" if least <= won <= most else "chance alone rarely does that"
        yield (
            f"Choices differed in {count} of {count + drawn} matches, and of these you won {won}. The number's parity "
            f"is a fair coin, so {least} to {most} would be usual for any player: {verdict}."
        )
    if count or drawn:
        yield (
            "In Even/Odd nobody wins more often than random in the long run: nobody can know the number. What a player "
            "can do is answer every call in time and in form; then it loses by the coin alone."
        )


def usual_wins(count: int) -> tuple[int, int]:
    """How often a fair coin falls on our side in so many tosses, but for the rarest cases on both ends."""
    beyond = (1 - USUAL) / 2
    below, least = 0.0, 0
    while below + (chance := math.comb(count, least) / 2**count) <= beyond:
        below += chance
        least += 1
    return least, count - least
