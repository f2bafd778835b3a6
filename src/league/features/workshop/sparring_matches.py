"""Friendly matches from the guest's point of view: results, faults, response times, and hints on how it played.

Facts of a match come from `league.features.records.match_facts`. Here they become what the author of the guest wants to
know.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Final, Literal, NamedTuple

from league import events as e
from league.features.records.broken_clauses import cause_in, failure, named, question
from league.features.records.match_facts import FactSource, MatchFacts, facts_of
from league.protocol.message.exchanges import EXCHANGES
from league.reading.journals import Journals
from league.referee.match import DECLINED

Outcome = Literal["won", "drawn", "lost", "technical loss", "technical win"]
CALLS: Final = ("GAME_INVITATION", "CHOOSE_PARITY_CALL", "GAME_MOVE_CALL", "GAME_OVER")
MOVES: Final = ("CHOOSE_PARITY_CALL", "GAME_MOVE_CALL")
YOU: Final = "your player"


@dataclass(frozen=True, slots=True)
class FriendlyMatch:
    """One friendly match, from the guest's point of view."""

    match_id: str
    opponent: str
    outcome: Outcome
    points: int
    choices: tuple[str, ...]
    opponent_choices: tuple[str, ...]
    number: int | None
    fault: str | None
    """The guest's fault that lost it, in a few words."""


@dataclass(frozen=True, slots=True)
class Timing:
    """How fast one kind of call was answered, in seconds. None if no call was answered."""

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


def guest_facts(match_id: str, journals: Journals, guest_id: str, names: Mapping[str, str]) -> MatchFacts:
    """Return the facts of a match that was played. `names` are those of the opponents."""
    facts = facts_of(match_id, journals)
    assert facts is not None, "the match was played"
    # Sparring keeps no journal of a manager, so an explanation must not complain that there is none.
    source = FactSource(elsewhere=facts.source.elsewhere)
    league = replace(facts.league, names={**names, guest_id: YOU})
    return replace(facts, league=league, source=source)


def friendly_match(facts: MatchFacts, guest_id: str) -> FriendlyMatch:
    """Return a decided match as the guest sees it."""
    opponent_id = facts.opponent(guest_id)
    fault = facts.fault_of(guest_id)
    return FriendlyMatch(
        match_id=facts.match_id,
        opponent=facts.league.names.get(opponent_id, opponent_id),
        outcome=_outcome(facts, guest_id),
        points=facts.points.get(guest_id, 0),
        choices=facts.choices_of(guest_id),
        opponent_choices=facts.choices_of(opponent_id),
        number=facts.drawn_number,
        fault=in_short(fault) if fault else None,
    )


def _outcome(facts: MatchFacts, guest_id: str) -> Outcome:
    if facts.fault_of(guest_id) is not None:
        return "technical loss"
    if facts.fault_of(facts.opponent(guest_id)) is not None:
        return "technical win"
    ending = facts.ending
    assert ending is not None, "the match was decided"
    if ending.winner is None:
        return "drawn"
    if ending.winner == guest_id:
        return "won"
    return "lost"


def in_short(fault: e.PlayerFaulted) -> str:
    """Return a fault that lost a match in a few words."""
    if fault.code == DECLINED:
        return "declined the invitation"
    if cause_in(fault.detail):
        return f"{failure(fault.code, fault.detail)} at {question(fault.phase)}"
    return f"{named(fault.code)} at {question(fault.phase)}: {fault.detail}"


def instructive(matches: Sequence[FriendlyMatch]) -> FriendlyMatch | None:
    """Return the match most worth explaining: the first technical loss, the last one lost, or the last one."""
    # Later technical losses mostly have the same cause.
    for match in matches:
        if match.outcome == "technical loss":
            return match
    for match in reversed(matches):
        if match.outcome == "lost":
            return match
    return matches[-1] if matches else None


def trouble_in(event: e.Event, guest_id: str) -> str | None:
    """Describe a mistake of the guest that it can still make good, in a few words."""
    if not isinstance(event, e.AttemptFailed | e.WrongAnswer) or event.player_id != guest_id:
        return None
    cause = cause_in(event.detail)
    text = f"{named(event.code)} at {question(event.phase)}: {event.detail}"
    if cause:
        # Whatever the code is called, the network did not fail.
        text = f"{cause} at {question(event.phase)}"
    if isinstance(event, e.WrongAnswer):
        return f"{text}; corrections left: {event.left}"
    if event.retry is None:
        return text
    return f"{text}; retry {event.retry} follows"


# --- response times ---------------------------------------------------------------------------------------------------


def timings_of(matches: Sequence[MatchFacts], guest_id: str) -> Iterator[Timing]:
    """Yield the response times of each kind of call that was made."""
    for call in CALLS:
        times = [seconds for facts in matches for seconds in _response_times(facts, guest_id, call)]
        if times:
            yield _timing(call, _limit_s(call, matches), times)


def _timing(call: str, limit_s: float, times: Sequence[float | None]) -> Timing:
    answered = [seconds for seconds in times if seconds is not None]
    return Timing(
        call=call,
        limit_s=limit_s,
        answered=len(answered),
        unanswered=len(times) - len(answered),
        least=min(answered, default=None),
        median=median(answered) if answered else None,
        most=max(answered, default=None),
        slow=sum(seconds > limit_s / 2 for seconds in answered),
    )


def _limit_s(call: str, matches: Sequence[MatchFacts]) -> float:
    # The limit of a move is a setting, which every assignment states.
    if call in MOVES:
        for facts in reversed(matches):
            if facts.taken is not None:
                return facts.taken.move_seconds
    return EXCHANGES[call].limit_s


def _response_times(facts: MatchFacts, guest_id: str, call: str) -> Iterator[float | None]:
    """Yield how long each call took to be answered; None for a call without an answer."""
    called_at: float | None = None
    for letter in facts.letters_with(guest_id):
        if letter.message_type != call:
            continue
        if letter.kind == "request" and letter.direction == "out":
            called_at = letter.at
        elif letter.kind == "response" and called_at is not None:
            # A status in words says why there is no answer.
            yield letter.at - called_at if letter.status.isdigit() else None
            called_at = None


# --- hints ------------------------------------------------------------------------------------------------------------

USUAL: Final = 0.95
"""How often chance alone stays within the range that is called usual."""
OTHER_LEAGUE: Final = ("E005", "E012", "E028", "E031", "E033")
"""Codes by which a player says that it belongs to another league."""
FEW: Final = 5
"""Fewer matches than this show nothing about choices."""
_CONVENTIONS: Final[Mapping[str, str]] = {
    "TYPE": "the method is the message type",
    "TOOLS": "tools/call, as in MCP",
    "NESTED": "the message is one level deeper in params",
    "BARE": "the message comes without JSON-RPC",
}


def hints(matches: Sequence[FriendlyMatch], timings: Sequence[Timing], game_type: str) -> Iterator[str]:
    """Yield remarks on how the guest played."""
    yield from _on_membership(matches)
    yield from _on_times(timings)
    yield from _on_choices(matches, game_type)
    if game_type == "even_odd":
        yield from _on_chance(matches)


def on_convention(name: str) -> Iterator[str]:
    """Say how the guest had to be called, if that was unusual."""
    if name in _CONVENTIONS:
        yield (
            f"It was called as {name}: {_CONVENTIONS[name]}. Our referee finds that out with the invitation, but "
            "others may know only one way. It is safest to accept any method and to go by params.message_type."
        )


def _on_membership(matches: Sequence[FriendlyMatch]) -> Iterator[str]:
    # A member of a league is right to refuse other leagues: that is not a fault.
    for match in matches:
        for code in OTHER_LEAGUE:
            if match.fault is not None and f"({code} " in match.fault:
                yield (
                    f"It answered with {named(code)}: it seems to be registered in a league and to play only there. "
                    "Give its league and its id with --league-id and --id, or spar before it registers."
                )
                return


def _on_times(timings: Sequence[Timing]) -> Iterator[str]:
    for timing in timings:
        if timing.slow:
            answers = "1 answer" if timing.slow == 1 else f"{timing.slow} answers"
            yield (
                f"{answers} to {timing.call} took longer than half the limit of {timing.limit_s:g} s (the slowest took "
                f"{timing.most:.2f} s). On a slower or busier machine that may be too late."
            )


def _on_choices(matches: Sequence[FriendlyMatch], game_type: str) -> Iterator[str]:
    choices = [match.choices for match in matches if match.choices]
    # Few matches look alike by chance.
    if len(choices) < FEW or len(set(choices)) > 1:
        return
    same = ", then ".join(choices[0])
    if game_type == "even_odd":
        yield (
            f"You always chose {same}. That does not change your chances, but an opponent who notices it alone decides "
            "whether somebody wins or the match is drawn."
        )
    else:
        yield f"You always played {same}: an opponent who notices it knows your next move."


def _on_chance(matches: Sequence[FriendlyMatch]) -> Iterator[str]:
    # Even/Odd is a game of chance: luck deserves neither praise nor blame.
    won = sum(match.outcome == "won" for match in matches)
    lost = sum(match.outcome == "lost" for match in matches)
    drawn = sum(match.outcome == "drawn" for match in matches)
    decided = won + lost
    if decided >= FEW:
        usual = usual_wins(decided)
        verdict = "chance alone rarely does that"
        if usual.least <= won <= usual.most:
            verdict = "that is chance, and neither skill nor fault"
        yield (
            f"Choices differed in {decided} of {decided + drawn} matches, and of these you won {won}. The number's "
            f"parity is a fair coin, so {usual.least} to {usual.most} would be usual for any player: {verdict}."
        )
    if decided or drawn:
        yield (
            "Nobody can know the number, so in Even/Odd nobody wins more often than random in the long run. A good "
            "player answers every call correctly and in time; then it loses only by the coin."
        )


class UsualWins(NamedTuple):
    """A range of wins that chance alone rarely leaves."""

    least: int
    most: int


def usual_wins(tosses: int) -> UsualWins:
    """Return the usual numbers of heads when a fair coin is tossed this many times."""
    rare = (1 - USUAL) / 2
    below = 0.0
    least = 0
    while True:
        chance = math.comb(tosses, least) / 2**tosses
        if below + chance > rare:
            return UsualWins(least, tosses - least)
        below += chance
        least += 1
