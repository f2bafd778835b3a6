"""Friendly matches from the guest's side, one by one: how each ended, what went wrong in it, how fast it answered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final, Literal

from league.events import (
    AttemptFailed,
    Event,
    MatchDecided,
    MatchTaken,
    MoveMade,
    NumberDrawn,
    PlayerFaulted,
    WrongAnswer,
)
from league.protocol.exchanges import EXCHANGES
from league.referee.match import DECLINED
from league.reports.case import Case
from league.reports.telling import named
from league.storage.transcript import LetterNote

Outcome = Literal["won", "drawn", "lost", "technical loss", "technical win"]
CALLS: Final = ("GAME_INVITATION", "CHOOSE_PARITY_CALL", "GAME_MOVE_CALL", "GAME_OVER")
MOVES: Final = ("CHOOSE_PARITY_CALL", "GAME_MOVE_CALL")


@dataclass(frozen=True, slots=True)
class Bout:
    """One friendly match, from the guest's side."""

    match_id: str
    opponent: str
    outcome: Outcome
    points: int
    choices: tuple[str, ...]
    opponent_choices: tuple[str, ...]
    number: int | None
    fault: str | None
    """What lost it for technical reasons, in a few words."""


@dataclass(frozen=True, slots=True)
class Timing:
    """How fast one kind of call was answered, in seconds; None where nothing was."""

    call: str
    limit_s: float
    answered: int
    unanswered: int
    least: float | None
    median: float | None
    most: float | None
    slow: int
    """Answers that took longer than half the limit."""


# --- one match --------------------------------------------------------------------------------------------------------


def bout_of(events: Sequence[Event], guest_id: str, names: Mapping[str, str]) -> Bout:
    """A decided match as the guest sees it; `names` are its opponents'."""
    taken = next(one for one in events if isinstance(one, MatchTaken))
    decided = next(one for one in events if isinstance(one, MatchDecided))
    other = taken.players[1] if taken.players[0] == guest_id else taken.players[0]
    faults = {one.player_id: one for one in events if isinstance(one, PlayerFaulted)}
    numbers = [one.number for one in events if isinstance(one, NumberDrawn)]
    return Bout(
        match_id=taken.match_id,
        opponent=names.get(other, other),
        outcome=_outcome(decided, guest_id, faults),
        points=decided.points.get(guest_id, 0),
        choices=_moves(events, guest_id),
        opponent_choices=_moves(events, other),
        number=numbers[-1] if numbers else None,
        fault=_in_short(faults[guest_id]) if guest_id in faults else None,
    )


def _outcome(decided: MatchDecided, guest_id: str, faults: Mapping[str, PlayerFaulted]) -> Outcome:
    if faults:
        return "technical loss" if guest_id in faults else "technical win"
    if decided.winner is None:
        return "drawn"
    return "won" if decided.winner == guest_id else "lost"


def _moves(events: Sequence[Event], player_id: str) -> tuple[str, ...]:
    return tuple(one.choice for one in events if isinstance(one, MoveMade) and one.player_id == player_id)


def _in_short(fault: PlayerFaulted) -> str:
    if fault.code == DECLINED:
        return "declined the invitation"
    return f"{named(fault.code)} at {_asked(fault.phase)}: {fault.detail}"


def _asked(phase: str) -> str:
    return "the invitation" if phase == "join" else "the call for a choice"


def instructive(bouts: Sequence[Bout]) -> Bout | None:
    """The match most worth explaining: the first technical loss, or else the last lost, or else the last."""
    technical = next((one for one in bouts if one.outcome == "technical loss"), None)
    lost = next((one for one in reversed(bouts) if one.outcome == "lost"), None)
    return technical or lost or (bouts[-1] if bouts else None)


def trouble_in(event: Event, guest_id: str) -> str | None:
    """What went wrong just now with the guest and may still be made good, in a few words."""
    if not isinstance(event, AttemptFailed | WrongAnswer) or event.player_id != guest_id:
        return None
    told = f"{named(event.code)} at {_asked(event.phase)}: {event.detail}"
    if isinstance(event, AttemptFailed):
        return told if event.retry is None else f"{told}; retry {event.retry} follows"
    return f"{told}; corrections left: {event.left}"


# --- response times ---------------------------------------------------------------------------------------------------


def timings_of(cases: Sequence[Case], guest_id: str) -> Iterator[Timing]:
    for call in CALLS:
        taken: list[float] = []
        unanswered = 0
        limit_s = EXCHANGES[call].limit_s
        for case in cases:
            if call in MOVES and case.taken is not None:
                limit_s = case.taken.move_seconds
            for seconds in _answers(case, guest_id, call):
                if seconds is None:
                    unanswered += 1
                else:
                    taken.append(seconds)
        if taken or unanswered:
            yield Timing(
                call=call,
                limit_s=limit_s,
                answered=len(taken),
                unanswered=unanswered,
                least=min(taken, default=None),
                median=median(taken) if taken else None,
                most=max(taken, default=None),
                slow=sum(one > limit_s / 2 for one in taken),
            )


def _answers(case: Case, guest_id: str, call: str) -> Iterator[float | None]:
    """How long each call took to be answered; None for one that was not."""
    asked: float | None = None
    for note in letters_with(case, guest_id):
        if note.message_type != call:
            continue
        if note.kind == "request" and note.direction == "out":
            asked = note.at
        elif note.kind == "response" and asked is not None:
            yield note.at - asked if note.status.isdigit() else None
            asked = None


def letters_with(case: Case, guest_id: str) -> Iterator[LetterNote]:
    """What went to the guest and came from it, in order."""
    for one in case.records.values():
        yield from (note for note in one.letters.get(case.match_id, ()) if note.peer == guest_id)
