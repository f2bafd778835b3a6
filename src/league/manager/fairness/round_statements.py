"""What the manager signs at the end of a round: everything that became true since its statement before."""

from __future__ import annotations

from typing import Any

from msgspec import json, to_builtins

from league.events import ResultAccepted, WalkoverDecided
from league.manager.state.ledger import Ledger, ScheduledMatch
from league.manager.telling.manager_messages import table
from league.protocol.signing.keys import SigningKey, sign, statement_bytes
from league.protocol.signing.rounds import RoundStatement, StatedResult, details_digest, digest_of


def signed_round(ledger: Ledger, key: SigningKey, round_id: int) -> dict[str, Any]:
    """Return the statement and its signature, as events have them (Any: spread into one)."""
    last = next(reversed(ledger.statements.values()), None)
    statement = RoundStatement(
        manager_key=key.public,
        league_id=ledger.settings.league_id,
        round_id=round_id,
        results=[_stated(ledger.matches[match_id]) for match_id in ledger.unstated.matches],
        orders=ledger.unstated.orders,
        table=table(ledger),
        previous=digest_of(last.statement) if last else None,
    )
    return {"statement": json.decode(statement_bytes(statement)), "signature": sign(key, statement)}


def _stated(match: ScheduledMatch) -> StatedResult:
    result = match.result
    status: str | None = None
    details = None
    if isinstance(result, ResultAccepted):
        status = result.status
        details = details_digest(result.details)
    elif isinstance(result, WalkoverDecided):
        status = "WALKOVER"
    return StatedResult(
        match_id=match.match_id,
        players=list(match.players),
        attempt=match.attempt,
        referee_id=match.referee_id,
        status=status,
        winner=result.winner if result else None,
        points=result.points if result else {},
        basis=to_builtins(match.basis if result else None),
        details=details,
    )
