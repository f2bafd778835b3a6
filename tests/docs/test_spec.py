"""The published specification says what the code does, and its examples are right."""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from league.features.mcp.message_schemas import clauses
from league.protocol.errors import ERRORS, Family
from league.protocol.message.envelope import STRICT, unseal
from league.protocol.message.messages import MESSAGES
from league.protocol.signing import tokens
from league.protocol.wire.jsonrpc import decode_answer, decode_call, read_call
from scripts import generate
from tests.support.checked_draws import verify
from tests.support.vectors import check_all

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "spec" / "league-v2.md").read_text(encoding="utf-8")
COMPATIBILITY = (ROOT / "spec" / "compatibility.md").read_text(encoding="utf-8")
BOTH_PAGES = PAGE + COMPATIBILITY
REQUIREMENTS: list[dict[str, Any]] = tomllib.loads((ROOT / "spec" / "requirements.toml").read_text(encoding="utf-8"))[
    "requirement"
]

ALL_HEADINGS = re.findall(r"^#{2,4} ([0-9]+(?:\.[0-9]+)*) ", BOTH_PAGES, re.MULTILINE)
HEADINGS = set(ALL_HEADINGS)
RULING = r"\b[RST]-[0-9]+[ab]?\b"
EXAMPLES = re.findall(r"^```json\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
ROLES = {"player", "referee", "manager"}
# What is wrong outside the fields of a message (transport.jsonrpc, protocol.envelope).
BEYOND_FIELDS = {"ENVELOPE", "ENVELOPE.message_type", "RPC.id", "RPC.method"}


def _messages(example: str) -> Iterator[dict[str, Any]]:
    """The messages in an example: bare, or in a JSON-RPC request, result or error."""
    value = json.loads(example)
    for inner in (value, value.get("params"), value.get("result"), value.get("error", {}).get("data")):
        if isinstance(inner, dict) and "message_type" in inner:
            yield inner


ALL_MESSAGES = [message for example in EXAMPLES for message in _messages(example)]


# --- the page ---------------------------------------------------------------------------------------------------------


def test_generated_files_are_fresh() -> None:
    assert generate.stale() == []


def test_the_protocol_can_be_read_in_an_hour() -> None:
    """Without the tables and the examples, which are looked up: 225 words a minute."""
    assert len(PAGE.splitlines()) <= 1900
    prose = [line for line in re.sub(r"```.*?```", "", PAGE, flags=re.DOTALL).splitlines() if not line.startswith("|")]
    assert len(" ".join(prose).split()) <= 60 * 225


def test_every_table_of_the_code_is_on_the_page() -> None:
    own_tables = [message_type for message_type in MESSAGES if message_type not in generate.ACKNOWLEDGEMENTS]
    wanted = [*generate.TABLES, *(f"fields {message_type}" for message_type in own_tables)]
    assert sorted(found["name"].partition(" beyond ")[0] for found in generate.BLOCK.finditer(PAGE)) == sorted(wanted)


def test_fields_that_a_table_leaves_out_are_named_beside_it() -> None:
    """By name, or by the section of the message that has them."""
    for found in generate.BLOCK.finditer(PAGE):
        message_type, _, like = found["name"].removeprefix("fields ").partition(" beyond ")
        if like:
            section = re.search(rf"^### 5\.[0-9]+ {message_type}$.*?(?=^### )", PAGE, re.MULTILINE | re.DOTALL)
            place = re.search(rf"^### (5\.[0-9]+) {like}$", PAGE, re.MULTILINE)
            assert section is not None
            assert place is not None
            assert place[1] in section[0]


def test_a_changed_table_is_written_anew() -> None:
    page = "before\n<!-- begin generated: errors -->\nold\n<!-- end generated -->\nafter\n"
    assert generate.filled(page) == (
        f"before\n<!-- begin generated: errors -->\n{generate.errors_table()}<!-- end generated -->\nafter\n"
    )


def test_an_unknown_table_is_refused() -> None:
    with pytest.raises(SystemExit, match="no generated part 'weather'"):
        generate.filled("<!-- begin generated: weather -->\n<!-- end generated -->")


def test_every_error_is_on_the_page() -> None:
    check_all(ERRORS, lambda error: f"| {error.code} | {error.name} |" not in PAGE and "missing")


def test_a_number_is_that_of_one_section() -> None:
    assert [number for number, times in Counter(ALL_HEADINGS).items() if times > 1] == []


def test_references_lead_to_headings() -> None:
    text = re.sub(r"```.*?```", "", BOTH_PAGES, flags=re.DOTALL)
    referred = set(re.findall(r"\(([0-9]{1,2}\.[0-9]{1,2})\)", text))
    referred |= set(re.findall(r"\b(?:in|section|sections|of|as|see|to) ([0-9]{1,2}\.[0-9]{1,2})\b(?!\.)", text))
    assert referred - HEADINGS - {"2.0"} == set()


def _places_in_code(pattern: str) -> dict[str, list[str]]:
    """What the code refers to, and where."""
    found: dict[str, list[str]] = {}
    for path in sorted((ROOT / "src").rglob("*.py")):
        for name in re.findall(pattern, path.read_text(encoding="utf-8")):
            found.setdefault(name, []).append(path.name)
    return found


def test_the_code_refers_to_sections_that_exist() -> None:
    places = _places_in_code(r"\bsection ([0-9]+(?:\.[0-9]+)*)")
    assert {name: files for name, files in places.items() if name not in HEADINGS} == {}


def test_every_ruling_has_one_row() -> None:
    numbers = [
        number for cell in re.findall(r"^\| ([RST]-.*?) \|", COMPATIBILITY, re.MULTILINE) for number in cell.split(", ")
    ]
    assert [number for number, times in Counter(numbers).items() if times > 1] == []
    assert set(re.findall(RULING, BOTH_PAGES)) <= set(numbers)


def test_the_code_refers_to_rulings_that_exist() -> None:
    rulings = set(re.findall(RULING, COMPATIBILITY))
    places = _places_in_code(RULING)
    assert {name: files for name, files in places.items() if name not in rulings} == {}


def test_a_ruling_points_to_sections_that_exist() -> None:
    cells = re.findall(r"^\| [RST]-[^|]*\|.*\| ([0-9.]+(?:, [0-9.]+)*)", COMPATIBILITY, re.MULTILINE)
    pointed = {number.rstrip(".") for cell in cells for number in cell.split(", ")}
    assert pointed - HEADINGS == set()


def test_the_code_names_requirements_that_exist() -> None:
    known = {one["id"] for one in REQUIREMENTS}
    areas = "|".join(sorted({name.partition(".")[0] for name in known} - set(MESSAGES)))
    places = _places_in_code(rf'"((?:{areas})\.[a-z_]+)"')
    assert {name: files for name, files in places.items() if name not in known} == {}


# --- the examples -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("message", ALL_MESSAGES, ids=lambda message: str(message["message_type"]))
def test_an_example_is_accepted_in_strict(message: dict[str, Any]) -> None:
    read = unseal(message, STRICT)
    assert read.violations == ()
    assert read.message is not None
    assert read.message.type == message["message_type"]


EXAMPLE_FILES = sorted((ROOT / "spec" / "examples").rglob("*.json"))


@pytest.mark.requirement("EXAMPLES.files")
def test_the_example_files_are_valid_and_hold_every_message() -> None:
    found: dict[str, set[str]] = {}
    for path in EXAMPLE_FILES:
        read = unseal(json.loads(path.read_text(encoding="utf-8")), STRICT)
        assert (path, read.violations) == (path, ())
        assert re.fullmatch(rf"{str(read.message_type).lower()}(-[2-9])?", path.stem)
        found.setdefault(path.parent.name, set()).add(str(read.message_type))
    assert set().union(*found.values()) == set(MESSAGES)
    assert found["errors"] == {"LEAGUE_ERROR", "LEAGUE_ERROR_ACK", "GAME_ERROR", "GAME_ERROR_ACK"}
    assert all("REGISTER" in one for one in found["registration"])
    assert set(found) == {"registration", "gameflow", "errors"}


def test_every_example_of_the_page_is_a_file() -> None:
    files = [json.loads(path.read_text(encoding="utf-8")) for path in EXAMPLE_FILES]
    assert [message["message_type"] for message in ALL_MESSAGES if message not in files] == []


@pytest.mark.parametrize("example", [example for example in EXAMPLES if '"jsonrpc"' in example])
def test_an_example_in_json_rpc_is_right(example: str) -> None:
    raw = example.encode()
    if '"method"' in example:
        assert read_call(decode_call(raw), STRICT).violations == ()
    else:
        answer = decode_answer(raw)
        assert isinstance(answer.content, dict)
        if answer.is_error:
            numbers = {ERRORS[answer.content["error_code"]].number(family) for family in Family}
            assert answer.number in numbers


def test_the_draw_of_the_walk_through_can_be_checked() -> None:
    by_type = {message["message_type"]: message for message in reversed(ALL_MESSAGES)}
    invitation, result = by_type["GAME_INVITATION"], by_type["GAME_OVER"]["game_result"]
    promised = (invitation["draw_commitment"], result["draw_seed"])
    match = (invitation["league_id"], invitation["match_id"], invitation["attempt"])
    assert verify(*promised, *match, result["drawn_number"])
    for value in (*promised, f"| number | {result['drawn_number']} |"):
        assert value in PAGE[PAGE.index("## 12 ") :]


def test_the_tokens_of_the_walk_through_can_be_computed() -> None:
    by_type = {message["message_type"]: message for message in reversed(ALL_MESSAGES)}
    own = by_type["LEAGUE_REGISTER_RESPONSE"]["auth_token"]
    key = tokens.deriver(own)
    shown = tokens.derive(key, "REF01", "P01", "spring", "R1M1", 1)
    answer = tokens.derive(key, "P01", "REF01", "spring", "R1M1", 1)
    assert own == tokens.mint("P01", bytes(range(32)))
    assert by_type["ROUND_ANNOUNCEMENT"]["auth_token"] == tokens.derive(key, tokens.MANAGER, "P01", "spring")
    assert by_type["GAME_INVITATION"]["auth_token"] == shown
    assert by_type["GAME_JOIN_ACK"]["auth_token"] == answer
    section = PAGE[PAGE.index("### 9.4 ") : PAGE.index("### 9.5 ")]
    assert all(value in section for value in (own, key, tokens.verifier(own), shown, answer, tokens.verifier(answer)))


# --- the requirements -------------------------------------------------------------------------------------------------


def test_requirement_ids_are_unique() -> None:
    counted = Counter(one["id"] for one in REQUIREMENTS)
    assert [name for name, times in counted.items() if times > 1] == []


KEYS = {"id", "level", "section", "kind", "roles", "observable", "sentence"}


def _incomplete(requirement: dict[str, Any]) -> list[str]:
    level, roles = requirement["level"], set(requirement["roles"])
    eased = (level, requirement.get("player_level", "SHOULD"), "player" in roles) == ("MUST", "SHOULD", True)
    rules = {
        "keys": set(requirement) - {"player_level"} == KEYS,
        "level": level in {"MUST", "SHOULD"},
        "player_level": "player_level" not in requirement or eased,
        "kind": requirement["kind"] in {"field", "behaviour"},
        "section": requirement["section"] in HEADINGS,
        "roles": bool(roles) and set(requirement["observable"]) <= roles <= ROLES,
        "sentence": requirement["sentence"].endswith("."),
    }
    return [name for name, holds in rules.items() if not holds]


def test_the_requirements_are_complete() -> None:
    check_all({one["id"]: one for one in REQUIREMENTS}, _incomplete)


def test_every_clause_of_the_code_has_a_requirement_and_the_other_way_round() -> None:
    of_the_code = {one.requirement for message_type in MESSAGES for one in clauses(message_type)} | BEYOND_FIELDS
    of_the_page = {one["id"] for one in REQUIREMENTS if one["kind"] == "field"}
    assert of_the_page == of_the_code


def test_a_clause_stands_in_the_section_of_its_message() -> None:
    titles = dict(re.findall(r"^### (5\.[0-9]+) ([A-Z_]+)$", PAGE, re.MULTILINE))
    for one in REQUIREMENTS:
        message_type = one["id"].partition(".")[0]
        if one["kind"] == "field" and message_type in MESSAGES:
            assert titles.get(one["section"], message_type) == message_type, one["id"]
