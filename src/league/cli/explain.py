"""`league explain`: why a match ended so."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from urllib.parse import quote

from league.cli import CommandError, looking, print_json

if TYPE_CHECKING:
    from league.reports.case import Case
    from league.reports.chronicle import Attempt
    from league.reports.explain import Explanation
    from league.reports.faults import Fault

NAME = "explain"
HELP = "tell why a match ended so: every message, attempt, time and fault, in words"
EXAMPLE = """\
examples:
  league explain R1M1 --journal league-data/my_league        manager's and referees' journals: the whole story
  league explain R1M1 --manager http://127.0.0.1:8000        what a running manager shows
  league explain R1M1 --journal league-data/my_league --json

Clauses are named by requirement and section of spec/league-v2.md. No token is ever shown."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLE
    parser.add_argument("match_id", metavar="MATCH_ID", help="the match, such as R1M1")
    looking.configure(parser)


def run(args: argparse.Namespace) -> int:
    from league.reports.explain import explain
    from league.reports.letters import clean, masked

    explanation = explain(_case(args))
    if args.json:
        import msgspec

        print_json(clean(msgspec.to_builtins(explanation)))
        return 0
    from league.cli import tables

    for line in told(explanation):
        print(tables.plain(masked(line)))
    return 0


def _case(args: argparse.Namespace) -> Case:
    found = _in_journals(args) if args.journal and not args.manager else _on_pages(args)
    if found is None:
        raise CommandError(f"there is no match {args.match_id!r} in this league (E014 MATCH_NOT_FOUND)")
    return found


def _in_journals(args: argparse.Namespace) -> Case | None:
    from league.reports.case import case_of
    from league.reports.journals import read_journals
    from league.storage.notices import JournalError

    try:
        return case_of(args.match_id, read_journals(args.journal, args.match_id))
    except JournalError as error:
        raise CommandError(str(error)) from error


def _on_pages(args: argparse.Namespace) -> Case | None:
    from league.reports.case import case_of_page

    source = looking.source_of(args)
    match = source.get(f"/api/matches/{quote(args.match_id, safe='')}")
    if match is None:
        return None
    league, agents = source.get("/api/league"), source.get("/api/agents")["agents"]
    try:
        return case_of_page(match, league, agents)
    except (KeyError, TypeError, AttributeError) as error:
        raise CommandError(f"the pages of this manager cannot be read: {error!r}") from error


# --- text -------------------------------------------------------------------------------------------------------------


def told(one: Explanation) -> Iterator[str]:
    """An explanation, line by line."""
    names = [f"{player} ({one.names[player]})" if one.names[player] != player else player for player in one.players]
    yield f"{one.match_id}: {' against '.join(names)}, {one.game_type}, round {one.round_id} of {one.league_id}"
    yield ""
    yield f"Verdict: {one.verdict.outcome}"
    yield from (f"  {sentence}" for sentence in one.verdict.why)
    if one.verdict.clauses:
        yield f"  Clauses: {'; '.join(map(str, one.verdict.clauses))}"
    for fault in one.verdict.faults:
        yield from _advice("What to change", fault)
    for fault in one.verdict.stumbles:
        yield ""
        yield f"On the way: {fault.sentence}."
        yield from _advice("What to change", fault)
    if one.draw is not None:
        yield from ("", f"Draw: {one.draw.sentence}", f"  Check it yourself: {one.draw.command}")
    for attempt in one.attempts:
        yield ""
        yield from _course(attempt, one.started_at)
    if one.remarks:
        yield from ("", "Remarks:", *(f"  {remark}" for remark in one.remarks))


def _advice(title: str, fault: Fault) -> Iterator[str]:
    yield ""
    yield f"{title} ({fault.player_id}, {fault.code}):"
    yield f"  {fault.advice}"
    if fault.right_answer:
        yield f"  A right answer, inside the JSON-RPC result: {fault.right_answer}"
        yield "  Try yours: league validate answer.json"


def _course(attempt: Attempt, started_at: float) -> Iterator[str]:
    title = f"Attempt {attempt.attempt}, referee {attempt.referee_id}" if attempt.attempt else "Before"
    begin = datetime.fromtimestamp(started_at, UTC)
    yield f"{title} (seconds since {begin:%Y-%m-%d %H:%M:%S} UTC)"
    for line in attempt.lines:
        clause = f" [{line.clause}]" if line.clause else ""
        indent = "    " if line.kind == "letter" else ""
        yield f"  {line.after:+9.3f}  {indent}{line.text}{clause}"
        if line.kind == "event" and line.body:
            yield f"  {'':9}      it had said: {line.body[:600]}"
