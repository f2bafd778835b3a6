"""What everybody says in a whole simulated league, judged message by message."""

from __future__ import annotations

import json
from collections import defaultdict
from functools import cache

import pytest

from league import letters
from league.events import LeagueSettings
from league.features.audit.promises.grounds.evidence import Evidence, RecordedCall
from league.features.lab.simulation.world import World
from league.machine import Address, Ping
from league.protocol.message.envelope import unseal
from league.protocol.message.messages import LeagueQuery
from league.protocol.signing.tokens import mint
from tests.support.said import unsaid


@cache
def calm_league() -> Evidence:
    """Four players, two referees, nothing goes wrong."""
    settings = LeagueSettings(league_id="calm", players=4, referees=2)
    return World(settings, seed=1, rate=0.0).run()


def messages() -> list[RecordedCall]:
    return [one for one in calm_league().traffic or () if one.kind]


def test_everything_we_say_is_right_in_strict() -> None:
    wrong = {one.kind: unseal(one.message).violations for one in messages() if unseal(one.message).violations}
    assert wrong == {}


def test_everything_we_answer_is_right_in_strict() -> None:
    answers = [one.answer for one in messages() if one.answer and "message_type" in one.answer]
    assert answers
    assert [unseal(answer).violations for answer in answers if unseal(answer).violations] == []


def test_we_say_the_union_of_all_documents() -> None:
    missing: dict[str | None, set[str]] = defaultdict(set)
    for one in messages():
        for said in (one.message, one.answer or {}):
            read = unseal(said)
            if read.message is not None:
                # The token is spliced in on the way out, so it is in the bytes and not in the class's own fields.
                missing[read.message_type] |= set(unsaid(read.message)) - {"auth_token"}
    assert {kind: fields for kind, fields in missing.items() if fields} == {}


@pytest.mark.requirement("RPC.integer_ids")
def test_our_calls_carry_whole_numbers_as_id() -> None:
    assert json.loads(letters.write_call(7, Ping(), b"", Address("P01", "http://x")))["id"] == 7


@pytest.mark.requirement("CONVERSATION.one_per_player")
def test_all_messages_of_an_attempt_to_a_player_have_one_conversation_and_nobody_else_is_told_it() -> None:
    conversations = defaultdict(set)
    for one in messages():
        if one.kind in ("GAME_INVITATION", "CHOOSE_PARITY_CALL", "GAME_OVER", "GAME_ERROR", "MATCH_RESULT_REPORT"):
            conversations[one.message["match_id"], one.receiver_node].add(one.message["conversation_id"])
    assert {len(found) for found in conversations.values()} == {1}
    assert len(conversations) == len({next(iter(found)) for found in conversations.values()})


@pytest.mark.requirement("REGISTER.in_time")
def test_registrations_are_answered_within_ten_seconds() -> None:
    times = [
        one.answered_at - one.sent_at
        for one in messages()
        if one.kind.endswith("REGISTER_REQUEST") and one.answered_at is not None
    ]
    assert len(times) == 6
    assert max(times) < 10


@pytest.mark.requirement("TOKEN.unguessable")
def test_no_two_registrations_get_the_same_token() -> None:
    given = [one.answer["auth_token"] for one in messages() if one.kind.endswith("REGISTER_REQUEST") and one.answer]
    assert len(set(given)) == len(given) == 6
    assert all(len(token.split("_", 2)[2]) >= 22 for token in given)
    assert mint("P01", bytes(32)) != mint("P01", b"\1" + bytes(31))


def updates_by_receiver() -> dict[str, list[RecordedCall]]:
    found = defaultdict(list)
    for one in messages():
        if one.kind == "LEAGUE_STANDINGS_UPDATE":
            found[one.receiver_node].append(one)
    return found


@pytest.mark.requirement("STANDINGS.never_backwards")
def test_a_later_table_never_shows_fewer_results() -> None:
    assert len(updates_by_receiver()) == 4
    for calls in updates_by_receiver().values():
        versions = [one.message["version"] for one in calls]
        played = [sum(row["played"] for row in one.message["standings"]) for one in calls]
        assert versions == sorted(versions)
        assert played == sorted(played)


@pytest.mark.requirement("STANDINGS.newest_round")
def test_a_table_names_the_round_of_its_newest_result() -> None:
    for calls in updates_by_receiver().values():
        for one in calls:
            played = sum(row["played"] for row in one.message["standings"]) // 2
            assert one.message["round_id"] == (played + 1) // 2


@pytest.mark.requirement("BROADCAST.order")
def test_round_completed_follows_the_final_table_of_its_round() -> None:
    for node, calls in updates_by_receiver().items():
        completed = [one for one in messages() if one.kind == "ROUND_COMPLETED" and one.receiver_node == node]
        for one in completed:
            results = 2 * one.message["round_id"]
            final = [
                table for table in calls if sum(row["played"] for row in table.message["standings"]) >= 2 * results
            ]
            assert any(table.answered_at is not None and table.answered_at <= one.sent_at for table in final)


@pytest.mark.requirement("QUERY.in_time")
@pytest.mark.requirement("MANAGER.ignores_unknown_fields")
def test_a_manager_answers_a_query_with_fields_it_does_not_know_as_if_they_were_not_there() -> None:
    query = {
        "protocol": "league.v2",
        "message_type": "LEAGUE_QUERY",
        "sender": "player:P01",
        "timestamp": "2025-01-15T10:30:00Z",
        "conversation_id": "conv-1",
        "league_id": "calm",
        "query_type": "GET_STATUS",
    }
    plain, odd = unseal(query).open(), unseal({**query, "mood": {"good": True}, "query_params": {"x": 1}}).open()
    assert isinstance(plain, LeagueQuery)
    assert isinstance(odd, LeagueQuery)
    assert (odd.query_type, odd.league_id) == (plain.query_type, plain.league_id)


@pytest.mark.requirement("HTTP.status_200")
def test_a_refused_request_is_still_an_answered_one() -> None:
    from league.agent.agent import _response
    from league.protocol.errors import ERRORS, PeerError

    statuses = {code: _response(b"", PeerError(code, "")).status for code in ERRORS}
    later = {"E010": 429, "E041": 503, "E042": 503, "E034": 400, "E035": 400, "E037": 413}
    assert {code: status for code, status in statuses.items() if status != 200} == later
