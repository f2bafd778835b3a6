"""`league standings`, `schedule`, `match`, `agents`: a league as it is now, from a running manager or a journal.

Each command finds a document, prints it as it is for --json, and as lines for people otherwise.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from textwrap import wrap
from typing import Any

from league.cli.source import (
    LeagueSource,
    add_agent_options,
    add_league_options,
    add_match_options,
    match_in,
    source_of,
)
from league.terminal import Command, CommandError, display, examples, print_result, tables

SCHEDULE = ("round", "match", "A", "B", "status", "winner", "outcome", "referee")
AGENTS = ("agent", "name", "state", "technical", "speaks", "deviations", "endpoint")
DETAILS = (
    "agent_id",
    "role",
    "display_name",
    "shown_name",
    "version",
    "endpoint",
    "status",
    "not_answering",
    "game_types",
    "max_concurrent_matches",
    "technical_losses",
    "convention",
    "conditions",
)
COLUMNS = 100
SHORTEST_NAME = 12
SHORTEST_ENDPOINT = 16
MOST_NAMED = 8
WAITING = ("applicant_id", "role", "display_name", "origin", "endpoint")

_IN_WORDS = ("details", "evidence", "unsigned", "doubt")
"""Fields of a match that people get in other words."""
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
    if document["by_word"]:
        yield f"\n{tables.by_word(document['by_word'])}"
    yield f"\n{tables.title(league)}: {tables.progress(league)}"
    yield from tables.ending(document)


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
    yield from tables.table([*SCHEDULE, "rests on"], rows)


def _rests_on(match: Document) -> str | None:
    from league.reading.evidence_words import WORDS

    return WORDS.get(match["evidence"])


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
        _rests_on(match),
    ]


# --- match ------------------------------------------------------------------------------------------------------------


def _find_match(source: LeagueSource, args: argparse.Namespace) -> Any:
    match = match_in(source, args.match_id)
    if match is None:
        raise CommandError(f"there is no match {args.match_id!r} in this league")
    match.pop("records", None)  # the referees' records are long: `league explain` tells their story
    match.pop("live", None)  # `league watch` shows it, and no journal has it
    return match


def _match(_: LeagueSource, match: Document) -> Iterator[str]:
    """The match's own fields, and below them the details of its game."""
    # Imported here, because the other commands start faster without it.
    from league.manager.state.ledger import Basis
    from league.reading.evidence_words import basis_words

    fields = {name: value for name, value in match.items() if name not in _IN_WORDS}
    if match["evidence"] is not None:
        basis = Basis(match["evidence"], tuple(match["unsigned"]), match["doubt"])
        fields["rests on"] = basis_words(basis)
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


def _find_agents(source: LeagueSource, args: argparse.Namespace) -> Any:
    document = source.get("/api/agents")
    wanted = args.agent_id
    if not wanted:
        return document
    for agent in document["agents"]:
        if agent["agent_id"] == wanted:
            silence = silence_in(document).get(wanted)
            refused = [row for row in document["refused"] if row["name"] in (wanted, agent["display_name"])]
            return {**agent, "not_answering": silence, "refused": refused}
    raise CommandError(f"there is no agent {wanted!r} in this league; league agents lists all")


def _show_agents(_: LeagueSource, document: Document) -> Iterator[str]:
    if "agents" in document:
        return _agents(document)
    return _one_agent(document)


def _agents(document: Document) -> Iterator[str]:
    """One line for each agent, within 100 columns; all that is longer is in the details of an agent."""
    agents = sorted(document["agents"], key=_by_role_and_id)
    if agents:
        yield from _agent_table(agents, silence_in(document))
    else:
        yield "Nobody has registered yet."
    yield from _trouble(agents)
    yield from _contested(agents)
    if document["applicants"]:
        yield "\nWaiting for the operator (league approve APPLICANT_ID or --all, league reject APPLICANT_ID):"
        yield from _columns(document["applicants"], WAITING)
    if document["rejected"]:
        yield "\nRejected by the operator (league approve APPLICANT_ID lets one in after all):"
        yield from _columns(document["rejected"], WAITING)
    members = {("registration", agent["display_name"], agent["endpoint"]) for agent in agents}
    # Who has come in since is no trouble any more, such as a referee that had to find out the game.
    refused = [row for row in document["refused"] if (row["request"], row["name"], row["endpoint"]) not in members]
    if refused:
        yield "\nRefused:"
        for refusal in refused:
            yield from _wrapped(_refusal(refusal))


def _trouble(agents: Sequence[Document]) -> Iterator[str]:
    in_trouble = [agent["agent_id"] for agent in agents if agent["in_trouble"]]
    if not in_trouble:
        return
    names = ", ".join(in_trouble[:MOST_NAMED])
    if len(in_trouble) > MOST_NAMED:
        names += " …"
    verdict = "1 agent cannot play as it is"
    if len(in_trouble) > 1:
        verdict = f"{len(in_trouble)} agents cannot play as they are"
    yield ""
    yield from _wrapped(f"{verdict}: {names}")
    yield from _wrapped(f"What to change: league agents {in_trouble[0]}")


def _contested(agents: Sequence[Document]) -> Iterator[str]:
    contested = [agent for agent in agents if agent["contested"]]
    if contested:
        yield "\nContested: two agents seem to use the same name."
    for agent in contested:
        for detail in agent["contested"]:
            yield from _wrapped(f"{agent['agent_id']}: {detail}")


def _refusal(row: Document) -> str:
    request = f"{row['request']} {row['match_id'] or ''}".strip()
    return f"{request} by {row['role']} {row['name']} ({row['endpoint']}): {row['code']} {row['detail']}"


def _wrapped(sentence: str) -> list[str]:
    """A sentence as lines that fit, all but the first indented."""
    return wrap(tables.plain(sentence), COLUMNS, subsequent_indent="  ", break_on_hyphens=False)


def _by_role_and_id(agent: Document) -> tuple[str, int, str]:
    """P2 comes before P10: shorter ids come first."""
    return agent["role"], len(agent["agent_id"]), agent["agent_id"]


def _agent_table(agents: Sequence[Document], silence: Mapping[str, str]) -> list[str]:
    rows: list[list[object]] = [_agent_row(agent, silence) for agent in agents]
    lines = tables.table(AGENTS, rows)
    # Names are cut first, then addresses: the details of an agent show both in full.
    for column, least in ((AGENTS.index("name"), SHORTEST_NAME), (AGENTS.index("endpoint"), SHORTEST_ENDPOINT)):
        excess = max(map(display.width, lines)) - COLUMNS
        if excess <= 0:
            break
        longest = max(display.width(str(row[column])) for row in rows)
        for row in rows:
            row[column] = tables.fit(str(row[column]), max(least, longest - excess))
        lines = tables.table(AGENTS, rows)
    return lines


def _agent_row(agent: Document, silence: Mapping[str, str]) -> list[object]:
    state = agent["status"]
    if agent["agent_id"] in silence:
        state = "not answering"
    elif agent["in_trouble"]:
        state = "cannot play"
    return [
        agent["agent_id"],
        tables.plain(agent["display_name"]),
        state,
        agent["technical_losses"],
        agent["convention"],
        len({deviation["requirement"] for deviation in agent["deviations"]}),
        tables.plain(agent["endpoint"]).removeprefix("http://"),
    ]


def _one_agent(agent: Document) -> Iterator[str]:
    """All about one agent."""
    rows = []
    for name in DETAILS:
        value = agent.get(name)
        if value not in (None, [], {}):
            rows.append([_title(name), _text(value)])
    yield from tables.table(("", ""), rows)[1:]
    if agent["findings"]:
        yield "\nWhat was found out about it:"
        yield from _wrapped(agent["findings"])
    if agent["deviations"]:
        yield "\nDeviations that were accepted:"
        yield from _columns(agent["deviations"], ("code", "requirement"))
    for title, sentences in (
        ("Contested", agent["contested"]),
        ("Refused", [_refusal(row) for row in agent["refused"]]),
    ):
        if sentences:
            yield f"\n{title}:"
            for sentence in sentences:
                yield from _wrapped(sentence)


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
        examples(
            "league standings",
            "league standings 127.0.0.1:8000",
            "league standings --journal league-data/my_league --json",
        ),
        add_league_options,
        _shows(lambda source, _: source.get("/api/standings")["standings"], _standings),
    ),
    Command(
        "schedule",
        "show the rounds and matches of a league",
        examples("league schedule", "league schedule --journal league-data/my_league/journal.db"),
        add_league_options,
        _shows(lambda source, _: source.get("/api/schedule"), _schedule),
    ),
    Command(
        "match",
        "show one match of a league",
        examples(
            "league match R1M1",
            "league match R1M1 127.0.0.1:8000",
            "league match R1M1 --journal league-data/my_league --json",
        ),
        add_match_options,
        _shows(_find_match, _match),
    ),
    Command(
        "agents",
        "show the players and referees of a league, or all about one of them, and who waits for approval",
        examples("league agents", "league agents P08", "league agents --manager http://127.0.0.1:8000 --json"),
        add_agent_options,
        _shows(_find_agents, _show_agents),
    ),
)
