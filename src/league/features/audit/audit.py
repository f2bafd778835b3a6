"""The whole check of a league's journals: chains, journals against each other, what each result rests on, promises.

Theory of operation. The order matters, because each step rests on the one before:

    1. the chain of every journal, and the heads that somebody kept: was anything changed since it was written?
    2. the journals against each other, and against what the manager signed: does one deny what another says?
    3. every result in force: what does it rest on? (signatures, draws, the manager's own decisions)
    4. the promises, by events and recorded traffic

A broken chain, a contradiction or a broken promise makes the audit fail. A result by a referee's word does not: that
is less than a proof, but it is no sign of a lie. Nor does an objection: either side may be wrong, so people have to
look.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from league.events import GameEnded
from league.features.audit.contradictions import Contradiction, contradictions
from league.features.audit.heads import unknown_heads
from league.features.audit.journal_evidence import LeagueJournals, evidence_in
from league.features.audit.promises import Evidence, PromiseReport, check
from league.features.audit.result_evidence import check_results
from league.features.audit.signed_rounds import SignedRounds, check_rounds
from league.reading.evidence_words import WORDS


class Problem(NamedTuple):
    """One reason why an audit fails; `promise` is 0 if no promise is concerned."""

    promise: int
    detail: str
    where: str


class Objection(NamedTuple):
    """What a player's own journal says against the result that its referee told it."""

    match_id: str
    player_id: str
    why: str


@dataclass(frozen=True, slots=True)
class Audit:
    """The outcome of a check."""

    journals: LeagueJournals
    evidence: Evidence
    chain_problems: Sequence[Problem]
    contradictions: Sequence[Contradiction]
    rounds: SignedRounds
    """What the manager signed."""
    statuses: Mapping[str, str]
    """What each match's result rests on, by match id."""
    suspicious: Sequence[str]
    """Matches of two players that sign, without a signature of theirs."""
    objections: Sequence[Objection]
    promises: PromiseReport

    @property
    def problems(self) -> Sequence[Problem]:
        """Everything that makes the audit fail, the gravest first."""
        denied = [Problem(0, contradiction.detail, contradiction.where) for contradiction in self.contradictions]
        broken = [Problem(finding.promise, finding.detail, finding.where) for finding in self.promises.broken]
        return [*self.chain_problems, *denied, *broken]

    @property
    def results(self) -> Mapping[str, int]:
        """How many results rest on what."""
        counts = Counter(self.statuses.values())
        return {status: counts[status] for status in WORDS}

    @property
    def unproven(self) -> Sequence[str]:
        return [match_id for match_id, status in self.statuses.items() if status != "proven"]


def audit(journals: LeagueJournals, head: str | None = None, key: str | None = None) -> Audit:
    """Check the journals of a league; `head` is the digest of a head that somebody kept, `key` the manager's key."""
    evidence = evidence_in(journals)
    rounds = check_rounds(journals, key)
    checked = check_results(evidence)
    denied = [
        *contradictions(evidence),
        *checked.contradictions,
        *unknown_heads(journals),
        *rounds.contradictions,
    ]
    statuses = checked.statuses
    for contradiction in denied:
        # What both players signed stands. A journal that says something else accuses its own player.
        if statuses.get(contradiction.match_id) == "by_manager":
            statuses[contradiction.match_id] = "by_referee"
    return Audit(
        journals=journals,
        evidence=evidence,
        chain_problems=[*_broken_chains(journals), *_unknown_head(journals, head)],
        contradictions=denied,
        rounds=rounds,
        statuses=statuses,
        suspicious=checked.suspicious,
        objections=list(_objections(evidence)),
        promises=check(evidence),
    )


def _objections(evidence: Evidence) -> Iterator[Objection]:
    for player_id, journal in evidence.players.items():
        for ended in journal.of_kind(GameEnded):
            if ended.objection:
                yield Objection(ended.match_id, player_id, ended.objection)


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
