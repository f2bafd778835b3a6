"""Before a player loses because it did not answer, its match waits, if its referee asks (section 8.15)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from league import events as e
from league.machine import Failure
from league.manager.fairness.patience import MOST_DECISIONS, OWN_PAUSES
from league.protocol.message.messages import RefereeRegisterResponse, RoundAnnouncement
from tests.support.managed import Managed, code_of
from tests.support.player_keys import key_of

TROUBLE = "trouble.v1"


def started(players: int = 8, *, asks: bool = True, **changed: Any) -> Managed:
    """A league whose referee asks first, or does not."""
    league = Managed(players=players, **changed)
    league.register("referee", 1, trouble=TROUBLE if asks else None)
    league.answer_pings()
    for number in range(1, players + 1):
        league.register("player", number)
        league.answer_pings()
    league.answer_all()
    return league


def players_of(league: Managed, match_id: str) -> tuple[str, str]:
    return league.manager.ledger.matches[match_id].players


def waiting(league: Managed) -> str | None:
    return league.manager.waiting


def probe(league: Managed, *gone: str) -> None:
    """Every probe under way is answered, except those of the players that are gone, and those that follow."""
    while calls := league.calls("ping"):
        for call in calls:
            if call.to.agent_id in gone:
                league.fail(call, Failure.REFUSED)
            else:
                league.answer(call, league.pong(call.to.agent_id))


def pass_time(league: Managed, seconds: int, *gone: str) -> None:
    """The process stays awake all the time."""
    for _ in range(seconds):
        league.wait(1)
        probe(league, *gone)


def ask(league: Managed, match_id: str, player: str, code: str = "E009", gone: Iterable[str] = (), **more: Any) -> str:
    """The answer, when all probes that it takes are answered."""
    letter = league.trouble(match_id, player, code, **more)
    probe(league, *gone)
    return league.decision(letter)


# --- who may ask ------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("TROUBLE.declared")
def test_the_answer_to_a_registration_repeats_what_was_declared() -> None:
    league = Managed(players=2)
    asking = league.register("referee", 1, trouble=TROUBLE)
    silent = league.register("referee", 2, trouble=None)
    future = league.register("referee", 3, trouble="trouble.v9")
    answers = [answer.trouble for answer in (asking, silent, future) if isinstance(answer, RefereeRegisterResponse)]
    assert answers == [TROUBLE, None, None]


@pytest.mark.requirement("TROUBLE.declared")
def test_a_referee_that_declared_nothing_may_not_ask() -> None:
    league = Managed(players=2).fill()
    league.answer_all()
    assert ask(league, "R1M1", "P01") == "E036"


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"match_id": "R9M9"}, "E014"),
        ({"attempt": 2}, "E016"),
        ({"player_id": "P07"}, "E005"),
        ({"code": "E004"}, "E008"),
        ({"league_id": "another"}, "E028"),
        ({"turn": -1}, "E008"),
    ],
)
def test_a_question_about_nothing_is_refused_and_changes_nothing(changed: dict[str, Any], code: str) -> None:
    league = started(4)
    before = len(league.events)
    question = league.trouble_of("R1M1", players_of(league, "R1M1")[0])
    assert code_of(league.request({**question, **changed})) == code
    assert len(league.events) == before


def test_a_player_and_another_referee_may_not_ask() -> None:
    league = Managed(players=4, referees=2)
    for number in (1, 2):
        league.register("referee", number, trouble=TROUBLE)
    league.fill(referees=0)
    league.answer_all()
    question = league.trouble_of("R1M1", "P01")
    other = "REF02" if question["sender"] == "referee:REF01" else "REF01"
    stranger = {**question, "sender": f"referee:{other}", "auth_token": league.tokens[other]}
    assert code_of(league.request(stranger)) == "E016"
    player = {**question, "sender": "player:P01", "auth_token": league.tokens["P01"]}
    assert code_of(league.request(player)) in ("E032", "E038")


# --- nobody else is gone ----------------------------------------------------------------------------------------------


@pytest.mark.requirement("TROUBLE.decide")
@pytest.mark.parametrize("code", ["E001", "E009"])
def test_a_player_that_answers_the_probe_loses(code: str) -> None:
    league = started()
    player, _ = players_of(league, "R1M1")
    assert ask(league, "R1M1", player, code) == "decide"
    (allowed,) = league.of(e.LossAllowed)
    assert (allowed.reached, allowed.code) == (True, code)
    assert [call.to.agent_id for call in league.sent if call.kind == "ping"].count(allowed.player_id) >= 1
    assert league.of(e.MatchPaused) == []


@pytest.mark.requirement("TROUBLE.own_account")
def test_a_player_has_three_pauses_of_its_own_in_a_league() -> None:
    league = started()
    player, _ = players_of(league, "R1M1")
    for turn in range(OWN_PAUSES):
        assert ask(league, "R1M1", player, gone=[player], turn=turn) == "wait"
        pass_time(league, 60, player)
        league.restart()
        assert ask(league, "R1M1", player, gone=[player], turn=turn) == "decide", "once for a question"
    assert ask(league, "R1M1", player, gone=[player], turn=OWN_PAUSES) == "decide"


@pytest.mark.requirement("TROUBLE.decide")
def test_a_player_that_is_gone_alone_loses_after_a_minute_and_the_manager_has_seen_it() -> None:
    league = started()
    player, _ = players_of(league, "R1M1")
    assert ask(league, "R1M1", player, gone=[player]) == "wait"
    assert waiting(league) is None, "the league goes on"
    pass_time(league, 59, player)
    assert ask(league, "R1M1", player, gone=[player]) == "wait"
    pass_time(league, 1, player)
    assert ask(league, "R1M1", player, gone=[player]) == "decide"
    assert [(event.cause, event.why) for event in league.of(e.MatchPaused)] == [("player", f"{player} does not answer")]
    assert [event.reached for event in league.of(e.LossAllowed)] == [False]
    report = league.report_of("R1M1", "-A")
    report["result"]["details"]["faults"] = {player: {"code": "E009", "phase": "join"}}
    assert code_of(league.request(report)) == ""
    (judged,) = league.of(e.ResultJudged)
    assert judged.evidence == "by_manager"
    probed = [call.to.agent_id for call in league.calls("ping") if call.to.agent_id.startswith("P")]
    assert probed == [], "the loss was asked about: nobody is probed once more"


def test_the_operator_learns_of_a_referee_that_asks_for_ever_and_never_reports() -> None:
    league = started(players=2)
    player, _ = players_of(league, "R1M1")
    for _ in range(4):
        pass_time(league, 60)
        assert ask(league, "R1M1", player) == "decide"
    assert league.of(e.MatchLost) == [], "it keeps its match by asking about it"
    assert waiting(league) == "WAITING_FOR_REPORT"


@pytest.mark.parametrize(
    "fault",
    [
        {"code": "E009", "phase": "move", "turn": 7},
        {"code": "E001", "phase": "join", "turn": 0},
        {"code": "E004"},
        "E009",
    ],
    ids=["another turn", "another code", "never asked about", "no fault"],
)
def test_a_loss_is_confirmed_only_for_the_turn_and_the_fault_that_the_manager_was_asked_about(fault: Any) -> None:
    league = started()
    player, _ = players_of(league, "R1M1")
    assert ask(league, "R1M1", player, gone=[player]) == "wait"
    pass_time(league, 60, player)
    assert ask(league, "R1M1", player, gone=[player]) == "decide"
    report = league.report_of("R1M1", "-A")
    report["result"]["details"]["faults"] = {player: fault}
    assert code_of(league.request(report)) == ""
    assert league.of(e.ResultJudged)[-1].evidence == "by_referee"


def test_a_loss_that_its_referee_should_have_asked_about_rests_on_its_word() -> None:
    league = started()
    player, _ = players_of(league, "R1M1")
    elsewhere = next(match_id for match_id in league.open_matches if match_id != "R1M1")
    assert code_of(league.report(elsewhere)) == ""
    while not league.calls("LEAGUE_STANDINGS_UPDATE", player):
        league.wait(1)
        probe(league)
    league.fail(league.calls("LEAGUE_STANDINGS_UPDATE", player)[0], Failure.REFUSED)
    report = league.report_of("R1M1", "-A")
    report["result"]["details"]["faults"] = {player: {"code": "E001", "phase": "join"}}
    assert code_of(league.request(report)) == ""
    assert league.of(e.ResultJudged)[-1].evidence == "by_referee"


def test_the_question_is_answered_after_three_seconds_for_each_probe_at_most() -> None:
    league = started()
    player, _ = players_of(league, "R1M1")
    letter = league.trouble("R1M1", player)
    begun = league.now
    while not league.decision(letter):
        league.wait(0.5)
        for call in league.calls("ping"):
            if call.to.agent_id != player:
                league.answer(call, league.pong(call.to.agent_id))
    assert league.now - begun <= 14


def test_a_question_that_comes_again_while_it_is_open_gets_the_same_answer() -> None:
    league = started()
    player, _ = players_of(league, "R1M1")
    first = league.trouble("R1M1", player)
    second = league.trouble("R1M1", player)
    assert (league.decision(first), league.decision(second)) == ("", "")
    probe(league)
    assert (league.decision(first), league.decision(second)) == ("decide", "decide")
    assert len(league.of(e.LossAllowed)) == 1


def test_a_referee_that_asks_instead_of_deciding_loses_the_match_and_does_not_fill_the_journal() -> None:
    league = started(outage_minutes=0.0)
    player, _ = players_of(league, "R1M1")
    answers = []
    for turn in range(50):
        if turn == MOST_DECISIONS // 2:
            league.restart()
        answers.append(ask(league, "R1M1", player, turn=turn))
    assert answers == ["decide"] * MOST_DECISIONS + ["E010"] * (50 - MOST_DECISIONS)
    assert len(league.of(e.LossAllowed)) == MOST_DECISIONS
    begun = league.now
    match = league.manager.ledger.matches["R1M1"]
    while match.attempt == 1 and match.status == "ASSIGNED":
        pass_time(league, 10)
        league.request(league.trouble_of("R1M1", player, turn=1))
        assert league.now - begun < 3600, "it keeps the match by asking"


@pytest.mark.requirement("OUTAGE.never")
def test_a_league_in_which_no_match_waits_decides_at_once() -> None:
    league = started(outage_minutes=0.0)
    player, _ = players_of(league, "R1M1")
    for code in ("E001", "E009", "E045"):
        assert league.decision(league.trouble("R1M1", player, code)) == "decide"


# --- many are silent --------------------------------------------------------------------------------------------------


@pytest.mark.requirement("OUTAGE.many")
@pytest.mark.parametrize(
    ("players", "silent", "cause"),
    [(9, 2, "player"), (9, 3, "outage"), (6, 2, "outage"), (2, 1, "player"), (2, 2, "outage")],
)
def test_a_third_of_the_players_and_at_least_two_are_many(players: int, silent: int, cause: str) -> None:
    league = started(players)
    player = players_of(league, "R1M1")[0]
    others = [agent_id for agent_id in league.manager.player_ids if agent_id != player]
    assert ask(league, "R1M1", player, gone=[player, *others[: silent - 1]]) == "wait"
    assert [event.cause for event in league.of(e.MatchPaused)] == [cause]


@pytest.mark.requirement("OUTAGE.many")
def test_a_match_waits_for_many_players_and_goes_on_in_the_same_attempt() -> None:
    league = started()
    player, other = players_of(league, "R1M1")
    gone = (player, other, *players_of(league, "R1M2"))
    assert ask(league, "R1M1", player, gone=gone) == "wait"
    assert waiting(league) == "WAITING_FOR_PLAYERS"
    assert league.manager.waiting_reason == f"4 of 8 players can't be reached: {', '.join(sorted(gone))}"
    for _ in range(3):
        assert ask(league, "R1M1", player, gone=gone) == "wait"
    assert [(event.cause, event.turn) for event in league.of(e.MatchPaused)] == [("outage", 0)]
    for agent_id in gone:
        league.query(agent_id, "GET_STATUS")
    assert waiting(league) is None
    assert code_of(league.report("R1M1")) == ""
    assert league.manager.ledger.matches["R1M1"].attempt == 1
    assert (league.of(e.ResultVoided), league.of(e.MatchLost)) == ([], [])


@pytest.mark.requirement("OUTAGE.bounded")
def test_two_friends_that_go_dark_are_waited_for_ten_minutes_in_a_league() -> None:
    league = started(4, outage_minutes=2.0)
    gone = players_of(league, "R1M1")
    begun = league.now
    while ask(league, "R1M1", gone[0], gone=gone) == "wait":
        pass_time(league, 5, *gone)
        assert league.now - begun < 200
    assert league.now - begun == pytest.approx(180, abs=10)
    assert [event.cause for event in league.of(e.MatchPaused)] == ["outage", "outage", "player"]
    assert league.of(e.MatchLost) == [], "its referee keeps the match meanwhile"
    assert ask(league, "R1M1", gone[0], gone=gone, turn=1) == "wait"
    assert league.of(e.MatchPaused)[-1].cause == "player", "nothing is left for it in this league"


def test_many_questions_are_answered_after_one_survey() -> None:
    league = started()
    gone = (*players_of(league, "R1M1"), *players_of(league, "R1M2"))
    letters = [league.trouble(match_id, players_of(league, match_id)[0]) for match_id in ("R1M1", "R1M2")]
    sent = len(league.sent)
    probe(league, *gone)
    assert [league.decision(letter) for letter in letters] == ["wait", "wait"]
    assert sum(call.kind == "ping" for call in league.sent[sent:]) == 8


@pytest.mark.requirement("OUTAGE.behind")
def test_a_player_that_is_gone_while_behind_is_counted() -> None:
    league = started(4)
    player, other = players_of(league, "R1M1")
    assert ask(league, "R1M1", player, gone=(player, other), behind=True, turn=2) == "wait"
    assert league.of(e.MatchPaused)[0].behind
    members = league.manager.ledger.roster.members
    assert (members[player].attendance.gone_behind, members[other].attendance.gone_behind) == (1, 0)


@pytest.mark.requirement("TROUBLE.survives")
def test_no_pause_lasts_longer_because_the_clock_was_set_back() -> None:
    league = started()
    player, _ = players_of(league, "R1M1")
    assert ask(league, "R1M1", player, "E045") == "wait"
    league.restart(after=-3000.0)
    assert ask(league, "R1M1", player, "E045") == "decide"


@pytest.mark.requirement("TROUBLE.survives")
@pytest.mark.parametrize("moment", ["before", "probing", "surveying", "waiting"])
def test_a_pause_survives_a_kill_of_the_manager_at_any_moment(moment: str) -> None:
    league = started()
    player, other = players_of(league, "R1M1")
    gone = (player, other, *players_of(league, "R1M2"))
    if moment != "before":
        league.trouble("R1M1", player)
    if moment in ("surveying", "waiting"):
        league.fail(league.calls("ping", player)[0], Failure.REFUSED)
    if moment == "waiting":
        probe(league, *gone)
    league.restart()
    assert ask(league, "R1M1", player, gone=gone) == "wait"
    assert len(league.of(e.MatchPaused)) == 1
    assert code_of(league.report("R1M1")) == ""
    assert league.manager.ledger.matches["R1M1"].attempt == 1


@pytest.mark.requirement("OUTAGE.restart")
def test_after_a_restart_matches_are_dispatched_at_once() -> None:
    league = started()
    sent = len(league.sent)
    league.restart(probed=False)
    assert [call for call in league.sent[sent:] if (call.kind, call.to.agent_id) == ("ROUND_ANNOUNCEMENT", "REF01")]


# --- a referee that does not ask --------------------------------------------------------------------------------------


@pytest.mark.requirement("OUTAGE.unasked")
@pytest.mark.parametrize("are_many", [True, False])
def test_a_loss_that_nobody_asked_about_stands_and_is_doubted_if_many_were_silent(are_many: bool) -> None:
    league = started(6, asks=False)
    player, other = players_of(league, "R1M1")
    report = league.report_of("R1M1", "-A")
    report["result"]["details"]["faults"] = {player: {"code": "E009", "phase": "join"}}
    assert code_of(league.request(report)) == ""
    probe(league, player, *([other] if are_many else []))
    assert [event.status for event in league.of(e.ResultAccepted)] == ["TECHNICAL_LOSS"]
    match = league.manager.ledger.matches["R1M1"]
    assert match.basis is not None
    assert ("league replay-match R1M1" in match.basis.doubt) is are_many
    assert match.status == "COMPLETED"


@pytest.mark.parametrize(
    ("fault", "is_probed"),
    [
        ({"code": "E001"}, True),
        ({}, True),
        ("E009", True),
        ({"code": "E004"}, False),
        ({"code": "E009", "reached": True}, False),
    ],
)
def test_players_are_probed_after_a_loss_by_silence_only(fault: Any, is_probed: bool) -> None:
    league = started(6, asks=False)
    player, _ = players_of(league, "R1M1")
    report = league.report_of("R1M1", "-A")
    report["result"]["details"]["faults"] = {player: fault}
    assert code_of(league.request(report)) == ""
    assert bool(league.calls("ping", player)) is is_probed


# --- a token that never arrived ---------------------------------------------------------------------------------------


def started_with_keys(trouble: str | None = TROUBLE, **changed: Any) -> Managed:
    """A league of two players that declared a key."""
    league = Managed(players=2, **changed)
    league.register("referee", 1, trouble=trouble)
    league.answer_pings()
    for number in (1, 2):
        league.register("player", number, public_key=key_of(f"P{number:02}").public)
        league.answer_pings()
    league.answer_all()
    return league


@pytest.mark.requirement("TROUBLE.token")
def test_a_match_waits_a_minute_for_a_player_that_may_not_have_its_token() -> None:
    league = started_with_keys()
    assert ask(league, "R1M1", "P01", "E001") == "wait"
    (paused,) = league.of(e.MatchPaused)
    assert (paused.player_id, paused.cause) == ("P01", "player")
    pass_time(league, 59)
    assert ask(league, "R1M1", "P01", "E001") == "wait"
    pass_time(league, 2)
    assert ask(league, "R1M1", "P01", "E001") == "decide", "once for a question"


@pytest.mark.requirement("TROUBLE.token")
@pytest.mark.parametrize("shown_in", ["a query", "an acknowledgement"])
def test_a_player_that_has_shown_its_token_is_not_waited_for(shown_in: str) -> None:
    league = started_with_keys(double=True)
    if shown_in == "a query":
        league.query("P01", "GET_STATUS")
    else:
        assert code_of(league.report("R1M1")) == ""
        table = league.calls("LEAGUE_STANDINGS_UPDATE", "P01")[0]
        acknowledgement = league.envelope("STANDINGS_UPDATE_ACK", "player:P01", status="ACKNOWLEDGED")
        league.answer(table, {**acknowledgement, "auth_token": league.tokens["P01"]})
        league.answer_all()
    assert ask(league, league.open_matches[0], "P01", "E001") == "decide"


@pytest.mark.requirement("TROUBLE.token")
@pytest.mark.parametrize("restarts", [False, True])
def test_a_match_waits_for_a_player_that_registered_again_while_it_was_played(restarts: bool) -> None:
    league = started_with_keys()
    for number in (1, 2):
        league.query(f"P{number:02}", "GET_STATUS")
    fresh = league.register("player", 1, public_key=key_of("P01").public).auth_token
    (asked,) = league.calls("LEAGUE_STANDINGS_UPDATE", "P01")
    acknowledgement = league.envelope("STANDINGS_UPDATE_ACK", "player:P01", status="ACKNOWLEDGED")
    league.answer(asked, {**acknowledgement, "auth_token": fresh})
    league.answer_all()
    assert league.of(e.TokenTakenUp)
    if restarts:
        league.restart()
        league.answer_all()
    assert ask(league, "R1M1", "P01", "E001") == "wait"
    assert ask(league, "R1M1", "P02", "E001") == ("wait" if restarts else "decide")
    pass_time(league, 61)
    assert ask(league, "R1M1", "P01", "E001") == "decide", "once for a question"


@pytest.mark.requirement("TOKEN.signers_held")
@pytest.mark.parametrize(("trouble", "holds"), [(TROUBLE, True), (None, None)])
def test_only_referees_that_ask_hold_players_to_their_tokens(trouble: str | None, holds: bool | None) -> None:
    league = started_with_keys(trouble)
    (assignment,) = (call for call in league.sent if (call.kind, call.to.agent_id) == ("ROUND_ANNOUNCEMENT", "REF01"))
    assert isinstance(assignment.message, RoundAnnouncement)
    assert assignment.message.matches[0].player_A_signs is holds


def test_a_referee_that_was_gone_learns_of_a_new_token_when_it_asks() -> None:
    league = started_with_keys()
    league.register("player", 1, public_key=key_of("P01").public)
    while reminders := league.calls("ROUND_ANNOUNCEMENT", "REF01"):
        for call in reminders:
            league.fail(call, Failure.REFUSED)
        league.wait(2)
    league.trouble("R1M1", "P01", "E001")
    (reminder,) = league.calls("ROUND_ANNOUNCEMENT", "REF01")
    assert isinstance(reminder.message, RoundAnnouncement)
    assert [match.match_id for match in reminder.message.matches] == ["R1M1"]
    league.answer(reminder)
    league.trouble("R1M1", "P02", "E001")
    assert league.calls("ROUND_ANNOUNCEMENT", "REF01") == []


# --- language models --------------------------------------------------------------------------------------------------


@pytest.mark.requirement("TROUBLE.own_account")
def test_a_match_waits_a_minute_for_a_language_model_three_times_in_a_league() -> None:
    league = started()
    player, _ = players_of(league, "R1M1")
    for turn in range(OWN_PAUSES):
        assert ask(league, "R1M1", player, "E045", turn=turn) == "wait"
        pass_time(league, 60)
        assert ask(league, "R1M1", player, "E045", turn=turn) == "decide"
    assert ask(league, "R1M1", player, "E045", turn=OWN_PAUSES) == "decide"
    assert league.manager.ledger.roster.members[player].attendance.declined == OWN_PAUSES
