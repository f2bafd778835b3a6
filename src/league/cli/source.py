"""The two sources of a league's documents: the pages of a running manager, or a journal. Both have the same ones."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import quote, unquote

from league.terminal import USAGE, CommandError, add_json_option
from league.terminal.addresses import agent_urls, usual_manager

if TYPE_CHECKING:
    from league.manager.league_manager import LeagueManager

MATCHES = "/api/matches/"
_HOST_AND_PORT = re.compile(r"(localhost|[^/:]+:[0-9]+|\[[0-9a-f:]+\]:[0-9]+)(/.*)?")


class LeagueSource(Protocol):
    """A source of documents about a league."""

    def get(self, path: str) -> Any:
        """The document at this path of the API; None if there is none."""


UNFIT_VALUES = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, AssertionError, RecursionError)
"""What goes wrong when a report meets a value that no league of ours writes."""


@contextmanager
def journal_errors() -> Iterator[None]:
    """Let the command fail with a sentence about the journal if it cannot be read or shown.

    A journal may come from a stranger, and a value that no league of ours writes may stand anywhere in it.
    """
    from league.storage.notices import JournalError

    try:
        yield
    except JournalError as error:
        raise CommandError(str(error)) from error
    except UNFIT_VALUES as error:
        if "LEAGUE_TRACEBACK" in os.environ:
            raise
        sentence = f"the journal holds something that cannot be shown here ({type(error).__name__}: {str(error)[:200]})"
        advice = "'league verify' says what is wrong with it; LEAGUE_TRACEBACK=1 shows where it was met"
        raise CommandError(f"{sentence}; {advice}") from error


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
    """The URL of the manager: the one typed, otherwise the usual one. Of several, the first that works."""
    url = typed or usual_manager()
    try:
        urls = agent_urls(url).split(",")
    except ValueError as error:
        sentence = f"{url!r} is not the address of a manager, which looks like http://127.0.0.1:8000"
        raise CommandError(sentence, USAGE) from error
    if len(urls) == 1:
        return urls[0]
    from league.cli.pages import is_ready

    return next(filter(is_ready, urls), urls[0])


def add_source_options(parser: argparse.ArgumentParser, with_json: bool = True) -> None:
    """Add the options of a command that looks at a league."""
    add_manager_option(parser)
    parser.add_argument("--journal", metavar="URL", help="a journal, or its folder, instead of a running manager")
    if with_json:
        add_json_option(parser)


def add_league_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of a command that looks at a league, which may also be named without an option."""
    parser.add_argument("source", nargs="?", metavar="JOURNAL|URL", help="short for --journal or --manager")
    add_source_options(parser)


def add_match_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of a command that looks at a match."""
    parser.add_argument("match_id", metavar="MATCH_ID", help="the match, such as R1M1")
    add_league_options(parser)


def add_agent_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of a command that looks at all agents of a league, or at one of them."""
    parser.add_argument("agent_id", nargs="?", metavar="AGENT", help="all about this agent, such as P08")
    add_league_options(parser)


def source_of(args: argparse.Namespace) -> LeagueSource:
    """The source that the options or the argument name."""
    settle_source(args)
    if args.journal:
        return JournalPages(args.journal)
    from league.cli.pages import Pages  # imported here because a journal needs no HTTP

    return Pages(args.manager)


def settle_source(args: argparse.Namespace) -> None:
    """Put a league that was named without an option under the option that it stands for."""
    if args.manager and args.journal:
        raise CommandError("give --manager or --journal, not both", USAGE)
    _swap_arguments(args)
    league = getattr(args, "source", None)
    if not league:
        return
    if args.manager or args.journal:
        raise CommandError("name the league once: with JOURNAL|URL, --manager or --journal", USAGE)
    if _is_address(league):
        args.manager = league
    else:
        args.journal = league
    args.source = None


def _swap_arguments(args: argparse.Namespace) -> None:
    """Take a match or an agent and a league in either order, and a league without an agent."""
    for name in ("match_id", "agent_id"):
        first = getattr(args, name, None)
        if first is None or not _is_league(first):
            continue
        second = args.source
        if second is None and name == "match_id":
            raise CommandError(f"name the match too, such as R1M1; {first} is a league", USAGE)
        args.source = first
        setattr(args, name, second)


def _is_league(text: str) -> bool:
    """True for the address of a manager or the place of a journal, and not for an id."""
    return _is_address(text) or "/" in text or Path(text).exists()


def _is_address(text: str) -> bool:
    """True for the address of an agent, with or without its scheme; anything else is a journal."""
    if text.startswith(("http://", "https://")):
        return True
    # A file may have any name.
    return _HOST_AND_PORT.fullmatch(text) is not None and not Path(text).exists()


def match_in(source: LeagueSource, match_id: str) -> Any:
    """The document of a match (Any: JSON); None if there is no such match."""
    return source.get(f"{MATCHES}{quote(match_id, safe='')}")


class JournalPages:
    """The documents that a manager would show of the league in a journal."""

    def __init__(self, location: str) -> None:
        from league.reading.journals import replay

        with journal_errors():
            self._replayed = replay(location)

    def get(self, path: str) -> Any:
        with journal_errors():
            return self._document(path)

    def _document(self, path: str) -> Any:
        from league.reading import views

        manager = self._replayed.manager
        if path.startswith(MATCHES):
            return views.match(manager, unquote(path.removeprefix(MATCHES)))
        if path in views.PAGES:
            # The same functions that a running manager answers with.
            return views.PAGES[path](manager, self._replayed.seq)
        return _document(path.removeprefix("/api/"), manager)


def _document(view_name: str, manager: LeagueManager) -> Any:
    """The document of a feature's view; None if there is no such view (Any: JSON)."""
    from league.hosting.background import document_of
    from league.rows import ViewRow, every

    for row in every(ViewRow):
        if row.name == view_name:
            return document_of(row, manager)
    return None
