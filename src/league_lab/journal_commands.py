"""`league verify` and `league replay`: a journal computed again."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING

from league.cli.source import journal_errors
from league.terminal import USAGE, Command, CommandError, add_json_option, print_result
from league.terminal import tables as terminal
from league.terminal.display import Style, paint

if TYPE_CHECKING:
    from league_lab.promises import Evidence, PromiseReport

# --- verify -----------------------------------------------------------------------------------------------------------


def _configure_verify(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("journal", metavar="JOURNAL", help="a journal, or a folder of journals")
    add_json_option(parser)


def _verify(args: argparse.Namespace) -> int:
    from league_lab.journal_evidence import evidence
    from league_lab.promises import check

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
    from league_lab.promises.event_history import in_force

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
    from league_lab.promises import PROMISES

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
)
