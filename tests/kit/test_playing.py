"""The first line of a verdict: would the player play?"""

from __future__ import annotations

import pytest

from league.features.kit.reports.text import lines
from league.features.kit.runner import CheckReport
from tests.kit.players import Conforming, checked
from tests.support.scripts import ABSENT, Reaction, Script, on

UNMARKED = {"conversation_id": ABSENT, "auth_token": ABSENT}
"""Nothing in an answer that shows whose it is."""


def first_line(report: CheckReport) -> str:
    return next(iter(lines(report)))


@pytest.mark.parametrize(
    ("script", "verdict"),
    [
        ((), "would play in a league. It keeps every MUST that could be tested."),
        (
            on("GAME_INVITATION", Reaction(fields={"arrival_timestamp": ABSENT})),
            "would play in a league. It breaks 1 MUST that costs it nothing today.",
        ),
        (
            on("CHOOSE_PARITY_CALL", Reaction(fields={"parity_choice": "Even"})),
            "would not play in a league: it does not choose: 'Even' is neither even nor odd, in lower case. ",
        ),
        (
            on("GAME_INVITATION", Reaction(fields={"accept": False})),
            "would not play in a league: it does not join a match: it declines even_odd, the game of the kit (",
        ),
        (
            on(("GAME_INVITATION", "CHOOSE_PARITY_CALL"), Reaction(posted=True)),
            "would play in a league. ",
        ),
        (
            on(("GAME_INVITATION", "CHOOSE_PARITY_CALL"), Reaction(posted=True, fields=UNMARKED)),
            "would not play in a league: its answers come as requests of its own, and show neither the conversation_id",
        ),
        (
            on(("ping", "GAME_INVITATION"), Reaction(status=500, body=b"Internal Server Error")),
            "would not play in a league: it does not join a match: the body of the answer cannot be read: ",
        ),
    ],
    ids=["good", "a field is missing", "wrong case", "declines", "posts", "posts as D0 prints it", "fails"],
)
def test_the_first_line_says_whether_the_player_would_play(script: Script, verdict: str) -> None:
    player = Conforming("Ada", script=script)
    report = checked(player)
    target, _, sentence = first_line(report).partition(" ")
    assert target == report.record.target
    assert sentence.startswith(verdict)


def test_a_player_that_acknowledges_tools_call_breaks_nothing_by_that() -> None:
    acknowledged = Reaction(body=b'{"jsonrpc":"2.0","id":1,"result":{"message_type":"UNKNOWN_ACK","status":"ACK"}}')
    report = checked(Conforming("Ada", script=on("tools/call", acknowledged)))
    assert report.passed
    (result,) = [result for result in report.results if result.name == "RPC.tools_call"]
    assert result.verdict.value == "warn"
    assert "acknowledged, but not understood" in result.outcome.detail
