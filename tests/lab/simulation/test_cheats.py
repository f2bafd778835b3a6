"""Cheating players and the rogue referee: each does what it is there for, from its own process and on one machine."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from league.features.audit.promises.grounds.evidence import Evidence, RecordedCall
from league.features.lab.simulation.misconduct import cheats
from league.features.lab.simulation.runs import Plan, play

pytestmark = pytest.mark.slow  # many whole leagues
PLAN = Plan(4, 2, 0.0, cheats=1.0)
LEAGUE_WITH_ALL = Plan(12, 2, 0.0, cheats=1.0)


def played(kind: str, monkeypatch: pytest.MonkeyPatch) -> tuple[Evidence, list[RecordedCall]]:
    """A league in which everybody cheats like this; and what players sent."""
    monkeypatch.setattr(cheats, "CHEATS", {kind: cheats.CHEATS[kind]})
    evidence = PLAN.world(3).run()
    sent = [one for one in evidence.traffic or () if one.sender_node.startswith("player")]
    return evidence, sent


def kinds(calls: Sequence[RecordedCall], to: str) -> set[str]:
    return {one.kind for one in calls if one.receiver_node.startswith(to)}


def test_who_peeks_asks_its_opponent_with_no_token_its_own_and_an_invented_one(monkeypatch: pytest.MonkeyPatch) -> None:
    _, sent = played("peek", monkeypatch)
    asked = [one for one in sent if one.kind == "CHOOSE_PARITY_CALL"]
    assert kinds(sent, "player") == {"CHOOSE_PARITY_CALL", "GAME_INVITATION"}
    assert all(one.message["player_id"] != one.message["context"]["opponent_id"] for one in asked)
    tokens = {one.message.get("auth_token") for one in asked}
    assert {None, "tok_REF01_invented"} < tokens


def test_who_hijacks_posts_what_its_opponent_should_say(monkeypatch: pytest.MonkeyPatch) -> None:
    evidence, sent = played("hijack", monkeypatch)
    forged = [one for one in sent if one.kind == "CHOOSE_PARITY_RESPONSE"]
    assert kinds(sent, "referee") == {"CHOOSE_PARITY_RESPONSE", "GAME_JOIN_ACK"}
    assert all(evidence.agent(one.sender_node) != one.message["player_id"] for one in forged)
    assert {"auth_token" in one.message for one in forged} == {True, False}


def test_who_impersonates_registers_as_opponent_and_referee(monkeypatch: pytest.MonkeyPatch) -> None:
    evidence, sent = played("impersonate", monkeypatch)
    posed = [one for one in sent if one.message.get("conversation_id") == "conv-again"]
    assert {one.kind for one in posed} == {"LEAGUE_REGISTER_REQUEST", "REFEREE_REGISTER_REQUEST"}
    assert all(not one.message["sender"].endswith(evidence.agent(one.sender_node)) for one in posed)


def test_who_replays_sends_reports_that_were_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    _, sent = played("replay", monkeypatch)
    assert "MATCH_RESULT_REPORT" in kinds(sent, "manager")


def test_a_rogue_referee_comes_when_the_league_has_begun_and_invents_results() -> None:
    world = PLAN.world(3)
    traffic = world.run().traffic or ()
    sent = [one for one in traffic if one.sender_node == cheats.ROGUE]
    announced = min(one.sent_at for one in traffic if one.kind == "ROUND_ANNOUNCEMENT")
    assert {"REFEREE_REGISTER_REQUEST", "MATCH_RESULT_REPORT", "GAME_OVER"} <= {one.kind for one in sent}
    assert min(one.sent_at for one in sent) > announced - cheats.LOOK_S


def test_all_cheats_take_part_and_none_where_nobody_cheats() -> None:
    world = LEAGUE_WITH_ALL.world(1)
    world.run()
    assert set(cheats.CHEATS) | {cheats.ROGUE} <= set(world.faults.counts)
    honest = Plan(4, 2, 0.0).world(1)
    honest.run()
    assert not set(honest.faults.counts) & {*cheats.CHEATS, cheats.ROGUE}


def test_a_rogue_referee_is_never_let_in() -> None:
    world = PLAN.world(3)
    evidence = world.run()
    assert world.cheats.impostors == {cheats.ROGUE}
    assert not evidence.simulator.impostors


@pytest.mark.parametrize(
    "plan",
    [PLAN, Plan(4, 2, 0.0, dialects=1.0, cheats=1.0), Plan(5, 3, 0.0, "rock_paper_scissors", cheats=0.5)],
    ids=str,
)
def test_where_nothing_fails_no_cheat_gains_anything_or_harms_anybody(plan: Plan) -> None:
    for seed in range(1, 13):
        run = play(plan, seed)
        assert (run.finished, run.technical_losses, run.broken) == (True, 0, ()), plan.command(seed)


def test_faults_help_no_cheat() -> None:
    plan = Plan(4, 2, 0.2, cheats=1.0)
    for seed in range(1, 9):
        run = play(plan, seed)
        assert (run.finished, run.broken) == (True, ()), plan.command(seed)
