"""The report of friendly matches: results, times, choices, what the player did wrong and by which clause, and an
explanation of the match most worth it. From events and letters only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from league.events import ConventionLearned, MatchDecided, PlayerDeviated
from league.gateway.normalise import normalise_answer
from league.protocol.envelope import Reading, unseal
from league.protocol.errors import PeerError
from league.protocol.exchanges import EXCHANGES
from league.protocol.jsonrpc import decode_answer
from league.reports.journals import Journals
from league_records.clauses import ClauseRef, clause, clause_of, named
from league_records.explain import Explanation, explain
from league_records.faults import advice_for, corrected_mistakes, final_faults
from league_records.match_facts import FactSource, MatchFacts, facts_of
from league_workshop.sparring_matches import (
    MOVES,
    FriendlyMatch,
    Timing,
    friendly_match,
    hints,
    instructive,
    letters_with,
    on_convention,
    timings_of,
)

Cost = Literal["the match", "a retry or a correction", "nothing"]

YOU: Final = "your player"
SPEC: Final = "SPEC"
QUESTIONS: Final = ("GAME_INVITATION", *MOVES)


@dataclass(frozen=True, slots=True)
class SparringFinding:
    """One kind of thing the guest did wrong, in how many matches, and what it cost."""

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
    """The convention the player understands, as its referee found out."""
    response_times: tuple[Timing, ...]
    choices: Mapping[str, int]
    findings: tuple[SparringFinding, ...]
    hints: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SparringReport:
    """The whole report. `explanation` is of the match most worth it; None if none was played."""

    summary: Summary
    matches: tuple[FriendlyMatch, ...]
    explanation: Explanation | None


# --- all matches ------------------------------------------------------------------------------------------------------


def report(journals: Journals, guest_id: str, names: Mapping[str, str]) -> SparringReport:
    """The report of every match that was decided in these journals of a sparring referee."""
    events = [event for one in journals.referees.values() for event in one.events]
    decided = [one.match_id for one in events if isinstance(one, MatchDecided)]
    known = {match_id: _facts(match_id, journals, guest_id, names) for match_id in decided}
    matches = tuple(friendly_match(list(one.events), guest_id, names) for one in known.values())
    chosen = instructive(matches)
    explanation = explain(known[chosen.match_id]) if chosen else None
    learned = [one for one in events if isinstance(one, ConventionLearned) and one.agent_id == guest_id]
    convention = learned[-1].convention if learned else SPEC
    return SparringReport(_summary(tuple(known.values()), matches, guest_id, convention), matches, explanation)


def _facts(match_id: str, journals: Journals, guest_id: str, names: Mapping[str, str]) -> MatchFacts:
    """A match, ready to be explained: there is no manager whose account could be missing."""
    facts = facts_of(match_id, journals)
    assert facts is not None, "it was played"
    source = FactSource(elsewhere=facts.source.elsewhere)
    return replace(facts, names={**names, guest_id: YOU}, source=source)


def _summary(known: Sequence[MatchFacts], matches: Sequence[FriendlyMatch], guest_id: str, convention: str) -> Summary:
    outcomes = Counter(one.outcome for one in matches)
    timings = tuple(timings_of(known, guest_id))
    return Summary(
        played=len(matches),
        won=outcomes["won"],
        drawn=outcomes["drawn"],
        lost=outcomes["lost"],
        technical_losses=outcomes["technical loss"],
        technical_wins=outcomes["technical win"],
        points=sum(one.points for one in matches),
        convention=convention,
        response_times=timings,
        choices=dict(Counter(choice for one in matches for choice in one.choices).most_common()),
        findings=tuple(_findings(known, guest_id)),
        hints=(*on_convention(convention), *hints(matches, timings, known[0].game_type)) if known else (),
    )


# --- what was wrong ---------------------------------------------------------------------------------------------------


_WEIGHT: Final[Mapping[Cost, int]] = {"the match": 0, "a retry or a correction": 1, "nothing": 2}
_ACKNOWLEDGE: Final = "Answer every message, also those that only tell something, with a JSON-RPC result at once."


def _findings(known: Sequence[MatchFacts], guest_id: str) -> Iterator[SparringFinding]:
    """The same thing in several matches is one finding; the costliest come first."""
    groups: dict[tuple[str, ClauseRef | None, Cost], list[SparringFinding]] = {}
    for facts in known:
        for one in _found_in(facts, guest_id):
            groups.setdefault((one.code, one.clause, one.cost), []).append(one)
    for same in sorted(groups.values(), key=lambda same: _WEIGHT[same[0].cost]):
        yield replace(same[0], matches=tuple(dict.fromkeys(match for one in same for match in one.matches)))


def _found_in(facts: MatchFacts, guest_id: str) -> Iterator[SparringFinding]:
    """What was wrong in one match."""

    def finding(code: str, broken: ClauseRef | None, cost: Cost, sentence: str, advice: str) -> SparringFinding:
        name = named(code).partition(" ")[2] or code
        return SparringFinding(code, name, broken, (facts.match_id,), cost, sentence, advice)

    faults = [one for one in final_faults(facts, facts.attempt) if one.player_id == guest_id]
    for one in faults:
        yield finding(one.code, one.clause, "the match", one.sentence, one.advice)
    for one in corrected_mistakes(facts, facts.attempt):
        if one.player_id == guest_id:
            yield finding(one.code, one.clause, "a retry or a correction", one.sentence, one.advice)
    for code, requirement, detail in dict.fromkeys((*_tolerated(facts, guest_id), *_on_record(facts, guest_id))):
        yield finding(code, clause_of(code, requirement), "nothing", detail, advice_for(code, "", detail))
    # A player that lost by its own fault has that to repair first, and mostly it is the same.
    for code, detail in () if faults else _unacknowledged(facts, guest_id):
        yield finding(code, clause("GAME_OVER.acknowledged"), "nothing", detail, _ACKNOWLEDGE)


def _tolerated(facts: MatchFacts, guest_id: str) -> Iterator[tuple[str, str, str]]:
    """Deviations in answers that `compat` accepts; a strict league would not."""
    for note in letters_with(facts, guest_id):
        if note.kind != "response" or note.message_type not in QUESTIONS or not note.status.isdigit():
            continue
        try:
            answer = decode_answer(note.body)
        except PeerError:
            continue  # no JSON-RPC: the referee has judged that
        if not answer.is_error and isinstance(answer.content, dict):
            words, deviations = normalise_answer(answer.content, note.message_type)
            read = unseal(words, Reading("compat"), EXCHANGES[note.message_type].replies)
            # An answer that is no message of these types was judged in another way.
            passed = (*deviations, *read.deviations) if read.message is not None else ()
            yield from ((one.code, one.requirement, one.detail) for one in passed)


def _on_record(facts: MatchFacts, guest_id: str) -> Iterator[tuple[str, str, str]]:
    """Deviations the referee itself recorded; it does so once, in the first match."""
    for one in facts.events:
        if isinstance(one, PlayerDeviated) and one.player_id == guest_id:
            yield one.code, one.requirement, one.detail


def _unacknowledged(facts: MatchFacts, guest_id: str) -> Iterator[tuple[str, str]]:
    """GAME_OVER is sent once; a player that does not take it never learns the result."""
    for note in letters_with(facts, guest_id):
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
