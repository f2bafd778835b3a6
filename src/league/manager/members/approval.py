"""The operator's list: who applied, who was approved and who was rejected (R-89, R-90)."""

from __future__ import annotations

from dataclasses import dataclass

from league.events import AgentApplied, AgentRole
from league.manager.manager_context import ManagerPart
from league.manager.members.secret_rotation import ENROLMENT_KEY, is_retired
from league.manager.state.roster import Applicant
from league.protocol.conventions import Convention
from league.protocol.errors import PeerError
from league.protocol.message.envelope import Unsealed
from league.protocol.message.parts import PlayerMeta, RefereeMeta


@dataclass(frozen=True, slots=True)
class Application:
    """What an agent asks for."""

    role: AgentRole
    meta: PlayerMeta | RefereeMeta
    wanted_id: str
    conversation_id: str
    token: str | None
    origin: str
    convention: Convention
    read: Unsealed
    asked_name: str = ""
    """The name it came with, if that is taken and it got a number."""


@dataclass(slots=True)
class Approvals(ManagerPart):
    """What the operator says about an application."""

    def is_approved(self, application: Application) -> bool:
        applicant = self._applicant(application)
        return applicant is not None and applicant.approved

    def applicant_id(self, application: Application) -> str:
        """Return the id under which the sender has waited, or "" if it has not."""
        applicant = self._applicant(application)
        return applicant.applicant_id if applicant is not None else ""

    def apply(self, application: Application, now: float) -> None:
        """Put an application on the operator's list, once."""
        # Anybody can apply, so the list is bounded; when it is full, applicants are told to come again.
        applicants = self._ledger.roster.applicants
        if self._applicant(application) is None and applicants.has_room(application.origin):
            self.context.happened(
                AgentApplied(
                    at=now,
                    applicant_id=applicants.next_id,
                    role=application.role,
                    display_name=application.meta.display_name.strip(),
                    endpoint=application.meta.contact_endpoint,
                    origin=application.origin,
                )
            )

    def objection(self, application: Application) -> PeerError:
        """Return E043 for an applicant that was not approved. `pending` tells it that coming again may help."""
        applicant = self._applicant(application)
        if applicant is None:
            return PeerError(
                "E043",
                "too many wait for the operator's approval; register again later",
                {"pending": True},
            )
        context = {"applicant_id": applicant.applicant_id}
        if applicant.rejected:
            return PeerError(
                "E043",
                f"the operator rejected this registration ({applicant.applicant_id})",
                context,
            )
        sentence = f"waiting for the operator's approval, as {applicant.applicant_id}; register again later"
        if application.role == "referee" and self._ledger.settings.enrolment != "approve":
            sentence += f", or show the enrolment key{self.key_remark(application)}"
        return PeerError("E043", sentence, {"pending": True, **context})

    def key_remark(self, application: Application) -> str:
        """Say so if a referee shows the enrolment key of earlier days."""
        meta = application.meta
        if isinstance(meta, RefereeMeta) and is_retired(self.context.secrets, ENROLMENT_KEY, meta.enrolment_key):
            return "; the operator has replaced the one you showed"
        return ""

    def _applicant(self, application: Application) -> Applicant | None:
        """Return who applied at this endpoint, by the name it came with or by the one that it got."""
        applicants = self._ledger.roster.applicants
        meta = application.meta
        for name in (application.asked_name, meta.display_name):
            applicant = applicants.find(application.role, name, meta.contact_endpoint, application.origin)
            if applicant is not None:
                return applicant
        return None
