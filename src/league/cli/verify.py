"""`league verify`: recompute every draw, result, table and promise from the journal."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from league.cli import CommandError, add_json_option, print_json

if TYPE_CHECKING:
    from league.promises import Evidence, Report

NAME = "verify"
HELP = "check every draw, result, table and promise of a journal"
EXAMPLE = """\
examples:
  league verify league-data/my_league              the manager's journal and its referees', if they are there
  league verify league-data/my_league/journal.db   the manager's alone

exit status: 0 nothing is broken, 1 a promise is, or the journal cannot be read"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLE
    parser.add_argument("journal", metavar="JOURNAL", help="a journal, or a folder of journals")
    add_json_option(parser)


def run(args: argparse.Namespace) -> int:
    from league.promises import check
    from league.reports.replaying import evidence
    from league.storage.notices import JournalError

    try:
        found = evidence(args.journal)
    except JournalError as error:
        raise CommandError(str(error)) from error
    report = check(found)
    if args.json:
        print_json(_document(found, report))
    else:
        _tell(found, report)
    return 1 if report.broken else 0


def _counted(evidence: Evidence) -> tuple[int, int]:
    """Events in all journals, and matches with a result."""
    from league.events import MatchDecided, ResultAccepted, WalkoverDecided

    others = [*evidence.referees.values(), *evidence.players.values()]
    results = [event for event in evidence.manager if isinstance(event, ResultAccepted | WalkoverDecided)]
    decided = [event for one in evidence.referees.values() for event in one if isinstance(event, MatchDecided)]
    matches = {event.match_id for event in (results if evidence.manager else decided)}
    return len(evidence.manager) + sum(map(len, others)), len(matches)


def _document(evidence: Evidence, report: Report) -> dict[str, object]:
    events, matches = _counted(evidence)
    broken = report.broken[0] if report.broken else None
    return {
        "ok": not report.broken,
        "events": events,
        "matches": matches,
        "promises": {str(one.promise): one.verdict for one in report.findings},
        "first_broken": broken and {"promise": broken.promise, "detail": broken.detail, "where": broken.where},
    }


def _tell(evidence: Evidence, report: Report) -> None:
    from league.cli import tables
    from league.promises import PROMISES

    sentences = {one.number: one.sentence for one in PROMISES}
    for one in report.findings:
        print(f"{one.promise:2}  {one.verdict:12}  {sentences[one.promise]}")
        if one.verdict != "kept":
            where = f" ({one.where})" if one.where else ""
            print(f"    {'':12}  {tables.plain(one.detail + where)}")
    events, matches = _counted(evidence)
    journals = bool(evidence.manager) + len(evidence.referees) + len(evidence.players)
    broken = len(report.broken)
    verdict = f"{tables.counted(broken, 'promise')} BROKEN" if broken else "no promise is broken"
    sizes = (tables.counted(journals, "journal"), tables.counted(events, "event"), tables.counted(matches, "match"))
    print(f"\n{', '.join(sizes)}: {verdict}")
