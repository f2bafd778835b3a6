"""Faults of players: what they did, which clause they broke, why that cost the match, and what to change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from league.events import AttemptFailed, Event, MatchTaken, PlayerFaulted, ResultAccepted, WrongAnswer
from league.protocol import timestamps
from league.referee.match import DECLINED
from league.reports.advice import advice_for, right_answer
from league.reports.case import Case
from league.reports.clauses import Clause, clause_of, known
from league.reports.letters import masked
from league.reports.telling import about, in_time, named


@dataclass(frozen=True, slots=True)
class Fault:
    """What a player did wrong. `clause` is what it broke, `rule` why that lost the match; None if it did not."""

    player_id: str
    code: str
    name: str
    phase: str
    sentence: str
    clause: Clause | None
    rule: Clause | None
    advice: str
    right_answer: str | None = None


def final_faults(case: Case, attempt: int) -> tuple[Fault, ...]:
    """The faults that lost this attempt: by the referee's record, or as it reported them to the manager."""
    events = _events(case, attempt)
    if events:
        return tuple(_recorded(case, one, events) for one in events if isinstance(one, PlayerFaulted))
    if isinstance(case.result, ResultAccepted):
        return tuple(_reported(case, case.result))
    return ()


def stumbles(case: Case, attempt: int) -> tuple[Fault, ...]:
    """What went wrong and was made good: the last of each kind."""
    events = _events(case, attempt)
    lost = {one.player_id for one in events if isinstance(one, PlayerFaulted)}
    last: dict[tuple[str, str, str], tuple[AttemptFailed | WrongAnswer, int]] = {}
    for one in events:
        if isinstance(one, AttemptFailed | WrongAnswer) and one.player_id not in lost:
            key = (one.player_id, one.phase, one.code)
            last[key] = (one, last[key][1] + 1 if key in last else 1)
    return tuple(_stumble(case, one, count) for one, count in last.values())


def _events(case: Case, attempt: int) -> list[Event]:
    return [
        event
        for one in case.records.values()
        for event in one.events
        if getattr(event, "attempt", None) == attempt
    ]  # fmt: skip


def _asked(phase: str) -> str:
    return "the invitation" if phase == "join" else "the call for a choice"


def _recorded(case: Case, fault: PlayerFaulted, events: Sequence[Event]) -> Fault:
    mine = [
        one
        for one in events
        if isinstance(one, AttemptFailed | WrongAnswer) and _question(one) == _question(fault)
    ]  # fmt: skip
    failed = [one for one in mine if isinstance(one, AttemptFailed)]
    wrong = [one for one in mine if isinstance(one, WrongAnswer)]
    if fault.code == DECLINED:
        return _declined(fault.player_id)
    last = wrong[-1] if wrong else None
    if last is not None and last.code == fault.code:
        sentence = (
            f"{fault.player_id} answered {_asked(fault.phase)} wrongly {_times(len(wrong))}; "
            f"the last was {named(fault.code)}: {about(last.path, last.detail)}"
        )
        rule = known("MATCH.fourth_wrong_answer_loses")
        return _fault(case, fault, sentence, clause_of(last.code, last.requirement), rule)
    if last is not None:
        sentence = (
            f"{fault.player_id} answered {_asked(fault.phase)} wrongly ({named(last.code)}: "
            f"{about(last.path, last.detail)}) and gave no right answer before the same deadline"
        )
        return _fault(case, last, sentence, clause_of(last.code, last.requirement), known("MATCH.window_ends"))
    told = ", then ".join(_kinds(failed)) or f"{named(fault.code)} ({fault.detail})"
    sentence = f"{fault.player_id} failed {_asked(fault.phase)} {_times(len(failed))}: {told}"
    taken = next((one for one in events if isinstance(one, MatchTaken)), None)
    suspended = taken is not None and taken.suspended[taken.players.index(fault.player_id)]
    if taken is not None:
        sentence += f". It was called at {taken.endpoints[taken.players.index(fault.player_id)]}"
    return _fault(case, fault, sentence, _broken(case, fault), _rule(fault, suspended and len(failed) < 2))


def _question(one: PlayerFaulted | AttemptFailed | WrongAnswer) -> tuple[str, str, int]:
    return one.player_id, one.phase, one.turn


def _times(count: int) -> str:
    return "once" if count == 1 else "twice" if count == 2 else f"{count} times"


def _kinds(failed: Sequence[AttemptFailed]) -> list[str]:
    """What happened, each kind once."""
    return list(dict.fromkeys(f"{named(one.code)} ({one.detail})" for one in failed))


def _broken(case: Case, fault: PlayerFaulted) -> Clause | None:
    return in_time(fault.phase, case.game_type) if fault.code == "E001" else clause_of(fault.code)


def _rule(fault: PlayerFaulted, is_suspended: bool) -> Clause:
    if is_suspended and fault.phase == "join":
        return known("MATCH.suspended_one_invitation")
    return known("MATCH.silent_join_26s" if fault.phase == "join" else "MATCH.silent_choice_126s")


def _declined(player_id: str) -> Fault:
    clause = known("MATCH.declined_is_technical_loss")
    text = f"{player_id} declined the invitation"
    return Fault(player_id, DECLINED, DECLINED, "join", text, clause, clause, advice_for(DECLINED, "join", ""))


def _fault(
    case: Case,
    one: PlayerFaulted | WrongAnswer | AttemptFailed,
    sentence: str,
    clause: Clause | None,
    rule: Clause | None,
) -> Fault:
    example = None
    if one.code not in ("E001", "E009"):
        when = timestamps.write(one.at)
        example = right_answer(case.game_type, one.phase, case.match_id, one.player_id, when)
    advice = advice_for(one.code, one.phase, one.detail)
    name = named(one.code).partition(" ")[2]
    return Fault(one.player_id, one.code, name, one.phase, masked(sentence), clause, rule, advice, example)


def _stumble(case: Case, one: AttemptFailed | WrongAnswer, count: int) -> Fault:
    if isinstance(one, WrongAnswer):
        what = f"gave {count} wrong answer{'s' * (count > 1)} to"
        detail, clause = about(one.path, one.detail), clause_of(one.code, one.requirement)
    else:
        what = f"failed {_times(count)} at"
        detail = one.detail
        clause = in_time(one.phase, case.game_type) if one.code == "E001" else clause_of(one.code)
    sentence = f"{one.player_id} {what} {_asked(one.phase)} before it succeeded ({named(one.code)}: {detail})"
    return _fault(case, one, sentence, clause, None)


def _reported(case: Case, result: ResultAccepted) -> Iterator[Fault]:
    """By the report alone: the code and a sentence, if the referee is one of ours."""
    faults: Any = result.details.get("faults")  # Any: what a referee reported
    for player_id in case.players:
        told = faults.get(player_id) if isinstance(faults, dict) else None
        if not isinstance(told, dict):
            continue
        code, phase = str(told.get("code")), str(told.get("phase"))
        detail, turn = str(told.get("detail")), told.get("turn")
        if code == DECLINED:
            yield _declined(player_id)
            continue
        fault = PlayerFaulted(
            at=result.at,
            match_id=case.match_id,
            attempt=result.attempt,
            player_id=player_id,
            phase="join" if phase == "join" else "move",
            turn=turn if isinstance(turn, int) else 0,
            code=code,
            detail=detail,
        )
        silent = code in ("E001", "E009")
        rule = _rule(fault, is_suspended=False) if silent else known("MATCH.fourth_wrong_answer_loses")
        sentence = f"{player_id} failed {_asked(fault.phase)}: {named(code)}, {detail}"
        yield _fault(case, fault, sentence, _broken(case, fault), rule)
