"""Cheats inside a match, tried on real processes that share one address: peeking at a choice, answering for the
opponent, watching whether it has answered. And a player that lost its memory in a match plays on."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest

from league.cli.pages import Pages
from league.events import (
    AttemptFailed,
    ChoiceGiven,
    InvitationAnswered,
    MoveMade,
    PlayerDeviated,
    PlayerFaulted,
    ResultAccepted,
    WrongAnswer,
)
from tests.support.peer import VERBS, WATCHDOG_S, Peer, exchange
from tests.support.processes import Process, Processes, assert_kept
from tests.support.scripts import ABSENT, HONEST, MATCH_CALLS, Object, Reaction, on

HELD = Reaction(until="go")
"""The match stays open until the test lets it go on."""


def say(url: str, message: Object) -> tuple[str, bytes]:
    """The code of the error a message gets ("" for none), and the whole answer."""
    kind = message["message_type"]
    call = {"jsonrpc": "2.0", "id": 1, "method": VERBS.get(kind, kind), "params": message}
    _, _, body = asyncio.run(exchange(url, json.dumps(call).encode()))
    return json.loads(body).get("error", {}).get("data", {}).get("error_code", ""), body


def changed(message: Object, **fields: object) -> Object:
    return {name: value for name, value in {**message, **fields}.items() if value is not ABSENT}


def eventually(is_true: Callable[[], bool]) -> None:
    """Wait for it, under a watchdog."""
    until = time.monotonic() + WATCHDOG_S
    while not is_true():
        assert time.monotonic() < until
        time.sleep(0.05)


# --- peeking ----------------------------------------------------------------------------------------------------------


def peeks(cheat: Peer, honest: str, shown: str) -> Iterator[Object]:
    """What a cheat may send its opponent, with all the tokens it can have."""
    about = {"match_id": "R1M1", "player_id": honest, "sender": "referee:REF01", "conversation_id": "conv-r1m1-1"}
    envelope = {"protocol": "league.v2", "timestamp": "2025-06-01T10:00:00Z", "game_type": "even_odd", **about}
    seat = {"league_id": "any", "round_id": 1, "role_in_match": "PLAYER_A", "opponent_id": cheat.agent_id}
    context = {"opponent_id": cheat.agent_id, "round_id": 1}
    for token in (ABSENT, cheat.token, shown, "tok_REF01_invented"):
        for attempt in (ABSENT, 1, 2):
            yield changed({"message_type": "GAME_INVITATION", **envelope, **seat}, auth_token=token, attempt=attempt)
        asked = {"deadline": "2099-01-01T00:00:00Z", "context": context}
        yield changed({"message_type": "CHOOSE_PARITY_CALL", **envelope, **asked}, auth_token=token)


def assert_learns_nothing(cheat: Peer, player: Process, honest: str, shown: str) -> None:
    for message in peeks(cheat, honest, shown):
        code, body = say(player.endpoint, message)
        assert code == ("E012" if message.get("auth_token") else "E011"), (message, body)
        assert b"parity_choice" not in body


@pytest.mark.requirement("PLAYER.hears_its_referee_only")
def test_a_stranger_never_learns_a_choice(processes: Processes) -> None:
    manager = processes.manager(players=2)
    with Peer("Cheat", on("CHOOSE_PARITY_CALL", HELD)) as cheat:
        cheat.register(manager.endpoint)
        player = processes.players(manager, journal=processes.journal("player"))
        eventually(lambda: len(processes.members()) == 2)
        honest = processes.members()["player"]
        # The answer to its registration may still be on its way; until then it would play for anybody.
        eventually(lambda: say(player.endpoint, next(peeks(cheat, honest, "x")))[0] == "E011")
        assert_learns_nothing(cheat, player, honest, "tok_REF01_x")
        referee = processes.referee(manager)
        call = cheat.saw("CHOOSE_PARITY_CALL").message
        assert_learns_nothing(cheat, player, honest, call["auth_token"])
        eventually(lambda: any(one.player_id == honest for one in processes.events("referee", MoveMade)))
        assert_learns_nothing(cheat, player, honest, call["auth_token"])
        cheat.release("go")
        assert (player.wait(), referee.wait(), manager.stop()) == (0, 0, 0)
    (chosen,) = processes.events("player", ChoiceGiven)
    (invited,) = [one for one in processes.events("player", InvitationAnswered) if one.match_id == "R1M1"]
    (result,) = processes.events("manager", ResultAccepted)
    moves = {one.player_id: one.choice for one in processes.events("referee", MoveMade)}
    assert (moves[honest], invited.trusted, result.status in ("WIN", "DRAW")) == (chosen.choice, True, True)
    assert_kept(processes)


# --- answering for the opponent ---------------------------------------------------------------------------------------


def forgeries(cheat: Peer, victim: Peer, call: Object) -> Iterator[Object]:
    """Answers in the name of the victim, with all that the cheat can know."""
    answer = {
        **{name: call[name] for name in ("protocol", "timestamp", "match_id")},
        "sender": f"player:{victim.agent_id}",
        "player_id": victim.agent_id,
    }
    says: tuple[Object, ...] = (
        {"message_type": "CHOOSE_PARITY_RESPONSE", "parity_choice": "odd"},
        {"message_type": "CHOOSE_PARITY_RESPONSE", "parity_choice": "neither"},
        {"message_type": "GAME_JOIN_ACK", "accept": False, "arrival_timestamp": call["timestamp"]},
    )
    for said in says:
        for conversation in (call["conversation_id"], "conv-r1m1-1", "conv-r1m1-1-" + 32 * "0"):
            for token in (ABSENT, cheat.token, call["auth_token"], "tok_P01_invented"):
                yield changed({**answer, **said}, conversation_id=conversation, auth_token=token)


@pytest.mark.requirement("MATCH.own_posts_checked")
def test_nobody_answers_for_its_opponent_and_trying_costs_nobody_anything(processes: Processes) -> None:
    manager = processes.manager(players=2)
    held = on("CHOOSE_PARITY_CALL", HELD)
    with Peer("Victim", held, choice="even") as victim, Peer("Cheat", held, choice="odd") as cheat:
        for one in (victim, cheat):
            one.register(manager.endpoint)
        referee = processes.referee(manager)
        victim.saw("CHOOSE_PARITY_CALL")
        call = cheat.saw("CHOOSE_PARITY_CALL").message
        for forged in forgeries(cheat, victim, call):
            code, body = say(referee.endpoint, forged)
            assert code == "E012", (forged, body)
        victim.release("go")
        cheat.release("go")
        over = victim.saw("GAME_OVER").message
        assert over["game_result"]["choices"] == {victim.agent_id: "even", cheat.agent_id: "odd"}
        assert over["conversation_id"] != cheat.saw("GAME_OVER").message["conversation_id"]
        assert (referee.wait(), manager.stop()) == (0, 0)
    for costs in (AttemptFailed, WrongAnswer, PlayerFaulted, PlayerDeviated):
        assert processes.events("referee", costs) == []
    assert_kept(processes)


@pytest.mark.requirement("MATCH.takes_own_posts")
def test_who_repeats_the_conversation_may_answer_in_a_request_of_its_own_without_a_token(processes: Processes) -> None:
    manager = processes.manager(players=2)
    posted = Reaction(posted=True, fields={"auth_token": ABSENT})
    with Peer("Tokenless", on(MATCH_CALLS, posted)) as peer:
        peer.register(manager.endpoint)
        good, referee = processes.players(manager), processes.referee(manager)
        assert (good.wait(), referee.wait(), manager.stop()) == (0, 0, 0)
    for costs in (AttemptFailed, WrongAnswer, PlayerFaulted):
        assert processes.events("referee", costs) == []
    (result,) = processes.events("manager", ResultAccepted)
    assert result.status in ("WIN", "DRAW")


# --- watching ---------------------------------------------------------------------------------------------------------


def page(agent: Process, path: str) -> str:
    with closing(Pages(agent.endpoint)) as pages:
        return pages.text(path)


@pytest.mark.requirement("PLAYER.hides_that_it_answered")
@pytest.mark.requirement("MATCH.hides_who_answered")
def test_nothing_that_is_served_shows_that_a_player_has_answered_before_the_match_is_over(
    processes: Processes,
) -> None:
    manager = processes.manager(players=2, double=True)
    with Peer("Cheat", on("CHOOSE_PARITY_CALL", HONEST, HELD)) as cheat:
        cheat.register(manager.endpoint)
        player, referee = processes.players(manager), processes.referee(manager)
        cheat.saw("CHOOSE_PARITY_CALL", 2)
        honest = processes.members()["player"]
        eventually(lambda: [one.player_id for one in processes.events("referee", MoveMade)].count(honest) == 2)
        # One match is over, in the other the honest player has answered.
        shown = page(referee, "/metrics"), page(player, "/metrics")
        for text, event, seats in ((shown[0], "MoveMade", 2), (shown[1], "ChoiceGiven", 1)):
            assert f'league_events_total{{event="{event}"}} {seats}\n' in text
        assert 'league_calls_sent_total{message_type="CHOOSE_PARITY_CALL",outcome="answered"} 2\n' in shown[0]
        assert 'league_letters_received_total{message_type="CHOOSE_PARITY_CALL",outcome="ok"} 1\n' in shown[1]
        assert 'league_answer_seconds_count{message_type="CHOOSE_PARITY_CALL"} 1\n' in shown[1]
        state = asyncio.run(exchange(player.endpoint, _inquiry("get_player_state", {})))[2]
        assert json.loads(state)["result"]["state"] == "IN_MATCH"
        match = asyncio.run(exchange(referee.endpoint, _inquiry("get_match_state", {"match_id": "R2M1"})))[2]
        assert json.loads(match)["result"]["state"] == "COLLECTING_CHOICES"
        told = page(manager, "/api/matches/R2M1")
        assert json.loads(told)["match_id"] == "R2M1"
        assert "even" not in told.replace("even_odd", "").replace("event", "")
        assert "MoveMade" not in page(manager, "/metrics") + page(manager, "/api/agents") + told
        cheat.release("go")
        assert (player.wait(), referee.wait(), manager.stop()) == (0, 0, 0)


def _inquiry(method: str, params: dict[str, Any]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()


# --- a player that lost its memory ------------------------------------------------------------------------------------

THINKER = """
import threading

class Thinker:
    def choose(self, turn):
        print("thinking", flush=True)
        threading.Event().wait()
"""


@pytest.mark.requirement("PLAYER.answers_unknown_matches")
def test_a_player_that_was_killed_in_a_match_and_remembers_nothing_plays_on(processes: Processes) -> None:
    (processes.folder / "thinker.py").write_text(THINKER)
    manager = processes.manager(players=2)
    with Peer("Sam") as sam:
        sam.register(manager.endpoint)
        player = processes.players(manager, strategy="thinker:Thinker")
        referee = processes.referee(manager)
        player.said("thinking")
        player.kill()
        again = processes.players(manager, port=player.port)
        assert (again.wait(), referee.wait(), manager.stop()) == (0, 0, 0)
    (result,) = processes.events("manager", ResultAccepted)
    assert (result.attempt, result.status in ("WIN", "DRAW")) == (1, True)
    assert processes.events("referee", PlayerFaulted) == []
    assert processes.bugs == []
