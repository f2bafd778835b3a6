"""Players that break the rules harm themselves, and players with odd habits nobody: leagues of real processes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import combinations

import pytest

from league.events import AttemptFailed, LeagueFinished, PlayerFaulted, ResultAccepted
from tests.support.peer import Peer
from tests.support.processes import Processes, assert_kept
from tests.support.scripts import (
    ABSENT,
    BANANA,
    BROADCASTS,
    BUSY,
    CRASH,
    DECLINE,
    GZIP,
    HANG,
    HONEST,
    HTML,
    HUGE,
    LATE,
    MATCH_CALLS,
    NO_HTTP,
    POSTED,
    RESET,
    SLOW,
    Reaction,
    Script,
    always,
    on,
    redirect,
    refusal,
)

SCALE = 10
"""So many times faster than in life the referee's time runs while it waits for silent or busy players."""
AT_ONCE = (0.0, 0.0, 0.0)
"""A failed call is repeated without a pause, so a league with the time limits of real life is soon over."""


@dataclass(frozen=True)
class Bad:
    """What a player does, and the code under which its fault must be on record."""

    code: str
    script: Script


def in_matches(*reactions: Reaction) -> Script:
    return on(MATCH_CALLS, *reactions)


NOBODY = "http://127.0.0.1:9/mcp"

SILENT = {
    "hangs": Bad("E001", always(HANG)),
    "joins and then hangs": Bad("E001", on("CHOOSE_PARITY_CALL", HANG)),
    "answers too late": Bad("E001", in_matches(LATE)),
    "answers byte by byte": Bad("E001", in_matches(SLOW)),
    "answers with nothing": Bad("E001", in_matches(Reaction(body=b""))),
}
BROKEN = {
    "speaks no HTTP": Bad("E009", always(NO_HTTP)),
    "answers with 500": Bad("E009", in_matches(CRASH)),
    "resets connections": Bad("E009", always(RESET)),
    "stops in mid-answer": Bad("E009", in_matches(Reaction(cut=120, ending="close"))),
    "sends us elsewhere": Bad("E009", in_matches(redirect(NOBODY))),
    "answers with an error": Bad("E009", in_matches(refusal(-32603))),
}
UNREADABLE = {
    "compresses": Bad("E009", in_matches(GZIP)),
    "answers with 1 MiB": Bad("E009", in_matches(HUGE)),
    "says banana": Bad("E034", always(BANANA)),
    "answers with a page": Bad("E034", always(HTML)),
    "answers with a batch": Bad("E035", in_matches(Reaction(batch=True))),
}
WRONG = {
    "declines": Bad("DECLINED", in_matches(DECLINE)),
    "chooses banana": Bad("E004", in_matches(Reaction(fields={"parity_choice": "banana"}))),
    "names another match": Bad("E015", in_matches(Reaction(fields={"match_id": "R9M9"}))),
    # The first to register is P01.
    "names another player": Bad("E033", in_matches(Reaction(fields={"player_id": "P01"}))),
    "forgets its choice": Bad("E003", on("CHOOSE_PARITY_CALL", Reaction(fields={"parity_choice": ABSENT}))),
    "answers another question": Bad("E038", on("CHOOSE_PARITY_CALL", Reaction(fields={"message_type": "GAME_OVER"}))),
}
BUSY_FOR_EVER = {"is busy for ever": Bad("E009", in_matches(BUSY))}


def assert_only_these_lost(processes: Processes, codes: Mapping[str, str]) -> None:
    """Every match has one result; only these players have technical losses, under these codes, in all their matches
    against good ones; and the journals agree."""
    faults: dict[str, set[str]] = {}
    for fault in processes.events("referee", PlayerFaulted):
        faults.setdefault(fault.player_id, set()).add(fault.code)
    assert faults == {player_id: {code} for player_id, code in codes.items()}
    results = processes.events("manager", ResultAccepted)
    for result in results:
        bad = [player_id for player_id in result.points if player_id in codes]
        assert (result.status == "TECHNICAL_LOSS") == bool(bad), result
        if len(bad) == 1:
            (winner,) = set(result.points) - set(bad)
            assert (result.winner, result.points) == (winner, {winner: 3, bad[0]: 0})
    met = [set(result.points) & codes.keys() for result in results]
    assert {player_id for bad in met if len(bad) == 1 for player_id in bad} == set(codes)
    assert set(Counter(result.match_id for result in results).values()) == {1}
    assert len(processes.events("manager", LeagueFinished)) == 1
    assert_kept(processes)


@pytest.mark.requirement("MATCH.connection_errors")
@pytest.mark.requirement("MATCH.silent_join_26s")
@pytest.mark.requirement("MATCH.fourth_wrong_answer_loses")
@pytest.mark.requirement("MATCH.declined_is_technical_loss")
@pytest.mark.parametrize("bad", [SILENT, BROKEN, UNREADABLE, WRONG, BUSY_FOR_EVER], ids=lambda bad: next(iter(bad)))
def test_bad_players_lose_and_nobody_else(processes: Processes, bad: Mapping[str, Bad]) -> None:
    scale = SCALE if bad in (SILENT, BUSY_FOR_EVER) else 1
    # With one more of the good, who come first, each of the others meets one of them within two rounds.
    count = len(bad) + 1
    # No match of this league waits for a silent player.
    manager = processes.manager(
        players=count + len(bad), move_seconds=5, rounds=2, outage_minutes=0, retry_delays_s=AT_ONCE
    )
    good = processes.players(manager, count=count)
    manager.said("player P", count)
    with ExitStack() as stack:
        for name, one in bad.items():
            stack.enter_context(Peer(name, one.script)).register(manager.endpoint)
        referee = processes.referee(manager, time_scale=scale, max_concurrent_matches=8)
        assert (good.wait(), referee.wait(), manager.stop()) == (0, 0, 0)
    ids = processes.members()
    assert_only_these_lost(processes, {ids[name]: one.code for name, one in bad.items()})


def test_a_player_killed_in_mid_league_loses_the_rest_and_nobody_else(processes: Processes) -> None:
    manager = processes.manager(players=4, outage_minutes=0)
    good = processes.players(manager, count=2)
    # It thinks about its second choice until its opponents to be have seen one of them die.
    pauses = on("CHOOSE_PARITY_CALL", HONEST, Reaction(until="killed"), HONEST)
    with Peer("Sam", pauses) as sam:
        sam.register(manager.endpoint)
        victim = processes.players(manager, "victim")
        referee = processes.referee(manager, time_scale=5, max_concurrent_matches=8)
        held = sam.saw("CHOOSE_PARITY_CALL", 2).message["match_id"]
        victim.kill()
        sam.release("killed")
        assert (good.wait(), referee.wait(), manager.stop()) == (0, 0, 0)
    victim_id = processes.members()["victim"]
    results = {one.match_id: one for one in processes.events("manager", ResultAccepted)}
    lost = [one for one in results.values() if one.status == "TECHNICAL_LOSS"]
    assert 1 <= len(lost) <= 2
    assert all(one.points[victim_id] == 0 and one.winner not in (None, victim_id) for one in lost)
    assert results["R3M1" if victim_id in results["R3M1"].points else "R3M2"] in lost
    assert results["R1M1"].status != "TECHNICAL_LOSS" != results["R1M2"].status
    assert held in results
    faults = {(one.player_id, one.code) for one in processes.events("referee", PlayerFaulted)}
    assert faults == {(victim_id, "E009")}
    assert_kept(processes)


FOREIGN_TIME = "2026-01-15T12:30:00+02:00"
FOREIGN_ZONE = Reaction(fields={"timestamp": FOREIGN_TIME, "arrival_timestamp": FOREIGN_TIME})
LONG_TIME = "2026-01-15T10:30:00.123456Z"
HABITS = {
    "adds fields": always(Reaction(fields={"mood": "good", "debug": {"depth": [1, 2]}, "note": None})),
    "counts microseconds": always(Reaction(fields={"timestamp": LONG_TIME, "arrival_timestamp": LONG_TIME})),
    "sends chunks": always(Reaction(framing="chunked")),
    "speaks HTTP 1.0": always(Reaction(version="HTTP/1.0", framing="close")),
    "posts its answers": in_matches(POSTED),
    "has no error": always(Reaction(rpc={"error": None})),
    "is polite": on(BROADCASTS, Reaction(reason="All right", fields={"status": "thank you, got it"})),
    "answers with its own number": always(Reaction(rpc={"id": 4711})),
    "omits its name": in_matches(Reaction(fields={"player_id": ABSENT, "sender": ABSENT, "auth_token": ABSENT})),
    "reads no broadcasts": on(BROADCASTS, replace(refusal(-32601, "Method not found"), status=400)),
    "sends our token back": in_matches(Reaction(fields={"auth_token": lambda asked: asked["auth_token"]})),
    "leaves at the end": on("LEAGUE_COMPLETED", Reaction(ending="exit")),
    "is busy at first": in_matches(BUSY, HONEST, BUSY, HONEST),
    "stumbles": on("GAME_INVITATION", RESET, CRASH, HONEST),
}


@pytest.mark.requirement("REFEREE.ignores_unknown_fields")
@pytest.mark.requirement("MATCH.takes_own_posts")
@pytest.mark.requirement("MATCH.busy_not_counted")
def test_odd_habits_cost_nobody_a_match(processes: Processes) -> None:
    manager = processes.manager(players=len(HABITS) + 2)
    with ExitStack() as stack:
        for name, script in HABITS.items():
            stack.enter_context(Peer(name, script)).register(manager.endpoint)
        good = processes.players(manager, count=2)
        referee = processes.referee(manager, time_scale=SCALE / 2, max_concurrent_matches=8)
        assert (good.wait(), referee.wait(), manager.stop()) == (0, 0, 0)
    assert_only_these_lost(processes, {})
    results = processes.events("manager", ResultAccepted)
    assert len(results) == len(list(combinations(range(len(HABITS) + 2), 2)))


@pytest.mark.requirement("MATCH.kept_connections")
def test_a_kept_connection_that_breaks_is_no_failed_attempt(processes: Processes) -> None:
    manager = processes.manager(players=2)
    # The call comes over the connection of the invitation.
    with Peer("Short", on("CHOOSE_PARITY_CALL", Reaction(cut=0, ending="close"), HONEST)) as short:
        short.register(manager.endpoint)
        good, referee = processes.players(manager), processes.referee(manager)
        assert (good.wait(), referee.wait(), manager.stop()) == (0, 0, 0)
    assert len(short.requests("CHOOSE_PARITY_CALL")) == 2
    assert short.requests("GAME_ERROR") == []
    assert processes.events("referee", AttemptFailed) == []
    assert_only_these_lost(processes, {})


@pytest.mark.requirement("MATCH.game_error_before_game_over")
@pytest.mark.requirement("MATCH.told_of_deviations")
def test_what_a_player_is_told_and_in_which_order(processes: Processes) -> None:
    manager = processes.manager(players=3, move_seconds=5, retry_delays_s=AT_ONCE)
    banana = on("CHOOSE_PARITY_CALL", Reaction(fields={"parity_choice": "banana"}))
    # GAME_ERROR is answered late: GAME_OVER waits for it.
    slow = on("GAME_ERROR", Reaction(drip=(60, 0.02)))
    with Peer("Wrong", (*banana, *slow)) as wrong, Peer("Elsewhere", in_matches(FOREIGN_ZONE)) as elsewhere:
        for one in (wrong, elsewhere):
            one.register(manager.endpoint)
        good = processes.players(manager)
        referee = processes.referee(manager)
        assert (good.wait(), referee.wait(), manager.stop()) == (0, 0, 0)
    for over in wrong.requests("GAME_OVER"):
        errors = [one for one in wrong.requests("GAME_ERROR") if one.message["match_id"] == over.message["match_id"]]
        assert [one.message["retryable"] for one in errors] == [True, True, True, False]
        assert all(one.answered_at and one.answered_at < over.at for one in errors)
        assert {one.message["context"]["invalid_choice"] for one in errors} == {"banana"}
    (told,) = elsewhere.requests("GAME_ERROR")
    assert (told.message["error_code"], told.message["retryable"]) == ("E021", True)
    assert told.message["consequence"] == "none in this league; strict leagues refuse it"
    assert_only_these_lost(processes, {processes.members()["Wrong"]: "E004"})
