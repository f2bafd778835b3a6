"""Right messages from the wrong sender or at the wrong time (spec sections 7 to 11): tokens, ids that do not exist,
other agents' matches, results without a match and results sent twice."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from league.protocol import tokens
from league_kit.bad_input.cases import (
    LEAGUE_WORD,
    MANAGER,
    OTHERS_TOKENS,
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
from league_kit.bad_input.wrong_messages import bad_endpoints, right_message
from league_kit.kit_wire import RawRequest

Fields = dict[str, Any]
"""A message (Any: JSON)."""
Change = Callable[[Fields, Standing], object]
"""Makes a right message wrong."""

QUERY: Final = "LEAGUE_QUERY"
REPORT: Final = "MATCH_RESULT_REPORT"
JOIN_LEAGUE: Final = "LEAGUE_REGISTER_REQUEST"
JOIN_AS_REFEREE: Final = "REFEREE_REGISTER_REQUEST"
META: Final = {JOIN_LEAGUE: "player_meta", JOIN_AS_REFEREE: "referee_meta"}
COMPAT: Final = "compat"
STRICT: Final = "strict"
NOBODY: Final = "P9999"
LONG: Final = "x" * 5000
ESCAPES: Final = "\x1b[2J\x1b]0;owned\x07"
ELSEWHERE: Final = "no-such-league"


class _BadToken(NamedTuple):
    name: str
    value: object
    code: str
    clause: str


BAD_TOKENS: Final = (
    _BadToken("missing", None, "E011", "TOKEN.missing"),
    _BadToken("empty", "", "E011", "TOKEN.missing"),
    _BadToken("a-number", 7, "E007", "ENVELOPE.auth_token"),
    _BadToken("an-object", {"token": "x"}, "E007", "ENVELOPE.auth_token"),
    _BadToken("unknown", "tok_P01_" + "A" * 43, "E012", "TOKEN.invalid"),
    _BadToken("of-5000-letters", LONG, "E012", "TOKEN.invalid"),
    _BadToken("with-an-escape-sequence", ESCAPES, "E012", "TOKEN.invalid"),
)
# Tokens of a wrong type are judged among the fields of each message.
BAD_TOKEN_TEXTS: Final = tuple(token for token in BAD_TOKENS if token.code != "E007")

CALLS: Final = ("GAME_INVITATION", "CHOOSE_PARITY_CALL", "GAME_MOVE_CALL")
ANSWERS: Final[Mapping[str, Fields]] = {
    "GAME_JOIN_ACK": {"accept": False, "arrival_timestamp": "2025-01-15T12:00:00Z"},
    "CHOOSE_PARITY_RESPONSE": {"parity_choice": "odd"},
    "GAME_MOVE_RESPONSE": {"move": "4"},
}
ENVELOPE_OF_P01: Final[Fields] = {
    "protocol": "league.v2",
    "sender": "player:P01",
    "player_id": "P01",
    "timestamp": "2025-01-15T12:00:00Z",
    "conversation_id": "conv-r1m1-1",
    "auth_token": "tok_P01_" + "A" * 43,
}


def speaking(role: str) -> Iterator[BadInput]:
    """Return every case for an agent of this role."""
    if role == MANAGER:
        yield from _tokens()
        yield from _queries()
        yield from _stolen_tokens()
        yield from _registrations()
        yield from _names()
        yield from _endpoints()
        yield from _referees_without_key()
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
    profile: str = "",
) -> BadInput:
    """Send a right message of this type with one change; `speaker` replaces its usual sender."""

    def make(standing: Standing) -> RawRequest:
        message = right_message(kind, standing)
        if speaker:
            message["sender"] = standing.live(speaker)
            message["auth_token"] = standing.token_of(message)
        change(message, standing)
        return RawRequest(standing.url, encoded(call_of(message, method_of(kind))))

    return BadInput(
        id=f"{kind.lower()}.{name}",
        clause=clause,
        what=f"{kind}: {name.replace('-', ' ')}",
        expected=refused(code, kind),
        make=make,
        phase=phase,
        as_member=as_member,
        profile=profile,
    )


def _put(name: str, value: object) -> Change:
    return lambda message, _: message.__setitem__(name, value)


def _nothing(_message: Fields, _standing: Standing) -> None:
    """Change nothing: only the time of the message is wrong."""


# --- to managers: tokens and queries ----------------------------------------------------------------------------------


def _tokens() -> Iterator[BadInput]:
    for kind in (QUERY, REPORT):
        for token in BAD_TOKENS:
            change = _put("auth_token", token.value)
            yield _said(f"token-{token.name}", kind, token.code, change, token.clause)
    for name, kind, owner in (
        ("token-of-a-referee", QUERY, "REF01"),
        ("token-of-another-player", QUERY, "P02"),
        ("token-of-another-referee", REPORT, "REF02"),
        ("token-of-a-player", REPORT, "P01"),
    ):
        yield _said(name, kind, "E032", _token_of(owner), "TOKEN.not_its_owner", phase=Phase.RUNNING)
    yield _said("token-with-a-blank-behind", QUERY, "E012", _blank_behind, "TOKEN.invalid")
    yield _said(
        "of-a-stranger",
        QUERY,
        "E032",
        _put("sender", f"player:{NOBODY}"),
        "TOKEN.not_its_owner",
    )


def _token_of(owner: str) -> Change:
    return lambda message, standing: message.update(auth_token=standing.tokens[standing.words[owner]])


def _blank_behind(message: Fields, _: Standing) -> None:
    message["auth_token"] = f"{message['auth_token']} "


def _stolen_tokens() -> Iterator[BadInput]:
    """Show tokens that were derived for others: what a player is shown is no key to the manager."""
    for kind in (QUERY, REPORT):
        for name, sender, has_match in (
            ("that-the-manager-shows-a-player", tokens.MANAGER, False),
            ("that-a-player-shows-in-its-match", "P01", True),
            ("that-a-referee-shows-a-player", "REF01", True),
        ):
            stolen = _derived(sender, has_match)
            yield _said(f"token-{name}", kind, "E012", stolen, "TOKEN.stolen", phase=Phase.RUNNING)


def _derived(sender: str, has_match: bool) -> Change:
    """Show the token that this sender derives from the player's, for the first match or for none."""

    def change(message: Fields, standing: Standing) -> None:
        words = standing.words
        player = words["P01"]
        key = tokens.deriver(standing.tokens[player])
        receiver = words["REF01"] if sender == "P01" else player
        token = tokens.derive(key, words.get(sender, sender), receiver, words[LEAGUE_WORD])
        if has_match:
            token = tokens.derive(key, words[sender], receiver, words[LEAGUE_WORD], words["R1M1"], 1)
        message["auth_token"] = token

    return change


def _queries() -> Iterator[BadInput]:
    yield _said("about-another-league", QUERY, "E028", _put("league_id", ELSEWHERE), "QUERY.failures")
    for name, value in (
        ("in-small-letters", "get_standings"),
        ("with-a-blank", "GET_STANDINGS "),
        ("of-5000-letters", LONG),
        ("with-escapes", ESCAPES),
        ("with-SQL", "'; DROP TABLE events; --"),
    ):
        yield _said(
            f"query-type-{name}",
            QUERY,
            "E029",
            _put("query_type", value),
            "LEAGUE_QUERY.query_type",
        )
    for name, player in (
        ("nobody", NOBODY),
        ("a-path", "../../P01"),
        ("long", LONG),
        ("escapes", ESCAPES),
    ):
        query = _ask("GET_PLAYER_STATS", player_id=player)
        yield _said(f"stats-of-{name}", QUERY, "E005", query, "QUERY.failures")
    yield _said("schedule-too-early", QUERY, "E030", _ask("GET_SCHEDULE"), "QUERY.failures")
    query = _ask("GET_SCHEDULE", round_id=999)
    yield _said("schedule-of-no-round", QUERY, "E008", query, "QUERY.failures", phase=Phase.RUNNING)


def _ask(query_type: str, **params: object) -> Change:
    return lambda message, _: message.update(query_type=query_type, query_params=params)


# --- to managers: registrations ---------------------------------------------------------------------------------------

# Names and endpoints in braces stand for those of a member (see joining.py).
WRONG_META: Final = (
    ("another-game", "E027", {"game_types": ["chess"]}),
    ("many-other-games", "E027", {"game_types": [f"game_{number}" for number in range(300)]}),
    ("name-that-is-taken", "E022", {"display_name": "{taken}"}),
    ("name-that-is-taken-in-another-case", "E022", {"display_name": "{TAKEN}"}),
    ("endpoint-that-is-taken", "E044", {"contact_endpoint": "{endpoint}"}),
    (
        "endpoint-at-a-metadata-service",
        "E026",
        {"contact_endpoint": "http://169.254.169.254/mcp"},
    ),
    ("endpoint-that-is-no-address", "E026", {"contact_endpoint": "http://0.0.0.0:8101/mcp"}),
    ("endpoint-of-all", "E026", {"contact_endpoint": "http://224.0.0.1:8101/mcp"}),
)
_CLAUSES: Final = {
    "E022": "REGISTER.refuses_duplicate_name",
    "E026": "REGISTER.refuses_forbidden_endpoint",
    "E027": "REGISTER.refuses_no_common_game",
    "E044": "REGISTER.refuses_endpoint_in_use",
}
LOOK_ALIKES: Final = (
    ("with-a-Cyrillic-letter", "K\u0456t {0}"),
    ("with-a-Greek-letter", "\u039ait {0}"),
    ("of-full-width", "\uff2b\uff49\uff54 {0}"),
    ("with-a-letter-for-a-digit", "Kit {1}"),
    ("with-more-blanks", "Kit   {0}"),
)
SENDERS: Final = ("league_manager", "League_Manager", "player:P01", "referee:REF01")
"""Names that stand for senders of the protocol. No profile accepts them."""
RESERVED: Final = (
    "League Manager",
    "ADMIN",
    "Operator",
    "P01",
    "P9999",
    "REF07",
    "R1M1",
    "PO1",
    "\u0440\u0660\u0661",
)
INVISIBLE: Final = "\u034f\u200b\u202e\u2060\u3164\ufeff"


def _registrations() -> Iterator[BadInput]:
    for kind, part in META.items():
        for name, code, change in WRONG_META:
            # In compat, a name that is taken gets a number (section 7.2).
            yield _said(
                name,
                kind,
                code,
                _meta(part, change),
                _CLAUSES[code],
                as_member=False,
                profile=STRICT if code == "E022" else "",
            )


def _names() -> Iterator[BadInput]:
    """Register under names that pose as others. The name that is taken is "Kit P01" or "Kit Ref01"."""
    for kind, number in ((JOIN_LEAGUE, "P01"), (JOIN_AS_REFEREE, "Ref01")):
        for name, form in LOOK_ALIKES:
            text = form.format(number, number.replace("0", "O"))
            clause = "REGISTER.name_lookalike"
            yield _named(f"look-alike-{name}", kind, text, "E022", clause, profile=STRICT)
        for text in (*SENDERS, *RESERVED):
            yield _named(
                f"reserved-{text.replace(' ', '-')}",
                kind,
                text,
                "E022",
                "REGISTER.name_reserved",
                profile=STRICT if text in RESERVED else "",
            )
        clause = f"{kind}.{META[kind]}.display_name"
        for char in INVISIBLE:
            yield _named(f"invisible-{ord(char):04X}", kind, f"Kit{char} {number}", "E008", clause)
        yield _named("nothing-but-an-invisible-letter", kind, "\u3164", "E008", clause)


def _named(name: str, kind: str, display_name: str, code: str, clause: str, *, profile: str = "") -> BadInput:
    change = _meta(META[kind], {"display_name": display_name})
    return _said(f"name-{name}", kind, code, change, clause, as_member=False, profile=profile)


def _endpoints() -> Iterator[BadInput]:
    """Register with addresses that no policy accepts: those of spec/vectors/endpoints.json."""
    for number, row in enumerate(bad_endpoints()):
        code = str(row["error"])
        reason = re.sub(r"[^A-Za-z0-9]+", "-", row["why"])
        change = _meta("player_meta", {"contact_endpoint": row["endpoint"]})
        clause = _CLAUSES.get(code, f"{JOIN_LEAGUE}.player_meta.contact_endpoint")
        yield _said(f"endpoint-{number}-{reason}", JOIN_LEAGUE, code, change, clause, as_member=False)


def _referees_without_key() -> Iterator[BadInput]:
    """Once the league has begun, nobody becomes a referee, or takes a referee's place, by saying so."""
    guarded = "REGISTER.guarded_referees"
    proves = "REGISTER.referee_proves_itself"
    member = {"display_name": "{taken}", "contact_endpoint": "{endpoint}"}
    for name, change, clause in (
        ("newcomer-without-a-key", {"enrolment_key": None}, guarded),
        ("newcomer-with-a-wrong-key", {"enrolment_key": "sesame"}, guarded),
        (
            "newcomer-with-a-token-for-a-key",
            {"enrolment_key": "tok_REF01_" + "A" * 43},
            guarded,
        ),
        ("name-and-endpoint-of-a-referee", {**member, "enrolment_key": None}, proves),
        (
            "name-and-endpoint-of-a-referee-with-a-wrong-key",
            {**member, "enrolment_key": "sesame"},
            proves,
        ),
    ):
        wrong = _meta("referee_meta", change)
        # A strict league takes no further referee while one is alive, whatever it shows.
        for profile, code in ((COMPAT, "E043"), (STRICT, "E019" if clause == guarded else "E043")):
            yield _said(
                name,
                JOIN_AS_REFEREE,
                code,
                wrong,
                clause,
                phase=Phase.RUNNING,
                as_member=False,
                profile=profile,
            )


def _meta(part: str, change: Mapping[str, object]) -> Change:
    """Register a newcomer with these meta fields."""
    placeholders = {word: f"{word.strip('{}')} {part}" for word in ("{taken}", "{TAKEN}", "{endpoint}")}

    def changed(message: Fields, standing: Standing) -> None:
        meta = message[part]
        meta["display_name"] = "Newcomer"
        meta["contact_endpoint"] = standing.words["spare endpoint"]
        for name, value in change.items():
            if isinstance(value, str) and value in placeholders:
                value = standing.words.get(placeholders[value], value)
            meta[name] = value
        message.pop("auth_token", None)

    return changed


# --- to managers: reports ---------------------------------------------------------------------------------------------


def _reports() -> Iterator[BadInput]:
    running = Phase.RUNNING
    yield _said("before-the-start", REPORT, "E014", _put("match_id", "R1M1"), "REPORT.unknown_match")
    for name, match in (
        ("no-such-match", "R99M99"),
        ("long", LONG),
        ("escapes", ESCAPES),
        ("a-path", "../R1M1"),
    ):
        change = _put("match_id", match)
        yield _said(f"match-{name}", REPORT, "E014", change, "REPORT.unknown_match", phase=running)
    not_assigned = "REPORT.not_assigned"
    yield _said("attempt-to-come", REPORT, "E016", _put("attempt", 99), not_assigned, phase=running)
    yield _said(
        "anothers-match",
        REPORT,
        "E016",
        _nothing,
        not_assigned,
        phase=running,
        speaker="referee:REF02",
    )


def _after_the_end() -> Iterator[BadInput]:
    over = Phase.OVER
    yield _said("the-same-again", REPORT, "E017", _nothing, "REPORT.duplicate", phase=over)
    yield _said("another-result", REPORT, "E040", _other_way_round, "REPORT.conflict", phase=over)
    for kind, part in META.items():
        change = _meta(part, {})
        yield _said(
            "after-the-end",
            kind,
            "E031",
            change,
            "REGISTER.refuses_after_end",
            phase=over,
            as_member=False,
        )


def _other_way_round(message: Fields, standing: Standing) -> None:
    """Let the other player win, by a number of the other parity."""
    first = standing.words["P01"]
    second = standing.words["P02"]
    result = message["result"]
    winner = second if result["winner"] == first else first
    result["winner"] = winner
    result["score"] = {first: 0, second: 0, winner: 3}
    choices = result["details"]["choices"]
    result["details"]["choices"] = {first: choices[second], second: choices[first]}


# --- to players and referees ------------------------------------------------------------------------------------------


def _to_players() -> Iterator[BadInput]:
    broadcasts = (
        "ROUND_ANNOUNCEMENT",
        "LEAGUE_STANDINGS_UPDATE",
        "ROUND_COMPLETED",
        "LEAGUE_COMPLETED",
    )
    yield from _of_managers(broadcasts, ("LEAGUE_COMPLETED",))
    for name, match in (
        ("without-invitation", "R99M99"),
        ("match-of-5000-letters", LONG),
        ("escapes", ESCAPES),
    ):
        yield _said(name, "GAME_OVER", "E014", _put("match_id", match), "GAME_OVER.match_id")
    for kind in CALLS:
        yield from _of_no_referee(kind)
        yield _said("another-player", kind, "E005", _put("player_id", NOBODY), f"{kind}.player_id")
    yield _inquiry("get_player_state", {"player_id": NOBODY}, "E005")
    yield _inquiry("get_player_state", {"player_id": ["P01"]}, "E005")


def _of_no_referee(kind: str) -> Iterator[BadInput]:
    """Call for a match as somebody who is not its referee, and would learn the choice."""
    clause = "PLAYER.hears_its_referee_only"
    for token in BAD_TOKEN_TEXTS:
        change = _put("auth_token", token.value)
        yield _said(f"token-{token.name}", kind, token.code, change, clause, phase=Phase.RUNNING)
    for owner in OTHERS_TOKENS:
        name = f"token-{owner.replace(' ', '-')}"
        yield _said(name, kind, "E012", _shown(owner), clause, phase=Phase.RUNNING)


def _shown(owner: str) -> Change:
    return lambda message, standing: message.update(auth_token=standing.tokens[owner])


def _of_managers(kinds: tuple[str, ...], checked: tuple[str, ...]) -> Iterator[BadInput]:
    """Send a manager's messages about another league, or (where every profile checks it) with a wrong token."""
    for kind in kinds:
        change = _put("league_id", ELSEWHERE)
        yield _said("another-league", kind, "E028", change, f"{kind}.league_id", phase=Phase.RUNNING)
    for kind in checked:
        for token in BAD_TOKEN_TEXTS:
            change = _put("auth_token", token.value)
            name = f"token-{token.name}"
            yield _said(name, kind, token.code, change, "ENVELOPE.auth_token", phase=Phase.RUNNING)


def _to_referees() -> Iterator[BadInput]:
    broadcasts = ("ROUND_ANNOUNCEMENT", "ROUND_COMPLETED", "LEAGUE_COMPLETED")
    yield from _of_managers(broadcasts, broadcasts)
    yield _said(
        "a-game-nobody-knows",
        "ROUND_ANNOUNCEMENT",
        "E027",
        _chess,
        "ROUND_ANNOUNCEMENT.matches[].game_type",
    )
    yield from _answers_to_no_call()
    yield _inquiry("get_match_state", {"match_id": None}, "E003")
    for match in (7, "R99M99", LONG, ESCAPES):
        yield _inquiry("get_match_state", {"match_id": match}, "E014")
    yield _inquiry("get_match_record", {}, "E011")
    yield _inquiry("get_match_record", {"match_id": "R1M1"}, "E011")
    yield _inquiry("get_match_record", {"match_id": "R1M1", "attempt": 1, "auth_token": "tok_x"}, "E012")


def _answers_to_no_call() -> Iterator[BadInput]:
    """Post answers to questions that nobody asked."""
    for kind, fields in ANSWERS.items():
        for name, match, code in (
            ("in-no-match", "R99M99", "E014"),
            ("in-a-match-of-5000-letters", LONG, "E014"),
            ("in-a-match-with-escapes", ESCAPES, "E014"),
            ("in-a-match-that-is-a-number", 7, "E014"),
            ("in-a-match-that-is-null", None, "E003"),
        ):
            message = {**ENVELOPE_OF_P01, "message_type": kind, "match_id": match, **fields}
            yield BadInput(
                id=f"{kind.lower()}.{name}",
                clause="MATCH.own_posts_checked",
                what=f"{kind}: {name.replace('-', ' ')}",
                expected=refused(code, kind),
                make=posted(encoded(call_of(message, kind))),
            )


def _chess(message: Fields, _: Standing) -> None:
    for match in message["matches"]:
        match["game_type"] = "chess"


def _inquiry(method: str, params: Fields, code: str) -> BadInput:
    """Send a request that is not a message of the protocol."""
    subject = "-".join(str(value)[:8].replace("\x1b", "escape") for value in params.values()) or "nothing"
    return BadInput(
        id=f"rpc.{method}.{subject}",
        clause="RPC.error_shape",
        what=f"{method} about {subject}",
        expected=refused(code),
        make=posted(encoded(call_of(params, method))),
    )
