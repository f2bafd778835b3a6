"""Fields that only make sense together (spec section 5, "and" clauses), checked after its fields."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Protocol

from msgspec import UNSET, Struct, to_builtins

from league.protocol import versions
from league.protocol.errors import Stage, Violation

MAX_CONCURRENT_MATCHES = 10
MAX_ROWS = 100
TABLES: Mapping[str, str] = {
    "LEAGUE_STANDINGS_UPDATE": "standings",
    "LEAGUE_COMPLETED": "final_standings",
    "LEAGUE_QUERY_RESPONSE": "standings",
}
"""The field of each message that holds a table."""


class Fields(Protocol):
    """The fields of a message, as JSON has them."""

    def get(self, name: str, /) -> object:
        """The value of a field; None if there is none."""


class FieldsOf(Struct, frozen=True, gc=False):
    """Of a message that was read; only what is looked at is made."""

    message: Struct

    def get(self, name: str, /) -> object:
        value = getattr(self.message, name, None)
        return None if value is UNSET else to_builtins(value)


def _inner(message: Fields, name: str) -> Mapping[str, object]:
    value = message.get(name)
    return value if isinstance(value, dict) else {}


def _missing(path: str, clause: str, detail: str, lenient: bool = False) -> Violation:
    return Violation("E003", path, detail, clause, lenient=lenient)


def _register_response(kind: str, id_field: str) -> Callable[[Fields], Iterator[Violation]]:
    def rule(message: Fields) -> Iterator[Violation]:
        if message.get("status") == "ACCEPTED" and message.get(id_field) is None:
            yield _missing(id_field, f"{kind}.{id_field}", f"an ACCEPTED registration carries the {id_field}")

    return rule


def _registration(kind: str, meta: str) -> Callable[[Fields], Iterator[Violation]]:
    def rule(message: Fields) -> Iterator[Violation]:
        version = _inner(message, meta).get("protocol_version")
        if isinstance(version, str) and versions.is_semver(version) and not versions.is_supported(version):
            detail = f"protocol version {version} is not supported; 2.0.0 and later versions below 3.0.0 are"
            path = f"{meta}.protocol_version"
            yield Violation("E018", path, detail, f"{kind}.{path}", Stage.VERDICT, expected="2.0.0 to below 3.0.0")

    return rule


def _announcement(message: Fields) -> Iterator[Violation]:
    matches = message.get("matches")
    listed = [match if isinstance(match, dict) else {} for match in matches] if isinstance(matches, list) else []
    named = [match.get(name) for match in listed for name in ("player_A_id", "player_B_id")]
    if all(isinstance(one, str) for one in named) and len(set(named)) == len(named):
        return  # nearly always
    seen: set[str] = set()
    for index, match in enumerate(listed):
        players = [match.get("player_A_id"), match.get("player_B_id")]
        for player in players:
            if isinstance(player, str) and (player in seen or players[0] == players[1]):
                detail = f"{player} would play twice in this round or against itself"
                # Some managers cut their list of pairs into rounds as it comes: both matches can be played.
                playable = players[0] != players[1]
                yield Violation("E008", f"matches[{index}]", detail, "ROUND_ANNOUNCEMENT.matches", lenient=playable)
                break
        seen.update(player for player in players if isinstance(player, str))


def _round_completed(message: Fields) -> Iterator[Violation]:
    if message.get("matches_completed") is None and message.get("matches_played") is None:
        detail = "the number of matches is missing: matches_completed, or matches_played"
        yield _missing("matches_completed", "ROUND_COMPLETED.matches_completed", detail)


def _game_over(message: Fields) -> Iterator[Violation]:
    result = _inner(message, "game_result")
    status = result.get("status")
    if status == "WIN" and result.get("winner_player_id") is None:
        path = "game_result.winner_player_id"
        yield _missing(path, f"GAME_OVER.{path}", "a WIN names its winner")
    if message.get("game_type") != "even_odd":
        return
    if status in ("WIN", "DRAW"):
        for name in ("drawn_number", "number_parity"):
            if result.get(name) is None:
                path = f"game_result.{name}"
                detail = f"a match that was played to its end has a {name}"
                yield _missing(path, f"GAME_OVER.{path}", detail, lenient=True)
    number, path = result.get("drawn_number"), "game_result.drawn_number"
    if isinstance(number, int) and not isinstance(number, bool) and not 1 <= number <= 10:
        # Whoever is told so can change nothing about it.
        yield Violation("E008", path, f"must be from 1 to 10, not {number}", f"GAME_OVER.{path}", lenient=True)
    yield from _parities(result.get("choices"), "game_result.choices", "GAME_OVER.game_result.choices")


def _report(message: Fields) -> Iterator[Violation]:
    details = _inner(_inner(message, "result"), "details")
    if message.get("game_type") != "even_odd" or not details:
        return
    path = "result.details.drawn_number"
    if "drawn_number" not in details:
        yield _missing(
            path, f"MATCH_RESULT_REPORT.{path}", "the drawn number is missing (null after a technical loss)", True
        )
    choices = "result.details.choices"
    yield from _parities(details.get("choices"), choices, f"MATCH_RESULT_REPORT.{choices}")


def _parities(choices: object, path: str, clause: str) -> Iterator[Violation]:
    for player, choice in choices.items() if isinstance(choices, dict) else ():
        if choice is not None and choice not in ("even", "odd"):
            detail = f'must be "even", "odd" or null, not {choice!r}'
            yield Violation("E008", f"{path}.{player}", detail, clause, expected="even, odd or null")


def _query(message: Fields) -> Iterator[Violation]:
    about_a_player = message.get("query_type") in ("GET_NEXT_MATCH", "GET_PLAYER_STATS")
    asked_by_referee = str(message.get("sender")).startswith("referee:")
    if about_a_player and asked_by_referee and _inner(message, "query_params").get("player_id") is None:
        path = "query_params.player_id"
        yield _missing(path, f"LEAGUE_QUERY.{path}", "a referee must say which player it asks about")


def _query_response(message: Fields) -> Iterator[Violation]:
    for success, name in ((True, "data"), (False, "error")):
        if message.get("success") is success and message.get(name) is None:
            detail = f"success is {str(success).lower()}, so {name} must be there"
            yield _missing(name, f"LEAGUE_QUERY_RESPONSE.{name}", detail)


CONSISTENCY_RULES: Mapping[str, Callable[[Fields], Iterator[Violation]]] = {
    "REFEREE_REGISTER_REQUEST": _registration("REFEREE_REGISTER_REQUEST", "referee_meta"),
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


def too_many_rows(kind: str, rows: object) -> tuple[Violation, ...]:
    """The table of this message has more rows than document 4 allows; checked apart, for in `compat` large leagues live
    with it."""
    if not isinstance(rows, list) or len(rows) <= MAX_ROWS:
        return ()
    name = TABLES[kind]
    detail = f"has at most {MAX_ROWS} rows, not {len(rows)}"
    return (Violation("E008", name, detail, f"{kind}.{name}", lenient=True, expected=f"at most {MAX_ROWS} rows"),)


def too_many_matches(message: Fields, limit: int) -> Iterator[Violation]:
    """The bound of max_concurrent_matches is the league's setting (R-28), so it is checked apart."""
    value = _inner(message, "referee_meta").get("max_concurrent_matches")
    if isinstance(value, int) and value > limit:
        path = "referee_meta.max_concurrent_matches"
        detail, expected = f"must be at most {limit}, not {value}", f"from 1 to {limit}"
        yield Violation("E008", path, detail, f"REFEREE_REGISTER_REQUEST.{path}", expected=expected)
