"""What agents say at the terminal, by what happened to them."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec import structs

from league.agent.error_notes import ErrorNote
from league.events import AgentApplied, AgentStateChanged, Event, InvitationAnswered, MatchDecided, Registered
from league.features.lab.simulation.node import Node
from league.features.lab.simulation.runs import Plan
from league.features.lab.simulation.world import World
from league.hosting.narration import MANAGER, PLAYER, REFEREE, ErrorLines, Narrator, PlayerStates, Sentence
from league.protocol.message.exchanges import Role
from league.terminal.display import shown
from tests.support.referee_rig import Rig

SENTENCES: Mapping[Role, Mapping[type[Event], Sentence]] = {
    Role.MANAGER: MANAGER,
    Role.REFEREE: REFEREE,
    Role.PLAYER: PLAYER,
}


def played(seed: int, **plan: Any) -> World:
    world = World(Plan(**plan).settings(seed), seed, plan.get("faults", 0.0), outages=plan.get("outages", 0.0))
    world.run()
    return world


class Said(list[str]):
    """Lines without their colours."""

    def append(self, text: str) -> None:
        super().append(shown(text, io.StringIO()))


def lines(node: Node) -> list[str]:
    """What this node would have said: its journal is told to a machine, event by event."""
    machine, said = node._build(node, node.journal.secrets()), Said()
    narrator = Narrator(SENTENCES[node.role], say=said.append)
    for event in node.journal.events():
        machine.apply(event)
        narrator(machine, [event])()
    return said


def test_a_manager_tells_a_league_from_the_first_registration_to_the_champion() -> None:
    world = played(3, players=4, referees=1)
    said = lines(world.manager)
    assert [line for line in said if "registered" in line][-1].endswith(("(4 of 4)", "(1 of 1)"))
    begins = [line for line in said if "begins" in line]
    assert begins == [f"round {number} of 3 begins: 2 matches" for number in (1, 2, 3)]
    over = [line for line in said if "is over" in line]
    assert [line.partition(";")[0] for line in over[:3]] == [f"round {number} of 3 is over" for number in (1, 2, 3)]
    assert over[3].startswith("the league is over; the champion is P0")
    assert said.index("the league starts: 4 players, 3 rounds, 6 matches") < said.index(begins[0])


def test_a_referee_tells_each_of_its_matches_and_a_player_its_own() -> None:
    world = played(3, players=4, referees=1)
    (referee,) = world.referees
    results = [line for line in lines(referee) if line.startswith("R")]
    assert len(results) == 6
    for player in world.players:
        said = lines(player)
        assert said[0].startswith("registered as P0")
        assert len([line for line in said if ": you won" in line or ": you lost" in line or ": you drew" in line]) == 3
        assert said[-1].startswith("the league is over: you are number ")


def test_a_referee_shows_the_error_that_cost_a_match_in_the_players_own_words() -> None:
    rig = Rig().given().joins("P01")
    unknown = {"jsonrpc": "2.0", "id": 1, "error": {"code": -32601, "message": "Unknown:\nask for league.handle"}}
    while not rig.of(MatchDecided):
        while rig.asked("P02"):
            rig.says("P02", json.dumps(unknown).encode())
        rig.wait(1)
    line = REFEREE[MatchDecided](rig.desk, rig.decided)
    assert line.startswith("R1M1: Technical loss: P02 answered with an error; P02: answered ")
    assert 'with "-32601 Unknown: ask for league.handle"' in line
    assert rig.decided.reason == "Technical loss: P02 answered with an error"


def test_a_player_that_declines_names_the_game_and_how_to_add_it() -> None:
    world = played(3, players=2, referees=1)
    player = next(node for node in world.nodes.values() if node.role is Role.PLAYER)
    (first, *_) = (event for event in player.journal.events() if isinstance(event, InvitationAnswered))
    said = Said()
    narrator = Narrator(PLAYER, say=said.append)
    narrator(player.machine, [first, structs.replace(first, accepted=False, game_type="tic_tac_toe")])()
    (line,) = said
    assert line.startswith(f"{first.match_id}: declined, because this player does not play tic_tac_toe.")
    assert "games = ('tic_tac_toe',)" in line
    # What somebody else named is pasted into a shell.
    said.clear()
    narrator(player.machine, [structs.replace(first, accepted=False, game_type="x; rm -rf $HOME")])()
    assert said[0].endswith("--game 'x; rm -rf $HOME'")


@pytest.mark.parametrize("seed", [*range(10), *(pytest.param(seed, marks=pytest.mark.deep) for seed in range(10, 40))])
def test_there_is_a_sentence_for_whatever_happens_in_troubled_leagues(seed: int) -> None:
    world = played(seed, players=6, referees=2, faults=0.5, outages=0.5)
    for node in world.nodes.values():
        assert all(line and "\n" not in line for line in lines(node))


def test_who_registers_with_the_conformance_kit_is_told_that_its_matches_are_of_no_league() -> None:
    told = partial(PLAYER[Registered], SimpleNamespace(findings=""))
    member: dict[str, Any] = {"at": 0.0, "agent_id": "P01", "serial": 1, "derived_tokens": False}
    assert told(Registered(league_id="spring", **member)) == "registered as P01 in spring"
    assert "with the conformance kit" in told(Registered(league_id="conformance", **member))


def test_a_state_of_a_player_is_said_once_and_that_of_a_referee_each_time() -> None:
    manager: Any = played(1, players=2, referees=1).manager.machine
    said = PlayerStates()

    def told(agent_id: str) -> tuple[str, str]:
        missing = AgentStateChanged(at=0.0, agent_id=agent_id, state="SUSPENDED", why="test")
        return said(manager, missing), said(manager, structs.replace(missing, state="ACTIVE"))

    missed, back = told("P01")
    assert "lost two matches in a row by its own fault" in missed
    assert back.endswith(" is back")
    assert told("P01") == ("", "")
    assert all(told("P02"))
    assert all(told("REF01"))
    assert all(told("REF01"))


def test_an_applicant_is_named_with_the_command_that_lets_it_in() -> None:
    event = AgentApplied(
        at=0.0, applicant_id="A01", role="player", display_name="Ann", endpoint="http://h/mcp", origin="1.2.3.4"
    )
    said = Said()
    Narrator(MANAGER, lambda: "P01: ", said.append)(played(1, players=2, referees=1).manager.machine, [event])()
    assert said == ['P01: player "Ann" at http://h/mcp waits for approval: league approve A01']


def test_an_error_that_is_repeated_is_shown_in_full_once_and_then_counted() -> None:
    said: list[str] = []
    show = ErrorLines(said.append)
    for _ in range(100):
        show(ErrorNote("P01", "GAME_OVER", "E099", "my bug", "R1M1", is_answer=True))
    show(ErrorNote("P02", "GAME_OVER", "E099", "my bug", "R1M1", is_answer=True))
    for method in ("register_player", "handle_message"):
        show(ErrorNote("P03", "?", "E036", f"there is no method {method!r} here", is_ours=True))
    assert said.pop() == "refused a message from P03: E036 there is no method 'register_player' here"
    assert str(ErrorNote("P02", "?", "E036", "no", is_ours=True)) == "refused a message from P02: E036 no"
    first = "P01 answers GAME_OVER about R1M1 with my bug (E099)"
    assert said == [first, f"{first} (10 times by now)", f"{first} (100 times by now)", first.replace("P01", "P02")]
