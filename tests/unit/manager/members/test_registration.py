"""Who becomes a member of the league, under which id, and who is refused with which words."""

from __future__ import annotations

import json
from typing import Any

import pytest

from league import events as e
from league import letters
from league.letters import Speaker
from league.machine import Failure, Pong
from league.manager.league_manager import LeagueManager
from league.protocol.endpoints import EndpointPolicy, read_allowance
from league.protocol.errors import PeerError
from league.protocol.message.envelope import Reading
from league.protocol.message.exchanges import Role
from league.protocol.message.messages import LeagueRegisterResponse, RegisterResponse, RoundAnnouncement
from league.protocol.signing import tokens
from league.reading import views
from tests.support.managed import LEAGUE, Managed, agent_of, code_of, plain, settings


def test_the_first_event_of_an_empty_journal_holds_the_settings() -> None:
    league = Managed(players=6)
    assert [type(event) for event in league.events] == [e.LeagueCreated]
    assert league.of(e.LeagueCreated)[0].settings == settings(players=6)


def test_the_settings_of_the_journal_are_those_that_count() -> None:
    league = Managed(players=6)
    league.register("player", 1)
    again = LeagueManager(settings(players=2), bytes, league.secrets)
    for event in league.events:
        again.apply(event)
    assert again.ledger.settings.players == 6
    assert again.resume(league.now).events == []


def test_until_somebody_registers_the_settings_may_change() -> None:
    league = Managed(players=6)
    again = LeagueManager(settings(players=2, game_type="tic_tac_toe"), bytes, league.secrets)
    again.apply(league.events[0])
    [changed] = again.resume(league.now).events
    assert isinstance(changed, e.SettingsChanged)
    assert changed.settings == again.ledger.settings == settings(players=2, game_type="tic_tac_toe")


@pytest.mark.requirement("REGISTER.accepted")
def test_an_accepted_agent_gets_id_token_and_league() -> None:
    answer = plain(Managed().register("player", 1))
    assert answer["status"] == "ACCEPTED"
    assert answer["player_id"] == "P01"
    assert answer["auth_token"].startswith("tok_P01_")
    assert answer["league_id"] == LEAGUE
    assert answer["token_scheme"] == "derived"
    assert answer["reason"] is None
    assert answer["conversation_id"] == "conv-league_register_request"
    assert {"protocol", "sender", "timestamp"} <= set(answer)
    assert plain(Managed().register("referee", 1))["referee_id"] == "REF01"


@pytest.mark.requirement("REGISTER.any_order")
def test_referees_and_players_register_in_any_order() -> None:
    league = Managed()
    given = [agent_of(league.register(role, n)) for role, n in (("player", 1), ("referee", 1), ("player", 2))]
    assert given == ["P01", "REF01", "P02"]


@pytest.mark.requirement("REGISTER.id_shape")
def test_ids_grow_past_99() -> None:
    league = Managed(players=101, start="manual")
    given = [agent_of(league.register("player", number)) for number in range(1, 102)]
    assert given[0] == "P01"
    assert given[98:] == ["P99", "P100", "P101"]


@pytest.mark.requirement("REGISTER.honours_wanted_id")
@pytest.mark.parametrize(
    ("sender", "given"),
    [
        ("player:P03", "P03"),
        ("players:P03", "P03"),
        ("P03", "P03"),
        ("player:P100", "P100"),
        ("player:P3", "P01"),
        ("player:P00", "P01"),
        ("player:P003", "P01"),
        ("player:REF03", "P01"),
        ("player:Alice", "P01"),
        ("player:P12345678901234", "P01"),
    ],
)
def test_a_free_well_formed_id_in_sender_is_honoured(sender: str, given: str) -> None:
    assert agent_of(Managed().register("player", 1, sender=sender)) == given


def test_a_referee_is_told_which_id_a_player_asked_for_and_did_not_get() -> None:
    league = Managed(players=2)
    league.register("player", 1, sender="player:P02")
    league.register("player", 2, sender="player:P02")
    league.fill(players=0)
    league.answer_pings()
    league.answer_all()
    (told,) = league.told("REF01", "ROUND_ANNOUNCEMENT")
    assert isinstance(told.message, RoundAnnouncement)
    (match,) = told.message.matches
    assert match.player_A_name is None
    known_as = {match.player_A_id: match.player_A_known_as, match.player_B_id: match.player_B_known_as}
    assert known_as == {"P02": None, "P01": "P02"}


def test_an_id_that_was_given_is_never_given_again() -> None:
    league = Managed(players=8)
    given = [agent_of(league.register("player", 1, sender="player:P02"))]
    given += [agent_of(league.register("player", number, sender="player:P02")) for number in range(2, 5)]
    assert given == ["P02", "P01", "P03", "P04"]
    league.operate("withdraw", "P03")
    assert agent_of(league.register("player", 9, sender="player:P03")) == "P05"


@pytest.mark.requirement("REGISTER.rejected")
def test_a_refusal_is_an_answer_with_reason_code_name_and_number() -> None:
    league = Managed(players=1)
    league.register("player", 1)
    answer = plain(league.register("player", 2))
    assert answer["status"] == "REJECTED"
    assert answer["player_id"] is None
    assert answer["reason"]
    assert (answer["error_code"], answer["error_name"], answer["rpc_code"]) == ("E020", "LEAGUE_FULL", 2001)
    assert answer["context"] == {"max_players": 1, "current_players": 1}
    assert "auth_token" not in answer


@pytest.mark.requirement("REGISTER.refuses_when_full")
def test_one_referee_too_many_is_refused() -> None:
    league = Managed(max_referees=2)
    answers = [league.register("referee", number) for number in (1, 2, 3)]
    assert [code_of(one) for one in answers] == ["", "", "E020"]
    assert answers[2].context == {"max_referees": 2, "current_referees": 2}
    assert answers[2].rpc_code == 1001


def test_a_player_withdrawn_before_the_start_leaves_its_place() -> None:
    league = Managed(players=2)
    league.register("player", 1)
    league.register("player", 2)
    assert code_of(league.register("player", 3)) == "E020"
    league.operate("withdraw", "P01")
    assert agent_of(league.register("player", 3)) == "P03"
    league.register("referee", 1)
    schedule = league.of(e.ScheduleMade)[0]
    assert [(one.player_a, one.player_b) for one in schedule.rounds[0]] == [("P02", "P03")]
    assert [row.player_id for row in league.manager.standings] == ["P01", "P02", "P03"]


@pytest.mark.requirement("REGISTER.refuses_duplicate_name")
@pytest.mark.parametrize("name", ["Player 1", "PLAYER 1", " player  1 ", "Ｐlayer 1"])
def test_a_taken_name_is_refused_however_it_is_written(name: str) -> None:
    league = Managed()
    league.register("player", 1)
    answer = league.register("player", 2, display_name=name)
    assert code_of(answer) == "E022"
    assert answer.context is not None
    assert set(answer.context) == {"display_name", "suggestion"}


def test_a_name_may_be_taken_once_in_each_role_and_more_often_if_the_league_says_so() -> None:
    league = Managed()
    league.register("player", 1, display_name="Alice")
    assert code_of(league.register("referee", 1, display_name="Alice")) == ""
    free = Managed(unique_names=False)
    assert [code_of(free.register("player", n, display_name="Alice")) for n in (1, 2)] == ["", ""]


@pytest.mark.requirement("REGISTER.refuses_endpoint_in_use")
@pytest.mark.parametrize("role", ["player", "referee"])
def test_an_endpoint_of_another_agent_is_refused(role: str) -> None:
    league = Managed()
    league.register("player", 1)
    endpoint = "HTTP://127.0.0.1:8101/mcp/"
    assert code_of(league.register(role, 2, contact_endpoint=endpoint)) == "E044"


@pytest.mark.requirement("REGISTER.refuses_no_common_game")
def test_an_agent_without_the_leagues_game_is_refused() -> None:
    league = Managed()
    answer = league.register("player", 1, game_types=["chess", "go"])
    assert (code_of(answer), answer.rpc_code) == ("E027", 2004)
    assert 'games = ("even_odd",)' in str(answer)
    assert code_of(league.register("player", 1, game_types=["go", "even_odd"])) == ""


@pytest.mark.requirement("REGISTER.refuses_version")
@pytest.mark.parametrize(
    ("version", "code"),
    [("1.9.9", "E018"), ("3.0.0", "E018"), ("2.0.0-rc.1", "E018"), ("2.0.0", ""), ("2.9.1", ""), ("league.v2", "")],
)
def test_the_protocol_version_decides(version: str, code: str) -> None:
    assert code_of(Managed().register("player", 1, protocol_version=version)) == code


def test_another_protocol_is_refused_before_anything_else() -> None:
    league = Managed()
    message = league.registration("player", 1, display_name="") | {"protocol": "league.v3"}
    answer = league.request(message)
    assert isinstance(answer, LeagueRegisterResponse)
    assert (answer.error_code, answer.rpc_code) == ("E018", 2094)


@pytest.mark.requirement("REGISTER.refuses_without_key")
def test_a_league_may_ask_referees_for_a_key() -> None:
    league = Managed(secrets={"enrolment_key": "sesame"}, enrolment="key")
    assert code_of(league.register("referee", 1)) == "E043"
    assert code_of(league.register("referee", 1, enrolment_key="open")) == "E043"
    assert code_of(league.register("referee", 1, enrolment_key="sesame")) == ""
    assert code_of(league.register("player", 1)) == ""


def test_a_league_that_has_lost_its_key_lets_nobody_in() -> None:
    league = Managed(enrolment="key")
    assert code_of(league.register("referee", 1, enrolment_key="sesame")) == "E043"


@pytest.mark.requirement("REGISTER.refuses_forbidden_endpoint")
def test_the_address_policy_refuses_an_endpoint() -> None:
    league = Managed()
    league.machine = LeagueManager(league.settings, bytes, {}, endpoints=EndpointPolicy("local"))
    answer = league.register("player", 1, contact_endpoint="http://10.0.0.1/mcp")
    assert code_of(answer) == "E026"
    assert "--endpoints" in plain(answer)["reason"]
    assert code_of(league.register("player", 1)) == ""


@pytest.mark.requirement("REGISTER.errors")
@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"display_name": None}, "E003"),
        ({"display_name": 7}, "E007"),
        ({"display_name": "x" * 51}, "E008"),
        ({"contact_endpoint": "ftp://here"}, "E008"),
        ({"version": "1"}, "E008"),
    ],
)
def test_a_wrong_field_is_an_error_and_no_rejection(changed: dict[str, Any], code: str) -> None:
    league = Managed()
    answer = league.request(league.registration("player", 1, **changed))
    assert isinstance(answer, PeerError)
    assert answer.code == code
    assert league.of(e.AgentRegistered) == []


def test_a_player_may_not_register_as_a_referee() -> None:
    league = Managed()
    assert code_of(league.request(league.registration("referee", 1, sender="player:P01"))) == "E032"


@pytest.mark.requirement("REGISTER.refuses_late_player")
def test_from_the_start_on_a_new_player_is_too_late() -> None:
    league = Managed(players=2).fill()
    assert code_of(league.register("player", 3)) == "E019"


@pytest.mark.requirement("REGISTER.refuses_after_end")
def test_after_the_end_everybody_new_is_refused() -> None:
    league = Managed(players=2).fill()
    league.play()
    assert code_of(league.register("player", 3)) == "E031"
    assert code_of(league.register("referee", 3)) == "E031"


@pytest.mark.requirement("REGISTER.late_referee")
def test_a_new_referee_is_admitted_until_the_end_and_goes_to_work() -> None:
    league = Managed(players=4).fill()
    assert agent_of(league.register("referee", 2)) == "REF02"
    assert league.state("REF02") == "ACTIVE"
    league.play()
    assert {event.referee_id for event in league.of(e.MatchAssigned)} == {"REF01", "REF02"}


def test_in_strict_a_new_referee_is_admitted_only_when_none_is_alive() -> None:
    league = Managed(players=2, profile="strict")
    for role, number in (("referee", 1), ("player", 1), ("player", 2)):
        league.request(league.registration(role, number))
        league.answer_pings()
    assert league.manager.ledger.is_running
    answer = league.request(league.registration("referee", 2))
    assert isinstance(answer, RegisterResponse)
    assert answer.error_code == "E019"
    league.answer_pings()
    league.answer_all(but=["REF01"])
    league.wait(30)
    assert league.manager.waiting == "WAITING_FOR_REFEREE"
    league.request(league.registration("referee", 2))
    league.answer_pings(but=["REF01"])
    assert league.state("REF02") == "ACTIVE"


@pytest.mark.requirement("REGISTER.first_reason")
def test_of_several_reasons_the_first_is_named() -> None:
    league = Managed(players=1, max_referees=1, secrets={"enrolment_key": "k"}, enrolment="key", start="manual")
    league.register("player", 1)
    league.register("referee", 1, enrolment_key="k")
    wrong: dict[str, Any] = {
        "protocol_version": "1.0.0",
        "game_types": ["go"],
        "display_name": "Referee 1",
        "contact_endpoint": "http://127.0.0.1:8101/mcp",
    }
    found = []
    for mended in ({}, {"protocol_version": None}, {"enrolment_key": "k"}):
        wrong |= mended
        found.append(code_of(league.register("referee", 2, **wrong)))
    assert found == ["E018", "E043", "E020"]
    roomy = Managed(players=3)
    roomy.register("player", 1)
    wrong = {"game_types": ["go"], "display_name": "Player 1", "contact_endpoint": "http://127.0.0.1:8101/mcp"}
    found = []
    steps: tuple[dict[str, Any], ...] = ({}, {"game_types": ["even_odd"]}, {"display_name": "Other"})
    for step in steps:
        wrong |= step
        found.append(code_of(roomy.register("player", 2, origin="10.0.0.9", **wrong)))
    assert found == ["E027", "E022", "E044"]


# --- coming back ------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("REGISTER.comes_back")
def test_the_same_request_again_is_the_same_agent_with_a_new_token() -> None:
    league = Managed()
    first, second = league.register("player", 1), league.register("player", 1)
    assert agent_of(first) == agent_of(second) == "P01"
    assert first.auth_token != second.auth_token
    assert len(league.of(e.AgentRegistered)) == 1
    assert [event.serial for event in league.of(e.TokenRenewed)] == [2]


@pytest.mark.requirement("TOKEN.earlier_stay_valid")
def test_all_tokens_of_an_agent_stay_valid_whichever_is_used() -> None:
    league = Managed()
    old = league.register("player", 1).auth_token
    new = league.register("player", 1, auth_token=old).auth_token
    query = league.query_of("P01", "GET_STATUS")
    for token in (new, old, new, old):
        assert code_of(league.request(query | {"auth_token": token})) == ""
    assert [event.serial for event in league.of(e.TokenTakenUp)] == [1, 2, 1]


def test_a_referee_is_shown_new_tokens_when_a_player_turns_out_to_go_by_another_one() -> None:
    league = Managed(players=2)
    old = league.register("player", 1).auth_token
    league.register("player", 1, auth_token=old)  # its answer is lost
    league.register("player", 2)
    league.fill(players=0)
    league.answer_pings()
    league.answer_all()
    (before,) = league.told("REF01", "ROUND_ANNOUNCEMENT")
    league.request(league.query_of("P01", "GET_STATUS") | {"auth_token": old})
    after = league.told("REF01", "ROUND_ANNOUNCEMENT")[-1]
    assert isinstance(before.message, RoundAnnouncement)
    assert isinstance(after.message, RoundAnnouncement)
    (first,), (second,) = before.message.matches, after.message.matches
    assert (first.match_id, first.attempt, first.player_B_token) == (
        second.match_id,
        second.attempt,
        second.player_B_token,
    )
    assert first.player_A_token != second.player_A_token


def test_of_many_tokens_got_by_name_only_the_newest_are_kept() -> None:
    league = Managed()
    given = [league.register("player", 1).auth_token for _ in range(10)]
    query = league.query_of("P01", "GET_STATUS")
    valid = [league.manager.ledger.roster.owner(token or "") is not None for token in given]
    assert valid == [True, *[False] * 5, *[True] * 4]
    assert code_of(league.request(query | {"auth_token": given[0]})) == ""


def test_of_many_tokens_of_full_standing_the_first_and_the_newest_are_kept() -> None:
    league = Managed()
    given = [league.register("player", 1).auth_token]
    given += [league.register("player", 1, auth_token=given[-1]).auth_token for _ in range(20)]
    valid = [league.manager.ledger.roster.owner(token or "") is not None for token in given]
    assert valid == [True, *[False] * 4, *[True] * 16]


def test_from_elsewhere_only_the_token_proves_that_it_is_the_same_agent() -> None:
    league = Managed()
    league.register("player", 1)
    assert code_of(league.register("player", 1, origin="10.0.0.9")) == "E022"
    again = league.register("player", 1, origin="10.0.0.9", auth_token=league.tokens["P01"])
    assert agent_of(again) == "P01"


def test_the_token_of_somebody_else_proves_nothing() -> None:
    league = Managed()
    league.register("player", 1)
    league.register("player", 2)
    again = league.register("player", 1, origin="10.0.0.9", auth_token=league.tokens["P02"])
    assert code_of(again) == "E022"


def test_an_agent_may_come_back_during_the_league_and_after_it() -> None:
    league = Managed(players=2).fill()
    assert agent_of(league.register("player", 1)) == "P01"
    league.play()
    assert agent_of(league.register("player", 2)) == "P02"
    assert code_of(league.request(league.query_of("P02", "GET_STANDINGS"))) == ""


def test_a_name_at_another_endpoint_is_not_the_same_agent() -> None:
    league = Managed()
    league.register("player", 1)
    assert code_of(league.register("player", 1, contact_endpoint="http://127.0.0.1:9999/mcp")) == "E022"


# --- tokens -----------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("TOKEN.kept_as_digest")
def test_no_event_and_no_secret_holds_a_token() -> None:
    league = Managed(players=2).fill()
    league.register("player", 1)
    league.play()
    told = repr(league.events) + repr(league.secrets) + repr(league.manager.snapshot())
    assert not any(token in told for token in league.tokens.values())
    assert league.secrets["derive/REF01/1"] == tokens.deriver(league.tokens["REF01"])
    assert league.of(e.AgentRegistered)[0].verify == tokens.verifier(league.tokens["REF01"])


def test_messages_carry_the_token_of_their_receiver_beside_them() -> None:
    league = Managed(players=2).fill()
    one = league.calls("ROUND_ANNOUNCEMENT", "P01")[0]
    key = tokens.deriver(league.tokens["P01"])
    assert one.to.token == tokens.derive(key, "league_manager", "P01", LEAGUE)
    assert "auth_token" not in plain(one.message)  # type: ignore[arg-type]


def test_after_a_renewal_agents_are_shown_what_their_new_token_explains() -> None:
    league = Managed(players=2).fill()
    league.answer_all()
    league.register("player", 1)
    league.report("R1M1")
    one = league.calls("LEAGUE_STANDINGS_UPDATE", "P01")[0]
    assert one.to.token == tokens.derive(tokens.deriver(league.tokens["P01"]), "league_manager", "P01", LEAGUE)


# --- deviations -------------------------------------------------------------------------------------------------------


def test_a_deviation_is_recorded_once_per_agent_and_kind() -> None:
    league = Managed()
    for _ in range(2):
        league.register("player", 1, protocol_version="league.v2", sender="players:P01")
    league.register("player", 2, protocol_version="league.v2")
    found = [(event.agent_id, event.requirement) for event in league.of(e.DeviationRecorded)]
    assert found == [
        ("P01", "ENVELOPE.sender"),
        ("P01", "LEAGUE_REGISTER_REQUEST.player_meta.protocol_version"),
        ("P02", "LEAGUE_REGISTER_REQUEST.player_meta.protocol_version"),
    ]


@pytest.mark.requirement("DIALECT.paths")
@pytest.mark.parametrize(("path", "recorded"), [("", True), ("/", True), ("/mcp", False), ("/agents/ann", False)])
def test_an_endpoint_without_a_path_is_recorded(path: str, recorded: bool) -> None:
    for profile in ("compat", "strict"):
        league = Managed(profile=profile)
        league.register("player", 1, contact_endpoint=f"http://127.0.0.1:8101{path}")
        found = [(one.agent_id, one.code, one.requirement) for one in league.of(e.DeviationRecorded)]
        assert found == ([("P01", "E003", "HTTP.post_mcp")] if recorded and profile == "compat" else [])


@pytest.mark.requirement("REFUSED.shown")
def test_a_refused_registration_changes_nothing_but_what_the_operator_sees() -> None:
    league = Managed(players=1)
    league.register("player", 1)
    before = league.manager.snapshot()
    for _ in range(2):
        league.register("player", 2, protocol_version="league.v2")
    after = league.manager.snapshot()
    assert {**after, "irregularities": {**after["irregularities"], "refusals": []}} == before
    (shown,) = views.agents(league.manager)["refused"]
    assert (shown["request"], shown["name"], shown["endpoint"], shown["code"]) == (
        "registration",
        "Player 2",
        "http://127.0.0.1:8102/mcp",
        "E020",
    )


@pytest.mark.requirement("REFUSED.shown")
def test_a_registration_that_cannot_be_read_is_shown_too_but_strangers_do_not_fill_the_journal() -> None:
    league = Managed(players=1)
    for number in range(300):
        league.request(league.registration("player", number, version="one"))
    assert len(league.of(e.RequestRefused)) == 100
    assert {one.code for one in league.of(e.RequestRefused)} == {"E008"}


@pytest.mark.requirement("DIALECT.registrations")
@pytest.mark.parametrize(
    ("fields", "recorded"),
    [
        ({"game_types": None}, {"game_types"}),
        ({"display_name": None, "sender": "player:Alice"}, {"display_name"}),
        ({"contact_endpoint": None, "endpoint": "http://127.0.0.1:8101/mcp"}, {"contact_endpoint"}),
        (
            {"contact_endpoint": None, "url": "http://127.0.0.1:8101/mcp", "game_types": None},
            {"contact_endpoint", "game_types"},
        ),
    ],
)
def test_a_registration_may_lack_what_a_league_can_do_without(fields: dict[str, Any], recorded: set[str]) -> None:
    league = Managed()
    raw = {"jsonrpc": "2.0", "id": 1, "method": "register_player", "params": league.registration("player", 1, **fields)}
    reading = Reading("compat", game_type="even_odd")
    asked = letters.read_request(json.dumps(raw).encode(), Speaker(Role.MANAGER, "league_manager", reading))
    answer = league.request(asked.content)
    assert isinstance(answer, LeagueRegisterResponse)
    assert answer.status == "ACCEPTED"
    (member,) = league.of(e.AgentRegistered)
    assert (member.endpoint, member.game_types) == ("http://127.0.0.1:8101/mcp", ("even_odd",))
    assert member.display_name == ("Alice" if "display_name" in recorded else "Player 1")
    place = "LEAGUE_REGISTER_REQUEST.player_meta."
    assert {one.requirement for one in league.of(e.DeviationRecorded)} == {place + name for name in recorded}


# --- strict -----------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("REGISTER.strict_probe")
def test_strict_answers_when_the_endpoint_has_answered() -> None:
    league = Managed(profile="strict")
    assert league.request(league.registration("player", 1)) is None
    step = league.answer(league.calls("ping")[0], Pong())
    (answer,) = step.replies
    assert isinstance(answer.content, LeagueRegisterResponse)
    assert answer.content.player_id == "P01"


@pytest.mark.requirement("REGISTER.strict_probe")
@pytest.mark.requirement("ENDPOINT.no_oracle")
@pytest.mark.parametrize("failure", [None, Failure.REFUSED, Failure.BROKEN, Failure.TIMEOUT])
def test_strict_refuses_an_endpoint_that_does_not_answer_and_does_not_tell_why(failure: Failure | None) -> None:
    league = Managed(profile="strict")
    assert league.request(league.registration("player", 1)) is None
    (probe,) = league.calls("ping")
    assert probe.deadline == league.now + 3
    if failure is not None:
        league.fail(probe, failure)
    league.wait(2.999)
    assert league.replies == {}
    league.wait(0.001)
    (answer,) = league.replies.values()
    assert isinstance(answer, LeagueRegisterResponse)
    assert code_of(answer) == "E025"
    assert plain(answer)["reason"] == "http://127.0.0.1:8101/mcp does not answer"
    assert plain(answer)["context"] == {}
    assert league.of(e.AgentRegistered) == []
    (noted,) = league.of(e.RequestRefused)
    assert (noted.code, noted.endpoint) == ("E025", "http://127.0.0.1:8101/mcp")


# --- endpoints --------------------------------------------------------------------------------------------------------

NAMED = "http://agent.example:8101/mcp"


def with_policy(policy: EndpointPolicy, **changed: Any) -> Managed:
    league = Managed(**changed)
    league.machine = LeagueManager(league.settings, bytes, {}, endpoints=policy)
    league.answers_first_probe = False
    return league


@pytest.mark.requirement("ENDPOINT.at_origin")
def test_who_names_its_loopback_from_another_machine_is_told_what_to_do() -> None:
    answer = with_policy(EndpointPolicy("lan", "same")).register("player", 1, origin="10.0.0.7")
    assert code_of(answer) == "E026"
    assert plain(answer)["reason"].endswith("(--host 10.0.0.7), or play through a mailbox (--outbound)")


@pytest.mark.requirement("ENDPOINT.pinned")
@pytest.mark.parametrize("profile", ["compat", "strict"])
def test_a_name_is_looked_up_before_the_answer_and_what_it_leads_to_is_not_told(profile: str) -> None:
    league = with_policy(EndpointPolicy("lan", "same"), profile=profile)
    assert league.request(league.registration("player", 1, contact_endpoint=NAMED), "10.0.0.7") is None
    (probe,) = league.calls("ping")
    assert (probe.to.endpoint, probe.to.origin) == (NAMED, "10.0.0.7")
    league.fail(probe, Failure.FORBIDDEN)
    league.wait(3)
    (answer,) = league.replies.values()
    assert isinstance(answer, LeagueRegisterResponse)
    assert code_of(answer) == "E026"
    told = f"{NAMED} does not lead to where you speak from (10.0.0.7): register that address"
    assert plain(answer)["reason"] == told


@pytest.mark.requirement("ENDPOINT.pinned")
@pytest.mark.parametrize("failure", [Failure.REFUSED, Failure.BROKEN, Failure.TIMEOUT])
def test_who_registers_by_a_name_need_not_listen_yet(failure: Failure) -> None:
    league = with_policy(EndpointPolicy("lan", "same"))
    league.request(league.registration("player", 1, contact_endpoint=NAMED), "10.0.0.7")
    league.fail(league.calls("ping")[0], failure)
    league.wait(3)
    (answer,) = league.replies.values()
    assert code_of(answer) == ""


def test_a_name_the_operator_allows_is_taken_at_once() -> None:
    league = with_policy(EndpointPolicy("lan", "same", (read_allowance("agent.example"),)))
    assert code_of(league.request(league.registration("player", 1, contact_endpoint=NAMED), "10.0.0.7")) == ""


@pytest.mark.requirement("ENDPOINT.policy")
def test_every_call_says_who_named_its_endpoint() -> None:
    league = Managed(players=2)
    for number in (1, 2):
        league.register("player", number, origin=f"10.0.0.{number}")
    league.register("referee", 1, origin="10.0.0.3")
    league.answer_all()
    origins = {(call.to.agent_id, call.to.origin) for call in league.sent if call.to.agent_id in league.tokens}
    assert origins == {("P01", "10.0.0.1"), ("P02", "10.0.0.2"), ("REF01", "10.0.0.3")}
    assert {one.kind for one in league.sent} >= {"ping", "ROUND_ANNOUNCEMENT"}
    strangers = [call.to.origin for call in league.sent if call.to.agent_id.startswith("stranger-")]
    assert strangers == ["10.0.0.1", "10.0.0.2", "10.0.0.3"]


def test_strict_judges_again_when_the_endpoint_has_answered() -> None:
    league = Managed(profile="strict", players=1)
    league.request(league.registration("player", 1))
    league.request(league.registration("player", 2))
    answers = [league.answer(one).replies[0].content for one in league.calls("ping")]
    assert [code_of(one) for one in answers] == ["", "E020"]


# --- language models --------------------------------------------------------------------------------------------------

CARD = {"model": "small-1", "provider": "api.example.org", "corrections": 2, "options_shown": True}


def models_of(league: Managed, player: str = "P01") -> list[str]:
    return [one.model for one in league.manager.ledger.roster.members[player].conditions]


@pytest.mark.requirement("EXPERIMENT.conditions")
def test_the_conditions_under_which_a_model_plays_are_kept_also_when_they_change() -> None:
    league = Managed()
    answer = league.register("player", 1, conditions=CARD)
    league.register("player", 1, conditions=CARD, auth_token=answer.auth_token)
    assert models_of(league) == ["small-1"]
    league.register("player", 1, conditions={"model": "large-1"}, auth_token=answer.auth_token)
    league.restart()
    assert models_of(league) == ["small-1", "large-1"]


@pytest.mark.requirement("EXPERIMENT.conditions")
def test_who_only_knows_a_name_and_an_address_cannot_change_them() -> None:
    league = Managed()
    league.register("player", 1, conditions=CARD)
    league.register("player", 1, conditions={"model": "large-1"})
    assert models_of(league) == ["small-1"]


@pytest.mark.parametrize("conditions", [{}, {"model": ""}, {"model": "m", "corrections": "two"}])
def test_conditions_that_cannot_be_read_keep_nobody_out(conditions: dict[str, object]) -> None:
    league = Managed()
    assert league.register("player", 1, conditions=conditions).status == "ACCEPTED"
    assert models_of(league) == []


def test_a_token_that_a_refused_registration_quotes_is_masked_before_anybody_sees_it() -> None:
    league = Managed()
    token = "tok_P01_" + "x" * 43
    league.request(league.registration("player", 1, display_name=f"me {token}", contact_endpoint=f"ftp://{token}/mcp"))
    (refused,) = league.of(e.RequestRefused)
    assert "x" * 20 not in f"{refused.name} {refused.endpoint} {refused.detail}"
