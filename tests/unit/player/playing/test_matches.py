"""How a player plays: it joins at once, asks its strategy once per turn, and never answers the same call twice
differently."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec import structs

from league.events import (
    ChoiceFailed,
    ChoiceGiven,
    ChoiceRefused,
    DeviationRecorded,
    GameEnded,
    InvitationAnswered,
    RoundAnnounced,
)
from league.hosting.narration import PLAYER
from league.machine import Step
from league.player.playing import choices
from league.player.strategies import Considered, NoChoice
from league.protocol.errors import NO_CHOICE_BECAUSE, PeerError
from league.protocol.message.exchanges import REPLY_TYPES
from league.protocol.message.experiment import Provenance
from league.protocol.message.messages import (
    ChooseParityResponse,
    GameErrorAck,
    GameJoinAck,
    GameMoveResponse,
    GameOverAck,
)
from tests.support.player_rig import ME, START, Rig


@pytest.fixture
def rig() -> Rig:
    return Rig().enrolled()


@pytest.fixture
def joined(rig: Rig) -> Rig:
    rig.say(rig.invitation())
    return rig


@pytest.fixture
def moving(rig: Rig) -> Rig:
    rig.say(rig.invitation(game_type="tic_tac_toe"))
    return rig


def of_type(rig: Rig, kind: type[Any]) -> list[Any]:
    return [event for event in rig.journal if isinstance(event, kind)]


def silent(step: Step) -> bool:
    return not step.events and not step.asks and not step.outbox


# --- invitations ------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("JOIN.in_time")
@pytest.mark.requirement("JOIN.echoes_match_id")
@pytest.mark.requirement("PLAYER.answers_in_the_result")
def test_an_invitation_is_accepted_at_once_in_the_result_and_nowhere_else(rig: Rig) -> None:
    letter, step = rig.post(rig.invitation())
    join = rig.answer_to(letter)
    assert isinstance(join, GameJoinAck)
    assert (join.match_id, join.player_id, join.accept) == ("R1M1", ME, True)
    assert step.outbox == []


@pytest.mark.requirement("CONVERSATION.echoed")
@pytest.mark.requirement("WRITING.sender")
def test_a_join_carries_the_whole_envelope(rig: Rig) -> None:
    join = msgspec.to_builtins(rig.say(rig.invitation()))
    assert join["protocol"] == "league.v2"
    assert join["message_type"] == "GAME_JOIN_ACK"
    assert join["sender"] == "player:P01"
    assert join["timestamp"] == join["arrival_timestamp"] == "2025-06-15T15:06:40Z"
    assert join["conversation_id"] == "conv-r1m1-1"
    assert join["auth_token"]


def test_a_game_we_do_not_know_is_declined(rig: Rig) -> None:
    join = rig.say(rig.invitation(game_type="chess"))
    assert join.accept is False
    assert rig.refusal_of(rig.call()) == "E023"


@pytest.mark.requirement("PLAYER.same_answer_to_repeated_call")
@pytest.mark.requirement("KEEPING.repetition_harmless")
def test_the_same_invitation_again_gets_the_same_answer_and_nothing_more_happens(joined: Rig) -> None:
    joined.now += 3
    letter, step = joined.post(joined.invitation())
    join = joined.answer_to(letter)
    assert (join.accept, join.arrival_timestamp) == (True, "2025-06-15T15:06:40Z")
    assert silent(step)
    assert len(of_type(joined, InvitationAnswered)) == 1


def test_an_invitation_for_somebody_else_is_refused(rig: Rig) -> None:
    assert rig.refusal_of(rig.invitation(player_id="P07")) == "E005"
    assert of_type(rig, InvitationAnswered) == []


def test_under_a_manager_by_others_a_player_plays_as_the_id_it_is_called_by_and_tells_its_author() -> None:
    rig = Rig(derived=False).enrolled()
    join = rig.say(rig.invitation(player_id="P07"))
    assert (join.accept, join.player_id, join.sender) == (True, "P07", "player:P07")
    letter, step = rig.post(rig.call(player_id="P07"))
    rig.choose(step, "even")
    assert (rig.answer_to(letter).player_id, rig.answer_to(letter).parity_choice) == ("P07", "even")
    recorded = {(one.agent_id, one.code, one.requirement) for one in of_type(rig, DeviationRecorded)}
    assert recorded == {("REF01", "E005", f"{kind}.player_id") for kind in ("GAME_INVITATION", "CHOOSE_PARITY_CALL")}
    line = PLAYER[InvitationAnswered](rig.player, of_type(rig, InvitationAnswered)[0])
    assert line.startswith("R1M1: REF01 calls you P07, but the manager registered you as P01; you play as P07.")
    assert line.endswith("start the player with --id P07 --name P07")


@pytest.mark.parametrize(("derived", "is_bye"), [(True, True), (False, False)])
def test_a_manager_by_others_that_schedules_other_ids_gives_nobody_a_bye(derived: bool, is_bye: bool) -> None:
    rig = Rig(derived=derived).enrolled()
    (match,) = rig.announcement()["matches"]
    rig.say(rig.announcement(matches=[{**match, "player_A_id": "P07", "player_B_id": "P08"}]))
    line = PLAYER[RoundAnnounced](rig.player, of_type(rig, RoundAnnounced)[0])
    if is_bye:
        assert line == "round 1: you have a bye"
    else:
        assert line.startswith("round 1: no match names P01, which the manager registered you as; the players are P07")
        assert "start the player with that --id and --name" in line
        rig.say(rig.invitation(player_id="P07", opponent_id="P08"))
        assert PLAYER[RoundAnnounced](rig.player, of_type(rig, RoundAnnounced)[0]) == "round 1: you play against P08"


def test_the_opponent_has_its_name_from_the_first_round_on() -> None:
    rig = Rig().enrolled()
    (match,) = rig.announcement()["matches"]
    rig.say(rig.announcement(matches=[{**match, "player_A_name": "Ada", "player_B_name": "Bo"}]))
    line = PLAYER[RoundAnnounced](rig.player, of_type(rig, RoundAnnounced)[0])
    assert line == 'round 1: you play against P02 "Bo"'


def test_no_player_plays_against_itself_under_another_id() -> None:
    rig = Rig(derived=False).enrolled()
    assert rig.refusal_of(rig.invitation(player_id="P07", opponent_id="P01")) == "E005"


def test_a_higher_attempt_replaces_the_lower(joined: Rig) -> None:
    _, step = joined.post(joined.call())
    joined.choose(step, "even")
    joined.say(joined.invitation(attempt=2, referee="REF02"))
    _, step = joined.post(joined.call(attempt=2, referee="REF02"))
    joined.choose(step, "odd")
    joined.say(joined.over(attempt=2, referee="REF02"))
    joined.say(joined.over(winner="P02"))
    assert [(row.attempt, row.outcome) for row in joined.player.history] == [(2, "WIN")]


def test_a_referee_that_comes_back_from_the_dead_does_not_find_us_at_fault(joined: Rig) -> None:
    waiting, asked = joined.post(joined.call())
    joined.say(joined.invitation(attempt=2, referee="REF02"))
    assert joined.say(joined.invitation()).accept
    _, step = joined.post(joined.call(attempt=2, referee="REF02"))
    joined.choose(step, "odd")
    joined.choose(asked, "even")
    assert joined.answer_to(waiting).parity_choice == "even"
    letter, _ = joined.post(joined.call(attempt=2, referee="REF02"))
    assert joined.answer_to(letter).parity_choice == "odd"
    assert joined.player.phase == "WAITING_FOR_RESULT"


def test_an_invitation_of_a_lower_attempt_that_comes_late_is_accepted_and_counts_for_nothing(rig: Rig) -> None:
    rig.say(rig.invitation(attempt=2, referee="REF02"))
    assert rig.say(rig.invitation(attempt=1)).accept
    rig.say(rig.over(attempt=1))
    assert len(rig.player.history) == 0
    rig.say(rig.over(attempt=2, referee="REF02"))
    assert [row.attempt for row in rig.player.history] == [2]


def test_a_call_that_waits_when_its_referee_begins_a_higher_attempt_is_answered_as_superseded(joined: Rig) -> None:
    letter, step = joined.post(joined.call())
    (ask,) = step.asks
    _, step = joined.post(joined.invitation(attempt=2))
    assert joined.answer_to(letter).code == "E016"
    assert step.cancel == (ask.key,)
    assert silent(joined.take(joined.player.answered(ask.key, "even", joined.now)))
    assert joined.refusal_of(joined.invitation(attempt=1)) == "E016"


def test_referees_that_show_no_tokens_of_ours_may_follow_each_other_when_the_manager_says_so(rig: Rig) -> None:
    def named(endpoint: str) -> None:
        rig.say(rig.announced_without_tokens(referee_endpoint=endpoint))

    named("http://10.0.0.1:8001/mcp")
    rig.say(rig.invitation(attempt=None, auth_token=None))
    rig.say(rig.invitation(attempt=None, auth_token=None))
    assert rig.refusal_of(rig.invitation(attempt=None, referee="REF02", auth_token=None)) == "E011"
    named("http://10.0.0.1:8002/mcp")
    rig.say(rig.invitation(attempt=None, referee="REF02", auth_token=None))
    assert [event.attempt for event in of_type(rig, InvitationAnswered)] == [1, 2]
    _, step = rig.post(rig.call(attempt=None, referee="REF02", auth_token=None))
    rig.choose(step, "odd")
    rig.say(rig.over(attempt=None, referee="REF02", auth_token=None))
    assert [row.attempt for row in rig.player.history] == [2]


def test_a_match_that_an_unnumbering_referee_plays_again_is_told_by_its_conversation() -> None:
    rig = Rig(derived=False).enrolled()
    for conversation in ("first", "second"):
        assert rig.say(rig.invitation(attempt=None, conversation_id=conversation)).accept
        _, step = rig.post(rig.call(attempt=None, conversation_id=conversation))
        rig.choose(step, "odd")
        rig.say(rig.over(attempt=None, conversation_id=conversation))
        rig.say(rig.invitation(attempt=None, conversation_id=conversation))
    assert [event.attempt for event in of_type(rig, GameEnded)] == [1, 2]
    assert len(rig.player.history) == 1


def test_a_player_that_is_not_registered_yet_plays_under_the_name_it_is_called_by() -> None:
    rig = Rig()
    join = rig.say(rig.invitation(player_id="P09"))
    assert (join.player_id, join.sender, join.accept) == ("P09", "player:P09", True)
    letter, step = rig.post(rig.call(player_id="P09"))
    rig.choose(step, "odd")
    assert rig.answer_to(letter).player_id == "P09"


# --- choices ----------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("CHOICE.in_time")
@pytest.mark.requirement("CHOICE.echoes_match_id")
def test_a_call_is_answered_when_the_strategy_has_chosen(joined: Rig) -> None:
    letter, step = joined.post(joined.call())
    assert letter not in joined.replies
    (ask,) = step.asks
    assert (ask.game_type, ask.deadline) == ("even_odd", START + 30)
    step = joined.choose(step, "odd")
    answer = joined.answer_to(letter)
    assert isinstance(answer, ChooseParityResponse)
    assert (answer.match_id, answer.player_id, answer.parity_choice) == ("R1M1", ME, "odd")
    assert (answer.sender, answer.conversation_id) == ("player:P01", "conv-r1m1-1")
    assert step.outbox == []


@pytest.mark.parametrize(
    ("attempt", "said"), [(None, {"parity_choice": "odd", "choice": "odd"}), (1, {"parity_choice": "odd"})]
)
def test_a_referee_by_others_finds_the_choice_under_either_name(
    rig: Rig, attempt: int | None, said: dict[str, str]
) -> None:
    rig.say(rig.invitation(attempt=attempt))
    letter, step = rig.post(rig.call(attempt=attempt))
    rig.choose(step, "odd")
    answer = msgspec.to_builtins(rig.answer_to(letter))
    assert answer["message_type"] == "CHOOSE_PARITY_RESPONSE"
    assert {name: answer[name] for name in ("parity_choice", "choice") if name in answer} == said
    again, _ = rig.post(rig.call(attempt=attempt))
    assert msgspec.to_builtins(rig.answer_to(again)).get("choice") == said.get("choice")


@pytest.mark.requirement("READING.clock_not_compared")
def test_a_referees_clock_is_not_compared_with_ours(joined: Rig) -> None:
    past = {"timestamp": "2001-01-01T00:00:00Z", "deadline": "2001-01-01T00:00:12Z"}
    _, step = joined.post(joined.call() | past)
    assert step.asks[0].deadline == START + 12


def test_a_deadline_before_its_own_timestamp_gives_the_usual_time(joined: Rig) -> None:
    _, step = joined.post(joined.call(deadline="2001-01-01T00:00:12Z"))
    assert step.asks[0].deadline == START + 30


@pytest.mark.requirement("TOKEN.never_shown")
def test_the_strategy_sees_no_token(joined: Rig) -> None:
    _, step = joined.post(joined.call())
    assert "tok_" not in repr(step.asks)


@pytest.mark.requirement("PLAYER.same_answer_to_repeated_call")
def test_the_same_call_again_gets_the_same_answer_without_asking(joined: Rig) -> None:
    _, step = joined.post(joined.call())
    joined.choose(step, "odd")
    letter, step = joined.post(joined.call())
    assert joined.answer_to(letter).parity_choice == "odd"
    assert silent(step)


def test_calls_that_come_while_the_strategy_thinks_share_its_answer(joined: Rig) -> None:
    first, step = joined.post(joined.call())
    second, repeated = joined.post(joined.call())
    assert silent(repeated)
    joined.choose(step, "even")
    assert joined.answer_to(first).parity_choice == joined.answer_to(second).parity_choice == "even"
    assert len(of_type(joined, ChoiceGiven)) == 1


@pytest.mark.requirement("KEEPING.bounded")
def test_not_more_calls_than_any_referee_makes_wait_for_one_answer(joined: Rig) -> None:
    letters = [joined.post(joined.call())[0] for _ in range(100)]
    refused = [letter for letter in letters if letter in joined.replies]
    assert len(refused) == 68
    assert {joined.answer_to(letter).code for letter in refused} == {"E042"}


@pytest.mark.requirement("KEEPING.bounded")
def test_not_more_questions_than_anybody_can_think_about_are_asked(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choices, "PENDING", 3)
    for number in range(1, 4):
        rig.say(rig.invitation(f"R{number}M1"))
        rig.post(rig.call(f"R{number}M1"))
    rig.say(rig.invitation("R4M1"))
    assert rig.refusal_of(rig.call("R4M1")) == "E042"


def test_the_answer_survives_a_restart(joined: Rig) -> None:
    _, step = joined.post(joined.call())
    joined.choose(step, "odd")
    joined.restart()
    letter, step = joined.post(joined.call())
    assert joined.answer_to(letter).parity_choice == "odd"
    assert step.asks == []


def test_a_question_open_at_a_crash_is_asked_again_when_the_call_is_repeated(joined: Rig) -> None:
    _, before = joined.post(joined.call())
    joined.restart()
    assert silent(joined.choose(before, "odd"))
    _, step = joined.post(joined.call())
    joined.choose(step, "even")
    assert [event.choice for event in of_type(joined, ChoiceGiven)] == ["even"]


@pytest.mark.parametrize("value", ["Even", "", " even", "eleven", "\N{SNOWMAN}"])
def test_a_wrong_choice_is_sent_as_it_is(joined: Rig, value: str) -> None:
    letter, step = joined.post(joined.call())
    joined.choose(step, value)
    assert joined.answer_to(letter).parity_choice == value


@pytest.mark.requirement("ERROR.internal")
@pytest.mark.parametrize("value", [None, 7, True, ["even"], b"even", "\ud800", NoChoice("Traceback: secret")])
def test_a_strategy_that_fails_is_answered_with_an_error_that_tells_nothing_of_the_inside(
    joined: Rig, value: object
) -> None:
    letter, step = joined.post(joined.call())
    joined.choose(step, value)
    error = joined.answer_to(letter)
    assert isinstance(error, PeerError)
    assert error.code == "E099"
    assert error.context["incident"] == step.asks[0].key
    assert "secret" not in repr(error)
    (failure,) = joined.player.failures
    assert (failure.match_id, failure.turn) == ("R1M1", 1)
    assert failure.detail


def test_an_exception_of_the_authors_code_is_named_in_one_short_line(joined: Rig) -> None:
    letter, step = joined.post(joined.call())
    exception = "ValueError: tok_P01_abcdefghijklmnopqrstuvwxyz0123456789\n" + "x" * 1000
    joined.choose(step, NoChoice("ValueError", cause=f"its code raised {exception}"))
    error = joined.answer_to(letter)
    assert isinstance(error, PeerError)
    assert error.code == "E099"
    assert error.detail.startswith(f"{NO_CHOICE_BECAUSE}its code raised ValueError: ")
    assert len(error.detail) < 250
    assert error.detail.isprintable()
    assert "abcdefgh" not in error.detail


@pytest.mark.parametrize(
    ("value", "cause"),
    [
        (None, "its code returned None instead of text"),
        (0, "its code returned a value of type int instead of text"),
        ("\ud800", "its code returned text that cannot be sent"),
    ],
)
def test_the_referee_learns_what_kind_of_value_was_returned_instead_of_a_choice(
    joined: Rig, value: object, cause: str
) -> None:
    letter, step = joined.post(joined.call())
    joined.choose(step, value)
    error = joined.answer_to(letter)
    assert isinstance(error, PeerError)
    assert error.detail == f"{NO_CHOICE_BECAUSE}{cause}"


def test_who_declines_because_of_an_outage_says_so(joined: Rig) -> None:
    letter, step = joined.post(joined.call())
    joined.choose(step, NoChoice("503 from the provider", Provenance(provider_errors=1, tokens=7), is_outage=True))
    error = joined.answer_to(letter)
    assert isinstance(error, PeerError)
    assert (error.code, "503" in repr(error)) == ("E045", False)
    (failed,) = of_type(joined, ChoiceFailed)
    assert (failed.code, failed.detail) == ("E045", "503 from the provider")


@pytest.mark.requirement("EXPERIMENT.provenance")
def test_a_choice_says_how_it_came_about_also_when_it_is_asked_for_again_after_a_restart(joined: Rig) -> None:
    letter, step = joined.post(joined.call())
    joined.choose(step, Considered("even", Provenance(fallbacks=1, tokens=340)))
    assert joined.answer_to(letter).provenance == {"fallbacks": 1, "tokens": 340}
    joined.restart()
    letter, step = joined.post(joined.call())
    assert step.asks == []
    assert joined.answer_to(letter).parity_choice == "even"
    assert joined.answer_to(letter).provenance == {"fallbacks": 1, "tokens": 340}


def test_what_choices_have_cost_is_known_after_a_restart_too(joined: Rig) -> None:
    _, step = joined.post(joined.call())
    joined.choose(step, NoChoice("no answer", Provenance(tokens=40), is_outage=True))
    _, step = joined.post(joined.call())
    joined.choose(step, Considered("Even", Provenance(tokens=2)))
    joined.restart()
    _, step = joined.post(joined.call())
    assert joined.player.turn(step.asks[0]).tokens_spent == 42


def test_a_failure_is_shown_in_full_to_the_author_and_the_next_call_asks_again(joined: Rig) -> None:
    _, step = joined.post(joined.call())
    joined.choose(step, NoChoice("Traceback (most recent call last): …"))
    joined.restart()
    assert joined.player.failures[0].detail == "Traceback (most recent call last): …"
    assert len(of_type(joined, ChoiceFailed)) == 1
    letter, step = joined.post(joined.call())
    joined.choose(step, "even")
    assert joined.answer_to(letter).parity_choice == "even"


def test_an_answer_to_a_question_nobody_asked_changes_nothing(joined: Rig) -> None:
    assert silent(joined.take(joined.player.answered("R1M1/1/choose/1/99", "even", joined.now)))


def test_a_call_of_another_referee_than_the_one_that_invited_us_is_refused(joined: Rig) -> None:
    assert joined.refusal_of(joined.call(referee="REF09")) == "E016"


def test_where_no_token_can_be_checked_nobody_is_answered_that_did_not_invite_us() -> None:
    rig = Rig(derived=False).enrolled()
    assert rig.refusal_of(rig.call("R9M9")) == "E014"


def test_a_call_for_another_player_is_refused(joined: Rig) -> None:
    assert joined.refusal_of(joined.call(player_id="P02")) == "E005"


@pytest.mark.requirement("PLAYER.several_matches")
def test_several_matches_are_played_side_by_side(rig: Rig) -> None:
    for match_id in ("R1M1", "R1M2"):
        rig.say(rig.invitation(match_id))
    first, one = rig.post(rig.call("R1M1"))
    second, other = rig.post(rig.call("R1M2"))
    rig.choose(other, "odd")
    rig.choose(one, "even")
    assert (rig.answer_to(first).match_id, rig.answer_to(first).parity_choice) == ("R1M1", "even")
    assert (rig.answer_to(second).match_id, rig.answer_to(second).parity_choice) == ("R1M2", "odd")


# --- moves of other games ---------------------------------------------------------------------------------------------


@pytest.mark.requirement("MOVE.valid_option")
def test_a_move_is_answered_in_the_words_of_the_call(moving: Rig) -> None:
    letter, step = moving.post(moving.move_call(1))
    moving.choose(step, "4")
    answer = moving.answer_to(letter)
    assert isinstance(answer, GameMoveResponse)
    assert (answer.move_data.move_type, answer.move_data.choice) == ("mark_cell", "4")


def test_each_turn_is_asked_once(moving: Rig) -> None:
    for turn, choice in ((1, "0"), (3, "4")):
        _, step = moving.post(moving.move_call(turn))
        moving.choose(step, choice)
    for turn, choice in ((3, "4"), (1, "0")):
        letter, step = moving.post(moving.move_call(turn))
        assert moving.answer_to(letter).move_data.choice == choice
        assert silent(step)


def test_turns_without_numbers_are_told_apart_by_what_they_show(moving: Rig) -> None:
    views = [moving.move_call(None, options) for options in (("0", "4"), ("4",), ("0", "4"))]
    asked = []
    for view in views:
        _, step = moving.post(view)
        asked.append(len(step.asks))
        if step.asks:
            moving.choose(step, "4")
    assert asked == [1, 1, 0]


def test_where_no_options_are_named_no_choice_is_called_impossible(moving: Rig) -> None:
    _, step = moving.post(moving.move_call(1, ()))
    moving.choose(step, "4")
    letter, step = moving.post(moving.move_call(1, ()))
    assert moving.answer_to(letter).move_data.choice == "4"
    assert silent(step)


def test_a_later_turn_ends_the_wait_for_an_earlier_one(moving: Rig) -> None:
    letter, _ = moving.post(moving.move_call(1))
    _, step = moving.post(moving.move_call(2))
    assert moving.answer_to(letter).code == "E023"
    assert len(step.asks) == len(step.cancel) == 1


# --- errors -----------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("GAME_ERROR.acknowledged")
@pytest.mark.requirement("ACK.own_type")
def test_a_game_error_is_acknowledged(joined: Rig) -> None:
    ack = joined.say(joined.error("E001", name="TIMEOUT_ERROR"))
    assert isinstance(ack, GameErrorAck)
    assert (ack.status, ack.player_id, ack.match_id) == ("ACKNOWLEDGED", ME, "R1M1")
    assert (ack.sender, ack.conversation_id) == ("player:P01", "conv-r1m1-1")


@pytest.mark.requirement("PLAYER.corrects")
def test_after_an_error_about_our_choice_the_next_call_asks_anew(joined: Rig) -> None:
    _, step = joined.post(joined.call())
    joined.choose(step, "Odd")
    joined.say(joined.error("E004"))
    letter, step = joined.post(joined.call())
    joined.choose(step, "even")
    assert joined.answer_to(letter).parity_choice == "even"
    assert [event.code for event in of_type(joined, ChoiceRefused)] == ["E004"]


@pytest.mark.requirement("ERROR.read_by_name")
@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("E024", "INVALID_MOVE"),
        ("E008", "INVALID_FIELD_VALUE"),
        ("E002", "INVALID_MOVE"),
        ("E002", "this is not a parity"),
        ("E004", "this is not a parity"),
        ("E003", "MISSING_REQUIRED_FIELD"),
    ],
)
def test_errors_of_others_about_our_choice_are_understood(joined: Rig, code: str, name: str) -> None:
    _, step = joined.post(joined.call())
    joined.choose(step, "Odd")
    joined.say(joined.error(code, name=name))
    assert len(of_type(joined, ChoiceRefused)) == 1


@pytest.mark.parametrize(
    ("code", "name"),
    [("E001", "TIMEOUT_ERROR"), ("E009", "CONNECTION_ERROR"), ("E003", "PLAYER_DISCONNECT"), ("E004", "INVALID_STATE")],
)
def test_an_error_that_is_not_about_our_choice_leaves_it_as_it_is(joined: Rig, code: str, name: str) -> None:
    _, step = joined.post(joined.call())
    joined.choose(step, "odd")
    joined.say(joined.error(code, name=name))
    letter, step = joined.post(joined.call())
    assert joined.answer_to(letter).parity_choice == "odd"
    assert silent(step)


@pytest.mark.parametrize(
    "changed", [{"affected_player": "P02"}, {"context": {"invalid_choice": "Odd"}}, {"match_id": "R7M7"}]
)
def test_an_error_about_somebody_or_something_else_leaves_our_choice_as_it_is(
    joined: Rig, changed: dict[str, Any]
) -> None:
    _, step = joined.post(joined.call())
    joined.choose(step, "odd")
    joined.say(joined.error("E004") | changed)
    assert of_type(joined, ChoiceRefused) == []


def test_an_error_that_says_nothing_but_its_code_is_acknowledged(rig: Rig) -> None:
    ack = rig.say({"message_type": "GAME_ERROR", "error_code": "E001"})
    assert isinstance(ack, GameErrorAck)
    assert ack.conversation_id


def test_an_impossible_choice_is_not_repeated_even_if_its_error_comes_after_the_call(joined: Rig) -> None:
    _, step = joined.post(joined.call())
    joined.choose(step, "Odd")
    letter, step = joined.post(joined.call())
    joined.choose(step, "odd")
    joined.say(joined.error("E004", context={"invalid_choice": "Odd", "valid_choices": ["even", "odd"]}))
    assert joined.answer_to(letter).parity_choice == "odd"
    letter, step = joined.post(joined.call())
    assert joined.answer_to(letter).parity_choice == "odd"
    assert silent(step)


# --- results ----------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("GAME_OVER.acknowledged")
def test_a_result_is_acknowledged_and_remembered(joined: Rig) -> None:
    ack = joined.say(joined.over())
    assert isinstance(ack, GameOverAck)
    assert (ack.status, ack.player_id, ack.match_id, ack.sender) == ("ACKNOWLEDGED", ME, "R1M1", "player:P01")
    (row,) = joined.player.history
    assert (row.match_id, row.opponent_id, row.role, row.outcome) == ("R1M1", "P02", "PLAYER_A", "WIN")
    assert (row.my_choice, row.opponent_choice, row.drawn_number, row.number_parity) == ("even", "odd", 8, "even")
    assert row.game_result["reason"] == "P01 chose even, number was 8 (even)"


@pytest.mark.requirement("KEEPING.repetition_harmless")
def test_the_same_result_again_is_acknowledged_and_changes_nothing(joined: Rig) -> None:
    joined.say(joined.over())
    letter, step = joined.post(joined.over(winner=None))
    assert isinstance(joined.answer_to(letter), GameOverAck)
    assert silent(step)
    assert joined.player.history[0].outcome == "WIN"


@pytest.mark.requirement("PLAYER.higher_attempt_replaces")
def test_the_result_of_a_higher_attempt_replaces_the_lower(joined: Rig) -> None:
    joined.say(joined.over())
    joined.say(joined.over(attempt=2, referee="REF02", winner="P02"))
    joined.say(joined.over())
    (row,) = joined.player.history
    assert (row.attempt, row.outcome) == (2, "LOSS")


def test_the_result_of_a_higher_attempt_counts_though_its_invitation_was_lost(joined: Rig) -> None:
    joined.say(joined.over(attempt=2, referee="REF02", winner=None))
    assert joined.player.phase == "WAITING_FOR_ROUND"
    joined.say(joined.over())
    assert [(row.attempt, row.outcome) for row in joined.player.history] == [(2, "LOSS")]


def test_a_late_result_of_a_superseded_attempt_changes_nothing(joined: Rig) -> None:
    joined.say(joined.invitation(attempt=2, referee="REF02"))
    letter, step = joined.post(joined.over())
    assert isinstance(joined.answer_to(letter), GameOverAck)
    assert silent(step)
    assert len(joined.player.history) == 0


def test_the_same_referee_may_get_the_match_again(joined: Rig) -> None:
    joined.say(joined.over())
    joined.say(joined.invitation(attempt=2))
    _, step = joined.post(joined.call(attempt=2))
    joined.choose(step, "odd")
    joined.say(joined.over())
    joined.say(joined.over(attempt=2, winner="P02"))
    assert [(row.attempt, row.outcome) for row in joined.player.history] == [(2, "LOSS")]


def test_the_result_of_a_match_we_were_never_invited_to_is_refused(joined: Rig) -> None:
    before = joined.player.snapshot()
    assert joined.refusal_of(joined.over("R9M9")) == "E014"
    assert joined.refusal_of(joined.over(referee="REF09")) == "E016"
    assert {**joined.player.snapshot(), "deviations": []} == {**before, "deviations": []}
    assert len(joined.player.history) == 0


def test_a_call_that_waits_when_the_match_ends_is_answered(joined: Rig) -> None:
    letter, step = joined.post(joined.call())
    joined.say(joined.over(winner=None))
    assert joined.answer_to(letter).code == "E023"
    assert silent(joined.choose(step, "even"))


def test_after_the_end_of_a_match_nothing_is_chosen_in_it(joined: Rig) -> None:
    _, step = joined.post(joined.call())
    joined.choose(step, "odd")
    joined.say(joined.over())
    assert joined.refusal_of(joined.call()) == "E023"
    assert joined.player.snapshot()["matches"][0]["answers"] == []


@pytest.mark.requirement("KEEPING.bounded")
def test_a_result_larger_than_any_referee_may_send_is_refused(joined: Rig) -> None:
    assert joined.refusal_of(joined.over(reason="x" * 20_000)) == "E037"
    assert len(joined.player.history) == 0


# --- answers as messages ----------------------------------------------------------------------------------------------


def _posted(rig: Rig) -> list[tuple[str, str]]:
    """The answers that the player sent by itself, and where to."""
    return [(one.kind, one.to.endpoint) for one in rig.sent if one.kind in REPLY_TYPES]


@pytest.mark.requirement("PLAYER.same_answer_to_repeated_call")
def test_under_a_third_party_manager_a_repeated_call_is_answered_by_a_message_too() -> None:
    """A referee that reads no results calls again; each repetition is answered once by a message with the same ids."""
    rig = Rig(derived=False).enrolled()
    home = "http://10.0.0.1:8001/mcp"
    rig.say({**rig.announced_without_tokens(referee_tokens=None, referee_endpoint=home), "auth_token": None})
    invitation = rig.invitation(attempt=None, auth_token=None)
    call = rig.call(attempt=None, auth_token=None)
    rig.say(invitation)
    rig.choose(rig.hand(call)[1], "odd")
    assert _posted(rig) == []
    joined = rig.say(invitation)
    chosen = rig.say(call)
    assert _posted(rig) == [("GAME_JOIN_ACK", home), ("CHOOSE_PARITY_RESPONSE", home)]
    for posted, answer in zip([one for one in rig.sent if one.kind in REPLY_TYPES], (joined, chosen), strict=True):
        assert structs.replace(posted.message, auth_token=posted.to.token) == answer


@pytest.mark.parametrize(("derived", "profile"), [(True, "compat"), (False, "strict")])
def test_our_own_referees_and_the_strict_profile_get_no_second_answer(derived: bool, profile: Any) -> None:
    rig = Rig(profile, derived=derived).enrolled()
    rig.say(rig.announcement() if derived else {**rig.announced_without_tokens(), "auth_token": None})
    for _ in range(3):
        assert isinstance(rig.say(rig.invitation()), GameJoinAck)
    assert _posted(rig) == []
