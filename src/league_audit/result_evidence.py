"""What every result rests on, checked again: receipts, commitments and draws.

Theory of operation. The manager's journal says of each result what it rests on. Nothing of that is believed. A match
that was played to its end is judged once more, by the function that the manager used (`rests_on` in
`games/evidence.py`), with the keys of its players. The keys come from the manager's secrets, from a bundle, or from a
player that checks its own matches (`KeyRing`).

A result that the journal calls proven, and that the receipts do not prove, is a contradiction; so is the reverse.
Without keys nothing can be said about receipts: such a result counts as by the referee's word, and the audit says that
the keys are missing.

What must never happen: a result is counted as proven that its players did not sign.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from league import events as e
from league.games.evidence import PlayedMatch, Proof, rests_on
from league.manager.ledger import basis_of
from league.protocol.receipts import receipt_key
from league_audit.contradictions import Contradiction
from league_audit.promises.event_history import (
    Result,
    attempt_of,
    game_of,
    of_kind,
    schedule_of,
    settings_of,
)
from league_audit.promises.evidence import Evidence

CHECKED = ("proven", "by_referee")
"""What receipts decide. Everything else rests on something that the manager itself saw or did."""


class KeyOwner(NamedTuple):
    """The player and the attempt that a key RK is for."""

    player_id: str
    match_id: str
    attempt: int


@dataclass(slots=True)
class KeyRing:
    """The keys with which receipts are checked."""

    master_keys: dict[str, list[str]] = field(default_factory=dict)
    """K of each player, of every registration with which it declared receipts."""
    attempt_keys: Mapping[KeyOwner, Sequence[bytes]] = field(default_factory=dict)
    """RK of single attempts, from a bundle."""
    problems: list[Contradiction] = field(default_factory=list)

    def of(self, owner: KeyOwner, league_id: str) -> Sequence[bytes]:
        """The keys of a player for one attempt."""
        masters = self.master_keys.get(owner.player_id, [])
        derived = [receipt_key(key, owner.player_id, league_id, owner.match_id, owner.attempt) for key in masters]
        return [*self.attempt_keys.get(owner, ()), *derived]

    def use_own(self, player_id: str, keys: Sequence[str]) -> None:
        """Check the matches of a player with its own keys, and not with anybody else's."""
        self.master_keys[player_id] = list(keys)
        self.attempt_keys = {owner: key for owner, key in self.attempt_keys.items() if owner.player_id != player_id}


def managers_keys(manager: Sequence[e.Event], secrets: Mapping[str, str]) -> KeyRing:
    """Collect the keys in a manager's secrets. They are outside the chain, but their digests are inside."""
    ring = KeyRing()
    for event in manager:
        if not isinstance(event, e.AgentRegistered | e.TokenRenewed) or not event.receipts:
            continue
        if isinstance(event, e.TokenRenewed) and event.queries_only:
            continue
        key = secrets.get(f"derive/{event.agent_id}/{event.serial}")
        if not isinstance(key, str):
            continue
        if event.key_digest and not _is_key(key, event.key_digest):
            detail = f"the key of {event.agent_id}, registration {event.serial}, is not the one of its registration"
            ring.problems.append(Contradiction("", detail, "secrets of the manager"))
        else:
            ring.master_keys.setdefault(event.agent_id, []).append(key)
    return ring


def _is_key(key: str, digest: str) -> bool:
    try:
        return hashlib.sha256(bytes.fromhex(key)).hexdigest() == digest
    except ValueError:
        return False


@dataclass(slots=True)
class CheckedResults:
    """What each result rests on, by match, and what contradicts the journal."""

    statuses: dict[str, str] = field(default_factory=dict)
    contradictions: list[Contradiction] = field(default_factory=list)
    unchecked: list[str] = field(default_factory=list)
    """Matches that are called proven, and for which there are no keys."""


def check_results(evidence: Evidence, ring: KeyRing) -> CheckedResults:
    """Check every result in force."""
    checked = CheckedResults(contradictions=list(ring.problems))
    league = _League(evidence, ring)
    for result in in_force(evidence.manager):
        league.check(result, checked)
    return checked


def in_force(manager: Sequence[e.Event]) -> Sequence[Result]:
    """The results that count at the end, one for each match that has one."""
    results: dict[str, Result] = {}
    for event in manager:
        if isinstance(event, e.ResultAccepted | e.WalkoverDecided):
            results[event.match_id] = event
        elif isinstance(event, e.ResultVoided):
            results.pop(event.match_id, None)
    return list(results.values())


class _League:
    """What is needed to judge the matches of a league."""

    def __init__(self, evidence: Evidence, ring: KeyRing) -> None:
        manager = evidence.manager
        self._ring = ring
        self._settings = settings_of(manager)
        self._game = game_of(manager)
        self._schedule = schedule_of(manager)
        self._assigned = {attempt_of(event): event for event in of_kind(manager, e.MatchAssigned)}
        self._found = {attempt_of(event): event for event in of_kind(manager, e.EvidenceFound)}
        self._records = {attempt_of(event): event for event in of_kind(manager, e.MatchRecordKept)}
        self._protests = list(of_kind(manager, e.ProtestReceived))

    def check(self, result: Result, checked: CheckedResults) -> None:
        match_id = result.match_id
        found = None
        if isinstance(result, e.ResultAccepted):
            found = self._found.get(attempt_of(result))
        status: str = basis_of(result, found).evidence
        if isinstance(result, e.ResultAccepted) and status in CHECKED:
            proof = self._prove(result)
            if status == "proven" and proof is None:
                checked.unchecked.append(match_id)
                status = "by_referee"
            elif proof is not None and status != proof.evidence and result.evidence is not None:
                detail = f"{match_id} is stored as {status}, but {_reason(proof)}"
                checked.contradictions.append(Contradiction(match_id, detail, f"result of {match_id}"))
                status = "disputed"
        checked.statuses[match_id] = status

    def _prove(self, result: e.ResultAccepted) -> Proof | None:
        """Say once more what a match rests on; None if there are no keys for its players."""
        slot = self._schedule.get(result.match_id)
        if self._game is None or self._settings is None or slot is None:
            return None
        league_id = self._settings.league_id
        keys: dict[str, Sequence[bytes]] = {}
        for player in slot.players:
            keys[player] = self._ring.of(KeyOwner(player, result.match_id, result.attempt), league_id)
        if not any(keys.values()):
            return None
        attempt = attempt_of(result)
        match = PlayedMatch(
            league_id,
            result.match_id,
            result.attempt,
            slot.players,
            getattr(self._assigned.get(attempt), "share_commitment", ""),
            result.referee_id,
        )
        record = self._records.get(attempt)
        protests = [protest for protest in self._protests if protest.match_id == result.match_id]
        proof = rests_on(
            self._game,
            match,
            result.details,
            keys,
            record.record if record else (),
            protests,
        )
        # One player's own key tells whether its receipts are right, but not whether the match is proven.
        if not all(keys.values()) and not proof.wrong:
            return None
        return proof


def _reason(proof: Proof) -> str:
    """Say why a match rests on what it does."""
    if proof.evidence == "proven":
        return "both players signed it, and the number was fixed before"
    if proof.wrong:
        return f"{' and '.join(proof.wrong)} did not sign this"
    return proof.doubt or f"the receipts of {' and '.join(proof.unsigned)} are missing"
