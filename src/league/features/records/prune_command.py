"""`league prune`: remove the letters of matches that are over from transcripts.

A transcript grows with every message. No result rests on it: proofs, records of matches and the chain of digests are in
the events, which stay as they are. What is lost is the course of a match, message by message. So letters stay as long
as somebody may have to look into them: while a match has no result, and if a player objects to the one it was told.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from league.cli.source import journal_errors
from league.terminal import USAGE, Command, CommandError, add_json_option, print_result
from league.terminal.tables import counted, plain

if TYPE_CHECKING:
    from league.events import Event
    from league.storage.reading import JournalReader
    from league.storage.transcripts.pruning import Pruning
    from league.storage.urls import Place

DAY_S = 86400.0
MATCHES_NAMED = 8


class Pruned(NamedTuple):
    """A journal, and the letters that go from it."""

    place: Place
    pruning: Pruning


def _configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("journal", metavar="JOURNAL", help="a journal, or the folder of a league's journals")
    parser.add_argument(
        "--older-than",
        metavar="DAYS",
        type=float,
        default=0.0,
        help="only letters that are older than this (default: 0, all)",
    )
    parser.add_argument("--dry-run", action="store_true", help="say what would be removed, and remove nothing")
    add_json_option(parser)


def _prune(args: argparse.Namespace) -> int:
    from league.storage import urls
    from league.storage.group_commit import KeptJournal

    # NaN is refused too.
    if not args.older_than >= 0:
        raise CommandError("--older-than takes a number of days, 0 or more", USAGE)
    now = time.time()
    before = now - args.older_than * DAY_S
    with journal_errors(), ExitStack() as opened:
        # All are locked before the first is changed, and before it is decided what may go.
        places = _places(urls.parse(args.journal))
        journals = [opened.enter_context(_open(place, args.dry_run)) for place in places]
        kept = _unsettled_matches(journals)
        pruned = [Pruned(journal.place, journal.plan_pruning(before, kept)) for journal in journals]
        for journal, (_, pruning) in zip(journals, pruned, strict=True):
            if pruning.letters and not args.dry_run:
                assert isinstance(journal, KeptJournal)
                journal.prune(pruning, now, _remark(pruning, now))
    print_result(args.json, _document(pruned, kept, args.dry_run), _lines(pruned, kept, args.dry_run))
    return 0


def _places(place: Place) -> Sequence[Place]:
    from league.storage.formats import FORMAT
    from league.storage.opening import journals_at, stored_format

    places = journals_at(place)
    if not places:
        raise CommandError(f"there is no journal in {place}")
    for journal_place in places:
        if stored_format(journal_place) != FORMAT:
            raise CommandError(f"{journal_place} has an older format; run league migrate first")
    return places


def _open(place: Place, is_dry: bool) -> JournalReader:
    """Open a journal; to prune it, nobody else may write it."""
    from league.storage.notices import JournalInUseError
    from league.storage.opening import open_for_writing
    from league.storage.reading import open_for_reading

    if is_dry:
        return open_for_reading(place)
    try:
        return open_for_writing(place, lambda _: None)
    except JournalInUseError as error:
        raise CommandError(f"{error}; stop that process first, nothing was removed") from error


def _remark(pruning: Pruning, now: float) -> str:
    day = datetime.fromtimestamp(now, UTC).date()
    return f"league prune removed {counted(pruning.letters, 'letter')} on {day}"


# --- matches whose letters stay ---------------------------------------------------------------------------------------


def _unsettled_matches(journals: Iterable[JournalReader]) -> frozenset[str]:
    """The matches without a result, and those to whose result a player objects, by any of the journals."""
    unsettled: set[str] = set()
    for journal in journals:
        unsettled.update(_unsettled_in(journal.place, list(journal.events())))
    return frozenset(unsettled)


def _unsettled_in(place: Place, events: Sequence[Event]) -> Iterator[str]:
    from league.events import LeagueCreated
    from league.reading.journals import manager_after

    if not events or not isinstance(events[0], LeagueCreated):
        yield from _open_at_member(events)
        return
    for match in manager_after(events, place).ledger.matches.values():
        if match.result is None:
            yield match.match_id


def _open_at_member(events: Iterable[Event]) -> Iterable[str]:
    """The matches that a referee or a player has begun and not finished, and those whose result a player objects to."""
    from league.events import (
        GameEnded,
        InvitationAnswered,
        MatchDropped,
        MatchMissed,
        MatchTaken,
        ReportSettled,
    )

    begun: dict[str, None] = {}
    doubted: dict[str, None] = {}
    for event in events:
        if isinstance(event, MatchTaken | InvitationAnswered):
            begun[event.match_id] = None
        elif isinstance(event, ReportSettled | MatchDropped | GameEnded | MatchMissed):
            begun.pop(event.match_id, None)
        if isinstance(event, GameEnded) and event.objection:
            doubted[event.match_id] = None
    return {**begun, **doubted}


# --- what is said about it --------------------------------------------------------------------------------------------


def _document(pruned: Sequence[Pruned], kept: frozenset[str], is_dry: bool) -> dict[str, object]:
    return {
        "dry_run": is_dry,
        "removed": sum(pruning.letters for _, pruning in pruned),
        "kept": sum(pruning.kept_letters for _, pruning in pruned),
        "bytes": sum(pruning.size for _, pruning in pruned),
        "matches": _unexplained(pruned),
        "kept_matches": sorted(kept),
        "journals": [
            {
                "journal": str(place),
                "removed": pruning.letters,
                "kept": pruning.kept_letters,
                "bytes": pruning.size,
            }
            for place, pruning in pruned
        ],
    }


def _unexplained(pruned: Sequence[Pruned]) -> list[str]:
    """The matches whose course can no longer be shown message by message."""
    matches = (match_id for _, pruning in pruned for match_id in pruning.matches)
    return list(dict.fromkeys(matches))


def _lines(pruned: Sequence[Pruned], kept: frozenset[str], is_dry: bool) -> Iterator[str]:
    verb = "would remove" if is_dry else "removed"
    for place, pruning in pruned:
        size = f"{pruning.size / 1e6:.1f} MB"
        yield f"{plain(place)}: {verb} {counted(pruning.letters, 'letter')} ({size}), kept {pruning.kept_letters}"
    matches = _unexplained(pruned)
    if matches:
        named = ", ".join(matches[:MATCHES_NAMED])
        if len(matches) > MATCHES_NAMED:
            named += f" and {len(matches) - MATCHES_NAMED} more"
        yield f"league explain no longer shows the messages of {counted(len(matches), 'match')}: {named}"
        yield "Results, proofs and the chain of digests are as before; league verify says that letters are gone."
    if kept:
        yield f"Letters of {counted(len(kept), 'match')} without a result, or with an objection, stay."


COMMANDS = (
    Command(
        "prune",
        "make journals smaller: remove the messages of matches that are over",
        """\
examples:
  league prune league-data/my_league --dry-run
  league prune league-data/my_league --older-than 30             letters of more than 30 days ago
  league prune 'postgresql://league@db/cup?schema=spring*'

Stop the manager, the referees and the players of these journals first: a journal that is in use is refused, and nothing
is removed. Letters of matches without a result, or with a result that a player objects to, stay.
Events stay, and with them results, proofs and the chain. Each journal is pruned as a whole or not at all: if the
command is interrupted, run it again. A transcript that had reached its limit continues when its agent is started again.
Earlier copies made by league backup still hold the letters.""",
        _configure,
        _prune,
    ),
)
