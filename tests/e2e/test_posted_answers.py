"""A player that acknowledges with nothing and sends its answers by itself plays like any other: real processes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from league.events import AttemptFailed, ConventionLearned, PlayerFaulted, ResultAccepted, WrongAnswer
from tests.support.peer import Peer
from tests.support.processes import Processes, assert_kept
from tests.support.scripts import MATCH_CALLS, POSTED_LATER, on


@pytest.mark.requirement("MATCH.empty_answer_acknowledges")
def test_an_empty_202_and_the_answer_half_a_second_later(processes: Processes) -> None:
    manager = processes.manager(players=2)
    with Peer("Later", on(MATCH_CALLS, replace(POSTED_LATER, posted_after_s=0.5))) as later:
        later.register(manager.endpoint)
        good = processes.players(manager)
        referee = processes.referee(manager)
        assert (good.wait(), referee.wait(), manager.stop()) == (0, 0, 0)
    assert [one.method for one in later.received if one.kind in MATCH_CALLS] == [
        "handle_game_invitation",
        "parity_choose",
    ]
    # The probe at registration may ask for tools. In the match an empty answer leads to no other way of calling.
    methods = [one.method for one in later.received]
    in_match = methods[methods.index("handle_game_invitation") :]
    assert not {"tools/list", "initialize"} & {*in_match}
    for counted in (AttemptFailed, WrongAnswer, PlayerFaulted):
        assert processes.events("referee", counted) == []
    learned = processes.events("referee", ConventionLearned)
    assert {one.convention for one in learned} == {"SPEC"}
    (result,) = processes.events("manager", ResultAccepted)
    assert result.status in ("WIN", "DRAW")
    assert_kept(processes)
