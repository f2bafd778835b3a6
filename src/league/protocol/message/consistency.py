"""Clauses about several fields of a message (spec section 5), checked after its single fields.

A rule gets the fields of a message, parsed or converted, and yields what is violated. It must cope with fields of any
type: single fields may be wrong as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Protocol

from msgspec import UNSET, Struct, to_builtins

from league.protocol import versions
from league.protocol.errors import Stage, Violation

MAX_CONCURRENT_MATCHES = 10
MOST_CONCURRENT_MATCHES = 64
"""The bound for referees with a `token_scheme`: they follow this specification, and queue what they cannot play yet."""
MAX_ROWS = 100
TABLES: Mapping[str, str] = {
    "LEAGUE_STANDINGS_UPDATE": "standings",
    "LEAGUE_COMPLETED": "final_standings",
    "LEAGUE_QUERY_RESPONSE": "standings",
}
"""The field of each message that contains a table."""


class MessageFields(Protocol):
    """The fields of a message, as JSON values."""

    def get(self, name: str, /) -> object:
        """The value of a field; None if the message does not have it."""


class FieldsOf(Struct, frozen=True, gc=False):
    """The fields of a converted message; a value becomes JSON only when a rule looks at it."""

    message: Struct

    def get(self, name: str, /) -> object:
        value = getattr(self.message, name, None)
        return None if value is UNSET else to_builtins(value)


def _inner(message: MessageFields, name: str) -> Mapping[str, object]:
    value = message.get(name)
    return value if isinstance(value, dict) else {}


def _missing(
    path: str,
    clause: str,
    detail: str,
    lenient: bool = False,
) -> Violation:
    return Violation(
        "E003",
        path,
        detail,
        clause,
        lenient=lenient,
    )


def _register_response(
    message_type: str,
    id_field: str,
) -> Callable[[MessageFields], Iterator[Violation]]:
    def rule(message: MessageFields) -> Iterator[Violation]:
        if message.get("status") == "ACCEPTED" and message.get(id_field) is None:
            yield _missing(id_field, f"{message_type}.{id_field}", f"an ACCEPTED registration must have a {id_field}")

    return rule


def _registration(
    message_type: str,
    meta: str,
) -> Callable[[MessageFields], Iterator[Violation]]:
    def rule(message: MessageFields) -> Iterator[Violation]:
        version = _inner(message, meta).get("protocol_version")
        if isinstance(version, str) and versions.is_semver(version) and not versions.is_supported(version):
            detail = f"protocol version {version} is not supported; use 2.0.0 or later, below 3.0.0"
            path = f"{meta}.protocol_version"
            yield Violation(
                "E018", path, detail, f"{message_type}.{path}", Stage.VERDICT, expected="2.0.0 to below 3.0.0"
            )

    return rule


def _announcement(message: MessageFields) -> Iterator[Violation]:
    matches = message.get("matches")
    if not isinstance(matches, list):
        return
    pairs = [_pair(match) for match in matches]
    players = [player for pair in pairs for player in pair]
    if all(isinstance(player, str) for player in players) and len(set(players)) == len(players):
        return  # nearly always
    earlier_players: set[str] = set()
    for index, pair in enumerate(pairs):
        is_playable = pair[0] != pair[1]
        for player in pair:
            if isinstance(player, str) and (player in earlier_players or not is_playable):
                detail = f"{player} would play twice in this round or against itself"
                # Some managers cut their list of pairs into rounds without looking: both matches can be played.
                yield Violation(
                    "E008",
                    f"matches[{index}]",
                    detail,
                    "ROUND_ANNOUNCEMENT.matches",
                    lenient=is_playable,
                )
                break
        earlier_players.update(player for player in pair if isinstance(player, str))


def _pair(match: object) -> tuple[object, object]:
    if not isinstance(match, dict):
        return None, None
    return match.get("player_A_id"), match.get("player_B_id")


def _round_completed(message: MessageFields) -> Iterator[Violation]:
    if message.get("matches_completed") is None and message.get("matches_played") is None:
        detail = "the number of matches is missing: matches_completed or matches_played"
        yield _missing("matches_completed", "ROUND_COMPLETED.matches_completed", detail)


def _game_over(message: MessageFields) -> Iterator[Violation]:
    result = _inner(message, "game_result")
    status = result.get("status")
    if status == "WIN" and result.get("winner_player_id") is None:
        path = "game_result.winner_player_id"
        yield _missing(path, f"GAME_OVER.{path}", "a WIN must name its winner")
    # The rest is about the fields of even_odd; other games judge their own.
    if message.get("game_type") != "even_odd":
        return
    if status in ("WIN", "DRAW"):
        for name in ("drawn_number", "number_parity"):
            if result.get(name) is None:
                path = f"game_result.{name}"
                detail = f"a match that was played to its end must have a {name}"
                yield _missing(path, f"GAME_OVER.{path}", detail, lenient=True)
    number = result.get("drawn_number")
    path = "game_result.drawn_number"
    if isinstance(number, int) and not isinstance(number, bool) and not 1 <= number <= 10:
        # Lenient: a player that rejected this would change nothing.
        yield Violation(
            "E008",
            path,
            f"must be from 1 to 10, not {number}",
            f"GAME_OVER.{path}",
            lenient=True,
        )
    yield from _parities(result.get("choices"), "game_result.choices", "GAME_OVER.game_result.choices")


def _report(message: MessageFields) -> Iterator[Violation]:
    details = _inner(_inner(message, "result"), "details")
    if message.get("game_type") != "even_odd" or not details:
        return
    if "drawn_number" not in details:
        path = "result.details.drawn_number"
        detail = "the drawn number is missing (null after a technical loss)"
        yield _missing(path, f"MATCH_RESULT_REPORT.{path}", detail, lenient=True)
    path = "result.details.choices"
    yield from _parities(details.get("choices"), path, f"MATCH_RESULT_REPORT.{path}")


def _parities(choices: object, path: str, clause: str) -> Iterator[Violation]:
    if not isinstance(choices, dict):
        return
    for player, choice in choices.items():
        if choice is not None and choice not in ("even", "odd"):
            detail = f'must be "even", "odd" or null, not {choice!r}'
            yield Violation(
                "E008",
                f"{path}.{player}",
                detail,
                clause,
                expected="even, odd or null",
            )


def _query(message: MessageFields) -> Iterator[Violation]:
    # A player that names nobody asks about itself; a referee cannot.
    about_a_player = message.get("query_type") in ("GET_NEXT_MATCH", "GET_PLAYER_STATS")
    asked_by_referee = str(message.get("sender")).startswith("referee:")
    if about_a_player and asked_by_referee and _inner(message, "query_params").get("player_id") is None:
        path = "query_params.player_id"
        yield _missing(path, f"LEAGUE_QUERY.{path}", "a referee must say which player its query is about")


def _query_response(message: MessageFields) -> Iterator[Violation]:
    for success, name in ((True, "data"), (False, "error")):
        if message.get("success") is success and message.get(name) is None:
            detail = f"{name} is required when success is {str(success).lower()}"
            yield _missing(name, f"LEAGUE_QUERY_RESPONSE.{name}", detail)


def _too_many_matches(message: MessageFields) -> Iterator[Violation]:
    """The violation of the bound of max_concurrent_matches (R-28)."""
    meta = _inner(message, "referee_meta")
    value = meta.get("max_concurrent_matches")
    limit = MOST_CONCURRENT_MATCHES if meta.get("token_scheme") else MAX_CONCURRENT_MATCHES
    if isinstance(value, int) and value > limit:
        path = "referee_meta.max_concurrent_matches"
        detail = f"must be at most {limit}, not {value}"
        yield Violation(
            "E008",
            path,
            detail,
            f"REFEREE_REGISTER_REQUEST.{path}",
            expected=f"from 1 to {limit}",
        )


def _referee_registration(message: MessageFields) -> Iterator[Violation]:
    yield from _registration("REFEREE_REGISTER_REQUEST", "referee_meta")(message)
    yield from _too_many_matches(message)


CONSISTENCY_RULES: Mapping[str, Callable[[MessageFields], Iterator[Violation]]] = {
    "REFEREE_REGISTER_REQUEST": _referee_registration,
    "LEAGUE_REGISTER_REQUEST": _registration("LEAGUE_REGISTER_REQUEST", "player_meta"),
    "REFEREE_REGISTER_RESPONSE": _register_response("REFEREE_REGISTER_RESPONSE", "referee_id"),
    "LEAGUE_REGISTER_RESPONSE": _register_response("LEAGUE_REGISTER_RESPONSE", "player_id"),
    "ROUND_ANNOUNCEMENT": _announcement,
    "ROUND_COMPLETED": _round_completed,
    "GAME_OVER": _game_over,
    "MATCH_RESULT_REPORT": _report,
    "LEAGUE_QUERY": _query,
    "LEAGUE_QUERY_RESPONSE": _query_response,
}


def too_many_rows(message_type: str, rows: object) -> tuple[Violation, ...]:
    """The violation of a table with more rows than document 4 allows.

    It is checked on its own, because `compat` accepts it for large leagues.
    """
    if not isinstance(rows, list) or len(rows) <= MAX_ROWS:
        return ()
    name = TABLES[message_type]
    limit = f"at most {MAX_ROWS} rows"
    detail = f"must have {limit}, not {len(rows)}"
    return (
        Violation(
            "E008",
            name,
            detail,
            f"{message_type}.{name}",
            lenient=True,
            expected=limit,
        ),
    )
