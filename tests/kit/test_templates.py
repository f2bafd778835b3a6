"""The tables of the kit: words in braces, and rows that share fields."""

from __future__ import annotations

from league.features.kit.bad_input.cases import rows_of
from league.features.kit.driver.templates import filled, table, with_words

WORDS = {"P01": "kit-7", "round": 3, "empty": ""}


def test_a_text_that_is_one_name_becomes_the_word_of_whatever_type() -> None:
    assert with_words({"a": ["{round}", "{null}"], "{P01}": "R{round}"}, WORDS.get) == {"a": [3, None], "kit-7": "R3"}


def test_what_a_word_contains_is_not_looked_up_again_and_unknown_names_stay() -> None:
    assert filled("{x}{empty}{nobody}", {"x": "{P01}", **WORDS}.get) == "{P01}{nobody}"


def test_a_repeated_text_is_written_out_when_the_table_is_read() -> None:
    (row,) = [row for row in rows_of("bad_http.toml") if row["row"] == "200-headers"]
    assert row["set"]["value"].split("\r\n")[1:] == [f"X-{number}: 1" for number in range(200)]


def test_a_row_adds_its_changes_to_those_of_its_group() -> None:
    (row,) = [row for row in rows_of("bad_messages.toml") if row["row"] == "name-and-endpoint-of-a-referee"]
    assert set(row["set"]) == {f"{{meta}}.{name}" for name in ("display_name", "contact_endpoint", "enrolment_key")}


def test_no_group_of_a_table_was_changed_by_reading_it() -> None:
    assert list(rows_of("bad_http.toml")) == list(rows_of("bad_http.toml"))
    assert "rows" in table("bad_input", "bad_http.toml")["group"][0]
