"""The league in a journal, as its pages need it; and all of its pages as files of a folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import TypeVar

from league.events import Event
from league.features.dashboard import rendering
from league.features.dashboard.history_view import HistoryView, as_it_was
from league.features.dashboard.league_history import LeagueHistory
from league.features.dashboard.rendering import SITE, SITE_BELOW, Renderer
from league.features.dashboard.sections import sections_of
from league.features.dashboard.views.answer_times import AnswerLog, AnswerSummary
from league.features.dashboard.views.league_view import completed, league_view
from league.features.dashboard.views.match_view import match_page
from league.features.dashboard.views.player_view import player_page
from league.features.records.match_facts import MatchFacts, facts_from_ledger
from league.features.records.shared.shared_files import File
from league.manager.league_manager import LeagueManager
from league.reading.journals import Journals
from league.storage.reading import open_for_reading

Shown = TypeVar("Shown")


class JournalLeague:
    """The source of a dashboard: a manager replayed from its journal, with all journals at hand."""

    is_live = False
    address = ""

    def __init__(self, manager: LeagueManager, journals: Journals, history: LeagueHistory) -> None:
        self.history = history
        self._manager = manager
        self._journals = journals

    @property
    def position(self) -> int:
        return self._journals.seq

    async def shown(self, show: Callable[[LeagueManager], Shown]) -> Shown | None:
        return show(self._manager)

    async def facts(self, match_id: str) -> MatchFacts | None:
        return facts_from_ledger(match_id, self._manager.ledger, self._journals)

    async def records(self, player_id: str) -> Sequence[Event]:
        return _records(self._manager, self._journals, player_id)

    async def answering(self) -> Mapping[str, AnswerSummary]:
        return _answering(self._journals)

    async def changed(self) -> None:
        """It never does."""

    async def watch(self, match_id: str) -> None:
        """It is over."""


def _records(manager: LeagueManager, journals: Journals, player_id: str) -> Sequence[Event]:
    """The referees' records of the matches of a player."""
    matches = set(manager.ledger.matches_of.get(player_id, ()))
    records = []
    for journal in journals.referees.values():
        # Events of other matches, and those of none, do not concern the player.
        records += [event for event in journal.events if getattr(event, "match_id", None) in matches]
    return records


def _answering(journals: Journals) -> Mapping[str, AnswerSummary]:
    log = AnswerLog()
    for journal in journals.referees.values():
        log.add(journal.events)
    return log.of_players()


# --- the exported site ------------------------------------------------------------------------------------------------


def site(manager: LeagueManager, journals: Journals) -> Iterator[File]:
    """The dashboard as files that open without a server."""
    assert journals.place is not None, "the manager's journal is among them"
    with open_for_reading(journals.place) as journal:
        yield from _league_pages(manager, journals, LeagueHistory(journal))
    for name in rendering.ASSETS:
        yield PurePosixPath("assets", name), rendering.asset(name)
    yield from _pages_below(manager, journals)


def _league_pages(manager: LeagueManager, journals: Journals, history: LeagueHistory) -> Iterator[File]:
    """The league as it is, and as it was after each round."""
    rounds = manager.ledger.finished_rounds
    now = HistoryView(rounds, journals.seq)
    sections = sections_of(manager)
    view = completed(league_view(manager), sections, _answering(journals), now)
    yield _file(Renderer(SITE).league(view), "index.html")
    # The pages of the past are a folder deeper, so their links go up first.
    below = Renderer(SITE_BELOW)
    for round_id in range(1, rounds + 1):
        moment = history.after_round(round_id)
        assert moment is not None, "it is over"
        page = below.league(as_it_was(moment, rounds))
        yield _file(page, "round", f"{round_id}.html")


def _pages_below(manager: LeagueManager, journals: Journals) -> Iterator[File]:
    """A page for each match and each player."""
    renderer = Renderer(SITE_BELOW)
    for match_id in manager.ledger.matches:
        facts = facts_from_ledger(match_id, manager.ledger, journals)
        assert facts is not None, "the schedule has it"
        page = renderer.match(match_page(facts))
        yield _file(page, "match", rendering.file_of(match_id))
    for player_id in manager.player_ids:
        records = _records(manager, journals, player_id)
        player = player_page(manager, player_id, records)
        assert player is not None, "it is registered"
        page = renderer.player(player)
        yield _file(page, "player", rendering.file_of(player_id))


def _file(page: str, *place: str) -> File:
    return PurePosixPath(*place), page.encode()
