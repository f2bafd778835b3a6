"""Whom a player listens to in a match: peeking strangers get nothing, whatever they show."""

from __future__ import annotations

from typing import Any

import pytest

from league.events import ChoiceGiven, GameEnded, InvitationAnswered
from league.machine import Inquiry, Letter
from league.player.playing.credentials import may_come_from
from league.protocol.errors import PeerError
from league.protocol.signing import tokens
from tests.support.player_rig import KEY, LEAGUE, ME, Rig

OTHER = tokens.mint("P02", bytes(32))
"""Another player's registration token."""
SHOWN: dict[str, Any] = {
    "nothing": None,
    "another player's token": OTHER,
    "an invented one": "tok_REF01_invented",
    "the token of another match": tokens.derive(KEY, "REF01", ME, LEAGUE, "R9M9", 1),
    "the token of another referee": tokens.derive(KEY, "REF02", ME, LEAGUE, "R1M1", 1),
    "the token of another player": tokens.derive(tokens.deriver(OTHER), "REF01", "P02", LEAGUE, "R1M1", 1),
}
REFEREE = "10.0.0.1"
STRANGER = "10.9.9.9"


def foreign(**named: Any) -> Rig:
    """Under a manager that derives no tokens, which announced the referee of R1M1."""
    rig = Rig(derived=False).enrolled()
    rig.say(rig.announced_without_tokens(referee_tokens=None, **named))
    return rig


def refusal(rig: Rig, message: dict[str, Any], origin: str) -> str:
    error = rig.answer_to(rig.post(message, origin)[0])
    assert isinstance(error, PeerError)
    return error.code


# --- where tokens can be checked --------------------------------------------------------------------------------------


@pytest.mark.requirement("PLAYER.hears_its_referee_only")
@pytest.mark.parametrize("token", SHOWN.values(), ids=SHOWN)
@pytest.mark.parametrize("when", ["before", "invited", "asked", "answered"])
def test_nobody_learns_a_choice_without_the_token_of_the_match(token: str | None, when: str) -> None:
    rig = Rig().enrolled()
    if when != "before":
        rig.say(rig.invitation())
    if when in ("asked", "answered"):
        _, step = rig.post(rig.call())
        if when == "answered":
            rig.choose(step, "even")
    for message in (rig.invitation(auth_token=token), rig.call(auth_token=token)):
        letter, step = rig.post(message)
        refused = rig.answer_to(letter)
        assert isinstance(refused, PeerError)
        assert refused.code == ("E012" if token else "E011")
        assert step.asks == []
    assert len(rig.of(InvitationAnswered)) == (when != "before")


@pytest.mark.requirement("PLAYER.hears_its_referee_only")
def test_the_strategy_is_asked_once_and_the_referee_alone_gets_the_choice() -> None:
    rig = Rig().enrolled()
    rig.say(rig.invitation())
    rig.post(rig.call(auth_token=None))
    letter, step = rig.post(rig.call())
    rig.post(rig.call(auth_token=OTHER))
    rig.choose(step, "odd")
    assert rig.answer_to(letter).parity_choice == "odd"
    assert rig.say(rig.call()).parity_choice == "odd"
    assert len(rig.of(ChoiceGiven)) == 1


def test_a_refused_token_makes_the_player_show_the_manager_its_own() -> None:
    rig = Rig().enrolled()
    _, step = rig.post(rig.invitation(auth_token="tok_REF01_newer"))
    assert [one.message.type for one in step.outbox] == ["LEAGUE_QUERY"]  # type: ignore[union-attr] # no ping


# --- a player that lost its memory ------------------------------------------------------------------------------------


@pytest.mark.requirement("PLAYER.answers_unknown_matches")
@pytest.mark.parametrize("attempt", [1, 3])
def test_a_call_for_an_unknown_match_is_answered_when_its_token_is_right(attempt: int) -> None:
    rig = Rig().enrolled()
    letter, step = rig.post(rig.call(attempt=attempt))
    rig.choose(step, "odd")
    assert rig.answer_to(letter).parity_choice == "odd"
    token = tokens.derive(KEY, ME, "REF01", LEAGUE, "R1M1", attempt)
    assert rig.answer_to(letter).auth_token == token
    assert rig.say(rig.call(attempt=attempt)).parity_choice == "odd"
    rig.say(rig.over(attempt=attempt))
    assert [(row.opponent_id, row.attempt, row.outcome) for row in rig.player.history] == [("P02", attempt, "WIN")]


@pytest.mark.requirement("PLAYER.answers_unknown_matches")
def test_the_result_says_who_the_opponent_in_an_unknown_match_was() -> None:
    rig = Rig().enrolled()
    call = rig.call()
    del call["context"]
    _, step = rig.post(call)
    rig.choose(step, "odd")
    rig.say(rig.over())
    assert [row.opponent_id for row in rig.player.history] == ["P02"]


@pytest.mark.requirement("PLAYER.answers_unknown_matches")
def test_an_older_attempt_of_a_known_match_is_not_taken_up() -> None:
    rig = Rig().enrolled()
    rig.say(rig.invitation(attempt=2))
    assert rig.refusal_of(rig.call(attempt=1, referee="REF02")) == "E016"


# --- where no token can be expected -----------------------------------------------------------------------------------


def by_others(rig: Rig, **changed: Any) -> dict[str, Any]:
    return rig.invitation(attempt=None, **changed)


@pytest.mark.requirement("PLAYER.hears_its_referee_only")
@pytest.mark.parametrize("token", [None, "tok_of_the_first"])
def test_under_another_manager_the_first_caller_is_the_referee_and_nobody_else(token: str | None) -> None:
    rig = foreign()
    assert rig.say(by_others(rig, auth_token=token)).accept
    for other in ({"auth_token": "tok_of_a_second"}, {"auth_token": token, "sender": "referee:REF02"}):
        assert rig.refusal_of(by_others(rig, **other)) == "E012"
        assert rig.refusal_of(rig.call(attempt=None, **other)) == "E012"
        rig.say(rig.over(attempt=None, **other))
    assert rig.of(GameEnded) == []
    letter, step = rig.post(rig.call(attempt=None, auth_token=token))
    rig.choose(step, "even")
    assert rig.answer_to(letter).parity_choice == "even"


@pytest.mark.requirement("PLAYER.plays_again")
@pytest.mark.parametrize("referee", ["REF01", "REF02"])
def test_under_another_manager_a_match_that_is_over_may_be_played_again_by_any_referee(referee: str) -> None:
    rig, second = foreign(), {"sender": f"referee:{referee}", "auth_token": "tok_of_the_second"}
    rig.say(rig.invitation(attempt=1, auth_token="tok_of_the_first"))
    assert rig.refusal_of(rig.invitation(attempt=2, **second)) == "E012", "the first is not over"
    rig.say(rig.over(attempt=1, auth_token="tok_of_the_first"))
    assert rig.refusal_of(rig.invitation(attempt=1, **second)) == "E012", "no other attempt"
    assert rig.refusal_of(rig.call(attempt=1, **second)) == "E012", "no invitation"
    assert rig.say(rig.invitation(attempt=2, **second)).accept
    for stranger in ({"auth_token": "tok_of_a_third"}, {"auth_token": "tok_of_the_first"}):
        assert rig.refusal_of(rig.invitation(attempt=3, **stranger)) == "E012"
    letter, step = rig.post(rig.call(attempt=2, **second))
    rig.choose(step, "odd")
    assert rig.answer_to(letter).parity_choice == "odd"


@pytest.mark.requirement("PLAYER.hears_its_referee_only")
def test_the_first_caller_is_the_referee_after_a_restart_too() -> None:
    rig = foreign()
    rig.say(by_others(rig, auth_token="tok_of_the_first"))
    rig.restart()
    assert rig.refusal_of(rig.call(attempt=None, auth_token="tok_of_a_second")) == "E012"
    assert rig.post(rig.call(attempt=None, auth_token="tok_of_the_first"))[1].asks


@pytest.mark.requirement("PLAYER.hears_its_referee_only")
def test_under_another_manager_a_call_comes_from_where_the_referee_was_announced() -> None:
    rig = foreign()
    assert refusal(rig, by_others(rig), STRANGER) == "E012"
    assert rig.answer_to(rig.post(by_others(rig), REFEREE)[0]).accept
    assert refusal(rig, rig.call(attempt=None), STRANGER) == "E012"


def test_under_another_manager_nobody_can_announce_a_second_referee() -> None:
    rig = foreign()
    rig.say(rig.announced_without_tokens(referee_endpoint="http://10.9.9.9:1/mcp", referee_tokens=None))
    assert refusal(rig, by_others(rig), STRANGER) == "E012"


def test_an_error_of_a_second_caller_takes_no_choice_back() -> None:
    rig = foreign()
    rig.say(by_others(rig))
    _, step = rig.post(rig.call(attempt=None))
    rig.choose(step, "even")
    rig.say(rig.error(attempt=None, auth_token="tok_of_a_second"))
    assert rig.say(rig.call(attempt=None)).parity_choice == "even"


# --- a third-party referee under our manager --------------------------------------------------------------------------


@pytest.mark.requirement("PLAYER.hears_its_referee_only")
def test_a_referee_without_derived_tokens_is_known_by_the_one_it_registered_with() -> None:
    rig, own = Rig().enrolled(), tokens.mint("REF01", bytes(32))
    rig.say(rig.announced_without_tokens(referee_tokens=[tokens.verifier(own)]))
    assert rig.say(by_others(rig, auth_token="tok_of_a_stranger")).accept, "it may be the referee: it came first"
    assert rig.say(by_others(rig, auth_token=own)).accept
    assert rig.refusal_of(rig.call(attempt=None, auth_token="tok_of_a_stranger")) == "E012"
    assert rig.post(rig.call(attempt=None, auth_token=own))[1].asks


@pytest.mark.requirement("PLAYER.hears_its_referee_only")
def test_only_the_manager_can_say_that_a_referee_shows_no_tokens() -> None:
    rig = Rig().enrolled()
    rig.say({**rig.announced_without_tokens(), "auth_token": "tok_of_a_stranger"})
    assert rig.refusal_of(by_others(rig, auth_token=None)) == "E011"
    rig.say(rig.announced_without_tokens())
    assert rig.say(by_others(rig, auth_token=None)).accept


def test_the_true_referee_takes_the_place_of_whoever_came_first() -> None:
    rig = Rig().enrolled()
    rig.say(rig.announced_without_tokens())
    assert rig.say(by_others(rig, auth_token=None)).accept
    assert rig.say(rig.invitation()).accept
    assert rig.refusal_of(rig.call(attempt=None, auth_token=None)) == "E011"
    assert rig.post(rig.call())[1].asks


# --- what others can see ----------------------------------------------------------------------------------------------


@pytest.mark.requirement("PLAYER.hides_that_it_answered")
def test_the_state_that_is_shown_does_not_move_when_the_player_has_chosen() -> None:
    rig = Rig().enrolled()
    rig.say(rig.invitation())

    def shown() -> object:
        step = rig.take(rig.player.handle(Letter(10_000 + len(rig.replies), Inquiry("get_player_state", {})), rig.now))
        return step.replies[0].content

    before = shown()
    _, step = rig.post(rig.call())
    assert shown() == before
    rig.choose(step, "even")
    assert rig.player.phase == "WAITING_FOR_RESULT"
    assert shown() == before
    rig.say(rig.over())
    assert shown() != before


@pytest.mark.parametrize(
    ("origin", "endpoint", "may"),
    [
        ("10.0.0.7", "http://10.0.0.7:8101/mcp", True),
        ("10.0.0.7:53124", "http://10.0.0.7:8101/mcp", True),
        ("10.0.0.8", "http://10.0.0.7:8101/mcp", False),
        ("127.0.0.1", "http://localhost:8101/mcp", True),
        ("10.0.0.7", "http://localhost:8101/mcp", False),
        ("::1", "http://127.0.0.1/mcp", True),
        ("[::1]:4000", "https://LOCALHOST", True),
        ("2001:db8::1", "http://[2001:DB8::1]:80/mcp", True),
        ("2001:db8::2", "http://[2001:DB8::1]:80/mcp", False),
        ("example.org", "http://Example.org.?x=1", True),
        ("10.0.0.7", "http://referee.example/mcp", True),
        ("127.0.0.1", "http://10.0.0.7/mcp", False),
        ("", "http://10.0.0.7/mcp", True),
    ],
)
def test_an_address_is_compared_without_port_case_and_path_and_a_name_may_be_anywhere(
    origin: str, endpoint: str, may: bool
) -> None:
    assert may_come_from(origin, endpoint) is may
