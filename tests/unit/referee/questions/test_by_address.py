"""What a token that a player got by name and address alone is good for in a match: the reply to a call."""

from __future__ import annotations

from typing import Any

import pytest

from league import events as e
from league.machine import Acknowledged
from league.protocol.message.envelope import Profile
from league.protocol.signing import tokens
from tests.support.referee_rig import REGISTRATION, Rig, announced, code_of

LESSER = "tok_P02_got_by_name_alone"
STRANGER = "10.9.9.9"


def rig(profile: Profile = "compat", **changed: Any) -> Rig:
    return Rig(profile).given(announced(player_B_replies=[tokens.verifier(LESSER)], **changed)).joins("P01")


@pytest.mark.requirement("TOKEN.standing")
@pytest.mark.parametrize("profile", ["compat", "strict"])
def test_in_the_reply_to_a_call_it_is_right(profile: Profile) -> None:
    match = rig(profile)
    match.says("P02", match.joining("P02", auth_token=LESSER))
    match.chooses("P01", "even").says("P02", match.choosing("P02", "odd", auth_token=LESSER))
    assert match.decided.status == "WIN"
    assert [one for one in match.journal if isinstance(one, e.PlayerDeviated)] == []


@pytest.mark.requirement("TOKEN.standing")
def test_in_a_request_of_its_own_it_speaks_for_nobody() -> None:
    match = rig().says("P02", {"status": "ok"})
    forged = match.joining("P02", auth_token=LESSER, conversation_id="conv-guessed")
    assert code_of(match.request(forged, STRANGER)) == "E012"
    real = match.joining("P02", auth_token=REGISTRATION["P02"])
    assert match.request(real, STRANGER) == Acknowledged()
