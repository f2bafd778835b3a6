"""What agents by others ask that is no message of the documents (spec section 13.4): which matches a referee has, and
the table. `strict` knows none of it.
"""

from __future__ import annotations

from dataclasses import dataclass

from league.machine import Information, Inquiry
from league.manager.handovers import Handovers
from league.manager.ledger import Ledger
from league.manager.notices import Notices, columns, table
from league.manager.office import Office
from league.manager.roster import Member
from league.protocol.errors import PeerError, Violation


@dataclass(slots=True)
class Inquiries:
    """Nothing of what is told here is a secret: neither tokens nor choices of matches that are being played."""

    office: Office
    notices: Notices
    handovers: Handovers

    @property
    def _ledger(self) -> Ledger:
        return self.office.ledger

    def asker(self, inquiry: Inquiry, now: float) -> Member | None:
        """Who asks, if that matters: matches are told to the referee that has them, whoever else may know its id."""
        if self._ledger.settings.profile == "strict":
            raise PeerError("E036", f"there is no method {inquiry.method!r} here", requirement="RPC.method")
        if inquiry.method == "get_standings":
            return None
        member = self.office.identify(inquiry.params, now)
        if member.is_player:
            raise PeerError("E032", "matches are assigned to referees")
        detail = f"{inquiry.method} is a method of no document"
        self.office.record(member.agent_id, [Violation("E036", "method", detail, "RPC.method", lenient=True)], now)
        return member

    def answer(self, asker: Member | None, now: float) -> Information:
        """The table for everybody; for a referee what it was given and has not reported."""
        if asker is None:
            rows = [columns(row) for row in table(self._ledger)]
            return Information({"standings": rows, "current_round": self._ledger.current_round})
        matches = self.handovers.polled(asker, now)
        here = {"referee_endpoint": asker.endpoint, "status": "ASSIGNED"}
        return Information({"matches": [{**self.notices.spelled_out(one), **here} for one in matches]})
