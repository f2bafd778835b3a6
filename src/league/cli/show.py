"""`league standings`, `schedule`, `match`, `agents`: a league as it is, from a running manager or a journal."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from league.cli.source import LeagueSource, add_match_options, add_source_options, match_in, source_of
from league.terminal import Command, CommandError, examples, print_result
from league.terminal import tables as terminal

SCHEDULE = ("round", "match", "A", "B", "status", "winner", "outcome", "referee")
MATCH = ("round_id", "match_id", "player_A_id", "player_B_id", "status", "winner", "outcome", "referee_id")
AGENTS = ("agent", "role", "name", "state", "technical losses", "speaks", "deviations", "endpoint")
REFUSED = ("request", "role", "name", "match_id", "code", "detail", "endpoint")
WAITING = ("applicant_id", "role", "display_name", "origin", "endpoint")

Find = Callable[[LeagueSource, argparse.Namespace], Any]
"""What a command looks for: the document of --json (Any: JSON)."""
Lines = Callable[[LeagueSource, Any], Iterator[str]]
"""The same for people."""


def _shows(find: Find, lines: Lines) -> Callable[[argparse.Namespace], int]:
    def run(args: argparse.Namespace) -> int:
        source = source_of(args)
        found = find(source, args)
        print_result(args.json, found, lines(source, found))
        return 0

    return run


def _find_match(source: LeagueSource, args: argparse.Namespace) -> Any:
    found = match_in(source, args.match_id)
    if found is None:
        raise CommandError(f"there is no match {args.match_id!r} in this league")
    found.pop("records", None)  # what its referees told is a long story: `league explain` tells it
    return found


def _standings(source: LeagueSource, _: object) -> Iterator[str]:
    league = source.get("/api/league")
    table = source.get("/api/standings")
    yield from terminal.render_standings(table)
    if table["unverified"]:
        yield f"\n{terminal.unverified(table['unverified'])}"
    yield f"\n{terminal.plain(league['league_id'])}: {terminal.progress(league)}"


def _schedule(source: LeagueSource, document: Mapping[str, Any]) -> Iterator[str]:
    named = {one["agent_id"]: f"{one['agent_id']} {one['display_name']}" for one in source.get("/api/agents")["agents"]}
    rows: list[list[object]] = []
    unverified = any(match["verified"] is False for one in document["rounds"] for match in one["matches"])
    for one in document["rounds"]:
        for match in one["matches"]:
            names = {seat: named.get(match[seat], match[seat]) for seat in ("player_A_id", "player_B_id")}
            rows.append([*({**match, **names}[name] for name in MATCH), *[_proof(match)] * unverified])
        if one["bye"]:
            bye = named.get(one["bye"], one["bye"])
            rows.append([one["round_id"], None, bye, None, "BYE", None, None, None, *[None] * unverified])
    head = (*SCHEDULE, *["proof"] * unverified)
    yield from terminal.table(head, rows) if rows else ["There is no schedule yet: not everybody has registered."]


def _match(_: LeagueSource, match: Mapping[str, Any]) -> Iterator[str]:
    """The details of a game stand below the match's own fields."""
    shown = {name: value for name, value in match.items() if name not in ("details", "verified")}
    if match["verified"] is not None:
        shown["proof"] = "verified" if match["verified"] else "unverified"
    if isinstance(match["decided_at"], float):
        shown["decided_at"] = f"{datetime.fromtimestamp(match['decided_at'], UTC):%Y-%m-%d %H:%M:%S UTC}"
    if isinstance(match["details"], dict):
        shown |= {name: value for name, value in match["details"].items() if name not in shown}
    yield from terminal.table(("", ""), [[name.replace("_", " "), _text(value)] for name, value in shown.items()])[1:]


def _proof(match: Mapping[str, Any]) -> str | None:
    return "unverified" if match["verified"] is False else None


def _text(value: object) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _agents(_: LeagueSource, document: Mapping[str, Any]) -> Iterator[str]:
    silent = silence_in(document)
    rows = [
        [
            *(one[name] for name in ("agent_id", "role", "display_name")),
            silent.get(one["agent_id"]) or one["status"],
            one["technical_losses"],
            one["convention"],
            ", ".join(sorted({deviation["requirement"] for deviation in one["deviations"]})) or None,
            one["endpoint"],
        ]
        for one in sorted(document["agents"], key=lambda one: (one["role"], len(one["agent_id"]), one["agent_id"]))
    ]
    yield from terminal.table(AGENTS, rows) if rows else ["Nobody has registered yet."]
    if contested := [[one["agent_id"], detail] for one in document["agents"] for detail in one["contested"]]:
        yield "\nContested: two agents seem to go by one name."
        yield from terminal.table(("agent", "what was seen"), contested)
    if waiting := [[one[name] for name in WAITING] for one in document["applicants"]]:
        yield "\nWaiting for the operator (league approve APPLICANT_ID or --all, league reject APPLICANT_ID):"
        yield from terminal.table([name.replace("_", " ") for name in WAITING], waiting)
    if rejected := [[one[name] for name in WAITING] for one in document["rejected"]]:
        yield "\nRejected by the operator (league approve APPLICANT_ID lets one in after all):"
        yield from terminal.table([name.replace("_", " ") for name in WAITING], rejected)
    if refused := [[one[name] or None for name in REFUSED] for one in document["refused"]]:
        yield "\nRefused:"
        yield from terminal.table([name.replace("_", " ") for name in REFUSED], refused)


def silence_in(document: Mapping[str, Any]) -> dict[str, str]:
    """Who does not answer, of /api/agents, since when by the clock of whoever reads it, and why, if that is known."""
    return {
        one["agent_id"]: f"not answering since {datetime.fromtimestamp(one['since'], UTC).astimezone():%H:%M:%S}"
        + (f" ({one['why']})" if one["why"] else "")
        for one in document["not_answering"]
    }


COMMANDS = (
    Command(
        "standings",
        "show the table of a league",
        examples("league standings", "league standings --journal league-data/my_league --json"),
        add_source_options,
        _shows(lambda source, _: source.get("/api/standings")["standings"], _standings),
    ),
    Command(
        "schedule",
        "show the rounds and matches of a league",
        examples("league schedule", "league schedule --journal league-data/my_league/journal.db"),
        add_source_options,
        _shows(lambda source, _: source.get("/api/schedule"), _schedule),
    ),
    Command(
        "match",
        "show one match of a league",
        examples("league match R1M1", "league match R1M1 --journal league-data/my_league --json"),
        add_match_options,
        _shows(_find_match, _match),
    ),
    Command(
        "agents",
        "show the players and referees of a league, and who waits for approval",
        examples("league agents", "league agents --manager http://127.0.0.1:8000 --json"),
        add_source_options,
        _shows(lambda source, _: source.get("/api/agents"), _agents),
    ),
)
