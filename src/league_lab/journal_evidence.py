"""Journals as evidence for the promises."""

from __future__ import annotations

from league.reports.journals import manager_after, read_all
from league.storage import urls
from league.storage.notices import JournalError
from league_lab.promises import Evidence


def evidence(location: str) -> Evidence:
    """Read a journal, or all journals of a folder."""
    path = urls.parse(location).path
    journals = read_all(path, None, letters=False)
    if not journals.has_events and path.is_dir():
        raise JournalError(f"there is no journal in {path}")
    if not journals.has_events:
        raise JournalError(f"{path} holds no event")
    referees = {agent_id: journal.events for agent_id, journal in journals.referees.items()}
    if journals.path is None:
        return Evidence(referees=referees, players=journals.players)
    league = manager_after(journals.manager, path)
    return Evidence(
        manager=journals.manager,
        referees=referees,
        players=journals.players,
        finished=league.is_finished,
        waiting=league.waiting,
    )
