"""`league migrate`: bring journals of an older format up to date."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec

from league.cli.source import journal_errors
from league.terminal import Command, CommandError, add_json_option, print_result
from league.terminal import tables as terminal

if TYPE_CHECKING:
    from league.storage.urls import Place


class MigratedJournal(msgspec.Struct, frozen=True):
    """A journal, its format before and after, and the copy of it as it was."""

    journal: str
    old_format: int
    new_format: int
    backup: str | None


def _configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("journal", metavar="JOURNAL", help="a journal, or the folder of a league's journals")
    add_json_option(parser)


def _migrate(args: argparse.Namespace) -> int:
    with journal_errors():
        places = _places(args.journal)
        journals = [_migrated(place) for place in places]
    migrated = [journal for journal in journals if journal.backup is not None]
    result = {"migrated": len(migrated), "journals": msgspec.to_builtins(journals)}
    print_result(args.json, result, _lines(journals))
    return 0


def _places(location: str) -> Sequence[Place]:
    """The journals at a location. All are looked at before the first is changed."""
    from league.storage import urls
    from league.storage.opening import journals_at, stored_format

    place = urls.parse(location)
    places = journals_at(place)
    if not places:
        raise CommandError(f"there is no journal in {place}")
    for journal_place in places:
        stored_format(journal_place)
    return places


def _migrated(place: Place) -> MigratedJournal:
    from league.storage.formats import FORMAT
    from league.storage.opening import open_for_writing, stored_format

    # The journal of a running league is in use, but it is up to date too: nothing is locked to find that out.
    if stored_format(place) == FORMAT:
        return MigratedJournal(str(place), FORMAT, FORMAT, None)
    # Whoever opens a journal to write it brings it up to date.
    with open_for_writing(place, lambda _: None) as journal:
        upgrade = journal.upgrade
    if upgrade is None:
        return MigratedJournal(str(place), FORMAT, FORMAT, None)
    return MigratedJournal(str(place), upgrade.old_format, FORMAT, str(upgrade.backup))


def _lines(journals: Sequence[MigratedJournal]) -> Iterator[str]:
    for journal in journals:
        name = terminal.plain(journal.journal)
        if journal.backup is None:
            yield f"{name}: nothing to do, it is in format {journal.new_format}"
        else:
            backup = terminal.plain(journal.backup)
            yield f"{name}: migrated from format {journal.old_format} to {journal.new_format}; backup: {backup}"


COMMANDS = (
    Command(
        "migrate",
        "bring a journal of an older version up to date",
        """\
examples:
  league migrate league-data/my_league/journal.db
  league migrate league-data/my_league                           all journals of a folder

Managers, referees and players do the same when they start on such a journal. A copy is made beside the journal first:
journal.db.format-4. It holds the league's secrets too. Reports read older journals without changing them.""",
        _configure,
        _migrate,
    ),
)
