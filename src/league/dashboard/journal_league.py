"""The league in a journal, as its pages need it; and all of its pages as files of a folder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath

from league.dashboard import rendering
from league.dashboard.answers import Answering, AnswerLog
from league.dashboard.history_view import HistoryView, as_it_was
from league.dashboard.league_view import completed, league_view
from league.dashboard.match_view import match_page
from league.dashboard.player_view import player_page
from league.dashboard.rendering import SITE, SITE_BELOW, Renderer
from league.dashboard.statistics_view import statistics_view
from league.events import Event
from league.manager.league import LeagueManager
from league.reports.history import LeagueHistory
from league.reports.journals import Journals
from league.reports.match_facts import MatchFacts, facts_of
from league.reports.shared_files import File
from league.reports.statistics.analysis import analyse
from league.reports.statistics.observations import observe
from league.storage.reading import open_for_reading


class JournalLeague:
    """A manager replayed from its journal, with all journals at hand."""

    def __init__(self, manager: LeagueManager, journals: Journals, history: LeagueHistory) -> None:
        self.manager = manager
        self.history = history
        self._journals = journals

    @property
    def position(self) -> int:
        return self._journals.seq

    def facts(self, match_id: str) -> MatchFacts | None:
        return facts_of(match_id, self._journals)

    def records(self, player_id: str) -> Sequence[Event]:
        matches = set(self.manager.ledger.matches_of.get(player_id, ()))
        told = (event for one in self._journals.referees.values() for event in one.events)
        return [event for event in told if getattr(event, "match_id", None) in matches]

    def answering(self) -> Mapping[str, Answering]:
        log = AnswerLog()
        for one in self._journals.referees.values():
            log.add(one.events)
        return log.of_players()


def site(manager: LeagueManager, journals: Journals) -> Iterator[File]:
    """The dashboard as files that open without a server."""
    assert journals.path is not None, "the manager's journal is among them"
    with open_for_reading(journals.path) as journal:
        yield from _pages(JournalLeague(manager, journals, LeagueHistory(journal)))


def _pages(league: JournalLeague) -> Iterator[File]:
    manager, above, below = league.manager, Renderer(SITE), Renderer(SITE_BELOW)
    rounds = manager.ledger.finished_rounds
    statistics, history = statistics_view(analyse(observe(manager))), HistoryView(rounds, league.position)
    view = completed(league_view(manager), statistics, league.answering(), history)
    yield PurePosixPath("index.html"), above.league(view).encode()
    for round_id in range(1, rounds + 1):
        moment = league.history.after_round(round_id)
        assert moment is not None, "it is over"
        yield PurePosixPath("round", f"{round_id}.html"), below.league(as_it_was(moment, rounds)).encode()
    for name in rendering.ASSETS:
        yield PurePosixPath("assets", name), rendering.asset(name)
    for match_id in manager.ledger.matches:
        facts = league.facts(match_id)
        assert facts is not None, "the schedule has it"
        yield PurePosixPath("match", rendering.file_of(match_id)), below.match(match_page(facts)).encode()
    for player_id in manager.player_ids:
        page = player_page(manager, player_id, league.records(player_id))
        assert page is not None, "it is registered"
        yield PurePosixPath("player", rendering.file_of(player_id)), below.player(page).encode()
