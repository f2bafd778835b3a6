"""Players of every convention and habit in one league: every match is decided, and nobody loses for how it speaks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace

import pytest

from league.events import AgentRegistered, LeagueFinished, PlayerFaulted, ResultAccepted
from tests.support.dialects import CONVENTIONS
from tests.support.foreign_players import LOSERS, PLAYERS
from tests.support.foreign_referees import REFEREES
from tests.support.peer import SPEC, Peer
from tests.support.processes import Processes, assert_kept

ROUNDS = 5
SCALE = 5
"""Wrong answers may be corrected for 30 seconds, which become 6. Invited players still have a second to answer."""
MOST_EXTRA_CALLS = 2
MISLEADING = {"TYPE": 1, "TOOLS": 2, "NESTED": 3, "BARE or 400": 1}
"""Conventions of players that register in another one, with how many invitations they do not understand at first."""


UNLUCKY = (
    "SPEC, choose_parity",
    "SPEC, choose_parity, says so in a result",
    "CHOOSE_PARITY_REQUEST",
    "an endpoint without a path",
)
"""They seem to speak as the documents do, but not to third-party referees, which know the other verb and path only."""
BUSY = "busy now and then"


def invitations(peer: Peer) -> int:
    """How often it was invited, in whatever words, also in those that it did not understand, and was not too busy."""
    invited = [one for one in peer.received if b'"message_type":"GAME_INVITATION"' in one.body]
    return sum(not one.answer.startswith(b"HTTP/1.1 429 ") for one in invited)


def extra_invitations(processes: Processes, peers: Sequence[Peer]) -> dict[str, int]:
    """For each player, how many invitations it got beyond those of its matches."""
    ids = processes.members()
    played = Counter(player for one in processes.events("manager", ResultAccepted) for player in one.points)
    return {peer.name: invitations(peer) - played[ids[peer.name]] for peer in peers}


@pytest.mark.requirement("PROFILE.compat_records")
def test_players_of_every_convention_and_habit_play_without_a_technical_loss(processes: Processes) -> None:
    manager = processes.manager(players=len(PLAYERS) + 1, rounds=ROUNDS)
    with ExitStack() as stack:
        peers = [stack.enter_context(make()) for make in PLAYERS.values()]
        for peer in peers:
            peer.register(manager.endpoint)
        good = processes.players(manager)
        referee = processes.referee(manager, max_concurrent_matches=8)
        assert (good.wait(), referee.wait(), manager.stop()) == (0, 0, 0)
    names = {one.agent_id: one.display_name for one in processes.events("manager", AgentRegistered)}
    faults = [(names[one.player_id], one.code, one.detail) for one in processes.events("referee", PlayerFaulted)]
    assert faults == []
    results = processes.events("manager", ResultAccepted)
    assert len(results) == ROUNDS * ((len(PLAYERS) + 1) // 2)
    assert {one.status for one in results} <= {"WIN", "DRAW"}
    assert len(processes.events("manager", LeagueFinished)) == 1
    assert_kept(processes)
    extra = extra_invitations(processes, peers)
    assert max(extra.values()) <= MOST_EXTRA_CALLS, extra
    assert {name for name, count in extra.items() if count} <= {
        "NESTED, protocol/message",
        "league.handle",
        "an endpoint without a path",
    }
    assert processes.bugs == []


def test_players_that_serve_otherwise_than_they_register_are_found_out_once(processes: Processes) -> None:
    manager = processes.manager(players=len(MISLEADING) + 1)
    with ExitStack() as stack:
        peers = [
            stack.enter_context(Peer(name, convention=replace(CONVENTIONS[name], registers=SPEC)))
            for name in MISLEADING
        ]
        for peer in peers:
            peer.register(manager.endpoint)
        good = processes.players(manager)
        referee = processes.referee(manager, max_concurrent_matches=8)
        assert (good.wait(), referee.wait(), manager.stop()) == (0, 0, 0)
    assert processes.events("referee", PlayerFaulted) == []
    assert extra_invitations(processes, peers) == MISLEADING
    assert_kept(processes)


def test_players_and_referees_of_every_kind_make_one_league(processes: Processes) -> None:
    config = processes.folder / "league.toml"
    config.write_text("move_seconds = 3.0\nretry_delays_s = [0.0]\nmax_referees = 40\nstandings_interval_s = 0.2\n")
    ours = 3 * len(REFEREES)
    conventions = {name: one for name, one in CONVENTIONS.items() if name not in UNLUCKY}
    players = ours + len(conventions)
    manager = processes.manager(players=players, referees=len(REFEREES) + 1, rounds=ROUNDS, config=config)
    with ExitStack() as stack:
        agents: list[Peer] = [stack.enter_context(make()) for make in REFEREES.values()]
        agents += [stack.enter_context(Peer(name, convention=one)) for name, one in conventions.items()]
        # With the key it is the operator's own, and plays with those that third-party referees cannot call.
        key = (processes.folder / "enrolment-key").read_text().strip()
        referee = processes.referee(manager, max_concurrent_matches=8, enrolment_key=key)
        for agent in agents:
            agent.register(manager.endpoint)
        good = processes.players(manager, count=ours)
        assert (good.wait(), referee.wait(), manager.stop()) == (0, 0, 0)
    results = processes.events("manager", ResultAccepted)
    assert len(results) == ROUNDS * (players // 2)
    assert {one.status for one in results} <= {"WIN", "DRAW"}
    assert len({one.referee_id for one in results}) == len(REFEREES) + 1
    assert processes.verified()["ok"]
    assert processes.bugs == []


@pytest.mark.requirement("MOVE.valid_option")
def test_a_value_is_never_repaired_in_any_dialect(processes: Processes) -> None:
    # Everybody plays in the first round.
    manager = processes.manager(players=len(LOSERS) + 1, rounds=1)
    with ExitStack() as stack:
        for _, make in LOSERS.values():
            stack.enter_context(make()).register(manager.endpoint)
        good = processes.players(manager)
        referee = processes.referee(manager, time_scale=SCALE, max_concurrent_matches=8)
        assert (good.wait(), referee.wait(), manager.stop()) == (0, 0, 0)
    ids = processes.members()
    faults = {(one.player_id, one.code) for one in processes.events("referee", PlayerFaulted)}
    assert faults == {(ids[name], code) for name, (code, _) in LOSERS.items()}
