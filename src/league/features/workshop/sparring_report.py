"""The report of friendly matches: results, response times, choices, findings, and an explanation of one match.

Everything is made from the referee's events and letters. A finding is something that the guest did wrong, with the
clause it breaks and what it cost: the match, a retry, or nothing (a strict league would still refuse it).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, NamedTuple

from league.events import ConventionLearned, MatchDecided, PlayerDeviated
from league.features.records.broken_clauses import ClauseRef, clause, clause_of, named
from league.features.records.explain import Explanation, explain
from league.features.records.fault_words import ITS_CODE, advice_for, corrected_mistakes, final_faults
from league.features.records.match_facts import MatchFacts
from league.features.workshop.sparring_matches import (
    MOVES,
    FriendlyMatch,
    Timing,
    friendly_match,
    guest_facts,
    hints,
    instructive,
    on_convention,
    timings_of,
)
from league.gateway.readers.normalise import normalise_answer
from league.protocol.errors import PeerError
from league.protocol.message.envelope import Reading, unseal
from league.protocol.message.exchanges import EXCHANGES
from league.protocol.wire.jsonrpc import decode_answer
from league.reading.journals import Journals

Cost = Literal["the match", "a retry or a correction", "nothing"]

"""The cause of a fault that is in the code of a player begins so."""
SPEC: Final = "SPEC"
QUESTIONS: Final = ("GAME_INVITATION", *MOVES)


@dataclass(frozen=True, slots=True)
class SparringFinding:
    """One kind of mistake of the guest, the matches it happened in, and what it cost."""

    code: str
    name: str
    clause: ClauseRef | None
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
    """The calling convention that the guest understands."""
    response_times: tuple[Timing, ...]
    choices: Mapping[str, int]
    findings: tuple[SparringFinding, ...]
    hints: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SparringReport:
    """The whole report. `explanation` is about the most instructive match; None if no match was played."""

    summary: Summary
    matches: tuple[FriendlyMatch, ...]
    explanation: Explanation | None


# --- all matches ------------------------------------------------------------------------------------------------------


def report(journals: Journals, guest_id: str, names: Mapping[str, str]) -> SparringReport:
    """Report on every match that was decided in these journals of a sparring referee."""
    facts: dict[str, MatchFacts] = {}
    convention = SPEC
    for journal in journals.referees.values():
        for event in journal.events:
            if isinstance(event, MatchDecided):
                facts[event.match_id] = guest_facts(event.match_id, journals, guest_id, names)
            elif isinstance(event, ConventionLearned) and event.agent_id == guest_id:
                convention = event.convention
    matches = tuple(friendly_match(match, guest_id) for match in facts.values())
    summary = _summary(tuple(facts.values()), matches, guest_id, convention)
    chosen = instructive(matches)
    explanation = explain(facts[chosen.match_id]) if chosen else None
    return SparringReport(summary, matches, explanation)


def _summary(
    facts: Sequence[MatchFacts],
    matches: Sequence[FriendlyMatch],
    guest_id: str,
    convention: str,
) -> Summary:
    outcomes = Counter(match.outcome for match in matches)
    choices = Counter(choice for match in matches for choice in match.choices)
    timings = tuple(timings_of(facts, guest_id))
    remarks: tuple[str, ...] = ()
    if facts:
        remarks = (*on_convention(convention), *hints(matches, timings, facts[0].game_type))
    return Summary(
        played=len(matches),
        won=outcomes["won"],
        drawn=outcomes["drawn"],
        lost=outcomes["lost"],
        technical_losses=outcomes["technical loss"],
        technical_wins=outcomes["technical win"],
        points=sum(match.points for match in matches),
        convention=convention,
        response_times=timings,
        choices=dict(choices.most_common()),
        findings=tuple(_findings(facts, guest_id)),
        hints=remarks,
    )


# --- findings ---------------------------------------------------------------------------------------------------------


_WEIGHT: Final[Mapping[Cost, int]] = {"the match": 0, "a retry or a correction": 1, "nothing": 2}
_ACKNOWLEDGE: Final = "Answer every message at once with a JSON-RPC result, even if it only informs you."


class Tolerated(NamedTuple):
    """Something that `compat` accepts, and a strict league would not."""

    code: str
    requirement: str
    detail: str


def _findings(matches: Sequence[MatchFacts], guest_id: str) -> Iterator[SparringFinding]:
    """Yield the costliest findings first. The same mistake in several matches is one finding."""
    groups: dict[tuple[str, ClauseRef | None, Cost], list[SparringFinding]] = {}
    for facts in matches:
        for finding in _findings_in(facts, guest_id):
            kind = (finding.code, finding.clause, finding.cost)
            groups.setdefault(kind, []).append(finding)
    for group in sorted(groups.values(), key=lambda group: _WEIGHT[group[0].cost]):
        match_ids = [match_id for finding in group for match_id in finding.matches]
        yield replace(group[0], matches=tuple(dict.fromkeys(match_ids)))


def _findings_in(facts: MatchFacts, guest_id: str) -> Iterator[SparringFinding]:
    def finding(code: str, broken: ClauseRef | None, cost: Cost, sentence: str, advice: str) -> SparringFinding:
        name = named(code).partition(" ")[2] or code
        if ITS_CODE in sentence:
            name = "an error in its code"
        return SparringFinding(
            code, name, broken, matches=(facts.match_id,), cost=cost, sentence=sentence, advice=advice
        )

    faults = [fault for fault in final_faults(facts, facts.attempt) if fault.player_id == guest_id]
    for fault in faults:
        yield finding(fault.code, fault.clause, "the match", fault.sentence, fault.advice)
    for mistake in corrected_mistakes(facts, facts.attempt):
        if mistake.player_id == guest_id:
            yield finding(mistake.code, mistake.clause, "a retry or a correction", mistake.sentence, mistake.advice)
    tolerated = dict.fromkeys((*_tolerated_answers(facts, guest_id), *_on_record(facts, guest_id)))
    for code, requirement, detail in tolerated:
        yield finding(code, clause_of(code, requirement), "nothing", detail, advice_for(code, "", detail))
    # A player that lost by its own fault must repair that first, and mostly the cause is the same.
    if not faults:
        for code, detail in _unacknowledged(facts, guest_id):
            yield finding(code, clause("GAME_OVER.acknowledged"), "nothing", detail, _ACKNOWLEDGE)


def _tolerated_answers(facts: MatchFacts, guest_id: str) -> Iterator[Tolerated]:
    """Yield the deviations in the guest's answers."""
    for letter in facts.letters_with(guest_id):
        if letter.kind == "response" and letter.message_type in QUESTIONS and letter.status.isdigit():
            yield from _deviations_in(letter.body, letter.message_type)


def _deviations_in(body: bytes, question: str) -> Iterator[Tolerated]:
    try:
        answer = decode_answer(body)
    except PeerError:
        return  # not JSON-RPC: the referee has judged that
    if answer.is_error or not isinstance(answer.content, dict):
        return
    words, deviations = normalise_answer(answer.content, question)
    read = unseal(words, Reading("compat"), EXCHANGES[question].replies)
    if read.message is None:
        return  # the referee has judged that, too
    for deviation in (*deviations, *read.deviations):
        yield Tolerated(deviation.code, deviation.requirement, deviation.detail)


def _on_record(facts: MatchFacts, guest_id: str) -> Iterator[Tolerated]:
    """Yield the deviations that the referee recorded. It records each kind once, in the first match."""
    for event in facts.events:
        if isinstance(event, PlayerDeviated) and event.player_id == guest_id:
            yield Tolerated(event.code, event.requirement, event.detail)


def _unacknowledged(facts: MatchFacts, guest_id: str) -> Iterator[tuple[str, str]]:
    """Yield code and detail of each GAME_OVER that was not acknowledged.

    It is sent only once, so a player that does not accept it never learns the result.
    """
    for letter in facts.letters_with(guest_id):
        if letter.message_type != "GAME_OVER" or letter.kind != "response":
            continue
        if letter.status == "timeout":
            yield "E001", "GAME_OVER got no answer (timeout)"
        elif not letter.status.isdigit():
            yield "E009", f"GAME_OVER got no answer ({letter.status})"
        elif int(letter.status) >= 300:
            yield "E009", f"GAME_OVER was answered with HTTP status {letter.status}"
        elif _is_error(letter.body):
            yield "E009", "GAME_OVER was answered with an error"


def _is_error(body: bytes) -> bool:
    try:
        return decode_answer(body).is_error
    except PeerError:
        return False
