"""Messages without an envelope, as one document prints them: `compat` takes and records them, `strict` does not."""

from __future__ import annotations

from typing import Any

import pytest

from league.events import DeviationRecorded, InvitationAnswered
from league.gateway.readers.notifications import normalise
from league.machine import Ask
from league.protocol.errors import PeerError
from league.protocol.message.envelope import Profile, Reading, answer_limit_s, unseal
from league.protocol.message.messages import (
    ChooseParityResponse,
    GameJoinAck,
    GameOverAck,
    RoundAnnouncementAck,
    RoundCompletedAck,
    StandingsUpdateAck,
)
from tests.support.player_rig import LEAGUE, Rig

ENVELOPE = ("protocol", "sender", "timestamp", "conversation_id")
MATCH = {"match_id": "R1M1", "game_type": "even_odd"}
SEATS = {"player_A_id": "P01", "player_B_id": "P02", "referee_endpoint": "http://10.0.0.1:8001/mcp"}
ANNOUNCEMENT = {
    "message_type": "ROUND_ANNOUNCEMENT",
    "league_id": LEAGUE,
    "round_id": 1,
    "matches": [{**MATCH, **SEATS}],
}
INVITATION = {
    "message_type": "GAME_INVITATION",
    "league_id": LEAGUE,
    "round_id": 1,
    **MATCH,
    "role_in_match": "PLAYER_A",
    "opponent_id": "P02",
    "conversation_id": "conv-r1m1-001",
}
CALL = {
    "message_type": "CHOOSE_PARITY_CALL",
    **MATCH,
    "player_id": "P01",
    "context": {"opponent_id": "P02", "round_id": 1, "your_standings": {"wins": 2, "losses": 1, "draws": 0}},
    "deadline": "2025-01-15T10:30:30Z",
}
OVER = {
    "message_type": "GAME_OVER",
    **MATCH,
    "game_result": {
        "status": "WIN",
        "winner_player_id": "P01",
        "drawn_number": 8,
        "number_parity": "even",
        "choices": {"P01": "even", "P02": "odd"},
    },
    "reason": "P01 chose even, number was 8 (even)",
}
ROW = {"display_name": "Agent Alpha", "played": 2, "wins": 2, "draws": 0, "losses": 0, "points": 6}
STANDINGS = {
    "message_type": "LEAGUE_STANDINGS_UPDATE",
    "league_id": LEAGUE,
    "round_id": 1,
    "standings": [{"rank": 1, "player_id": "P01", **ROW}],
}


def recorded(rig: Rig) -> set[tuple[str, str]]:
    return {(one.agent_id, one.requirement) for one in rig.of(DeviationRecorded)}


def play(rig: Rig) -> list[object]:
    """A whole round, as the document prints it: what was answered. Our manager has told the player before that this
    referee shows no derived tokens."""
    match = {**MATCH, **SEATS, "referee_tokens": []}
    rig.say(rig.announcement(matches=[match]) if rig.derived else ANNOUNCEMENT)
    answers = [rig.say(ANNOUNCEMENT), rig.say(INVITATION)]
    letter, step = rig.post(CALL)
    (ask,) = step.asks
    assert isinstance(ask, Ask)
    assert ask.deadline == rig.now + 30, "a call without a time has the time of the documents"
    rig.choose(step, "even")
    return [*answers, rig.answer_to(letter), rig.say(OVER), rig.say(STANDINGS)]


@pytest.mark.requirement("PROFILE.compat_envelope")
def test_a_round_without_envelopes_is_played_and_recorded() -> None:
    rig = Rig(derived=False).enrolled()
    answers = play(rig)
    kinds = (RoundAnnouncementAck, GameJoinAck, ChooseParityResponse, GameOverAck, StandingsUpdateAck)
    assert [type(one) for one in answers if not isinstance(one, ChooseParityResponse)] == [
        kind for kind in kinds if kind is not ChooseParityResponse
    ]
    assert isinstance(answers[2], ChooseParityResponse)
    assert all(getattr(one, "conversation_id", None) for one in answers)
    assert [row.outcome for row in rig.player.history] == ["WIN"]
    for sender in ("league_manager", "unknown"):
        assert {f"ENVELOPE.{name}" for name in ENVELOPE} <= {clause for who, clause in recorded(rig) if who == sender}


@pytest.mark.requirement("PROFILE.compat_envelope")
def test_what_names_no_sender_comes_from_the_referee_that_invited_us() -> None:
    rig = Rig().enrolled()
    rig.say(rig.invitation())
    call = {name: value for name, value in rig.call().items() if name not in ENVELOPE}
    letter, step = rig.post(call)
    rig.choose(step, "odd")
    assert rig.answer_to(letter).parity_choice == "odd"
    assert ("REF01", "ENVELOPE.auth_token") not in recorded(rig), "the token is that of this referee"


@pytest.mark.requirement("DIALECT.told_otherwise")
@pytest.mark.parametrize("game", ["even_odd", "rock_paper_scissors"])
def test_an_invitation_may_leave_out_the_league_and_the_game_that_was_announced(game: str) -> None:
    rig = Rig(derived=False).enrolled()
    rig.say({**ANNOUNCEMENT, "matches": [{**MATCH, **SEATS, "game_type": game}]})
    short = {name: value for name, value in INVITATION.items() if name not in ("league_id", "game_type")}
    content, deviations = normalise(short, "GAME_INVITATION")
    assert isinstance(rig.say(content), GameJoinAck)
    (event,) = rig.of(InvitationAnswered)
    assert (event.league_id, event.game_type) == (LEAGUE, game)
    assert [one.requirement for one in deviations] == ["GAME_INVITATION.league_id", "GAME_INVITATION.game_type"]
    assert Rig(profile="strict").enrolled().refusal_of(short) == "E003"


@pytest.mark.requirement("DIALECT.told_otherwise")
def test_a_round_may_leave_out_the_next_one() -> None:
    rig = Rig(derived=False).enrolled()
    short = {name: value for name, value in rig.round_completed().items() if name != "next_round_id"}
    content, deviations = normalise(short, "ROUND_COMPLETED")
    assert isinstance(rig.say(content), RoundCompletedAck)
    assert [one.requirement for one in deviations] == ["ROUND_COMPLETED.next_round_id"]
    assert normalise({**short, "next_round_id": None}, "ROUND_COMPLETED") == (content, ())
    assert Rig(profile="strict").enrolled().refusal_of(short) == "E003"


@pytest.mark.requirement("PROFILE.strict_refuses")
@pytest.mark.parametrize("message", [ANNOUNCEMENT, INVITATION, CALL, OVER, STANDINGS])
def test_strict_wants_the_whole_envelope(message: dict[str, Any]) -> None:
    rig = Rig(profile="strict").enrolled()
    assert rig.refusal_of(message) == "E003"


@pytest.mark.requirement("PROFILE.compat_envelope")
@pytest.mark.parametrize("profile", ["compat", "strict"])
@pytest.mark.parametrize("kind", ["MATCH_RESULT_REPORT", "LEAGUE_QUERY"])
def test_towards_the_manager_the_envelope_stays_mandatory(kind: str, profile: Profile) -> None:
    read = unseal({"message_type": kind}, Reading(profile))
    assert [(one.code, one.path) for one in read.violations[:4]] == [("E003", name) for name in ENVELOPE]


def test_a_value_that_is_there_must_be_right() -> None:
    rig = Rig().enrolled()
    assert rig.refusal_of({**ANNOUNCEMENT, "protocol": "league.v1"}) == "E018"
    assert isinstance(rig.say({**INVITATION, "sender": "player:P02"}), PeerError)


def test_without_a_time_a_letter_may_wait_as_long_as_its_exchange() -> None:
    assert answer_limit_s(unseal(CALL, Reading("compat"))) == 30
