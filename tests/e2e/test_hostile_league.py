"""More than forty players that want to harm a league, in one league with three honest ones: who is honest loses nothing
by it, the league ends, and nothing grows without bound."""

from __future__ import annotations

import threading
import time
from collections import Counter
from contextlib import ExitStack
from itertools import combinations

import pytest

from league.events import (
    AgentRegistered,
    IdentityContested,
    LeagueFinished,
    RequestRefused,
    ResultAccepted,
    TokenRenewed,
)
from tests.support.hostile_players import DEEDS, SCRIPTS, HostilePlayer, Victims, hostile_players
from tests.support.processes import WATCHDOG_S, Process, Processes, assert_kept

SCALE = 6
"""The referees' time: a join may take most of a second, four times, so that an honest player can answer on a busy
machine, next to sixty others."""
SEATS = (0, 3, 5)
"""Whoever registers in these places meets each other within so many rounds."""
ROUNDS = 4
FEWEST = 40
TOTAL = len(SEATS) + len(SCRIPTS) + len(DEEDS) + 6
MOST_MEMORY_KB = 400_000
MOST_JOURNAL = 20_000_000
MOST_NOTES = 100
MOST_NOTES_OF_MATCH = 5


def wait_for_member(processes: Processes, name: str) -> None:
    until = time.monotonic() + WATCHDOG_S
    while name not in processes.members():
        assert time.monotonic() < until, f"{name} did not register"
        threading.Event().wait(0.02)


def honest_player(processes: Processes, manager: Process, number: int) -> Process:
    player = processes.players(manager, f"honest {number}")
    wait_for_member(processes, f"honest {number}")
    return player


@pytest.mark.requirement("KEEPING.bounded")
@pytest.mark.requirement("TOKEN.never_locked_out")
def test_honest_players_lose_nothing_among_forty_hostile_ones(processes: Processes) -> None:
    manager = processes.manager(players=TOTAL, referees=3, rounds=ROUNDS, move_seconds=5, outage_minutes=0)
    honest = [honest_player(processes, manager, 1)]
    hostile = list(hostile_players(manager.endpoint, honest[0].endpoint))
    with ExitStack() as stack:
        coming = iter([stack.enter_context(one) for one in hostile])
        for seat in range(1, TOTAL):
            if seat in SEATS:
                honest.append(honest_player(processes, manager, len(honest) + 1))
            else:
                next(coming).register(manager.endpoint)
        assert len(hostile) >= FEWEST
        assert_markup_is_refused(stack.enter_context(HostilePlayer("<script>alert(1)</script>")), manager)
        referees = [
            processes.begin(
                "referee",
                name,
                manager=manager.endpoint,
                journal=processes.journal(name),
                name=name,
                time_scale=SCALE,
                max_concurrent_matches=10,
            )
            for name in ("referee 1", "referee 2", "referee 3")
        ]
        arm(hostile, manager, honest, referees)
        assert [one.wait() for one in (*honest, *referees)] == [0] * (len(honest) + len(referees))
        memory = manager.peak_memory_kb
        assert manager.stop() == 0
    assert_unharmed(processes)
    assert memory < MOST_MEMORY_KB
    assert processes.journal("manager").stat().st_size < MOST_JOURNAL
    refusals = processes.events("manager", RequestRefused)
    notes = Counter(refusal.match_id for refusal in refusals)
    assert notes.pop("") <= MOST_NOTES
    assert max(notes.values(), default=0) <= MOST_NOTES_OF_MATCH


def assert_markup_is_refused(player: HostilePlayer, manager: Process) -> None:
    """A name with markup does not come in; the league has no place left, and is not asked about one."""
    answer = player.apply(manager.endpoint)
    assert answer["error"]["data"]["error_code"] == "E008", answer


def arm(hostile: list[HostilePlayer], manager: Process, honest: list[Process], referees: list[Process]) -> None:
    """Tell them where everybody is, which a league tells its members anyway."""
    players, others = [one.endpoint for one in honest], [one.endpoint for one in referees]
    names = {url: f"honest {number}" for number, url in enumerate(players, start=1)}
    names |= {url: f"referee {number}" for number, url in enumerate(others, start=1)}
    victims = Victims(manager.endpoint, players, others, names)
    for one in hostile:
        one.victims = victims


def assert_unharmed(processes: Processes) -> None:
    """Every match of the honest against each other was played; none of them ever lost but by play."""
    names = {agent_id: name for name, agent_id in processes.members().items()}
    honest = {agent_id for agent_id, name in names.items() if name.startswith("honest ")}
    results = processes.events("manager", ResultAccepted)
    by_pair = {frozenset(one.points): one for one in results}
    for pair in combinations(sorted(honest), 2):
        assert by_pair[frozenset(pair)].status in ("WIN", "DRAW"), by_pair[frozenset(pair)]
    for one in results:
        if one.status == "TECHNICAL_LOSS" and honest & set(one.points):
            assert one.winner in honest, (one, names)
    assert len(processes.events("manager", LeagueFinished)) == 1
    assert_none_was_taken_for_another(processes, honest)
    assert_kept(processes)


def assert_none_was_taken_for_another(processes: Processes, honest: set[str]) -> None:
    """Who registered under the names of others got tokens for queries alone, of players; and no referee came in."""
    renewed = processes.events("manager", TokenRenewed)
    assert honest <= {one.agent_id for one in renewed if one.queries_only}
    # Our referees show the enrolment key that they find beside their journals, and nobody else can.
    proven = [one.agent_id for one in renewed if not one.queries_only]
    assert sorted(proven) == ["REF01", "REF02", "REF03"]
    assert {one.sign for one in processes.events("manager", IdentityContested)} >= {"unproven"}
    registered = processes.events("manager", AgentRegistered)
    referees = sorted(one.display_name for one in registered if one.role == "referee")
    assert referees == ["referee 1", "referee 2", "referee 3"]
