"""Third-party referees under our manager: how each comes by its matches, and that none is made to play twice."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import msgspec
import pytest
from msgspec import Raw

from league import events as e
from league.hosting import narration
from league.machine import Content, Failure, Information, Inquiry, Pong, Refusal, Undelivered
from league.protocol.conventions import Convention
from league.protocol.errors import Stage, Violation
from league.protocol.message.envelope import Reading, Unsealed, unseal
from league.reading import views
from tests.support.managed import LEAGUE, Managed, Object, Sent, code_of, matches_in, plain

UNKNOWN = Refusal("E036", "no such method", understood=False)
BUSY = Refusal("E023", "one match at a time")
START = ("START_MATCH", "MATCH_ASSIGNMENT")
AFTER_S = 15.0


def league_of(players: int = 4, capacity: int | None = 2, **changed: Any) -> Managed:
    """A league whose only referee is by somebody else, up to its copy of the first announcement."""
    league = Managed(players=players, referees=1, **changed)
    league.register("referee", 1, max_concurrent_matches=capacity, token_scheme=None)
    for number in range(1, players + 1):
        league.register("player", number)
    live(league)
    return league


def live(league: Managed, seconds: float = 0.0) -> None:
    """Time passes; players answer everything, the referee its pings and nothing else."""
    until = league.now + seconds
    while True:
        while mine := [one for one in league.calls() if one.to.agent_id.startswith("P") or one.kind == "ping"]:
            for one in mine:
                league.answer(one)
        if league.now >= until:
            return
        league.wait(min(0.5, until - league.now))


def given(league: Managed, kind: str = "ROUND_ANNOUNCEMENT") -> Sent:
    """The one call of this kind that waits for the referee."""
    (one,) = league.calls(kind, "REF01")
    return one


def say(league: Managed, one: Sent, content: Content | None = None) -> None:
    league.answer(one, content)
    live(league)


def refuse_announcement(league: Managed) -> None:
    """In whatever convention it is put."""
    while calls := league.calls("ROUND_ANNOUNCEMENT", "REF01"):
        say(league, calls[0], UNKNOWN)


def kinds(league: Managed) -> list[str]:
    """What the referee was sent, in order, without repetitions in other conventions."""
    found = [one.kind for one in league.told("REF01") if one.kind != "ROUND_COMPLETED"]
    return [kind for place, kind in enumerate(found) if place == 0 or found[place - 1] != kind]


def learned(league: Managed) -> list[str]:
    return [one.method for one in league.of(e.DispatchLearned)]


def report(league: Managed, match_id: str, **changed: Any) -> str:
    code = code_of(league.report(match_id, **changed))
    live(league)
    return code


def poll(league: Managed, **changed: Any) -> Object | str:
    params = {"referee_id": "REF01", "auth_token": league.tokens["REF01"], **changed}
    answer: object = league.request(Inquiry("get_assigned_matches", params))
    return dict(answer.data) if isinstance(answer, Information) else code_of(answer)


# --- how it comes by a match ------------------------------------------------------------------------------------------


def test_its_copy_of_the_announcement_serves_whoever_looks_for_its_id_endpoint_or_port() -> None:
    league = league_of()
    matches = plain(given(league).message)["matches"]  # type: ignore[arg-type]
    assert {(one["referee_id"], one["referee_endpoint"]) for one in matches} == {("REF01", "http://127.0.0.1:8001/mcp")}
    assert [one["player_A_endpoint"] for one in matches] == [
        league.manager.ledger.roster.members[one["player_A_id"]].endpoint for one in matches
    ]


def test_who_reports_after_the_announcement_is_told_of_matches_so_and_never_otherwise() -> None:
    league = league_of(players=2, double=True)
    say(league, given(league))
    assert report(league, "R1M1") == ""
    assert learned(league) == ["ROUND_ANNOUNCEMENT"]
    say(league, given(league))
    live(league, 200)
    assert kinds(league) == ["ROUND_ANNOUNCEMENT"]


def test_who_understands_the_announcement_in_no_convention_is_given_its_matches_at_once() -> None:
    league = league_of()
    refuse_announcement(league)
    announced = [one.to.convention.name for one in league.told("REF01")[:5]]
    assert announced == ["SPEC", "TYPE", "TOOLS", "NESTED", "BARE"]
    assert [one.to.convention.name for one in league.calls("START_MATCH")] == ["SPEC", "SPEC"]
    assert league.told("REF01")[-1].at == league.told("REF01")[0].at


def test_who_refuses_the_announcement_in_words_of_the_catalogue_is_given_its_matches_too() -> None:
    league = league_of(players=2)
    say(league, given(league), BUSY)
    assert league.calls("START_MATCH", "REF01")


def refuse_everything(league: Managed, words: str, referee_id: str = "REF01") -> None:
    """The referee refuses whatever it is given, in every convention."""
    refusal = Refusal("E036", words, understood=False, words=words)
    given_to = partial(league.calls, to=referee_id)
    while calls := [call for kind in ("ROUND_ANNOUNCEMENT", *START) for call in given_to(kind)]:
        say(league, calls[0], refusal)


def test_who_refuses_every_form_of_assignment_is_named_at_once_in_its_own_words() -> None:
    league = league_of(players=2)
    begun = league.now
    refuse_everything(league, "4002 Invalid method, expected league.handle")
    assert league.now == begun
    (trouble,) = league.of(e.AgentProbed)
    assert (trouble.agent_id, trouble.is_trouble) == ("REF01", True)
    assert trouble.findings.startswith(
        "it refuses every form of assignment that we know; it answered: 4002 Invalid method, expected league.handle"
    )
    assert "It must accept one of ROUND_ANNOUNCEMENT, START_MATCH, MATCH_ASSIGNMENT" in trouble.findings
    # Nobody else could play it: the match stays with this referee, which may report it yet.
    assert league.of(e.MatchLost) == []
    assert report(league, "R1M1") == ""
    assert not league.manager.ledger.roster.members["REF01"].probed.in_trouble
    assert league.of(e.AgentProbed)[-1].findings == ""


def test_the_answer_to_the_form_that_a_referee_knows_is_quoted() -> None:
    league = league_of(players=2)
    refuse_announcement(league)
    say(league, given(league, "START_MATCH"), Refusal("E099", "", words="Missing player1 or player2 in params"))
    refuse_everything(league, "Method not found")
    (trouble,) = league.of(e.AgentProbed)
    assert "it answered: Missing player1 or player2 in params. It must accept" in trouble.findings


def test_what_a_referee_refuses_in_every_form_goes_to_another_at_once() -> None:
    league = Managed(players=2, referees=2)
    for number in (1, 2):
        league.register("referee", number, token_scheme=None)
    for number in (1, 2):
        league.register("player", number)
    live(league)
    match = league.manager.ledger.matches["R1M1"]
    first = match.referee_id or ""
    refuse_everything(league, "no", first)
    (lost,) = league.of(e.MatchLost)
    assert lost.why.startswith(f"{first}: it refuses every form of assignment")
    assert match.referee_id not in (None, first)
    assert narration.MANAGER[e.MatchLost](league.manager, lost).startswith("R1M1 is taken from its referee: REF0")


def test_who_answers_every_form_with_a_page_of_html_is_named_with_it_and_each_form_is_tried_once() -> None:
    league = Managed(players=2, referees=2)
    for number in (1, 2):
        league.register("referee", number, token_scheme=None)
    for number in (1, 2):
        league.register("player", number)
    live(league)
    first = league.manager.ledger.matches["R1M1"].referee_id or ""
    page = Unsealed(None, None, (Violation("E034", "", 'not JSON: "<h1>It works</h1>"', "RPC", Stage.TYPE),))
    for _ in range(150):
        for call in [call for kind in ("ROUND_ANNOUNCEMENT", *START) for call in league.calls(kind, first)]:
            league.answer(call, page)
        live(league, 0.5)
    given_to = [call.kind for call in league.told(first) if call.kind in ("ROUND_ANNOUNCEMENT", *START)]
    assert sorted(set(given_to)) == sorted(given_to) == sorted(("ROUND_ANNOUNCEMENT", *START))
    (trouble,) = league.of(e.AgentProbed)
    assert 'we know; its answer is not JSON: "<h1>It works</h1>". It must accept' in trouble.findings
    assert league.of(e.MatchLost) == [], "it may be playing: its lease decides"


@pytest.mark.parametrize(
    ("failure", "detail", "clause"),
    [
        (
            Failure.SERVER_ERROR,
            'answered with HTTP status 500 "KeyError"',
            'it answered with HTTP status 500 "KeyError"',
        ),
        (Failure.NOT_UNDERSTOOD, "answered with HTTP status 404", "it answered with HTTP status 404"),
        (Failure.BROKEN, "", "the last call failed: the connection broke"),
    ],
    ids=["500", "404", "broken"],
)
def test_who_answers_every_form_with_an_http_error_is_named_with_it(failure: Failure, detail: str, clause: str) -> None:
    league = league_of(players=2)
    for _ in range(300):
        for call in [call for kind in ("ROUND_ANNOUNCEMENT", *START) for call in league.calls(kind, "REF01")]:
            league.fail(Undelivered(call.key, call.to.agent_id, failure, detail=detail))
        live(league, 0.5)
    (trouble,) = league.of(e.AgentProbed)
    assert trouble.is_trouble
    assert trouble.findings.startswith(f"it refuses every form of assignment that we know; {clause}. It must accept")


def test_the_operator_is_told_without_blame_of_a_match_that_is_not_reported_in_half_of_its_time() -> None:
    league = league_of(players=2)
    acknowledge_everything(league, 105)
    assert league.of(e.AgentProbed) == []
    assert league.manager.waiting is None
    acknowledge_everything(league, 2)
    (noted,) = league.of(e.AgentProbed)
    words = "has not reported R1M1; a match takes at most 35 s, and 152 s with every retry"
    assert narration.REFUSALS[e.AgentProbed](league.manager, noted) == f'referee REF01 "Referee 1": it {words}'
    assert (noted.is_trouble, noted.unreported) == (False, ("R1M1",))
    shown = views.league(league.manager, 0)
    assert (shown["waiting"], shown["waiting_reason"]) == (
        "WAITING_FOR_REPORT",
        f"REF01 {words}; no other referee could play what it holds",
    )
    assert findings(league) == f"it {words}"
    acknowledge_everything(league, 60)
    assert league.of(e.AgentProbed) == [noted], "once is enough"
    assert report(league, "R1M1") == ""
    assert (league.manager.waiting, findings(league)) == (None, "")


def test_the_report_of_one_match_gives_its_referee_time_for_the_others() -> None:
    league = league_of(players=4, capacity=2)
    acknowledge_everything(league, 100)
    assert report(league, "R1M1") == ""
    acknowledge_everything(league, 100)
    assert (league.of(e.AgentProbed), league.of(e.MatchLost)) == ([], [])
    acknowledge_everything(league, 10)
    assert [noted.unreported for noted in league.of(e.AgentProbed)] == [("R1M2",)]


def findings(league: Managed) -> str:
    (shown,) = [agent for agent in views.agents(league.manager)["agents"] if agent["agent_id"] == "REF01"]
    return str(shown["findings"])


def acknowledge_everything(league: Managed, seconds: float) -> None:
    """Time passes, in which the referee acknowledges whatever it is given."""
    until = league.now + seconds
    while league.now < until:
        for call in league.calls(to="REF01"):
            league.answer(call)
        live(league, 0.5)


def test_who_acknowledges_and_does_nothing_is_given_its_matches_one_by_one_after_a_while() -> None:
    league = league_of(players=2)
    say(league, given(league))
    live(league, AFTER_S - 1)
    assert kinds(league) == ["ROUND_ANNOUNCEMENT"]
    live(league, 1)
    say(league, given(league, "START_MATCH"))
    live(league, AFTER_S)
    say(league, given(league, "MATCH_ASSIGNMENT"))
    live(league, 100)
    assert kinds(league) == ["ROUND_ANNOUNCEMENT", *START]
    assert report(league, "R1M1") == ""
    assert learned(league) == ["MATCH_ASSIGNMENT"]


def test_a_slow_referee_that_acknowledges_everything_is_found_out_with_its_second_match() -> None:
    league = league_of(players=4, capacity=1)
    for kind in ("ROUND_ANNOUNCEMENT", *START):
        say(league, given(league, kind))
        live(league, AFTER_S)
    report(league, "R1M1")
    say(league, given(league, "MATCH_ASSIGNMENT"))
    live(league, 89)
    assert kinds(league)[-1] == "MATCH_ASSIGNMENT"
    live(league, 1)
    say(league, given(league))
    live(league, 45)
    report(league, "R1M2")
    assert learned(league) == ["MATCH_ASSIGNMENT", "ROUND_ANNOUNCEMENT"]
    say(league, given(league))
    live(league, 45)
    assert kinds(league) == ["ROUND_ANNOUNCEMENT", *START, "ROUND_ANNOUNCEMENT"]


def test_a_match_is_spelled_in_every_way() -> None:
    league = league_of(players=2)
    refuse_announcement(league)
    told = plain(given(league, "START_MATCH").message)  # type: ignore[arg-type]
    match = league.manager.ledger.matches["R1M1"]
    for first, second in (("player_A_id", "player_B_id"), ("player_a_id", "player_b_id"), ("player_a", "player_b")):
        assert (told[first], told[second]) == match.players
    assert (told["player1_id"], told["player2_id"]) == match.players
    homes = tuple(league.manager.ledger.roster.members[one].endpoint for one in match.players)
    for first, second in (("player_A", "player_B"), ("player_a", "player_b"), ("player1", "player2")):
        assert (told[f"{first}_endpoint"], told[f"{second}_endpoint"]) == homes
    assert (told["match_id"], told["round_id"], told["league_id"]) == ("R1M1", 1, LEAGUE)
    assert {"conversation_id", "sender", "timestamp", "protocol", "player_A_token", "attempt"} <= told.keys()


def test_a_match_is_given_by_a_manager_with_an_id_and_by_one_without() -> None:
    league = league_of(players=2)
    refuse_announcement(league)
    say(league, given(league, "START_MATCH"), BUSY)
    senders = [plain(league.told("REF01", kind)[-1].message)["sender"] for kind in START]  # type: ignore[arg-type]
    assert senders == ["league_manager:LM01", "league_manager"]


@pytest.mark.parametrize("is_lost", [False, True], ids=["", "that forgot whether it was given out"])
def test_what_made_it_play_is_where_the_next_match_begins_even_after_a_restart(is_lost: bool) -> None:
    league = league_of(players=2, double=True)
    refuse_announcement(league)
    say(league, given(league, "START_MATCH"))
    assert report(league, "R1M1") == ""
    assert kinds(league) == ["ROUND_ANNOUNCEMENT", "START_MATCH"]
    assert matches_sent(league) == ["R1M1", "R2M1"]
    assert isinstance(league.events[-1], e.AssignmentsSent)
    league.restart(keep=len(league.events) - is_lost)
    live(league, AFTER_S - 1)
    assert matches_sent(league) == ["R1M1", "R2M1"]
    live(league, 1)
    assert matches_sent(league) == ["R1M1", "R2M1", "R2M1"]


@pytest.mark.requirement("ROUND.announced_to_referees")
def test_who_is_given_its_matches_one_by_one_is_told_of_the_round_too_and_of_no_match_in_it() -> None:
    league = league_of(players=2, double=True)
    refuse_announcement(league)
    say(league, given(league, "START_MATCH"))
    before = len(league.told("REF01", "ROUND_ANNOUNCEMENT"))
    report(league, "R1M1")
    live(league, 3)
    told = [plain(one.message) for one in league.told("REF01", "ROUND_ANNOUNCEMENT")[before:]]  # type: ignore[arg-type]
    assert [(one["round_id"], one["matches"]) for one in told] == [(2, [])]


def matches_sent(league: Managed, kind: str = "START_MATCH") -> list[str]:
    return [plain(one.message)["match_id"] for one in league.told("REF01", kind)]  # type: ignore[arg-type]


def test_the_way_that_worked_is_in_the_convention_that_was_understood() -> None:
    league = league_of(players=2, double=True)
    refuse_announcement(league)
    for _ in range(2):
        say(league, given(league, "START_MATCH"), UNKNOWN)
    say(league, given(league, "START_MATCH"))
    assert report(league, "R1M1") == ""
    assert [one.to.convention.name for one in league.told("REF01", "START_MATCH")] == ["SPEC", "TYPE", "TOOLS", "TOOLS"]
    assert [(one.agent_id, one.convention) for one in league.of(e.ConventionLearned)] == [("REF01", "TOOLS")]


def test_what_a_referee_does_not_know_at_all_is_nothing_against_the_way_it_is_spoken_to() -> None:
    league = league_of(players=4)
    while (call := given(league)).to.convention is not Convention.NESTED:
        say(league, call, UNKNOWN)
    say(league, call)
    live(league, AFTER_S)
    for kind in START:
        while calls := league.calls(kind, "REF01"):
            for one in calls:
                say(league, one, UNKNOWN)
    assert {one.to.convention for one in league.told("REF01", "MATCH_ASSIGNMENT")} == set(Convention)
    assert league.manager.ledger.roster.members["REF01"].convention == "NESTED"


def test_a_report_while_the_referee_has_not_answered_yet_counts_and_nothing_waits_for_the_answer() -> None:
    league = league_of(players=2)
    refuse_announcement(league)
    call = given(league, "START_MATCH")
    live(league, 100)
    assert matches_sent(league) == ["R1M1"]
    assert report(league, "R1M1") == ""
    assert learned(league) == ["START_MATCH"]
    say(league, given(league, "ROUND_COMPLETED"))
    assert league.calls("LEAGUE_COMPLETED", "REF01")
    say(league, call)


def test_a_call_that_may_have_been_heard_is_not_repeated() -> None:
    league = league_of(players=2)
    refuse_announcement(league)
    league.fail(given(league, "START_MATCH"), Failure.BROKEN)
    live(league, AFTER_S - 1)
    assert matches_sent(league) == ["R1M1"]
    live(league, 1)
    assert matches_sent(league) == ["R1M1"]
    assert league.calls("MATCH_ASSIGNMENT", "REF01")


def test_a_call_that_cannot_have_arrived_is_repeated() -> None:
    league = league_of(players=2)
    refuse_announcement(league)
    league.fail(given(league, "START_MATCH"), Failure.REFUSED)
    live(league, 2)
    assert matches_sent(league) == ["R1M1", "R1M1"]


def test_ours_are_never_given_a_match_otherwise() -> None:
    league = Managed(players=2, referees=1).fill()
    live(league)
    say(league, given(league))
    league.answer_pings()
    for _ in range(10):
        league.wait(5)
        league.answer_pings()
    assert not league.told("REF01", "START_MATCH")


def test_strict_gives_matches_by_the_announcement_alone() -> None:
    league = league_of(players=2, profile="strict")
    say(league, given(league), UNKNOWN)
    live(league, 100)
    assert kinds(league) == ["ROUND_ANNOUNCEMENT"]
    assert len(league.told("REF01")) == 1


def test_a_match_that_was_lost_means_that_nothing_is_known_any_more() -> None:
    league = league_of(players=2, double=True)
    refuse_announcement(league)
    say(league, given(league, "START_MATCH"))
    report(league, "R1M1")
    live(league, 230)
    assert league.of(e.MatchLost)
    assert league.manager.ledger.roster.members["REF01"].as_referee.dispatch_method == ""
    assert league.told("REF01")[-1].kind == "ROUND_ANNOUNCEMENT"


# --- how many at a time -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("capacity", "at_once"), [(None, 1), (1, 1), (3, 3)])
def test_others_get_as_many_matches_as_they_can_play_and_the_next_when_one_is_reported(
    capacity: int | None, at_once: int
) -> None:
    league = league_of(players=8, capacity=capacity)
    assert matches_in(given(league).message) == ["R1M1", "R1M2", "R1M3", "R1M4"][:at_once]
    say(league, given(league))
    assert not league.calls("ROUND_ANNOUNCEMENT", "REF01")
    assert report(league, "R1M1") == ""
    assert matches_in(given(league).message) == [f"R1M{at_once + 1}"]


def test_ours_get_all_their_matches_at_once_also_if_that_is_found_out_late() -> None:
    league = league_of(players=8, capacity=1)
    assert matches_in(given(league).message) == ["R1M1"]
    league.wait(5)
    for one in league.calls("ping"):
        league.answer(one, league.pong("REF01"))
    sent = [match for one in league.told("REF01", "ROUND_ANNOUNCEMENT") for match in matches_in(one.message)]
    assert sent == ["R1M1", "R1M2", "R1M3", "R1M4"]


def test_nothing_is_handed_over_while_the_league_is_paused() -> None:
    league = league_of(players=4, capacity=1)
    say(league, given(league))
    league.operate("pause")
    report(league, "R1M1")
    assert not league.calls("ROUND_ANNOUNCEMENT", "REF01")
    league.operate("resume")
    assert matches_in(given(league).message) == ["R1M2"]


# --- asking for matches -----------------------------------------------------------------------------------------------


def test_a_referee_that_asks_gets_what_it_holds_and_nothing_else() -> None:
    league = league_of(players=8, capacity=2)
    told = poll(league)
    assert isinstance(told, dict)
    assert [one["match_id"] for one in told["matches"]] == ["R1M1", "R1M2"]
    assert {"player_A_id", "player_a_endpoint", "player1_id", "round_id", "league_id"} <= told["matches"][0].keys()
    assert "tok_" not in str(told)
    say(league, given(league))
    report(league, "R1M1")
    again = poll(league)
    assert isinstance(again, dict)
    assert [one["match_id"] for one in again["matches"]] == ["R1M2", "R1M3"]


def test_who_asks_is_not_given_its_matches_otherwise() -> None:
    league = league_of(players=2, double=True)
    poll(league)
    refuse_announcement(league)
    live(league, 100)
    assert kinds(league) == ["ROUND_ANNOUNCEMENT"]
    assert report(league, "R1M1") == ""
    assert learned(league) == ["get_assigned_matches"]
    league.restart()
    live(league)
    refuse_announcement(league)
    live(league, 100)
    assert kinds(league) == ["ROUND_ANNOUNCEMENT"]


def test_who_asks_gets_announcements_in_one_convention() -> None:
    league = league_of(players=2, double=True)
    poll(league)
    refuse_announcement(league)
    report(league, "R1M1")
    refuse_announcement(league)
    assert len(league.told("REF01", "ROUND_ANNOUNCEMENT")) == len(list(Convention)) + 1


def test_a_match_that_a_dead_line_kept_from_its_referee_is_given_when_it_answers() -> None:
    league = league_of(players=2)
    refuse_announcement(league)
    for _ in range(4):
        league.fail(given(league, "START_MATCH"), Failure.REFUSED)
        live(league, 2)
    live(league, 5)
    assert league.calls("START_MATCH", "REF01")


def test_one_of_ours_that_is_known_as_such_only_now_gets_its_announcement_again() -> None:
    league = league_of(players=2)
    refuse_announcement(league)
    for _ in range(4):
        league.fail(given(league, "START_MATCH"), Failure.REFUSED)
        live(league, 2)
    league.wait(2)
    (ping,) = league.calls("ping", "REF01")
    league.answer(ping, Pong(matches=()))
    assert matches_in(given(league).message) == ["R1M1"]


def test_asking_is_a_sign_of_life() -> None:
    league = league_of(players=2)
    for _ in range(30):
        league.wait(10)
        for one in league.calls(to="REF01"):
            league.fail(one, Failure.TIMEOUT)
        assert isinstance(poll(league), dict)
    assert league.state("REF01") == "ACTIVE"


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"auth_token": None}, "E011"),
        ({"auth_token": ""}, "E011"),
        ({"auth_token": 7}, "E011"),
        ({"auth_token": "tok_REF01_stale"}, "E012"),
        ({"referee_id": "REF02"}, "E032"),
        ({"sender": "referee:REF02"}, "E032"),
        ({"sender": "player:REF01"}, "E032"),
    ],
)
def test_only_the_referee_itself_is_told_its_matches(changed: Object, code: str) -> None:
    assert poll(league_of(), **changed) == code


def test_a_player_is_told_no_assignments() -> None:
    league = league_of()
    assert poll(league, referee_id=None, auth_token=league.tokens["P01"]) == "E032"


def test_the_table_is_told_to_everybody() -> None:
    answer: object = league_of().request(Inquiry("get_standings", {}))
    assert isinstance(answer, Information)
    assert [one["player_id"] for one in answer.data["standings"]] == ["P01", "P02", "P03", "P04"]
    assert answer.data["current_round"] == 1


def test_strict_knows_no_such_questions() -> None:
    league = league_of(profile="strict")
    assert code_of(league.request(Inquiry("get_standings", {}))) == "E036"
    assert poll(league) == "E036"
    assert code_of(league.query("REF01", "GET_REGISTRATIONS")) == "E029"


@pytest.mark.parametrize("query", ["GET_REGISTRATIONS", "GET_PLAYER_DIRECTORY"])
def test_addresses_are_told_to_referees_and_the_question_is_recorded(query: str) -> None:
    league = league_of()
    asked = {name: one for name, one in league.query_of("REF01", query).items() if name != "league_id"}
    answer: Any = league.request(asked)
    assert (answer.success, answer.query_type) == (True, query)
    homes = {one["player_id"]: one["contact_endpoint"] for one in answer.data["players"]}
    assert homes == {f"P0{n}": f"http://127.0.0.1:810{n}/mcp" for n in range(1, 5)}
    assert [one["referee_id"] for one in answer.data["referees"]] == ["REF01"]
    assert "tok_" not in str(answer.data)
    assert {("E029", "LEAGUE_QUERY.query_type"), ("E003", "LEAGUE_QUERY.league_id")} <= recorded(league)


@pytest.mark.parametrize("query", ["GET_REGISTRATIONS", "GET_PLAYER_DIRECTORY"])
def test_players_are_told_no_addresses(query: str) -> None:
    assert code_of(league_of().query("P01", query)) == "E029"


def recorded(league: Managed, agent_id: str = "REF01") -> set[tuple[str, str]]:
    return {(one.code, one.requirement) for one in league.of(e.DeviationRecorded) if one.agent_id == agent_id}


# --- what it reports --------------------------------------------------------------------------------------------------


def stripped(league: Managed, *names: str) -> Object:
    return {name: one for name, one in league.report_of("R1M1").items() if name not in names}


@pytest.mark.parametrize(
    "lacks", [("league_id",), ("game_type",), ("round_id",), ("league_id", "game_type", "attempt")]
)
def test_a_report_that_lacks_what_its_match_says_anyway_is_read_with_it(lacks: tuple[str, ...]) -> None:
    league = league_of()
    assert code_of(league.request(stripped(league, *lacks))) == ""
    missing = {("E003", f"MATCH_RESULT_REPORT.{name}") for name in lacks if name != "attempt"}
    assert missing <= recorded(league)


@pytest.mark.parametrize("lacks", ["match_id", "result"])
def test_a_report_that_lacks_more_is_refused(lacks: str) -> None:
    league = league_of()
    assert code_of(league.request(stripped(league, lacks, "league_id"))) == "E003"
    assert not league.of(e.ResultAccepted)


def test_strict_takes_no_report_with_holes() -> None:
    league = league_of(profile="strict")
    assert code_of(league.request(stripped(league, "league_id"))) == "E003"


@pytest.mark.parametrize(("token", "code"), [(None, "E011"), ("tok_constant", "E012")])
def test_a_report_needs_the_right_token_whoever_sends_it(token: str | None, code: str) -> None:
    league = league_of()
    assert code_of(league.report("R1M1", auth_token=token)) == code


def test_a_second_report_of_a_match_changes_nothing() -> None:
    league = league_of(players=2)
    report(league, "R1M1")
    assert code_of(league.report("R1M1")) == "E017"
    assert code_of(league.report("R1M1", winner="B")) == "E040"


def test_an_answer_that_cannot_be_read_may_be_a_yes() -> None:
    league = league_of(players=2)
    say(league, given(league), unseal({"message_type": "ROUND_ANNOUNCEMENT_ACK", "status": 7}, Reading()))
    live(league, AFTER_S - 1)
    assert kinds(league) == ["ROUND_ANNOUNCEMENT"]
    live(league, 1)
    assert league.calls("START_MATCH", "REF01")


# --- what its records say ---------------------------------------------------------------------------------------------


def deviation(player: str = "P01", **changed: Any) -> Object:
    known = {"at": 1.0, "match_id": "R1M1", "attempt": 1, "player_id": player, "code": "E003", "detail": "missing"}
    return {"event": "PlayerDeviated", **known, "requirement": "GAME_JOIN_ACK.accept", **changed}


def written(record: Sequence[Object]) -> Raw:
    return Raw(msgspec.json.encode(record))


def kept(*record: Object) -> set[tuple[str, str, str]]:
    league = league_of(players=2)
    event = e.MatchRecordKept(at=1.0, match_id="R1M1", attempt=1, referee_id="REF01", written=written(record))
    before = set(league.manager.ledger.irregularities.deviations)
    league.manager.apply(event)
    return league.manager.ledger.irregularities.deviations - before


def test_what_a_referee_let_pass_of_a_player_is_on_record_against_it_once() -> None:
    assert kept(deviation(), deviation()) == {("P01", "E003", "GAME_JOIN_ACK.accept")}


@pytest.mark.parametrize(
    "changed",
    [
        {"player_id": "P09"},
        {"player_id": None},
        {"code": "E777"},
        {"code": ["E003"]},
        {"player_id": {}},
        {"requirement": "x" * 200},
        {"event": "MoveMade"},
    ],
)
def test_a_record_puts_nothing_else_on_record(changed: Object) -> None:
    assert kept(deviation(**changed)) == set()


@pytest.mark.requirement("MATCH.told_of_deviations")
def test_what_a_player_was_told_travels_with_its_next_match() -> None:
    league = Managed(players=2).fill()
    told = [deviation(code=code, requirement="TOKEN.wrong_in_answer") for code in ("E012", "E011")]
    record = written((*told, deviation()))
    league.manager.apply(e.MatchRecordKept(at=1.0, match_id="R1M1", attempt=1, referee_id="REF01", written=record))
    league.answer_all(kind="ROUND_ANNOUNCEMENT", but=["REF01"])
    (one,) = plain(given(league).message)["matches"]  # type: ignore[arg-type]
    said = {one[f"player_{seat}_id"]: one.get(f"player_{seat}_told") for seat in "AB"}
    assert said == {"P01": ["E011", "E012"], "P02": None}


def test_a_record_cannot_fill_the_memory() -> None:
    assert len(kept(*(deviation(requirement=f"CLAUSE.{n}") for n in range(1000)))) <= 100


# --- how they register ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sender", "given_id", "clause"),
    [
        ("player:Alice", "P01", None),
        ("player:UNREGISTERED", "P01", None),
        ("player:P03", "P03", None),
        ("player:P3", "P01", None),
        ("players:P04", "P04", "ENVELOPE.sender"),
        ("P05", "P05", "ENVELOPE.sender"),
        ("Alice", "P01", "ENVELOPE.sender"),
    ],
)
def test_whatever_an_agent_calls_itself_it_becomes_a_member(sender: str, given_id: str, clause: str | None) -> None:
    league = Managed(players=4)
    answer: Any = league.register("player", 1, sender=sender)
    assert answer.player_id == given_id
    assert {one.requirement for one in league.of(e.DeviationRecorded)} == ({clause} if clause else set())


def test_a_registration_may_lack_its_whole_envelope_and_each_hole_is_recorded() -> None:
    league = Managed(players=4)
    holes = ("protocol", "sender", "timestamp", "conversation_id")
    content = {name: one for name, one in league.registration("player", 1).items() if name not in holes}
    answer: Any = league.request(content)
    assert (answer.status, answer.player_id) == ("ACCEPTED", "P01")
    assert {one.requirement for one in league.of(e.DeviationRecorded)} == {f"ENVELOPE.{name}" for name in holes}


def test_who_registers_again_at_will_stays_the_same_and_its_new_habits_are_recorded() -> None:
    league = Managed(players=4)
    first: Any = league.register("player", 1)
    for _ in range(20):
        again: Any = league.register("player", 1, sender="players:P01")
        assert again.player_id == first.player_id
    assert [one.requirement for one in league.of(e.DeviationRecorded)] == ["ENVELOPE.sender"]
    assert len(league.manager.ledger.roster.members) == 1


def test_a_referee_that_registers_again_in_mid_match_keeps_its_match() -> None:
    league = league_of(players=2)
    say(league, given(league))
    league.register("referee", 1)
    live(league)
    assert report(league, "R1M1") == ""


# --- a referee that acknowledges in the words of the documents --------------------------------------------------------

LONGEST_S = 4 * 5 + 3 * 2 + 4 * 30 + 3 * 2 + 30


def acknowledge_well(league: Managed) -> None:
    ack = league.envelope("ROUND_ANNOUNCEMENT_ACK", "referee:REF01", status="ACKNOWLEDGED", round_id=1)
    league.answer(given(league), ack)
    live(league)


def starts(league: Managed) -> list[tuple[str, str, float]]:
    """In which ways and when it was given the match otherwise."""
    return [(one.kind, one.to.convention.name, one.at) for one in league.sent if one.kind in START]


@pytest.mark.requirement("DIALECT.acknowledged_referees_play")
def test_a_well_formed_acknowledgement_outranks_the_guess() -> None:
    league = league_of(2)
    acknowledge_well(league)
    live(league, LONGEST_S - 0.5)
    assert starts(league) == []
    live(league, 0.5)
    assert [one[0] for one in starts(league)] == ["START_MATCH"]
    assert report(league, "R1M1") == ""
    assert league.of(e.MatchLost) == []


@pytest.mark.requirement("DIALECT.acknowledged_referees_play")
def test_after_it_other_ways_are_tried_one_at_a_time_and_never_at_once() -> None:
    league = league_of(2)
    acknowledge_well(league)
    live(league, LONGEST_S)
    for _ in range(60):
        for one in [one for kind in START for one in league.calls(kind, "REF01")]:
            league.answer(one, UNKNOWN)
        live(league, 0.5)
    tried = starts(league)
    ways = [*(one.name for one in Convention), "BARE"]  # the last at a page of its own
    assert [(kind, name) for kind, name, _ in tried] == [(kind, name) for kind in START for name in ways]
    times = [at for _, _, at in tried]
    assert all(later - earlier >= 2 for earlier, later in pairwise(times))


@pytest.mark.requirement("DIALECT.acknowledged_referees_play")
def test_the_lease_begins_anew_with_another_way() -> None:
    league = league_of(2)
    acknowledge_well(league)
    live(league, LONGEST_S + 100)
    assert league.of(e.MatchLost) == []


@pytest.mark.parametrize(("trouble", "is_reminded"), [("trouble.v1", True), (None, False)])
def test_a_referee_by_others_learns_of_a_new_token_if_it_asks_before_losses(
    trouble: str | None, is_reminded: bool
) -> None:
    league = Managed(players=2, referees=1)
    league.register("referee", 1, token_scheme=None, trouble=trouble)
    for number in (1, 2):
        league.register("player", number)
    live(league)
    say(league, given(league))
    fresh = league.register("player", 1).auth_token
    (asked,) = league.calls("LEAGUE_STANDINGS_UPDATE", "P01")
    shown = {"status": "ACKNOWLEDGED", "round_id": 1, "auth_token": fresh}
    league.answer(asked, league.envelope("STANDINGS_UPDATE_ACK", "player:P01", **shown))
    assert bool(league.calls("ROUND_ANNOUNCEMENT", "REF01")) is is_reminded


def test_a_referee_that_was_started_learns_of_a_new_token_by_another_start() -> None:
    league = Managed(players=2, referees=1)
    league.register("referee", 1, token_scheme=None, trouble="trouble.v1")
    for number in (1, 2):
        league.register("player", number)
    live(league)
    while not league.calls(START[0], "REF01"):
        for call in league.calls("ROUND_ANNOUNCEMENT", "REF01"):
            league.answer(call, UNKNOWN)
        live(league, 0.5)
    (start,) = league.calls(START[0], "REF01")
    league.answer(start, league.envelope("START_MATCH_ACK", "referee:REF01", status="ACKNOWLEDGED"))
    fresh = league.register("player", 1).auth_token
    (asked,) = league.calls("LEAGUE_STANDINGS_UPDATE", "P01")
    shown = {"status": "ACKNOWLEDGED", "round_id": 1, "auth_token": fresh}
    league.answer(asked, league.envelope("STANDINGS_UPDATE_ACK", "player:P01", **shown))
    assert league.calls(START[0], "REF01")
    assert league.calls("ROUND_ANNOUNCEMENT", "REF01") == []
