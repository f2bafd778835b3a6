"""Writes what is derived from the code: the tables of spec/league-v2.md, the JSON Schemas of spec/schemas/, the
clauses the conformance kit carries, what `league --help` prints, the schemas of events, and the pages of
docs/reference/.

Run it as `python -m scripts.generate`. `--check` writes nothing and exits 1 if a file is stale, missing or left over.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import inspect as ms

from league.cli import main as cli
from league.features.mcp.message_schemas import FieldRequirement, clauses, schema
from league.protocol.errors import ERRORS, REJECTIONS, ErrorRow
from league.protocol.message.consistency import MAX_CONCURRENT_MATCHES, MAX_ROWS, MOST_CONCURRENT_MATCHES
from league.protocol.message.consistency import TABLES as LONG_TABLES
from league.protocol.message.exchanges import EXCHANGES, Exchange
from league.protocol.message.fields import INT32_MAX
from league.protocol.message.judge import FieldSpec, peel, specs
from league.protocol.message.messages import MESSAGES, MemberRequest, OpenRequest, Reply, Request
from scripts import bad_input, http_api, journal_schema, mcp_page, reference, rows
from scripts.tables import number_list, people, retry_words, table

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "spec" / "league-v2.md"
SCHEMAS = ROOT / "spec" / "schemas"
REQUIREMENTS = ROOT / "spec" / "requirements.toml"
CLAUSES = ROOT / "src" / "league" / "features" / "kit" / "clauses.json"
BAD_INPUT = CLAUSES.with_name("bad_input.json")
OVERVIEW = ROOT / "src" / "league" / "cli" / cli.OVERVIEW
COVERAGE = ROOT / "docs" / "reference" / "conformance.md"

BLOCK = re.compile(r"(<!-- begin generated: (?P<name>[^>]+?) -->\n).*?(<!-- end generated -->)", re.DOTALL)
INT32_MIN = -INT32_MAX - 1
WIDTH = 160
"""The most characters of a row for several fields, without the bars between its cells."""

ACKNOWLEDGEMENTS = (
    "ROUND_ANNOUNCEMENT_ACK",
    "STANDINGS_UPDATE_ACK",
    "ROUND_COMPLETED_ACK",
    "LEAGUE_COMPLETED_ACK",
    "GAME_OVER_ACK",
    "GAME_ERROR_ACK",
    "LEAGUE_ERROR_ACK",
    "MATCH_RESULT_ACK",
)
"""The acknowledgements that share a table, because each has few fields."""

# What a field means. The key is the clause, or the field's name where it means the same everywhere.
MEANINGS: Mapping[str, str] = {
    "GAME_ERROR.context": "details, by the kind of fault: see below",
    "GAME_ERROR.error_description": "the name of the error (10.1)",
    "GAME_ERROR.match_id": "the match",
    "GAME_ERROR.player_id": "the same as `affected_player`",
    "GAME_ERROR.retry_info.next_retry_at": "when the next attempt starts; absent if there is none",
    "GAME_ERROR_ACK.match_id": "the match of the error",
    "GAME_INVITATION.player_id": "the invited player",
    "GAME_MOVE_CALL.move_request.context": "what this player can see of the game",
    "GAME_MOVE_CALL.move_request.move_type": "the kind of move to make",
    "GAME_MOVE_RESPONSE.move_data.move_type": "the kind of move, as in the call",
    "GAME_OVER.game_result.attempt": "the attempt this result belongs to",
    "GAME_OVER.game_result.choices": "the choice of each player by id; null if no valid one was received",
    "GAME_OVER.game_result.reason": "one sentence for people; receivers read it here or beside `game_result`",
    "GAME_MOVE_CALL.move_request.talk": "what the other player said with earlier moves, in games with talk (8.10)",
    "GAME_MOVE_RESPONSE.move_data.talk": "a line for the other player, in games with talk (8.10)",
    "GAME_OVER.game_result.draws": "the numbers that chance drew, in order (12)",
    "GAME_OVER.reason": "the same sentence again",
    "LEAGUE_ERROR.action_required": "what the receiver should do or repeat",
    "LEAGUE_ERROR.context": "details for debugging; `action`: the message type that failed; `expected_format`",
    "LEAGUE_ERROR.error_description": "the name of the error (10.1)",
    "LEAGUE_QUERY.query_params.player_id": "the player asked about; absent: the asking player",
    "LEAGUE_QUERY.query_params.round_id": "for GET_SCHEDULE: only this round",
    "LEAGUE_QUERY_RESPONSE.error.error_description": "a sentence",
    "LEAGUE_QUERY_RESPONSE.query_type": "the query type, repeated",
    "LEAGUE_QUERY_RESPONSE.standings": "GET_STANDINGS: the table again",
    "LEAGUE_STANDINGS_UPDATE.round_id": "the round of the latest result in the table",
    "LEAGUE_STANDINGS_UPDATE.standings": "every registered player, best first",
    "LEAGUE_STANDINGS_UPDATE.version": "grows with every change of the table",
    "LEAGUE_REGISTER_RESPONSE.player_id": "the id that the manager assigned; null after a rejection",
    "MATCH_RESULT_ACK.status": "the result is stored",
    "MATCH_RESULT_ACK.corrected": "what the manager changed, because the report contradicts itself (8.4)",
    "MATCH_RESULT_ACK.corrected[].field": "the field of the report that was wrong",
    "MATCH_RESULT_ACK.corrected[].reason": "a sentence",
    "MATCH_RESULT_REPORT.attempt": "the attempt, as in the assignment; absent: the current one",
    "MATCH_RESULT_REPORT.result.details.choices": "as in GAME_OVER",
    "MATCH_RESULT_REPORT.result.details.draws": "the numbers that chance drew, in order (12)",
    "MATCH_RESULT_REPORT.result.details.drawn_number": "the number; null after a technical loss",
    "MATCH_RESULT_REPORT.result.details.status": "how the match ended; derived if absent",
    "MATCH_RESULT_REPORT.result.details.provenance": "how each player's choices came about, by player id (8.17)",
    "MATCH_TROUBLE.attempt": "the attempt that the referee plays",
    "MATCH_TROUBLE.player_id": "the player that would lose",
    "MATCH_TROUBLE_RESPONSE.reason": "one sentence for people",
    "REFEREE_REGISTER_RESPONSE.referee_id": "the id that the manager assigned; null after a rejection",
    "REFEREE_REGISTER_REQUEST.referee_meta.max_concurrent_matches": "matches at a time; absent: 1",
    "ROUND_ANNOUNCEMENT.matches[].attempt": "the number of this attempt at the match (8.12)",
    "ROUND_ANNOUNCEMENT.matches[].match_id": "the match, unique in the league",
    "ROUND_ANNOUNCEMENT.matches[].referee_id": "the referee the match is assigned to",
    "LEAGUE_COMPLETED.signature": "the manager's signature under the statement (9.8)",
    "ROUND_COMPLETED.signature": "the manager's signature under the statement (9.8)",
    "ROUND_COMPLETED.summary.draws": "matches that ended in a draw",
    "ROUND_COMPLETED.summary.technical_losses": "matches that ended by a technical loss",
    "ROUND_COMPLETED.summary.total_matches": "matches of the round",
    "ROUND_COMPLETED.summary.wins": "matches that were played and won",
    "accept": "true to play; false loses the match",
    "action_required": "the message type to send next",
    "affected_player": "the player at fault; null if none",
    "arrival_timestamp": "when the invitation arrived",
    "assignment_digest": "SHA-256, hex, of the seed by which referees are drawn for matches (8.12)",
    "attempt": "the number of this attempt at the match; part of the draw (12)",
    "behind": "true if the opponent is ahead in the match, in a game in which one can be",
    "champion": "the player of rank 1",
    "choice": "one of `valid_options`; anything else is E024",
    "code": "the fault: E001, E009 or E045",
    "consequence": "what happens if the fault is not corrected",
    "contact_endpoint": "where the agent accepts requests",
    "context": "details",
    "current_round": "the round being played, 0 before the first",
    "data": "the answer, by query type (11)",
    "conditions": "how the language model is asked, if one plays (8.17)",
    "provenance": "how the choice came about, if a language model made it (8.17)",
    "deadline": "when the answer must be in; for information, the caller's clock decides",
    "decision": "`decide`: the loss stands; `wait`: ask the player again (8.15)",
    "details": "the evidence for the result",
    "display_name": "the name shown to people",
    "draw_commitment": "the promise of the draw (12)",
    "draw_scheme": '"shared.v2": the manager takes part in the draws (12.1); absent: the referee draws alone',
    "draw_seed": "the seed of the number, hex (12)",
    "draw_share": "the manager's share of the draw, hex (12.1)",
    "drawn_number": "the number, 1 to 10; null if none was drawn",
    "draws": "matches drawn",
    "enrolment_key": "the key that a manager may require of referees (7.2)",
    "error": "why there is no answer",
    "error_code": "the code of the error (10.1)",
    "error_description": "the name of the error or a sentence",
    "error_detail": "a sentence about this case",
    "error_name": "the name of the error (10.1)",
    "faults": "each player's fault, by player id",
    "final_standings": "the final table, every registered player, best first",
    "game_details": "fields of the game's own, as it wrote them (8.10)",
    "game_result": "how the match ended",
    "game_state": "the state of the match (7.3)",
    "game_type": "the game, `even_odd` unless agreed otherwise",
    "game_types": "games the agent knows",
    "league_id": "the league",
    "losses": "matches lost",
    "manager_endpoints": "the addresses of all managers of the league, of which one works at a time (7.2); absent: one",
    "statement": "what the manager signed when the round, or the last round, was over (9.8)",
    "manager_key": "the manager's public key: 64 lower-case hexadecimal digits (9.8)",
    "match_id": "the match",
    "match_record": "what happened in the match, if the assignment asks for it (8.4)",
    "matches": "the matches; a referee's copy holds only its own, or none",
    "matches_completed": "matches of the round that have a result",
    "matches_played": "the same number again",
    "max_retries": "retries in all, 3",
    "move_data": "the move",
    "move_format": "what may be written instead of one of `valid_options`, in games that accept it (8.10)",
    "move_request": "the question",
    "move_seconds": "the time limit of a choice, 30 if absent",
    "player_A_told": "codes of deviations that strict leagues refuse and this player has been told of (5.16)",
    "trust": "`class`: an answer may count by the address it came from (9.7); absent: never",
    "fallbacks_refused": "true: a player whose language model did not choose loses the match (8.17)",
    "record_wanted": "true: the manager accepts the record of the match in the report (8.4)",
    "retry_delays_s": "the pauses before the retries of a call to a player, in seconds; 2, 2 and 2 if absent",
    "moves": "the moves in order, in games that have them",
    "next_retry_at": "when the next attempt starts",
    "next_round_id": "the next round; null after the last",
    "number_parity": "the parity of the number",
    "opponent_id": "the other player",
    "original_message_type": 'the message that was wrong, or "UNKNOWN"',
    "parity_choice": "the choice, in exactly these letters; anything else is E004",
    "played": "matches with a result",
    "player_A_answers": "digests of the tokens this player may answer with (9.3)",
    "player_A_replies": "digests of its tokens that are good only in the reply to a call (9.1)",
    "player_A_convention": "the way of calling it seems to understand: SPEC, TYPE, TOOLS, NESTED, BARE or LOWER (13.1)",
    "player_A_endpoint": "where this player accepts requests",
    "player_A_id": "a player",
    "player_A_name": "for players, in the first round: the name shown to people, which tables have later",
    "player_A_known_as": "the id that it requested at registration and that another player has (13.2)",
    "player_A_standings": "its record, for `context.your_standings`",
    "player_A_suspended": "true: one invitation, no retries (8.11)",
    "player_A_other_tokens": "tokens to try if this player refuses that one: it may use another registration",
    "player_A_token": "the token to present to this player (9.3)",
    "player_id": "the player",
    "player_meta": "the agent that registers",
    "points": "points so far",
    "protocol_version": "the protocol version it speaks; absent: 2.1.0",
    "query_params": "what the query is about; may be empty",
    "query_type": "the question (11)",
    "rank": "1 for the first, all different",
    "reason": "the reason for a rejection; otherwise null",
    "referee_endpoint": "where the referee of the match accepts requests",
    "referee_tokens": "for players: digests of the tokens of a referee that presents no derived ones (9.2)",
    "referee_meta": "the agent that registers",
    "result": "how the match ended",
    "retry_count": "the retry about to be made; 3 after the last",
    "retry_info": "the retry data again",
    "retryable": "true while another attempt is left",
    "role_in_match": "the seat of the receiver; no other meaning",
    "round_id": "the round, counted from 1",
    "rpc_code": "the JSON-RPC number of the same error (10.1)",
    "returns": "what each player got by the rules of the game, by player id, in games scored by margin (8.10)",
    "role": "the role of the player in the game now, in games with roles",
    "score": "points for this match by player id",
    "standings": "the table",
    "status": "the verdict",
    "success": "whether the query was answered",
    "summary": "the round in numbers",
    "talk": "what was said with the moves, in games with talk (8.10)",
    "talk_limit": "how long a line of talk may be, in characters",
    "time_remaining": "seconds left in this window",
    "findings": "what a probe of the endpoint found out, for the agent's author (7.2)",
    "token_scheme": "how the manager derives tokens, or which ones a referee presents (9.2, 9.3); absent: unknown",
    "total_matches": "matches of the league",
    "total_rounds": "rounds of the league",
    "trouble": '"trouble.v1": losses are asked about before they are decided (8.15); absent: they are not',
    "turn": "the number of the choice in this attempt, from 1; 0 for the invitation",
    "head": "the end of the manager's journal when the message left (8.9)",
    "seq": "the number of its last event",
    "digest": "the digest of its chain there, hex",
    "share_commitment": "the manager's promise of its share of the draws (12.1)",
    "signatures": "the last signature of each player, by player id (9.6)",
    "CHOOSE_PARITY_RESPONSE.signature": "the player's signature under this choice and all before it (9.6)",
    "GAME_MOVE_RESPONSE.signature": "the player's signature under this choice and all before it (9.6)",
    "player_A_signs": "the player declared a public key, and is held to its token (9.2)",
    "DRAW_REQUEST.choices": "the choice of each player, by player id",
    "DRAW_REQUEST.moves": "the choices turn by turn, for games with more than one",
    "public_key": "the Ed25519 key with which the player signs its choices, 64 lower-case hexadecimal digits (9.6)",
    "valid_options": "the legal choices",
    "version": "the version of the agent's software",
    "winner": "the id of the winner; null for a draw and if both were at fault",
    "winner_player_id": "the id of the winner; null for a draw and if both were at fault",
    "wins": "matches won",
    "your_standings": "the called player's record so far",
}

RULE_WORDS: Mapping[str, str] = {
    "timestamp": "timestamp (3.4)",
    "reply_timestamp": "timestamp (3.4)",
    "sender": "sender (3.3)",
    "reply_sender": "sender (3.3)",
    "semver": "version (3.5)",
    "protocol_version": "version (3.7)",
    "display_name": "name (3.5)",
    "url": "address (3.5)",
    "query_type": "query type (11)",
    "player_id": "player id (3.6)",
    "referee_id": "referee id (3.6)",
    "token": "non-empty string",
    "error_code": "error code, `E` and three digits",
}


# --- tables -----------------------------------------------------------------------------------------------------------


def type_words(info: ms.Type, rule: str | None = None) -> str:
    """A field's type and bounds, in words."""
    if rule is not None:
        return RULE_WORDS[rule]
    return TYPE_WORDS[type(info)](info)


def string_words(info: ms.StrType) -> str:
    if info.pattern:
        return f"string like `{info.pattern.strip('^$')}`"
    return "non-empty string" if info.min_length else "string"


def array_words(info: ms.ListType) -> str:
    at_least = f", at least {info.min_length}" if info.min_length else ""
    return f"array of {plural(info.item_type)}{at_least}"


def map_words(info: ms.DictType) -> str:
    inside = plural(info.value_type)
    return "object" if inside == "anything" else f"object of {inside}"


def number_words(info: ms.IntType | ms.FloatType) -> str:
    word = "integer" if isinstance(info, ms.IntType) else "number"
    if info.ge == INT32_MIN:
        return f"{word}, 32 bits"
    if info.le in (None, INT32_MAX):
        return f"{word} ≥ {info.ge:g}"
    return f"{word} {info.ge:g} to {info.le:g}"


def plural(info: ms.Type) -> str:
    bare, extra, _ = peel(info)
    if isinstance(bare, ms.AnyType):
        return "anything"
    return re.sub(r"^(object|integer|(?:non-empty )?string)", r"\1s", type_words(bare, extra.get("rule")))


# Any: each function takes the type it stands beside.
TYPE_WORDS: Mapping[type[ms.Type], Callable[[Any], str]] = {
    ms.StrType: string_words,
    ms.IntType: number_words,
    ms.FloatType: number_words,
    ms.BoolType: lambda _: "true or false",
    ms.LiteralType: lambda info: " or ".join(f'`"{value}"`' for value in info.values),
    ms.ListType: array_words,
    ms.DictType: map_words,
    ms.StructType: lambda _: "object",
}


def presence(spec: FieldSpec) -> str:
    if spec.required:
        return "mandatory"
    if spec.needed:
        return "mandatory in strict"
    return "always sent" if spec.said else "optional"


def meaning(clause: FieldRequirement) -> str:
    """Return the words for this field; player B's are player A's."""
    for key in (clause.requirement, clause.path.rpartition(".")[2].replace("player_B_", "player_A_")):
        if key in MEANINGS:
            return MEANINGS[key]
    raise SystemExit(f"scripts/generate.py: what does {clause.requirement} mean? Add it to MEANINGS.")


def field_cells(clause: FieldRequirement, spec: FieldSpec) -> list[str]:
    words = type_words(spec.type, spec.rule)
    if spec.name == "max_concurrent_matches":
        words = f"integer 1 to {MAX_CONCURRENT_MATCHES}, or {MOST_CONCURRENT_MATCHES}"
    if LONG_TABLES.get(clause.requirement.partition(".")[0]) == clause.path:
        words += f", at most {MAX_ROWS} in strict"
    if spec.required and spec.nullable:
        words += " or null"
    return [f"`{clause.path}`", words, presence(spec), meaning(clause)]


def field_rows(message_type: str) -> list[list[str]]:
    """Return a row for each field of a message; a field of player B that is like player A's has none."""
    rows: dict[str, list[str]] = {}
    for clause in clauses(message_type):
        if clause.requirement.startswith("ENVELOPE") or clause.field is None:
            continue
        row = field_cells(clause, clause.field)
        twin = rows.get(clause.path.replace("player_B_", "player_A_"))
        if twin is None or twin[1:] != row[1:]:
            rows[clause.path] = row
    return list(rows.values())


def joined(rows: Iterable[list[str]]) -> list[list[str]]:
    """Return the rows; adjacent fields of one object with the same type and presence share a row if it is short."""
    lines: list[list[str]] = []
    parents: list[str] = []
    for path, words, needed, about in rows:
        parent, dot, name = path.strip("`").rpartition(".")
        if lines and parents[-1] == parent and lines[-1][1:3] == [words, needed]:
            paths, _, _, meanings = lines[-1]
            both = meanings if about == meanings else f"{meanings}; {about}"
            row = [f"{paths}, `{dot}{name}`", words, needed, both]
            if len("".join(row)) <= WIDTH and both.count(";") <= paths.count(",") + 1:
                lines[-1] = row
                continue
        lines.append([path, words, needed, about])
        parents.append(parent)
    return lines


def _without_place(row: Sequence[str]) -> list[str]:
    return [row[0].strip("`").rpartition(".")[2], *row[1:]]


def fields_table(message_type: str, like: str) -> str:
    """Return the table of a message's fields, without those that are the same in the message `like`, wherever there."""
    known = [_without_place(row) for row in field_rows(like)] if like else []
    rows = [row for row in field_rows(message_type) if _without_place(row) not in known]
    return table(("field", "type", "presence", "meaning"), joined(rows))


def envelope_table() -> str:
    by_class = [{spec.name: spec for spec in specs(cls)} for cls in (Request, MemberRequest, OpenRequest, Reply)]
    rows = [
        [f"`{name}`", type_words(spec.type, spec.rule), *(presence(fields[name]) for fields in by_class)]
        for name, spec in by_class[0].items()
    ]
    rows.insert(1, ["`message_type`", "string, a name of section 5", *["mandatory"] * len(by_class)])
    kinds = ("reports and queries", "other requests", "registrations, GAME_ERROR", "replies, LEAGUE_ERROR")
    return table(("field", "type", *kinds), rows)


def exchange_cells(row: Exchange) -> list[str]:
    methods = ", ".join(f"`{name}`" for name in (row.method, *row.other_methods))
    answers = ", ".join(row.replies)
    ends = (people(row.senders), people(row.receivers))
    return [row.message_type, *ends, answers, methods, f"{row.limit_s:g} s", retry_words(row.retries)]


def exchanges_table() -> str:
    head = ("message", "from", "to", "answer", "method", "limit", "repeated")
    return table(head, map(exchange_cells, EXCHANGES.values()))


def error_cells(row: ErrorRow) -> list[str]:
    http = str(row.http_status) if row.http_status else "200"
    rejected = "REJECTED" if row.code in REJECTIONS else ""
    return [row.code, row.name, number_list(row), row.severity.value, row.retry.value, http, rejected, row.when]


def errors_table() -> str:
    head = ("code", "name", "JSON-RPC number", "severity", "retry", "HTTP", "at registration", "when")
    return table(head, map(error_cells, ERRORS.values()))


def acknowledgement_cells(message_type: str) -> list[str]:
    answered = [name for name, row in EXCHANGES.items() if message_type in row.replies]
    senders = dict.fromkeys(role for name in answered for role in EXCHANGES[name].receivers)
    own = [row for row in field_rows(message_type) if "." not in row[0]]
    fields = [path + (" (optional)" if needed == "optional" else "") for path, _, needed, _ in own]
    return [message_type, ", ".join(answered), people(senders), ", ".join(fields)]


def acknowledgements_table() -> str:
    return table(("acknowledgement", "answers", "from", "fields"), map(acknowledgement_cells, ACKNOWLEDGEMENTS))


TABLES: Mapping[str, Callable[[], str]] = {
    "acknowledgements": acknowledgements_table,
    "envelope": envelope_table,
    "exchanges": exchanges_table,
    "errors": errors_table,
}


def fill(name: str) -> str:
    """The generated table of this name."""
    kind, _, rest = name.partition(" ")
    message_type, _, like = rest.partition(" beyond ")
    if kind == "fields" and message_type in MESSAGES and like in {"", *MESSAGES}:
        return fields_table(message_type, like)
    if name in TABLES:
        return TABLES[name]()
    raise SystemExit(f"{PAGE.relative_to(ROOT)}: there is no generated part {name!r}")


def filled(page: str) -> str:
    """The page with every generated part written anew."""
    return BLOCK.sub(lambda found: f"{found[1]}{fill(found['name'])}{found[3]}", page)


# --- files ------------------------------------------------------------------------------------------------------------


def wanted() -> Iterator[tuple[Path, str]]:
    """Every generated file with its content. The table of features comes first: the commands are found in it."""
    yield from rows.files()
    yield from journal_schema.files()
    yield PAGE, filled(PAGE.read_text(encoding="utf-8"))
    for message_type in MESSAGES:
        yield SCHEMAS / f"{message_type}.json", json.dumps(schema(message_type), indent=2) + "\n"
    yield CLAUSES, observable_clauses()
    yield BAD_INPUT, bad_input.text()
    yield OVERVIEW, cli.overview()
    yield COVERAGE, coverage_page()
    yield COVERAGE.with_name("mcp.md"), mcp_page.page()
    for name, text in (*reference.pages(), *http_api.files()):
        yield COVERAGE.with_name(name), text


def observable_clauses() -> str:
    """The requirements somebody outside can see kept, as the installed kit needs them: one line each."""
    names = ("id", "level", "player_level", "section", "kind", "observable", "sentence")
    rows = tomllib.loads(REQUIREMENTS.read_text(encoding="utf-8"))["requirement"]
    lines = [json.dumps({name: row[name] for name in names if name in row}) for row in rows if row["observable"]]
    return "[\n" + ",\n".join(lines) + "\n]\n"


def coverage_page() -> str:
    from scripts.coverage import page  # reads the clauses, which `write` may just have written

    return page()


def left_over() -> list[Path]:
    return sorted(path for path in SCHEMAS.glob("*.json") if path.stem not in MESSAGES)


def stale() -> list[Path]:
    """Generated files that are not what the code would write."""
    changed = [path for path, text in wanted() if not path.exists() or path.read_text(encoding="utf-8") != text]
    return changed + left_over()


def write() -> None:
    for path, text in wanted():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    for path in left_over():
        path.unlink()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a file is stale")
    if not parser.parse_args().check:
        write()
        return 0
    files = stale()
    for path in files:
        print(f"stale: {path.relative_to(ROOT)} (run `make generate`)", file=sys.stderr)
    return 1 if files else 0


if __name__ == "__main__":
    sys.exit(main())
