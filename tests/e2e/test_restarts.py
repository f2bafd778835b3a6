"""Processes that are killed and come back: nothing that was acknowledged is lost, every match has one result, and
everybody can be stopped at any time. Kills at moments of chance print their seed; `KILL_SEED=N` repeats them."""

from __future__ import annotations

import os
import random
import threading
from collections import Counter
from itertools import combinations
from pathlib import Path

import pytest

from league.events import (
    AgentMoved,
    AgentRegistered,
    Event,
    LeagueFinished,
    NumberDrawn,
    PlayerFaulted,
    Registered,
    ResultAccepted,
)
from league.storage.reading import open_for_reading
from tests.support.http_wire import free_port
from tests.support.peer import Peer
from tests.support.processes import Processes, assert_kept
from tests.support.scripts import BUSY, HANG, HONEST, always, held, on

PLAYERS = 4
SCALE = 10
STOPS_WITHIN_S = 5.0
"""A promise to people, not a watchdog."""


def everything(journal: Path) -> list[Event]:
    with open_for_reading(journal) as reader:
        return list(reader.events())


class League:
    """A manager, a referee and three players as processes, and Sam."""

    def __init__(self, processes: Processes, sam: Peer, scale: int = SCALE) -> None:
        self.processes = processes
        self.scale = scale
        # Nobody else gets these ports while a process is away.
        self.manager = processes.manager(players=PLAYERS, port=free_port())
        self.endpoint = self.manager.endpoint
        sam.register(self.endpoint)
        self.players = processes.players(self.endpoint, count=PLAYERS - 1)
        self.referee = processes.referee(self.endpoint, time_scale=scale, port=free_port())

    def restart(self, *roles: str) -> None:
        """Kill all of them on the spot, then start them again where they were. All their journals held is kept."""
        names = {"manager": "manager", "referee": "referee"}
        ports = {role: getattr(self, role).port for role in roles}
        for role in roles:
            getattr(self, role).kill()
        before = {role: everything(self.processes.journal(names[role])) for role in roles}
        if "manager" in roles:
            self.manager = self.processes.manager(players=PLAYERS, port=ports["manager"])
        if "referee" in roles:
            self.referee = self.processes.referee(self.endpoint, time_scale=self.scale, port=ports["referee"])
        for role in roles:
            after = everything(self.processes.journal(names[role]))
            assert after[: len(before[role])] == before[role]

    def ends_well(self) -> None:
        """Everybody heard of the end; one result a match, by play alone; one draw an attempt; no second membership."""
        assert (self.players.wait(), self.referee.wait(), self.manager.stop()) == (0, 0, 0)
        results = self.processes.events("manager", ResultAccepted)
        assert Counter(one.match_id for one in results).most_common(1)[0][1] == 1
        assert len(results) == len(list(combinations(range(PLAYERS), 2)))
        assert len(self.processes.events("manager", LeagueFinished)) == 1
        assert len(self.processes.events("manager", AgentRegistered)) == PLAYERS + 1
        assert self.processes.events("referee", PlayerFaulted) == []
        draws = Counter((one.match_id, one.attempt) for one in self.processes.events("referee", NumberDrawn))
        assert set(draws.values()) == {1}
        assert_kept(self.processes)


MOMENTS = [
    ("manager", "ROUND_ANNOUNCEMENT", 2),
    ("manager", "GAME_INVITATION", 1),
    ("manager", "CHOOSE_PARITY_CALL", 2),
    ("manager", "LEAGUE_STANDINGS_UPDATE", 1),
    ("manager", "ROUND_COMPLETED", 3),
    ("manager", "LEAGUE_COMPLETED", 1),
    ("referee", "ROUND_ANNOUNCEMENT", 2),
    ("referee", "GAME_INVITATION", 3),
    ("referee", "CHOOSE_PARITY_CALL", 1),
    ("referee", "GAME_OVER", 2),
    ("manager referee", "CHOOSE_PARITY_CALL", 3),
    ("manager referee", "GAME_OVER", 1),
]


@pytest.mark.requirement("KEEPING.acknowledged_survives")
@pytest.mark.parametrize(("killed", "kind", "nth"), MOMENTS)
def test_a_league_survives_the_death_of_its_processes(processes: Processes, killed: str, kind: str, nth: int) -> None:
    with Peer("Sam", held(kind, nth)) as sam:
        league = League(processes, sam)
        sam.saw(kind, nth)
        league.restart(*killed.split())
        sam.release("go")
        league.ends_well()


# --- at moments of chance ---------------------------------------------------------------------------------------------

LEAGUES, KILLS = 5, 5
"""25 kills in every run."""
DEEP_LEAGUES = 200
"""1,000 in the deep one."""
LAST_MOMENT = 16
"""Sam gets at least so many requests in a league, and more when somebody is killed."""
LONGEST_WAIT_S = 0.05


def kill_at_chance(processes: Processes, seed: int) -> None:
    """A league whose manager and referee are killed again and again: when Sam has seen so many requests, and a while
    after that."""
    chance = random.Random(seed)
    moments = sorted(chance.sample(range(1, LAST_MOMENT), KILLS))
    with Peer("Sam") as sam:
        league = League(processes, sam, scale=SCALE // 2)
        for number in moments:
            killed, wait_s = chance.choice(("manager", "referee", "manager referee")), chance.uniform(0, LONGEST_WAIT_S)
            sam.got(number)
            threading.Event().wait(wait_s)
            print(f"KILL_SEED={seed}: {killed} killed {wait_s * 1000:.0f} ms after Sam's request {number}")
            league.restart(*killed.split())
        league.ends_well()


def seed_of(number: int) -> int:
    """The seed of a league of kills: the one that is to be repeated, or a new one."""
    given = os.environ.get("KILL_SEED")
    return int(given) if given else random.SystemRandom().randrange(2**31) + number


@pytest.mark.requirement("KEEPING.acknowledged_survives")
@pytest.mark.parametrize("number", range(LEAGUES))
def test_a_league_survives_five_kills_at_moments_of_chance(processes: Processes, number: int) -> None:
    kill_at_chance(processes, seed_of(number))


@pytest.mark.deep
@pytest.mark.parametrize("number", range(DEEP_LEAGUES))
def test_two_hundred_leagues_survive_five_kills_each(processes: Processes, number: int) -> None:
    kill_at_chance(processes, seed_of(number))


# --- memberships ------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("KEEPING.acknowledged_survives")
def test_who_was_registered_stays_registered(processes: Processes) -> None:
    with Peer("Sam") as sam, Peer("Tom") as tom:
        manager = processes.manager(players=2)
        sam.register(manager.endpoint)
        tom.register(manager.endpoint)
        manager.kill()
        again = processes.manager(players=2, port=manager.port)
        referee = processes.referee(again, time_scale=SCALE)
        for one in (sam, tom):
            assert one.saw("LEAGUE_COMPLETED").message["total_matches"] == 1
        assert (referee.wait(), again.stop()) == (0, 0)
    registered = processes.events("manager", AgentRegistered)
    assert [(one.display_name, one.serial) for one in registered] == [("Sam", 1), ("Tom", 1), ("referee", 1)]
    assert_kept(processes)


def test_a_referee_that_forgot_everything_is_given_its_matches_anew(processes: Processes) -> None:
    with Peer("Sam", held("CHOOSE_PARITY_CALL", 1)) as sam:
        manager = processes.manager(players=2)
        sam.register(manager.endpoint)
        player = processes.players(manager)
        forgetful = processes.referee(manager, time_scale=SCALE)
        sam.saw("CHOOSE_PARITY_CALL")
        forgetful.kill()
        for file in processes.folder.glob("referee.db*"):
            file.unlink()
        again = processes.referee(manager, time_scale=SCALE, port=forgetful.port)
        sam.release("go")
        assert (player.wait(), again.wait(), manager.stop()) == (0, 0, 0)
    (result,) = processes.events("manager", ResultAccepted)
    assert (result.attempt, result.status == "TECHNICAL_LOSS") == (2, False)
    assert_kept(processes)


@pytest.mark.requirement("REGISTER.retries")
def test_agents_wait_for_a_manager_that_comes_later(processes: Processes) -> None:
    with Peer("Not a manager yet", always(BUSY)) as early:
        referee = processes.referee(early.endpoint, time_scale=SCALE)
        players = processes.players(early.endpoint, count=2, time_scale=SCALE)
        early.saw("REFEREE_REGISTER_REQUEST")
        early.saw("LEAGUE_REGISTER_REQUEST", 2)
    manager = processes.manager(players=2, port=early.port)
    assert (players.wait(), referee.wait(), manager.stop()) == (0, 0, 0)
    assert len(processes.events("manager", ResultAccepted)) == 1


# --- stopping ---------------------------------------------------------------------------------------------------------


def assert_all_stop(processes: Processes) -> None:
    """Everybody is asked at once, and ends cleanly in time."""
    for one in processes.started:
        one.terminate()
    assert [one.wait(STOPS_WITHIN_S) for one in processes.started] == [0] * len(processes.started)
    assert "Traceback" not in "".join(one.output for one in processes.started)


def test_agents_without_a_manager_can_be_stopped(processes: Processes) -> None:
    with Peer("Not a manager yet", always(HANG)) as early:
        processes.referee(early.endpoint)
        processes.players(early.endpoint, count=2)
        early.saw("REFEREE_REGISTER_REQUEST")
        early.saw("LEAGUE_REGISTER_REQUEST", 2)
        assert_all_stop(processes)


@pytest.mark.parametrize(("kind", "nth"), [("ping", 1), ("ROUND_ANNOUNCEMENT", 1), ("GAME_INVITATION", 2)])
def test_a_league_can_be_stopped_while_somebody_is_waited_for(processes: Processes, kind: str, nth: int) -> None:
    with Peer("Sam", on(kind, *[HONEST] * (nth - 1), HANG)) as sam:
        League(processes, sam)
        sam.saw(kind, nth)
        assert_all_stop(processes)


STRATEGY = """
import threading

class Thinker:
    def choose(self, turn):
        print("thinking", flush=True)
        threading.Event().wait()
"""


def test_a_player_can_be_stopped_while_its_strategy_thinks(processes: Processes) -> None:
    (processes.folder / "thinker.py").write_text(STRATEGY)
    manager = processes.manager(players=4)
    thinkers = processes.players(manager, count=4, strategy="thinker:Thinker")
    processes.referee(manager)
    thinkers.said("thinking", 4)
    assert_all_stop(processes)


def test_a_manager_can_be_stopped_after_the_end(processes: Processes) -> None:
    with Peer("Sam", on("LEAGUE_COMPLETED", HANG)) as sam:
        league = League(processes, sam)
        sam.saw("LEAGUE_COMPLETED")
        assert (league.players.wait(), league.referee.wait()) == (0, 0)
        assert_all_stop(processes)


@pytest.mark.requirement("REGISTER.moves")
def test_a_player_that_comes_back_at_another_port_is_moved_with_its_token_and_told_how_without(
    processes: Processes,
) -> None:
    manager = processes.manager(players=2)
    ann = processes.players(manager, "Ann", journal=processes.journal("ann"), time_scale=SCALE)
    while not processes.events("ann", Registered):
        assert ann.is_running
        threading.Event().wait(0.05)  # nobody is told when it is on the disk
    ann.kill()
    stranger = processes.players(manager, "Ann", port=0, time_scale=SCALE)
    assert stranger.wait() == 1
    (told,) = stranger.said(f"the manager refused {stranger.endpoint}: E022 ")
    assert f"this name is that of P01, at {ann.endpoint}" in told
    back = processes.players(manager, "Ann", journal=processes.journal("ann"), port=0, time_scale=SCALE)
    assert back.endpoint != ann.endpoint
    manager.said(f'player P01 "Ann" is at {back.endpoint} now')
    bob = processes.players(manager, "Bob", port=0, time_scale=SCALE)
    referee = processes.referee(manager, port=0, time_scale=SCALE)
    assert (back.wait(), bob.wait(), referee.wait(), manager.stop()) == (0, 0, 0, 0)
    (result,) = processes.events("manager", ResultAccepted)
    assert result.status in ("WIN", "DRAW")
    assert [one.endpoint for one in processes.events("manager", AgentMoved)] == [back.endpoint]
