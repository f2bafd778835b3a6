"""The helper that finds what a message of ours leaves out."""

from __future__ import annotations

from msgspec import UNSET

from league.protocol.message.envelope import seal
from league.protocol.message.messages import ChooseParityCall, GameOver, LeagueCompleted
from league.protocol.message.parts import CallContext, Champion, FinalRow, GameResult, Record
from tests.support.said import unsaid

ENVELOPE = seal("referee:REF01", 1_750_000_000.0, "conv-1")
CALL = {
    **ENVELOPE,
    "match_id": "R1M1",
    "player_id": "P01",
    "game_type": "even_odd",
    "deadline": "2025-06-01T10:00:30Z",
}


def test_a_whole_message_leaves_out_nothing_but_the_spliced_token() -> None:
    record = Record(wins=0, losses=0, draws=0, points=0)
    context = CallContext(opponent_id="P02", round_id=1, your_standings=record)
    assert unsaid(ChooseParityCall(**CALL, context=context)) == []


def test_an_absent_object_is_named_once() -> None:
    assert unsaid(ChooseParityCall(**CALL)) == ["context"]


def test_fields_of_objects_are_named_by_their_path() -> None:
    context = CallContext(opponent_id="P02", round_id=1, your_standings=Record(wins=0, losses=0, draws=0))
    assert unsaid(ChooseParityCall(**CALL, context=context)) == ["context.your_standings.points"]


def test_elements_of_arrays_are_named_by_their_place() -> None:
    row = FinalRow(rank=1, player_id="P01", points=3, display_name="Ada", played=1, wins=1, draws=0)
    champion = Champion(player_id="P01", display_name="Ada", points=3)
    message = LeagueCompleted(
        **ENVELOPE, league_id="spring", total_rounds=1, total_matches=1, champion=champion, final_standings=[row]
    )
    assert unsaid(message) == ["final_standings[0].losses"]


def test_a_null_is_said_and_an_unset_field_is_not() -> None:
    def over(winner: str | None) -> GameOver:
        result = GameResult(status="DRAW", winner_player_id=winner, choices={}, reason="both")
        return GameOver(**ENVELOPE, match_id="R1M1", game_type="even_odd", game_result=result, reason="both")

    assert unsaid(over(None)) == []
    assert unsaid(over(UNSET)) == ["game_result.winner_player_id"]  # type: ignore[arg-type] # nothing is said
