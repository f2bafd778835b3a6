"""`league verify`, `replay`, `export`, `backup`: what is done with the journal of a league."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from league.cli import USAGE, Command, CommandError, add_json_option, journal_errors, print_result, terminal

if TYPE_CHECKING:
    from league.promises import Evidence, PromiseReport

FORMATS = ("shared", "csv", "json", "site")

# --- verify -----------------------------------------------------------------------------------------------------------


def _configure_verify(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("journal", metavar="JOURNAL", help="a journal, or a folder of journals")
    add_json_option(parser)


def _verify(args: argparse.Namespace) -> int:
    from league.promises import check
    from league.reports.journals import evidence

    with journal_errors():
        found = evidence(args.journal)
    report = check(found)
    print_result(args.json, _verified(found, report), _verified_lines(found, report))
    return 1 if report.broken else 0


def _counted(evidence: Evidence) -> tuple[int, int]:
    """Events in all journals, and matches with a result."""
    from league.events import MatchDecided, ResultAccepted, WalkoverDecided

    others = [*evidence.referees.values(), *evidence.players.values()]
    results = [event for event in evidence.manager if isinstance(event, ResultAccepted | WalkoverDecided)]
    decided = [event for one in evidence.referees.values() for event in one if isinstance(event, MatchDecided)]
    matches = {event.match_id for event in (results if evidence.manager else decided)}
    return len(evidence.manager) + sum(map(len, others)), len(matches)


def _unverified(evidence: Evidence) -> list[str]:
    """The matches whose result in force rests on its referee's word."""
    from league.events import ResultAccepted, ResultVoided

    in_force: dict[str, bool] = {}
    for event in evidence.manager:
        if isinstance(event, ResultAccepted):
            in_force[event.match_id] = event.verified
        elif isinstance(event, ResultVoided):
            in_force.pop(event.match_id, None)
    return [match_id for match_id, is_verified in in_force.items() if not is_verified]


def _verified(evidence: Evidence, report: PromiseReport) -> dict[str, object]:
    events, matches = _counted(evidence)
    broken = report.broken[0] if report.broken else None
    return {
        "ok": not report.broken,
        "events": events,
        "matches": matches,
        "promises": {str(one.promise): one.verdict for one in report.findings},
        "first_broken": broken and {"promise": broken.promise, "detail": broken.detail, "where": broken.where},
        "unverified": _unverified(evidence),
    }


def _verified_lines(evidence: Evidence, report: PromiseReport) -> Iterator[str]:
    from league.promises import PROMISES

    sentences = {one.number: one.sentence for one in PROMISES}
    for one in report.findings:
        yield f"{one.promise:2}  {one.verdict:12}  {sentences[one.promise]}"
        if one.verdict != "kept":
            where = f" ({one.where})" if one.where else ""
            yield f"    {'':12}  {terminal.plain(one.detail + where)}"
    if unverified := _unverified(evidence):
        yield f"\n{terminal.unverified(unverified)}"
    events, matches = _counted(evidence)
    journals = bool(evidence.manager) + len(evidence.referees) + len(evidence.players)
    sizes = {"journal": journals, "event": events, "match": matches}
    broken = len(report.broken)
    verdict = f"{terminal.counted(broken, 'promise')} BROKEN" if broken else "no promise is broken"
    yield f"\n{', '.join(terminal.counted(number, what) for what, number in sizes.items())}: {verdict}"


# --- replay -----------------------------------------------------------------------------------------------------------


def _configure_replay(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("journal", metavar="JOURNAL", help="the manager's journal, or the folder it is in")
    parser.add_argument("--until", type=int, metavar="SEQ", help="the last event to replay (default: all)")
    add_json_option(parser)


def _replay(args: argparse.Namespace) -> int:
    from league.reports import views
    from league.reports.journals import replay

    if args.until is not None and args.until < 1:
        raise CommandError("--until: events are numbered from 1", USAGE)
    with journal_errors():
        replayed = replay(args.journal, args.until)
    league = views.league(replayed.manager, replayed.seq)
    table = views.standings(replayed.manager)
    shown = {"seq": replayed.seq, "events": replayed.events, "digest": replayed.digest}
    lines = [
        *terminal.render_standings(table),
        f"\n{league['league_id']} after event {replayed.seq} of {replayed.events}: {terminal.progress(league)}",
        f"digest {replayed.digest}",
    ]
    print_result(args.json, {**shown, "league": league, "standings": table["standings"]}, lines)
    return 0


# --- export -----------------------------------------------------------------------------------------------------------


def _configure_export(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("journal", metavar="JOURNAL", help="the manager's journal, or the folder of all journals")
    parser.add_argument("--to", metavar="DIR", required=True, help="the folder to write into; made if it is missing")
    parser.add_argument("--format", choices=FORMATS, default="shared", help="which files (default: shared)")
    add_json_option(parser)


def _export(args: argparse.Namespace) -> int:
    from league.reports import exports
    from league.reports.journals import read_journals, replay
    from league.reports.shared_files import ExportError, write_files

    if args.format == "site":
        raise CommandError("the dashboard as static pages is not in this version; use shared, csv or json", USAGE)
    made = {"shared": exports.shared, "csv": exports.as_csv, "json": exports.as_json}[args.format]
    try:
        with journal_errors():
            journals = read_journals(args.journal, letters=args.format == "shared")
            if journals.path is None:
                raise CommandError(f"{args.journal} holds no manager's journal; a league is exported from that")
            manager = replay(str(journals.path), journals.seq).manager
            written = write_files(Path(args.to), made(manager, journals))
    except ExportError as error:
        raise CommandError(str(error)) from error
    line = f"{terminal.counted(len(written), 'file')} written to {terminal.plain(args.to)}"
    print_result(args.json, {"format": args.format, "to": args.to, "files": written}, [line])
    return 0


# --- backup -----------------------------------------------------------------------------------------------------------


def _configure_backup(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("journal", metavar="JOURNAL", help="a journal, or the folder of the manager's")
    parser.add_argument("file", metavar="FILE", help="the copy")
    parser.add_argument("--force", action="store_true", help="replace FILE if it is there")
    add_json_option(parser)


def _backup(args: argparse.Namespace) -> int:
    from league.reports.journals import manager_file
    from league.storage.files import open_readable

    target = Path(args.file)
    try:
        with journal_errors():
            source = manager_file(args.journal)
            open_readable(source).close()
            _refuse(source, target, args.force)
            _copy(source, target)
    except OSError as error:
        raise CommandError(f"{target} cannot be written: {error.strerror or error}") from error
    size = target.stat().st_size
    line = f"{terminal.plain(source)} copied to {terminal.plain(target)}, {terminal.counted(size, 'byte')}"
    print_result(args.json, {"journal": str(source), "file": str(target), "bytes": size}, [line])
    return 0


def _refuse(source: Path, target: Path, force: bool) -> None:
    if target.is_dir():
        raise CommandError(f"{target} is a folder; name a file")
    if not target.exists():
        return
    if target.samefile(source):
        raise CommandError(f"{target} is the journal itself")
    if not force:
        raise CommandError(f"{target} exists already; --force replaces it")


def _copy(source: Path, target: Path) -> None:
    """What is there is replaced only by a copy that is whole."""
    from league.storage.files import backup

    if not target.exists():
        backup(source, target)
        return
    fresh = target.with_name(f"{target.name}.new")
    fresh.unlink(missing_ok=True)
    backup(source, fresh)
    # The log of the file that is replaced must never be read into the new one.
    for companion in (Path(f"{target}-wal"), Path(f"{target}-shm")):
        companion.unlink(missing_ok=True)
    fresh.replace(target)


COMMANDS = (
    Command(
        "verify",
        "check every draw, result, table and promise of a journal",
        """\
examples:
  league verify league-data/my_league              the manager's journal and its referees', if they are there
  league verify league-data/my_league/journal.db   the manager's alone

exit status: 0 nothing is broken, 1 a promise is, or the journal cannot be read""",
        _configure_verify,
        _verify,
    ),
    Command(
        "replay",
        "show a league as it was at any point of its journal",
        """\
examples:
  league replay league-data/my_league
  league replay league-data/my_league/journal.db --until 40 --json

The digest is of the whole state: the same journal up to the same event gives the same digest, on any machine.""",
        _configure_replay,
        _replay,
    ),
    Command(
        "export",
        "write a league as files for other tools",
        """\
examples:
  league export league-data/my_league --to shared-files            the files of section 8.14, one for each match
  league export league-data/my_league --to tables --format csv     standings.csv, matches.csv, agents.csv
  league export league-data/my_league/journal.db --to out --format json

Files that are there are replaced. No token and no secret is ever written. Transcripts need the referees' journals
beside the manager's.""",
        _configure_export,
        _export,
    ),
    Command(
        "backup",
        "make a consistent copy of a journal, also of a running league",
        """\
examples:
  league backup league-data/my_league/journal.db journal-copy.db
  league backup league-data/my_league journal-copy.db --force

A league can go on from the copy, so it holds the league's secrets: it is readable by its owner alone. Keep it so.""",
        _configure_backup,
        _backup,
    ),
)
