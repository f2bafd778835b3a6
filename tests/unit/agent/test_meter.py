"""What /metrics shows of a match, and when: nothing before it is over."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from league import events as e
from league.agent.meter import BUCKETS_S, OPEN_KEPT, Meter, TableDelays
from league.machine import Pong
from league.protocol.errors import Violation
from league.protocol.message.envelope import Unsealed


def begun(match_id: str = "R1M1") -> e.MatchBegun:
    return e.MatchBegun(at=1.0, match_id=match_id, attempt=1)


def moved(match_id: str = "R1M1") -> e.MoveMade:
    return e.MoveMade(at=2.0, match_id=match_id, attempt=1, player_id="P01", turn=1, choice="even")


def dropped(match_id: str = "R1M1") -> e.MatchDropped:
    return e.MatchDropped(at=3.0, match_id=match_id, attempt=1, why="")


def invited(match_id: str = "R1M1") -> e.InvitationAnswered:
    return e.InvitationAnswered(
        at=1.0,
        match_id=match_id,
        attempt=1,
        game_type="even_odd",
        opponent_id="P02",
        role="PLAYER_A",
        accepted=True,
        round_id=1,
        referee_id="REF01",
        conversation_id="conv",
    )


def wrong(match_id: str) -> e.WrongAnswer:
    return e.WrongAnswer(
        at=2.0,
        match_id=match_id,
        attempt=1,
        player_id="P01",
        phase="move",
        turn=1,
        code="E004",
        detail="",
        left=1,
    )


def count_everything(meter: Meter, match_id: str = "R1M1") -> None:
    """All that an answer of a player makes a shell count."""
    read = Unsealed("CHOOSE_PARITY_RESPONSE", None)
    meter.call_ended("CHOOSE_PARITY_CALL", ("P01", "conv"), "timeout", match_id)
    meter.call_ended("CHOOSE_PARITY_CALL", ("P01", "conv"), "answered", match_id, read, 0.2)
    meter.answered("CHOOSE_PARITY_CALL", "ok", read, 0.2, match_id)
    meter.happened([moved(match_id), wrong(match_id)])


@pytest.mark.requirement("MATCH.hides_who_answered")
@pytest.mark.requirement("PLAYER.hides_that_it_answered")
@pytest.mark.parametrize("begins", [begun(), invited()], ids=lambda one: type(one).__name__)
def test_nothing_about_a_match_shows_before_it_is_over_and_all_of_it_afterwards(begins: e.Event) -> None:
    meter, plain = Meter(), Meter()
    meter.happened([begins])
    before = meter.prometheus({})
    count_everything(meter)
    assert meter.prometheus({}) == before
    meter.happened([dropped()])
    count_everything(plain)
    plain.happened([begins, dropped()])
    assert meter.prometheus({}) == plain.prometheus({})


@pytest.mark.requirement("MATCH.hides_who_answered")
def test_matches_that_were_open_before_a_restart_are_open_after_it() -> None:
    meter = Meter()
    meter.replay([begun("R1M1"), begun("R1M2"), moved("R1M1"), dropped("R1M2")])
    before = meter.prometheus({})
    count_everything(meter, "R1M1")
    assert meter.prometheus({}) == before
    meter.happened([moved("R1M2")])
    assert 'league_events_total{event="MoveMade"} 1' in meter.prometheus({})


@pytest.mark.parametrize("end", [e.RoundEnded(at=9.0, round_id=1), e.LeagueEnded(at=9.0, champion="P01")])
def test_a_match_whose_end_was_not_heard_of_is_over_with_its_round(end: e.Event) -> None:
    meter = Meter()
    meter.happened([invited(), moved()])
    assert "MoveMade" not in meter.prometheus({})
    meter.happened([end])
    assert 'league_events_total{event="MoveMade"} 1' in meter.prometheus({})


@pytest.mark.requirement("KEEPING.bounded")
def test_open_matches_are_not_kept_without_end() -> None:
    meter = Meter()
    meter.happened([invited(f"M{number}") for number in range(OPEN_KEPT + 5)])
    assert 'league_events_total{event="InvitationAnswered"} 5\n' in meter.prometheus({})


def test_what_is_about_no_match_shows_at_once() -> None:
    meter = Meter()
    meter.happened([begun(), e.RoundAnnounced(at=1.0, round_id=2)])
    meter.answered("LEAGUE_QUERY", "ok", Unsealed("LEAGUE_QUERY", None), 0.2)
    shown = meter.prometheus({})
    assert 'event="RoundAnnounced"' in shown
    assert 'message_type="LEAGUE_QUERY"' in shown


# --- observations are added up in batches -----------------------------------------------------------------------------

SECONDS = st.integers(0, 1 << 16).map(lambda ticks: ticks / 1024)
"""Their sums are exact, in whatever order they are added."""
MATCHES = st.sampled_from([None, "R1M1", "R1M2"])
READ = st.sampled_from(
    [Unsealed("PING", None), Unsealed("PING", None, (Violation("E003", "match_id", "", ""),)), Pong()]
)
OBSERVATIONS = st.one_of(
    st.tuples(st.just("answered"), st.sampled_from("AB"), st.sampled_from(["ok", "E004"]), READ, SECONDS, MATCHES),
    st.tuples(
        st.just("call_ended"),
        st.sampled_from("AB"),
        st.sampled_from(["P01", "P02"]),
        st.sampled_from(["answered", "timeout", "error"]),
        MATCHES,
        st.none() | READ,
        st.none() | SECONDS,
    ),
    st.tuples(st.just("refused"), st.just("?"), st.sampled_from(["E001", "E010"]), st.sampled_from([None, "E001"])),
    st.tuples(
        st.just("happened"),
        st.lists(
            st.builds(
                lambda make, match_id: make(match_id),
                st.sampled_from([begun, moved, dropped, invited, wrong]),
                st.sampled_from(["R1M1", "R1M2"]),
            )
        ),
    ),
)


@given(st.lists(OBSERVATIONS, max_size=40), st.integers(1, 8))
def test_it_shows_the_same_however_often_somebody_looks(observations: list[tuple[object, ...]], times: int) -> None:
    watched, alone = Meter(), Meter()
    for method, *values in observations * times:
        for meter in (watched, alone):
            getattr(meter, str(method))(*values)
        watched.prometheus({})
    assert alone.prometheus({}) == watched.prometheus({})


@pytest.mark.requirement("KEEPING.bounded")
@pytest.mark.parametrize("match_id", [None, "R1M1"])
def test_a_flood_of_observations_takes_no_more_room_than_one(match_id: str | None) -> None:
    meter = Meter()
    meter.happened([begun()])
    floods: list[Callable[[], None]] = [
        lambda: meter.answered("GAME_OVER", "E012", Unsealed("GAME_OVER", None), 0.1, match_id),
        lambda: meter.call_ended("GAME_OVER", "P01", "answered", match_id),
        lambda: meter.refused("?", "E001"),
        lambda: meter.happened([moved(match_id or "R9M9")]),
    ]
    for flood in floods:
        flood()
    room = [len(msgspec.msgpack.encode(counts)) for counts in (meter, *meter._open.values())]
    for flood in floods:
        for _ in range(1000):
            flood()
    # The numbers grow by a few bytes each, the number of labels does not.
    for counts, before in zip((meter, *meter._open.values()), room, strict=True):
        assert len(msgspec.msgpack.encode(counts)) < before + 200


def accepted(at: float) -> e.ResultAccepted:
    named = {"match_id": "R1M1", "attempt": 1, "referee_id": "REF01", "status": "DRAW", "winner": None}
    told = {"points": {}, "details": {}, "verified": True, "reported_at": ""}
    return e.ResultAccepted(at=at, **named, **told)  # type: ignore[arg-type]


GAPS = st.one_of(st.sampled_from([0.0, *BUCKETS_S]), st.floats(0, 40, allow_nan=False))
CHANGES = st.lists(st.tuples(GAPS, st.booleans()), max_size=12)
TOLD = st.tuples(st.sampled_from(["P01", "P02"]), st.integers(0, 14), st.booleans(), GAPS)


@given(CHANGES, CHANGES, st.lists(TOLD, max_size=6))
def test_delays_of_tables_are_those_of_each_result(
    old: list[tuple[float, bool]], new: list[tuple[float, bool]], tables: list[tuple[str, int, bool, float]]
) -> None:
    now, times, changes = 1.7e9, [], []
    for gap, is_result in old + new:
        now += gap
        times.append(now if is_result else None)
        changes.append(
            accepted(now) if is_result else e.WalkoverDecided(at=now, match_id="R1M2", winner=None, withdrawn=())
        )
    delays = TableDelays()
    delays.replay(changes[: len(old)])
    for change in changes[len(old) :]:
        delays.changed(change)
    last: dict[str, int] = {}
    plain: list[float] = []
    for player, version, is_acknowledged, gap in tables:
        now += gap
        delays.told(player, version, is_acknowledged, now)
        before = last.get(player, len(old))
        plain += [now - at for at in times[before:version] if at is not None and is_acknowledged]
        last[player] = max(before, version)
    buckets = [bisect_left(BUCKETS_S, one) for one in plain]
    assert delays.durations.buckets == [buckets.count(one) for one in range(len(BUCKETS_S) + 1)]
    assert delays.durations.count == len(plain)
    assert delays.durations.total_s == pytest.approx(sum(plain), abs=1e-5)
