"""Matches that ended while a player was away: it finds out, and its author reads of each once."""

from __future__ import annotations

from typing import Any

import pytest

from league.events import MatchMissed
from league.hosting import narration
from league.machine import Failure
from league.protocol.message.messages import LeagueQuery, Message
from tests.support.bench import Sent
from tests.support.player_rig import ME, Rig

ROW = {"rank": 1, "player_id": ME, "display_name": "Ada", "wins": 0, "draws": 0, "losses": 1, "points": 0}
LOST = {"match_id": "R1M1", "opponent_id": "P02", "outcome": "TECHNICAL_LOSS", "choice": None, "opponent_choice": None}


def round_over(rig: Rig, round_id: int = 1, played: int = 1) -> list[Sent[Message]]:
    """The final table of a round and ROUND_COMPLETED: what the player asks then."""
    before = len(rig.sent)
    rig.say(rig.standings(version=round_id, standings=[{**ROW, "played": played}]))
    rig.say(rig.from_manager("ROUND_COMPLETED", round_id=round_id, matches_completed=1, next_round_id=None))
    return [sent for sent in rig.sent[before:] if isinstance(sent.message, LeagueQuery)]


def stats(rig: Rig, *matches: dict[str, Any]) -> dict[str, Any]:
    return rig.from_manager(
        "LEAGUE_QUERY_RESPONSE", query_type="GET_PLAYER_STATS", success=True, data={"matches": list(matches)}
    )


def missed(rig: Rig) -> list[tuple[str, str]]:
    return [(event.match_id, event.outcome) for event in rig.journal if isinstance(event, MatchMissed)]


@pytest.fixture
def rig() -> Rig:
    return Rig().enrolled()


def test_a_match_that_ended_without_us_is_told_once(rig: Rig) -> None:
    (question,) = round_over(rig)
    assert isinstance(question.message, LeagueQuery)
    assert question.message.query_type == "GET_PLAYER_STATS"
    rig.answer(question, stats(rig, LOST, {**LOST, "match_id": "R2M1", "outcome": None}))
    assert missed(rig) == [("R1M1", "TECHNICAL_LOSS")]
    sentence = narration.PLAYER[MatchMissed](rig.player, rig.journal[-1])
    assert sentence == (
        "R1M1 against P02 ended while you were away: you lost by a technical loss; league explain R1M1 tells why"
    )
    assert round_over(rig, 2, played=1) == []
    rig.restart()
    assert round_over(rig, 3, played=1) == []
    assert len(missed(rig)) == 1


def test_the_command_that_explains_a_match_names_a_manager_that_is_elsewhere(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEAGUE_MANAGER", "http://192.0.2.2:8000")
    (question,) = round_over(rig)
    rig.answer(question, stats(rig, LOST))
    sentence = narration.PLAYER[MatchMissed](rig.player, rig.journal[-1])
    assert sentence.endswith("league explain R1M1 --manager http://127.0.0.1:8000 tells why")


def test_a_player_that_knows_all_its_matches_asks_nothing(rig: Rig) -> None:
    assert round_over(rig, played=0) == []


def test_a_question_that_fails_is_asked_again_after_the_next_round(rig: Rig) -> None:
    (question,) = round_over(rig)
    for _ in range(4):
        rig.fail(question, Failure.REFUSED)
        later = [sent for sent in rig.sent if isinstance(sent.message, LeagueQuery)]
        if later[-1] is question:
            rig.tick()
            later = [sent for sent in rig.sent if isinstance(sent.message, LeagueQuery)]
        question = later[-1]
    assert missed(rig) == []
    assert round_over(rig, 2)


@pytest.mark.parametrize("data", [{}, {"matches": "many"}, {"matches": [7, {"outcome": "BANANA"}, {}]}])
def test_nonsense_tells_nothing(rig: Rig, data: dict[str, Any]) -> None:
    (question,) = round_over(rig)
    answer = rig.from_manager("LEAGUE_QUERY_RESPONSE", query_type="GET_PLAYER_STATS", success=True, data=data)
    rig.answer(question, answer)
    assert missed(rig) == []


def test_a_manager_that_derives_no_tokens_is_not_asked() -> None:
    rig = Rig(derived=False).enrolled()
    assert round_over(rig) == []
