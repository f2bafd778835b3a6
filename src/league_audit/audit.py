"""The whole check of a league's journals: chains, journals against each other, what each result rests on, promises.

Theory of operation. The order matters, because each step rests on the one before:

    1. the chain of every journal, and the heads that somebody kept: was anything changed since it was written?
    2. the journals against each other: does one deny what another says?
    3. every result in force: what does it rest on? (receipts, draws, the manager's own decisions)
    4. the promises, by events and recorded traffic

A broken chain, a contradiction or a broken promise makes the audit fail. A result by a referee's word does not: that
is less than a proof, but it is no sign of a lie. Nor does a protest: either side may be wrong, so people have to look.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from league.events import ProtestMade, ProtestReceived
from league.manager.ledger import serious
from league.reports.evidence_words import WORDS
from league_audit.contradictions import Contradiction, contradictions
from league_audit.heads import unknown_heads
from league_audit.journal_evidence import LeagueJournals, evidence_in
from league_audit.promises import Evidence, PromiseReport, check
from league_audit.promises.event_history import in_force, of_kind
from league_audit.result_evidence import check_results


class Problem(NamedTuple):
    """One reason why an audit fails; `promise` is 0 if no promise is concerned."""

    promise: int
    detail: str
    where: str


class Protest(NamedTuple):
    """What a player says against a result; `received` is False if only the player's own journal has it."""

    match_id: str
    player_id: str
    why: str
    received: bool


@dataclass(frozen=True, slots=True)
class Audit:
    """The outcome of a check."""

    journals: LeagueJournals
    evidence: Evidence
    chain_problems: Sequence[Problem]
    contradictions: Sequence[Contradiction]
    statuses: Mapping[str, str]
    """What each match's result rests on, by match id."""
    unchecked: Sequence[str]
    """Matches that are called proven, and whose receipts could not be checked without keys."""
    protests: Sequence[Protest]
    """What players say against results in force."""
    promises: PromiseReport

    @property
    def problems(self) -> Sequence[Problem]:
        """Everything that makes the audit fail, the gravest first."""
        denied = [Problem(0, contradiction.detail, contradiction.where) for contradiction in self.contradictions]
        broken = [Problem(finding.promise, finding.detail, finding.where) for finding in self.promises.broken]
        return [*self.chain_problems, *denied, *broken]

    @property
    def results(self) -> Mapping[str, int]:
        """How many results rest on what. A result that is contradicted is disputed."""
        counts = Counter(self.statuses.values())
        return {status: counts[status] for status in WORDS}

    @property
    def unproven(self) -> Sequence[str]:
        return [match_id for match_id, status in self.statuses.items() if status != "proven"]


def audit(journals: LeagueJournals, head: str | None = None) -> Audit:
    """Check the journals of a league; `head` is the digest of a head that somebody kept."""
    evidence = evidence_in(journals)
    checked = check_results(evidence, journals.keys)
    denied = [
        *contradictions(evidence),
        *checked.contradictions,
        *unknown_heads(journals),
    ]
    if journals.must_have_keys:
        denied += [Contradiction(match_id, "its keys are missing", "bundle") for match_id in checked.unchecked]
    statuses = checked.statuses
    for contradiction in denied:
        if contradiction.match_id in statuses:
            statuses[contradiction.match_id] = "disputed"
    return Audit(
        journals=journals,
        evidence=evidence,
        chain_problems=[*_broken_chains(journals), *_unknown_head(journals, head)],
        contradictions=denied,
        statuses=statuses,
        unchecked=checked.unchecked,
        protests=list(_protests(evidence)),
        promises=check(evidence),
    )


def _protests(evidence: Evidence) -> Iterator[Protest]:
    """Return what players say against results in force, by the manager's journal and by their own."""
    results = {result.match_id: result for result in in_force(evidence.manager)}
    received = list(of_kind(evidence.manager, ProtestReceived))
    known = {(protest.match_id, protest.player_id) for protest in received}
    for match_id, result in results.items():
        against = [protest for protest in received if protest.match_id == match_id]
        for protest in serious(against, result, result.attempt):
            yield Protest(match_id, protest.player_id, protest.why, True)
    for player_id, journal in evidence.players.items():
        for made in of_kind(journal, ProtestMade):
            if made.match_id in results and (made.match_id, player_id) not in known:
                yield Protest(made.match_id, player_id, made.why, False)


def _broken_chains(journals: LeagueJournals) -> Iterator[Problem]:
    for journal in journals.broken:
        detail = f"what follows event {journal.chain.sound} is not as it was written"
        if not journal.chain.sound:
            detail = "no event is as it was written"
        yield Problem(0, detail, journal.place.name)


def _unknown_head(journals: LeagueJournals, head: str | None) -> Iterator[Problem]:
    """A head that the manager once sent must be in its chain."""
    if head is None:
        return
    if journals.manager is None:
        yield Problem(
            0,
            f"the head {head} is in no chain: there is no manager's journal here",
            "manager",
        )
        return
    if all(known.digest.hex() != head for known in journals.manager.chain.heads):
        detail = f"the head {head} is not in this chain: the history was rewritten, or its end was cut off"
        yield Problem(0, detail, journals.manager.place.name)
