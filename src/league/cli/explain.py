"""`league explain`: why a match ended so."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from league.cli import CommandError, journal_errors, print_result, terminal
from league.cli.source import add_match_argument, add_source_options, match_in, source_of
from league.hosting.display import Style, paint

if TYPE_CHECKING:
    from league.reports.explain import Explanation
    from league.reports.faults import PlayerFault
    from league.reports.match_facts import MatchFacts
    from league.reports.timeline import TimelineAttempt

NAME = "explain"
HELP = "tell why a match ended so: every message, attempt, time and fault, in words"
EXAMPLE = """\
examples:
  league explain R1M1 --journal league-data/my_league        manager's and referees' journals: the whole story
  league explain R1M1 --manager http://127.0.0.1:8000        what a running manager shows
  league explain R1M1 --journal league-data/my_league --json

Clauses are named by requirement and section of spec/league-v2.md. No token is ever shown."""


VERDICT = "Verdict: "


def configure(parser: argparse.ArgumentParser) -> None:
    add_match_argument(parser)
    add_source_options(parser)


def run(args: argparse.Namespace) -> int:
    import msgspec

    from league.reports.explain import explain
    from league.reports.letters import clean

    explanation = explain(_case(args))
    lines = (
        paint(line, Style.STRONG) if line.startswith(VERDICT) else terminal.plain(line)
        for line in explanation_lines(explanation)
    )
    print_result(args.json, clean(msgspec.to_builtins(explanation)), lines)
    return 0


def _case(args: argparse.Namespace) -> MatchFacts:
    found = _in_journals(args) if args.journal and not args.manager else _on_pages(args)
    if found is None:
        raise CommandError(f"there is no match {args.match_id!r} in this league (E014 MATCH_NOT_FOUND)")
    return found


def _in_journals(args: argparse.Namespace) -> MatchFacts | None:
    from league.reports.journals import read_journals
    from league.reports.match_facts import facts_of

    with journal_errors():
        return facts_of(args.match_id, read_journals(args.journal, args.match_id))


def _on_pages(args: argparse.Namespace) -> MatchFacts | None:
    from league.reports.match_facts import facts_from_pages

    source = source_of(args)
    match = match_in(source, args.match_id)
    if match is None:
        return None
    league, agents = source.get("/api/league"), source.get("/api/agents")["agents"]
    try:
        return facts_from_pages(match, league, agents)
    except (KeyError, TypeError, AttributeError) as error:
        raise CommandError(f"the pages of this manager cannot be read: {error!r}") from error


# --- text -------------------------------------------------------------------------------------------------------------


def _shown(line: str) -> str:
    return paint(line, Style.STRONG) if line.startswith(VERDICT) else terminal.plain(line)


def explanation_lines(one: Explanation) -> Iterator[str]:
    """An explanation, line by line."""
    names = [f"{player} ({one.names[player]})" if one.names[player] != player else player for player in one.players]
    yield f"{one.match_id}: {' against '.join(names)}, {one.game_type}, round {one.round_id} of {one.league_id}"
    yield ""
    yield f"{VERDICT}{one.verdict.outcome}"
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


def _advice(title: str, fault: PlayerFault) -> Iterator[str]:
    yield ""
    yield f"{title} ({fault.player_id}, {fault.code}):"
    yield f"  {fault.advice}"
    if fault.right_answer:
        yield f"  A right answer, inside the JSON-RPC result: {fault.right_answer}"
        yield "  Try yours: league validate answer.json"


def _course(attempt: TimelineAttempt, started_at: float) -> Iterator[str]:
    title = f"Attempt {attempt.attempt}, referee {attempt.referee_id}" if attempt.attempt else "Before"
    begin = datetime.fromtimestamp(started_at, UTC)
    yield f"{title} (seconds since {begin:%Y-%m-%d %H:%M:%S} UTC)"
    for line in attempt.lines:
        clause = f" [{line.clause}]" if line.clause else ""
        indent = "    " if line.kind == "letter" else ""
        yield f"  {line.after:+9.3f}  {indent}{line.text}{clause}"
        if line.kind == "event" and line.body:
            yield f"  {'':9}      it had said: {line.body[:600]}"
