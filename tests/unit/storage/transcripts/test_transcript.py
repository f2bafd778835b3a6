"""The transcript: what is kept of letters, and that no token is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from league.protocol import safe_text
from league.protocol.safe_text import mask
from league.protocol.signing.tokens import masked, mint
from league.storage.group_commit import KeptJournal
from league.storage.notices import JournalError
from league.storage.transcripts.transcript import LetterNote, Mode, without_record
from league.storage.urls import FilePlace
from tests.support.homes import Home, read, write
from tests.support.journals import Notices, entry

TOKEN = mint("P01", bytes(range(32)))


def _note(number: int, match_id: str | None = "R1M1", body: bytes | None = None) -> LetterNote:
    text = b'{"n":%d}' % number if body is None else body
    return LetterNote(float(number), "in", "player:P01", "GAME_JOIN_ACK", match_id, "response", "200", text)


def _journal(home: Home, notices: Notices, mode: Mode = "full", **limits: Any) -> KeptJournal:
    return write(home, notices, transcript=mode, **limits)


@pytest.fixture
def journal(home: Home, notices: Notices) -> Iterator[KeptJournal]:
    with _journal(home, notices) as opened:
        yield opened


def _settle(journal: KeptJournal, notices: Notices, entries: int = 1) -> None:
    """Letters go along with the next entry."""
    journal.append(entry(entries))
    notices.durable(entries)


def test_letters_of_a_match_are_read_in_order(journal: KeptJournal, notices: Notices) -> None:
    for number in range(1, 1200):
        journal.note(_note(number, match_id=f"R1M{number % 2}"))
    _settle(journal, notices)
    assert list(journal.letters("R1M1")) == [_note(number, "R1M1") for number in range(1, 1200, 2)]
    assert len(list(journal.letters())) == 1199
    assert list(journal.letters("R9M9")) == []


def test_a_body_is_stored_once(journal: KeptJournal, notices: Notices, home: Home) -> None:
    body = b'{"standings":"' + b"x" * 50_000 + b'"}'
    for number in range(100):
        journal.note(_note(number, body=body))
    _settle(journal, notices)
    assert [one.body for one in journal.letters("R1M1")] == [body] * 100
    assert journal._rows("SELECT sum(length(body)) FROM letters")[0][0] < 100_000


def test_a_body_is_recognised_in_a_later_group_but_not_in_one_that_was_never_stored(
    journal: KeptJournal, notices: Notices, home: Home
) -> None:
    told, lost = b'{"told":"%s"}' % (b"x" * 5000), b'{"lost":1}'
    journal.note(_note(1, body=told))
    _settle(journal, notices)
    with home.refusing():
        journal.note(_note(2, body=lost))
        journal.append(entry(100))
        failed = notices.failed()
    assert journal.try_again(failed)
    for number, body in ((3, told), (4, lost), (5, told), (6, lost)):
        journal.note(_note(number, body=body))
        _settle(journal, notices, number - 2)
    assert [one.body for one in journal.letters()] == [told, told, lost, told, lost]
    stored = [tuple(row) for row in journal._rows("SELECT id, same_as FROM letters WHERE kind <> 'remark' ORDER BY id")]
    first, again, anew, third, fourth = (one for one, _ in stored)
    assert stored == [(first, 0), (again, 0), (anew, 0), (third, again), (fourth, anew)]


def test_letters_alone_are_stored_after_a_while_and_without_a_notice(home: Home, notices: Notices) -> None:
    with _journal(home, notices, notes_wait_s=0.001) as journal:
        journal.note(_note(1))
        while not (kept := list(journal.letters("R1M1"))):
            pass
        assert kept == [_note(1)]
    assert notices.is_empty


def test_a_letter_does_not_have_entries_written_that_nobody_waits_for(home: Home, notices: Notices) -> None:
    with _journal(home, notices, notes_wait_s=1000.0) as journal:
        journal.enqueue(entry(1))
        journal.note(_note(1))
        journal.append(entry(2))
        notices.durable(2)  # in one group: nothing was told of the first alone
        journal.enqueue(entry(3))
    with read(home) as reader:
        assert len(list(reader.events())) == 3
        assert list(reader.letters()) == [_note(1)]


def test_closing_stores_the_letters_that_wait(home: Home, notices: Notices) -> None:
    with _journal(home, notices, notes_wait_s=1000.0) as journal:
        journal.note(_note(1))
    with read(home) as reader:
        assert list(reader.letters()) == [_note(1)]


@pytest.mark.parametrize(("mode", "kept"), [("full", [1, 2]), ("matches", [2]), ("off", [])])
def test_what_is_kept_depends_on_the_mode(home: Home, notices: Notices, mode: Mode, kept: list[int]) -> None:
    with _journal(home, notices, mode) as journal:
        journal.note(_note(1, match_id=None))
        journal.note(_note(2))
        _settle(journal, notices)
        assert [one.at for one in journal.letters()] == kept


@pytest.mark.requirement("KEEPING.bounded")
def test_at_its_limit_the_transcript_ends_with_one_remark(home: Home, notices: Notices) -> None:
    with _journal(home, notices, transcript_bytes=10_000) as journal:
        for number in range(1, 13):
            journal.note(_note(number, body=b'{"n":%d,"x":"%s"}' % (number, b"x" * 1000)))
            _settle(journal, notices, number)
        assert len(list(journal.letters())) == 8
        (remark,) = journal.remarks()
    assert b"reached its limit of 10000 bytes" in remark.body
    again = Notices()
    with _journal(home, again, transcript_bytes=10_000) as journal:
        journal.note(_note(50))
        _settle(journal, again)
        assert len(list(journal.letters())) == 8
        assert len(list(journal.remarks())) == 1
    again = Notices()
    with _journal(home, again, transcript_bytes=20_000) as journal:
        journal.note(_note(51))
        _settle(journal, again)
        assert [one.at for one in journal.letters()][-1] == 51


def test_a_body_counts_once_towards_the_limit(home: Home, notices: Notices) -> None:
    with _journal(home, notices, transcript_bytes=10_000) as journal:
        for number in range(50):
            journal.note(_note(number, body=b"x" * 1000))
        _settle(journal, notices)
        assert len(list(journal.letters())) == 50
        assert list(journal.remarks()) == []


def test_letters_of_a_group_that_failed_are_counted_as_missing(
    journal: KeptJournal, notices: Notices, home: Home
) -> None:
    with home.refusing():
        journal.note(_note(1))
        journal.note(_note(2))
        journal.append(entry(100))
        failed = notices.failed()
    journal.note(_note(3))
    assert journal.try_again(failed)
    _settle(journal, notices)
    journal.note(_note(4))
    _settle(journal, notices, 2)
    assert [one.at for one in journal.letters()] == [4]
    assert [one.body for one in journal.remarks()] == [b"3 letters are missing here: they could not be stored"]


@pytest.mark.requirement("KEEPING.bounded")
def test_letters_that_wait_for_a_slow_disk_are_bounded(home: Home, notices: Notices) -> None:
    with _journal(home, notices, notes_bytes=400, notes_wait_s=1000.0) as journal:
        for number in range(50):
            journal.note(_note(number, body=b"x" * 40))
        _settle(journal, notices)
        journal.note(_note(60))
        _settle(journal, notices, 2)
        assert [one.at for one in journal.letters()] == [0, 1, 60]
        assert [one.body[:10] for one in journal.remarks()] == [b"48 letters"]


def test_what_a_peer_writes_into_the_fields_is_cut_and_masked(journal: KeptJournal, notices: Notices) -> None:
    journal.note(LetterNote(1.0, "in", "\ud800\0", "X" * 5000, TOKEN, "request", TOKEN, b""))
    _settle(journal, notices)
    (kept,) = journal.letters()
    assert kept == LetterNote(
        1.0, "in", "\\ud800\N{REPLACEMENT CHARACTER}", "X" * 200, "tok_…", "request", "tok_…", b""
    )


# --- tokens -----------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("TOKEN.never_shown")
def test_no_token_of_a_letter_reaches_the_disk(journal: KeptJournal, notices: Notices, home: Home) -> None:
    journal.note(_note(1, body=json.dumps({"auth_token": TOKEN, "player_A_token": TOKEN, "x": [TOKEN]}).encode()))
    journal.note(_note(2, body=f"Traceback: token {TOKEN} is wrong".encode()))
    _settle(journal, notices)
    stored = b"".join(row[0] for row in journal._rows("SELECT body FROM letters"))
    if isinstance(home.place, FilePlace):
        path = home.place.path
        stored = path.read_bytes() + path.with_name("journal.db-wal").read_bytes()
    assert TOKEN.encode() not in stored
    assert TOKEN[8:].encode() not in stored


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ('{"a":1}', '{"a":1}'),
        ('{"auth_token":"secret-of-theirs"}', '{"auth_token":"secr…"}'),
        ('{"auth_token" :\n "short"}', '{"auth_token" :\n "…"}'),
        ('{"auth_token":"quo\\"te and more","b":2}', '{"auth_token":"…","b":2}'),
        ('{"auth_token":null,"b":""}', '{"auth_token":null,"b":""}'),
        ('{"auth_token":"","b":2}', '{"auth_token":"","b":2}'),
        ('{"auth_token":123456789012,"b":2}', '{"auth_token":"…","b":2}'),
        ('{"auth_token":["hidden here"],"b":2}', '{"auth_token":"…"'),
        ('{"auth_token":"cut off in the midd', '{"auth_token":"cut …"'),
        ('{"\\u0061uth_token":"secret-of-theirs"}', '{"auth_token":"secr…"}'),
        ('{"t":"tok\\u005fP01_abcdefgh"}', '{"t":"tok_…"}'),
        ('{"t":"\\\\u0061 \\u00e9 \\u0022 stays"}', '{"t":"\\\\u0061 \\u00e9 \\u0022 stays"}'),
        ('{"t":"tok_any thing, really"}', '{"t":"tok_…"}'),
        ('{"t":"see tok_P01_abcdefgh, please"}', '{"t":"see tok_…, please"}'),
        ('{"provided_token":"tok_…"}', '{"provided_token":"tok_…"}'),
        ('{"t":"stok_exchange"}', '{"t":"stok_exchange"}'),
        ('{"t":"{\\"auth_token\\": \\"theirs-secret\\"}"}', '{"t":"{\\"auth_token\\": \\"thei…\\"}"}'),
        ('{"text":"{\\"t\\":\\"tok_P01_abcdefgh\\",\\"b\\":1}"}', '{"text":"{\\"t\\":\\"tok_…\\",\\"b\\":1}"}'),
        ("auth_token=theirs-secret&b=1", "auth_token=thei…&b=1"),
        ("{'auth_token': 'theirs-secret'}", "{'auth_token': 'thei…'}"),
    ],
)  # fmt: skip
@pytest.mark.requirement("TOKEN.never_shown")
def test_tokens_are_masked_wherever_they_stand(body: str, expected: str) -> None:
    assert mask(body.encode()).decode() == expected


PLAIN = st.text(st.characters(exclude_characters="_", exclude_categories=["Cs"]), max_size=12)
TOKENS = st.one_of(
    st.binary(min_size=32, max_size=32).map(lambda raw: mint("REF01", raw)),
    st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=20).map("tok_{}".format),
)
LEAVES = st.one_of(st.none(), st.booleans(), st.integers(), PLAIN, TOKENS)
DOCUMENTS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(PLAIN, inner, max_size=3),
        st.dictionaries(st.just("auth_token"), st.one_of(TOKENS, PLAIN)),
    ),
    max_leaves=12,
)


def _without_tokens(value: Any, is_token: bool = False) -> Any:
    if isinstance(value, dict):
        return {key: _without_tokens(inner, key == "auth_token") for key, inner in value.items()}
    if isinstance(value, list):
        return [_without_tokens(inner) for inner in value]
    if isinstance(value, str) and (value.startswith("tok_") or (is_token and value)):
        return value if value == "tok_" else masked(value)
    return value


def _alike(masked_: Any, expected: Any) -> bool:
    """Equal, but a token that needs escapes may be hidden altogether."""
    if isinstance(expected, dict):
        return masked_.keys() == expected.keys() and all(_alike(masked_[key], expected[key]) for key in expected)
    if isinstance(expected, list):
        return len(masked_) == len(expected) and all(map(_alike, masked_, expected))
    return bool(masked_ == expected or (isinstance(expected, str) and expected.endswith("…") and masked_ == "…"))


@given(document=DOCUMENTS, as_ascii=st.booleans())
def test_a_masked_body_is_the_same_document_without_its_tokens(document: Any, as_ascii: bool) -> None:
    body = json.dumps(document, ensure_ascii=as_ascii).encode()
    assert _alike(json.loads(mask(body)), _without_tokens(document))


PARTS = st.sampled_from(
    [b'"auth_token":"', b'"auth_token"', b"auth_token=", b"tok_", b"tok", b"token", b"P01_abcdefgh", b"x" * 300]
    + [one.encode() for one in ("\\", '\\"', "\\u0061", "tok_…", "null", "abc", *"\"' :,{}[")]
)


@given(st.lists(PARTS, max_size=14).map(b"".join))
def test_what_is_found_without_the_pattern_is_masked_as_by_the_pattern(body: bytes) -> None:
    assert mask(body) == safe_text._TOKEN.sub(safe_text._hide, safe_text._ESCAPE.sub(safe_text._plain, body))


@pytest.mark.parametrize(
    "hostile", [b"\\", b'\\"auth_token', b'"auth_token"  ', b'"auth_token":"', b"tok_", b"\\u", b'"tok_\\']
)
def test_masking_a_hostile_body_takes_no_time(hostile: bytes) -> None:
    """With a quadratic pattern this would take hours."""
    mask(b'"tok_' + hostile * (1_000_000 // len(hostile)))


@pytest.mark.parametrize(
    ("sent", "noted"),
    [
        (b'{"a":[1],"match_record":[{"b":[2]}]}', b'{"a":[1],"match_record":[]}'),
        (b'{"a":1,"match_record":[{"b":"]"}],"auth_token":"x"}', b'{"a":1,"match_record":[],"auth_token":"x"}'),
        (
            b'{"params":{"a":1,"match_record":[2],"auth_token":"x"}}',
            b'{"params":{"a":1,"match_record":[],"auth_token":"x"}}',
        ),
        (b'{"a":[1]}', b'{"a":[1]}'),
        (b'{"a":1,"match_record":[2],"b":3}', b'{"a":1,"match_record":[2],"b":3}'),
        (b'{"a":1,"match_record":[2],"b":[3],"auth_token":"x"}', None),
        (b'{"a":1,"match_record":[', b'{"a":1,"match_record":['),
        (b"", b""),
    ],
)
def test_a_report_is_noted_without_the_record_that_the_journals_hold(sent: bytes, noted: bytes | None) -> None:
    assert without_record(sent) == (sent if noted is None else noted)


# --- pruning ----------------------------------------------------------------------------------------------------------


def _prune(journal: KeptJournal, before: float, *kept: str) -> None:
    journal.prune(journal.plan_pruning(before, kept), 5000.0, "letters went")


def test_letters_that_stay_keep_their_bodies_whatever_goes(journal: KeptJournal, notices: Notices) -> None:
    bodies = (b'{"broadcast":1}', b'{"broadcast":2}')
    for number in range(1, 61):
        journal.note(_note(number, f"R1M{number % 5}", bodies[number % 2]))
    _settle(journal, notices)
    _prune(journal, 1000.0, "R1M3", "R1M4")
    expected = [
        _note(number, f"R1M{number % 5}", bodies[number % 2]) for number in range(1, 61) if number % 5 in (3, 4)
    ]
    assert list(journal.letters()) == expected
    assert [remark.body for remark in journal.remarks()] == [b"letters went"]
    # Each body stands once, in a letter that is there.
    assert journal._rows("SELECT count(*) FROM letters WHERE same_as = 0 AND kind <> 'remark'")[0][0] == 2
    assert journal._rows("SELECT count(*) FROM letters WHERE same_as NOT IN (SELECT id FROM letters)")[0][0] == 2 + 1


def test_only_old_letters_go_and_numbers_are_never_given_twice(
    journal: KeptJournal, notices: Notices, home: Home
) -> None:
    for number in range(1, 11):
        journal.note(_note(number))
    _settle(journal, notices)
    pruning = journal.plan_pruning(6.0, ())
    assert (pruning.letters, pruning.kept_letters, pruning.matches) == (5, 5, ["R1M1"])
    _prune(journal, 6.0)
    assert [letter.at for letter in journal.letters()] == [6.0, 7.0, 8.0, 9.0, 10.0]
    _prune(journal, 5000.0)
    assert list(journal.letters()) == []
    journal.note(_note(11))
    _settle(journal, notices, 2)
    numbers = [number for number, _ in journal.numbered_letters()]
    assert numbers == [13], "after ten letters and two remarks"
    assert journal.plan_pruning(0.0, ()).letters == 0
    assert len(list(journal.events())) == 2


def test_a_transcript_that_was_full_has_room_again(home: Home, notices: Notices) -> None:
    with _journal(home, notices, transcript_bytes=2000) as journal:
        for number in range(1, 30):
            journal.note(_note(number))
        _settle(journal, notices)
        assert not journal.keeps_letters
        stored = len(list(journal.letters()))
        assert stored < 29
        _prune(journal, 1000.0)
    with _journal(home, notices, transcript_bytes=2000) as journal:
        assert journal.keeps_letters
        journal.note(_note(40))
        journal.append(entry(2))
        notices.durable(1)
        assert [letter.at for letter in journal.letters()] == [40.0]


def test_a_pruning_that_cannot_be_stored_changes_nothing(home: Home, notices: Notices, journal: KeptJournal) -> None:
    for number in range(1, 11):
        journal.note(_note(number))
    _settle(journal, notices)
    with home.refusing(), pytest.raises(JournalError):
        _prune(journal, 1000.0)
    assert len(list(journal.letters())) == 10
    assert list(journal.remarks()) == []
