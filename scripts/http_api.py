"""What an agent serves over HTTP beside /mcp, as one table: docs/reference/http-api.md and openapi.json come from it.

tests/docs/test_http_api.py holds the pages of a running manager against it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, get_args

from league.events import AgentRole, AgentState, Evidence, LeagueState
from league.features.mcp.message_schemas import schema as message_schema
from league.features.statistics.statistics_words import EXPLAINED
from league.games.contract import Measure
from league.hosting.manager.admin_api import LONGEST_KEY
from league.hosting.manager.kept_secrets import LONGEST, SHORTEST
from league.protocol.conventions import Convention
from league.protocol.order_table import ORDERS
from scripts.tables import table

AGENT_STATUS = ("registered", "playing", "not playing", "not answering", "withdrawn", "finished")
Schema = dict[str, Any]
"""A JSON Schema (Any: JSON)."""


@dataclass(frozen=True, slots=True)
class Field:
    """A member of a JSON object: its schema and what it means."""

    schema: Schema
    meaning: str


@dataclass(frozen=True, slots=True)
class Page:
    """What is read with GET: `shape` names its object, None stands for text."""

    path: str
    told: str
    shape: str | None
    who: str = "the manager"
    missing: str = ""
    """When there is no such page (404)."""
    unready: bool = False
    """503 while it cannot be served."""


def text(*values: str) -> Schema:
    return {"type": "string", **({"enum": list(values)} if values else {})}


def count(least: int = 0) -> Schema:
    return {"type": "integer", "minimum": least}


def or_null(one: Schema) -> Schema:
    return {"anyOf": [one, {"type": "null"}]}


OBJECT: Schema = {"type": "object"}


def many(one: Schema) -> Schema:
    return {"type": "array", "items": one}


def ref(shape: str) -> Schema:
    return {"$ref": f"#/components/schemas/{shape}"}


def explained(name: str, schema: Schema) -> Field:
    """A number of the statistics, in the words it always has."""
    return Field(schema, EXPLAINED[name])


FLAG: Schema = {"type": "boolean"}
NUMBER: Schema = {"type": "number"}
SECONDS = NUMBER
COUNTS: Schema = {"type": "object", "additionalProperties": count()}
ROLE = text(*get_args(AgentRole))
WAITING = (
    "WAITING_FOR_REGISTRATIONS",
    "PAUSED",
    "WAITING_FOR_PLAYERS",
    "WAITING_FOR_OPERATOR",
    "WAITING_FOR_REFEREE",
    "WAITING_FOR_REPORT",
)
STATUS = text("SCHEDULED", "RUNNING", "COMPLETED", "PARKED")
OUTCOME = text("WIN", "DRAW", "TECHNICAL_LOSS", "WALKOVER")

LINE: Mapping[str, Field] = {
    "match_id": Field(text(), "such as R1M1"),
    "round_id": Field(count(1), "counted from 1"),
    "player_A_id": Field(text(), "one player"),
    "player_B_id": Field(text(), "the other"),
    "status": Field(STATUS, "PARKED: given up after three attempts, the operator decides"),
    "referee_id": Field(or_null(text()), "who runs it; null: nobody yet"),
    "attempt": Field(count(), "which attempt at it this is; 0 before the first"),
    "winner": Field(or_null(text()), "null: a draw, or no result"),
    "outcome": Field(or_null(OUTCOME), "how it ended; null: not yet"),
    "evidence": Field(or_null(text(*get_args(Evidence))), "what the result rests on (section 8.18); null: no result"),
}

REFUSED: Mapping[str, Field] = {
    "at": Field(SECONDS, "seconds since 1970, UTC"),
    "request": Field(
        text("registration", "report", "token", "answer"),
        "what was refused; token: one that was derived for others; answer: by the referee of its match",
    ),
    "role": Field(ROLE, "the role of its sender, or the one it applied for"),
    "name": Field(text(), "its sender's name for itself; for a member, its id"),
    "endpoint": Field(text(), "where its sender accepts requests, or called from"),
    "match_id": Field({"type": "string"}, "the match that was reported, if any"),
    "code": Field(text(), "the error it got"),
    "detail": Field(text(), "the sentence it got"),
}

SHAPES: Mapping[str, Mapping[str, Field]] = {
    "League": {
        "league_id": Field(text(), "the league"),
        "title": Field(text(), "what people call it; empty: it has no title"),
        "manager_key": Field(text(), "the manager's public key (9.8); empty in journals from before there were keys"),
        "game_type": Field(text(), "what is played"),
        "state": Field(text(*get_args(LeagueState)), "section 7.4 of the specification"),
        "waiting": Field(or_null(text(*WAITING)), "what it waits for, if not for the players of a match"),
        "waiting_reason": Field(
            or_null(text()), "why it waits for silent players (8.15) or for a report (8.12); null: it does not"
        ),
        "awaited": Field(many(text()), "what it waits for, in sentences: why it stands still, agents, matches in play"),
        "round": Field(count(), "the round being played; 0 before the first"),
        "rounds": Field(count(), "rounds in all; 0 before there is a schedule"),
        "matches_completed": Field(count(), "matches that have a result"),
        "matches_total": Field(count(), "matches in all"),
        "technical_losses": Field(count(), "matches decided by somebody's fault"),
        "champion": Field(or_null(text()), "the winner's id, when the league is over"),
        "journal_seq": Field(count(), "the event of the journal this was read at"),
        "head": Field(or_null(ref("Head")), "the end of the journal's chain, as far as it is durable (8.9)"),
    },
    "Head": {
        "seq": Field(count(), "the number of the last event"),
        "digest": Field(text(), "the digest of the chain there, hex"),
    },
    "Standings": {
        "version": Field(count(), "grows with every change of the table"),
        "standings": Field(many(ref("Row")), "every player, best first"),
        "technical_losses": Field(COUNTS, "how many of its losses are technical ones, by player"),
        "by_word": Field(many(text()), "the matches that nobody but their referees stands for (section 8.18)"),
        "notes": Field(many(text()), "what the numbers do not say: a tie-break of the leader, choices by nobody"),
        "ending": Field(or_null(text()), "the champion in a line, or that nobody won; null: it is not over"),
    },
    "Row": {},
    "Schedule": {"rounds": Field(many(ref("Round")), "empty before the league starts")},
    "Round": {
        "round_id": Field(count(1), "counted from 1"),
        "bye": Field(or_null(text()), "the player without a match, if their number is odd"),
        "finished": Field(FLAG, "true: all its results are in"),
        "matches": Field(many(ref("Line")), "its matches"),
    },
    "Line": LINE,
    "Match": {
        **LINE,
        "points": Field(or_null(COUNTS), "by player id"),
        "unsigned": Field(many(text()), "the players that did not sign their choices"),
        "doubt": Field(text(), "why the result is not proven, if not for a missing signature"),
        "details": Field(or_null({"type": "object"}), "what proves the result; never shown before it is in"),
        "decided_at": Field(or_null(SECONDS), "seconds since 1970, UTC"),
        "corrected": Field(many(text()), "what the manager changed in the report, and why"),
        "refused": Field(many(ref("RefusedAbout")), "reports and answers about it that were refused"),
        "live": Field(or_null(ref("Live")), "what everybody may see while it is played; null: nobody tells"),
        "records": Field(many(ref("Record")), "what its referees reported once it was decided"),
    },
    "Live": {
        "joined": Field(many(text()), "the players that have joined"),
        "answered": Field(many(text()), "those who have answered the open question, if both are asked at once"),
        "moves": Field(many(ref("Move")), "the moves of finished turns, in games in which nothing is hidden"),
        "clock": Field(or_null(OBJECT), "the seconds that each player has left, in games with a clock"),
        "board": Field(or_null(OBJECT), "a picture of what everybody may see, in games that hide something"),
    },
    "Move": {
        "player_id": Field(text(), "the player"),
        "move": Field(text(), "its choice"),
    },
    "Record": {
        "referee_id": Field(text(), "the referee that reported it"),
        "attempt": Field(count(1), "the attempt"),
        "events": Field(
            many({"type": "object"}), "everything that happened, as the referee recorded it; never a token"
        ),
    },
    "Agents": {
        "agents": Field(many(ref("Agent")), "all registered agents"),
        "not_answering": Field(many(ref("Silence")), "agents that did not answer the manager's last calls"),
        "applicants": Field(many(ref("Applicant")), "agents that wait for `league approve`"),
        "approved": Field(many(ref("Applicant")), "agents that were approved and have not registered since"),
        "rejected": Field(many(ref("Applicant")), "agents that `league reject` turned away"),
        "refused": Field(
            many(ref("RefusedRequest")), "registrations, reports, stolen tokens and answers that were refused"
        ),
    },
    "Silence": {
        "agent_id": Field(text(), "who"),
        "since": Field(SECONDS, "when the first call failed, in seconds since 1970, UTC"),
        "why": Field(or_null(text()), "before the start: the outcome of its last probe"),
    },
    "RefusedRequest": REFUSED,
    "RefusedAbout": {**REFUSED, "attempt": Field(count(0), "the attempt of its match")},
    "Agent": {
        "agent_id": Field(text(), "such as P01 or REF01"),
        "role": Field(ROLE, "what it is"),
        "display_name": Field(text(), "its name"),
        "version": Field(text(), "of its software, as it said"),
        "endpoint": Field(text(), "where it accepts requests"),
        "state": Field(text(*get_args(AgentState)), "section 7.1 of the specification"),
        "status": Field(text(*AGENT_STATUS), "the same in plain words"),
        "game_types": Field(many(text()), "the games it knows"),
        "convention": Field(
            text(*Convention.__members__), "the way of calling it understands: section 13.1 of the specification"
        ),
        "technical_losses": Field(count(), "matches it lost by its own fault"),
        "deviations": Field(many(ref("Deviation")), "habits that `--profile compat` tolerates"),
        "max_concurrent_matches": Field(or_null(count()), "a referee's: how many matches it plays at once"),
        "contested": Field(many(text()), "signs that two agents use its name, if there are any"),
        "shown_name": Field(text(), "its name, with its id in front if it could be taken for another agent"),
        "findings": Field(text(), "what a probe, or a match that it refused, showed about it, in sentences; or empty"),
        "in_trouble": Field(FLAG, "true if it cannot take part as it was found"),
        "conditions": Field(many(ref("Conditions")), "how a language model plays for it; the latest last"),
    },
    "Deviation": {
        "code": Field(text(), "the error it would have been in strict"),
        "requirement": Field(text(), "the clause, as in spec/requirements.toml"),
    },
    "Applicant": {
        "applicant_id": Field(text(), "such as A01"),
        "role": Field(ROLE, "the role it applied for"),
        "display_name": Field(text(), "its name"),
        "endpoint": Field(text(), "where it accepts requests"),
        "origin": Field(text(), "the address it applied from"),
        "applied_at": Field(SECONDS, "seconds since 1970, UTC"),
    },
    "Statistics": {
        "league_id": Field(text(), "the league"),
        "game_type": Field(text(), "what is played"),
        "measure": Field(text(*get_args(Measure)), "what the game declares: which of the two tables there is"),
        "matches": explained("matches", count()),
        "left_out": explained("left_out", ref("LeftOut")),
        "points": Field(
            or_null(many(ref("PlayerPoints"))), "the most points per match first; null: the game has a rating"
        ),
        "rating": Field(or_null(ref("RatingTable")), "null: the game has none, or NumPy is missing"),
        "missing": Field(or_null(text()), "why the rating is missing, and what to do about it"),
        "referees": Field(many(ref("RefereeDraws")), "whether their draws look uniform"),
        "favouritism": Field(many(ref("Favouritism")), "whether players do better under a referee than under others"),
        "models": Field(many(ref("ModelPlay")), "the players that leave their choices to a language model"),
        "unrated": Field(many(ref("PlayerRecord")), "those of them that are not rated; their matches count for nobody"),
        "gone_behind": Field(COUNTS, "how often players were gone from a match while their opponent was ahead, by id"),
        "explained": Field({"type": "object"}, "a sentence for every number, by its name"),
    },
    "LeftOut": {
        "technical_losses": Field(count(), "matches that a player, or both, failed in"),
        "walkovers": Field(count(), "matches that were not played because a player was withdrawn"),
        "repeated": Field(count(), "matches that repeat another one, move for move"),
        "not_rated": Field(count(), "matches of players that are not rated"),
    },
    "Conditions": {
        "model": Field(text(), "the model's name"),
        "provider": Field(text(), "the host that is asked"),
        "prompt": Field(text(), "the prompt"),
        "prompt_sha256": Field(text(), "SHA-256 of the prompt, hex"),
        "system": Field(text(), "what it is told before the prompt"),
        "request": Field(text(), "further fields of the body of every request, as JSON"),
        "options_shown": Field(FLAG, "whether it is shown the legal choices; absent: yes"),
        "corrections": Field(count(), "how often it is asked again; absent: never"),
        "temperature": Field(NUMBER, "absent: the provider's own"),
    },
    "ModelPlay": {
        "player_id": Field(text(), "such as P01"),
        "display_name": Field(text(), "its name"),
        "conditions": Field(many(ref("Conditions")), "the latest last; more than one if they were changed"),
        **{
            name: explained(name, count())
            for name in ("choices", "fallbacks", "provider_errors", "declined", "tokens", "tokens_estimated")
        },
        **{name: explained(name, NUMBER) for name in ("thinking_s", "waited_s")},
        "not_rated": Field(text(), "why the player is not rated; empty if it is"),
    },
    "PlayerRecord": {
        "player_id": Field(text(), "such as P01"),
        "display_name": Field(text(), "its name"),
        "wins": Field(count(), "of the matches that count"),
        "draws": Field(count(), "of the matches that count"),
        "losses": Field(count(), "of the matches that count"),
        "technical_losses": explained("technical_losses", count()),
    },
    "PlayerPoints": {
        "record": Field(ref("PlayerRecord"), "its matches"),
        "points_per_match": explained("points_per_match", NUMBER),
        "return_per_match": Field(or_null(NUMBER), "the average return; null: the game is not scored by its margin"),
        "return_interval": Field(or_null(many(NUMBER)), "its 95 % interval"),
        "interval": explained("points_interval", many(NUMBER)),
        "p_value": explained("p_value", NUMBER),
        "is_luck": explained("is_luck", FLAG),
    },
    "RatingTable": {
        "players": Field(many(ref("PlayerRating")), "best first; at the end those without a match that counts"),
        "neighbours": Field(many(ref("Neighbours")), "players next to each other in the table"),
        "seat_advantage": explained("seat_advantage", NUMBER),
        "seat_interval": explained("seat_advantage", many(NUMBER)),
        "groups": explained("groups", count()),
    },
    "PlayerRating": {
        "record": Field(ref("PlayerRecord"), "its matches"),
        "rating": explained("rating", or_null(NUMBER)),
        "interval": explained("rating_interval", or_null(many(or_null(NUMBER)))),
        "rank_range": explained("rank_range", or_null(many(count(1)))),
        "first": explained("first", or_null(NUMBER)),
        "tied_with": explained("tied_with", many(text())),
    },
    "Neighbours": {
        "better": Field(text(), "one player"),
        "worse": Field(text(), "the next one"),
        "apart": Field(FLAG, "whether the matches tell them apart"),
        "more_matches": explained("more_matches", or_null(count())),
    },
    "Favouritism": {
        "referee_id": Field(text(), "the referee"),
        "tested": Field(count(), "players with enough matches under it, and under others"),
        "player_id": Field(
            or_null(text()), "the tested player that did best under it, compared with its other matches"
        ),
        "p_value": Field(or_null(NUMBER), "how often chance gives some player so much better results under a referee"),
        "verdict": Field(text("no sign", "favours", "too few"), "what follows from that"),
    },
    "RefereeDraws": {
        "referee_id": Field(text(), "such as REF01"),
        "draws": explained("draws", count()),
        "counts": Field(many(count()), "how often each number, from 1 on"),
        "p_value": explained("draws_p_value", or_null(NUMBER)),
        "verdict": explained("verdict", text("uniform", "not uniform", "too few")),
    },
    "Health": {
        "status": Field(text("ok"), "the process answers"),
        "games": Field(many(text()), "a player's: the games that it names; absent for others"),
        "sender": Field(text(), "its name in messages; absent while it reads its journal"),
        "registered_as": Field(text(), "a player's: its id, empty until it has one; absent for others"),
    },
    "Readiness": {"status": Field(text("ready", "not ready"), "not ready: it starts, or its storage is down")},
    "Carried_out": {
        "order": Field(text(*ORDERS), "what was ordered"),
        "target": Field(or_null(text()), "the agent, match or secret it was about"),
        "key": Field(text(), "the key it was carried out under"),
    },
    "Refused": {
        "error": Field(text(), "why not, in a sentence"),
        "error_code": Field(text(), "of the catalogue; absent for 404 and 405"),
        "error_name": Field(text(), "of the catalogue; absent for 404 and 405"),
    },
}
OPTIONAL = {"Health": ("games", "registered_as", "sender"), "Refused": ("error_code", "error_name")}

PAGES: tuple[Page, ...] = (
    Page("/api/league", "the league in numbers", "League", unready=True),
    Page("/api/standings", "the table", "Standings", unready=True),
    Page("/api/schedule", "all rounds with their matches", "Schedule", unready=True),
    Page("/api/matches/{match_id}", "one match", "Match", missing="there is no such match", unready=True),
    Page("/api/agents", "the agents that take part, and those that wait", "Agents", unready=True),
    Page("/api/statistics", "what the results tell, and what is luck", "Statistics", unready=True),
    Page("/healthz", "whether the process is alive", "Health", "all three roles"),
    Page("/readyz", "whether it accepts messages", "Readiness", "all three roles", unready=True),
    Page("/metrics", "counters and times for Prometheus, as text", None, "all three roles"),
)
ORDERS_TOLD: Mapping[str, str] = {
    name: f"{row.about}; `target` is {row.target}" if row.target else row.about for name, row in ORDERS.items()
}
REFUSALS: Mapping[int, str] = {
    400: "the body is wrong: E003, E007, E008, E034, E035",
    401: "no admin token (E011), or not the right one (E012)",
    409: "it cannot be done now, or there is no such player or match: E005, E014, E023, E030, E031",
    503: "not now, try again with the same key: E041, E042",
}


def files() -> Iterator[tuple[str, str]]:
    """Both files by their names."""
    yield "http-api.md", markdown()
    yield "openapi.json", json.dumps(openapi(), indent=2) + "\n"


# --- OpenAPI ----------------------------------------------------------------------------------------------------------


def openapi() -> Schema:
    """The whole document."""
    pages = {page.path: {"get": get_operation(page)} for page in PAGES}
    orders = {f"/api/admin/{order}": {"post": post_operation(order)} for order in ORDERS}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "The League Manager over HTTP",
            "version": "2.1.0",
            "description": "What a manager serves beside POST /mcp, the protocol itself (spec/league-v2.md).",
        },
        "paths": {**pages, **orders},
        "components": {
            "schemas": {name: shape_schema(name) for name in SHAPES},
            "securitySchemes": {"admin_token": {"type": "http", "scheme": "bearer"}},
        },
    }


def shape_schema(name: str) -> Schema:
    """The JSON Schema of a shape. A row of the table is that of LEAGUE_STANDINGS_UPDATE, always with its name."""
    if name == "Row":
        row: Schema = message_schema("LEAGUE_STANDINGS_UPDATE")["properties"]["standings"]["items"]
        return row
    fields = SHAPES[name]
    return {
        "type": "object",
        "properties": {key: {**field.schema, "description": field.meaning} for key, field in fields.items()},
        "required": [key for key in fields if key not in OPTIONAL.get(name, ())],
        "additionalProperties": False,
    }


def answer(told: str, shape: str | None) -> Schema:
    if shape is None:
        return {"description": told, "content": {"text/plain": {"schema": text()}}}
    return {"description": told, "content": {"application/json": {"schema": ref(shape)}}}


def get_operation(page: Page) -> Schema:
    answers = {"200": answer(page.told, page.shape)}
    if page.missing:
        answers["404"] = answer(page.missing, "Refused")
    if page.unready:
        answers["503"] = {"description": "not ready: it is starting, or its storage is down"}
    operation: Schema = {"summary": page.told, "responses": answers}
    if "{match_id}" in page.path:
        operation["parameters"] = [{"name": "match_id", "in": "path", "required": True, "schema": text()}]
    return operation


def post_operation(order: str) -> Schema:
    body = {"type": "object", "properties": order_fields(order), "additionalProperties": False}
    with_target = bool(ORDERS[order].target)
    if with_target:
        body["required"] = ["target"]
    if ORDERS[order].with_secret:
        body["required"] = ["target", "secret"]
    return {
        "summary": ORDERS_TOLD[order],
        "security": [{"admin_token": []}],
        "requestBody": {"required": with_target, "content": {"application/json": {"schema": body}}},
        "responses": {
            "200": answer("it is carried out and kept", "Carried_out"),
            **{str(status): answer(told, "Refused") for status, told in REFUSALS.items()},
        },
    }


def order_fields(order: str) -> Schema:
    key = {**or_null({**text(), "maxLength": LONGEST_KEY}), "description": "the same key again does nothing more"}
    if not ORDERS[order].target:
        return {"key": key}
    fields = {"target": {**text(), "minLength": 1, "description": "what the order is about"}, "key": key}
    if ORDERS[order].with_secret:
        bounds = {"minLength": SHORTEST, "maxLength": LONGEST}
        fields["secret"] = {**text(), **bounds, "description": "the new secret, in visible ASCII characters"}
    return fields


# --- Markdown ---------------------------------------------------------------------------------------------------------

HEAD = """\
# The HTTP interface

Every agent accepts messages at `POST /mcp`: that is the protocol of [the specification](../../spec/league-v2.md). A
manager also accepts registrations at `POST /register`, for agents that know no other way (section 13 of the
specification). This page lists everything else, and [openapi.json](openapi.json) has it for programs. Pages are read
with `GET` and need no token. What a page shows is durable: it does not change back after a crash. `make generate`
writes this page.

## The dashboard

These are a manager's pages for people; `league view` serves the same pages from a journal.

| path | shows |
|---|---|
| `/` | the league: progress, standings, results and what they tell, agents, orders; `/?projector` for a projector |
| `/?at={seq}`, `/?round={round_id}` | the league as it was after that event of its journal, or after that round |
| `/match/{match_id}` | a match: why it ended as it did, its course, the proof of its draw |
| `/player/{player_id}` | a player: its matches, answer times, mistakes and deviations |
| `/api/events` | the changes of `/`, as server-sent events |

Moments of the past are replayed from a few checkpoints, one at a time and with at most a fifth of a processor. Eight
requests may wait; further ones get status 503. A moment in the future is not found (404).

An event of `/api/events` is a JSON object: `pieces` has the HTML of each element that changed, by its id; `lists` has
the ids in each list that changed, in order. `?after=ID`, or the header `Last-Event-ID`, gets everything that changed
after the event with that id; any other value gets everything. There are at most four events a second and 256 readers;
further readers get status 503.

"""
ORDERS_HEAD = """
## Orders

Send `POST /api/admin/ORDER` with the header `Authorization: Bearer TOKEN`, where TOKEN is the admin token of the
manager, and a JSON object. The commands of the same names do exactly this and are easier to use.

"""
ORDERS_TAIL = """
`target` names the agent or match; orders without a target need no body. `key` is any text you choose: if an answer was
lost, give the order again with the same key, and it is carried out only once. `rotate-token` also needs the new value,
as `secret`; if the answer about a new admin token was lost, repeat the order with the new token. The answer comes when
the order is on disk:

```json
{"order": "withdraw", "target": "P02", "key": "b7d1"}
```

| status | when |
|---|---|
"""


def markdown() -> str:
    """The page for people."""
    rows = ([f"`{page.path}`", page.told, page.who, shape_link(page.shape)] for page in PAGES)
    told = ([f"`{order}`", "yes" if row.target else "", ORDERS_TOLD[order]] for order, row in ORDERS.items())
    refusals = "".join(f"| {status} | {told} |\n" for status, told in REFUSALS.items())
    return (
        f"{HEAD}## Pages\n\n{table(('path', 'shows', 'served by', 'shape'), rows)}"
        f"{ORDERS_HEAD}{table(('order', 'target', 'does'), told)}{ORDERS_TAIL}{refusals}\n## Shapes\n"
        + "".join(shape_section(name) for name in SHAPES)
    )


def shape_link(name: str | None) -> str:
    return f"[{name}](#{name.lower()})" if name else "text"


def shape_section(name: str) -> str:
    if name == "Row":
        section = "[section 5.14](../../spec/league-v2.md#514-league_standings_update)"
        return f"\n### Row\n\nA row of LEAGUE_STANDINGS_UPDATE ({section}).\n"
    rows = ([f"`{key}`", type_words(field.schema), field.meaning] for key, field in SHAPES[name].items())
    return f"\n### {name}\n\n{table(('field', 'type', 'meaning'), rows)}"


def type_words(one: Schema) -> str:
    """A schema in words."""
    if "anyOf" in one:
        return f"{type_words(one['anyOf'][0])} or null"
    if "$ref" in one:
        return shape_link(str(one["$ref"]).rpartition("/")[2])
    if "enum" in one:
        return " or ".join(f"`{value}`" for value in one["enum"])
    return f"array of {type_words(one['items'])}" if "items" in one else str(one["type"])
