"""The two sources of a league's documents: the pages of a running manager, or a journal. Both have the same ones."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import quote, unquote

from league.terminal import USAGE, CommandError, add_json_option
from league.terminal.addresses import agent_url, usual_manager

if TYPE_CHECKING:
    from league.manager.league_manager import LeagueManager

MATCHES = "/api/matches/"


class LeagueSource(Protocol):
    """A source of documents about a league."""

    def get(self, path: str) -> Any:
        """The document at this path of the API; None if there is none."""


@contextmanager
def journal_errors() -> Iterator[None]:
    """Let the command fail with the journal's own sentence if the journal cannot be read."""
    from league.storage.notices import JournalError

    try:
        yield
    except JournalError as error:
        raise CommandError(str(error)) from error


def add_manager_option(parser: argparse.ArgumentParser) -> None:
    """Add `--manager`."""
    parser.add_argument(
        "--manager",
        metavar="URL",
        help="a running manager (default: LEAGUE_MANAGER, otherwise http://127.0.0.1:8000)",
    )


def add_operator_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of an order: the manager, and the folder of its admin token."""
    add_manager_option(parser)
    parser.add_argument(
        "--state",
        metavar="DIR",
        help="the folder where the manager keeps its admin token (default: LEAGUE_ADMIN_TOKEN is used)",
    )


def manager_url(typed: str | None) -> str:
    """The URL of the manager: the one typed, otherwise the usual one."""
    url = typed or usual_manager()
    try:
        return agent_url(url)
    except ValueError as error:
        sentence = f"{url!r} is not the address of a manager, which looks like http://127.0.0.1:8000"
        raise CommandError(sentence, USAGE) from error


def add_source_options(parser: argparse.ArgumentParser, with_json: bool = True) -> None:
    """Add the options of a command that looks at a league."""
    add_manager_option(parser)
    parser.add_argument("--journal", metavar="URL", help="a journal, or its folder, instead of a running manager")
    if with_json:
        add_json_option(parser)


def add_match_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of a command that looks at a match."""
    parser.add_argument("match_id", metavar="MATCH_ID", help="the match, such as R1M1")
    add_source_options(parser)


def source_of(args: argparse.Namespace) -> LeagueSource:
    """The source that the options name."""
    if args.manager and args.journal:
        raise CommandError("give --manager or --journal, not both", USAGE)
    if args.journal:
        return JournalPages(args.journal)
    from league.cli.pages import Pages  # imported here because a journal needs no HTTP

    return Pages(args.manager)


def match_in(source: LeagueSource, match_id: str) -> Any:
    """The document of a match (Any: JSON); None if there is no such match."""
    return source.get(f"{MATCHES}{quote(match_id, safe='')}")


class JournalPages:
    """The documents that a manager would show of the league in a journal."""

    def __init__(self, location: str) -> None:
        from league.reports.journals import replay

        with journal_errors():
            self._replayed = replay(location)

    def get(self, path: str) -> Any:
        from league.reports import views

        manager = self._replayed.manager
        if path.startswith(MATCHES):
            return views.match(manager, unquote(path.removeprefix(MATCHES)))
        if path in views.PAGES:
            # The same functions that a running manager answers with.
            return views.PAGES[path](manager, self._replayed.seq)
        return _document(path.removeprefix("/api/"), manager)


def _document(view_name: str, manager: LeagueManager) -> Any:
    """The document of a feature's view; None if there is no such view (Any: JSON)."""
    from league.features import ViewRow, every
    from league.hosting.background import document_of

    for row in every(ViewRow):
        if row.name == view_name:
            return document_of(row, manager)
    return None
