"""What the test vectors are made of: whole messages, a table of their fields, and wrong values for each kind of field.

Written from the documents and the rulings, not from the code that is tested with the vectors.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from league.protocol.signing.keys import sign, signing_key

Json = Any
"""A JSON value (Any: a value of any of its types)."""
Fields = dict[str, Json]

NOON = "2025-01-15T12:00:00Z"
LEAGUE = "league_2025_even_odd"
MANAGER_URL, REFEREE_URL = "http://localhost:8000/mcp", "http://localhost:8001/mcp"
A_URL, B_URL = "http://localhost:8101/mcp", "http://localhost:8102/mcp"
COMMITMENT, SEED = "9f" * 32, "5a" * 32
MANAGER_KEY = "03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8"
"""The public key of the secret bytes 00 to 1f."""
PUBLIC_KEY = "03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8"
SIGNATURE = "Gnp1N86M9aVMgQ9n1zm8p7JFTE9HZRzCiOTbCYmC4M9bgg-ZIE5A8g5Mx1vfPGlff6flCv1I8cWDzpXlZIh8Aw"

MANAGER, REFEREE, PLAYER = "league_manager", "referee:REF01", "player:P01"


def _message(message_type: str, sender: str, conversation_id: str, token: str | None, **own: Json) -> Fields:
    message = {
        "protocol": "league.v2",
        "message_type": message_type,
        "sender": sender,
        "timestamp": NOON,
        "conversation_id": conversation_id,
        "auth_token": token,
    }
    return {**{name: value for name, value in message.items() if value is not None}, **own}


def _row(rank: int, player_id: str, name: str, wins: int, draws: int, losses: int) -> Fields:
    return {
        "rank": rank,
        "player_id": player_id,
        "display_name": name,
        "played": wins + draws + losses,
        "wins": wins,
        "draws": draws,
        "losses": losses,
        "points": 3 * wins + draws,
    }


_HEAD = {"seq": 311, "digest": COMMITMENT}
_TABLE = [_row(1, "P01", "Agent Alpha", 2, 0, 0), _row(2, "P03", "Agent Gamma", 1, 1, 0)]
_STATEMENT = {
    "type": "league.v2 round",
    "manager_key": MANAGER_KEY,
    "league_id": LEAGUE,
    "round_id": 1,
    "results": [
        {
            "match_id": "R1M1",
            "players": ["P01", "P02"],
            "attempt": 1,
            "referee_id": "REF01",
            "status": "WIN",
            "winner": "P01",
            "points": {"P01": 3, "P02": 0},
            "basis": {"evidence": "proven", "unsigned": [], "doubt": ""},
            "details": COMMITMENT,
        }
    ],
    "orders": [],
    "table": _TABLE,
    "previous": None,
}
_SIGNATURE = sign(signing_key(bytes(range(32))), _STATEMENT)
_RECORD = {"wins": 2, "losses": 1, "draws": 0, "points": 6}
_META = {
    "display_name": "Agent Alpha",
    "version": "1.0.0",
    "game_types": ["even_odd"],
    "contact_endpoint": A_URL,
    "protocol_version": "2.1.0",
}
_MATCH = {
    "match_id": "R1M1",
    "game_type": "even_odd",
    "player_A_id": "P01",
    "player_B_id": "P02",
    "referee_endpoint": REFEREE_URL,
    "referee_tokens": ["70400ad861afad7ba46ad75b90063bd9f4ae83012a08bb13bbc5fb23edd6a94f"],
    "referee_id": "REF01",
    "player_A_endpoint": A_URL,
    "player_B_endpoint": B_URL,
    "player_A_standings": _RECORD,
    "player_B_standings": {"wins": 0, "losses": 2, "draws": 1, "points": 1},
    "player_A_token": "tok_REF01_a",
    "player_B_token": "tok_REF01_b",
    "player_A_other_tokens": ["tok_REF01_c"],
    "player_B_other_tokens": ["tok_REF01_d"],
    "player_A_answers": ["0f" * 32, "1f" * 32],
    "player_B_answers": ["2f" * 32],
    "player_A_replies": ["3f" * 32],
    "player_B_replies": ["4f" * 32, "5f" * 32],
    "player_A_suspended": False,
    "player_B_suspended": True,
    "player_A_convention": "SPEC",
    "player_B_convention": "TOOLS",
    "player_A_name": "Agent Alpha",
    "player_B_name": "Agent Beta",
    "player_A_known_as": "P03",
    "player_B_known_as": "P04",
    "player_A_told": ["E021"],
    "player_B_told": ["E011", "E012"],
    "attempt": 2,
    "move_seconds": 30.0,
    "retry_delays_s": [1.0, 2.0, 4.0],
    "player_A_signs": True,
    "player_B_signs": False,
    "record_wanted": True,
    "trust": "class",
    "fallbacks_refused": True,
    "share_commitment": COMMITMENT,
}
_BARGAIN = [{"P01": "2.50"}, {"P02": "take"}]
_THROWS = [{"P01": "rock", "P02": "scissors"}, {"P01": "paper", "P02": "rock"}]
_REFUSAL = {"error_code": "E020", "error_name": "LEAGUE_FULL", "rpc_code": 2001, "context": {"max_players": 4}}
FINDINGS = "nobody answers at http://127.0.0.1:8101/mcp: connection refused"
_ACK = {"status": "ACKNOWLEDGED", "player_id": "P01"}
_CONVERSATION, _TOKEN, _REFEREE_TOKEN, _OTHER_TOKEN = "conv-r1m1-001", "tok_P01_x", "tok_REF01_x", "tok_LM_x"

# The first base of a type has every optional field that can stand together; the others have the rest.
BASES: dict[str, list[Fields]] = {
    "REFEREE_REGISTER_REQUEST": [
        _message(
            "REFEREE_REGISTER_REQUEST",
            "referee:alpha",
            "conv-ref-alpha-reg-001",
            "tok_REF01_old",
            referee_meta={
                **_META,
                "display_name": "Referee Alpha",
                "contact_endpoint": REFEREE_URL,
                "max_concurrent_matches": 2,
                "enrolment_key": "let me in",
                "token_scheme": "derived",
                "trouble": "trouble.v1",
                "draw_scheme": "shared.v2",
            },
        )
    ],
    "REFEREE_REGISTER_RESPONSE": [
        _message(
            "REFEREE_REGISTER_RESPONSE",
            MANAGER,
            "conv-ref-alpha-reg-001",
            "tok_REF01_new",
            status="ACCEPTED",
            referee_id="REF01",
            reason=None,
            league_id=LEAGUE,
            token_scheme="derived",
            manager_endpoints=[MANAGER_URL],
            trouble="trouble.v1",
            findings=FINDINGS,
            assignment_digest=COMMITMENT,
            manager_key=MANAGER_KEY,
            draw_scheme="shared.v2",
        ),
        _message(
            "REFEREE_REGISTER_RESPONSE",
            MANAGER,
            "conv-ref-alpha-reg-001",
            None,
            status="REJECTED",
            referee_id=None,
            reason="Maximum referees already registered",
            **{**_REFUSAL, "rpc_code": 1001},
        ),
    ],
    "LEAGUE_REGISTER_REQUEST": [
        _message("LEAGUE_REGISTER_REQUEST", "player:alpha", "conv-alpha-reg-001", "tok_P01_old", player_meta=_META),
        _message(
            "LEAGUE_REGISTER_REQUEST",
            "player:alpha",
            "conv-alpha-reg-001",
            "tok_P01_old",
            player_meta={
                **_META,
                "conditions": {"model": "small-1", "options_shown": True, "corrections": 2},
                "public_key": PUBLIC_KEY,
            },
        ),
    ],
    "LEAGUE_REGISTER_RESPONSE": [
        _message(
            "LEAGUE_REGISTER_RESPONSE",
            MANAGER,
            "conv-alpha-reg-001",
            "tok_P01_new",
            status="ACCEPTED",
            player_id="P01",
            reason=None,
            league_id=LEAGUE,
            token_scheme="derived",
            manager_endpoints=[MANAGER_URL],
            findings=FINDINGS,
            assignment_digest=COMMITMENT,
            manager_key=MANAGER_KEY,
        ),
        _message(
            "LEAGUE_REGISTER_RESPONSE",
            MANAGER,
            "conv-alpha-reg-001",
            None,
            status="REJECTED",
            player_id=None,
            reason="Maximum players reached",
            **_REFUSAL,
        ),
    ],
    "ROUND_ANNOUNCEMENT": [
        _message(
            "ROUND_ANNOUNCEMENT",
            MANAGER,
            "conv-round-1-announce",
            _OTHER_TOKEN,
            league_id=LEAGUE,
            round_id=1,
            matches=[_MATCH, {**_MATCH, "match_id": "R1M2", "player_A_id": "P03", "player_B_id": "P04"}],
        )
    ],
    "ROUND_COMPLETED": [
        _message(
            "ROUND_COMPLETED",
            MANAGER,
            "conv-round-1-complete",
            _OTHER_TOKEN,
            league_id=LEAGUE,
            round_id=1,
            matches_completed=2,
            matches_played=2,
            next_round_id=2,
            summary={"total_matches": 2, "wins": 1, "draws": 1, "technical_losses": 0},
            statement=_STATEMENT,
            signature=_SIGNATURE,
        )
    ],
    "LEAGUE_COMPLETED": [
        _message(
            "LEAGUE_COMPLETED",
            MANAGER,
            "conv-league-complete",
            _OTHER_TOKEN,
            league_id=LEAGUE,
            total_rounds=3,
            total_matches=6,
            champion={"player_id": "P01", "display_name": "Agent Alpha", "points": 6},
            final_standings=_TABLE,
            head=_HEAD,
            statement=_STATEMENT,
            signature=_SIGNATURE,
        )
    ],
    "GAME_INVITATION": [
        _message(
            "GAME_INVITATION",
            REFEREE,
            _CONVERSATION,
            _REFEREE_TOKEN,
            league_id=LEAGUE,
            round_id=1,
            match_id="R1M1",
            game_type="even_odd",
            role_in_match="PLAYER_A",
            opponent_id="P02",
            player_id="P01",
            draw_commitment=COMMITMENT,
            share_commitment=COMMITMENT,
            attempt=1,
        )
    ],
    "GAME_JOIN_ACK": [
        _message(
            "GAME_JOIN_ACK",
            PLAYER,
            _CONVERSATION,
            _TOKEN,
            match_id="R1M1",
            player_id="P01",
            arrival_timestamp=NOON,
            accept=True,
        )
    ],
    "CHOOSE_PARITY_CALL": [
        _message(
            "CHOOSE_PARITY_CALL",
            REFEREE,
            _CONVERSATION,
            _REFEREE_TOKEN,
            match_id="R1M1",
            player_id="P01",
            game_type="even_odd",
            context={"opponent_id": "P02", "round_id": 1, "your_standings": _RECORD},
            deadline="2025-01-15T12:00:30Z",
            turn=1,
        )
    ],
    "CHOOSE_PARITY_RESPONSE": [
        _message(
            "CHOOSE_PARITY_RESPONSE",
            PLAYER,
            _CONVERSATION,
            _TOKEN,
            match_id="R1M1",
            player_id="P01",
            parity_choice="even",
        ),
        _message(
            "CHOOSE_PARITY_RESPONSE",
            PLAYER,
            _CONVERSATION,
            _TOKEN,
            match_id="R1M1",
            player_id="P01",
            parity_choice="even",
            provenance={"fallbacks": 1, "tokens": 340, "thinking_s": 2.5, "waited_s": 1.0},
            signature=SIGNATURE,
        ),
    ],
    "GAME_OVER": [
        _message(
            "GAME_OVER",
            REFEREE,
            _CONVERSATION,
            _REFEREE_TOKEN,
            match_id="R1M1",
            game_type="even_odd",
            game_result={
                "status": "WIN",
                "winner_player_id": "P01",
                "drawn_number": 8,
                "number_parity": "even",
                "choices": {"P01": "even", "P02": "odd"},
                "reason": "P01 chose even, number was 8 (even)",
                "draw_seed": SEED,
                "draw_share": SEED,
                "share_commitment": COMMITMENT,
                "attempt": 1,
            },
            reason="P01 chose even, number was 8 (even)",
        ),
        _message(
            "GAME_OVER",
            REFEREE,
            _CONVERSATION,
            _REFEREE_TOKEN,
            match_id="R1M1",
            game_type="rock_paper_scissors",
            game_result={
                "status": "WIN",
                "winner_player_id": "P01",
                "choices": _THROWS[-1],
                "moves": _THROWS,
                "reason": "P01 won 2 to 0 in 2 throws",
            },
            reason="P01 won 2 to 0 in 2 throws",
        ),
        _message(
            "GAME_OVER",
            REFEREE,
            _CONVERSATION,
            _REFEREE_TOKEN,
            match_id="R1M1",
            game_type="bargaining",
            game_result={
                "status": "WIN",
                "winner_player_id": "P01",
                "choices": _BARGAIN[-1],
                "moves": _BARGAIN,
                "draws": [2, 0],
                "returns": {"P01": 7.5, "P02": 2.5},
                "game_details": {"pie": 10},
                "draw_seed": SEED,
                "reason": "P02 took the offer of P01",
            },
            reason="P02 took the offer of P01",
        ),
    ],
    "MATCH_RESULT_REPORT": [
        _message(
            "MATCH_RESULT_REPORT",
            REFEREE,
            _CONVERSATION,
            _REFEREE_TOKEN,
            league_id=LEAGUE,
            round_id=1,
            match_id="R1M1",
            game_type="even_odd",
            result={
                "winner": "P01",
                "score": {"P01": 3, "P02": 0},
                "details": {
                    "drawn_number": 8,
                    "choices": {"P01": "even", "P02": "odd"},
                    "status": "WIN",
                    "number_parity": "even",
                    "draw_seed": SEED,
                    "faults": {"P01": [], "P02": []},
                    "draw_commitment": COMMITMENT,
                    "draw_share": SEED,
                    "share_commitment": COMMITMENT,
                    "signatures": {"P01": SIGNATURE},
                },
            },
            attempt=1,
            match_record=[{"event": "MatchBegun", "at": 1736942400.0, "match_id": "R1M1", "attempt": 1}],
        ),
        _message(
            "MATCH_RESULT_REPORT",
            REFEREE,
            _CONVERSATION,
            _REFEREE_TOKEN,
            league_id=LEAGUE,
            round_id=1,
            match_id="R1M1",
            game_type="rock_paper_scissors",
            result={
                "winner": "P01",
                "score": {"P01": 3, "P02": 0},
                "details": {
                    "choices": _THROWS[-1],
                    "moves": _THROWS,
                    "status": "WIN",
                    "provenance": {"P01": {"choices": 3, "tokens": 1020, "thinking_s": 7.5}},
                },
            },
            attempt=1,
        ),
        _message(
            "MATCH_RESULT_REPORT",
            REFEREE,
            _CONVERSATION,
            _REFEREE_TOKEN,
            league_id=LEAGUE,
            round_id=1,
            match_id="R1M1",
            game_type="bargaining",
            result={
                "winner": "P01",
                "score": {"P01": 15, "P02": 5},
                "details": {
                    "choices": _BARGAIN[-1],
                    "moves": _BARGAIN,
                    "draws": [2, 0],
                    "returns": {"P01": 7.5, "P02": 2.5},
                    "talk": [{"turn": 1, "by": "P01", "text": "my last word"}],
                    "game_details": {"pie": 10},
                    "status": "WIN",
                    "draw_seed": SEED,
                },
            },
            attempt=1,
        ),
    ],
    "LEAGUE_STANDINGS_UPDATE": [
        _message(
            "LEAGUE_STANDINGS_UPDATE",
            MANAGER,
            "conv-round-1-standings",
            _OTHER_TOKEN,
            league_id=LEAGUE,
            round_id=1,
            standings=_TABLE,
            version=7,
            head=_HEAD,
        )
    ],
    "LEAGUE_ERROR": [
        _message(
            "LEAGUE_ERROR",
            MANAGER,
            "conv-query-001",
            _OTHER_TOKEN,
            error_code="E012",
            error_description="AUTH_TOKEN_INVALID",
            error_name="AUTH_TOKEN_INVALID",
            error_detail="this token is not known here",
            original_message_type="LEAGUE_QUERY",
            context={"action": "LEAGUE_QUERY", "provided_token": "tok_***"},
            affected_player="P01",
            action_required="LEAGUE_REGISTER_REQUEST",
            retryable=False,
        )
    ],
    "GAME_ERROR": [
        _message(
            "GAME_ERROR",
            REFEREE,
            _CONVERSATION,
            _REFEREE_TOKEN,
            match_id="R1M1",
            error_code="E004",
            error_description="INVALID_PARITY_CHOICE",
            error_name="INVALID_PARITY_CHOICE",
            error_detail="'Even' is not a choice here",
            affected_player="P01",
            player_id="P01",
            action_required="CHOOSE_PARITY_RESPONSE",
            game_state="COLLECTING_CHOICES",
            retryable=True,
            retry_count=1,
            max_retries=3,
            time_remaining=18.5,
            retry_info={"retry_count": 1, "max_retries": 3, "next_retry_at": NOON, "time_remaining": 18.5},
            context={"invalid_choice": "Even", "valid_choices": ["even", "odd"]},
            consequence="Technical loss if no valid choice is received in time",
        )
    ],
    "LEAGUE_QUERY": [
        _message(
            "LEAGUE_QUERY",
            PLAYER,
            "conv-query-001",
            _TOKEN,
            league_id=LEAGUE,
            query_type="GET_NEXT_MATCH",
            query_params={"player_id": "P01", "round_id": 2},
        ),
        _message(
            "LEAGUE_QUERY",
            PLAYER,
            "conv-query-002",
            _TOKEN,
            league_id=LEAGUE,
            query_type="GET_NEXT_MATCH",
            query_params={"match_id": "R1M1"},
        ),
    ],
    "LEAGUE_QUERY_RESPONSE": [
        _message(
            "LEAGUE_QUERY_RESPONSE",
            MANAGER,
            "conv-query-001",
            _OTHER_TOKEN,
            query_type="GET_STANDINGS",
            success=True,
            data={"standings": _TABLE, "current_round": 1},
            standings=_TABLE,
            current_round=1,
        ),
        _message(
            "LEAGUE_QUERY_RESPONSE",
            MANAGER,
            "conv-query-001",
            None,
            query_type="GET_NEXT_MATCH",
            success=False,
            error={
                "error_code": "E005",
                "error_name": "PLAYER_NOT_REGISTERED",
                "error_description": "Player ID P99 not found in registry",
                "rpc_code": 6004,
            },
        ),
    ],
    "GAME_MOVE_CALL": [
        _message(
            "GAME_MOVE_CALL",
            REFEREE,
            _CONVERSATION,
            _REFEREE_TOKEN,
            match_id="R1M1",
            player_id="P01",
            game_type="tic_tac_toe",
            move_request={"move_type": "mark_cell", "valid_options": ["0", "4", "8"], "context": {"your_mark": "X"}},
            deadline="2025-01-15T12:00:30Z",
            turn=1,
        ),
        _message(
            "GAME_MOVE_CALL",
            REFEREE,
            _CONVERSATION,
            _REFEREE_TOKEN,
            match_id="R1M1",
            player_id="P02",
            game_type="bargaining",
            move_request={
                "move_type": "bargain",
                "valid_options": ["take", "leave"],
                "context": {"pie": 10, "offer": "2.50", "turn": 2},
                "role": "buyer",
                "move_format": "an offer such as 2.50",
                "talk": [{"turn": 1, "by": "P01", "text": "my last word", "foreign": True}],
                "talk_limit": 120,
            },
            deadline="2025-01-15T12:00:30Z",
            turn=2,
        ),
    ],
    "GAME_MOVE_RESPONSE": [
        _message(
            "GAME_MOVE_RESPONSE",
            PLAYER,
            _CONVERSATION,
            _TOKEN,
            match_id="R1M1",
            player_id="P01",
            move_data={"move_type": "mark_cell", "choice": "4"},
        ),
        _message(
            "GAME_MOVE_RESPONSE",
            PLAYER,
            _CONVERSATION,
            _TOKEN,
            match_id="R1M1",
            player_id="P01",
            move_data={"move_type": "mark_cell", "choice": "4", "talk": "Your move."},
            provenance={"tokens": 340, "thinking_s": 2.5},
            signature=SIGNATURE,
        ),
    ],
    "MATCH_TROUBLE": [
        _message(
            "MATCH_TROUBLE",
            REFEREE,
            _CONVERSATION,
            _REFEREE_TOKEN,
            league_id=LEAGUE,
            match_id="R1M1",
            attempt=1,
            turn=0,
            player_id="P02",
            code="E009",
            behind=True,
        )
    ],
    "MATCH_TROUBLE_RESPONSE": [
        _message(
            "MATCH_TROUBLE_RESPONSE",
            MANAGER,
            _CONVERSATION,
            _OTHER_TOKEN,
            match_id="R1M1",
            decision="wait",
            reason="4 of 8 players can't be reached",
        )
    ],
    "DRAW_REQUEST": [
        _message(
            "DRAW_REQUEST",
            REFEREE,
            _CONVERSATION,
            _REFEREE_TOKEN,
            league_id=LEAGUE,
            match_id="R1M1",
            attempt=1,
            choices={"P01": "even", "P02": "odd"},
            moves=[],
            signatures={"P01": SIGNATURE},
            draw_seed=SEED,
            draw_commitment=COMMITMENT,
        )
    ],
    "DRAW_RESPONSE": [
        _message(
            "DRAW_RESPONSE",
            MANAGER,
            _CONVERSATION,
            _OTHER_TOKEN,
            match_id="R1M1",
            attempt=1,
            draw_share=SEED,
        )
    ],
    "ROUND_ANNOUNCEMENT_ACK": [
        _message("ROUND_ANNOUNCEMENT_ACK", PLAYER, "conv-round-1-announce", _TOKEN, **_ACK, round_id=1)
    ],
    "STANDINGS_UPDATE_ACK": [
        _message("STANDINGS_UPDATE_ACK", PLAYER, "conv-round-1-standings", _TOKEN, **_ACK, round_id=1)
    ],
    "ROUND_COMPLETED_ACK": [
        _message("ROUND_COMPLETED_ACK", PLAYER, "conv-round-1-complete", _TOKEN, **_ACK, round_id=1)
    ],
    "LEAGUE_COMPLETED_ACK": [_message("LEAGUE_COMPLETED_ACK", PLAYER, "conv-league-complete", _TOKEN, **_ACK)],
    "GAME_OVER_ACK": [_message("GAME_OVER_ACK", PLAYER, _CONVERSATION, _TOKEN, **_ACK, match_id="R1M1")],
    "GAME_ERROR_ACK": [_message("GAME_ERROR_ACK", PLAYER, _CONVERSATION, _TOKEN, **_ACK, match_id="R1M1")],
    "LEAGUE_ERROR_ACK": [_message("LEAGUE_ERROR_ACK", PLAYER, "conv-query-001", _TOKEN, **_ACK)],
    "MATCH_RESULT_ACK": [
        _message(
            "MATCH_RESULT_ACK",
            MANAGER,
            _CONVERSATION,
            _OTHER_TOKEN,
            status="ACCEPTED",
            match_id="R1M1",
            round_id=1,
            corrected=[{"field": "result.score", "reason": "the points of this result are P01 3, P02 0"}],
        )
    ],
}

REQUESTS = (
    "REFEREE_REGISTER_REQUEST",
    "LEAGUE_REGISTER_REQUEST",
    "ROUND_ANNOUNCEMENT",
    "ROUND_COMPLETED",
    "LEAGUE_COMPLETED",
    "GAME_INVITATION",
    "CHOOSE_PARITY_CALL",
    "GAME_MOVE_CALL",
    "GAME_OVER",
    "MATCH_RESULT_REPORT",
    "LEAGUE_STANDINGS_UPDATE",
    "GAME_ERROR",
    "MATCH_TROUBLE",
    "DRAW_REQUEST",
    "LEAGUE_QUERY",
)
"""Messages whose envelope is mandatory (R-03); in all others only message_type is."""

KEPT_IN_THE_SMALLEST = {"ROUND_COMPLETED": ("matches_completed",)}
"""Fields that are optional only because another one may stand for them."""

# Each line: the path, the kind of value, and r (required), n (required, may be null), o (optional), `element` of an
# array, or `choice` and `move`, whose every wrong value has an error of its own.
FIELDS = """
REFEREE_REGISTER_REQUEST
  referee_meta                                  object       r
  referee_meta.display_name                     name         r
  referee_meta.version                          version      r
  referee_meta.game_types                       array        r
  referee_meta.game_types[0]                    text         element
  referee_meta.contact_endpoint                 url          r
  referee_meta.max_concurrent_matches           concurrency  o
  referee_meta.protocol_version                 version      o
  referee_meta.enrolment_key                    text         o
  referee_meta.token_scheme                     text         o
  referee_meta.trouble                          text         o
  referee_meta.draw_scheme                      text         o
REFEREE_REGISTER_RESPONSE
  status                                        registration r
  referee_id                                    referee_id   r
  reason                                        string       o
  league_id                                     text         o
  token_scheme                                  string       o
  manager_endpoints                             array        o
  manager_endpoints[0]                          text         element
  trouble                                       text         o
  error_code                                    error_code   o
  error_name                                    text         o
  rpc_code                                      int32        o
  context                                       object       o
  findings                                      text         o
  assignment_digest                             text         o
  manager_key                                   text         o
  draw_scheme                                   text         o
LEAGUE_REGISTER_REQUEST
  player_meta                                   object       r
  player_meta.display_name                      name         r
  player_meta.version                           version      r
  player_meta.game_types                        array        r
  player_meta.game_types[0]                     text         element
  player_meta.contact_endpoint                  url          r
  player_meta.protocol_version                  version      o
  player_meta.conditions                        object       o
  player_meta.public_key                        text         o
LEAGUE_REGISTER_RESPONSE
  status                                        registration r
  player_id                                     player_id    r
  reason                                        string       o
  league_id                                     text         o
  token_scheme                                  string       o
  manager_endpoints                             array        o
  manager_endpoints[0]                          text         element
  error_code                                    error_code   o
  error_name                                    text         o
  rpc_code                                      int32        o
  context                                       object       o
  findings                                      text         o
  assignment_digest                             text         o
  manager_key                                   text         o
ROUND_ANNOUNCEMENT
  league_id                                     text         r
  round_id                                      ordinal      r
  matches                                       array        r
  matches[0]                                    object       element
  matches[0].match_id                           text         r
  matches[0].game_type                          text         r
  matches[0].player_A_id                        text         r
  matches[0].player_B_id                        text         r
  matches[0].referee_endpoint                   url          r
  matches[0].referee_tokens                     array        o
  matches[0].referee_tokens[0]                  text         element
  matches[0].referee_id                         text         o
  matches[0].player_A_endpoint                  url          o
  matches[0].player_B_endpoint                  url          o
  matches[0].player_A_standings                 object       o
  matches[0].player_A_standings.wins            count        o
  matches[0].player_A_standings.losses          count        o
  matches[0].player_A_standings.draws           count        o
  matches[0].player_A_standings.points          count        o
  matches[0].player_B_standings                 object       o
  matches[0].player_B_standings.wins            count        o
  matches[0].player_B_standings.losses          count        o
  matches[0].player_B_standings.draws           count        o
  matches[0].player_B_standings.points          count        o
  matches[0].player_A_token                     string       o
  matches[0].player_B_token                     string       o
  matches[0].player_A_other_tokens              array        o
  matches[0].player_A_other_tokens[0]           text         element
  matches[0].player_B_other_tokens              array        o
  matches[0].player_B_other_tokens[0]           text         element
  matches[0].player_A_answers                   array        o
  matches[0].player_A_answers[0]                text         element
  matches[0].player_B_answers                   array        o
  matches[0].player_B_answers[0]                text         element
  matches[0].player_A_replies                   array        o
  matches[0].player_A_replies[0]                text         element
  matches[0].player_B_replies                   array        o
  matches[0].player_B_replies[0]                text         element
  matches[0].player_A_suspended                 bool         o
  matches[0].player_B_suspended                 bool         o
  matches[0].player_A_convention                text         o
  matches[0].player_B_convention                text         o
  matches[0].player_A_name                      text         o
  matches[0].player_B_name                      text         o
  matches[0].player_A_known_as                  text         o
  matches[0].player_B_known_as                  text         o
  matches[0].player_A_signs                     bool         o
  matches[0].player_B_signs                     bool         o
  matches[0].player_A_told                      array        o
  matches[0].player_A_told[0]                   text         element
  matches[0].player_B_told                      array        o
  matches[0].player_B_told[0]                   text         element
  matches[0].attempt                            ordinal      o
  matches[0].move_seconds                       number       o
  matches[0].retry_delays_s                     array        o
  matches[0].retry_delays_s[0]                  number       element
  matches[0].record_wanted                      bool         o
  matches[0].trust                              text         o
  matches[0].fallbacks_refused                  bool         o
  matches[0].share_commitment                   text         o
ROUND_COMPLETED
  league_id                                     text         r
  round_id                                      ordinal      r
  matches_completed                             count        o
  matches_played                                count        o
  next_round_id                                 ordinal      n
  summary                                       object       o
  summary.total_matches                         count        r
  summary.wins                                  count        r
  summary.draws                                 count        r
  summary.technical_losses                      count        r
  statement                                     object       o
  signature                                     text         o
LEAGUE_COMPLETED
  league_id                                     text         r
  total_rounds                                  count        r
  total_matches                                 count        r
  champion                                      object       r
  champion.player_id                            text         r
  champion.display_name                         string       r
  champion.points                               count        r
  final_standings                               array        r
  final_standings[0]                            object       element
  final_standings[0].rank                       ordinal      r
  final_standings[0].player_id                  text         r
  final_standings[0].points                     count        r
  final_standings[0].display_name               string       o
  final_standings[0].played                     count        o
  final_standings[0].wins                       count        o
  final_standings[0].draws                      count        o
  final_standings[0].losses                     count        o
  head                                          object       o
  head.seq                                      count        r
  head.digest                                   text         r
  statement                                     object       o
  signature                                     text         o
GAME_INVITATION
  league_id                                     text         r
  round_id                                      ordinal      r
  match_id                                      text         r
  game_type                                     text         r
  role_in_match                                 role         r
  opponent_id                                   text         r
  player_id                                     text         o
  draw_commitment                               text         o
  attempt                                       ordinal      o
  share_commitment                              text         o
GAME_JOIN_ACK
  match_id                                      text         r
  player_id                                     text         r
  arrival_timestamp                             time         r
  accept                                        bool         r
CHOOSE_PARITY_CALL
  match_id                                      text         r
  player_id                                     text         r
  game_type                                     text         r
  context                                       object       o
  context.opponent_id                           text         o
  context.round_id                              ordinal      o
  context.your_standings                        object       o
  context.your_standings.wins                   count        o
  context.your_standings.losses                 count        o
  context.your_standings.draws                  count        o
  context.your_standings.points                 count        o
  deadline                                      time         r
  turn                                          ordinal      o
CHOOSE_PARITY_RESPONSE
  match_id                                      text         r
  player_id                                     text         r
  parity_choice                                 choice       choice
  provenance                                    object       o
  signature                                     text         o
GAME_OVER
  match_id                                      text         r
  game_type                                     text         r
  game_result                                   object       r
  game_result.status                            outcome      r
  game_result.winner_player_id                  text         r
  game_result.drawn_number                      drawn        r
  game_result.number_parity                     parity       r
  game_result.choices                           object       r
  game_result.reason                            string       o
  game_result.moves                             array        o
  game_result.draws                             array        o
  game_result.returns                           object       o
  game_result.game_details                      object       o
  game_result.draw_seed                         text         o
  game_result.attempt                           ordinal      o
  reason                                        string       o
  game_result.draw_share                        text         o
  game_result.share_commitment                  text         o
MATCH_RESULT_REPORT
  league_id                                     text         r
  round_id                                      ordinal      r
  match_id                                      text         r
  game_type                                     text         r
  result                                        object       r
  result.winner                                 text         n
  result.score                                  object       r
  result.details                                object       r
  result.details.drawn_number                   int32        n
  result.details.choices                        object       r
  result.details.status                         outcome      o
  result.details.number_parity                  parity       o
  result.details.moves                          array        o
  result.details.draws                          array        o
  result.details.returns                        object       o
  result.details.talk                           array        o
  result.details.game_details                   object       o
  result.details.draw_seed                      text         o
  result.details.faults                         object       o
  result.details.provenance                     object       o
  attempt                                       ordinal      o
  match_record                                  array        o
  result.details.draw_commitment                text         o
  result.details.draw_share                     text         o
  result.details.share_commitment               text         o
  result.details.signatures                     object       o
MATCH_TROUBLE
  league_id                                     text         r
  match_id                                      text         r
  attempt                                       ordinal      r
  turn                                          count        r
  player_id                                     text         r
  code                                          error_code   r
  behind                                        bool         o
MATCH_TROUBLE_RESPONSE
  match_id                                      text         r
  decision                                      trouble      r
  reason                                        string       o
DRAW_REQUEST
  league_id                                     text         r
  match_id                                      text         r
  attempt                                       ordinal      r
  choices                                       object       r
  moves                                         array        o
  signatures                                    object       o
  draw_seed                                     text         r
  draw_commitment                               text         r
DRAW_RESPONSE
  match_id                                      text         r
  attempt                                       ordinal      r
  draw_share                                    text         r
LEAGUE_STANDINGS_UPDATE
  league_id                                     text         r
  round_id                                      ordinal      r
  standings                                     array        r
  standings[0]                                  object       element
  standings[0].rank                             ordinal      r
  standings[0].player_id                        text         r
  standings[0].display_name                     string       r
  standings[0].played                           count        r
  standings[0].wins                             count        r
  standings[0].draws                            count        r
  standings[0].losses                           count        r
  standings[0].points                           count        r
  version                                       count        o
  head                                          object       o
  head.seq                                      count        r
  head.digest                                   text         r
LEAGUE_ERROR
  error_code                                    error_code   r
  error_description                             text         r
  error_name                                    text         o
  error_detail                                  string       o
  original_message_type                         text         o
  context                                       object       o
  affected_player                               text         o
  action_required                               text         o
  retryable                                     bool         o
GAME_ERROR
  match_id                                      text         o
  error_code                                    error_code   r
  error_description                             text         o
  error_name                                    text         o
  error_detail                                  string       o
  affected_player                               text         o
  player_id                                     text         o
  action_required                               text         o
  game_state                                    text         o
  retryable                                     bool         o
  retry_count                                   count        o
  max_retries                                   count        o
  time_remaining                                number       o
  retry_info                                    object       o
  retry_info.retry_count                        count        o
  retry_info.max_retries                        count        o
  retry_info.next_retry_at                      time         o
  retry_info.time_remaining                     number       o
  context                                       object       o
  consequence                                   string       o
LEAGUE_QUERY
  league_id                                     text         r
  query_type                                    query_type   r
  query_params                                  object       o
  query_params.player_id                        text         o
  query_params.round_id                         ordinal      o
  query_params.match_id                         text         o
LEAGUE_QUERY_RESPONSE
  query_type                                    text         r
  success                                       bool         o
  data                                          object       o
  error                                         object       o
  error.error_code                              error_code   r
  error.error_name                              text         o
  error.error_description                       string       o
  error.rpc_code                                int32        o
  standings                                     array        o
  standings[0]                                  object       element
  current_round                                 count        o
GAME_MOVE_CALL
  match_id                                      text         r
  player_id                                     text         r
  game_type                                     text         r
  move_request                                  object       r
  move_request.move_type                        text         r
  move_request.valid_options                    array        r
  move_request.valid_options[0]                 string       element
  move_request.context                          object       r
  move_request.role                             text         o
  move_request.move_format                      text         o
  move_request.talk                             array        o
  move_request.talk_limit                       ordinal      o
  deadline                                      time         r
  turn                                          ordinal      o
GAME_MOVE_RESPONSE
  match_id                                      text         r
  player_id                                     text         r
  move_data                                     object       r
  move_data.move_type                           text         r
  move_data.choice                              move         move
  move_data.talk                                string       o
  provenance                                    object       o
  signature                                     text         o
ROUND_ANNOUNCEMENT_ACK
  status                                        ack          r
  player_id                                     text         o
  round_id                                      ordinal      r
STANDINGS_UPDATE_ACK
  status                                        ack          r
  player_id                                     text         o
  round_id                                      ordinal      r
ROUND_COMPLETED_ACK
  status                                        ack          r
  player_id                                     text         o
  round_id                                      ordinal      r
LEAGUE_COMPLETED_ACK
  status                                        ack          r
  player_id                                     text         o
GAME_OVER_ACK
  status                                        ack          r
  player_id                                     text         o
  match_id                                      text         r
GAME_ERROR_ACK
  status                                        ack          r
  player_id                                     text         o
  match_id                                      text         o
LEAGUE_ERROR_ACK
  status                                        ack          r
  player_id                                     text         o
MATCH_RESULT_ACK
  status                                        registration r
  match_id                                      text         r
  round_id                                      ordinal      r
  corrected                                     array        o
  corrected[0]                                  object       element
  corrected[0].field                            text         r
  corrected[0].reason                           text         r
"""


class Wrong(NamedTuple):
    """A value that a kind of field must not have: a name for it, the value, its error, why no schema can see it."""

    name: str
    value: Json
    error: str
    beyond_schema: str | None = None


A_WHOLE_FLOAT = "to JSON Schema 1.0 is a whole number"
_STRING, _TRUE = Wrong("a-string", "1", "E007"), Wrong("true", True, "E007")
_WHOLE = [
    _STRING,
    _TRUE,
    Wrong("a-fraction", 1.0, "E007", A_WHOLE_FLOAT),
    Wrong("beyond-32-bits", 2**31, "E008"),
]
_NUMBER_FOR_STRING = Wrong("a-number", 7, "E007")


def _words(error: str, *values: str) -> list[Wrong]:
    """Wrong words, case variants among them, and a number."""
    return [*(Wrong(f"word-{place}", value, error) for place, value in enumerate(values, 1)), _NUMBER_FOR_STRING]


WRONG: dict[str, list[Wrong]] = {
    "string": [_NUMBER_FOR_STRING],
    "text": [_NUMBER_FOR_STRING, Wrong("empty", "", "E008")],
    "count": [*_WHOLE, Wrong("negative", -1, "E008")],
    "ordinal": [*_WHOLE, Wrong("zero", 0, "E008")],
    "int32": [*_WHOLE, Wrong("beyond-32-bits-below", -(2**31) - 1, "E008")],
    "drawn": [*_WHOLE, Wrong("zero", 0, "E008"), Wrong("eleven", 11, "E008")],
    "concurrency": [*_WHOLE, Wrong("zero", 0, "E008"), Wrong("sixty-five", 65, "E008")],
    "number": [_STRING, _TRUE],
    "bool": [Wrong("a-string", "true", "E007"), Wrong("one", 1, "E007"), Wrong("zero", 0, "E007")],
    "object": [Wrong("an-array", [], "E007"), Wrong("a-string", "none", "E007")],
    "array": [Wrong("an-object", {}, "E007"), Wrong("a-string", "even_odd", "E007")],
    "role": _words("E008", "PLAYER_C", "player_a", "Player_A", "A", ""),
    "registration": _words("E008", "accepted", "Accepted", "OK", ""),
    "outcome": _words("E008", "win", "Win", "LOSS", "TECHNICAL LOSS", ""),
    "trouble": _words("E008", "Decide", "WAIT", "later", ""),
    "parity": _words("E008", "Even", "ODD", "e", ""),
    "ack": _words("E008", "acknowledged", "ACK", "OK", ""),
    "query_type": _words("E029", "GET_EVERYTHING", "get_standings", "standings", ""),
    "error_code": _words("E008", "012", "E12", "E0012", "e012", "AUTH_TOKEN_INVALID", ""),
    "player_id": _words("E008", "P1", "p01", "01", "REF01", "P0A", ""),
    "referee_id": _words("E008", "REF1", "ref01", "R01", "P01", ""),
    "choice": [
        *(Wrong(f"word-{place}", value, "E004") for place, value in enumerate(("Even", "EVEN", "e", "maybe", ""), 1)),
        Wrong("zero", 0, "E004"),
        Wrong("false", False, "E004"),
        Wrong("an-array", ["even"], "E004"),
        Wrong("an-object", {"choice": "even"}, "E004"),
    ],
    "move": [Wrong("a-number", 5, "E024"), Wrong("an-object", {"cell": "4"}, "E024")],
    "time": [
        Wrong("local-time", "2025-01-15T10:30:00+02:00", "E021"),
        Wrong("without-zone", "2025-01-15T10:30:00", "E021"),
        Wrong("words", "in half an hour", "E021"),
        Wrong("empty", "", "E021"),
        Wrong("a-number", 1736937000, "E007"),
    ],
    "name": [
        Wrong("empty", "", "E008"),
        Wrong("only-blanks", "   ", "E008"),
        Wrong("51-characters", "x" * 51, "E008"),
        Wrong("51-characters-beyond-ascii", "\U0001f3b2" * 51, "E008"),
        Wrong("a-control-character", "Agent\u0007Alpha", "E008"),
        Wrong("a-line-break", "Agent\nAlpha", "E008"),
        Wrong("a-direction-override", "Agent \u202eahplA", "E008"),
        Wrong("a-zero-width-space", "Agent\u200bAlpha", "E008"),
        Wrong("a-hangul-filler", "Agent\u3164Alpha", "E008"),
        Wrong("a-grapheme-joiner", "Agent\u034fAlpha", "E008"),
        Wrong("a-joiner-behind-a-blank", "Agent \u200dAlpha", "E008"),
        _NUMBER_FOR_STRING,
    ],
    "version": [
        Wrong("two-numbers", "1.0", "E008"),
        Wrong("four-numbers", "1.0.0.0", "E008"),
        Wrong("a-v-in-front", "v1.0.0", "E008"),
        Wrong("a-leading-zero", "01.0.0", "E008"),
        Wrong("an-empty-pre-release", "1.0.0-", "E008"),
        Wrong("a-leading-zero-in-the-pre-release", "1.0.0-01", "E008"),
        Wrong("empty", "", "E008"),
        Wrong("a-fraction", 1.0, "E007"),
    ],
    "url": [
        Wrong("without-scheme", "localhost:8101/mcp", "E008"),
        Wrong("another-scheme", "ftp://localhost:8101/mcp", "E008"),
        Wrong("only-a-path", "/mcp", "E008"),
        Wrong("without-host", "http://:8101/mcp", "E008"),
        Wrong("port-zero", "http://localhost:0/mcp", "E008"),
        Wrong("port-beyond-65535", "http://localhost:65536/mcp", "E008"),
        Wrong("a-word-as-port", "http://localhost:http/mcp", "E008"),
        Wrong("a-blank", "http://localhost:8101/my mcp", "E008"),
        Wrong("a-fragment", "http://localhost:8101/mcp#here", "E008"),
        Wrong("credentials", "http://me:secret@localhost:8101/mcp", "E008"),
        Wrong("a-number-as-host", "http://2130706433:8101/mcp", "E008"),
        Wrong("a-hexadecimal-host", "http://0x7f.1:8101/mcp", "E008"),
        Wrong("a-leading-zero-in-the-host", "http://127.0.0.01:8101/mcp", "E008"),
        Wrong("a-backslash", r"http://localhost:8101/a\b", "E008"),
        Wrong("a-percent-sign-in-the-host", "http://%31.0.0.1:8101/mcp", "E008"),
        Wrong("empty", "", "E008"),
        _NUMBER_FOR_STRING,
    ],
}

ENVELOPE: dict[str, list[Wrong]] = {
    "protocol": [
        Wrong("an-older-version", "league.v1", "E018"),
        Wrong("another-case", "LEAGUE.V2", "E018"),
        Wrong("a-version-number", "2.1.0", "E018"),
        Wrong("a-blank-behind", "league.v2 ", "E018"),
        Wrong("empty", "", "E018"),
        Wrong("a-number", 2, "E007"),
    ],
    "message_type": [
        Wrong("unknown", "GAME_INVITE", "E038"),
        Wrong("another-case", "game_invitation", "E038"),
        Wrong("empty", "", "E038"),
        Wrong("a-number", 8, "E007"),
        Wrong("an-array", ["GAME_INVITATION"], "E007"),
    ],
    "sender": [
        Wrong("empty", "", "E008"),
        Wrong("without-prefix", "REF01", "E008"),
        Wrong("only-the-prefix", "referee", "E008"),
        Wrong("without-name", "referee:", "E008"),
        Wrong("another-case", "Referee:REF01", "E008"),
        Wrong("a-plural", "referees:REF01", "E008"),
        Wrong("an-unknown-role", "coach:REF01", "E008"),
        Wrong("an-object", {"type": "referee", "id": "REF01"}, "E007"),
        Wrong("a-player", "player:P01", "E032"),
        Wrong("the-manager", "league_manager", "E032"),
    ],
    "timestamp": [
        *WRONG["time"],
        Wrong("west-of-greenwich", "2025-01-15T10:30:00-05:00", "E021"),
        Wrong("minus-zero", "2025-01-15T10:30:00-00:00", "E021"),
        Wrong("zone-without-colon", "2025-01-15T10:30:00+0000", "E021"),
        Wrong("two-zones", "2025-01-15T10:30:00+00:00Z", "E021"),
        Wrong("fully-compact", "20250115T103000Z", "E021"),
        Wrong("half-hyphened", "2025-0115T10:30:00Z", "E021"),
        Wrong("only-a-date", "2025-01-15", "E021"),
        Wrong("without-seconds", "2025-01-15T10:30Z", "E021"),
        Wrong("a-blank-between", "2025-01-15 10:30:00Z", "E021"),
        Wrong("lower-case", "2025-01-15t10:30:00z", "E021"),
        Wrong("an-empty-fraction", "2025-01-15T10:30:00.Z", "E021"),
        Wrong("a-blank-in-front", " 2025-01-15T10:30:00Z", "E021"),
        Wrong("a-line-break-behind", "2025-01-15T10:30:00Z\n", "E021"),
        Wrong("month-13", "2025-13-15T10:30:00Z", "E021"),
        Wrong("day-0", "2025-01-00T10:30:00Z", "E021"),
        Wrong("april-31", "2025-04-31T10:30:00Z", "E021"),
        Wrong("february-30", "2024-02-30T10:30:00Z", "E021"),
        Wrong("february-29-of-a-common-year", "2025-02-29T10:30:00Z", "E021"),
        Wrong("february-29-of-1900", "1900-02-29T10:30:00Z", "E021"),
        Wrong("february-29-compact", "20250229T10:30:00Z", "E021"),
        Wrong("hour-25", "2025-01-15T25:30:00Z", "E021"),
        Wrong("minute-60", "2025-01-15T10:60:00Z", "E021"),
        Wrong("second-61", "2025-01-15T10:30:61Z", "E021"),
        Wrong("other-digits", "2025-01-15T10:30:0\u0660Z", "E021"),
        Wrong("seconds-since-1970", "1736937000", "E021"),
    ],
    "conversation_id": [_NUMBER_FOR_STRING, Wrong("empty", "", "E008"), Wrong("an-object", {}, "E007")],
    "auth_token": [_NUMBER_FOR_STRING, Wrong("empty", "", "E011"), Wrong("an-array", ["tok"], "E007")],
}
"""For a GAME_INVITATION, which a referee sends."""
