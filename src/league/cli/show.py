"""`league standings`, `schedule`, `match`, `agents`: a league as it is now, from a running manager or a journal.

Each command finds a document, prints it as it is for --json, and as lines for people otherwise.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from league.cli.source import LeagueSource, add_match_options, add_source_options, match_in, source_of
from league.terminal import Command, CommandError, examples, print_result, tables

SCHEDULE = ("round", "match", "A", "B", "status", "winner", "outcome", "referee")
AGENTS = ("agent", "role", "name", "state", "technical losses", "speaks", "deviations", "endpoint")
REFUSED = ("request", "role", "name", "match_id", "code", "detail", "endpoint")
WAITING = ("applicant_id", "role", "display_name", "origin", "endpoint")

Document = Mapping[str, Any]
"""A JSON object of the manager's API (Any: JSON)."""
Find = Callable[[LeagueSource, argparse.Namespace], Any]
"""Finds the document of a command, as --json prints it (Any: JSON)."""
Lines = Callable[[LeagueSource, Any], Iterator[str]]
"""Makes lines for people from that document."""


def _shows(find: Find, lines: Lines) -> Callable[[argparse.Namespace], int]:
    def run(args: argparse.Namespace) -> int:
        source = source_of(args)
        document = find(source, args)
        print_result(args.json, document, lines(source, document))
        return 0

    return run


# --- standings --------------------------------------------------------------------------------------------------------


def _standings(source: LeagueSource, _: object) -> Iterator[str]:
    league = source.get("/api/league")
    document = source.get("/api/standings")
    yield from tables.render_standings(document)
    if document["unverified"]:
        yield f"\n{tables.unverified(document['unverified'])}"
    yield f"\n{tables.plain(league['league_id'])}: {tables.progress(league)}"


# --- schedule ---------------------------------------------------------------------------------------------------------


def _schedule(source: LeagueSource, document: Document) -> Iterator[str]:
    names = {}
    for agent in source.get("/api/agents")["agents"]:
        names[agent["agent_id"]] = f"{agent['agent_id']} {agent['display_name']}"
    rows: list[list[object]] = []
    for round_ in document["rounds"]:
        rows += [_match_row(match, names) for match in round_["matches"]]
        if round_["bye"]:
            player = names.get(round_["bye"], round_["bye"])
            rows.append([round_["round_id"], None, player, None, "BYE", None, None, None, None])
    if not rows:
        yield "There is no schedule yet: not all agents have registered."
        return
    head = [*SCHEDULE, "proof"]
    if not any(row[-1] for row in rows):
        # The last column is for the rare league with an unverified result.
        head.pop()
        for row in rows:
            row.pop()
    yield from tables.table(head, rows)


def _match_row(match: Document, names: Mapping[str, str]) -> list[object]:
    return [
        match["round_id"],
        match["match_id"],
        names.get(match["player_A_id"], match["player_A_id"]),
        names.get(match["player_B_id"], match["player_B_id"]),
        match["status"],
        match["winner"],
        match["outcome"],
        match["referee_id"],
        "unverified" if match["verified"] is False else None,
    ]


# --- match ------------------------------------------------------------------------------------------------------------


def _find_match(source: LeagueSource, args: argparse.Namespace) -> Any:
    match = match_in(source, args.match_id)
    if match is None:
        raise CommandError(f"there is no match {args.match_id!r} in this league")
    match.pop("records", None)  # the referees' records are long: `league explain` tells their story
    return match


def _match(_: LeagueSource, match: Document) -> Iterator[str]:
    """The match's own fields, and below them the details of its game."""
    fields = {name: value for name, value in match.items() if name not in ("details", "verified")}
    if match["verified"] is not None:
        fields["proof"] = "verified" if match["verified"] else "unverified"
    if isinstance(match["decided_at"], float):
        moment = datetime.fromtimestamp(match["decided_at"], UTC)
        fields["decided_at"] = f"{moment:%Y-%m-%d %H:%M:%S UTC}"
    if isinstance(match["details"], dict):
        for name, value in match["details"].items():
            fields.setdefault(name, value)
    rows = [[_title(name), _text(value)] for name, value in fields.items()]
    yield from tables.table(("", ""), rows)[1:]


def _title(field: str) -> str:
    return field.replace("_", " ")


def _text(value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)


# --- agents -----------------------------------------------------------------------------------------------------------


def _agents(_: LeagueSource, document: Document) -> Iterator[str]:
    agents = sorted(document["agents"], key=_by_role_and_id)
    if agents:
        silence = silence_in(document)
        yield from tables.table(AGENTS, [_agent_row(agent, silence) for agent in agents])
    else:
        yield "Nobody has registered yet."
    contested = []
    for agent in document["agents"]:
        contested += [[agent["agent_id"], detail] for detail in agent["contested"]]
    if contested:
        yield "\nContested: two agents seem to use the same name."
        yield from tables.table(("agent", "observation"), contested)
    if document["applicants"]:
        yield "\nWaiting for the operator (league approve APPLICANT_ID or --all, league reject APPLICANT_ID):"
        yield from _columns(document["applicants"], WAITING)
    if document["rejected"]:
        yield "\nRejected by the operator (league approve APPLICANT_ID lets one in after all):"
        yield from _columns(document["rejected"], WAITING)
    if document["refused"]:
        yield "\nRefused:"
        yield from _columns(document["refused"], REFUSED)


def _by_role_and_id(agent: Document) -> tuple[str, int, str]:
    """P2 comes before P10: shorter ids come first."""
    return agent["role"], len(agent["agent_id"]), agent["agent_id"]


def _agent_row(agent: Document, silence: Mapping[str, str]) -> list[object]:
    deviations = {deviation["requirement"] for deviation in agent["deviations"]}
    return [
        agent["agent_id"],
        agent["role"],
        agent["display_name"],
        silence.get(agent["agent_id"]) or agent["status"],
        agent["technical_losses"],
        agent["convention"],
        ", ".join(sorted(deviations)) or None,
        agent["endpoint"],
    ]


def _columns(rows: Sequence[Document], names: Sequence[str]) -> list[str]:
    """A table of these fields; empty ones are shown as missing."""
    return tables.table(
        [_title(name) for name in names],
        [[row[name] or None for name in names] for row in rows],
    )


def silence_in(document: Document) -> dict[str, str]:
    """Since when agents of /api/agents do not answer, and why, if that is known. Times are in the reader's zone."""
    sentences = {}
    for agent in document["not_answering"]:
        since = datetime.fromtimestamp(agent["since"], UTC).astimezone()
        sentence = f"not answering since {since:%H:%M:%S}"
        if agent["why"]:
            sentence += f" ({agent['why']})"
        sentences[agent["agent_id"]] = sentence
    return sentences


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
