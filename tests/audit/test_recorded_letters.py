"""Transcripts as recorded traffic: which answer belongs to which request, and which letters may be missing."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import permutations
from math import inf

import pytest

from league import events as e
from league.features.audit.promises import Evidence
from league.features.audit.promises.delivery import reused
from league.features.audit.promises.grounds.event_log import EventLog
from league.features.audit.promises.grounds.evidence import RecordedCall
from league.features.audit.promises.results import invented
from league.features.audit.recorded_letters import Span, Transcript, read_transcript, traffic_of
from league.storage.transcripts.transcript import LetterNote
from tests.support.homes import FileHome, Home, read, write
from tests.support.honest_league import honest_league
from tests.support.journals import Notices, entry, fast_folder

AGENTS = {"P01": "http://127.0.0.1:8101/mcp", "P02": "http://127.0.0.1:8102/mcp", "P03": "http://127.0.0.1:8103/mcp"}
REGISTER = "LEAGUE_REGISTER_REQUEST"


@pytest.fixture
def home() -> Iterator[Home]:
    with fast_folder() as folder:
        yield FileHome(folder)


def registered(agent_id: str) -> e.Event:
    return e.AgentRegistered(
        at=1.0,
        agent_id=agent_id,
        role="player",
        display_name=agent_id,
        version="1",
        endpoint=AGENTS[agent_id],
        origin="127.0.0.1",
        game_types=("even_odd",),
        capacity=1,
        serial=1,
        verify=agent_id,
    )


def request(at: float, agent_id: str) -> LetterNote:
    meta = {"contact_endpoint": AGENTS[agent_id]}
    message = {"message_type": REGISTER, "sender": f"player:{agent_id}", "conversation_id": "conv-register-1"}
    body = {"jsonrpc": "2.0", "id": 1, "method": "register_player", "params": {**message, "player_meta": meta}}
    return LetterNote(at, "in", "127.0.0.1", REGISTER, None, "request", "", json.dumps(body).encode())


def answer(at: float, agent_id: str) -> LetterNote:
    result = {"status": "ACCEPTED", "conversation_id": "conv-register-1", "player_id": agent_id}
    body = {"jsonrpc": "2.0", "id": 1, "result": {"message_type": "LEAGUE_REGISTER_RESPONSE", **result}}
    return LetterNote(at, "out", "127.0.0.1", REGISTER, None, "response", "200", json.dumps(body).encode())


def kept(home: Home, *lives: Sequence[LetterNote]) -> Transcript:
    """The transcript of a manager that was started once for each of these lists of letters."""
    for number, letters in enumerate(lives):
        notices = Notices()
        with write(home, notices, transcript="full") as journal:
            for letter in letters:
                journal.note(letter)
            journal.append(entry(number))
            notices.durable(1)
    with read(home) as journal:
        return read_transcript(journal, EventLog(map(registered, AGENTS)))


@pytest.mark.parametrize("order", list(permutations(AGENTS)))
def test_agents_that_register_at_once_with_the_same_id_are_told_apart(home: Home, order: Sequence[str]) -> None:
    requests = [request(float(at), agent_id) for at, agent_id in enumerate(AGENTS)]
    answers = [answer(10.0 + at, agent_id) for at, agent_id in enumerate(order)]
    again = [request(20.0, "P02"), answer(21.0, "P02")]
    transcript = kept(home, [*requests, *answers, *again])
    manager = EventLog(map(registered, AGENTS))
    traffic = traffic_of({"league_manager": transcript}, manager)
    assert list(reused(Evidence(manager=manager, traffic=traffic.calls))) == []


def test_an_id_that_went_to_a_second_agent_is_found(home: Home) -> None:
    letters = [request(1.0, "P01"), answer(2.0, "P01"), request(3.0, "P02"), answer(4.0, "P01")]
    manager = EventLog(map(registered, AGENTS))
    traffic = traffic_of({"league_manager": kept(home, letters)}, manager)
    (breach,) = reused(Evidence(manager=manager, traffic=traffic.calls))
    assert breach.detail == "P01 was given to a second agent"


def test_letters_may_be_missing_before_each_restart_and_at_the_end(home: Home) -> None:
    transcript = kept(home, [request(1.0, "P01"), answer(2.0, "P01")], [request(9.0, "P02"), answer(10.0, "P02")])
    assert transcript.ends == [Span(2.0, 9.0), Span(10.0, inf)]
    assert transcript.restarts == [9.0]


def test_letters_stay_in_order_if_the_clock_is_set_back_a_little_between_two_lives(home: Home) -> None:
    first = [request(1.0, "P01"), answer(2.0, "P01")]
    transcript = kept(home, first, [request(1.5, "P02"), answer(1.75, "P02")], [request(1.25, "P01")])
    assert transcript.gap == ""
    assert [exchange.request.at for exchange in transcript.exchanges] == [1.0, 2.0, 2.25]
    assert transcript.restarts == [2.0, 2.25]


def test_times_tell_nothing_if_the_clock_was_set_back_far(home: Home) -> None:
    transcript = kept(home, [request(9.0, "P01")], [request(7.0, "P01")])
    assert transcript.gap == "its clock was set back"


def test_a_report_that_a_killed_manager_did_not_note_is_no_breach_and_any_other_is() -> None:
    evidence = honest_league()
    result = next(event for event in evidence.manager if isinstance(event, e.ResultAccepted))

    def is_about_result(call: RecordedCall) -> bool:
        return call.kind == "MATCH_RESULT_REPORT" and call.message.get("match_id") == result.match_id

    traffic = [call for call in evidence.traffic or () if not is_about_result(call)]
    without = replace(evidence, traffic=traffic)
    assert [breach.detail for breach in invented(without)] == [
        f"no report from {result.referee_id} says what is stored of {result.match_id}"
    ]
    assert list(invented(replace(without, unnoted=[(result.at - 1, result.at + 1)]))) == []
    assert list(invented(replace(without, unnoted=[(result.at + 1, inf)])))
