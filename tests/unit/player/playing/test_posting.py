"""Answers that a player posts to a referee that takes nothing out of a result."""

from __future__ import annotations

from typing import Any

import pytest

from league.gateway.readers.notifications import normalise
from league.protocol.conventions import Convention
from league.protocol.message.envelope import Profile
from league.protocol.message.messages import ChooseParityResponse, GameJoinAck
from tests.support.player_rig import ME, Rig

ENDPOINT = "http://10.0.0.1:8001/mcp"


def abroad(profile: Profile = "compat", *, announced: bool = True) -> Rig:
    """A player under a manager that derives no tokens."""
    rig = Rig(profile, derived=False).enrolled()
    if announced:
        (match,) = rig.announcement()["matches"]
        rig.say(rig.announcement(matches=[{**match, "referee_endpoint": ENDPOINT}]))
    return rig


def invited(rig: Rig, attempt: int | None = None) -> Rig:
    rig.say(rig.invitation(attempt=attempt))
    return rig


def posted(rig: Rig) -> list[Any]:
    """All that was posted, and is acknowledged now."""
    for one in list(rig.under_way.values()):
        rig.answer(one)
    return [one.message for one in rig.sent if one.to.agent_id == "REF01"]


@pytest.mark.requirement("DIALECT.answers_posted")
def test_an_answer_is_posted_when_the_referee_does_not_go_on() -> None:
    rig = invited(abroad()).wait(3)
    (join,) = rig.sent[-1:]
    assert (join.to.endpoint, join.to.convention) == (ENDPOINT, Convention.TYPE)
    assert isinstance(join.message, GameJoinAck)
    assert (join.message.match_id, join.message.player_id, join.message.accept) == ("R1M1", ME, True)
    assert len(posted(rig)) == 1
    letter, step = rig.post(rig.call(attempt=None))
    rig.choose(step, "odd")
    rig.wait(3)
    choice = posted(rig)[-1]
    assert isinstance(choice, ChooseParityResponse)
    answer = rig.answer_to(letter)
    said = (choice.parity_choice, choice.conversation_id, choice.match_id)
    assert said == (answer.parity_choice, answer.conversation_id, answer.match_id)
    assert len(posted(rig.wait(60))) == 2, "each answer is posted once"


@pytest.mark.requirement("DIALECT.answers_posted")
def test_nothing_is_posted_when_the_referee_goes_on() -> None:
    rig = invited(abroad()).wait(1)
    _, step = rig.post(rig.call(attempt=None))
    rig.choose(step, "odd")
    rig.wait(1).say(rig.over(attempt=None))
    assert posted(rig.wait(60)) == []


@pytest.mark.requirement("DIALECT.answers_posted")
def test_an_answer_to_a_repeated_invitation_is_posted_again() -> None:
    rig = invited(abroad()).wait(3)
    assert len(posted(rig)) == 1
    assert len(posted(invited(rig.wait(4)))) == 2, "at once"
    assert len(posted(rig.wait(60))) == 2


@pytest.mark.requirement("DIALECT.answers_posted")
@pytest.mark.parametrize("why", ["a referee of ours", "not announced", "strict"])
def test_nothing_is_posted_to(why: str) -> None:
    """A referee of ours reads results, and where others are nobody knows."""
    rig = abroad("strict" if why == "strict" else "compat", announced=why != "not announced")
    assert posted(invited(rig, 1 if why == "a referee of ours" else None).wait(60)) == []


@pytest.mark.requirement("DIALECT.told_otherwise")
def test_a_call_may_leave_out_what_the_invitation_said() -> None:
    rig = invited(abroad())
    short = {name: value for name, value in rig.call(attempt=None).items() if name not in ("player_id", "game_type")}
    content, deviations = normalise(short, "CHOOSE_PARITY_CALL")
    letter, step = rig.post(content)
    (ask,) = step.asks
    rig.choose(step, "odd")
    assert (ask.game_type, rig.answer_to(letter).player_id) == ("even_odd", ME)
    assert [one.requirement for one in deviations] == ["CHOOSE_PARITY_CALL.player_id", "CHOOSE_PARITY_CALL.game_type"]
    assert abroad("strict").refusal_of(short) == "E003"
