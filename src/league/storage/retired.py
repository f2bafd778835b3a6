"""What the events of earlier versions mean now that this version has no class for them, or no such value of a field.

Theory of operation. A journal is never rewritten: members keep heads of its chain, which stand for its bytes. So an
event that cannot be read as one of today's is translated when it is read, by the row for its name. A row takes the
fields of the old event and returns those of one event of today, or None if the fact means nothing any more; then the
event is a plain `Event`, which changes nothing and keeps its number in the journal.

To delete an event, delete its class and add a row; to delete a value of a field, add a row for the event that has it. A
row is used only if today's classes cannot read the event.

What must never happen: that a translation changes a result which counted, or who was a member.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from league.events import Event

Fields = dict[str, Any]
"""An event as JSON (Any: its version is over)."""
Meaning = Callable[[Fields], Fields | None]


def _nothing(_: Fields) -> None:
    """The fact has no consequences any more."""


def _attempt_lost(fields: Fields) -> Fields:
    """A loss was rejected, and the match played again; the attempt was not one of the three."""
    return {
        "event": "MatchLost",
        "at": fields["at"],
        "match_id": fields["match_id"],
        "attempt": fields["attempt"],
        "why": fields["why"],
        "counts": False,
    }


def _parked(fields: Fields) -> Fields:
    """Neither of two reports counted, and the match waited for the operator."""
    return {"event": "MatchParked", "at": fields["at"], "match_id": fields["match_id"]}


def _order(order: str, target: str = "") -> Meaning:
    """Return the row for an order that had an event of its own; `target` is the field that named its target."""

    def meaning(fields: Fields) -> Fields:
        named = fields.get("target", "")
        return {
            "event": "OrderCarriedOut",
            "at": fields["at"],
            "order": order,
            "target": fields[target] if target else "",
            "key": fields["key"],
            "named": named if target and named != fields[target] else "",
        }

    return meaning


def _completed(fields: Fields) -> Fields:
    """What an assignment did not say was found out."""
    return {**fields, "event": "AssignmentCompleted"}


def _withdrawn(fields: Fields) -> Fields:
    return {"event": "LeagueEnded", "at": fields["at"], "withdrawn": True}


def _paused(fields: Fields) -> Fields:
    """A match waited for a language model, or because it was interrupted: no player had an account then."""
    return {**fields, "cause": "outage"}


REMOVED_SETTINGS = {
    "allow_endpoint",
    "announcement_wait_s",
    "draw",
    "late_referees",
    "max_concurrent_matches_limit",
    "max_referees",
    "open_referees",
    "outage_share",
    "referee_patience_s",
    "standings_interval_s",
    "start_at",
    "start_match_after_s",
    "unique_names",
}
"""Settings of leagues that are derived now, or are no part of a league. A journal with one cannot be read otherwise."""


def _created(fields: Fields) -> Fields:
    """A league began with settings of which some are gone."""
    old = fields["settings"]
    settings = {name: value for name, value in old.items() if name not in REMOVED_SETTINGS}
    if old.get("start") == "at":
        settings["start"] = old["start_at"]
    if isinstance(old.get("endpoints", "local"), str):
        settings["endpoints"] = [old.get("endpoints", "local"), *old.get("allow_endpoint", ())]
    return {**fields, "settings": settings}


def _endpoints_changed(fields: Fields) -> Fields:
    endpoints = [fields["endpoints"], *fields["allow_endpoint"]]
    return {"event": "SettingsChanged", "at": fields["at"], "endpoints": endpoints}


def _trust_changed(fields: Fields) -> Fields:
    return {"event": "SettingsChanged", "at": fields["at"], "trust": fields["trust"]}


RETIRED: Mapping[str, Meaning] = {
    "LeagueCreated": _created,
    "EndpointsChanged": _endpoints_changed,
    "TrustChanged": _trust_changed,
    "OutageBegan": _nothing,
    "OutageEnded": _nothing,
    "PlayersProbed": _nothing,
    "MatchInterrupted": _nothing,
    "MatchHeld": _attempt_lost,
    "MatchPaused": _paused,
    # A report that was held counted with the ResultAccepted that followed. If the journal ends before, its match is
    # played again when the referee's time is over.
    "ReportHeld": _nothing,
    "ReportDisputed": _parked,
    # Protests changed no result by themselves.
    "ProtestReceived": _nothing,
    "ProtestMade": _nothing,
    # Receipts are no longer checked: what a result of then rests on is the referee's word.
    "EvidenceFound": _nothing,
    "PlayersLocated": _completed,
    "RecordsShown": _completed,
    "Withdrawn": _withdrawn,
    "LeagueStartOrdered": _order("start"),
    "LeaguePaused": _order("pause"),
    "LeagueResumed": _order("resume"),
    "LeagueClosed": _order("close"),
    "AgentApproved": _order("approve", "applicant_id"),
    "AgentRejected": _order("reject", "applicant_id"),
    "AgentReadmitted": _order("readmit", "agent_id"),
    "PlayerWithdrawn": _order("withdraw", "agent_id"),
    "SecretReplaced": _order("rotate-token", "target"),
}
"""By the name of the event."""


def translated(fields: object) -> Fields | Event | None:
    """Return what an old event means now: an event of today, as JSON or as it is; None if there is no row for it.
    ValueError if it is damaged."""
    if not isinstance(fields, dict):
        return None
    meaning = RETIRED.get(str(fields.get("event")))
    if meaning is None:
        return None
    try:
        return meaning(fields) or Event(at=float(fields["at"]))
    except (LookupError, TypeError) as error:
        raise ValueError(f"a field is missing or wrong: {error}") from error
