"""The referee's desk: assignments, places, pings, and the end of the league."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from league import events as e
from league.gateway.readers.foreign_reports import ReportInAllWords
from league.machine import Failure, Operate, Ping, Pong, Refusal
from league.protocol.message.exchanges import EXCHANGES, Role
from league.protocol.message.messages import (
    ChooseParityCall,
    GameInvitation,
    LeagueCompletedAck,
    LeagueErrorAck,
    LeagueQuery,
    MatchResultReport,
    RoundAnnouncementAck,
    RoundCompletedAck,
    StandingsUpdateAck,
)
from league.protocol.signing import tokens
from league.referee.desk import ACKS
from league.referee.referee_context import RefereeSettings
from tests.support.referee_rig import (
    HERE,
    LEAGUE,
    ME,
    START,
    TOKEN,
    Rig,
    announced,
    code_of,
    of_manager,
    plain,
    shown_to,
)

FOUR = (
    announced("R1M1", "P01", "P02"),
    announced("R1M2", "P03", "P04"),
    announced("R1M3", "P05", "P06"),
)


def held(rig: Rig) -> tuple[tuple[str, int], ...] | None:
    answer = rig.request(Ping())
    assert isinstance(answer, Pong)
    return answer.matches


def ends(rig: Rig, **changed: Any) -> dict[str, Any]:
    """LEAGUE_COMPLETED."""
    champion = {"player_id": "P01", "display_name": "Ada", "points": 9}
    fields = {"league_id": LEAGUE, "total_rounds": 1, "total_matches": 1, "champion": champion, "final_standings": []}
    return {**rig.envelope("LEAGUE_COMPLETED"), "auth_token": of_manager(), **fields, **changed}


# --- errors -----------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("LEAGUE_ERROR.acknowledged")
@pytest.mark.parametrize("token", [of_manager(), "tok_wrong", None])
def test_a_league_error_is_acknowledged_and_changes_nothing(token: str | None) -> None:
    rig = Rig().enrolled()
    wrong = {"error_code": "E016", "error_description": "MATCH_NOT_ASSIGNED"}
    answer = rig.request({"message_type": "LEAGUE_ERROR", **wrong, **({"auth_token": token} if token else {})})
    assert isinstance(answer, LeagueErrorAck)
    assert answer.status == "ACKNOWLEDGED"
    assert [one.code for one in rig.of(e.DeviationRecorded)] == (
        [] if token == of_manager() else ["E012" if token else "E011"]
    )
    assert (rig.desk.state, len(rig.desk.matches)) == ("REGISTERED", 0)


def test_strict_takes_a_league_error_from_the_manager_alone() -> None:
    rig = Rig(profile="strict").enrolled()
    wrong = {"error_code": "E016", "error_description": "MATCH_NOT_ASSIGNED"}
    assert code_of(rig.request({**rig.envelope("LEAGUE_ERROR"), **wrong})) == "E011"


@pytest.mark.requirement("PROFILE.compat_envelope")
def test_an_announcement_without_an_envelope_is_taken_and_recorded() -> None:
    rig = Rig().enrolled(derived=False)
    bare = {"message_type": "ROUND_ANNOUNCEMENT", "league_id": LEAGUE, "round_id": 1, "matches": [announced()]}
    assert isinstance(rig.request(bare), RoundAnnouncementAck)
    assert len(rig.of(e.MatchTaken)) == 1
    assert {one.requirement for one in rig.of(e.DeviationRecorded)} == {
        f"ENVELOPE.{name}" for name in ("protocol", "sender", "timestamp", "conversation_id")
    }


# --- assignments ------------------------------------------------------------------------------------------------------


def test_an_assignment_is_acknowledged_and_begins_at_once() -> None:
    rig = Rig().enrolled()
    answer = rig.announce(announced())
    assert isinstance(answer, RoundAnnouncementAck)
    assert (answer.round_id, answer.sender, answer.conversation_id) == (1, "referee:REF01", "conv-1")
    (taken,) = rig.of(e.MatchTaken)
    assert taken.players == ("P01", "P02")
    assert len(bytes.fromhex(taken.seed)) == 32
    assert [type(event).__name__ for event in rig.journal] == ["Registered", "MatchTaken", "MatchBegun"]
    assert rig.desk.state == "ACTIVE"


@pytest.mark.requirement("DRAW.commitment")
def test_every_match_and_attempt_has_a_seed_of_its_own() -> None:
    rig = Rig().given(*FOUR)
    rig.announce(announced(attempt=2))
    assert len({one.seed for one in rig.of(e.MatchTaken)}) == 4


@pytest.mark.requirement("TOKEN.assignment_checked")
@pytest.mark.parametrize(
    ("token", "code"),
    [(None, "E011"), ("", "E011"), ("tok_league_manager_x", "E012"), (TOKEN, "E012"), (7, "E007")],
)
def test_an_assignment_with_a_wrong_token_is_refused_and_nothing_is_taken(token: object, code: str) -> None:
    rig = Rig().enrolled()
    refused = rig.announce(announced(), auth_token=token)
    assert code_of(refused) == code
    assert TOKEN not in str(refused)
    assert rig.of(e.MatchTaken) == []
    assert held(rig) == ()


@pytest.mark.requirement("TOKEN.assignment_checked")
def test_after_coming_back_the_manager_is_known_by_both_registrations() -> None:
    rig = Rig().given()
    rig.meta = structs.replace(rig.meta, contact_endpoint="http://10.0.0.3:8009/mcp")
    rig.restart()
    second = tokens.mint(ME, b"2" * 32)
    rig.answer(rig.open("league_manager", "REFEREE_REGISTER_REQUEST"), rig.accepted(second))
    assert code_of(rig.announce(announced("R1M2", "P03", "P04"))) == ""
    assert code_of(rig.announce(announced("R1M3", "P05", "P06"), auth_token=of_manager(second))) == ""
    assert len(rig.of(e.MatchTaken)) == 3


def test_where_the_manager_does_not_derive_its_tokens_anyone_is_believed() -> None:
    rig = Rig().enrolled(derived=False)
    assert code_of(rig.announce(announced(), auth_token="tok_whatever")) == ""
    assert len(rig.of(e.MatchTaken)) == 1


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"protocol": "league.v1", "auth_token": "x"}, "E018"),
        ({"sender": 7, "auth_token": "x"}, "E007"),
        ({"auth_token": "x", "sender": "player:P01"}, "E012"),
        ({"sender": "player:P01", "league_id": "autumn"}, "E032"),
        ({"league_id": "autumn", "round_id": "one"}, "E028"),
        ({"round_id": "one"}, "E007"),
        ({"round_id": 0}, "E008"),
    ],
)
def test_of_several_errors_the_first_is_answered(changed: dict[str, Any], code: str) -> None:
    rig = Rig().enrolled()
    assert code_of(rig.announce(announced(), **changed)) == code
    assert rig.of(e.MatchTaken) == []


@pytest.mark.requirement("ROUND.announced_to_referees")
def test_a_round_without_a_match_for_us_is_acknowledged() -> None:
    rig = Rig().enrolled()
    assert code_of(rig.announce(matches=[])) == ""
    assert rig.of(e.MatchTaken) == []


def test_only_our_own_matches_are_taken() -> None:
    rig = Rig().enrolled()
    rig.announce(
        announced("R1M1", "P01", "P02", referee_id="REF02"),
        announced("R1M2", "P03", "P04", referee_id=None),
        announced("R1M3", "P05", "P06", referee_id=None, referee_endpoint="http://10.0.0.3:8001/mcp"),
    )
    assert [one.match_id for one in rig.of(e.MatchTaken)] == ["R1M2"]


def test_our_id_decides_even_if_the_endpoint_is_written_otherwise() -> None:
    rig = Rig().enrolled()
    rig.announce(announced(referee_endpoint="http://referee.example/mcp"))
    assert len(rig.of(e.MatchTaken)) == 1


def test_an_announcement_with_a_match_nobody_could_play_is_refused_as_a_whole() -> None:
    rig = Rig().enrolled()
    assert code_of(rig.announce(announced(), announced("R1M2", "P03", "P04", game_type="backgammon"))) == "E027"
    assert rig.of(e.MatchTaken) == []


def test_the_same_announcement_again_changes_nothing() -> None:
    rig = Rig().given()
    before = rig.desk.snapshot()
    assert isinstance(rig.announce(announced()), RoundAnnouncementAck)
    rig.plays()
    assert isinstance(rig.announce(announced()), RoundAnnouncementAck)
    assert len(rig.of(e.MatchTaken)) == 1
    assert before != rig.desk.snapshot()


def test_before_it_is_registered_a_referee_takes_nothing() -> None:
    rig = Rig()
    rig.take(rig.desk.resume(rig.now))
    rig.fail(rig.open("league_manager", "REFEREE_REGISTER_REQUEST"), Failure.REFUSED)
    assert code_of(rig.announce(announced())) == "E023"
    assert rig.journal == []


# --- attempts ---------------------------------------------------------------------------------------------------------


def test_a_higher_attempt_replaces_the_older_one_and_its_calls_are_cancelled() -> None:
    rig = Rig().given().joins("P01", "P02")
    rig.announce(announced(attempt=2))
    assert [one.attempt for one in rig.of(e.MatchDropped)] == [1]
    assert {key.rpartition("/")[0] for key in rig.cancelled} == {"R1M1/1/turn1/P01", "R1M1/1/turn1/P02"}
    assert [one.attempt for one in rig.said(GameInvitation)] == [1, 1, 2, 2]
    assert {str(one.conversation_id)[:12] for one in rig.said(GameInvitation)} == {"conv-r1m1-1-", "conv-r1m1-2-"}
    assert held(rig) == (("R1M1", 2),)
    rig.announce(announced(attempt=1))
    assert held(rig) == (("R1M1", 2),)


def test_answers_to_a_dropped_attempt_are_ignored() -> None:
    rig = Rig().given()
    old = rig.question("P01")
    rig.announce(announced(attempt=2))
    rig.answer(old, rig.joining("P01"))
    assert rig.of(e.PlayerJoined) == []


@pytest.mark.parametrize("moment", ["queued", "telling", "reporting", "waiting to report", "settled"])
def test_an_older_attempt_is_dropped_whatever_it_was_doing(moment: str) -> None:
    rig = Rig(capacity=1).given(announced(), announced("R1M2", "P03", "P04"))
    match_id, players = ("R1M2", ("P03", "P04")) if moment == "queued" else ("R1M1", ("P01", "P02"))
    if moment != "queued":
        rig.joins("P01", "P02").chooses("P01", "even").chooses("P02", "odd")
    if moment not in ("queued", "telling"):
        rig.hears_game_over("P01", "P02")
    if moment == "waiting to report":
        rig.answer(rig.open("league_manager", "MATCH_RESULT_REPORT"), Refusal("E099", "oops"))
    if moment == "settled":
        rig.acknowledge()
    rig.announce(announced(match_id, *players, attempt=2))
    assert len(rig.of(e.MatchDropped)) == (moment != "settled")
    assert (match_id, 2) in (held(rig) or ())
    assert (match_id, 1) not in (held(rig) or ())
    before = len(rig.said(MatchResultReport))
    rig.until(4)
    assert len(rig.said(MatchResultReport)) == before
    assert rig.replayed().snapshot() == rig.desk.snapshot()


# --- places -----------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("MATCH.capacity")
def test_no_more_matches_are_played_at_once_than_the_referee_said() -> None:
    rig = Rig(capacity=2).given(*FOUR)
    assert [one.match_id for one in rig.of(e.MatchBegun)] == ["R1M1", "R1M2"]
    assert held(rig) == (("R1M1", 1), ("R1M2", 1), ("R1M3", 1))
    rig.joins("P01", "P02").chooses("P01", "even").chooses("P02", "odd").hears_game_over("P01")
    assert len(rig.of(e.MatchBegun)) == 2
    rig.hears_game_over("P02")
    assert [one.match_id for one in rig.of(e.MatchBegun)] == ["R1M1", "R1M2", "R1M3"]
    rig.acknowledge()
    assert held(rig) == (("R1M2", 1), ("R1M3", 1))


def test_a_match_that_waits_for_its_report_takes_no_place() -> None:
    rig = Rig(capacity=1).given(*FOUR)
    rig.joins("P01", "P02").chooses("P01", "even").chooses("P02", "odd").hears_game_over("P01", "P02")
    rig.joins("P03", "P04")
    assert len(rig.said(ChooseParityCall)) == 4
    assert held(rig) == (("R1M1", 1), ("R1M2", 1), ("R1M3", 1))


def test_a_dropped_match_gives_up_its_place_to_the_next() -> None:
    rig = Rig(capacity=1).given(*FOUR)
    rig.announce(announced("R1M1", "P01", "P02", attempt=2))
    assert [(one.match_id, one.attempt) for one in rig.of(e.MatchBegun)] == [("R1M1", 1), ("R1M2", 1)]


@pytest.mark.requirement("TOKEN.another_shown")
def test_other_tokens_for_a_match_that_waits_for_its_place_are_shown_when_it_begins() -> None:
    rig = Rig(capacity=1).given(*FOUR)
    rig.announce(announced("R1M2", "P03", "P04", player_A_token="tok_REF01_newer"))
    rig.joins("P01", "P02").chooses("P01", "even").chooses("P02", "odd").hears_game_over("P01", "P02")
    assert rig.question("P03").to.token == "tok_REF01_newer"
    again = Rig(secrets=rig.secrets, journal=rig.journal).restart()
    assert again.question("P03").to.token == "tok_REF01_newer"


def test_a_player_in_two_matches_of_ours_is_asked_in_each() -> None:
    rig = Rig().given(announced())
    rig.announce(announced("R2M1", "P01", "P03"), round_id=2)
    assert len(rig.said(GameInvitation, "P01")) == 2


# --- pings, notices and what is not ours ------------------------------------------------------------------------------


@pytest.mark.requirement("REFEREE.lease_says_what_it_holds")
def test_a_ping_is_answered_with_everything_not_yet_reported() -> None:
    rig = Rig()
    assert held(rig) == ()
    rig.given()
    assert held(rig) == (("R1M1", 1),)
    rig.plays()
    assert held(rig) == ()


def test_a_completed_round_and_standings_are_acknowledged() -> None:
    rig = Rig().given()
    shared = {"auth_token": of_manager(), "league_id": LEAGUE, "round_id": 1}
    summary = {"total_matches": 1, "wins": 1, "draws": 0, "technical_losses": 0}
    completed = {**rig.envelope("ROUND_COMPLETED"), **shared, "matches_completed": 1, "next_round_id": None,
                 "matches_played": 1, "summary": summary}  # fmt: skip
    assert isinstance(rig.request(completed), RoundCompletedAck)
    standings = {**rig.envelope("LEAGUE_STANDINGS_UPDATE"), **shared, "standings": []}
    assert isinstance(rig.request(standings), StandingsUpdateAck)
    assert code_of(rig.request({**completed, "auth_token": "tok_x"})) == "E012"


def test_what_a_referee_acknowledges_reaches_it() -> None:
    assert all(Role.REFEREE in EXCHANGES[kind].receivers for kind in ACKS)


def test_what_is_not_for_referees_is_refused() -> None:
    rig = Rig().given()
    assert code_of(rig.request(Operate("start", "k1"))) == "E036"
    assert code_of(rig.request(Refusal("E001", "late"))) == "E036"
    assert code_of(rig.request({**rig.envelope("LEAGUE_QUERY"), "league_id": LEAGUE})) == "E036"
    assert code_of(rig.request({**rig.envelope("BANANA"), "auth_token": of_manager()})) == "E038"
    assert code_of(rig.request({})) == "E003"


# --- the end ----------------------------------------------------------------------------------------------------------


def test_the_end_of_the_league_drops_what_is_open_and_shuts_down() -> None:
    rig = Rig(capacity=1).given(*FOUR[:2]).joins("P01", "P02")
    assert isinstance(rig.request(ends(rig)), LeagueCompletedAck)
    assert [one.match_id for one in rig.of(e.MatchDropped)] == ["R1M1", "R1M2"]
    assert rig.of(e.LeagueEnded) == [e.LeagueEnded(at=START, champion="P01")]
    assert rig.desk.state == "SHUTDOWN"
    assert len(rig.cancelled) == 2
    assert rig.desk.deadline is None
    assert held(rig) == ()


def test_after_the_end_it_is_acknowledged_again_and_nothing_new_is_taken() -> None:
    rig = Rig().given().plays()
    rig.request(ends(rig))
    assert isinstance(rig.request(ends(rig)), LeagueCompletedAck)
    assert len(rig.of(e.LeagueEnded)) == 1
    assert code_of(rig.announce(announced("R1M2", "P03", "P04"))) == "E031"
    sent = len(rig.sent)
    rig.restart()
    assert [one.kind for one in rig.sent[sent:]] == ["LEAGUE_QUERY"]


def test_a_match_that_is_played_again_after_the_end_is_taken_of_a_manager_that_proves_who_it_is() -> None:
    rig = Rig().given().plays()
    rig.request(ends(rig))
    assert code_of(rig.announce(announced(attempt=2))) == ""
    assert (rig.desk.state, held(rig)) == ("ACTIVE", (("R1M1", 2),))
    assert isinstance(rig.request(ends(rig)), LeagueCompletedAck)
    assert (rig.desk.state, len(rig.of(e.LeagueEnded))) == ("SHUTDOWN", 2)


def test_nobody_but_the_manager_ends_the_league() -> None:
    rig = Rig().given()
    assert code_of(rig.request(ends(rig, auth_token="tok_forged"))) == "E012"
    assert rig.desk.state == "ACTIVE"


# --- other managers ---------------------------------------------------------------------------------------------------

SAID_BY_OURS_ONLY = ("referee_id", "attempt", "move_seconds", "_standings", "_token", "_answers")
BARE = {name: value for name, value in announced().items() if not name.endswith(SAID_BY_OURS_ONLY)}


def another() -> Rig:
    """Registered with a manager that knows nothing of our ways."""
    rig = Rig().enrolled(token=None, derived=False, referee_id="ref_e56ca731", league_id="autumn")
    rig.announce(BARE, auth_token="tok_theirs", league_id="autumn")
    return rig


def test_under_another_manager_a_match_is_played_with_what_there_is() -> None:
    rig = another()
    rig.answer(rig.open("league_manager", "LEAGUE_QUERY"), Refusal("E029", "no such query"))
    rig.joins("P01", "P02")
    (call,) = rig.said(ChooseParityCall, "P01")
    assert call.context is not None
    record = call.context.your_standings
    assert record is not None
    assert (record.wins, record.losses, record.draws, record.points) == (0, 0, 0, 0)
    rig.chooses("P01", "even").chooses("P02", "odd").hears_game_over("P01", "P02")
    (report,) = rig.said(ReportInAllWords)
    assert (report.sender, report.league_id) == ("referee:ref_e56ca731", "autumn")


@pytest.mark.requirement("MATCH.records_passed_on")
@pytest.mark.parametrize("place", ["top", "data"])
def test_records_the_manager_does_not_give_are_asked_for_once_a_round(place: str) -> None:
    rig = another()
    rows = [{"player_id": "P01", "wins": 2, "losses": 1, "draws": 0, "points": 6}, {"player_id": 7}, "row"]
    said: dict[str, Any] = {"standings": rows[:2]} if place == "top" else {"data": {"standings": rows}}
    answer = rig.envelope("LEAGUE_QUERY_RESPONSE", query_type="GET_STANDINGS", success=True)
    answer |= {"data": {}} | said
    rig.answer(rig.open("league_manager", "LEAGUE_QUERY"), answer)
    rig.announce(dict(BARE, match_id="R1M2", player_A_id="P03", player_B_id="P04"), league_id="autumn")
    rig.joins("P01", "P02")
    assert len(rig.said(LeagueQuery)) == 1
    contexts = [one.context for one in rig.said(ChooseParityCall)]
    assert [one.your_standings.points for one in contexts if one and one.your_standings] == [6, 0]


def test_a_referee_that_is_told_to_asks_for_the_table_once_a_round_anyway() -> None:
    assert Rig().given().said(LeagueQuery) == []
    rig = Rig(settings=RefereeSettings(ask_standings=True)).given()
    rig.announce(dict(announced(), match_id="R1M2", player_A_id="P03", player_B_id="P04"))
    (query,) = rig.said(LeagueQuery)
    assert query.query_type == "GET_STANDINGS"


@pytest.mark.requirement("QUERY.retried")
def test_a_query_that_fails_is_repeated_three_times_and_given_up() -> None:
    rig = another().until(100)
    queries = [sent for sent in rig.sent if sent.key.startswith("standings/")]
    assert [sent.at for sent in queries] == [0, 12, 24, 36]


def test_a_repeated_call_asks_what_the_first_asked_whatever_was_learned_meanwhile() -> None:
    rig = another().joins("P01", "P02")
    rows = [{"player_id": "P01", "wins": 2, "losses": 1, "draws": 0, "points": 6}]
    answer = rig.envelope("LEAGUE_QUERY_RESPONSE", query_type="GET_STANDINGS", success=True, data={"standings": rows})
    rig.answer(rig.open("league_manager", "LEAGUE_QUERY"), answer)
    rig.until(40)
    first, second = rig.said(ChooseParityCall, "P01")
    assert first.context == second.context


def test_a_call_repeated_after_a_restart_says_what_the_first_said() -> None:
    rig = another()
    rows = [{"player_id": "P01", "wins": 2, "losses": 1, "draws": 0, "points": 6}]
    answer = rig.envelope("LEAGUE_QUERY_RESPONSE", query_type="GET_STANDINGS", success=True, data={"standings": rows})
    rig.answer(rig.open("league_manager", "LEAGUE_QUERY"), answer)
    rig.joins("P01", "P02").restart().until(10)
    first, second = rig.said(ChooseParityCall, "P01")
    assert first.context is not None
    assert first.context.your_standings is not None
    assert first.context.your_standings.points == 6
    assert plain(first) | {"timestamp": "", "deadline": ""} == plain(second) | {"timestamp": "", "deadline": ""}


def test_a_query_refused_for_its_token_makes_us_register_again() -> None:
    rig = another()
    rig.answer(rig.open("league_manager", "LEAGUE_QUERY"), Refusal("E012", "who are you?"))
    assert len(rig.times("REFEREE_REGISTER_REQUEST", "league_manager")) == 2


def test_the_desk_says_where_it_is_and_who_it_is() -> None:
    rig = Rig()
    assert (rig.desk.state, rig.desk.agent_id, rig.desk.sender, rig.desk.rejected) == (
        "INIT", "", "referee:Whistle", None,
    )  # fmt: skip
    rig.enrolled()
    assert (rig.desk.state, rig.desk.agent_id, rig.desk.sender) == ("REGISTERED", ME, "referee:REF01")
    assert [one.endpoint for one in rig.journal if isinstance(one, e.Registered)] == [HERE]


def test_a_rejected_referee_says_why_and_stops() -> None:
    rig = Rig()
    rig.take(rig.desk.resume(rig.now))
    rejected = rig.envelope("REFEREE_REGISTER_RESPONSE", status="REJECTED", reason="full", error_code="E020")
    rig.answer(rig.open("league_manager", "REFEREE_REGISTER_REQUEST"), {**rejected, "referee_id": None})
    assert rig.desk.rejected == Refusal("E020", "full")
    assert rig.desk.deadline is None


@pytest.mark.requirement("REGISTER.retries")
def test_the_desk_repeats_its_registration() -> None:
    rig = Rig()
    rig.take(rig.desk.resume(rig.now))
    rig.until(60)
    assert rig.times("REFEREE_REGISTER_REQUEST", "league_manager") == [0, 12, 26, 44]


def test_a_manager_that_goes_by_another_token_is_shown_ours_at_most_once_a_minute() -> None:
    rig = Rig().enrolled()
    for seconds, queries in ((0.0, 1), (29.0, 1), (1.0, 2), (30.0, 3)):
        rig.wait(seconds)
        assert code_of(rig.announce(announced(), auth_token="tok_league_manager_newer")) == "E012"
        asked = rig.said(LeagueQuery, "league_manager")
        assert len(asked) == queries  # after 30 s because it has nothing to do
        if seconds != 29.0:
            rig.answer(rig.open("league_manager", "LEAGUE_QUERY"), Pong())


def test_new_tokens_for_a_match_that_is_played_are_shown_from_the_next_call_on() -> None:
    rig = Rig().given().joins("P01")
    rig.announce(announced(player_B_token="tok_REF01_other", player_B_answers=[tokens.verifier("tok_P02_other")]))
    assert rig.question("P02").to.token == shown_to("P02", "R1M1", 1)
    rig.breaks("P02").wait(2)
    assert rig.question("P02").to.token == "tok_REF01_other"
    rig.says("P02", rig.joining("P02", auth_token="tok_P02_other"))
    assert rig.of(e.PlayerDeviated) == []
    rig.restart()
    assert rig.question("P02").to.token == "tok_REF01_other"


def test_the_end_of_a_league_is_nothing_to_a_referee_that_is_in_none() -> None:
    rig = Rig()
    rig.take(rig.desk.resume(rig.now))
    for _ in range(2):
        assert isinstance(rig.request(ends(rig)), LeagueCompletedAck)
    assert rig.of(e.LeagueEnded) == []
