"""Friendly matches from the guest's side: how each ended and what went wrong, how fast the guest answered, and hints on
how it played."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final, Literal

from league import events as e
from league.protocol.exchanges import EXCHANGES
from league.referee.match import DECLINED
from league.storage.transcript import LetterNote
from league_records.clauses import named, question
from league_records.match_facts import MatchFacts

Outcome = Literal["won", "drawn", "lost", "technical loss", "technical win"]
CALLS: Final = ("GAME_INVITATION", "CHOOSE_PARITY_CALL", "GAME_MOVE_CALL", "GAME_OVER")
MOVES: Final = ("CHOOSE_PARITY_CALL", "GAME_MOVE_CALL")


@dataclass(frozen=True, slots=True)
class FriendlyMatch:
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


def friendly_match(events: Sequence[e.Event], guest_id: str, names: Mapping[str, str]) -> FriendlyMatch:
    """A decided match as the guest sees it; `names` are its opponents'."""
    taken = next(one for one in events if isinstance(one, e.MatchTaken))
    decided = next(one for one in events if isinstance(one, e.MatchDecided))
    other = taken.players[1] if taken.players[0] == guest_id else taken.players[0]
    faults = {one.player_id: one for one in events if isinstance(one, e.PlayerFaulted)}
    numbers = [one.number for one in events if isinstance(one, e.NumberDrawn)]
    return FriendlyMatch(
        match_id=taken.match_id,
        opponent=names.get(other, other),
        outcome=_outcome(decided, guest_id, faults),
        points=decided.points.get(guest_id, 0),
        choices=_moves(events, guest_id),
        opponent_choices=_moves(events, other),
        number=numbers[-1] if numbers else None,
        fault=_in_short(faults[guest_id]) if guest_id in faults else None,
    )


def _outcome(decided: e.MatchDecided, guest_id: str, faults: Mapping[str, e.PlayerFaulted]) -> Outcome:
    if faults:
        return "technical loss" if guest_id in faults else "technical win"
    if decided.winner is None:
        return "drawn"
    return "won" if decided.winner == guest_id else "lost"


def _moves(events: Sequence[e.Event], player_id: str) -> tuple[str, ...]:
    return tuple(one.choice for one in events if isinstance(one, e.MoveMade) and one.player_id == player_id)


def _in_short(fault: e.PlayerFaulted) -> str:
    if fault.code == DECLINED:
        return "declined the invitation"
    return f"{named(fault.code)} at {question(fault.phase)}: {fault.detail}"


def instructive(matches: Sequence[FriendlyMatch]) -> FriendlyMatch | None:
    """The match most worth explaining: the first technical loss, or else the last lost, or else the last."""
    technical = next((one for one in matches if one.outcome == "technical loss"), None)
    lost = next((one for one in reversed(matches) if one.outcome == "lost"), None)
    return technical or lost or (matches[-1] if matches else None)


def trouble_in(event: e.Event, guest_id: str) -> str | None:
    """What went wrong with the guest and may still be put right, in a few words."""
    if not isinstance(event, e.AttemptFailed | e.WrongAnswer) or event.player_id != guest_id:
        return None
    text = f"{named(event.code)} at {question(event.phase)}: {event.detail}"
    if isinstance(event, e.AttemptFailed):
        return text if event.retry is None else f"{text}; retry {event.retry} follows"
    return f"{text}; corrections left: {event.left}"


# --- response times ---------------------------------------------------------------------------------------------------


def timings_of(matches: Sequence[MatchFacts], guest_id: str) -> Iterator[Timing]:
    """The response times of each kind of call that was made."""
    for call in CALLS:
        taken = [one.taken for one in matches if call in MOVES and one.taken is not None]
        limit_s = taken[-1].move_seconds if taken else EXCHANGES[call].limit_s
        times = [seconds for one in matches for seconds in _response_times(one, guest_id, call)]
        answered = [seconds for seconds in times if seconds is not None]
        if times:
            yield Timing(
                call=call,
                limit_s=limit_s,
                answered=len(answered),
                unanswered=len(times) - len(answered),
                least=min(answered, default=None),
                median=median(answered) if answered else None,
                most=max(answered, default=None),
                slow=sum(one > limit_s / 2 for one in answered),
            )


def _response_times(facts: MatchFacts, guest_id: str, call: str) -> Iterator[float | None]:
    """How long each call took to be answered; None for one that was not."""
    asked: float | None = None
    for note in letters_with(facts, guest_id):
        if note.message_type != call:
            continue
        if note.kind == "request" and note.direction == "out":
            asked = note.at
        elif note.kind == "response" and asked is not None:
            yield note.at - asked if note.status.isdigit() else None
            asked = None


def letters_with(facts: MatchFacts, guest_id: str) -> Iterator[LetterNote]:
    """What went to the guest and came from it, in order."""
    return (note for note in facts.letters if note.peer == guest_id)


# --- hints ------------------------------------------------------------------------------------------------------------

USUAL: Final = 0.95
"""How often chance alone stays within what is called usual."""
OTHER_LEAGUE: Final = ("E005", "E012", "E028", "E031", "E033")
"""Codes by which a player says that it belongs to another league."""
FEW: Final = 5
"""Fewer matches than this show nothing about choices."""
_CALLED: Final[Mapping[str, str]] = {
    "TYPE": "the method is the message type",
    "TOOLS": "tools/call, as in MCP",
    "NESTED": "the message one level deeper in params",
    "BARE": "the message without JSON-RPC",
}


def hints(matches: Sequence[FriendlyMatch], timings: Sequence[Timing], game_type: str) -> Iterator[str]:
    """Remarks on how it played."""
    yield from _on_membership(matches)
    yield from _on_times(timings)
    yield from _on_choices(matches, game_type)
    if game_type == "even_odd":
        yield from _on_chance(matches)


def on_convention(name: str) -> Iterator[str]:
    """How it had to be called."""
    if name in _CALLED:
        yield (
            f"It was called as {name}: {_CALLED[name]}. Our referee finds that out with the invitation; another may "
            "know only one way, so it is safest to take any method and go by params.message_type."
        )


def _on_membership(matches: Sequence[FriendlyMatch]) -> Iterator[str]:
    """A member of a league is right to refuse others: that is not its fault."""
    refused = next((code for one in matches for code in OTHER_LEAGUE if f"({code} " in (one.fault or "")), None)
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


def _on_choices(matches: Sequence[FriendlyMatch], game_type: str) -> Iterator[str]:
    chosen = [one.choices for one in matches if one.choices]
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


def _on_chance(matches: Sequence[FriendlyMatch]) -> Iterator[str]:
    """Even/Odd is a game of chance: luck is neither praised nor blamed."""
    differed = [one for one in matches if one.outcome in ("won", "lost")]
    drawn = sum(one.outcome == "drawn" for one in matches)
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
    """The fewest and the most wins of a fair coin in so many tosses, except in the rarest cases on both ends."""
    beyond = (1 - USUAL) / 2
    below, least = 0.0, 0
    while below + (chance := math.comb(count, least) / 2**count) <= beyond:
        below += chance
        least += 1
    return least, count - least
