"""A player in its league: registering, broadcasts, states, tokens, queries, and requests that make no sense."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from league.events import DeviationRecorded, LeagueEnded, Registered, RoundAnnounced, RoundEnded
from league.machine import Blame, Failure, Operate, Outgoing, Ping, Pong, Refusal, Step, Undelivered
from league.membership import DEVIATIONS
from league.player import strategies
from league.protocol.errors import PeerError
from league.protocol.message.envelope import Profile
from league.protocol.message.exchanges import family_of
from league.protocol.message.messages import (
    LeagueCompletedAck,
    LeagueQuery,
    LeagueRegisterRequest,
    RoundAnnouncementAck,
    RoundCompletedAck,
    StandingsUpdateAck,
)
from league.protocol.signing import tokens
from league.status_poll import POLL_S
from tests.support.player_rig import KEY, LEAGUE, MANAGER_URL, ME, META, START, TOKEN, Rig


@pytest.fixture
def rig() -> Rig:
    return Rig().enrolled()


def recorded(rig: Rig) -> list[tuple[str, str]]:
    return [(event.agent_id, event.code) for event in rig.journal if isinstance(event, DeviationRecorded)]


def without_token(fields: dict[str, Any]) -> dict[str, Any]:
    return {**fields, "auth_token": None}


def with_wrong_token(fields: dict[str, Any]) -> dict[str, Any]:
    return {**fields, "auth_token": "tok_REF01_wrong"}


# --- registering ------------------------------------------------------------------------------------------------------


def test_a_player_registers_when_it_starts_and_not_again_after_a_restart() -> None:
    rig = Rig()
    (call,) = rig.take(rig.player.resume(rig.now)).outbox
    assert isinstance(call.message, LeagueRegisterRequest)
    assert (call.to[0].endpoint, call.to[0].token) == (MANAGER_URL, None)
    rig.answer(call, rig.accepted())
    assert (rig.player.agent_id, rig.secrets["token/1"]) == (ME, TOKEN)
    assert rig.restart().outbox == []
    assert rig.player.agent_id == ME


@pytest.mark.requirement("REGISTER.retries")
def test_a_registration_nobody_answers_is_repeated() -> None:
    rig = Rig()
    (call,) = rig.take(rig.player.resume(rig.now)).outbox
    pauses = []
    for _ in range(6):
        rig.fail(Undelivered(call.key, "league_manager", Failure.TIMEOUT))
        before = rig.now
        (call,) = rig.tick().outbox
        pauses.append(rig.now - before)
    assert pauses == [2, 4, 8, 16, 30, 30]


@pytest.mark.requirement("REGISTER.retries")
def test_while_nobody_listens_it_is_repeated_every_two_seconds_for_a_minute() -> None:
    rig = Rig()
    (call,) = rig.take(rig.player.resume(rig.now)).outbox
    pauses = []
    for _ in range(32):
        rig.fail(Undelivered(call.key, "league_manager", Failure.REFUSED))
        before = rig.now
        (call,) = rig.tick().outbox
        pauses.append(rig.now - before)
    assert pauses == [2.0] * 30 + [30.0] * 2


@pytest.mark.requirement("REGISTER.takes_any_id")
def test_a_manager_of_others_may_give_any_id_and_no_token() -> None:
    rig = Rig(derived=False)
    (call,) = rig.take(rig.player.resume(rig.now)).outbox
    rig.answer(call, {**rig.accepted(token=None), "player_id": "player-e56c"})
    join = rig.say(rig.invitation(player_id="player-e56c"))
    assert (join.player_id, join.sender, join.auth_token) == ("player-e56c", "player:player-e56c", None)


def test_a_player_the_manager_does_not_want_says_why() -> None:
    rig = Rig()
    (call,) = rig.take(rig.player.resume(rig.now)).outbox
    refused = {**rig.accepted(), "status": "REJECTED", "player_id": None, "error_code": "E019", "reason": "too late"}
    rig.answer(call, refused)
    assert rig.player.rejected == Refusal("E019", "too late")
    assert rig.player.deadline is None


# --- states -----------------------------------------------------------------------------------------------------------


def test_the_documents_states_follow_the_league() -> None:
    rig = Rig()
    seen = [(rig.player.state, rig.player.phase)]

    def then(step: object) -> None:
        seen.append((rig.player.state, rig.player.phase))

    then(rig.enrolled())
    then(rig.say(rig.announcement()))
    then(rig.say(rig.invitation()))
    _, step = rig.post(rig.call())
    then(step)
    then(rig.choose(step, "odd"))
    then(rig.say(rig.over()))
    then(rig.say(rig.completed()))
    assert seen == [
        ("INIT", "UNREGISTERED"),
        ("REGISTERED", "REGISTERED"),
        ("ACTIVE", "WAITING_FOR_ROUND"),
        ("ACTIVE", "IN_MATCH"),
        ("ACTIVE", "IN_MATCH"),
        ("ACTIVE", "WAITING_FOR_RESULT"),
        ("ACTIVE", "WAITING_FOR_ROUND"),
        ("SHUTDOWN", "REGISTERED"),
    ]


def test_a_game_of_several_turns_is_in_the_match_again_with_every_call(rig: Rig) -> None:
    rig.say(rig.invitation(game_type="tic_tac_toe"))
    _, step = rig.post(rig.move_call(1))
    rig.choose(step, "0")
    seen = [rig.player.phase]
    rig.post(rig.move_call(3))
    assert [*seen, rig.player.phase] == ["WAITING_FOR_RESULT", "IN_MATCH"]


def test_a_match_whose_result_was_lost_ends_with_its_round(rig: Rig) -> None:
    rig.say(rig.invitation())
    rig.say(rig.round_completed())
    seen = [rig.player.phase]
    rig.say(rig.invitation(attempt=2))
    assert [*seen, rig.player.phase] == ["WAITING_FOR_ROUND", "IN_MATCH"]


def test_a_declined_match_is_not_played(rig: Rig) -> None:
    rig.say(rig.invitation(game_type="chess"))
    assert rig.player.phase == "WAITING_FOR_ROUND"


# --- broadcasts -------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("BROADCAST.acknowledged")
@pytest.mark.requirement("ACK.own_type")
@pytest.mark.parametrize(
    ("message", "ack"),
    [
        ("announcement", RoundAnnouncementAck),
        ("standings", StandingsUpdateAck),
        ("round_completed", RoundCompletedAck),
        ("completed", LeagueCompletedAck),
    ],
)
@pytest.mark.parametrize("registered", [True, False])
def test_every_broadcast_gets_its_own_acknowledgement(message: str, ack: type[Any], registered: bool) -> None:
    rig = Rig().enrolled() if registered else Rig()
    answer = rig.say(getattr(rig, message)())
    if message == "announcement" and not registered:
        assert isinstance(answer, PeerError), "a round is only told to who is registered"
        return
    assert isinstance(answer, ack)
    assert (answer.status, answer.player_id) == ("ACKNOWLEDGED", ME if registered else None)
    assert (answer.protocol, answer.sender) == ("league.v2", f"player:{ME if registered else 'Ada'}")
    assert (answer.conversation_id, answer.timestamp) == ("round", "2025-06-15T15:06:40Z")
    assert getattr(answer, "round_id", 1) == 1


@pytest.mark.requirement("KEEPING.repetition_harmless")
def test_a_broadcast_delivered_twice_happens_once(rig: Rig) -> None:
    for message in (rig.announcement(), rig.round_completed(), rig.completed()):
        rig.say(message)
        _, step = rig.post(message)
        assert step.events == []
    assert len([event for event in rig.journal if isinstance(event, RoundAnnounced | RoundEnded)]) == 2
    assert len([event for event in rig.journal if isinstance(event, LeagueEnded)]) == 1


def test_the_newest_table_is_kept(rig: Rig) -> None:
    for version in (2, 5, 3):
        rig.say(rig.standings(version))
    assert rig.player.standings is not None
    assert rig.player.standings.version == 5
    rig.say(rig.standings(None, round_id=4))
    assert rig.player.standings.round_id == 4


def test_the_newest_announcement_is_kept(rig: Rig) -> None:
    for round_id in (1, 3, 2):
        rig.say(rig.announcement(round_id))
    assert rig.player.announcement is not None
    assert rig.player.announcement.round_id == 3


def test_after_the_end_no_match_is_begun_or_played_on(rig: Rig) -> None:
    rig.say(rig.invitation())
    letter, _ = rig.post(rig.call())
    rig.say(rig.completed())
    assert rig.answer_to(letter).code == "E031"
    assert rig.refusal_of(rig.call()) == "E031"
    assert rig.refusal_of(rig.invitation("R2M1")) == "E031"
    assert [type(one.message) for one in rig.restart().outbox] == [LeagueQuery]
    assert rig.player.state == "SHUTDOWN"


def test_after_the_end_a_match_is_played_again_with_a_referee_that_proves_who_it_is(rig: Rig) -> None:
    rig.say(rig.completed())
    assert rig.refusal_of(rig.invitation(attempt=2, auth_token="tok_REF01_made_up")) in ("E012", "E031")
    assert rig.player.state == "SHUTDOWN"
    rig.say(rig.invitation(attempt=2))
    assert (rig.player.state, rig.player.phase) == ("ACTIVE", "IN_MATCH")
    rig.say(rig.completed())
    assert rig.player.state == "SHUTDOWN"
    assert len([event for event in rig.journal if isinstance(event, LeagueEnded)]) == 2


def test_an_end_that_comes_late_does_not_break_off_a_match_that_is_played_again(rig: Rig) -> None:
    rig.say(rig.invitation(attempt=2))
    letter, step = rig.post(rig.call(attempt=2))
    rig.say(rig.completed())  # said before the league was opened again
    rig.choose(step, "even")
    assert rig.answer_to(letter).parity_choice == "even"
    assert rig.say(rig.call(attempt=2)).parity_choice == "even"
    rig.say(rig.over(attempt=2))
    assert rig.refusal_of(rig.call(attempt=2)) == "E023"
    assert rig.player.state == "SHUTDOWN"


def test_announcements_of_another_league_are_refused(rig: Rig) -> None:
    assert rig.refusal_of(rig.announcement(league_id="autumn")) == "E028"


def test_a_referee_that_calls_every_league_by_one_name_is_recorded_and_in_strict_refused(rig: Rig) -> None:
    rig.say(rig.invitation(league_id="autumn"))
    found = {one.requirement for one in rig.journal if isinstance(one, DeviationRecorded)}
    assert "GAME_INVITATION.league_id" in found
    strict = Rig(profile="strict").enrolled()
    assert strict.refusal_of(strict.invitation(league_id="autumn")) == "E028"


# --- tokens -----------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("TOKEN.in_answers")
def test_a_referee_is_shown_a_token_for_it_alone(rig: Rig) -> None:
    join = rig.say(rig.invitation(attempt=2))
    assert join.auth_token == tokens.derive(KEY, ME, "REF01", LEAGUE, "R1M1", 2)
    letter, step = rig.post(rig.call(attempt=2))
    rig.choose(step, "odd")
    assert rig.answer_to(letter).auth_token == join.auth_token
    assert rig.say(rig.over(attempt=2)).auth_token == join.auth_token
    assert TOKEN not in repr(rig.replies)


@pytest.mark.requirement("TOKEN.in_answers")
def test_under_another_manager_joins_and_choices_carry_the_registration_token() -> None:
    rig = Rig(derived=False).enrolled()
    assert rig.say(rig.invitation()).auth_token == TOKEN
    letter, step = rig.post(rig.call())
    rig.choose(step, "odd")
    assert rig.answer_to(letter).auth_token == TOKEN


@pytest.mark.parametrize("message", ["announcement", "standings", "round_completed", "error"])
def test_who_has_not_proved_to_be_the_manager_never_sees_our_registration_token(message: str) -> None:
    rig = Rig(derived=False).enrolled()
    assert rig.say(with_wrong_token(getattr(rig, message)())).auth_token is None


@pytest.mark.requirement("TOKEN.managers_news")
@pytest.mark.parametrize("profile", ["compat", "strict"])
@pytest.mark.parametrize("message", ["announcement", "standings", "round_completed", "completed"])
def test_news_of_a_stranger_is_refused_in_every_profile_and_changes_nothing(message: str, profile: Profile) -> None:
    rig = Rig(profile=profile).enrolled()
    before = rig.player.snapshot()
    fields = getattr(rig, message)()
    assert rig.refusal_of(with_wrong_token(fields)) == "E012"
    assert rig.refusal_of(without_token(fields)) == "E011"
    assert rig.player.snapshot() == before
    assert rig.news == []


def test_the_head_of_the_managers_journal_is_kept(rig: Rig) -> None:
    head = {"seq": 12, "digest": "ab" * 32}
    rig.say(rig.announcement())
    rig.say(rig.standings(head=head))
    rig.say(rig.round_completed())
    rig.say(rig.completed(head={"seq": 14, "digest": "cd" * 32}))
    (ended,) = rig.of(RoundEnded)
    (over,) = rig.of(LeagueEnded)
    assert (ended.head_seq, ended.head_digest) == (12, "ab" * 32)
    assert (over.head_seq, over.head_digest) == (14, "cd" * 32)


def test_a_referee_that_cannot_prove_itself_gets_a_token_that_opens_nothing(rig: Rig) -> None:
    rig.say(rig.announced_without_tokens())
    shown = rig.say(with_wrong_token(rig.invitation())).auth_token
    assert shown not in (None, TOKEN, tokens.derive(KEY, ME, "REF01", LEAGUE, "R1M1", 1))


def test_a_referee_that_goes_by_our_last_registration_gets_the_answer_it_can_check(rig: Rig) -> None:
    rig.meta = structs.replace(META, contact_endpoint="http://127.0.0.1:8102/mcp")
    (register,) = rig.restart().outbox
    rig.answer(register, rig.accepted(tokens.mint(ME, bytes(32))))
    assert len([event for event in rig.journal if isinstance(event, Registered)]) == 2
    assert rig.say(rig.invitation()).auth_token == tokens.derive(KEY, ME, "REF01", LEAGUE, "R1M1", 1)
    assert recorded(rig) == []


@pytest.mark.requirement("PROFILE.compat_records")
def test_a_wrong_token_of_a_referee_that_shows_no_other_is_recorded_once_in_compat_and_the_match_goes_on(
    rig: Rig,
) -> None:
    rig.say(rig.announced_without_tokens())
    for _ in range(2):
        assert rig.say(with_wrong_token(rig.invitation())).accept
        rig.post(with_wrong_token(rig.call()))
    assert recorded(rig) == [("REF01", "E012")]


@pytest.mark.parametrize("profile", ["compat", "strict"])
def test_a_manager_that_goes_by_another_of_our_tokens_is_shown_ours(profile: Profile) -> None:
    rig = Rig(profile=profile).enrolled()
    _, step = rig.post(with_wrong_token(rig.announcement()))
    (call,) = step.outbox
    assert isinstance(call.message, LeagueQuery)
    assert call.to[0].token == TOKEN
    rig.answer(call, response(rig))
    assert rig.query_answers == []
    rig.now += 59
    assert rig.post(with_wrong_token(rig.announcement()))[1].outbox == []
    rig.now += 1
    assert len(rig.post(with_wrong_token(rig.announcement()))[1].outbox) == 1


@pytest.mark.requirement("PROFILE.strict_refuses")
@pytest.mark.parametrize("message", ["invitation", "call", "error", "over", "announcement", "standings", "completed"])
def test_a_wrong_token_is_refused_in_strict(message: str) -> None:
    rig = Rig(profile="strict").enrolled()
    fields = getattr(rig, message)()
    assert rig.refusal_of(with_wrong_token(fields)) == "E012"
    assert rig.refusal_of(without_token(fields)) == "E011"
    assert recorded(rig) == []


def test_the_end_of_the_league_must_be_proved_where_it_can_be(rig: Rig) -> None:
    assert rig.refusal_of(with_wrong_token(rig.completed())) == "E012"
    assert rig.player.state == "REGISTERED"
    other = Rig(derived=False).enrolled()
    other.say(with_wrong_token(other.completed()))
    assert other.player.state == "SHUTDOWN"


def test_under_another_manager_nothing_is_checked() -> None:
    rig = Rig(profile="strict", derived=False).enrolled()
    assert rig.say(with_wrong_token(rig.invitation(league_id="whatever"))).accept
    assert recorded(rig) == []


@pytest.mark.parametrize("referee", ["REF01", "REF66"])
@pytest.mark.parametrize("attempt", [None, 1, 9])
def test_a_strangers_invitation_does_not_cost_us_the_match(rig: Rig, attempt: int | None, referee: str) -> None:
    rig.say(rig.invitation())
    rig.say(with_wrong_token(rig.invitation(attempt=attempt, referee=referee)))
    letter, step = rig.post(rig.call())
    rig.choose(step, "odd")
    assert rig.answer_to(letter).parity_choice == "odd"


def test_a_strangers_result_or_error_does_not_end_the_match_of_a_referee_that_proved_itself(rig: Rig) -> None:
    rig.say(rig.invitation())
    _, step = rig.post(rig.call())
    rig.choose(step, "odd")
    rig.say(with_wrong_token(rig.over()))
    rig.say(with_wrong_token(rig.over(attempt=9, referee="REF66")))
    rig.say(with_wrong_token(rig.error()))
    letter, step = rig.post(rig.call())
    assert rig.answer_to(letter).parity_choice == "odd"
    rig.say(rig.over())
    assert [row.attempt for row in rig.player.history] == [1]


def test_an_invitation_forged_before_the_true_one_does_not_stand_in_its_way(rig: Rig) -> None:
    assert rig.refusal_of(with_wrong_token(rig.invitation(game_type="chess"))) == "E012"
    assert rig.say(rig.invitation()).accept is True


@pytest.mark.requirement("KEEPING.bounded")
def test_deviations_are_not_recorded_without_end(rig: Rig) -> None:
    for number in range(DEVIATIONS + 50):
        rig.say(with_wrong_token(rig.error(referee=f"REF{number}")))
    assert len(recorded(rig)) == DEVIATIONS


# --- strategies -------------------------------------------------------------------------------------------------------


def test_a_strategy_is_told_all_it_may_know(rig: Rig) -> None:
    rig.say(rig.invitation())
    rig.say(rig.over())
    rig.say(rig.invitation("R2M1", opponent_id="P03"))
    _, step = rig.post(rig.call("R2M1"))
    turn = rig.player.turn(step.asks[0])
    assert (turn.game_type, turn.match_id, turn.opponent_id) == ("even_odd", "R2M1", "P03")
    assert (turn.options, turn.number, len(turn.chance)) == (("even", "odd"), 1, 32)
    assert turn.record == {"wins": 1, "losses": 0, "draws": 2, "points": 5}
    assert [row.match_id for row in turn.history] == ["R1M1"]
    assert turn.view["round_id"] == 1


def test_a_strategy_of_another_game_sees_its_view(rig: Rig) -> None:
    rig.say(rig.invitation(game_type="tic_tac_toe"))
    _, step = rig.post(rig.move_call(3, ("1", "2")))
    turn = rig.player.turn(step.asks[0])
    assert (turn.options, turn.number, turn.view["board"]) == (("1", "2"), 3, ["X", "X", "X"])
    strategy = strategies.find("random")
    assert strategy is not None
    assert strategy.choose(turn) in ("1", "2")


# --- queries ----------------------------------------------------------------------------------------------------------


def response(rig: Rig) -> dict[str, Any]:
    said = rig.envelope("LEAGUE_QUERY_RESPONSE")
    return {**said, "query_type": "GET_STATUS", "success": True, "data": {"status": "RUNNING_LEAGUE"}}


def ask(rig: Rig) -> Outgoing:
    (call,) = rig.take(rig.player.query("mine", "GET_STATUS", {"round_id": 1}, rig.now)).outbox
    return call


@pytest.mark.requirement("TOKEN.sent")
def test_a_query_goes_to_the_manager_with_our_registration_token(rig: Rig) -> None:
    call = ask(rig)
    assert isinstance(call.message, LeagueQuery)
    assert (call.to[0].endpoint, call.to[0].token, call.deadline) == (MANAGER_URL, TOKEN, rig.now + 10)
    assert (call.message.sender, call.message.league_id, call.message.auth_token) == ("player:P01", LEAGUE, None)
    rig.answer(call, response(rig))
    (answer,) = rig.query_answers
    assert answer.key == "mine"
    assert answer.response is not None
    assert answer.response.data == {"status": "RUNNING_LEAGUE"}


@pytest.mark.requirement("QUERY.retried")
def test_a_query_nobody_answers_is_repeated_three_times_and_then_given_up(rig: Rig) -> None:
    call, keys = ask(rig), set()
    for _ in range(3):
        keys.add(call.key)
        before = rig.now
        rig.fail(Undelivered(call.key, "league_manager", Failure.TIMEOUT))
        (call,) = rig.tick().outbox
        assert rig.now - before == 2
    rig.fail(Undelivered(call.key, "league_manager", Failure.TIMEOUT))
    assert len({*keys, call.key}) == 4
    assert [answer.error for answer in rig.query_answers] == ["E001"]
    assert rig.player.deadline == START + POLL_S


def test_what_our_own_process_slept_through_is_not_counted(rig: Rig) -> None:
    call = ask(rig)
    for _ in range(9):
        (call,) = rig.fail(Undelivered(call.key, "league_manager", Failure.TIMEOUT, Blame.LOCAL)).outbox
    rig.answer(call, response(rig))
    assert rig.query_answers[0].error is None


def test_a_busy_manager_is_asked_again_when_it_said_so(rig: Rig) -> None:
    call, before = ask(rig), rig.now
    rig.fail(Undelivered(call.key, "league_manager", Failure.BUSY, retry_after=7.0))
    rig.tick()
    assert rig.now - before == 7


@pytest.mark.requirement("REGISTER.again_after_E012")
def test_after_e012_we_register_again_and_ask_with_the_new_token(rig: Rig) -> None:
    (register,) = rig.answer(ask(rig), Refusal("E012", "unknown token")).outbox
    assert isinstance(register.message, LeagueRegisterRequest)
    rig.answer(register, rig.accepted("tok_P01_new"))
    (call,) = rig.tick().outbox
    assert call.to[0].token == "tok_P01_new"
    assert rig.answer(call, Refusal("E012", "unknown token")).outbox == []


def test_a_registration_under_way_ends_with_the_league(rig: Rig) -> None:
    (register,) = rig.answer(ask(rig), Refusal("E012", "unknown token")).outbox
    rig.fail(Undelivered(register.key, "league_manager", Failure.REFUSED))
    rig.say(rig.completed())
    (query,) = rig.tick().outbox
    assert isinstance(query.message, LeagueQuery)
    assert rig.player.deadline is None


def test_after_the_end_of_the_league_nobody_registers_again(rig: Rig) -> None:
    call = ask(rig)
    rig.say(rig.completed())
    assert rig.answer(call, Refusal("E012", "unknown token")).outbox == []


@pytest.mark.parametrize("content", [Refusal("E032", "no"), Pong(), {"message_type": "LEAGUE_QUERY_RESPONSE"}])
def test_an_answer_that_will_not_get_better_ends_the_query(rig: Rig, content: Any) -> None:
    rig.answer(ask(rig), content)
    assert rig.query_answers[0].error is not None
    assert rig.player.deadline == START + POLL_S


def test_before_registering_there_is_nobody_to_ask() -> None:
    rig = Rig()
    assert rig.take(rig.player.query("mine", "GET_STATUS", {}, rig.now)).outbox == []
    assert rig.query_answers[0].error == "E023"


def test_late_answers_to_calls_nobody_remembers_change_nothing(rig: Rig) -> None:
    call = ask(rig)
    rig.answer(call, response(rig))
    for late in (rig.answer(call, response(rig)), rig.fail(Undelivered(call.key, "league_manager", Failure.TIMEOUT))):
        assert late == Step()
    assert len(rig.query_answers) == 1


# --- before we are registered -----------------------------------------------------------------------------------------


@pytest.mark.requirement("PLAYER.unregistered")
def test_an_unregistered_player_that_is_told_of_a_round_says_3002() -> None:
    rig = Rig()
    letter, _ = rig.post(rig.announcement())
    error = rig.answer_to(letter)
    assert isinstance(error, PeerError)
    assert (error.code, error.row.number(family_of("ROUND_ANNOUNCEMENT"))) == ("E005", 3002)
    assert rig.of(RoundAnnounced) == []


@pytest.mark.requirement("PLAYER.unregistered")
def test_an_announcement_that_overtook_the_answer_to_our_registration_waits_for_it() -> None:
    rig = Rig()
    (call,) = rig.take(rig.player.resume(rig.now)).outbox
    accepted = rig.accepted()
    letter, _ = rig.post(rig.announcement())
    assert letter not in rig.replies
    rig.answer(call, accepted)
    assert isinstance(rig.answer_to(letter), RoundAnnouncementAck)
    assert len(rig.of(RoundAnnounced)) == 1


def test_an_announcement_is_refused_when_the_registration_came_to_nothing() -> None:
    rig = Rig()
    (call,) = rig.take(rig.player.resume(rig.now)).outbox
    letter, _ = rig.post(rig.announcement())
    rig.fail(Undelivered(call.key, "league_manager", Failure.TIMEOUT))
    assert rig.answer_to(letter).code == "E005"


# --- everything else --------------------------------------------------------------------------------------------------


@pytest.mark.requirement("RPC.ping")
def test_a_ping_is_answered(rig: Rig) -> None:
    letter, _ = rig.hand(Ping())
    assert rig.answer_to(letter) == Pong(player_id="P01")


@pytest.mark.requirement("PLAYER.survives_nonsense")
@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({}, "E003"),
        ({"message_type": "HELLO"}, "E038"),
        ({"message_type": "GAME_INVITATION"}, "E003"),
        ({"message_type": "MATCH_RESULT_ACK", "status": "ACCEPTED", "match_id": "R1M1", "round_id": 1}, "E036"),
        ({"message_type": "LEAGUE_ERROR", "error_code": 12, "error_description": "AUTH_TOKEN_INVALID"}, "E007"),
    ],
)
def test_nonsense_is_refused_and_changes_nothing(rig: Rig, fields: dict[str, Any], code: str) -> None:
    before = rig.player.snapshot()
    assert rig.refusal_of(fields) == code
    assert rig.player.snapshot() == before


def test_a_player_takes_no_operators_orders(rig: Rig) -> None:
    letter, _ = rig.hand(Operate("start", "1"))
    error = rig.answer_to(letter)
    assert isinstance(error, PeerError)
    assert error.code == "E036"


@pytest.mark.requirement("PLAYER.ignores_unknown_fields")
def test_unknown_fields_are_ignored(rig: Rig) -> None:
    assert rig.say(rig.invitation(colour="blue")).accept


@pytest.mark.requirement("PROFILE.compat_records")
def test_what_compat_lets_pass_is_recorded(rig: Rig) -> None:
    rig.say(rig.invitation(sender="REF01"))
    assert recorded(rig) == [("REF01", "E008")]


@pytest.mark.requirement("PLAYER.talks_to_no_player")
def test_all_a_player_sends_goes_to_the_manager() -> None:
    rig = Rig()
    sent = [*rig.take(rig.player.resume(rig.now)).outbox]
    rig.answer(sent[0], rig.accepted())
    sent.append(ask(rig))
    assert {address.agent_id for call in sent for address in call.to} == {"league_manager"}
