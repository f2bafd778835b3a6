"""The match record: what a referee tells its manager of a match that is over, and nobody else."""

from __future__ import annotations

import json
from collections.abc import Iterator

import msgspec
import pytest
from msgspec import Raw

from league import letters
from league.events import LeagueSettings, MatchDecided, MatchRecordKept, ResultAccepted
from league.features.lab.simulation.world import World
from league.features.records.explain import explain
from league.features.records.match_facts import facts_of
from league.letters import Speaker
from league.machine import Acknowledged, Address, Answering, MatchRecord, RecordRequest, Refusal
from league.protocol.errors import PeerError
from league.protocol.message.envelope import STRICT
from league.protocol.message.exchanges import Role
from league.protocol.message.messages import MatchResultReport
from league.protocol.wire.jsonrpc import MESSAGE_LIMIT, encode_body
from league.reading.journals import Journals, records_of
from league.referee import referee_messages
from league.referee.referee_context import LONGEST_DETAIL
from tests.support.referee_rig import Rig, announced, of_manager

REFEREE = Speaker(Role.REFEREE, "referee:REF01", STRICT)


def finished_match() -> Rig:
    rig = Rig().given(announced())
    rig.plays()
    return rig


@pytest.mark.parametrize(("token", "code"), [(None, "E011"), ("", "E011"), ("tok_P01_x", "E012")])
def test_only_the_manager_is_told(token: str | None, code: str) -> None:
    answer = finished_match().request(RecordRequest("R1M1", 1, token))
    assert isinstance(answer, PeerError)
    assert answer.code == code


def test_the_record_holds_everything_that_happened() -> None:
    rig = finished_match()
    answer = rig.request(RecordRequest("R1M1", 1, of_manager()))
    assert isinstance(answer, MatchRecord)
    kinds = [one["event"] for one in answer.events]
    assert kinds[0] == "MatchTaken"
    assert {"PlayerJoined", "MoveMade", "NumberDrawn", "MatchDecided"} <= set(kinds)
    assert "tok_" not in json.dumps(answer.events)


def reported(rig: Rig) -> MatchResultReport:
    message = next(one.message for one in rig.sent if isinstance(one.message, MatchResultReport))
    assert isinstance(message, MatchResultReport)
    return message


@pytest.mark.requirement("MATCH_RESULT_REPORT.match_record")
def test_a_manager_that_wants_the_record_gets_it_within_the_report() -> None:
    rig = Rig().given(announced(record_wanted=True))
    rig.plays()
    record = rig.request(RecordRequest("R1M1", 1, of_manager()))
    assert isinstance(record, MatchRecord)
    told = msgspec.to_builtins(reported(rig).match_record)
    assert told
    assert told == list(record.events)[: len(told)]
    assert {"MatchTaken", "PlayerJoined", "MoveMade", "NumberDrawn", "MatchDecided"} <= {one["event"] for one in told}
    assert "tok_" not in json.dumps(told)


def test_a_manager_that_does_not_ask_for_the_record_gets_none() -> None:
    assert reported(finished_match()).match_record is None


def test_a_record_that_makes_a_report_too_large_stays_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(referee_messages, "LARGEST_REPORT", 1_000)
    rig = Rig().given(announced(record_wanted=True))
    rig.plays()
    assert reported(rig).match_record is None
    assert isinstance(rig.request(RecordRequest("R1M1", 1, of_manager())), MatchRecord)


def test_the_largest_report_is_no_larger_than_a_manager_takes() -> None:
    rig = Rig().given(announced(record_wanted=True))
    rig.plays()
    message = msgspec.structs.replace(reported(rig), match_record=None)
    room = referee_messages.LARGEST_REPORT - len(encode_body(message))
    largest = msgspec.structs.replace(message, match_record=["x" * (room - len(',"match_record":[""]'))])
    assert len(encode_body(largest)) == referee_messages.LARGEST_REPORT
    to = Address("league_manager", "http://127.0.0.1:8000/mcp", token=f"tok_REF999999_{'x' * 64}")
    assert len(letters.write_call(10**12, largest, encode_body(largest), to)) <= MESSAGE_LIMIT


def test_a_match_that_is_not_decided_is_nobodys_business() -> None:
    rig = Rig().given(announced())
    for match_id, code in (("R1M1", "E023"), ("R9M9", "E014")):
        answer = rig.request(RecordRequest(match_id, 1, of_manager()))
        assert isinstance(answer, PeerError)
        assert answer.code == code


def test_request_and_answer_survive_the_wire() -> None:
    raw = letters.write_call(7, RecordRequest("R1M1", 2), b"", Address("REF01", "http://x", "tok_league_manager_x"))
    asked = letters.read_request(raw, REFEREE)
    assert asked.content == RecordRequest("R1M1", 2, "tok_league_manager_x")
    record = MatchRecord("R1M1", 2, ({"event": "MatchTaken"},))
    body = letters.write_answer(asked, Answering(1, record), REFEREE, 0.0)
    assert letters.read_answer(body, RecordRequest("R1M1", 2), STRICT) == record


@pytest.mark.parametrize("result", [None, [], {}, {"match_id": "R1M1"}, {"match_id": 1, "attempt": 1, "events": []}])
def test_an_answer_that_is_no_record_is_a_mere_sign_of_life(result: object) -> None:
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "result": result}).encode()
    assert letters.read_answer(body, RecordRequest("R1M1", 1), STRICT) == Acknowledged()


def test_an_error_is_read_as_one() -> None:
    body = b'{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}'
    assert isinstance(letters.read_answer(body, RecordRequest("R1M1", 1), STRICT), Refusal)


def test_a_manager_keeps_the_record_of_every_match_and_matches_are_explained_from_it() -> None:
    evidence = World(LeagueSettings(league_id="kept", players=4, referees=2), seed=3, rate=0.0).run()
    kept = [event for event in evidence.manager if isinstance(event, MatchRecordKept)]
    results = [event for event in evidence.manager if isinstance(event, ResultAccepted)]
    assert {(one.match_id, one.attempt) for one in kept} == {(one.match_id, one.attempt) for one in results}
    facts = facts_of("R1M1", Journals(evidence.manager, records_of((one.referee_id, one.lines) for one in kept)))
    assert facts is not None
    assert facts.taken is not None
    assert explain(facts).verdict is not None


def test_what_a_lying_referee_puts_into_a_record_harms_nobody() -> None:
    lies: tuple[dict[str, str], ...] = ({"event": "Banana"}, {}, {"event": "MatchTaken"})
    written = Raw(json.dumps(lies).encode())
    kept = MatchRecordKept(at=0.0, match_id="R1M1", attempt=1, referee_id="REF01", written=written)
    for told in (kept.record, kept.lines):
        assert records_of([(kept.referee_id, told)])["REF01"].events == []


@pytest.mark.requirement("TOKEN.never_shown")
@pytest.mark.parametrize("said", ["error", "choice", "sentence"])
def test_what_is_told_of_a_faulty_player_quotes_little_of_it_no_token_and_nothing_unprintable(said: str) -> None:
    rig = Rig().given(announced()).joins("P01", "P02").chooses("P01", "even")
    while not rig.of(MatchDecided):
        if not rig.asked("P02"):
            rig.wait(1.0)
            continue
        words = f"\x1b[2J\u202e{rig.question('P02').to.token} {'x' * 3000}"
        error = {"jsonrpc": "2.0", "id": 1, "error": {"code": -32603, "message": words}}
        answer = {"jsonrpc": "2.0", "id": 1, "result": rig.choosing("P02", words)}
        rig.says("P02", json.dumps({"error": error, "choice": answer, "sentence": words}[said]).encode())
    (decided,) = rig.of(MatchDecided)
    record = rig.request(RecordRequest("R1M1", 1, of_manager()))
    assert isinstance(record, MatchRecord)
    faults = [one for one in record.events if "detail" in one]
    assert faults
    for detail in (*(one["detail"] for one in faults), *_texts(decided.game_result), decided.reason):
        assert len(detail) <= LONGEST_DETAIL
        assert detail.isprintable()
        assert "tok_REF01" not in detail


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _texts(one)
    elif isinstance(value, str):
        yield value
