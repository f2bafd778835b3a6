"""Who needs the operator to become a member (R-89) or to come back from another address (R-90)."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from league.events import AgentApplied, AgentApproved, AgentRole
from league.manager.roster import folded, same_endpoint

MOST_WAITING = 1000
"""So many may wait at once: whoever can reach the manager can apply, and each application is kept for ever."""


class Applicant(Struct):
    """An agent as it described itself, and the address it spoke from: an approval is good for all of that together."""

    applicant_id: str
    role: AgentRole
    display_name: str
    endpoint: str
    origin: str
    applied_at: float
    approved: bool = False


class Applicants(Struct):
    """Everybody who ever applied, in that order."""

    by_id: dict[str, Applicant] = {}
    known: dict[str, str] = {}
    """What tells one applicant from another, to its id."""
    approved: int = 0

    @property
    def is_full(self) -> bool:
        return len(self.by_id) - self.approved >= MOST_WAITING

    @property
    def next_id(self) -> str:
        return f"A{len(self.by_id) + 1:02d}"

    @property
    def waiting(self) -> Iterator[Applicant]:
        return (one for one in self.by_id.values() if not one.approved)

    def find(self, role: AgentRole, display_name: str, endpoint: str, origin: str) -> Applicant | None:
        applicant_id = self.known.get(_identity(role, display_name, endpoint, origin))
        return self.by_id[applicant_id] if applicant_id else None

    def meant_by(self, target: str) -> list[Applicant]:
        """Whom an operator calls so: one by its id, else all with this name or endpoint."""
        if target in self.by_id:
            return [self.by_id[target]]
        name, endpoint = folded(target), same_endpoint(target)
        return [
            one
            for one in self.by_id.values()
            if folded(one.display_name) == name or same_endpoint(one.endpoint) == endpoint
        ]

    # --- made true by events ------------------------------------------------------------------------------------------

    def enter(self, event: AgentApplied) -> None:
        self.by_id[event.applicant_id] = Applicant(
            applicant_id=event.applicant_id,
            role=event.role,
            display_name=event.display_name,
            endpoint=event.endpoint,
            origin=event.origin,
            applied_at=event.at,
        )
        identity = _identity(event.role, event.display_name, event.endpoint, event.origin)
        self.known[identity] = event.applicant_id

    def approve(self, event: AgentApproved) -> None:
        self.by_id[event.applicant_id].approved = True
        self.approved += 1


def _identity(role: AgentRole, display_name: str, endpoint: str, origin: str) -> str:
    # None of these holds a line break: a folded name has single blanks only.
    return "\n".join((role, origin, same_endpoint(endpoint), folded(display_name)))
