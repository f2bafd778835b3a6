"""The wrong ones: each names the error it must get, where, and the requirement it breaks."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator

from scripts.vectors.shapes import (
    ABSENT,
    MANAGER_LIMIT,
    MESSAGE_LIMIT,
    TABLES,
    Changes,
    Vector,
    bad,
    bad_message,
    base_with,
    call,
    changed,
    compact,
    nested,
    padded,
    rows,
    smallest,
    table_of,
    with_extra,
)
from scripts.vectors.tables import BASES, ENVELOPE, MANAGER, PLAYER, REFEREE, REQUESTS, WRONG, Fields, Json, Wrong

_OF_THE_TEXT = "JSON Schema judges parsed values, not their text"
_OF_THE_WRAPPER = "the schemas describe messages, not the JSON-RPC object around them"
_OF_THE_ROUND = "JSON Schema cannot compare the players of different matches"
_OF_THE_GAME = "JSON Schema does not know the rules of games"

OWN_ERROR = {"choice": "E004", "move": "E024"}
"""Fields whose every wrong value, null included, has an error of its own."""

_AN_EMPTY = {
    "LEAGUE_REGISTER_REQUEST": "player_meta.game_types",
    "REFEREE_REGISTER_REQUEST": "referee_meta.game_types",
}


def _variants(message_type: str, path: str, kind: str, presence: str, thoroughly: bool) -> Iterator[Vector]:
    base = base_with(message_type, path)
    name = f"{path}.element" if path.endswith("]") else path
    name = name.replace("[0]", "")
    if presence in ("r", "n", *OWN_ERROR):
        yield bad_message(f"{name}.missing", f"{path} is missing", base, {path: ABSENT}, "E003", path)
    if presence in ("r", "element", *OWN_ERROR):
        error = OWN_ERROR.get(presence, "E003")
        yield bad_message(f"{name}.null", f"{path} is null", base, {path: None}, error, path)
    for wrong in WRONG[kind] if thoroughly else WRONG[kind][:1]:
        yield _bad_value(name, path, base, wrong)


def _bad_value(name: str, path: str, base: Fields, wrong: Wrong) -> Vector:
    what = f"{path} is {json.dumps(wrong.value)}"
    return bad_message(f"{name}.{wrong.name}", what, base, {path: wrong.value}, wrong.error, path, wrong.beyond_schema)


def _fields() -> Iterator[Vector]:
    """Every field of every message; of the fields of one kind only a message's first gets all wrong values."""
    for message_type in BASES:
        seen: set[str] = set()
        for path, kind, presence in rows(message_type):
            yield from _variants(message_type, path, kind, presence, thoroughly=kind not in seen)
            seen.add(kind)


def _envelopes() -> Iterator[Vector]:
    invitation = BASES["GAME_INVITATION"][0]
    fields = ("protocol", "message_type", "sender", "timestamp", "conversation_id")
    for field, wrongs in ENVELOPE.items():
        for wrong in wrongs:
            yield _bad_value(field, field, invitation, wrong)
    for field in fields:
        yield bad_message(f"{field}.null", f"{field} is null", invitation, {field: None}, "E003", field)
    for message_type in REQUESTS:
        base = BASES[message_type][0]
        for field in fields:
            yield bad_message(f"{field}.missing", f"{field} is missing", base, {field: ABSENT}, "E003", field)


def _replies() -> Iterator[Vector]:
    """What a reply says about its envelope must be right, though it need not say it."""
    for message_type in sorted(set(BASES) - set(REQUESTS)):
        base = BASES[message_type][0]
        for field, name, value, error in (
            ("protocol", "an-older-version", "league.v1", "E018"),
            ("sender", "an-unknown-role", "coach:P01", "E008"),
            ("timestamp", "local-time", "2025-01-15T10:30:00+02:00", "E021"),
            ("conversation_id", "a-number", 7, "E007"),
        ):
            yield _bad_value(field, field, base, Wrong(name, value, error))
    for message_type in ("GAME_JOIN_ACK", "CHOOSE_PARITY_RESPONSE", "LEAGUE_QUERY_RESPONSE"):
        base = BASES[message_type][0]
        yield bad_message(
            "message_type.missing", "it has no message_type", base, {"message_type": ABSENT}, "E003", "message_type"
        )


def _roles() -> Iterator[Vector]:
    """Each message from somebody who does not say such things."""
    others = {"league_manager": PLAYER, "referee": PLAYER, "player": REFEREE}
    for message_type, (base, *_) in BASES.items():
        sender = others[str(base["sender"]).partition(":")[0]]
        if message_type == "LEAGUE_QUERY" or message_type.endswith("_ACK"):
            sender = PLAYER if message_type == "MATCH_RESULT_ACK" else MANAGER
        if message_type != "GAME_INVITATION":
            what = f"{message_type} does not come from {sender}"
            yield bad_message("sender.wrong-role", what, base, {"sender": sender}, "E032", "sender")


def _together() -> Iterator[Vector]:
    for message_type, path in _AN_EMPTY.items():
        yield bad_message(f"{path}.empty", f"{path} is empty", BASES[message_type][0], {path: []}, "E008", path)
    for message_type, meta in (
        ("LEAGUE_REGISTER_REQUEST", "player_meta"),
        ("REFEREE_REGISTER_REQUEST", "referee_meta"),
    ):
        path, base = f"{meta}.protocol_version", BASES[message_type][0]
        for version in ("1.9.9", "1.0.0", "2.0.0-rc.1", "3.0.0", "10.0.0"):
            wrong = Wrong(version, version, "E018")
            yield _bad_value(path, path, base, wrong)
        yield _bad_value(path, path, base, Wrong("the-protocol-name", "league.v2", "E008"))
    yield from _rounds()
    yield from _results()
    yield from _queries()


def _rounds() -> Iterator[Vector]:
    base = BASES["ROUND_ANNOUNCEMENT"][0]
    for name, what, changes, path in (
        ("player-twice", "P01 is in both matches", {"matches[1].player_B_id": "P01"}, "matches[1]"),
        (
            "player-twice-as-the-same",
            "P01 is player A in both matches",
            {"matches[1].player_A_id": "P01"},
            "matches[1]",
        ),
        ("player-against-itself", "P02 plays against itself", {"matches[0].player_A_id": "P02"}, "matches[0]"),
    ):
        message = changed(base, changes)
        yield bad(
            f"round_announcement.{name}",
            what,
            {"message": message},
            "E008",
            path,
            "ROUND_ANNOUNCEMENT.matches",
            _OF_THE_ROUND,
        )
    base = BASES["ROUND_COMPLETED"][0]
    gone = {"matches_completed": ABSENT, "matches_played": ABSENT}
    what = "it names the number of matches neither as matches_completed nor as matches_played"
    yield bad_message("no-number-of-matches", what, base, gone, "E003", "matches_completed")


def _results() -> Iterator[Vector]:
    over, path = BASES["GAME_OVER"][0], "game_result"
    draw = {f"{path}.status": "DRAW", f"{path}.winner_player_id": None, f"{path}.choices.P02": "even"}
    for field in ("drawn_number", "number_parity"):
        changes = {**draw, f"{path}.{field}": None}
        what = f"a draw in even_odd has a {field}"
        yield bad_message(f"draw-without-{field}", what, over, changes, "E003", f"{path}.{field}")
    for name, value in (("another-case", "Even"), ("a-number", 2), ("true", True), ("empty", "")):
        for message_type, where in (
            ("GAME_OVER", f"{path}.choices"),
            ("MATCH_RESULT_REPORT", "result.details.choices"),
        ):
            message = changed(BASES[message_type][0], {f"{where}.P01": value})
            what = f"{where}.P01 is {json.dumps(value)}"
            yield bad(
                f"{message_type.lower()}.{where}.P01.{name}",
                what,
                {"message": message},
                "E008",
                f"{where}.P01",
                f"{message_type}.{where}",
                "",
            )
    report = BASES["MATCH_RESULT_REPORT"][0]
    for wrong in (
        Wrong("a-string", "3", "E007"),
        Wrong("true", True, "E007"),
        Wrong("null", None, "E003"),
        Wrong("beyond-32-bits", 2**31, "E008"),
    ):
        message = changed(report, {"result.score.P01": wrong.value})
        what = f"result.score.P01 is {json.dumps(wrong.value)}"
        yield bad(
            f"match_result_report.result.score.P01.{wrong.name}",
            what,
            {"message": message},
            wrong.error,
            "result.score.P01",
            "MATCH_RESULT_REPORT.result.score.*",
            "",
        )
    yield from _contradictions(report)


def _contradictions(report: Fields) -> Iterator[Vector]:
    """Winner, choices, number and score of one report against each other (R-10)."""
    number, choices, score = "result.details.drawn_number", "result.details.choices", "result.score"
    throws = BASES["MATCH_RESULT_REPORT"][1]
    rows: tuple[tuple[str, str, Fields, Changes, str], ...] = (
        ("the-loser-wins", "P01 named the parity, P02 is said to have won", report, {"result.winner": "P02"}, "winner"),
        (
            "the-loser-wins-with-its-points",
            "P01 named the parity, P02 is said to have won and gets the points",
            report,
            {"result.winner": "P02", score: {"P01": 0, "P02": 3}},
            "winner",
        ),
        (
            "a-draw-with-a-winner",
            "both chose even, P01 is said to have won",
            report,
            {f"{choices}.P02": "even"},
            "winner",
        ),
        (
            "a-win-without-winner",
            "P01 named the parity, nobody is said to have won",
            report,
            {"result.winner": None, score: {"P01": 1, "P02": 1}},
            "winner",
        ),
        ("an-odd-number", "the number is odd, P01 chose even and is said to have won", report, {number: 7}, "winner"),
        ("a-stranger-wins", "P03 did not play this match", report, {"result.winner": "P03"}, "winner"),
        ("a-wrong-score", "a win is worth 3 points", report, {score: {"P01": 1, "P02": 0}}, "score"),
        ("points-for-the-loser", "the loser gets points", report, {score: {"P01": 3, "P02": 1}}, "score"),
        (
            "a-draw-scored-zero",
            "a draw is worth 1 point each",
            report,
            {"result.winner": None, f"{choices}.P02": "even", score: {"P01": 0, "P02": 0}},
            "score",
        ),
        (
            "points-of-a-double-technical-loss",
            "without winner a technical loss gives no points",
            report,
            {"result.winner": None, number: None, choices: {"P01": None, "P02": None}, score: {"P01": 1, "P02": 1}},
            "score",
        ),
        (
            "a-draw-by-name",
            "a draw has no winner, not one called DRAW",
            report,
            {"result.winner": "DRAW", f"{choices}.P02": "even", score: {"P01": 1, "P02": 1}},
            "winner",
        ),
        (
            "a-number-without-both-choices",
            "a number is drawn when both have chosen",
            report,
            {f"{choices}.P02": None},
            "details",
        ),
        ("a-number-beyond-ten", "numbers are drawn from 1 to 10", report, {number: 12}, "details.drawn_number"),
        (
            "moves-of-another-winner",
            "by its moves P01 won",
            throws,
            {"result.winner": "P02", score: {"P01": 0, "P02": 3}},
            "winner",
        ),
    )
    for name, what, base, changes, place in rows:
        clause = "REPORT.wrong_score" if place == "score" else "REPORT.recomputed"
        content = {"message": changed(base, changes)}
        yield bad(f"match_result_report.{name}", what, content, "E039", f"result.{place}", clause, _OF_THE_GAME)


def _queries() -> Iterator[Vector]:
    query, path = BASES["LEAGUE_QUERY"][0], "query_params.player_id"
    for query_type in ("GET_NEXT_MATCH", "GET_PLAYER_STATS"):
        for name, params in (("without-player", {}), ("with-null", {"player_id": None}), ("without-params", ABSENT)):
            changes = {"sender": REFEREE, "query_type": query_type, "query_params": params}
            what = f"a referee that asks {query_type} must name the player"
            yield bad_message(f"a-referee-asks-{query_type.lower()}-{name}", what, query, changes, "E003", path)
    answer, failure = BASES["LEAGUE_QUERY_RESPONSE"]
    for name, value in (("missing", ABSENT), ("null", None)):
        what = "success is true, so data must be there"
        yield bad_message(f"success-with-data-{name}", what, answer, {"data": value}, "E003", "data")
        what = "success is false, so error must be there"
        yield bad_message(f"failure-with-error-{name}", what, failure, {"error": value}, "E003", "error")


def _wrapped(
    name: str, what: str, document: Json, error: str, path: str, requirement: str, method_only: bool = True
) -> Vector:
    beyond = _OF_THE_WRAPPER if method_only else ""
    return bad(f"rpc.{name}", what, {"raw": compact(document)}, error, path, requirement, beyond)


def _requests() -> Iterator[Vector]:
    message = smallest("GAME_INVITATION")
    yield _wrapped("batch", "a batch of one request", [call(message)], "E035", "", "RPC.batch")
    yield _wrapped("empty-batch", "a batch of no request", [], "E035", "", "RPC.batch")
    for name, value in (("a-string", "GAME_INVITATION"), ("a-number", 42), ("true", True), ("null", None)):
        yield _wrapped(name, f"{json.dumps(value)} is not an object", value, "E035", "", "RPC.object")
    members: dict[str, tuple[tuple[str, Json], ...]] = {
        "id": (
            ("missing", ABSENT),
            ("null", None),
            ("true", True),
            ("a-fraction", 1.5),
            ("an-object", {}),
            ("an-array", [1]),
        ),
        "jsonrpc": (("missing", ABSENT), ("null", None), ("older", "1.0"), ("a-number", 2.0), ("true", True)),
        "method": (("missing", ABSENT), ("null", None), ("a-number", 7), ("an-array", ["league_query"])),
    }
    clauses = {"id": "RPC.id", "jsonrpc": "RPC.object", "method": "RPC.method"}
    for member, values in members.items():
        for name, value in values:
            what = f"{member} is {'missing' if value is ABSENT else json.dumps(value)}"
            yield _wrapped(f"{member}.{name}", what, call(message, **{member: value}), "E035", member, clauses[member])
    yield _wrapped("params.missing", "there is no message", call(ABSENT), "E003", "protocol", "ENVELOPE.protocol")
    for name, params in (("an-array", [message]), ("a-string", "GAME_INVITATION"), ("a-number", 7), ("true", True)):
        yield _wrapped(f"params.{name}", "a message is an object", call(params), "E007", "", "ENVELOPE")


def _methods() -> Iterator[Vector]:
    invitation, choice = smallest("GAME_INVITATION"), smallest("CHOOSE_PARITY_CALL")
    for name in ("play_chess", "game_invite", "LEAGUE_ALARM", "get_game_invitation", "tools/list"):
        what = f"there is no method {name}"
        yield _wrapped(
            f"method.unknown.{name.replace('/', '-')}", what, call(invitation, name), "E036", "method", "RPC.method"
        )
    unknown = changed(invitation, {"message_type": "GAME_INVITE"})
    what = "the method comes before the message type"
    yield _wrapped("method.unknown-as-the-type", what, call(unknown, "play_chess"), "E036", "method", "RPC.method")
    tool = {"name": "play_chess", "arguments": invitation}
    yield _wrapped(
        "method.unknown-tool", "there is no such tool", call(tool, "tools/call"), "E036", "method", "RPC.method"
    )
    for method, message in (
        ("league_query", invitation),
        ("handle_game_invitation", choice),
        ("parity_choose", invitation),
        ("choose_parity", invitation),
        ("choose_move", choice),
        ("GAME_OVER", invitation),
        ("game_over", invitation),
        ("register_player", smallest("REFEREE_REGISTER_REQUEST")),
        ("register_referee", smallest("LEAGUE_REGISTER_REQUEST")),
        ("notify_round", smallest("ROUND_COMPLETED")),
        ("notify_round_completed", smallest("ROUND_ANNOUNCEMENT")),
        ("GAME_JOIN_ACK", smallest("CHOOSE_PARITY_RESPONSE")),
        ("report_match_result", smallest("GAME_OVER")),
    ):
        kind = message["message_type"]
        yield _wrapped(
            f"method.{method}-with-{kind.lower()}",
            f"{method} does not carry {kind}",
            call(message, method),
            "E038",
            "message_type",
            "ENVELOPE.message_type",
        )
    yield _wrapped(
        "method.with-unknown-type",
        "the message type is unknown",
        call(unknown),
        "E038",
        "message_type",
        "ENVELOPE.message_type",
    )
    tool = {"name": "choose_parity", "arguments": invitation}
    yield _wrapped(
        "method.tool-with-another-type",
        "choose_parity does not carry GAME_INVITATION",
        call(tool, "tools/call"),
        "E038",
        "message_type",
        "ENVELOPE.message_type",
    )


def _answers() -> Iterator[Vector]:
    ack = smallest("GAME_JOIN_ACK")
    answer = {"jsonrpc": "2.0", "id": 1}
    yield _wrapped(
        "result.without-jsonrpc", "jsonrpc is missing", {"id": 1, "result": ack}, "E035", "jsonrpc", "RPC.object"
    )
    yield _wrapped("answer.empty", "neither result nor error nor method", answer, "E035", "method", "RPC.method")
    for name, error in (
        ("a-string", "boom"),
        ("without-code", {"message": "boom"}),
        ("code-true", {"code": True, "message": "boom"}),
        ("code-a-string", {"code": "1001", "message": "League full"}),
        ("code-a-fraction", {"code": 1.5, "message": "boom"}),
    ):
        what = f"the error is {json.dumps(error)}"
        yield _wrapped(f"error.{name}", what, {**answer, "error": error}, "E035", "error", "RPC.error_shape")
    choice = changed(smallest("CHOOSE_PARITY_RESPONSE"), {"parity_choice": "Even"})
    yield _wrapped(
        "result.wrong-choice",
        "the message in the result is wrong",
        {**answer, "result": choice},
        "E004",
        "parity_choice",
        "CHOOSE_PARITY_RESPONSE.parity_choice",
    )
    yield _wrapped(
        "result.without-type",
        "a result without message_type is not a message",
        {**answer, "result": {"status": "ok"}},
        "E003",
        "protocol",
        "ENVELOPE.protocol",
    )
    error = {"code": 4004, "message": "INVALID_PARITY_CHOICE", "data": ack}
    yield _wrapped(
        "error.with-another-message",
        "an error carries an error message",
        {**answer, "error": error},
        "E038",
        "message_type",
        "ENVELOPE.message_type",
    )
    error = {
        "code": 12,
        "message": "AUTH_TOKEN_INVALID",
        "data": {"message_type": "LEAGUE_ERROR", "error_code": "E012"},
    }
    yield _wrapped(
        "error.without-description",
        "error_description is missing",
        {**answer, "error": error},
        "E003",
        "error_description",
        "LEAGUE_ERROR.error_description",
    )


def _texts() -> Iterator[Vector]:
    whole = compact(smallest("GAME_INVITATION"))
    rows: tuple[tuple[str, str, str, str], ...] = (
        ("empty", "nothing at all", "", "syntax"),
        ("blanks", "only blanks", " \n ", "syntax"),
        ("truncated", "cut off in the middle", whole[: len(whole) // 2], "syntax"),
        ("two-documents", "one document behind the other", whole + whole, "syntax"),
        ("words", "not JSON", "GAME_INVITATION", "syntax"),
        ("single-quotes", "single quotes", whole.replace('"', "'"), "syntax"),
        ("a-comma-too-many", "a comma before the end", whole[:-1] + ",}", "syntax"),
        ("a-comment", "a comment", "/* hello */" + whole, "syntax"),
        ("a-leading-zero", "01 is not a number", with_extra("01"), "syntax"),
        ("a-plus-sign", "+1 is not a number", with_extra("+1"), "syntax"),
        ("hexadecimal", "0x10 is not a number", with_extra("0x10"), "syntax"),
        ("python-true", "True is not JSON", with_extra("True"), "syntax"),
        ("a-line-break-in-a-string", "a line break inside a string", with_extra('"a\nb"'), "syntax"),
        ("an-unknown-escape", "an unknown escape", with_extra(r'"\x41"'), "syntax"),
        ("byte-order-mark", "a byte order mark in front", "\ufeff" + whole, "utf8"),
        ("duplicate-key", "match_id appears twice", whole[:-1] + ',"match_id":"R9M9"}', "duplicate_keys"),
        ("duplicate-key-same-value", "the same twice", whole[:-1] + ',"protocol":"league.v2"}', "duplicate_keys"),
        (
            "duplicate-key-escaped",
            "match_id appears twice, once escaped",
            whole[:-1] + r',"\u006datch_id":"R9M9"}',
            "duplicate_keys",
        ),
        ("duplicate-key-inside", "a key appears twice inside", with_extra('{"a":1,"a":1}'), "duplicate_keys"),
        ("nan", "NaN is not JSON", with_extra("NaN"), "syntax"),
        ("infinity", "Infinity is not JSON", with_extra("Infinity"), "syntax"),
        ("minus-infinity", "-Infinity is not JSON", with_extra("-Infinity"), "syntax"),
        ("beyond-every-number", "1e999 is infinite to most parsers", with_extra("1e999"), "large_numbers"),
        ("beyond-64-bits", "2^63 does not fit into 64 bits", with_extra(str(2**63)), "large_numbers"),
        ("beyond-64-bits-below", "-2^63-1 does not fit into 64 bits", with_extra(str(-(2**63) - 1)), "large_numbers"),
        ("forty-digits", "a number of forty digits", with_extra("1" * 40), "large_numbers"),
        (
            "beyond-64-bits-in-a-field",
            "round_id does not fit into 64 bits",
            whole.replace('"round_id":1', f'"round_id":{2**64}'),
            "large_numbers",
        ),
        ("nul", "a string holds NUL", with_extra(r'"a\u0000b"'), "nul"),
        ("nul-in-a-key", "a key holds NUL", with_extra(r'{"a\u0000":1}'), "nul"),
        ("lone-high-surrogate", "half a character", with_extra(r'"\ud800"'), "surrogates"),
        ("lone-low-surrogate", "half a character", with_extra(r'"\udc00 "'), "surrogates"),
        (
            "surrogates-the-wrong-way-round",
            "two halves in the wrong order",
            with_extra(r'"\udc00\ud800"'),
            "surrogates",
        ),
        ("depth-17", "17 levels", nested(17), "depth"),
        ("depth-17-objects", "17 levels of objects", with_extra('{"a":' * 16 + "1" + "}" * 16), "depth"),
        ("depth-17-mixed", "17 levels of objects and arrays", with_extra('[{"a":' * 8 + "1" + "}]" * 8), "depth"),
        ("depth-500", "500 levels", nested(500), "depth"),
        ("depth-4000-unclosed", "opened 4,000 times, never closed", "[" * 4000, "depth"),
    )
    for name, what, text, requirement in rows:
        yield bad(f"json.{name}", what, {"raw": text}, "E034", "", f"JSON.{requirement}", _OF_THE_TEXT)
    for name, what, raw in (
        ("latin-1", "Latin-1 instead of UTF-8", with_extra('"caf\u00e9"').encode("latin-1")),
        ("utf-16", "UTF-16 instead of UTF-8", whole.encode("utf-16")),
        (
            "a-surrogate-in-utf-8",
            "half a character as bytes",
            with_extra('"@@"').encode().replace(b"@@", b"\xed\xa0\x80"),
        ),
        (
            "an-overlong-form",
            "a slash written with two bytes",
            with_extra('"@@"').encode().replace(b"@@", b"\xc0\xaf"),
        ),
        (
            "a-cut-character",
            "the last byte of a character is missing",
            with_extra('"@"').encode().replace(b"@", b"\xc3"),
        ),
    ):
        content = {"raw_base64": base64.b64encode(raw).decode()}
        yield bad(f"json.{name}", what, content, "E034", "", "JSON.utf8", _OF_THE_TEXT)


def _sizes() -> Iterator[Vector]:
    beyond = MESSAGE_LIMIT + 1
    query, reply = padded(smallest("LEAGUE_QUERY"), beyond), padded(smallest("GAME_JOIN_ACK"), beyond)
    nonsense = {"raw": "@@", "repeat": {"find": "@@", "text": "x", "times": beyond}}
    table = padded(smallest("LEAGUE_STANDINGS_UPDATE"), MANAGER_LIMIT + 1)
    for name, what, content, clause in (
        ("query-of-10241-bytes", "a request of 10,241 bytes", query, "requests"),
        ("reply-of-10241-bytes", "a player's reply of 10,241 bytes", reply, "replies"),
        ("wrong-and-too-large", "size is judged first", padded({"message_type": "NOTHING"}, beyond), "requests"),
        ("not-json-and-too-large", "size is judged first", nonsense, "requests"),
        ("manager-beyond-1-mib", "the manager's own limit is 1 MiB", table, "from_the_manager"),
    ):
        yield bad(f"size.{name}", what, content, "E037", "", f"SIZE.{clause}", _OF_THE_TEXT)


def _tables() -> Iterator[Vector]:
    for kind, field in TABLES:
        content = table_of(kind, field, 101)
        name, clause = f"{kind.lower()}.{field}.101-rows", f"{kind}.{field}"
        yield bad(name, "a table of 101 rows", content, "E008", field, clause, "")


def _first_of_two() -> Iterator[Vector]:
    base = BASES["GAME_INVITATION"][0]
    rows: tuple[tuple[str, Changes, str, str], ...] = (
        ("type-before-protocol", {"message_type": "GAME_INVITE", "protocol": "league.v1"}, "E038", "message_type"),
        ("protocol-before-missing-type", {"message_type": ABSENT, "protocol": "league.v1"}, "E018", "protocol"),
        ("protocol-before-sender", {"sender": ABSENT, "protocol": "league.v1"}, "E018", "protocol"),
        ("missing-protocol-before-missing-type", {"protocol": ABSENT, "message_type": ABSENT}, "E003", "protocol"),
        ("sender-before-timestamp", {"timestamp": ABSENT, "sender": ""}, "E008", "sender"),
        ("timestamp-before-conversation", {"conversation_id": ABSENT, "timestamp": "now"}, "E021", "timestamp"),
        ("envelope-before-token", {"conversation_id": "", "auth_token": ""}, "E008", "conversation_id"),
        ("token-before-role", {"sender": PLAYER, "auth_token": ""}, "E011", "auth_token"),
        ("token-before-fields", {"league_id": ABSENT, "auth_token": ""}, "E011", "auth_token"),
        ("role-before-fields", {"league_id": ABSENT, "sender": PLAYER}, "E032", "sender"),
        ("fields-in-order", {"opponent_id": ABSENT, "round_id": "1"}, "E007", "round_id"),
    )
    for name, changes, error, path in rows:
        yield bad_message(f"first.{name}", f"two violations; {path} decides", base, changes, error, path)
    register = BASES["LEAGUE_REGISTER_REQUEST"][0]
    changes = {"player_meta.protocol_version": "1.0.0", "player_meta.contact_endpoint": ABSENT}
    path = "player_meta.contact_endpoint"
    yield bad_message("first.fields-before-version", f"two violations; {path} decides", register, changes, "E003", path)
    over = BASES["ROUND_COMPLETED"][0]
    changes = {"matches_completed": ABSENT, "matches_played": ABSENT, "summary.wins": ABSENT}
    path = "summary.wins"
    yield bad_message("first.fields-before-clauses", f"two violations; {path} decides", over, changes, "E003", path)


def invalid() -> Iterator[Vector]:
    """The wrong ones."""
    for part in (
        _fields,
        _envelopes,
        _replies,
        _roles,
        _together,
        _requests,
        _methods,
        _answers,
        _texts,
        _sizes,
        _tables,
        _first_of_two,
    ):
        yield from part()
