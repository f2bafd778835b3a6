"""`league verify` and `league replay`: a journal computed again."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from league.cli.source import journal_errors
from league.terminal import USAGE, Command, CommandError, add_json_option, print_result
from league.terminal import tables as terminal
from league.terminal.display import Style, paint

if TYPE_CHECKING:
    from league.features.audit.audit import Audit
    from league.features.audit.journal_evidence import LeagueJournals
    from league.features.audit.promises import PromiseReport
    from league.features.audit.signed_rounds import SignedRounds

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
        help="your own player's journal: what it says is held against the others",
    )
    parser.add_argument(
        "--head",
        metavar="HEX",
        help="a head of the manager's chain that you kept; fails if the journal does not contain it",
    )
    parser.add_argument(
        "--key",
        metavar="HEX",
        help="the manager's key, from its page or its registration answer; fails if another key signed this",
    )
    parser.add_argument(
        "--require",
        choices=["proven"],
        help="fail unless every match was played and is proven, and a key that you know signed all rounds",
    )
    add_json_option(parser)


def _verify(args: argparse.Namespace) -> int:
    from league.features.audit.audit import audit
    from league.features.audit.journal_evidence import add_player

    head = _digits(args.head, "--head: a head")
    key = _digits(args.key, "--key: a key")
    with journal_errors():
        journals = _journals(args.journal)
        if args.player:
            add_player(journals, args.player)
        outcome = audit(journals, head, key)
    missing = list(_missing(outcome)) if args.require == "proven" else []
    is_good = not outcome.problems and not missing
    print_result(args.json, _audited(outcome, is_good), _audit_lines(outcome, missing))
    return 0 if is_good else 1


def _digits(text: str | None, what: str) -> str | None:
    """Return 64 hexadecimal digits as we write them."""
    if text is not None and not _DIGITS.fullmatch(text.lower()):
        raise CommandError(f"{what} has 64 hexadecimal digits", USAGE)
    return text and text.lower()


def _missing(outcome: Audit) -> Iterator[str]:
    """Return what is missing before everything is proven."""
    if outcome.unproven:
        yield f"not proven: {', '.join(outcome.unproven)}"
    if not outcome.statuses:
        yield "no match was played"
    if not outcome.rounds.is_finished:
        yield f"of {outcome.rounds.rounds} rounds, {outcome.rounds.signed} are signed, and the league is not over"
    if not outcome.rounds.is_pinned:
        yield "nobody here knows the manager's key: name it (--key), or add the journal of a player (--player)"


def _journals(location: str) -> LeagueJournals:
    from league.features.audit.bundle import is_bundle, read_bundle
    from league.features.audit.journal_evidence import read_league

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
    return [match_id for match_id, status in outcome.statuses.items() if status == "by_referee"]


def _audited(outcome: Audit, is_good: bool) -> dict[str, object]:
    counts = _counts(outcome)
    first = outcome.problems[0] if outcome.problems else None
    head = outcome.journals.head
    return {
        "ok": is_good,
        "chain": "broken" if outcome.chain_problems else "whole",
        "head": head and head.digest.hex(),
        "key": outcome.rounds.key or None,
        "pinned": outcome.rounds.is_pinned,
        "events": counts.events,
        "matches": counts.matches,
        "results": outcome.results,
        "suspicious": outcome.suspicious,
        "contradictions": [contradiction._asdict() for contradiction in outcome.contradictions],
        "objections": [objection._asdict() for objection in outcome.objections],
        "promises": {str(finding.promise): finding.verdict for finding in outcome.promises.findings},
        "first_broken": first and first._asdict(),
        "by_word": _by_word(outcome),
    }


_DIGITS = re.compile(r"[0-9a-f]{64}")
_STYLES = {"kept": Style.GOOD, "broken": Style.BAD, "unobservable": Style.WARNING}


def _audit_lines(outcome: Audit, missing: Sequence[str]) -> Iterator[str]:
    for problem in outcome.chain_problems:
        yield f"{paint('chain broken', Style.BAD)}  {terminal.plain(f'{problem.where}: {problem.detail}')}"
    yield from _promise_lines(outcome.promises)
    yield from _unseen_lines(outcome.promises)
    for contradiction in outcome.contradictions:
        place = f"{contradiction.match_id or 'league'}: {contradiction.detail} ({contradiction.where})"
        yield f"\n{paint('contradicted', Style.BAD)}  {terminal.plain(place)}"
    for objection in outcome.objections:
        words = f"{objection.match_id}: {objection.player_id} was told a result, but {objection.why}"
        yield f"\n{paint('objection', Style.WARNING)}  {terminal.plain(words)}"
    yield from _result_lines(outcome)
    for reason in missing:
        yield f"\n{paint('required', Style.BAD)}  {terminal.plain(reason)}"
    yield from _summary_lines(outcome)


def _promise_lines(report: PromiseReport) -> Iterator[str]:
    from league.features.audit.promises import PROMISES

    sentences = {promise.number: promise.sentence for promise in PROMISES}
    for finding in report.findings:
        verdict = paint(f"{finding.verdict:12}", _STYLES[finding.verdict])
        yield f"{finding.promise:2}  {verdict}  {sentences[finding.promise]}"
        if finding.verdict != "kept":
            where = f" ({finding.where})" if finding.where else ""
            yield f"    {'':12}  {terminal.plain(finding.detail + where)}"


def _result_lines(outcome: Audit) -> Iterator[str]:
    from league.reading.evidence_words import WORDS

    by_word = _by_word(outcome)
    if by_word:
        yield f"\n{terminal.by_word(by_word)}"
    if outcome.statuses:
        yield "\nresults:"
    for status, words in WORDS.items():
        if outcome.results[status]:
            yield f"  {outcome.results[status]:5}  {words}"
    if outcome.suspicious:
        matches = terminal.plain(", ".join(outcome.suspicious))
        yield f"\n{paint('suspicious', Style.WARNING)}  {matches}: both players sign, and neither did"


def _summary_lines(outcome: Audit) -> Iterator[str]:
    head = outcome.journals.head
    if head is not None:
        yield f"\nhead of the manager's chain: event {head.seq}, {head.digest.hex()}"
    yield from _key_lines(outcome.rounds)
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
    signer = ""
    if not outcome.rounds.is_pinned:
        signer = paint("signed by an unknown key" if outcome.rounds.key else "not signed", Style.WARNING) + "; "
    yield f"\n{', '.join(sizes)}: {signer}{verdict}"


def _key_lines(rounds: SignedRounds) -> Iterator[str]:
    if not rounds.key:
        return
    source = next((pin.source for pin in rounds.pins if pin.key == rounds.key), "")
    known = f", known from {source}" if source else "; nothing here says that it is the manager's: compare it (--key)"
    yield f"\nkey of the manager: {rounds.key}{terminal.plain(known)}"
    uncovered = f"; not signed yet: {terminal.plain(', '.join(rounds.uncovered))}" if rounds.uncovered else ""
    yield f"signed: {rounds.signed} of {terminal.counted(rounds.rounds, 'round')}{uncovered}"


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
    from league.reading import views
    from league.reading.journals import replay

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
  league verify spring.bundle --key 03a1…            a bundle from a stranger must be signed with the key that you know
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
