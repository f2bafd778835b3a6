"""Questions of a referee to a player, for tests of how they are put and read."""

from __future__ import annotations

from league.protocol.message.envelope import seal
from league.protocol.message.messages import ChooseParityCall, GameInvitation, GameMoveCall
from league.protocol.message.parts import MoveRequest

INVITATION = GameInvitation(
    **seal("referee:REF01", 0.0, "conv-1"),
    league_id="spring",
    round_id=1,
    match_id="R1M1",
    game_type="even_odd",
    role_in_match="PLAYER_A",
    opponent_id="P02",
)
CALL = ChooseParityCall(
    **seal("referee:REF01", 0.0, "conv-1"),
    match_id="R1M1",
    player_id="P01",
    game_type="even_odd",
    deadline="2025-01-01T00:00:00Z",
)
MOVE = GameMoveCall(
    **seal("referee:REF01", 0.0, "conv-1"),
    match_id="R1M1",
    player_id="P01",
    game_type="tic_tac_toe",
    move_request=MoveRequest(move_type="mark_cell", valid_options=["0", "4"], context={"turn": 1}),
    deadline="2025-01-01T00:00:00Z",
)
