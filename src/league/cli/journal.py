"""`league verify`, `replay`, `export`, `backup`: what is done with the journal of a league."""

from __future__ import annotations

import argparse
import csv
import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from league.cli import USAGE, Command, CommandError, add_json_option, journal_errors, print_result, terminal
from league.hosting.display import Style, paint

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
    from league.promises.history import in_force

    return [result.match_id for result in in_force(evidence.manager) if not result.verified]


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


_STYLES = {"kept": Style.GOOD, "broken": Style.BAD, "unobservable": Style.WARNING}


def _verified_lines(evidence: Evidence, report: PromiseReport) -> Iterator[str]:
    from league.promises import PROMISES

    sentences = {one.number: one.sentence for one in PROMISES}
    for one in report.findings:
        yield f"{one.promise:2}  {paint(f'{one.verdict:12}', _STYLES[one.verdict])}  {sentences[one.promise]}"
        if one.verdict != "kept":
            where = f" ({one.where})" if one.where else ""
            yield f"    {'':12}  {terminal.plain(one.detail + where)}"
    yield from _unseen_lines(report)
    if unverified := _unverified(evidence):
        yield f"\n{terminal.unverified(unverified)}"
    events, matches = _counted(evidence)
    journals = bool(evidence.manager) + len(evidence.referees) + len(evidence.players)
    sizes = {"journal": journals, "event": events, "match": matches}
    broken = len(report.broken)
    verdict = paint("no promise is broken", Style.GOOD)
    if broken:
        verdict = paint(f"{terminal.counted(broken, 'promise')} BROKEN", Style.BAD)
    yield f"\n{', '.join(terminal.counted(number, what) for what, number in sizes.items())}: {verdict}"


_JOURNALS = (
    "verify the folder that holds the journals of all referees (league referee --journal DIR/referee-1.db …, or a copy "
    "made by league backup DIR COPY/)"
)
_LATER = "verify again when the league is over"
_SIMULATION = "no journal shows it; league simulate plays leagues in which it is watched"
_NEVER = "there is nothing to see in this league"
_HOW_TO_SEE = (("journal", _JOURNALS), ("finished", _LATER), ("schedule", _LATER), ("never held", _NEVER))


def _unseen_lines(report: PromiseReport) -> Iterator[str]:
    """What could not be looked at, and how to make it visible."""
    unseen: dict[str, list[str]] = {}
    for one in report.findings:
        if one.verdict == "unobservable":
            how = next((told for word, told in _HOW_TO_SEE if word in one.detail), _SIMULATION)
            unseen.setdefault(how, []).append(str(one.promise))
    if unseen:
        yield "\nnot seen here:"
    for how, promises in unseen.items():
        yield f"  {', '.join(promises)}: {how}"


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
    groups = "with csv: a class list, a line NAME,GROUP for each student, for the column `group` of grades.csv"
    parser.add_argument("--groups", metavar="FILE", type=Path, help=groups)
    add_json_option(parser)


def _export(args: argparse.Namespace) -> int:
    from league.dashboard.journal_league import site
    from league.reports import exports
    from league.reports.journals import read_journals, replay
    from league.reports.shared_files import ExportError, write_files

    if args.groups and args.format != "csv":
        raise CommandError("--groups is for grades.csv: it goes with --format csv", USAGE)
    tables = partial(exports.as_csv, groups=_class_list(args.groups) if args.groups else None)
    formats: dict[str, exports.Export] = {
        "shared": exports.shared,
        "csv": tables,
        "json": exports.as_json,
        "site": site,
    }
    try:
        with journal_errors():
            journals = read_journals(args.journal, letters=args.format in ("shared", "site"))
            if journals.path is None:
                raise CommandError(f"{args.journal} holds no manager's journal; a league is exported from that")
            manager = replay(str(journals.path), journals.seq).manager
            written = write_files(Path(args.to), formats[args.format](manager, journals))
    except ExportError as error:
        raise CommandError(str(error)) from error
    line = f"{terminal.counted(len(written), 'file')} written to {terminal.plain(args.to)}"
    print_result(args.json, {"format": args.format, "to": args.to, "files": written}, [line])
    return 0


def _class_list(file: Path) -> dict[str, str]:
    """The names of a class list with their groups; a line of another shape is an error."""
    groups: dict[str, str] = {}
    try:
        with file.open(encoding="utf-8-sig", newline="") as stream:
            for number, row in enumerate(csv.reader(stream), 1):
                cells = [cell.strip() for cell in row]
                if any(cells) and (len(cells) != 2 or not cells[0] or cells[0] in groups):
                    what = "names somebody again" if cells[0] in groups else "is not NAME,GROUP"
                    raise CommandError(f"{file}: line {number} {what}", USAGE)
                if any(cells):
                    groups[cells[0]] = cells[1]
    except (OSError, ValueError, csv.Error) as error:
        raise CommandError(f"{file} cannot be read: {getattr(error, 'strerror', None) or error}", USAGE) from error
    return groups


# --- backup -----------------------------------------------------------------------------------------------------------


def _configure_backup(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("journal", metavar="JOURNAL", help="a journal, or the folder of a league's journals")
    parser.add_argument("file", metavar="FILE", help="the copy; a folder (COPY/) takes all journals of a folder")
    parser.add_argument("--force", action="store_true", help="replace FILE if it is there")
    add_json_option(parser)


def _backup(args: argparse.Namespace) -> int:
    from league.storage.files import open_readable

    target = Path(args.file)
    try:
        with journal_errors():
            copies = _copies(args.journal, args.file)
            for source, copy in copies.items():
                open_readable(source).close()
                _refuse(source, copy, args.force)
            for source, copy in copies.items():
                copy.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                _copy(source, copy)
    except OSError as error:
        raise CommandError(f"{target} cannot be written: {error.strerror or error}") from error
    sizes = {copy: copy.stat().st_size for copy in copies.values()}
    told = {"journal": str(next(iter(copies))), "file": str(target), "bytes": sum(sizes.values())}
    print_result(args.json, {**told, "files": list(map(str, sizes))}, _backup_lines(args.journal, copies, sizes))
    return 0


def _copies(location: str, target: str) -> dict[Path, Path]:
    """What is copied where. The manager's journal comes first: what it knows by then, its referees' hold too."""
    from league.reports.journals import manager_file
    from league.storage import urls

    folder, first, into = urls.parse(location).path, manager_file(location), Path(target)
    if not folder.is_dir() or not (into.is_dir() or target.endswith(("/", os.sep))):
        return {first: into}
    if into.is_dir() and into.samefile(folder):
        raise CommandError(f"{into} is a folder, and that of the journals itself")
    return {one: into / one.name for one in (first, *(one for one in sorted(folder.glob("*.db")) if one != first))}


def _backup_lines(location: str, copies: dict[Path, Path], sizes: dict[Path, int]) -> Iterator[str]:
    for source, copy in copies.items():
        yield f"{terminal.plain(source)} copied to {terminal.plain(copy)}, {terminal.counted(sizes[copy], 'byte')}"
    left = [one for one in Path(location).glob("*.db") if one not in copies]
    if left:
        others = terminal.counted(len(left), "other journal")
        yield f"{others} of the folder not copied: name a folder (COPY/) to take all"


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
  league export league-data/my_league --to tables --format csv     standings.csv, matches.csv, agents.csv, grades.csv
  league export league-data/my_league --to tables --format csv --groups class.csv
  league export league-data/my_league/journal.db --to out --format json
  league export league-data/my_league --to site --format site      the dashboard: open site/index.html

Files that are there are replaced. No token and no secret is ever written. Transcripts need the referees' journals
beside the manager's. grades.csv is for a spreadsheet (UTF-8 with a byte order mark): names, groups, ranks, points; who
is on the class list and did not take part is in it without a rank.""",
        _configure_export,
        _export,
    ),
    Command(
        "backup",
        "make a consistent copy of a journal, also of a running league",
        """\
examples:
  league backup league-data/my_league/journal.db journal-copy.db
  league backup league-data/my_league journal-copy.db --force    the manager's alone
  league backup league-data/my_league copy/                      its referees' too, each under its name

A league can go on from the copy, so it holds the league's secrets: it is readable by its owner alone. Keep it so.""",
        _configure_backup,
        _backup,
    ),
)
