"""The right ones: every message small and whole, and the twins of wrong ones that are just within the bounds."""

from __future__ import annotations

from collections.abc import Iterator

from scripts.vectors.shapes import (
    ABSENT,
    MANAGER_LIMIT,
    MESSAGE_LIMIT,
    TABLES,
    Changes,
    Vector,
    call,
    changed,
    compact,
    good,
    nested,
    padded,
    smallest,
    table_of,
    with_extra,
)
from scripts.vectors.tables import BASES, REFEREE, Json


def _right_messages() -> Iterator[Vector]:
    for message_type, bases in BASES.items():
        kind = message_type.lower()
        yield good(f"{kind}.minimal", "nothing that may be left out", message_type, {"message": smallest(message_type)})
        for place, base in enumerate(bases, 1):
            name = "full" if place == 1 else f"full-{place}"
            yield good(f"{kind}.{name}", "with the optional fields", message_type, {"message": base})


def _right_values() -> Iterator[Vector]:
    rows: tuple[tuple[str, str, str, Changes], ...] = (
        ("LEAGUE_REGISTER_REQUEST", "name-of-1-character", "the shortest name", {"player_meta.display_name": "x"}),
        (
            "LEAGUE_REGISTER_REQUEST",
            "name-of-50-characters",
            "the longest name",
            {"player_meta.display_name": "x" * 50},
        ),
        (
            "LEAGUE_REGISTER_REQUEST",
            "name-of-50-characters-beyond-ascii",
            "characters are counted, not bytes",
            {"player_meta.display_name": "\U0001f3b2" * 50},
        ),
        (
            "LEAGUE_REGISTER_REQUEST",
            "name-between-blanks",
            "blanks around a name do not count",
            {"player_meta.display_name": "  " + "x" * 50 + "  "},
        ),
        (
            "LEAGUE_REGISTER_REQUEST",
            "name-in-hebrew",
            "letters of any script",
            {"player_meta.display_name": "\u05e9\u05d7\u05e7\u05df"},
        ),
        (
            "LEAGUE_REGISTER_REQUEST",
            "name-in-sinhala",
            "a joiner between letters that are not written right without it",
            {"player_meta.display_name": "\u0dc1\u0dca\u200d\u0dbb\u0dd3"},
        ),
        (
            "LEAGUE_REGISTER_REQUEST",
            "version-with-everything",
            "SemVer 2.0",
            {"player_meta.version": "1.0.0-alpha.1+build.007"},
        ),
        ("LEAGUE_REGISTER_REQUEST", "version-of-zeros", "SemVer 2.0", {"player_meta.version": "0.0.0"}),
        (
            "LEAGUE_REGISTER_REQUEST",
            "an-unknown-game",
            "games nobody knows are allowed",
            {"player_meta.game_types": ["even_odd", "hex"]},
        ),
        (
            "LEAGUE_REGISTER_REQUEST",
            "protocol-version-2.0.0",
            "the oldest supported",
            {"player_meta.protocol_version": "2.0.0"},
        ),
        (
            "LEAGUE_REGISTER_REQUEST",
            "protocol-version-2.99.0",
            "below 3.0.0",
            {"player_meta.protocol_version": "2.99.0"},
        ),
        (
            "LEAGUE_REGISTER_REQUEST",
            "sender-of-the-unregistered",
            "any name before registration",
            {"sender": "player:UNREGISTERED"},
        ),
        (
            "REFEREE_REGISTER_REQUEST",
            "one-match-at-a-time",
            "the smallest number",
            {"referee_meta.max_concurrent_matches": 1},
        ),
        (
            "REFEREE_REGISTER_REQUEST",
            "ten-matches-at-a-time",
            "the largest number",
            {"referee_meta.max_concurrent_matches": 10},
        ),
        (
            "REFEREE_REGISTER_REQUEST",
            "sixty-four-matches-at-a-time",
            "the largest number with a token_scheme",
            {"referee_meta.max_concurrent_matches": 64, "referee_meta.token_scheme": "derived"},
        ),
        ("LEAGUE_REGISTER_RESPONSE", "id-beyond-99", "ids grow past P99", {"player_id": "P100"}),
        ("REFEREE_REGISTER_RESPONSE", "id-beyond-99", "ids grow past REF99", {"referee_id": "REF100"}),
        ("ROUND_COMPLETED", "the-last-round", "no next round", {"next_round_id": None}),
        ("ROUND_COMPLETED", "only-matches-played", "the other name of the number", {"matches_completed": ABSENT}),
        ("ROUND_ANNOUNCEMENT", "the-largest-round", "32 bits", {"round_id": 2**31 - 1}),
        ("ROUND_ANNOUNCEMENT", "without-matches", "for a referee that has none in this round", {"matches": []}),
        ("ROUND_ANNOUNCEMENT", "manager-with-a-name", "a named manager", {"sender": "league_manager:LM01"}),
        (
            "GAME_INVITATION",
            "unknown-fields",
            "unknown fields are ignored",
            {"mood": "good", "weather": {"rain": [None]}},
        ),
        ("GAME_INVITATION", "player-b", "the other role", {"role_in_match": "PLAYER_B"}),
        ("GAME_JOIN_ACK", "declined", "a declined invitation is a right message", {"accept": False}),
        ("CHOOSE_PARITY_RESPONSE", "odd", "the other choice", {"parity_choice": "odd"}),
        ("CHOOSE_PARITY_CALL", "empty-context", "nothing is known yet", {"context": {}}),
        (
            "GAME_OVER",
            "draw",
            "both chose odd",
            {
                "game_result.status": "DRAW",
                "game_result.winner_player_id": None,
                "game_result.choices": {"P01": "odd", "P02": "odd"},
            },
        ),
        (
            "GAME_OVER",
            "technical-loss",
            "no number was drawn",
            {
                "game_result.status": "TECHNICAL_LOSS",
                "game_result.drawn_number": None,
                "game_result.number_parity": None,
                "game_result.choices": {"P01": "even", "P02": None},
            },
        ),
        (
            "GAME_OVER",
            "technical-loss-of-both",
            "nobody wins",
            {
                "game_result.status": "TECHNICAL_LOSS",
                "game_result.winner_player_id": None,
                "game_result.drawn_number": None,
                "game_result.number_parity": None,
                "game_result.choices": {"P01": None, "P02": None},
            },
        ),
        (
            "GAME_OVER",
            "number-1",
            "the smallest number",
            {"game_result.drawn_number": 1, "game_result.number_parity": "odd", "game_result.winner_player_id": "P02"},
        ),
        ("GAME_OVER", "number-10", "the largest number", {"game_result.drawn_number": 10}),
        (
            "MATCH_RESULT_REPORT",
            "draw",
            "both chose even",
            {
                "result.winner": None,
                "result.score": {"P01": 1, "P02": 1},
                "result.details.choices.P02": "even",
                "result.details.status": "DRAW",
            },
        ),
        (
            "MATCH_RESULT_REPORT",
            "technical-loss",
            "P02 did not answer",
            {
                "result.details.drawn_number": None,
                "result.details.choices.P02": None,
                "result.details.status": "TECHNICAL_LOSS",
            },
        ),
        (
            "MATCH_RESULT_REPORT",
            "technical-loss-of-both",
            "nobody answered",
            {
                "result.winner": None,
                "result.score": {"P01": 0, "P02": 0},
                "result.details.drawn_number": None,
                "result.details.choices": {"P01": None, "P02": None},
                "result.details.status": "TECHNICAL_LOSS",
            },
        ),
        ("LEAGUE_STANDINGS_UPDATE", "nobody", "an empty table", {"standings": []}),
        ("LEAGUE_QUERY", "status", "the query of one document", {"query_type": "GET_STATUS", "query_params": ABSENT}),
        (
            "LEAGUE_QUERY",
            "standings-by-a-referee",
            "referees may ask",
            {"sender": REFEREE, "query_type": "GET_STANDINGS", "query_params": {}},
        ),
        ("LEAGUE_QUERY", "next-match-by-a-referee", "it names the player", {"sender": REFEREE}),
        ("LEAGUE_QUERY", "schedule", "of one round", {"query_type": "GET_SCHEDULE", "query_params": {"round_id": 1}}),
        (
            "LEAGUE_QUERY",
            "own-statistics",
            "without player_id the asking player is meant",
            {"query_type": "GET_PLAYER_STATS", "query_params": {}},
        ),
        ("GAME_ERROR", "a-whole-number-of-seconds", "18 is as good as 18.5", {"time_remaining": 18}),
    )
    for message_type, name, what, changes in rows:
        message = changed(BASES[message_type][0], changes)
        yield good(f"{message_type.lower()}.{name}", what, message_type, {"message": message})
    for name, value in (
        ("z", "2025-01-15T10:30:00Z"),
        ("zero-offset", "2025-01-15T10:30:00+00:00"),
        ("a-fraction", "2025-01-15T10:30:00.5Z"),
        ("microseconds", "2025-01-15T10:30:00.123456+00:00"),
        ("without-hyphens", "20250115T10:30:00Z"),
        ("february-29-of-2024", "2024-02-29T10:30:00Z"),
        ("february-29-of-2000", "20000229T10:30:00Z"),
        ("the-last-second", "2025-12-31T23:59:59Z"),
    ):
        message = changed(BASES["GAME_INVITATION"][0], {"timestamp": value})
        yield good(f"game_invitation.timestamp.{name}", f"{value} is UTC", "GAME_INVITATION", {"message": message})
    for place, url in enumerate(
        (
            "https://referee01.example.com/mcp",
            "http://127.0.0.1:8101/mcp",
            "http://[::1]:8101/mcp",
            "http://example.com",
            "http://localhost:1/",
            "http://localhost:65535/mcp",
            "HTTP://LOCALHOST:8101/mcp",
            "http://my_host/mcp?key=1&x=%20",
            "http://example.com/@me",
        ),
        1,
    ):
        message = changed(BASES["LEAGUE_REGISTER_REQUEST"][0], {"player_meta.contact_endpoint": url})
        yield good(f"league_register_request.url-{place}", url, "LEAGUE_REGISTER_REQUEST", {"message": message})


def _right_wrappers() -> Iterator[Vector]:
    invitation, ack, error = smallest("GAME_INVITATION"), smallest("GAME_JOIN_ACK"), smallest("LEAGUE_ERROR")
    rows: tuple[tuple[str, str, str | None, Json], ...] = (
        ("verb", "the documents' verb", "GAME_INVITATION", call(invitation)),
        ("type", "the message type as method", "GAME_INVITATION", call(invitation, "GAME_INVITATION")),
        ("type-in-lower-case", "in any case", "GAME_INVITATION", call(invitation, "game_invitation")),
        ("type-in-mixed-case", "in any case", "GAME_INVITATION", call(invitation, "Game_Invitation")),
        (
            "choose-parity",
            "the other verb",
            "CHOOSE_PARITY_CALL",
            call(smallest("CHOOSE_PARITY_CALL"), "choose_parity"),
        ),
        ("choose-move", "the verb of other games", "GAME_MOVE_CALL", call(smallest("GAME_MOVE_CALL"), "choose_move")),
        (
            "tool",
            "an MCP tool",
            "GAME_INVITATION",
            call({"name": "handle_game_invitation", "arguments": invitation}, "tools/call"),
        ),
        ("reply-as-request", "a reply as its own POST", "GAME_JOIN_ACK", call(ack, "GAME_JOIN_ACK")),
        ("id-string", "an id may be a string", "GAME_INVITATION", call(invitation, id="req-007")),
        ("id-zero", "an id may be zero", "GAME_INVITATION", call(invitation, id=0)),
        ("id-negative", "an id may be negative", "GAME_INVITATION", call(invitation, id=-1)),
        ("result", "a reply", "GAME_JOIN_ACK", {"jsonrpc": "2.0", "id": 1, "result": ack}),
        (
            "result-beside-null-error",
            "no error",
            "GAME_JOIN_ACK",
            {"jsonrpc": "2.0", "id": 1, "result": ack, "error": None},
        ),
        (
            "error",
            "an error with its message",
            "LEAGUE_ERROR",
            {"jsonrpc": "2.0", "id": None, "error": {"code": 6001, "message": "AUTH_TOKEN_INVALID", "data": error}},
        ),
        (
            "error-without-message",
            "an error that says no more than its number",
            None,
            {"jsonrpc": "2.0", "id": 1, "error": {"code": -32601, "message": "Method not found"}},
        ),
        (
            "error-of-a-player",
            "a player's error has no message_type",
            None,
            {
                "jsonrpc": "2.0",
                "id": 1,
                "error": {"code": 4001, "message": "AUTH_TOKEN_INVALID", "data": {"error_code": "E012"}},
            },
        ),
    )
    for name, what, message_type, document in rows:
        yield good(f"rpc.{name}", what, message_type, {"raw": compact(document)})


def _right_texts() -> Iterator[Vector]:
    kind, whole = "GAME_INVITATION", compact(smallest("GAME_INVITATION"))
    rows: tuple[tuple[str, str, str, Vector], ...] = (
        ("blanks-around", "blanks around the document", kind, {"raw": f" \r\n\t{whole}\n"}),
        ("depth-16-mixed", "16 levels", kind, {"raw": with_extra('{"a":' + '[{"a":' * 7 + "1" + "}]" * 7 + "}")}),
        ("depth-16", "16 levels", kind, {"raw": nested(16)}),
        (
            "brackets-in-a-string",
            "brackets inside a string do not count as levels",
            kind,
            {"raw": with_extra(f'"{"[{" * 40}"')},
        ),
        ("largest-number", "2^63-1", kind, {"raw": with_extra(str(2**63 - 1))}),
        ("smallest-number", "-2^63", kind, {"raw": with_extra(str(-(2**63)))}),
        ("a-long-fraction", "the digits of a fraction do not count", kind, {"raw": with_extra("0." + "3" * 40)}),
        ("a-surrogate-pair", "two halves make a character", kind, {"raw": with_extra(r'"\ud83c\udfb2"')}),
        ("an-escaped-backslash", "a backslash and u0000", kind, {"raw": with_extra(r'"\\u0000"')}),
        (
            "an-escaped-name",
            "an escaped letter is that letter",
            kind,
            {"raw": whole.replace("match_id", r"m\u0061tch_id")},
        ),
        ("same-key-elsewhere", "one key in two objects", kind, {"raw": with_extra('[{"a":1},{"a":1}]')}),
        ("10240-bytes", "the largest request", "LEAGUE_QUERY", padded(smallest("LEAGUE_QUERY"), MESSAGE_LIMIT)),
        (
            "manager-beyond-10240-bytes",
            "the manager may say more",
            "LEAGUE_STANDINGS_UPDATE",
            padded(smallest("LEAGUE_STANDINGS_UPDATE"), 3 * MESSAGE_LIMIT),
        ),
        (
            "manager-1-mib",
            "the most a manager may say",
            "LEAGUE_QUERY_RESPONSE",
            padded(smallest("LEAGUE_QUERY_RESPONSE"), MANAGER_LIMIT),
        ),
    )
    for name, what, message_type, content in rows:
        yield good(f"json.{name}", what, message_type, content)
    for message_type, field in TABLES:
        name = f"{message_type.lower()}.{field}-of-100-rows"
        yield good(name, "the largest table", message_type, table_of(message_type, field, 100))


def valid() -> Iterator[Vector]:
    """The right ones."""
    yield from _right_messages()
    yield from _right_values()
    yield from _right_wrappers()
    yield from _right_texts()
