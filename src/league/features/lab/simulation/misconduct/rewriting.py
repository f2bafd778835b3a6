"""Rewritten history: a result of a finished league is changed in the evidence, and the check must find it.

Whoever holds the manager's journal can write what he likes and compute all digests anew. What he cannot change are the
journals and letters of the others. So every change to a proven result must show: as a broken promise, or as a
contradiction between journals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from random import Random
from typing import Any, Final

from msgspec import structs

from league import events as e
from league.features.audit.contradictions import contradictions
from league.features.audit.promises import Evidence, PromiseFinding, check
from league.features.audit.promises.grounds.event_history import word_of
from league.features.audit.promises.grounds.event_log import EventLog
from league.features.lab.simulation.misconduct.rogues import OTHER

Rewrite = Callable[[e.ResultAccepted, Random], e.ResultAccepted | None]
"""Changes a result; None if there is nothing in it to change."""


def swap_choice(result: e.ResultAccepted, dice: Random) -> e.ResultAccepted | None:
    """Give a player the other choice."""
    choices: dict[str, Any] = dict(result.details.get("choices") or {})
    candidates = sorted(player for player, choice in choices.items() if choice in OTHER)
    if not candidates:
        return None
    player = dice.choice(candidates)
    choices[player] = OTHER[choices[player]]
    return structs.replace(result, details={**result.details, "choices": choices})


def pick_number(result: e.ResultAccepted, _: Random) -> e.ResultAccepted | None:
    """Draw another number."""
    number = result.details.get("drawn_number")
    if not isinstance(number, int):
        return None
    return structs.replace(result, details={**result.details, "drawn_number": number % 10 + 1})


def turn_winner(result: e.ResultAccepted, dice: Random) -> e.ResultAccepted | None:
    """Let the other player win."""
    winner, loser = dice.sample(sorted(result.points), 2)
    if result.winner == winner:
        return structs.replace(result, winner=loser, points={loser: 3, winner: 0})
    return structs.replace(result, status="WIN", winner=winner, points={winner: 3, loser: 0})


REWRITES: Final[tuple[Rewrite, ...]] = (swap_choice, pick_number, turn_winner)


def unnoticed(evidence: Evidence, seed: int) -> Iterator[PromiseFinding]:
    """Rewrite one proven result in each way; yield the changes that nobody would find."""
    dice = Random(f"{seed}/rewriting")
    # Only of a proven result is it promised that a change shows.
    places = [
        place
        for place, event in enumerate(evidence.manager)
        if isinstance(event, e.ResultAccepted) and word_of(evidence.manager, event) == "proven"
    ]
    if not places:
        return
    place = dice.choice(places)
    for rewrite in REWRITES:
        changed = rewritten(evidence, place, rewrite, dice)
        if changed is not None and not is_noticed(changed):
            result = changed.manager[place]
            assert isinstance(result, e.ResultAccepted)
            detail = f"the result of {result.match_id} was rewritten ({rewrite.__name__}), and nothing shows it"
            yield PromiseFinding(21, "broken", detail, f"manager #{place}")


def rewritten(evidence: Evidence, place: int, rewrite: Rewrite, dice: Random) -> Evidence | None:
    """Return the evidence with another result at this place of the manager's journal."""
    result = evidence.manager[place]
    assert isinstance(result, e.ResultAccepted)
    changed = rewrite(result, dice)
    if changed is None:
        return None
    events = list(evidence.manager)
    events[place] = changed
    return replace(evidence, manager=EventLog(events))


def is_noticed(evidence: Evidence) -> bool:
    """Whether a promise is broken or two journals contradict each other."""
    return any(contradictions(evidence)) or bool(check(evidence).broken)
