"""What every result rests on, checked again: signatures, promises and draws.

Theory of operation. The manager's journal says of each result what it rests on. Nothing of that is believed. A match
that was played to its end is judged once more, by the function that the manager used (`rests_on` in
`games/evidence.py`). All that this needs is in the manager's events: the keys in force are in the assignment, the
signatures in the result.

A result that the journal calls proven, and that is not, is a contradiction. What must never happen: a result is counted
as proven that its players did not sign.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from league import events as e
from league.features.audit.contradictions import Contradiction
from league.features.audit.promises.grounds.event_history import (
    Result,
    decided,
    game_of,
    schedule_of,
    settings_of,
)
from league.features.audit.promises.grounds.event_log import Attempt, EventLog, attempt_of
from league.features.audit.promises.grounds.evidence import Evidence
from league.games.contract import SEATS
from league.games.evidence import SUSPICIOUS, AssignedMatch, Proof, rests_on
from league.manager.state.ledger import basis_of


@dataclass(slots=True)
class CheckedResults:
    """What each result rests on, by match, and what contradicts the journal."""

    statuses: dict[str, str] = field(default_factory=dict)
    contradictions: list[Contradiction] = field(default_factory=list)
    suspicious: list[str] = field(default_factory=list)
    """Matches of two players that sign, without a signature of theirs."""


def check_results(evidence: Evidence) -> CheckedResults:
    """Check every result in force."""
    checked = CheckedResults()
    league = _League(evidence)
    for result in decided(evidence.manager):
        league.check(result, checked)
    return checked


class _League:
    """What is needed to judge the matches of a league."""

    def __init__(self, evidence: Evidence) -> None:
        manager = evidence.manager
        self._settings = settings_of(manager)
        self._game = game_of(manager)
        self._schedule = schedule_of(manager)
        self._assigned = manager.by_attempt(e.MatchAssigned)
        self._manager = manager
        self._first_drawn: dict[str, int] = {}
        for released in manager.of_kind(e.DrawReleased):
            self._first_drawn.setdefault(released.match_id, released.attempt)
        self._judged = manager.by_attempt(e.ResultJudged)
        self._records = manager.by_attempt(e.MatchRecordKept)

    def check(self, result: Result, checked: CheckedResults) -> None:
        judged = None
        keys = None
        if isinstance(result, e.ResultAccepted):
            attempt = attempt_of(result)
            judged = self._judged.get(attempt)
            keys = getattr(self._assigned.get(attempt), "keys", None)
        basis = basis_of(result, judged, keys)
        status: str = basis.evidence if basis else "by_referee"
        # Of a result that is not called proven it matters only whether it is suspicious: if both players sign.
        if isinstance(result, e.ResultAccepted) and (status == "proven" or len(keys or ()) == len(SEATS)):
            proof = self._prove(result, keys or {})
            if proof is not None and proof.doubt == SUSPICIOUS:
                checked.suspicious.append(result.match_id)
            if status == "proven" and (proof is None or proof.evidence != "proven"):
                detail = f"{result.match_id} is stored as proven, but {_reason(proof)}"
                checked.contradictions.append(Contradiction(result.match_id, detail, f"result of {result.match_id}"))
                status = "by_referee"
        checked.statuses[result.match_id] = status

    def _prove(self, result: e.ResultAccepted, keys: Mapping[str, str]) -> Proof | None:
        """Say once more what a match rests on; None if it was not played to its end."""
        slot = self._schedule.get(result.match_id)
        if self._game is None or self._settings is None or slot is None:
            return None
        if result.status == "TECHNICAL_LOSS" or result.origin:
            return None
        attempt = attempt_of(result)
        match = AssignedMatch(
            league_id=self._settings.league_id,
            match_id=result.match_id,
            attempt=result.attempt,
            players=slot.players,
            share_commitment=self._assigned[attempt].share_commitment,
            referee_id=result.referee_id,
            first_drawn=self._first_drawn.get(result.match_id, 0),
            manager_key=self._manager.once(_manager_keys).get(attempt, ""),
            keys=keys,
        )
        record = self._records.get(attempt)
        return rests_on(self._game, match, result.details, record.record if record else ())


def _manager_keys(manager: EventLog) -> Mapping[Attempt, str]:
    """The key of the manager that was in force when each attempt began."""
    keys: dict[Attempt, str] = {}
    key = ""
    for event in manager.of_kind(e.LeagueCreated, e.SettingsChanged, e.MatchAssigned):
        if isinstance(event, e.MatchAssigned):
            keys[attempt_of(event)] = key
        elif isinstance(event, e.LeagueCreated | e.SettingsChanged):
            key = event.manager_key or key
    return keys


def _reason(proof: Proof | None) -> str:
    """Say why a match is not proven."""
    if proof is None:
        return "nobody played it to its end"
    return proof.doubt or f"the signatures of {' and '.join(proof.unsigned)} are missing"
