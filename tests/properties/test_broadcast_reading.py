"""A broadcast that is read once is read as if each copy had been read by itself."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from league import letters
from league.letters import Speaker
from league.machine import Address
from league.protocol.message.envelope import Reading, seal
from league.protocol.message.exchanges import Role
from league.protocol.message.messages import LeagueStandingsUpdate, Message, RoundAnnouncement, RoundCompleted
from league.protocol.message.parts import AnnouncedMatch, StandingsRow
from league.protocol.wire.jsonrpc import MANAGER_LIMIT, encode_body
from league.transport.broadcast_reading import BroadcastReader

ENVELOPE = seal("league_manager", 1_750_000_000.0, "conv-1")
ROWS = [
    StandingsRow(rank=n, player_id=f"P{n:02d}", display_name=f"Name {n}", played=n, wins=n, draws=0, losses=0, points=3)
    for n in range(1, 120)
]
MATCHES = [
    AnnouncedMatch(
        match_id=f"R1M{n}",
        game_type="even_odd",
        player_A_id=f"P{2 * n:02d}",
        player_B_id=f"P{2 * n + 1:02d}",
        referee_endpoint="http://127.0.0.1:8001/mcp",
    )
    for n in range(1, 40)
]
BROADCASTS: tuple[Message, ...] = (
    LeagueStandingsUpdate(**ENVELOPE, league_id="l", round_id=1, version=7, standings=ROWS),
    LeagueStandingsUpdate(**ENVELOPE, league_id="l", round_id=1, version=8, standings=ROWS),
    RoundAnnouncement(**ENVELOPE, league_id="l", round_id=1, matches=MATCHES),
    RoundCompleted(**ENVELOPE, league_id="l", round_id=1, matches_completed=39, next_round_id=2),
    RoundAnnouncement(**ENVELOPE, league_id="l", round_id=1, matches=[MATCHES[0], *MATCHES]),
)
"""The last one is wrong: two players would play twice."""
SPEAKERS = [
    Speaker(role, f"{role.value}:X", Reading(profile))
    for role in (Role.PLAYER, Role.REFEREE, Role.MANAGER)
    for profile in ("compat", "strict")
]


def written(message: Message, request_id: int, token: str | None) -> bytes:
    return letters.write_call(request_id, message, encode_body(message), Address("P01", "http://x/mcp", token))


def assert_same(reader: BroadcastReader, raw: bytes, speaker: Speaker, limit: int = MANAGER_LIMIT) -> None:
    assert reader.read_quickly(raw, speaker, limit) == letters.read_quickly(raw, speaker, limit)


token_texts = st.text(st.characters(min_codepoint=32, max_codepoint=300), max_size=40).map(lambda one: one or None)
copies = st.lists(
    st.tuples(st.sampled_from(BROADCASTS), st.integers(-5, 10**20), token_texts, st.sampled_from(SPEAKERS)), max_size=12
)


@given(copies)
def test_every_copy_is_read_as_if_it_were_the_only_one(some: list[tuple[Message, int, str | None, Speaker]]) -> None:
    reader = BroadcastReader()
    for message, request_id, token, speaker in some:
        assert_same(reader, written(message, request_id, token), speaker)


@given(st.sampled_from(BROADCASTS), st.data())
def test_a_copy_with_other_bytes_is_another_request(message: Message, data: st.DataObject) -> None:
    reader, speaker = BroadcastReader(), SPEAKERS[0]
    raw = written(message, 17, "tok_abc")
    assert_same(reader, raw, speaker)
    at = data.draw(st.integers(0, len(raw) - 1) | st.integers(0, 60) | st.integers(len(raw) - 60, len(raw) - 1))
    gone, new = (
        data.draw(st.integers(0, 3)),
        data.draw(st.binary(max_size=3) | st.sampled_from([b'"', b"\\", b"}", b",", b"0"])),
    )
    assert_same(reader, raw[:at] + new + raw[at + gone :], speaker)


@pytest.mark.parametrize("message", BROADCASTS[:3])
def test_copies_share_what_is_large_in_them(message: Message) -> None:
    reader, speaker = BroadcastReader(), SPEAKERS[0]
    first, second = (reader.read_quickly(written(message, n, f"tok_{n}"), speaker, MANAGER_LIMIT) for n in (1, 2))
    assert first is not None
    assert second is not None
    large = "standings" if isinstance(message, LeagueStandingsUpdate) else "matches"
    assert first.content.field(large) is second.content.field(large)  # type: ignore[union-attr]
    assert second.content.field("auth_token") == "tok_2"  # type: ignore[union-attr]


def test_what_is_too_large_is_refused_also_when_it_was_read_before() -> None:
    reader, speaker, raw = BroadcastReader(), SPEAKERS[0], written(BROADCASTS[0], 1, "tok_a")
    assert_same(reader, raw, speaker)
    assert_same(reader, raw, speaker, limit=len(raw) - 1)
