"""The report of friendly matches: results, response times, choices, findings, and an explanation of one match.

Everything is made from the referee's events and letters. A finding is something that the guest did wrong, with the
clause it breaks and what it cost: the match, or a retry. What costs nothing is told by `league check player`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from league.events import ConventionLearned, MatchDecided
from league.features.records.broken_clauses import ClauseRef
from league.features.records.explain import Explanation, explain
from league.features.records.fault_words import ITS_CODE, PlayerFault, corrected_mistakes, final_faults
from league.features.records.match_facts import MatchFacts
from league.features.workshop.sparring_matches import (
    FriendlyMatch,
    Timing,
    friendly_match,
    guest_facts,
    hints,
    instructive,
    on_convention,
    timings_of,
)
from league.reading.journals import Journals

Cost = Literal["the match", "a retry or a correction"]
SPEC: Final = "SPEC"


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


def _findings(matches: Sequence[MatchFacts], guest_id: str) -> Iterator[SparringFinding]:
    """Yield the costliest findings first. The same mistake in several matches is one finding."""
    groups: dict[tuple[str, ClauseRef | None, Cost], list[SparringFinding]] = {}
    for facts in matches:
        for finding in _findings_in(facts, guest_id):
            kind = (finding.code, finding.clause, finding.cost)
            groups.setdefault(kind, []).append(finding)
    for group in sorted(groups.values(), key=lambda group: group[0].cost != "the match"):
        match_ids = [match_id for finding in group for match_id in finding.matches]
        yield replace(group[0], matches=tuple(dict.fromkeys(match_ids)))


def _findings_in(facts: MatchFacts, guest_id: str) -> Iterator[SparringFinding]:
    for fault in final_faults(facts, facts.attempt):
        if fault.player_id == guest_id:
            yield _finding(facts, fault, "the match")
    for mistake in corrected_mistakes(facts, facts.attempt):
        if mistake.player_id == guest_id:
            yield _finding(facts, mistake, "a retry or a correction")


def _finding(facts: MatchFacts, fault: PlayerFault, cost: Cost) -> SparringFinding:
    name = fault.name or fault.code
    if ITS_CODE in fault.sentence:
        name = "an error in its code"
    return SparringFinding(
        code=fault.code,
        name=name,
        clause=fault.clause,
        matches=(facts.match_id,),
        cost=cost,
        sentence=fault.sentence,
        advice=fault.advice,
    )
