"""The owners of the mailboxes at a manager."""

from __future__ import annotations

from league.hosting.serving import HostedAgent
from league.mailbox.post_office import Standing
from league.manager.league_manager import LeagueManager


class Owners:
    """The agents that have a mailbox at a manager."""

    def __init__(self, host: HostedAgent) -> None:
        self._host = host
        self._ids: dict[str, str] = {}

    def standing(self, name: str) -> Standing:
        """Tell whether the owner of this mailbox is a member."""
        if self._host.agent is None:
            return "unknown"
        machine = self._host.agent.machine
        assert isinstance(machine, LeagueManager)
        members = machine.ledger.roster.members
        member = members.get(self._ids.get(name, ""))
        if member is None or name not in member.endpoint:
            member = next((member for member in members.values() if name in member.endpoint), None)
            if member is None:
                return "stranger"
            self._ids[name] = member.agent_id
        return "withdrawn" if member.attendance.withdrawn else "member"
