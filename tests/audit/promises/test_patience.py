"""Promise 19: before a silent player loses, its match waits. Each planted violation breaks it."""

from __future__ import annotations

import pytest
from msgspec import structs

from league import events as e
from league.features.audit.promises import Evidence, check
from tests.support.honest_league import PLAYERS, honest_league
from tests.support.planted import added, broken, changed, find, known

SILENT = {"R1M1": ("P01",)}
NEVER = 9_999.0


def league() -> Evidence:
    """P01 lost R1M1 by silence, under a referee that does not ask."""
    return honest_league(silent=SILENT)


def result_of(evidence: Evidence) -> tuple[int, e.ResultAccepted]:
    return find(evidence, "manager", e.ResultAccepted, match_id="R1M1")


def down(evidence: Evidence, *players: str, since: float = 0.0, until: float = NEVER) -> Evidence:
    return known(evidence, downtimes={player: [(since, until)] for player in players})


def test_a_loss_while_others_are_there_keeps_it() -> None:
    evidence = league()
    assert result_of(evidence)[1].status == "TECHNICAL_LOSS"
    assert broken(evidence) == set()
    assert broken(down(evidence, "P01")) == set()


def test_a_league_in_which_no_match_waits_promises_nothing() -> None:
    evidence = down(asked(league()), *PLAYERS)
    place, created = find(evidence, "manager", e.LeagueCreated)
    never = structs.replace(created.settings, outage_minutes=0.0)
    assert check(changed(evidence, "manager", place, settings=never)).verdict(19) == "unobservable"


def test_under_a_referee_that_does_not_ask_a_loss_stands() -> None:
    assert 19 not in broken(down(league(), *PLAYERS))


def test_without_a_simulator_it_is_not_known_who_was_down() -> None:
    assert check(known(league(), downtimes=None)).verdict(19) == "unobservable"
    assert check(known(honest_league(), downtimes=None)).verdict(19) == "kept"


# --- losses that a referee asks about ---------------------------------------------------------------------------------


def asked(
    evidence: Evidence,
    *before: e.Event,
    code: str = "E001",
    is_asked: bool = True,
    reached: bool = False,
    left: int | None = 0,
) -> Evidence:
    """The referee of R1M1 had declared that it asks, and did so, after these events."""
    place, _ = find(evidence, "manager", e.AgentRegistered, role="referee")
    evidence = changed(evidence, "manager", place, asks_before_losses=True)
    place, result = result_of(evidence)
    faults = {"P01": {"code": code, "phase": "move"}}
    evidence = changed(evidence, "manager", place, details={**result.details, "faults": faults})
    allowed = e.LossAllowed(
        at=result.at, match_id="R1M1", attempt=1, turn=1, player_id="P01", code=code, reached=reached, pauses_left=left
    )
    return added(evidence, "manager", place, *before, *([allowed] if is_asked else []))


def paused(cause: e.PauseCause = "player", turn: int = 1, player: str = "P01") -> e.MatchPaused:
    return e.MatchPaused(
        at=1.0, match_id="R1M1", attempt=1, turn=turn, player_id=player, code="E009", cause=cause, why="because"
    )


@pytest.mark.parametrize("code", ["E001", "E009", "E045"])
def test_a_loss_that_was_asked_about_keeps_it(code: str) -> None:
    assert 19 not in broken(asked(league(), code=code, reached=True))
    assert 19 not in broken(asked(league(), paused(), code=code))


@pytest.mark.parametrize("code", ["E001", "E009", "E045"])
def test_a_loss_that_nobody_was_asked_about_breaks_it(code: str) -> None:
    assert 19 in broken(asked(league(), code=code, is_asked=False))


def test_a_loss_of_a_silent_player_that_was_not_waited_for_breaks_it() -> None:
    assert 19 in broken(asked(league()))
    assert 19 in broken(asked(league(), paused(player="P02")))
    assert 19 in broken(asked(league(), paused(turn=0)))
    assert 19 not in broken(asked(league(), *[paused(turn=turn) for turn in (2, 3, 4)])), "nothing is left for it"
    assert 19 not in broken(asked(league(), left=None)), "it was decided by an earlier rule"


def test_a_loss_that_is_allowed_while_many_are_down_breaks_it() -> None:
    assert 19 in broken(down(asked(league(), paused()), "P01", "P02"))
    assert 19 not in broken(down(asked(league(), paused()), "P01"))
    assert 19 not in broken(down(asked(league(), paused()), "P02", "P03"))
    waited = [paused("outage") for _ in range(10)]
    assert 19 not in broken(down(asked(league(), *waited, paused()), "P01", "P02"))


def test_more_pauses_than_the_rule_gives_break_it() -> None:
    assert 19 in broken(asked(league(), *[paused(turn=turn) for turn in (1, 2, 3, 4)]))
    assert 19 in broken(asked(league(), paused(), paused()))
    assert 19 in broken(asked(league(), *[paused("outage") for _ in range(11)]))
