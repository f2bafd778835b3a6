"""Players that register with one defect each: the check that names it fails, and no other does."""

from __future__ import annotations

from typing import Any

import pytest

from tests.kit.defects import Defect, broken_by, failed, says, told, warned
from tests.kit.players import Conforming, Registration, checked_member
from tests.support.scripts import ABSENT, Reaction, on

TIME_SCALE = 2.0
PAUSE_S = 2.0 / TIME_SCALE
META = "LEAGUE_REGISTER_REQUEST.player_meta"
PARAMS = "LEAGUE_QUERY.query_params"
INVITED, CALLED = "GAME_INVITATION", "CHOOSE_PARITY_CALL"


def registers(**how: Any) -> dict[str, Any]:
    """A player that registers so."""
    return {"registration": Registration(**{"pause_s": PAUSE_S, **how})}


def asks(comes_back: bool = True, **query: object) -> dict[str, Any]:
    """A player that asks the manager something once it is registered."""
    return registers(query=query, comes_back=comes_back)


DEFECTS = (
    broken_by("REGISTER.retries", **registers(attempts=1)),
    broken_by("REGISTER.retries", note="at once", **registers(pause_s=0.0)),
    broken_by("REGISTER.takes_any_id", **registers(adopts=False)),
    broken_by("WRITING.sender", script=on("GAME_OVER", Reaction(fields={"sender": "player:Ada"}))),
    broken_by("JOIN.echoes_match_id", **says(INVITED, player_id="P01")),
    broken_by("RPC.id", **registers(rpc={"id": None})),
    broken_by("RPC.method", **registers(rpc={"method": "register"})),
    broken_by(META, **registers(message={"player_meta": "Ada"})),
    broken_by(f"{META}.display_name", **registers(meta={"display_name": " "})),
    broken_by(f"{META}.version", **registers(meta={"version": "one"})),
    broken_by(f"{META}.game_types", **registers(meta={"game_types": []})),
    broken_by(f"{META}.game_types[]", **registers(meta={"game_types": ["even_odd", ""]})),
    broken_by(f"{META}.contact_endpoint", **registers(meta={"contact_endpoint": "localhost:8101"})),
    broken_by(f"{META}.protocol_version", **registers(meta={"protocol_version": "9.0.0"})),
    broken_by(f"{META}.conditions", **registers(meta={"conditions": "a large model"})),
    broken_by(f"{META}.public_key", **registers(meta={"public_key": 1})),
    broken_by("LEAGUE_QUERY.league_id", **asks(league_id="")),
    broken_by("LEAGUE_QUERY.query_type", **asks(query_type="GET_RICH")),
    broken_by("LEAGUE_QUERY.query_params", **asks(query_params=[])),
    broken_by("LEAGUE_QUERY.query_params.player_id", **asks(query_params={"player_id": 1})),
    broken_by("LEAGUE_QUERY.query_params.round_id", **asks(query_params={"round_id": 0})),
    broken_by(f"{PARAMS}.match_id", **asks(query_params={"match_id": 1})),
    broken_by("TOKEN.sent", **asks(auth_token=ABSENT)),
    broken_by("", "RPC.integer_ids", note="ids as strings", **registers(rpc={"id": "one"})),
    broken_by("", "REGISTER.again_after_E012", note="stays away", **asks(comes_back=False)),
    broken_by("TOKEN.in_answers", note="echoed", **says(CALLED, auth_token=lambda asked: asked["auth_token"])),
    broken_by("TOKEN.in_answers", note="left out", **says(CALLED, auth_token=ABSENT)),
)


@pytest.mark.parametrize("defect", DEFECTS)
def test_a_broken_member_fails_the_check_that_names_its_defect(defect: Defect) -> None:
    player = Conforming("Ada", **{**registers(), **defect.player})
    # The kit leaves a registration without an answer only when it is asked for this check alone.
    only = (defect.clause,) if defect.clause == "REGISTER.retries" else ()
    report = checked_member(player, TIME_SCALE, only)
    assert failed(report) == defect.fails, told(report)
    assert warned(report) == defect.warned, told(report)


def test_a_rejected_player_that_registers_on_is_found_out() -> None:
    only = ("REGISTER.stops_when_rejected",)
    stubborn = Registration(pause_s=0.0, again_when_rejected=True)
    assert warned(checked_member(Conforming("Ada", registration=stubborn), 20.0, only)) == set(only)
    assert warned(checked_member(Conforming("Ada"), 20.0, only)) == set()


def test_who_does_not_wait_for_approval_or_asks_too_often_is_found_out() -> None:
    only = ("REGISTER.waits_for_approval",)
    gives_up = checked_member(Conforming("Ada"), 20.0, only)
    assert warned(gives_up) == set(only)
    assert "did not register again" in told(gives_up)
    hasty = checked_member(Conforming("Ada", registration=Registration(again_when_rejected=True)), 1.0, only)
    assert warned(hasty) == set(only)
    assert "registered again after only 0." in told(hasty)


def test_null_is_called_null() -> None:
    report = checked_member(Conforming("Ada", **registers(rpc={"id": None})), 20.0, ("RPC.id",))
    assert "has the id null" in told(report)
