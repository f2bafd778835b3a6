"""Those who pose as others to a real manager: they change nothing, take nothing from anybody, and are seen."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from league.events import AgentRegistered, IdentityContested, MatchAssigned, ResultAccepted
from tests.support.peer import Peer
from tests.support.processes import Process, Processes, assert_kept
from tests.support.scripts import HONEST, Object, Reaction, on

SCALE = 10
HELD = on("CHOOSE_PARITY_CALL", Reaction(until="go"), HONEST)


def report(players: tuple[str, str], **changed: Any) -> Object:
    """What somebody invents: the first player won R1M1."""
    a, b = players
    return {
        "message_type": "MATCH_RESULT_REPORT",
        "league_id": "cup",
        "round_id": 1,
        "match_id": "R1M1",
        "game_type": "even_odd",
        "attempt": 1,
        "result": {
            "winner": a,
            "score": {a: 3, b: 0},
            "details": {"drawn_number": 4, "choices": {a: "even", b: "odd"}, "status": "WIN"},
        },
        **changed,
    }


def code_of(answer: Object) -> str:
    """The error of an answer; "" if there is none."""
    error = answer.get("error")
    refused = error["data"] if error else answer.get("result", {})
    return str(refused.get("error_code") or "")


def agents(processes: Processes, manager: Process) -> Any:
    return json.loads(processes.run("agents", "--json", "--manager", manager.endpoint).stdout)


@pytest.mark.requirement("REGISTER.referee_proves_itself")
@pytest.mark.requirement("TOKEN.stolen")
def test_who_registers_as_the_referee_of_a_match_cannot_report_it(processes: Processes) -> None:
    with Peer("Sam", HELD) as sam, Peer("Tom") as tom, Peer("referee", role="referee") as impostor:
        manager = processes.manager(players=2, league_id="cup")
        sam.register(manager.endpoint)
        tom.register(manager.endpoint)
        referee = processes.referee(manager, time_scale=SCALE)
        called = sam.saw("CHOOSE_PARITY_CALL")
        refused = impostor.apply(manager.endpoint, contact_endpoint=referee.endpoint)
        assert (code_of(refused), refused["result"].get("auth_token")) == ("E043", None)
        players = (sam.agent_id, tom.agent_id)
        impostor.agent_id = "REF01"
        for token, code in (("", "E011"), ("tok_REF01_guessed", "E012"), (called.message["auth_token"], "E012")):
            impostor.token = token
            assert code_of(impostor.call(manager.endpoint, report(players))) == code
        sam.release("go")
        sam.saw("LEAGUE_COMPLETED")
        shown = agents(processes, manager)
        (stolen,) = (one for one in shown["refused"] if one["request"] == "token")
        assert "showed the token that REF01 shows P01 in R1M1" in stolen["detail"]
        (real,) = (one for one in shown["agents"] if one["agent_id"] == "REF01")
        assert "without its token" in real["contested"][0]
        assert manager.said("two agents seem to go by the name of REF01")
        assert (referee.wait(), manager.stop()) == (0, 0)
    (result,) = processes.events("manager", ResultAccepted)
    # Nothing that the impostor sent is in it; Sam and Tom sign nothing.
    assert result.attempt == 1
    assert_kept(processes)


@pytest.mark.requirement("REGISTER.guarded_referees")
def test_a_stranger_that_registers_as_referee_during_the_league_waits_for_the_operator(processes: Processes) -> None:
    with Peer("Sam", HELD) as sam, Peer("Tom") as tom, Peer("Rogue", role="referee") as rogue:
        manager = processes.manager(players=2, league_id="cup")
        [place] = manager.said("the enrolment key is kept in ")
        enrolment_key = Path(processes.folder, place.partition(", ")[0]).read_text().strip()
        assert enrolment_key not in manager.output, "what is not a terminal may be a log"
        sam.register(manager.endpoint)
        tom.register(manager.endpoint)
        referee = processes.referee(manager, time_scale=SCALE)
        sam.saw("CHOOSE_PARITY_CALL")
        for key in ({}, {"enrolment_key": "sesame"}):
            refused = rogue.apply(manager.endpoint, **key)
            assert (code_of(refused), refused["result"]["context"]["pending"]) == ("E043", True)
        assert [one["display_name"] for one in agents(processes, manager)["applicants"]] == ["Rogue"]
        # A second one of ours, started beside the first, finds the key.
        helper = processes.referee(manager, "helper", time_scale=SCALE)
        helper.said("registered as ")
        sam.release("go")
        sam.saw("LEAGUE_COMPLETED")
        assert (referee.wait(), helper.wait(), manager.stop()) == (0, 0, 0)
        assert rogue.received == []
    assert {one.referee_id for one in processes.events("manager", MatchAssigned)} <= {"REF01", "REF02"}
    assert {one.display_name for one in processes.events("manager", AgentRegistered)} == {
        "Sam",
        "Tom",
        "referee",
        "helper",
    }
    file = processes.folder / "enrolment-key"
    assert file.stat().st_mode & 0o777 == 0o600
    assert_kept(processes)


@pytest.mark.requirement("TOKEN.never_locked_out")
def test_who_keeps_registering_as_a_player_does_not_lock_it_out(processes: Processes) -> None:
    with Peer("Sam", HELD) as sam, Peer("Tom") as tom, Peer("Ann") as impostor:
        manager = processes.manager(players=4, league_id="cup")
        ann = processes.players(manager, "Ann", time_scale=SCALE)
        bo = processes.players(manager, "Bo", time_scale=SCALE)
        sam.register(manager.endpoint)
        tom.register(manager.endpoint)
        referee = processes.referee(manager, time_scale=SCALE)
        sam.saw("CHOOSE_PARITY_CALL")
        while not sam.requests("LEAGUE_COMPLETED"):
            impostor.apply(manager.endpoint, contact_endpoint=ann.endpoint)
            query = {"message_type": "LEAGUE_QUERY", "league_id": "cup", "query_type": "GET_STATUS", "query_params": {}}
            assert code_of(impostor.call(manager.endpoint, query)) in ("", "E010")
            sam.release("go")
        assert impostor.agent_id == processes.members()["Ann"]
        assert (ann.wait(), bo.wait(), referee.wait(), manager.stop()) == (0, 0, 0, 0)
    results = processes.events("manager", ResultAccepted)
    assert len(results) == 6
    assert [one.match_id for one in results if one.status == "TECHNICAL_LOSS"] == []
    contested = processes.events("manager", IdentityContested)
    assert "unknown token" in {one.sign for one in contested if one.agent_id == processes.members()["Ann"]}
    assert_kept(processes)


def test_a_report_that_is_sent_again_changes_nothing(processes: Processes) -> None:
    with Peer("Sam") as sam, Peer("Tom") as tom, Peer("Whistle", role="referee") as whistle, Peer("Eve") as eve:
        manager = processes.manager(players=2, league_id="cup")
        for one in (sam, tom, whistle):
            one.register(manager.endpoint)
        whistle.saw("ROUND_ANNOUNCEMENT")
        players = (sam.agent_id, tom.agent_id)
        first, other = report(players), report(players)
        other["result"] = {**other["result"], "winner": players[1], "score": {players[0]: 0, players[1]: 3}}
        other["result"]["details"] = {
            "drawn_number": 5,
            "choices": first["result"]["details"]["choices"],
            "status": "WIN",
        }
        assert code_of(whistle.call(manager.endpoint, first)) == ""
        sam.saw("LEAGUE_COMPLETED")
        assert [code_of(whistle.call(manager.endpoint, one)) for one in (first, other)] == ["E017", "E040"]
        order = ("replay-match", "R1M1", "--manager", manager.endpoint, "--state", str(processes.folder))
        assert processes.run(*order).returncode == 0
        whistle.saw("ROUND_ANNOUNCEMENT", 2)
        assert code_of(whistle.call(manager.endpoint, first)) == "E016"
        eve.role, eve.agent_id = "referee", whistle.agent_id
        assert code_of(eve.call(manager.endpoint, report(players, attempt=2))) == "E011"
        assert code_of(whistle.call(manager.endpoint, {**other, "attempt": 2})) == ""
        sam.saw("LEAGUE_COMPLETED", 2)
        shown = json.loads(processes.run("match", "R1M1", "--json", "--manager", manager.endpoint).stdout)
        assert (shown["winner"], shown["attempt"], shown["evidence"]) == (players[1], 2, "by_referee")
        assert "1 result by the referee's word" in processes.run("standings", "--manager", manager.endpoint).stdout
        assert manager.stop() == 0
    assert [(one.attempt, one.winner) for one in processes.events("manager", ResultAccepted)] == [
        (1, players[0]),
        (2, players[1]),
    ]
    assert "by the referee's word" in processes.run("verify", processes.folder).stdout
