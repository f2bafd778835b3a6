"""Planting violations into honest evidence: a changed, added or missing event, a changed, added or missing call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any, TypeVar

from msgspec import structs

from league.events import Event
from league.features.audit.promises import PROMISES, Evidence, RecordedCall, check
from league.features.audit.promises.grounds.event_log import EventLog

Some = TypeVar("Some", bound=Event)


def broken(evidence: Evidence) -> set[int]:
    """The promises that this evidence shows broken."""
    return {finding.promise for finding in check(evidence).broken}


def breaches(evidence: Evidence, promise: int) -> list[str]:
    """Everything that is found against one promise."""
    return [breach.detail for breach in PROMISES[promise - 1].breaches(evidence)]


def journal_only(evidence: Evidence) -> Evidence:
    """What is left when there is nothing but the manager's journal."""
    return Evidence(manager=evidence.manager)


def known(evidence: Evidence, **facts: Any) -> Evidence:
    """The evidence, with these facts that only a simulator knows."""
    return replace(evidence, simulator=replace(evidence.simulator, **facts))


# --- journals: "manager", or an agent's id ----------------------------------------------------------------------------


def journal_of(evidence: Evidence, name: str) -> Sequence[Event]:
    if name == "manager":
        return evidence.manager
    return evidence.referees.get(name) or evidence.players[name]


def with_journal(evidence: Evidence, name: str, journal: Sequence[Event]) -> Evidence:
    if name == "manager":
        return replace(evidence, manager=EventLog(journal))
    if name in evidence.referees:
        return replace(evidence, referees={**evidence.referees, name: EventLog(journal)})
    return replace(evidence, players={**evidence.players, name: EventLog(journal)})


def find(evidence: Evidence, name: str, kind: type[Some], **fields: Any) -> tuple[int, Some]:
    """The first event of this kind with these fields, and its place."""
    for place, event in enumerate(journal_of(evidence, name)):
        if isinstance(event, kind) and all(getattr(event, field) == value for field, value in fields.items()):
            return place, event
    raise LookupError(f"no {kind.__name__} with {fields} in the journal of {name}")


def changed(evidence: Evidence, name: str, place: int, **fields: Any) -> Evidence:
    journal = list(journal_of(evidence, name))
    journal[place] = structs.replace(journal[place], **fields)
    return with_journal(evidence, name, journal)


def added(evidence: Evidence, name: str, place: int, *events: Event) -> Evidence:
    """These events, before the one at this place."""
    journal = list(journal_of(evidence, name))
    journal[place:place] = events
    return with_journal(evidence, name, journal)


def without(evidence: Evidence, name: str, place: int) -> Evidence:
    journal = list(journal_of(evidence, name))
    del journal[place]
    return with_journal(evidence, name, journal)


# --- traffic ----------------------------------------------------------------------------------------------------------


def calls(evidence: Evidence, kind: str, to: str | None = None, match: str | None = None) -> list[int]:
    """The places of these calls in the traffic."""
    return [
        place
        for place, call in enumerate(evidence.traffic or ())
        if call.kind == kind and to in (None, call.receiver_node) and match in (None, call.message.get("match_id"))
    ]


def call_at(evidence: Evidence, place: int) -> RecordedCall:
    assert evidence.traffic is not None
    return evidence.traffic[place]


def altered(evidence: Evidence, place: int, **fields: Any) -> Evidence:
    """A call that went otherwise."""
    traffic = list(evidence.traffic or ())
    traffic[place] = replace(traffic[place], **fields)
    return replace(evidence, traffic=tuple(traffic))


def reworded(evidence: Evidence, place: int, change: Callable[[dict[str, Any]], object]) -> Evidence:
    """A call with another message; `change` works on a copy."""
    message = deepcopy(call_at(evidence, place).message)
    change(message)
    return altered(evidence, place, message=message)


def re_answered(evidence: Evidence, place: int, change: Callable[[dict[str, Any]], object]) -> Evidence:
    """A call with another answer."""
    answer = deepcopy(call_at(evidence, place).answer)
    assert answer is not None
    change(answer)
    return altered(evidence, place, answer=answer)


def sent(evidence: Evidence, *more: RecordedCall) -> Evidence:
    """More calls, each in its place by the time of sending."""
    traffic = sorted((*(evidence.traffic or ()), *more), key=lambda call: call.sent_at)
    return replace(evidence, traffic=tuple(traffic))


def unsent(evidence: Evidence, place: int) -> Evidence:
    traffic = list(evidence.traffic or ())
    del traffic[place]
    return replace(evidence, traffic=tuple(traffic))
