"""Third-party referees under our manager: however they learn of their matches and whatever they call a result, every
match is decided, once, as it was played.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import ExitStack

import pytest

from league.events import DeviationRecorded, DispatchLearned, LeagueFinished, MatchLost, ResultAccepted
from tests.support.dialects import TOOLS
from tests.support.foreign_referees import REFEREES, ROWS, Referee
from tests.support.peer import Peer
from tests.support.processes import Processes
from tests.support.scripts import ABSENT, Reaction, on

ROUNDS = 3
ANNOUNCED = [name for name in ROWS if name.startswith("announced")]
GIVEN = [name for name in ROWS if "START_MATCH" in name or "start_match" in name]
ASSIGNED = [name for name in ROWS if "ASSIGNMENT" in name or "assign_match" in name]
POLLING = [name for name in ROWS if name.startswith("polls")]
REPORTING = [name for name in ROWS if name not in {*ANNOUNCED, *GIVEN, *ASSIGNED, *POLLING}]
WAYS = {
    "ROUND_ANNOUNCEMENT": ANNOUNCED,
    "START_MATCH": GIVEN,
    "MATCH_ASSIGNMENT": ASSIGNED,
    "get_assigned_matches": POLLING,
}


@pytest.fixture
def config(processes: Processes) -> str:
    """A manager that soon tries another way, and a league with room for all of them."""
    file = processes.folder / "league.toml"
    file.write_text("move_seconds = 2.0\nretry_delays_s = [0.0]\nmax_referees = 30\nstandings_interval_s = 0.2\n")
    return str(file)


def play(processes: Processes, config: str, names: Sequence[str], *, outbound: bool = False) -> dict[str, Referee]:
    """A league with these referees; every match of it must be decided as it was played."""
    players = 4 * len(names)
    manager = processes.manager(players=players, referees=len(names), rounds=ROUNDS, config=config)
    with ExitStack() as stack:
        referees = [stack.enter_context(REFEREES[name]()) for name in names]
        for referee in referees:
            referee.register(manager.endpoint)
        good = processes.players(manager, count=players, outbound=outbound)
        assert (good.wait(), manager.stop()) == (0, 0)
    results = {one.match_id: one for one in processes.events("manager", ResultAccepted)}
    assert len(results) == len(processes.events("manager", ResultAccepted)) == ROUNDS * players // 2
    assert {one.status for one in results.values()} <= {"WIN", "DRAW"}
    for referee in referees:
        assert_as_played(referee, results)
    assert processes.events("manager", MatchLost) == []
    assert len(processes.events("manager", LeagueFinished)) == 1
    assert processes.verified()["ok"]
    return {referee.agent_id: referee for referee in referees}


def assert_as_played(referee: Referee, results: dict[str, ResultAccepted]) -> None:
    mine = {one.match_id: one for one in results.values() if one.referee_id == referee.agent_id}
    played = {one.match.match_id: one for one in referee.outcomes}
    # A referee that asks for its matches goes on doing so when the manager stops, and may be cut off in a question.
    stumbles = [one for one in referee.stumbles if not isinstance(one, ConnectionRefusedError | ConnectionResetError)]
    assert (stumbles, referee.refused) == ([], []), referee.name
    assert len(referee.requests("LEAGUE_COMPLETED")) <= 1
    assert len(referee.outcomes) == len(played), f"{referee.name} played a match twice"
    assert mine, referee.name
    assert mine.keys() == played.keys(), referee.name
    for match_id, outcome in played.items():
        assert (mine[match_id].winner, mine[match_id].status) == (outcome.winner, outcome.status), referee.name
        due = 1 if outcome.status == "DRAW" else 0
        assert mine[match_id].points == {one: 3 if one == outcome.winner else due for one in outcome.match.players}


def test_they_call_players_behind_a_router_as_any_others(processes: Processes, config: str) -> None:
    play(processes, config, [ANNOUNCED[0], GIVEN[0], ASSIGNED[0], POLLING[0]], outbound=True)


def test_what_makes_a_referee_play_is_found_out_once_and_all_its_matches_are_decided(
    processes: Processes, config: str
) -> None:
    ways = {name: way for way, names in WAYS.items() for name in names}
    referees = play(processes, config, list(ways))
    learned = [(one.agent_id, one.method) for one in processes.events("manager", DispatchLearned)]
    assert sorted(learned) == sorted((referee_id, ways[one.name]) for referee_id, one in referees.items())


def test_a_result_in_other_words_is_understood_and_recorded(processes: Processes, config: str) -> None:
    referees = play(processes, config, REPORTING)
    recorded = {one.agent_id for one in processes.events("manager", DeviationRecorded)}
    for referee_id, referee in referees.items():
        winners = [bool(one.winner) for one in referee.outcomes]
        could_deviate = {"no status": False, "a win is worth 2": any(winners)}.get(referee.name, True)
        if could_deviate and ("draw" not in referee.name or not all(winners)):
            assert referee_id in recorded, referee.name


def test_what_our_referee_let_pass_of_a_player_shows_with_the_agents_and_in_the_explanation(
    processes: Processes,
) -> None:
    manager = processes.manager(players=2)
    joins_otherwise = on("GAME_INVITATION", Reaction(fields={"accept": ABSENT, "accepted": True}))
    with Peer("Otherwise", joins_otherwise, convention=TOOLS) as peer:
        peer.register(manager.endpoint)
        referee, good = processes.referee(manager), processes.players(manager)
        assert (referee.wait(), good.wait(), manager.stop()) == (0, 0, 0)
    shown = json.loads(processes.run("agents", "--json", "--journal", processes.journal("manager")).stdout)["agents"]
    row = next(one for one in shown if one["display_name"] == "Otherwise")
    assert row["convention"] == "TOOLS"
    assert {"code": "E003", "requirement": "GAME_JOIN_ACK.accept"} in row["deviations"]
    told = processes.run("explain", "R1M1", "--journal", processes.journal("manager")).stdout
    assert f"On record against {row['agent_id']}" in told
    assert "GAME_JOIN_ACK.accept" in told
