"""`league verify` and `league replay`: a journal computed again."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from league.cli.source import journal_errors
from league.terminal import USAGE, Command, CommandError, add_json_option, print_result
from league.terminal import tables as terminal
from league.terminal.display import Style, paint

if TYPE_CHECKING:
    from league_audit.audit import Audit
    from league_audit.journal_evidence import LeagueJournals
    from league_audit.promises import PromiseReport

# --- verify -----------------------------------------------------------------------------------------------------------


def _configure_verify(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "journal",
        metavar="FOLDER|BUNDLE|URL",
        help="a folder of journals, a journal, or a bundle",
    )
    parser.add_argument(
        "--player",
        metavar="FILE",
        help="your own player's journal: its matches are checked with your own key",
    )
    parser.add_argument(
        "--head",
        metavar="HEX",
        help="a head of the manager's chain that you kept; fails if the journal does not contain it",
    )
    parser.add_argument(
        "--require",
        choices=["proven"],
        help="fail unless every result is proven",
    )
    add_json_option(parser)


def _verify(args: argparse.Namespace) -> int:
    from league_audit.audit import audit
    from league_audit.journal_evidence import add_player

    head = args.head and args.head.lower()
    if head and not _HEAD.fullmatch(head):
        raise CommandError("--head: a head has 64 hexadecimal digits", USAGE)
    with journal_errors():
        journals = _journals(args.journal)
        if args.player:
            add_player(journals, args.player)
        outcome = audit(journals, head)
    is_missing_proof = args.require == "proven" and bool(outcome.unproven)
    is_good = not outcome.problems and not is_missing_proof
    print_result(args.json, _audited(outcome, is_good), _audit_lines(outcome, is_missing_proof))
    return 0 if is_good else 1


def _journals(location: str) -> LeagueJournals:
    from league_audit.bundle import is_bundle, read_bundle
    from league_audit.journal_evidence import read_league

    if is_bundle(Path(location)):
        return read_bundle(Path(location))
    return read_league(location)


class _Counts(NamedTuple):
    """What was read."""

    journals: int
    events: int
    matches: int


def _counts(outcome: Audit) -> _Counts:
    from league.events import MatchDecided

    evidence = outcome.evidence
    members = [*evidence.referees.values(), *evidence.players.values()]
    matches = set(outcome.statuses)
    if not evidence.manager:
        matches = {event.match_id for journal in members for event in journal if isinstance(event, MatchDecided)}
    events = len(evidence.manager) + sum(map(len, members))
    return _Counts(len(outcome.journals.journals), events, len(matches))


def _by_word(outcome: Audit) -> list[str]:
    """The matches whose results nobody but their referees stands for."""
    from league.reports.evidence_words import BY_WORD

    return [match_id for match_id, status in outcome.statuses.items() if status in BY_WORD]


def _audited(outcome: Audit, is_good: bool) -> dict[str, object]:
    counts = _counts(outcome)
    first = outcome.problems[0] if outcome.problems else None
    head = outcome.journals.head
    return {
        "ok": is_good,
        "chain": "broken" if outcome.chain_problems else "whole",
        "head": head and head.digest.hex(),
        "events": counts.events,
        "matches": counts.matches,
        "results": outcome.results,
        "unchecked": outcome.unchecked,
        "keys": outcome.journals.keys_are or None,
        "contradictions": [contradiction._asdict() for contradiction in outcome.contradictions],
        "protests": [protest._asdict() for protest in outcome.protests],
        "promises": {str(finding.promise): finding.verdict for finding in outcome.promises.findings},
        "first_broken": first and first._asdict(),
        "by_word": _by_word(outcome),
    }


_HEAD = re.compile(r"[0-9a-f]{64}")
_STYLES = {"kept": Style.GOOD, "broken": Style.BAD, "unobservable": Style.WARNING}


def _audit_lines(outcome: Audit, is_missing_proof: bool) -> Iterator[str]:
    for problem in outcome.chain_problems:
        yield f"{paint('chain broken', Style.BAD)}  {terminal.plain(f'{problem.where}: {problem.detail}')}"
    yield from _promise_lines(outcome.promises)
    yield from _unseen_lines(outcome.promises)
    for contradiction in outcome.contradictions:
        place = f"{contradiction.match_id or 'league'}: {contradiction.detail} ({contradiction.where})"
        yield f"\n{paint('contradicted', Style.BAD)}  {terminal.plain(place)}"
    for protest in outcome.protests:
        words = f"{protest.match_id}: {protest.player_id} says: {protest.why}"
        if not protest.received:
            words += " (only its own journal has this protest)"
        yield f"\n{paint('protested', Style.WARNING)}  {terminal.plain(words)}"
    yield from _result_lines(outcome)
    if is_missing_proof:
        yield f"\n{paint('not proven', Style.BAD)}: {terminal.plain(', '.join(outcome.unproven))}"
    yield from _summary_lines(outcome)


def _promise_lines(report: PromiseReport) -> Iterator[str]:
    from league_audit.promises import PROMISES

    sentences = {promise.number: promise.sentence for promise in PROMISES}
    for finding in report.findings:
        verdict = paint(f"{finding.verdict:12}", _STYLES[finding.verdict])
        yield f"{finding.promise:2}  {verdict}  {sentences[finding.promise]}"
        if finding.verdict != "kept":
            where = f" ({finding.where})" if finding.where else ""
            yield f"    {'':12}  {terminal.plain(finding.detail + where)}"


def _result_lines(outcome: Audit) -> Iterator[str]:
    from league.reports.evidence_words import WORDS

    by_word = _by_word(outcome)
    if by_word:
        yield f"\n{terminal.by_word(by_word)}"
    if outcome.statuses:
        yield "\nresults:"
    for status, words in WORDS.items():
        if outcome.results[status]:
            yield f"  {outcome.results[status]:5}  {words}"
    if outcome.journals.keys_are:
        yield f"\nreceipts: {terminal.plain(outcome.journals.keys_are)}"
    if outcome.unchecked:
        yield f"\nnot checked, because there are no keys: the receipts of {', '.join(outcome.unchecked)}"


def _summary_lines(outcome: Audit) -> Iterator[str]:
    head = outcome.journals.head
    if head is not None:
        yield f"\nhead of the manager's chain: event {head.seq}, {head.digest.hex()}"
    counts = _counts(outcome)
    sizes = [terminal.counted(number, name.removesuffix("s")) for name, number in counts._asdict().items()]
    sizes[-1] = terminal.counted(counts.matches, "match")
    verdict = paint("no promise is broken", Style.GOOD)
    if outcome.chain_problems:
        verdict = paint("the chain is BROKEN", Style.BAD)
    elif outcome.contradictions:
        verdict = paint("CONTRADICTED", Style.BAD)
    elif outcome.promises.broken:
        verdict = paint(
            f"{terminal.counted(len(outcome.promises.broken), 'promise')} BROKEN",
            Style.BAD,
        )
    yield f"\n{', '.join(sizes)}: {verdict}"


_JOURNALS = (
    "verify the folder that holds the journals of all referees (league referee --journal DIR/referee-1.db …, or a copy "
    "made by league backup DIR COPY/)"
)
_LATER = "verify again when the league is over"
_SIMULATION = "no journal shows it; league simulate plays leagues in which it is watched"
_NEVER = "there is nothing to see in this league"
_HOW_TO_SEE = (
    ("journal", _JOURNALS),
    ("finished", _LATER),
    ("schedule", _LATER),
    ("never held", _NEVER),
)


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
    parser.add_argument(
        "journal",
        metavar="JOURNAL",
        help="the manager's journal, or the folder it is in",
    )
    parser.add_argument(
        "--until",
        type=int,
        metavar="SEQ",
        help="the last event to replay (default: all)",
    )
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
        shown = {
            "seq": replayed.seq,
            "events": replayed.events,
            "digest": replayed.digest,
        }
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
        "check the chain, the results and every promise of a league from its journals",
        """\
examples:
  league verify league-data/my_league                the manager's journal, its referees' and players' in the folder
  league verify league-data/my_league/journal.db     the manager's alone
  league verify league-data/my_league --head 3f0c…   a head from the final table must be in the chain
  league verify spring.bundle --player player.db     a bundle from a stranger, with your own key for your matches

exit status: 0 nothing is wrong, 1 a chain or a promise is broken, or journals contradict each other""",
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
