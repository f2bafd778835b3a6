"""`league explain`: why a match ended as it did."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from league.cli.source import add_match_options, journal_errors, match_in, settle_source, source_of
from league.terminal import Command, CommandError, print_result
from league.terminal import tables as terminal
from league.terminal.display import Style, paint

if TYPE_CHECKING:
    from league.features.records.match_facts import MatchFacts

EXAMPLE = """\
examples:
  league explain R1M1 --journal league-data/my_league        all journals of the league: the whole story
  league explain R1M1 127.0.0.1:8000                         what a running manager shows
  league explain R1M1 --journal league-data/my_league --json

Clauses are cited by requirement and section of spec/league-v2.md. Tokens are never shown."""


configure = add_match_options


def run(args: argparse.Namespace) -> int:
    import msgspec

    from league.features.records.explain import explain, explanation_lines
    from league.features.records.letter_words import clean

    with journal_errors():
        explanation = explain(_facts(args))
        lines = [_painted(line) for line in explanation_lines(explanation)]
    print_result(args.json, clean(msgspec.to_builtins(explanation)), lines)
    return 0


def _painted(line: str) -> str:
    from league.features.records.explain import VERDICT

    if line.startswith(VERDICT):
        return paint(line, Style.STRONG)
    return terminal.plain(line)


def _facts(args: argparse.Namespace) -> MatchFacts:
    settle_source(args)
    look = _in_journals if args.journal else _on_pages
    facts = look(args)
    if facts is None:
        raise CommandError(f"there is no match {args.match_id!r} in this league (E014 MATCH_NOT_FOUND)")
    return facts


def _in_journals(args: argparse.Namespace) -> MatchFacts | None:
    from league.features.records.match_facts import facts_of
    from league.reading.journals import read_journals

    return facts_of(args.match_id, read_journals(args.journal, args.match_id))


def _on_pages(args: argparse.Namespace) -> MatchFacts | None:
    from league.features.records.match_facts import facts_from_pages

    source = source_of(args)
    match = match_in(source, args.match_id)
    if match is None:
        return None
    league = source.get("/api/league")
    agents = source.get("/api/agents")["agents"]
    try:
        return facts_from_pages(match, league, agents)
    except (KeyError, TypeError, AttributeError) as error:
        raise CommandError(f"the pages of this manager cannot be read: {error!r}") from error


COMMANDS = (
    Command(
        "explain",
        "explain why a match ended as it did: messages, attempts, times and faults",
        EXAMPLE,
        configure,
        run,
    ),
)
