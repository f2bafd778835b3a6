"""Whole leagues in virtual time with players that want to be called in other words: the simulator runs the same words
as the shell (names of methods and tools, sessions, paths, event streams)."""

from __future__ import annotations

import pytest

from league.features.lab.simulation.foreign import ForeignServer
from league.features.lab.simulation.runs import Plan
from league.features.lab.simulation.world import World
from league.protocol.conventions import Convention


def world_of(seed: int, convention: Convention | None, server: ForeignServer) -> World:
    """A league whose first player has these habits, and everybody else none."""
    world = Plan(4, 2, faults=0.0).world(seed)
    world.players[0].habits.speaks = convention
    world.players[0].habits.server = server
    return world


def lost(world: World) -> list[str]:
    """Technical losses of the first player."""
    standing = world.league.ledger.roster.members["P01"]
    return [standing.agent_id] * standing.attendance.technical_losses


@pytest.mark.requirement("DIALECT.finds_out")
@pytest.mark.parametrize("convention", [None, *Convention])
@pytest.mark.parametrize("seed", [1, 2])
def test_nobody_loses_for_the_words_it_knows(seed: int, convention: Convention | None) -> None:
    world = world_of(seed, convention, ForeignServer(renames=True, wants_session=True, streams=True))
    assert world.run().finished
    assert lost(world) == []


def test_a_session_is_kept_and_opened_anew_when_it_ended_with_the_process() -> None:
    server = ForeignServer(wants_session=True)
    assert world_of(3, Convention.TOOLS, server).run().finished
    # One session for each process that calls it: the manager, and the referees of its matches.
    kept = server.opened
    assert 2 <= kept <= 3
    restarted = ForeignServer(wants_session=True)
    world = world_of(3, Convention.TOOLS, restarted)

    def kill_in_session() -> None:
        if restarted.opened == kept:
            world.players[0].kill()
        else:
            world.agenda.after(0.1, kill_in_session)

    kill_in_session()
    assert world.run().finished
    assert restarted.opened > kept


@pytest.mark.requirement("DIALECT.paths")
def test_players_without_a_path_take_part() -> None:
    plan = Plan(12, 2, faults=0.0, dialects=1.0)
    world = plan.world(7)
    pathless = [player for player in world.players if not player.endpoint.endswith("/mcp")]
    assert 0 < len(pathless) < len(world.players)
    assert world.run().finished
    members = world.league.ledger.roster.members.values()
    assert {member.attendance.technical_losses for member in members} == {0}


def test_every_habit_is_drawn() -> None:
    world = Plan(30, 2, faults=0.0, dialects=1.0).world(7)
    servers = [player.habits.server for player in world.players if player.habits.server is not None]
    for habit in ("renames", "wants_session", "has_no_path", "streams"):
        assert {getattr(server, habit) for server in servers} == {True, False}
    assert all(player.habits.server is None for player in Plan(30, 2).world(7).players)
