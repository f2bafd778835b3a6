"""Promise 19: nobody loses technically in an outage. Each planted violation breaks it."""

from __future__ import annotations

from typing import Literal

import pytest
from msgspec import structs

from league import events as e
from league.protocol.experiment import Conditions
from league_audit.promises import Evidence, Recovery, check
from tests.support.honest_league import LM, PLAYERS, honest_league
from tests.support.planted import added, broken, changed, find, known

SILENT = {"R1M1": ("P01",)}
NEVER = 9_999.0


def league() -> Evidence:
    """P01 lost R1M1 by silence; everybody was ACTIVE when the round was opened."""
    honest = honest_league(silent=SILENT)
    place, opened = find(honest, "manager", e.RoundOpened, round_id=1)
    active = [e.AgentStateChanged(at=opened.at, agent_id=one, state="ACTIVE", why="league_start") for one in PLAYERS]
    return added(_nothing_shown(honest), "manager", place, *active)


def _nothing_shown(evidence: Evidence) -> Evidence:
    """Neither of the two had chosen when P01 lost R1M1."""
    place, result = result_of(evidence)
    details = {**result.details, "choices": dict.fromkeys(result.points)}
    evidence = changed(evidence, "manager", place, details=details)
    place, _ = find(evidence, "REF01", e.MatchDecided, match_id="R1M1")
    return changed(evidence, "REF01", place, details=details)


def result_of(evidence: Evidence) -> tuple[int, e.ResultAccepted]:
    return find(evidence, "manager", e.ResultAccepted, match_id="R1M1")


def down(evidence: Evidence, *players: str, since: float = 0.0, until: float = NEVER) -> Evidence:
    return known(evidence, downtimes={player: [(since, until)] for player in players})


def test_a_loss_while_others_are_there_keeps_it() -> None:
    evidence = league()
    assert result_of(evidence)[1].status == "TECHNICAL_LOSS"
    assert broken(evidence) == set()
    assert broken(down(evidence, "P01")) == set()


@pytest.mark.parametrize("players", [("P01", "P02"), PLAYERS])
def test_a_loss_while_half_of_the_league_is_down_breaks_it(players: tuple[str, ...]) -> None:
    assert broken(down(league(), *players)) == {19}


def test_who_was_there_may_lose_while_half_of_the_league_is_down() -> None:
    assert broken(down(league(), "P02", "P03", "P04")) == set()


def test_nobody_can_notice_what_is_over_when_the_report_comes() -> None:
    evidence = league()
    assert broken(down(evidence, *PLAYERS, until=result_of(evidence)[1].at)) == set()


def test_a_voided_loss_keeps_it() -> None:
    evidence = down(league(), *PLAYERS)
    place, result = result_of(evidence)
    void = e.ResultVoided(at=result.at, match_id="R1M1", why="many players were gone at once")
    assert 19 not in broken(added(evidence, "manager", place + 1, void))


def test_a_league_that_is_never_held_promises_nothing() -> None:
    evidence = down(league(), *PLAYERS)
    place, created = find(evidence, "manager", e.LeagueCreated)
    never = structs.replace(created, settings=structs.replace(created.settings, outage_minutes=0.0))
    free = changed(evidence, "manager", place, settings=never.settings)
    assert check(free).verdict(19) == "unobservable"


def outage(at: float, missing: tuple[str, ...] = PLAYERS) -> e.OutageBegan:
    return e.OutageBegan(at=at, round_id=1, missing=missing, reason="gone")


def test_a_loss_taken_during_an_outage_breaks_it() -> None:
    evidence = league()
    place, result = result_of(evidence)
    assert broken(added(evidence, "manager", place, outage(result.at))) == {19}


def test_a_loss_of_the_round_that_survives_an_outage_breaks_it() -> None:
    evidence = league()
    place, result = result_of(evidence)
    ended = e.OutageEnded(at=result.at, why="answered", lasted_s=5.0)
    assert broken(added(evidence, "manager", place + 1, outage(result.at), ended)) == {19}


def test_after_the_time_of_a_round_is_over_the_usual_rules_hold() -> None:
    evidence = down(league(), *PLAYERS)
    place, result = result_of(evidence)
    ended = e.OutageEnded(at=result.at, why="time", missing=PLAYERS, lasted_s=600.0)
    assert broken(added(evidence, "manager", place, outage(result.at), ended)) == set()


def test_a_loss_of_an_interrupted_attempt_breaks_it() -> None:
    evidence = league()
    place, result = result_of(evidence)
    cut = e.MatchInterrupted(at=result.at, match_id="R1M1", attempt=result.attempt, why="the manager was away")
    assert broken(added(evidence, "manager", place, cut)) == {19}


def test_a_loss_across_a_death_of_the_manager_breaks_it() -> None:
    evidence = league()
    _, assigned = find(evidence, "manager", e.MatchAssigned, match_id="R1M1")
    died = (assigned.at + result_of(evidence)[1].at) / 2
    assert broken(known(evidence, recoveries=(Recovery(LM, died, 1, 1),))) == {19}


def test_without_a_simulator_it_is_not_known_who_was_down() -> None:
    assert check(known(league(), downtimes=None)).verdict(19) == "unobservable"
    assert check(known(honest_league(), downtimes=None)).verdict(19) == "kept"


# --- losses that a referee asks about ---------------------------------------------------------------------------------


def asked(evidence: Evidence, *before: e.Event, code: str = "E001", is_asked: bool = True) -> Evidence:
    """The referee of R1M1 had declared that it asks, and did so, after these events."""
    place, _ = find(evidence, "manager", e.AgentRegistered, role="referee")
    evidence = changed(evidence, "manager", place, asks_before_losses=True)
    place, result = result_of(evidence)
    faults = {"P01": {"code": code, "phase": "move"}}
    evidence = changed(evidence, "manager", place, details={**result.details, "faults": faults})
    allowed = e.LossAllowed(at=result.at, match_id="R1M1", attempt=1, turn=1, player_id="P01", code=code)
    return added(evidence, "manager", place, *before, *([allowed] if is_asked else []))


def paused(cause: Literal["interrupted", "model"], at: float = 1.0, player: str = "P01") -> e.MatchPaused:
    return e.MatchPaused(
        at=at, match_id="R1M1", attempt=1, turn=1, player_id=player, code="E045", cause=cause, why="because"
    )


@pytest.mark.parametrize("code", ["E001", "E009", "E045"])
def test_a_loss_that_was_asked_about_keeps_it(code: str) -> None:
    assert broken(asked(league(), code=code)) <= {4}


@pytest.mark.parametrize("code", ["E001", "E009", "E045"])
def test_a_loss_that_nobody_was_asked_about_breaks_it(code: str) -> None:
    assert 19 in broken(asked(league(), code=code, is_asked=False))


def test_a_loss_that_is_allowed_during_an_outage_breaks_it() -> None:
    at = result_of(league())[1].at
    assert 19 in broken(asked(league(), outage(at)))
    address = e.OutageBegan(at=at, round_id=1, missing=("P01",), reason="gone", origin="10.0.0.7")
    assert 19 in broken(asked(league(), address))
    elsewhere = e.OutageBegan(at=at, round_id=1, missing=("P02",), reason="gone", origin="10.0.0.7")
    assert 19 not in broken(asked(league(), elsewhere))


def test_a_loss_that_is_allowed_while_many_are_down_breaks_it() -> None:
    assert 19 in broken(down(asked(league()), "P01", "P02"))
    assert 19 not in broken(down(asked(league()), "P01"))


def test_a_loss_of_an_interrupted_attempt_before_a_pause_breaks_it() -> None:
    cut = e.MatchInterrupted(at=1.0, match_id="R1M1", attempt=1, why="the manager was away")
    assert 19 in broken(asked(league(), cut))
    assert 19 not in broken(asked(league(), cut, paused("interrupted")))
    assert 19 in broken(asked(league(), cut, paused("interrupted", player="P02")))


def test_a_pause_for_a_model_that_was_not_declared_breaks_it() -> None:
    stated = e.ConditionsStated(at=1.0, agent_id="P01", conditions=Conditions(model="small-1"))
    assert 19 in broken(asked(league(), paused("model")))
    assert 19 not in broken(asked(league(), stated, *[paused("model")] * 3))
    assert 19 in broken(asked(league(), stated, *[paused("model")] * 4))


def test_a_fresh_game_after_something_was_shown_breaks_it() -> None:
    evidence = league()
    place, result = result_of(evidence)
    void = e.ResultVoided(at=result.at, match_id="R1M1", why="many players were gone at once")
    shown = {**result.details, "choices": {"P01": None, "P02": "even"}}
    decided, _ = find(evidence, "REF01", e.MatchDecided, match_id="R1M1")
    told = changed(evidence, "REF01", decided, details=shown)
    assert 19 in broken(added(told, "manager", place + 1, void))
    assert 19 not in broken(added(evidence, "manager", place + 1, void))
    assert 19 in broken(added(asked(evidence), "manager", place + 2, void)), "it was asked about"
