"""Right messages from the wrong mouth or at the wrong time (spec sections 7 to 11): tokens, ids that do not exist,
others' matches, results without a match and results twice."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from league.conformance.bad_input.cases import (
    MANAGER,
    PLAYER,
    BadInput,
    Phase,
    Standing,
    call_of,
    encoded,
    method_of,
    posted,
    refused,
)
from league.conformance.bad_input.wrong_messages import right_message
from league.conformance.wire import RawRequest

Fields = dict[str, Any]
"""A message (Any: JSON)."""
Change = Callable[[Fields, Standing], object]
"""Makes a right message wrong."""

QUERY, REPORT = "LEAGUE_QUERY", "MATCH_RESULT_REPORT"
JOIN_LEAGUE, JOIN_AS_REFEREE = "LEAGUE_REGISTER_REQUEST", "REFEREE_REGISTER_REQUEST"
NOBODY: Final = "P9999"
LONG: Final = "x" * 5000
ESCAPES: Final = "\x1b[2J\x1b]0;owned\x07"
BAD_TOKENS: Final = (
    ("missing", None, "E011", "TOKEN.missing"),
    ("empty", "", "E011", "TOKEN.missing"),
    ("a-number", 7, "E007", "ENVELOPE.auth_token"),
    ("an-object", {"token": "x"}, "E007", "ENVELOPE.auth_token"),
    ("unknown", "tok_P01_" + "A" * 43, "E012", "TOKEN.invalid"),
    ("of-5000-letters", LONG, "E012", "TOKEN.invalid"),
    ("with-an-escape-sequence", ESCAPES, "E012", "TOKEN.invalid"),
)


def speaking(role: str) -> Iterator[BadInput]:
    """Every case, for an agent of this role."""
    if role == MANAGER:
        yield from _tokens()
        yield from _queries()
        yield from _registrations()
        yield from _reports()
        yield from _after_the_end()
    elif role == PLAYER:
        yield from _to_players()
    else:
        yield from _to_referees()


def _said(
    name: str,
    kind: str,
    code: str,
    change: Change,
    clause: str,
    *,
    phase: Phase = Phase.OPEN,
    speaker: str = "",
    as_member: bool = True,
) -> BadInput:
    """A right message of this type with one change; `speaker` is who says it, where not its usual sender."""

    def make(standing: Standing) -> RawRequest:
        message = right_message(kind, standing)
        if speaker:
            message["sender"] = standing.live(speaker)
            message["auth_token"] = standing.token_of(message)
        change(message, standing)
        return RawRequest(standing.url, encoded(call_of(message, method_of(kind))))

    what = f"{kind}: {name.replace('-', ' ')}"
    return BadInput(f"{kind.lower()}.{name}", clause, what, refused(code, kind), make, phase, as_member)


def _put(name: str, value: object) -> Change:
    return lambda message, _: message.__setitem__(name, value)


def _nothing(_message: Fields, _standing: Standing) -> None:
    """It is right as it stands: only its time is wrong."""


def _tokens() -> Iterator[BadInput]:
    for kind in (QUERY, REPORT):
        for name, value, code, clause in BAD_TOKENS:
            yield _said(f"token-{name}", kind, code, _put("auth_token", value), clause)
    for name, kind, owner in (
        ("token-of-a-referee", QUERY, "REF01"),
        ("token-of-another-player", QUERY, "P02"),
        ("token-of-another-referee", REPORT, "REF02"),
        ("token-of-a-player", REPORT, "P01"),
    ):
        yield _said(name, kind, "E032", _token_of(owner), "TOKEN.not_its_owner", phase=Phase.RUNNING)
    yield _said("token-with-a-blank-behind", QUERY, "E012", _blank_behind, "TOKEN.invalid")
    yield _said("of-a-stranger", QUERY, "E032", _put("sender", f"player:{NOBODY}"), "TOKEN.not_its_owner")


def _token_of(owner: str) -> Change:
    return lambda message, standing: message.update(auth_token=standing.tokens[standing.words[owner]])


def _blank_behind(message: Fields, _: Standing) -> None:
    message["auth_token"] = f"{message['auth_token']} "


def _queries() -> Iterator[BadInput]:
    yield _said("about-another-league", QUERY, "E028", _put("league_id", "no-such-league"), "QUERY.failures")
    for name, value in (
        *(("in-small-letters", "get_standings"), ("with-a-blank", "GET_STANDINGS "), ("of-5000-letters", LONG)),
        *(("with-escapes", ESCAPES), ("with-SQL", "'; DROP TABLE events; --")),
    ):
        yield _said(f"query-type-{name}", QUERY, "E029", _put("query_type", value), "LEAGUE_QUERY.query_type")
    for name, player in (("nobody", NOBODY), ("a-path", "../../P01"), ("long", LONG), ("escapes", ESCAPES)):
        yield _said(f"stats-of-{name}", QUERY, "E005", _ask("GET_PLAYER_STATS", player_id=player), "QUERY.failures")
    early = _ask("GET_SCHEDULE")
    yield _said("schedule-too-early", QUERY, "E030", early, "QUERY.failures")
    later = _ask("GET_SCHEDULE", round_id=999)
    yield _said("schedule-of-no-round", QUERY, "E008", later, "QUERY.failures", phase=Phase.RUNNING)


def _ask(query_type: str, **params: object) -> Change:
    return lambda message, _: message.update(query_type=query_type, query_params=params)


def _registrations() -> Iterator[BadInput]:
    for kind, part in ((JOIN_LEAGUE, "player_meta"), (JOIN_AS_REFEREE, "referee_meta")):
        for name, code, change in (
            ("another-game", "E027", {"game_types": ["chess"]}),
            ("many-other-games", "E027", {"game_types": [f"game_{number}" for number in range(300)]}),
            ("name-that-is-taken", "E022", {"display_name": "{taken}"}),
            ("name-that-is-taken-in-another-case", "E022", {"display_name": "{TAKEN}"}),
            ("endpoint-that-is-taken", "E044", {"contact_endpoint": "{endpoint}"}),
            ("endpoint-at-a-metadata-service", "E026", {"contact_endpoint": "http://169.254.169.254/mcp"}),
            ("endpoint-that-is-no-address", "E026", {"contact_endpoint": "http://0.0.0.0:8101/mcp"}),
            ("endpoint-of-all", "E026", {"contact_endpoint": "http://224.0.0.1:8101/mcp"}),
        ):
            yield _said(name, kind, code, _meta(part, change), _CLAUSES[code], as_member=False)


_CLAUSES: Final = {
    "E022": "REGISTER.refuses_duplicate_name",
    "E026": "REGISTER.refuses_forbidden_endpoint",
    "E027": "REGISTER.refuses_no_common_game",
    "E044": "REGISTER.refuses_endpoint_in_use",
}


def _meta(part: str, change: Fields) -> Change:
    def changed(message: Fields, standing: Standing) -> None:
        known = {"{taken}": "taken " + part, "{TAKEN}": "TAKEN " + part, "{endpoint}": "endpoint " + part}
        values = {
            name: standing.words.get(known[value], value) if isinstance(value, str) and value in known else value
            for name, value in change.items()
        }
        values = {"display_name": "Newcomer", "contact_endpoint": standing.words["spare endpoint"], **values}
        message[part] = {**message[part], **values}
        message.pop("auth_token", None)

    return changed


def _reports() -> Iterator[BadInput]:
    running = Phase.RUNNING
    yield _said("before-the-start", REPORT, "E014", _put("match_id", "R1M1"), "REPORT.unknown_match")
    for name, match in (("no-such-match", "R99M99"), ("long", LONG), ("escapes", ESCAPES), ("a-path", "../R1M1")):
        yield _said(f"match-{name}", REPORT, "E014", _put("match_id", match), "REPORT.unknown_match", phase=running)
    yield _said("attempt-to-come", REPORT, "E016", _put("attempt", 99), "REPORT.not_assigned", phase=running)
    yield _said(
        "anothers-match", REPORT, "E016", _nothing, "REPORT.not_assigned", phase=running, speaker="referee:REF02"
    )


def _after_the_end() -> Iterator[BadInput]:
    over = Phase.OVER
    yield _said("the-same-again", REPORT, "E017", _nothing, "REPORT.duplicate", phase=over)
    yield _said("another-result", REPORT, "E040", _other_way_round, "REPORT.conflict", phase=over)
    for kind, part in ((JOIN_LEAGUE, "player_meta"), (JOIN_AS_REFEREE, "referee_meta")):
        yield _said(
            "after-the-end", kind, "E031", _meta(part, {}), "REGISTER.refuses_after_end", phase=over, as_member=False
        )


def _other_way_round(message: Fields, standing: Standing) -> None:
    """The other player won, by a number of the other parity."""
    first, second = standing.words["P01"], standing.words["P02"]
    result = message["result"]
    winner = second if result["winner"] == first else first
    result["winner"], result["score"] = winner, {first: 0, second: 0, winner: 3}
    details = result["details"]
    details["choices"] = {first: details["choices"][second], second: details["choices"][first]}


def _to_players() -> Iterator[BadInput]:
    broadcasts = ("ROUND_ANNOUNCEMENT", "LEAGUE_STANDINGS_UPDATE", "ROUND_COMPLETED", "LEAGUE_COMPLETED")
    yield from _of_managers(broadcasts, ("LEAGUE_COMPLETED",))
    for name, match in (("without-invitation", "R99M99"), ("match-of-5000-letters", LONG), ("escapes", ESCAPES)):
        yield _said(name, "GAME_OVER", "E014", _put("match_id", match), "GAME_OVER.match_id")
    for kind in ("GAME_INVITATION", "CHOOSE_PARITY_CALL", "GAME_MOVE_CALL"):
        yield _said("another-player", kind, "E005", _put("player_id", NOBODY), f"{kind}.player_id")
    yield _inquiry("get_player_state", {"player_id": NOBODY}, "E005")
    yield _inquiry("get_player_state", {"player_id": ["P01"]}, "E005")


def _of_managers(kinds: tuple[str, ...], checked: tuple[str, ...]) -> Iterator[BadInput]:
    """What a manager says, but of another league, or (where every profile checks it) with another's token."""
    for kind in kinds:
        elsewhere = _put("league_id", "no-such-league")
        yield _said("another-league", kind, "E028", elsewhere, f"{kind}.league_id", phase=Phase.RUNNING)
    for kind in checked:
        for name, value, code, _ in BAD_TOKENS:
            if code != "E007":  # it is told among the fields
                wrong = _put("auth_token", value)
                yield _said(f"token-{name}", kind, code, wrong, "ENVELOPE.auth_token", phase=Phase.RUNNING)


def _to_referees() -> Iterator[BadInput]:
    broadcasts = ("ROUND_ANNOUNCEMENT", "ROUND_COMPLETED", "LEAGUE_COMPLETED")
    yield from _of_managers(broadcasts, broadcasts)
    yield _said("a-game-nobody-knows", "ROUND_ANNOUNCEMENT", "E027", _chess, "ROUND_ANNOUNCEMENT.matches[].game_type")
    for match in (None, 7, "R99M99", LONG, ESCAPES):
        yield _inquiry("get_match_state", {"match_id": match}, "E003" if match is None else "E014")
    for params in ({}, {"match_id": "R1M1"}, {"match_id": "R1M1", "attempt": 1, "auth_token": "tok_x"}):
        yield _inquiry("get_match_record", params, "E012" if "auth_token" in params else "E011")


def _chess(message: Fields, _: Standing) -> None:
    for one in message["matches"]:
        one["game_type"] = "chess"


def _inquiry(method: str, params: Fields, code: str) -> BadInput:
    """A request that is no message of the protocol."""
    told = "-".join(str(value)[:8].replace("\x1b", "escape") for value in params.values()) or "nothing"
    body = encoded(call_of(params, method))
    return BadInput(
        f"rpc.{method}.{told}",
        "RPC.error_shape",
        f"{method} about {told}",
        refused(code),
        posted(body),
    )
