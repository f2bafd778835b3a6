"""What friendly matches showed of a player, all together: results, times, choices, what it did wrong and by which
clause, and the match most worth explaining. From events and letters only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from league.events import ConventionLearned, Event, MatchDecided, PlayerDeviated
from league.protocol.envelope import Reading, unseal
from league.protocol.errors import PeerError
from league.protocol.exchanges import EXCHANGES
from league.reports.advice import advice_for
from league.reports.bouts import MOVES, Bout, Timing, bout_of, instructive, letters_with, timings_of
from league.reports.case import Case, case_of
from league.reports.clauses import Clause, clause, clause_of
from league.reports.coaching import hints, on_convention
from league.reports.explain import Explanation, explain
from league.reports.faults import Fault, final_faults, stumbles
from league.reports.journals import Journals
from league.reports.telling import named
from league.transport.dialects import in_our_words
from league.transport.jsonrpc import decode_answer

Cost = Literal["the match", "a retry or a correction", "nothing"]

YOU: Final = "your player"
SPEC: Final = "SPEC"
QUESTIONS: Final = ("GAME_INVITATION", *MOVES)


@dataclass(frozen=True, slots=True)
class Finding:
    """One kind of thing the guest did wrong, in how many matches, and what it cost."""

    code: str
    name: str
    clause: Clause | None
    matches: tuple[str, ...]
    cost: Cost
    sentence: str
    advice: str


@dataclass(frozen=True, slots=True)
class Summary:
    """All matches together."""

    played: int
    won: int
    drawn: int
    lost: int
    technical_losses: int
    technical_wins: int
    points: int
    convention: str
    """How the player is spoken to, as its referee found out."""
    response_times: tuple[Timing, ...]
    choices: Mapping[str, int]
    findings: tuple[Finding, ...]
    hints: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """What there is to say in the end. `explanation` is of the match most worth it; None if none was played."""

    summary: Summary
    bouts: tuple[Bout, ...]
    explanation: Explanation | None


# --- all matches ------------------------------------------------------------------------------------------------------


def report(journals: Journals, guest_id: str, names: Mapping[str, str]) -> Report:
    """Everything that was decided in these journals of a sparring referee."""
    decided = [one.match_id for one in _events(journals) if isinstance(one, MatchDecided)]
    cases = {match_id: _case(match_id, journals, guest_id, names) for match_id in decided}
    bouts = tuple(bout_of(_record(case), guest_id, names) for case in cases.values())
    chosen = instructive(bouts)
    explanation = explain(cases[chosen.match_id]) if chosen else None
    learned = [one for one in _events(journals) if isinstance(one, ConventionLearned) and one.agent_id == guest_id]
    convention = learned[-1].convention if learned else SPEC
    return Report(_summary(tuple(cases.values()), bouts, guest_id, convention), bouts, explanation)


def _case(match_id: str, journals: Journals, guest_id: str, names: Mapping[str, str]) -> Case:
    """A match, ready to be explained: there is no manager whose account could be missing."""
    case = case_of(match_id, journals)
    assert case is not None, "it was played"
    return replace(case, names={**names, guest_id: YOU}, has_journal=True)


def _summary(cases: Sequence[Case], bouts: Sequence[Bout], guest_id: str, convention: str) -> Summary:
    outcomes = Counter(one.outcome for one in bouts)
    timings = tuple(timings_of(cases, guest_id))
    return Summary(
        played=len(bouts),
        won=outcomes["won"],
        drawn=outcomes["drawn"],
        lost=outcomes["lost"],
        technical_losses=outcomes["technical loss"],
        technical_wins=outcomes["technical win"],
        points=sum(one.points for one in bouts),
        convention=convention,
        response_times=timings,
        choices=dict(Counter(choice for one in bouts for choice in one.choices).most_common()),
        findings=tuple(_findings(cases, guest_id)),
        hints=(*on_convention(convention), *hints(bouts, timings, cases[0].game_type)) if cases else (),
    )


def _events(journals: Journals) -> Iterator[Event]:
    return (event for one in journals.referees.values() for event in one.events)


def _record(case: Case) -> list[Event]:
    return [event for one in case.records.values() for event in one.events]


# --- what was wrong ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Found:
    """One thing that was wrong in one match."""

    match_id: str
    code: str
    clause: Clause | None
    cost: Cost
    sentence: str
    advice: str


_WEIGHT: Final[Mapping[Cost, int]] = {"the match": 0, "a retry or a correction": 1, "nothing": 2}


def _findings(cases: Sequence[Case], guest_id: str) -> Iterator[Finding]:
    """The same thing in several matches is one finding; the dearest first."""
    groups: dict[tuple[str, Clause | None, Cost], list[_Found]] = {}
    for case in cases:
        for one in _found_in(case, guest_id):
            groups.setdefault((one.code, one.clause, one.cost), []).append(one)
    for (code, broken, cost), same in sorted(groups.items(), key=lambda one: _WEIGHT[one[0][2]]):
        matches = tuple(dict.fromkeys(one.match_id for one in same))
        name = named(code).partition(" ")[2] or code
        yield Finding(code, name, broken, matches, cost, same[0].sentence, same[0].advice)


def _found_in(case: Case, guest_id: str) -> Iterator[_Found]:
    faults = [one for one in final_faults(case, case.attempt) if one.player_id == guest_id]
    passed = [one for one in stumbles(case, case.attempt) if one.player_id == guest_id]
    yield from (_of_fault(case, one, "the match") for one in faults)
    yield from (_of_fault(case, one, "a retry or a correction") for one in passed)
    for code, requirement, detail in dict.fromkeys((*_tolerated(case, guest_id), *_on_record(case, guest_id))):
        advice = advice_for(code, "", detail)
        yield _Found(case.match_id, code, clause_of(code, requirement), "nothing", detail, advice)
    # Who lost by its own fault has something better to mend first, and mostly it is the same.
    for code, detail in () if faults else _unacknowledged(case, guest_id):
        advice = "Answer every message, also those that only tell something, with a JSON-RPC result at once."
        yield _Found(case.match_id, code, clause("GAME_OVER.acknowledged"), "nothing", detail, advice)


def _of_fault(case: Case, fault: Fault, cost: Cost) -> _Found:
    return _Found(case.match_id, fault.code, fault.clause, cost, fault.sentence, fault.advice)


def _tolerated(case: Case, guest_id: str) -> Iterator[tuple[str, str, str]]:
    """What `compat` lets pass in answers: a strict league would not."""
    for note in letters_with(case, guest_id):
        if note.kind != "response" or note.message_type not in QUESTIONS or not note.status.isdigit():
            continue
        try:
            answer = decode_answer(note.body)
        except PeerError:
            continue  # no JSON-RPC: the referee has said what it thinks of it
        if not answer.is_error and isinstance(answer.content, dict):
            words, odd = in_our_words(answer.content, note.message_type)
            read = unseal(words, Reading("compat"), EXCHANGES[note.message_type].replies)
            # What was not understood so has been judged as something else, or as wrong.
            passed = (*odd, *read.deviations) if read.message is not None else ()
            yield from ((one.code, one.requirement, one.detail) for one in passed)


def _on_record(case: Case, guest_id: str) -> Iterator[tuple[str, str, str]]:
    """What the referee itself wrote down; it does so once, in the first match."""
    for one in _record(case):
        if isinstance(one, PlayerDeviated) and one.player_id == guest_id:
            yield one.code, one.requirement, one.detail


def _unacknowledged(case: Case, guest_id: str) -> Iterator[tuple[str, str]]:
    """GAME_OVER is sent once; whoever does not take it knows nothing of the result."""
    for note in letters_with(case, guest_id):
        if note.message_type != "GAME_OVER" or note.kind != "response":
            continue
        if not note.status.isdigit():
            yield ("E001" if note.status == "timeout" else "E009"), f"GAME_OVER got no answer ({note.status})"
        elif int(note.status) >= 300:
            yield "E009", f"GAME_OVER was answered with HTTP status {note.status}"
        elif _is_error(note.body):
            yield "E009", "GAME_OVER was answered with an error"


def _is_error(body: bytes) -> bool:
    try:
        return decode_answer(body).is_error
    except PeerError:
        return False
