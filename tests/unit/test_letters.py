"""What an error tells its receiver to do."""

from __future__ import annotations

import json

import pytest

from league import letters
from league.letters import Asked, Speaker
from league.machine import Answering, Ping
from league.protocol.errors import PeerError
from league.protocol.message.envelope import STRICT, unseal
from league.protocol.message.exchanges import Role

MANAGER = Speaker(Role.MANAGER, "league_manager", STRICT)
REFEREE = Speaker(Role.REFEREE, "referee:REF01", STRICT)


def action(code: str, sender: str, speaker: Speaker = MANAGER) -> str:
    asked = Asked(1, Ping(), "LEAGUE_QUERY", "conv-1", sender)
    answer = json.loads(letters.write_answer(asked, Answering(1, PeerError(code, "no")), speaker, 0.0))
    assert speaker is REFEREE or unseal(answer["error"]["data"], STRICT).violations == ()
    return str(answer["error"]["data"]["action_required"])


@pytest.mark.requirement("ERROR.register_again")
@pytest.mark.parametrize(
    ("sender", "wanted"),
    [
        ("player:P01", "LEAGUE_REGISTER_REQUEST"),
        ("P01", "LEAGUE_REGISTER_REQUEST"),
        ("referee:REF01", "REFEREE_REGISTER_REQUEST"),
    ],
)
def test_without_a_valid_token_one_registers_again(sender: str, wanted: str) -> None:
    assert action("E012", sender) == wanted


def test_any_other_mistake_is_put_right_in_the_message_itself() -> None:
    assert action("E008", "player:P01") == "LEAGUE_QUERY"
    assert action("E012", "player:P01", REFEREE) == "LEAGUE_QUERY"
