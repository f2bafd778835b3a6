"""The end of a round as players see it: the final table, ROUND_COMPLETED, the next announcement, and then the matches;
also beside players that are slow, stumble over tables or have gone."""

from __future__ import annotations

import re
from contextlib import ExitStack

import pytest

from league.events import LeagueFinished
from league.storage.reading import open_for_reading
from tests.support.peer import Peer, Received
from tests.support.processes import Processes, assert_kept
from tests.support.scripts import HONEST, RESET, Reaction, on

TABLE, COMPLETED, ANNOUNCED = "LEAGUE_STANDINGS_UPDATE", "ROUND_COMPLETED", "ROUND_ANNOUNCEMENT"
ROUNDS, MATCHES = 3, 2
SLOW = (
    *on(TABLE, Reaction(after=COMPLETED), Reaction(after=COMPLETED), HONEST),
    *on(COMPLETED, Reaction(after=ANNOUNCED), HONEST),
)
"""It answers only when the next message is there, so that each is sent before the one before was answered."""
PLAYERS = {"good": (), "slow": SLOW, "stumbling": on(TABLE, RESET)}
GONE = on("GAME_OVER", Reaction(ending="exit"))


def rounds_in(peer: Peer) -> list[tuple[str, int]]:
    """The announcements and completions in the order they came."""
    return [(one.kind, one.message["round_id"]) for one in peer.received if one.kind in (ANNOUNCED, COMPLETED)]


def before(peer: Peer, kind: str, round_id: int) -> list[Received]:
    """What came before this message."""
    place = next(
        place for place, one in enumerate(peer.received) if one.kind == kind and one.message.get("round_id") == round_id
    )
    return peer.received[:place]


def assert_in_order(peer: Peer) -> None:
    assert rounds_in(peer) == [(kind, number) for number in range(1, ROUNDS + 1) for kind in (ANNOUNCED, COMPLETED)]
    for number in range(1, ROUNDS + 1):
        tables = [one for one in before(peer, COMPLETED, number) if one.kind == TABLE]
        played = sum(row["played"] for row in tables[-1].message["standings"])
        assert played == 2 * MATCHES * number, "the last table before is the final one"
        invited = [one for one in before(peer, ANNOUNCED, number) if one.kind == "GAME_INVITATION"]
        assert {one.message["round_id"] for one in invited} <= set(range(1, number)), "matches begin afterwards"
    assert [one.kind for one in peer.received if one.kind != "ping"][-1] == "LEAGUE_COMPLETED"


@pytest.mark.requirement("BROADCAST.order")
@pytest.mark.requirement("ROUND.players_first")
def test_rounds_end_in_order_at_every_live_player(processes: Processes) -> None:
    manager = processes.manager(players=len(PLAYERS) + 1, outage_minutes=0)
    with ExitStack() as stack:
        peers = [stack.enter_context(Peer(name, script)) for name, script in PLAYERS.items()]
        for peer in [*peers, stack.enter_context(Peer("gone", GONE))]:
            peer.register(manager.endpoint)
        referee = processes.referee(manager, time_scale=5, max_concurrent_matches=8)
        for peer in peers:
            peer.saw("LEAGUE_COMPLETED")
        assert (referee.wait(), manager.stop()) == (0, 0)
        for peer in peers:
            assert_in_order(peer)
    assert len(processes.events("manager", LeagueFinished)) == 1
    assert_kept(processes)


@pytest.mark.requirement("ROUND.announced_to_referees")
def test_every_referee_is_told_of_every_round(processes: Processes) -> None:
    # There is one match in a round: whichever referee plays it, the other one has none.
    manager = processes.manager(players=2, double=True, referees=2)
    referees = [processes.referee(manager, name) for name in ("first", "second")]
    good = processes.players(manager, count=2)
    assert (good.wait(), *(referee.wait() for referee in referees), manager.stop()) == (0, 0, 0, 0)
    told: set[tuple[str, str]] = set()
    with open_for_reading(processes.folder / "manager.db") as journal:
        for _, letter in journal.numbered_letters():
            if letter.message_type == ANNOUNCED and letter.kind == "request" and letter.peer.startswith("REF"):
                told.add((letter.peer, re.findall(rb'"round_id":\s*(\d+)', letter.body)[0].decode()))
    assert told == {(referee, number) for referee in ("REF01", "REF02") for number in ("1", "2")}
