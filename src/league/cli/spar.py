"""`league spar`: friendly matches against a player that need not be registered, ending in an explanation."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from league.cli import USAGE, CommandError, add_json_option, print_json, tables

if TYPE_CHECKING:
    from league.events import Event
    from league.hosting.players import Entrant
    from league.hosting.sparring import Sparring
    from league.reports.bouts import Bout, Timing
    from league.reports.sparring import Finding, Report, Summary

NAME = "spar"
HELP = "play friendly matches against a player, registered or not, and explain what happened"
EXAMPLE = """\
examples:
  league spar http://127.0.0.1:8101
  league spar http://127.0.0.1:8101/mcp --against frequency,mirror --matches 50
  league spar http://127.0.0.1:8101/mcp --move-seconds 5 --journal friendly.db

The player only has to run: no league, no manager, no registration. A referee and the opponents run in here, by the
rules and limits of a league; the player hears of nothing but these matches. Opponents are named as for
`league player --strategy`. After two technical losses in a row the rest is not played.

exit status: 0 all matches were played without a technical loss of the player, 1 not, 2 wrong usage"""
JOURNAL = "sparring.db"
INTERRUPTED = 130


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLE
    parser.add_argument("url", metavar="URL", help="where the player takes requests; /mcp is added if there is no path")
    parser.add_argument(
        "--against", metavar="NAME", default="random", help="the opponents, with commas (default: random)"
    )
    parser.add_argument("--matches", metavar="N", type=int, default=20, help="how many matches (default: 20)")
    parser.add_argument("--game", default="even_odd", help="what is played (default: even_odd)")
    parser.add_argument(
        "--move-seconds", metavar="S", type=_seconds, help="how long a player may think about a move (default: 30)"
    )
    parser.add_argument("--profile", choices=("compat", "strict"), default="compat", help="as for `league referee`")
    parser.add_argument("--journal", metavar="FILE", help="keep the referee's journal here, for `league explain`")
    parser.add_argument("--seed", type=int, metavar="N", help="repeat the choices of a built-in opponent")
    parser.add_argument("--id", default="", help="the id to call the player by (default: P01)")
    parser.add_argument("--league-id", default="sparring", help="for a player that is registered in a league elsewhere")
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen at (default: 127.0.0.1)")
    parser.add_argument(
        "--time-scale", metavar="N", type=_seconds, default=1.0, help="let time run so many times faster (for tests)"
    )
    add_json_option(parser)


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.01 <= value <= 1e6:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 0.01 to 1000000")
    return value


def run(args: argparse.Namespace) -> int:
    from league.hosting.serving import run_loop

    endpoint, opponents = _endpoint(args.url), _opponents(args)
    _check(args)
    with TemporaryDirectory(prefix="league-spar-") as folder:
        journal = _journal(args.journal) if args.journal else str(Path(folder, JOURNAL))
        plan = _plan(args, endpoint, opponents, journal)
        return run_loop(partial(_spar, args, plan))


# --- what was asked for -----------------------------------------------------------------------------------------------


def _endpoint(url: str) -> str:
    from league.protocol.fields import RULES

    whole = url if "://" in url else f"http://{url}"
    try:
        parts = urlsplit(whole)
        usable = parts.scheme in ("http", "https") and parts.hostname is not None
    except ValueError:
        usable = False
    if usable and not parts.path.strip("/"):
        whole = f"{parts.scheme}://{parts.netloc}/mcp"
    if not usable or RULES["url"](whole) is not None:
        raise CommandError(f"{url!r} is no http address; try http://127.0.0.1:8101/mcp", USAGE)
    return whole


def _opponents(args: argparse.Namespace) -> tuple[Entrant, ...]:
    from league.hosting.players import load

    return tuple(load(one.strip()) for one in args.against.split(","))


def _check(args: argparse.Namespace) -> None:
    from league.games import registry
    from league.hosting.players import HUMAN
    from league.hosting.sparring import MOST_MATCHES

    if not 1 <= args.matches <= MOST_MATCHES:
        raise CommandError(f"--matches: from 1 to {MOST_MATCHES}, not {args.matches}", USAGE)
    if registry.find(args.game) is None:
        raise CommandError(f"there is no game {args.game!r}; there are {', '.join(registry.known())}", USAGE)
    if args.json and HUMAN in args.against.split(","):
        raise CommandError("--json prints nothing but a document, so it cannot ask a human", USAGE)
    if not args.league_id:
        raise CommandError("--league-id: a league has a name", USAGE)


def _journal(location: str) -> str:
    """A new file: in an old one the referee would take up old matches."""
    from league.storage import urls
    from league.storage.notices import JournalError

    try:
        path = urls.parse(location).path
    except JournalError as error:
        raise CommandError(str(error), USAGE) from error
    if path.exists():
        raise CommandError(f"{path} exists already; friendly matches need a new journal")
    return location


def _plan(args: argparse.Namespace, endpoint: str, opponents: tuple[Entrant, ...], journal: str) -> Sparring:
    from league.hosting.sparring import Sparring
    from league.hosting.sparring_host import GUEST_ID
    from league.machine import Address

    plan = Sparring(
        guest=Address(args.id or GUEST_ID, endpoint),
        league_id=args.league_id,
        game_type=args.game,
        opponents=opponents,
        matches=args.matches,
        journal=journal,
        move_seconds=args.move_seconds,
        profile=args.profile,
        seed=args.seed,
        host=args.host,
        time_scale=args.time_scale,
    )
    if plan.guest.agent_id in plan.names:
        raise CommandError(f"--id: {plan.guest.agent_id} is an opponent here", USAGE)
    return plan


# --- playing ----------------------------------------------------------------------------------------------------------


class _Screen:
    """Shows each match when it is over, and at once what goes wrong in it: a silent player takes its time to lose."""

    def __init__(self, plan: Sparring) -> None:
        self._plan = plan

    def begun(self) -> None:
        plan = self._plan
        titles = ", ".join(one.title for one in plan.opponents)
        counted = tables.counted(plan.matches, "friendly match")
        print(tables.plain(f"{counted} of {plan.game_type}: {plan.guest.endpoint} against {titles}"), flush=True)

    def happened(self, event: Event) -> None:
        from league.reports.bouts import trouble_in

        trouble = trouble_in(event, self._plan.guest.agent_id)
        if trouble is not None:
            print(tables.plain(f"    {trouble}"), flush=True)

    def ended(self, place: int, events: Sequence[Event]) -> None:
        from league.reports.bouts import bout_of

        bout = bout_of(events, self._plan.guest.agent_id, self._plan.names)
        width = len(str(self._plan.matches))
        print(tables.plain(f"{place:>{width}}/{self._plan.matches}  {_line(bout)}"), flush=True)


class _Silence:
    """For `--json`."""

    def begun(self) -> None: ...

    def happened(self, event: Event) -> None: ...

    def ended(self, place: int, events: Sequence[Event]) -> None: ...


def _line(bout: Bout) -> str:
    if bout.fault is not None:
        return f"{bout.outcome}: {bout.fault}"
    said = f"you {_chosen(bout.choices)}, {bout.opponent} {_chosen(bout.opponent_choices)}"
    number = f", the number was {bout.number}" if bout.number is not None else ""
    return f"{bout.outcome:<5}  {said}{number}"


def _chosen(choices: Sequence[str]) -> str:
    return " ".join(choices) or "nothing"


async def _spar(args: argparse.Namespace, plan: Sparring, stop: asyncio.Event) -> int:
    from league.hosting.sparring import spar

    host = await spar(plan, _Silence() if args.json else _Screen(plan), stop)
    ended = "stopped" if host.gave_up else "played" if host.is_over else "interrupted"
    report = _report(plan)
    if args.json:
        print_json(_document(args, plan, ended, report))
    else:
        from league.reports.letters import masked

        print("\n".join(tables.plain(masked(line)) for line in _told(args, plan, ended, report)), flush=True)
    if ended == "interrupted":
        raise CommandError(f"interrupted after {tables.counted(report.summary.played, 'match')}", INTERRUPTED)
    return 0 if ended == "played" and not report.summary.technical_losses else 1


def _report(plan: Sparring) -> Report:
    """All from the journal: what was not written down is not claimed."""
    from league.reports.journals import Journals, read_journals
    from league.reports.sparring import report
    from league.storage.notices import JournalError

    try:
        journals = read_journals(plan.journal)
    except JournalError:
        journals = Journals()  # interrupted before the first match
    return report(journals, plan.guest.agent_id, plan.names)


def _document(args: argparse.Namespace, plan: Sparring, ended: str, report: Report) -> object:
    import msgspec

    from league.reports.letters import clean

    document: dict[str, Any] = {
        "player": plan.guest.endpoint,
        "player_id": plan.guest.agent_id,
        "game_type": plan.game_type,
        "against": [one.title for one in plan.opponents],
        "planned": plan.matches,
        "ended": ended,
        **msgspec.to_builtins(report.summary),
        "matches": msgspec.to_builtins(report.bouts),
        "explained": report.explanation.match_id if report.explanation else None,
        "explanation": msgspec.to_builtins(report.explanation),
        "journal": args.journal,
    }
    return clean(document)


# --- text -------------------------------------------------------------------------------------------------------------


def _told(args: argparse.Namespace, plan: Sparring, ended: str, report: Report) -> Iterator[str]:
    from league.cli.explain import told

    summary, bouts, explanation = report.summary, report.bouts, report.explanation
    if explanation is None:
        return
    if ended == "stopped" and summary.played < plan.matches:
        left = tables.counted(plan.matches - summary.played, "match")
        yield f"Stopped after two technical losses in a row: {left} not played. Mend this first, then spar again."
    yield ""
    yield from _results(summary, bouts)
    yield from ("", "Response times in seconds:", *_times(summary.response_times))
    if summary.choices:
        yield from ("", f"Your choices: {_spread(summary.choices)}")
    for number, finding in enumerate(summary.findings, start=1):
        yield from ("", *_finding(number, finding, summary.played))
    if summary.hints:
        yield from ("", "Worth knowing:", *(f"  - {one}" for one in summary.hints))
    yield from ("", f"--- {_why(bouts, explanation.match_id)} ---", *told(explanation))
    if args.journal:
        example = f"league explain {bouts[0].match_id} --journal {args.journal}"
        yield from ("", f"The first match: {example}; those that follow count on from it.")


def _results(summary: Summary, bouts: Sequence[Bout]) -> Iterator[str]:
    """One row for each opponent, and all together."""
    head = ("against", "played", "won", "drawn", "lost", "technical losses", "points")
    rows: list[list[object]] = []
    for opponent in dict.fromkeys(one.opponent for one in bouts):
        mine = [one for one in bouts if one.opponent == opponent]
        counts = [sum(one.outcome in kinds for one in mine) for kinds in _KINDS]
        rows.append([opponent, len(mine), *counts, sum(one.points for one in mine)])
    if len(rows) > 1:
        won = summary.won + summary.technical_wins
        counts = [won, summary.drawn, summary.lost, summary.technical_losses]
        rows.append(["all", summary.played, *counts, summary.points])
    yield from tables.table(head, rows)


_KINDS = (("won", "technical win"), ("drawn",), ("lost",), ("technical loss",))


def _times(timings: Sequence[Timing]) -> list[str]:
    head = ("call", "limit", "answered", "not", "min", "median", "max")
    return [f"  {line}" for line in tables.table(head, [_timing(one) for one in timings])]


def _timing(one: Timing) -> list[object]:
    spread = ("–" if value is None else f"{value:.3f}" for value in (one.least, one.median, one.most))
    return [one.call, f"{one.limit_s:g}", one.answered, one.unanswered, *spread]


def _spread(choices: Mapping[str, int]) -> str:
    return ", ".join(f"{choice} {count}" for choice, count in choices.items())


def _finding(number: int, one: Finding, played: int) -> Iterator[str]:
    place = f" [{one.clause}]" if one.clause else ""
    title = f"{one.code} {one.name}" if one.name != one.code else one.code
    often = f"in {len(one.matches)} of {tables.counted(played, 'match')}"
    yield f"To change, {number}: {title}{place}, {often}; it cost {one.cost}"
    yield f"  {one.sentence}"
    yield f"  What to change: {one.advice}"


def _why(bouts: Sequence[Bout], match_id: str) -> str:
    bout = next(one for one in bouts if one.match_id == match_id)
    place = [one.match_id for one in bouts].index(match_id) + 1
    which = {"technical loss": "the first technical loss", "lost": "the last match you lost"}
    return f"Match {place} in detail, {which.get(bout.outcome, 'the last one')}"
