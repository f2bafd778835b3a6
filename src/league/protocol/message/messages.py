"""One class for each message (spec section 5). Values are never coerced; unknown fields are ignored and never stored.

How strictly a message is read depends on its base class: who sends it, and how much of its envelope the documents'
own examples have (R-03).
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from msgspec import UNSET, Struct, UnsetType

from league.protocol.message.fields import (
    AssignedPlayerId,
    AssignedRefereeId,
    Count,
    ErrorCode,
    Int32,
    Ordinal,
    ParityChoice,
    QueryType,
    ReplySender,
    ReplyTimestamp,
    Seconds,
    Sender,
    Text,
    Timestamp,
    Token,
)
from league.protocol.message.parts import (
    NEEDED,
    SAID,
    AnnouncedMatch,
    CallContext,
    Champion,
    Correction,
    FinalRow,
    GameResult,
    Head,
    MoveData,
    MoveRequest,
    Object,
    PlayerMeta,
    QueryError,
    QueryParams,
    RefereeMeta,
    Result,
    RetryInfo,
    RoundSummary,
    StandingsRow,
)


class Message(Struct, omit_defaults=True, kw_only=True, frozen=True, gc=False, tag_field="message_type"):
    """The base of all messages."""

    is_reply: ClassVar[bool] = False
    type: ClassVar[str] = ""
    """The message type, as on the wire."""


class Request(Message, kw_only=True, frozen=True):
    """A message to the manager that opens an exchange: the whole envelope is mandatory (R-03)."""

    protocol: Literal["league.v2"]
    sender: Sender
    timestamp: Timestamp
    conversation_id: Text
    auth_token: Annotated[Token | None, SAID] = None


class OpenRequest(Message, kw_only=True, frozen=True):
    """A request whose envelope may be incomplete in `compat` (R-03): an agent that is not a member yet knows no better,
    and an error is worth reading even without it."""

    protocol: Annotated[Literal["league.v2"] | None, NEEDED] = None
    sender: Annotated[Sender | None, NEEDED] = None
    timestamp: Annotated[Timestamp | None, NEEDED] = None
    conversation_id: Annotated[Text | None, NEEDED] = None
    auth_token: Token | None = None


class MemberRequest(OpenRequest, kw_only=True, frozen=True):
    """A message from a manager or a referee to a player or a referee. Third-party agents may leave out the envelope, as
    the examples of one document do."""

    auth_token: Annotated[Token | None, SAID] = None


class Reply(Message, kw_only=True, frozen=True):
    """An answer to a message: only what the answer itself needs is mandatory (R-03)."""

    is_reply: ClassVar[bool] = True

    protocol: Annotated[Literal["league.v2"] | None, SAID] = None
    sender: Annotated[ReplySender | None, SAID] = None
    timestamp: Annotated[ReplyTimestamp | None, SAID] = None
    conversation_id: Annotated[Text | None, SAID] = None
    auth_token: Token | None = None


# --- registration -----------------------------------------------------------------------------------------------------


class RefereeRegisterRequest(OpenRequest, kw_only=True, frozen=True, tag="REFEREE_REGISTER_REQUEST"):
    referee_meta: RefereeMeta


class LeagueRegisterRequest(OpenRequest, kw_only=True, frozen=True, tag="LEAGUE_REGISTER_REQUEST"):
    player_meta: PlayerMeta


class RegisterResponse(Reply, kw_only=True, frozen=True):
    """The base of both registration answers; `error_*` and `rpc_code` explain a REJECTED to programs (R-19)."""

    status: Literal["ACCEPTED", "REJECTED"]
    reason: Annotated[str | UnsetType | None, SAID] = UNSET
    league_id: Text | None = None
    token_scheme: Text | None = None
    assignment_digest: Text | None = None
    manager_key: Text | None = None
    manager_endpoints: list[Text] | None = None
    error_code: ErrorCode | None = None
    error_name: Text | None = None
    rpc_code: Int32 | None = None
    context: Object | None = None
    findings: Text | None = None
    """What a probe of the endpoint found out, for the agent's author (spec section 7.2)."""


class RefereeRegisterResponse(RegisterResponse, kw_only=True, frozen=True, tag="REFEREE_REGISTER_RESPONSE"):
    referee_id: Annotated[AssignedRefereeId | UnsetType | None, SAID] = UNSET
    trouble: Text | None = None
    draw_scheme: Text | None = None


class LeagueRegisterResponse(RegisterResponse, kw_only=True, frozen=True, tag="LEAGUE_REGISTER_RESPONSE"):
    player_id: Annotated[AssignedPlayerId | UnsetType | None, SAID] = UNSET


# --- rounds and standings ---------------------------------------------------------------------------------------------


class RoundAnnouncement(MemberRequest, kw_only=True, frozen=True, tag="ROUND_ANNOUNCEMENT"):
    league_id: Text
    round_id: Ordinal
    matches: list[AnnouncedMatch]


class RoundCompleted(MemberRequest, kw_only=True, frozen=True, tag="ROUND_COMPLETED"):
    league_id: Text
    round_id: Ordinal
    matches_completed: Annotated[Count | None, SAID] = None
    matches_played: Annotated[Count | None, SAID] = None
    next_round_id: Ordinal | None
    summary: Annotated[RoundSummary | None, SAID] = None
    statement: Object | None = None
    signature: Text | None = None


class LeagueStandingsUpdate(MemberRequest, kw_only=True, frozen=True, tag="LEAGUE_STANDINGS_UPDATE"):
    league_id: Text
    round_id: Ordinal
    standings: list[StandingsRow]
    version: Count | None = None
    head: Head | None = None


class LeagueCompleted(MemberRequest, kw_only=True, frozen=True, tag="LEAGUE_COMPLETED"):
    league_id: Text
    total_rounds: Count
    total_matches: Count
    champion: Champion
    final_standings: list[FinalRow]
    head: Head | None = None
    statement: Object | None = None
    signature: Text | None = None


# --- a match ----------------------------------------------------------------------------------------------------------


class GameInvitation(MemberRequest, kw_only=True, frozen=True, tag="GAME_INVITATION"):
    league_id: Text
    round_id: Ordinal
    match_id: Text
    game_type: Text
    role_in_match: Literal["PLAYER_A", "PLAYER_B"]
    opponent_id: Text
    player_id: Annotated[Text | None, SAID] = None
    draw_commitment: Text | None = None
    share_commitment: Text | None = None
    attempt: Ordinal | None = None


class GameJoinAck(Reply, kw_only=True, frozen=True, tag="GAME_JOIN_ACK"):
    match_id: Annotated[Text | None, NEEDED] = None
    player_id: Annotated[Text | None, NEEDED] = None
    arrival_timestamp: Annotated[ReplyTimestamp | None, NEEDED] = None
    accept: bool


class ChooseParityCall(MemberRequest, kw_only=True, frozen=True, tag="CHOOSE_PARITY_CALL"):
    match_id: Text
    player_id: Text
    game_type: Text
    context: Annotated[CallContext | None, SAID] = None
    deadline: Timestamp
    turn: Ordinal | None = None


class ChooseParityResponse(Reply, kw_only=True, frozen=True, tag="CHOOSE_PARITY_RESPONSE"):
    match_id: Annotated[Text | None, NEEDED] = None
    player_id: Annotated[Text | None, NEEDED] = None
    parity_choice: ParityChoice
    provenance: Object | None = None
    signature: Text | None = None


class GameMoveCall(MemberRequest, kw_only=True, frozen=True, tag="GAME_MOVE_CALL"):
    match_id: Text
    player_id: Text
    game_type: Text
    move_request: MoveRequest
    deadline: Timestamp
    turn: Ordinal | None = None


class GameMoveResponse(Reply, kw_only=True, frozen=True, tag="GAME_MOVE_RESPONSE"):
    match_id: Annotated[Text | None, NEEDED] = None
    player_id: Annotated[Text | None, NEEDED] = None
    move_data: MoveData
    provenance: Object | None = None
    signature: Text | None = None


class GameOver(MemberRequest, kw_only=True, frozen=True, tag="GAME_OVER"):
    match_id: Text
    game_type: Text
    game_result: GameResult
    reason: Annotated[str | None, SAID] = None


class MatchResultReport(Request, kw_only=True, frozen=True, tag="MATCH_RESULT_REPORT"):
    league_id: Text
    round_id: Ordinal
    match_id: Text
    game_type: Text
    result: Result
    attempt: Ordinal | None = None
    match_record: list[Any] | None = None


class MatchTrouble(Request, kw_only=True, frozen=True, tag="MATCH_TROUBLE"):
    """A referee asks before it decides a technical loss of a player that did not answer (spec section 8.15)."""

    league_id: Text
    match_id: Text
    attempt: Ordinal
    turn: Count
    player_id: Text
    code: ErrorCode
    behind: bool | None = None


class MatchTroubleResponse(Reply, kw_only=True, frozen=True, tag="MATCH_TROUBLE_RESPONSE"):
    match_id: Text
    decision: Literal["decide", "wait"]
    reason: str | None = None


class DrawRequest(Request, kw_only=True, frozen=True, tag="DRAW_REQUEST"):
    """A referee hands in all choices and its seed, and asks for the manager's share of the draw (section 12.1)."""

    league_id: Text
    match_id: Text
    attempt: Ordinal
    choices: Object
    moves: list[Any] | None = None
    signatures: Object | None = None
    draw_seed: Text
    draw_commitment: Text


class DrawResponse(Reply, kw_only=True, frozen=True, tag="DRAW_RESPONSE"):
    match_id: Text
    attempt: Ordinal
    draw_share: Text


# --- queries and errors -----------------------------------------------------------------------------------------------


class LeagueQuery(Request, kw_only=True, frozen=True, tag="LEAGUE_QUERY"):
    league_id: Text
    query_type: QueryType
    query_params: Annotated[QueryParams | None, SAID] = None


class LeagueQueryResponse(Reply, kw_only=True, frozen=True, tag="LEAGUE_QUERY_RESPONSE"):
    query_type: Text
    success: Annotated[bool | None, SAID] = None
    data: Object | None = None
    error: QueryError | None = None
    standings: list[Object] | None = None
    current_round: Count | None = None


class LeagueErrorReply(Reply, kw_only=True, frozen=True, tag="LEAGUE_ERROR"):
    # It also comes as a request, and then nobody called the address that it says it is from.
    sender: Annotated[Sender | None, SAID] = None
    error_code: ErrorCode
    error_description: Text
    error_name: Annotated[Text | None, SAID] = None
    error_detail: Annotated[str | None, SAID] = None
    original_message_type: Annotated[Text | None, SAID] = None
    context: Annotated[Object | None, SAID] = None
    affected_player: Annotated[Text | UnsetType | None, SAID] = UNSET
    action_required: Annotated[Text | None, SAID] = None
    retryable: Annotated[bool | None, SAID] = None


class GameError(OpenRequest, kw_only=True, frozen=True, tag="GAME_ERROR"):
    match_id: Annotated[Text | None, SAID] = None
    error_code: ErrorCode
    error_description: Annotated[Text | None, SAID] = None
    error_name: Annotated[Text | None, SAID] = None
    error_detail: Annotated[str | None, SAID] = None
    affected_player: Annotated[Text | None, SAID] = None
    player_id: Annotated[Text | None, SAID] = None
    action_required: Annotated[Text | None, SAID] = None
    game_state: Annotated[Text | None, SAID] = None
    retryable: Annotated[bool | None, SAID] = None
    retry_count: Annotated[Count | None, SAID] = None
    max_retries: Annotated[Count | None, SAID] = None
    time_remaining: Seconds | None = None
    retry_info: Annotated[RetryInfo | None, SAID] = None
    context: Object | None = None
    consequence: Annotated[str | None, SAID] = None


# --- acknowledgements in the JSON-RPC result (R-04) -------------------------------------------------------------------


# Third-party agents acknowledge in many ways. These are what our own agents send.
class Acknowledgement(Reply, kw_only=True, frozen=True):
    status: Literal["ACKNOWLEDGED"]
    player_id: Text | None = None


class RoundAnnouncementAck(Acknowledgement, kw_only=True, frozen=True, tag="ROUND_ANNOUNCEMENT_ACK"):
    round_id: Ordinal


class StandingsUpdateAck(Acknowledgement, kw_only=True, frozen=True, tag="STANDINGS_UPDATE_ACK"):
    round_id: Ordinal


class RoundCompletedAck(Acknowledgement, kw_only=True, frozen=True, tag="ROUND_COMPLETED_ACK"):
    round_id: Ordinal


class LeagueCompletedAck(Acknowledgement, kw_only=True, frozen=True, tag="LEAGUE_COMPLETED_ACK"):
    pass


class GameOverAck(Acknowledgement, kw_only=True, frozen=True, tag="GAME_OVER_ACK"):
    match_id: Text


class GameErrorAck(Acknowledgement, kw_only=True, frozen=True, tag="GAME_ERROR_ACK"):
    match_id: Text | None = None


class LeagueErrorAck(Acknowledgement, kw_only=True, frozen=True, tag="LEAGUE_ERROR_ACK"):
    pass


class MatchResultAck(Reply, kw_only=True, frozen=True, tag="MATCH_RESULT_ACK"):
    status: Literal["ACCEPTED"]
    match_id: Text
    round_id: Ordinal
    corrected: list[Correction] | None = None


_THE_EIGHTEEN: tuple[type[Message], ...] = (
    RefereeRegisterRequest,
    RefereeRegisterResponse,
    LeagueRegisterRequest,
    LeagueRegisterResponse,
    RoundAnnouncement,
    RoundCompleted,
    LeagueCompleted,
    GameInvitation,
    GameJoinAck,
    ChooseParityCall,
    ChooseParityResponse,
    GameOver,
    MatchResultReport,
    LeagueStandingsUpdate,
    LeagueErrorReply,
    GameError,
    LeagueQuery,
    LeagueQueryResponse,
)
_MOVES: tuple[type[Message], ...] = (GameMoveCall, GameMoveResponse)
_AMONG_OURS: tuple[type[Message], ...] = (MatchTrouble, MatchTroubleResponse, DrawRequest, DrawResponse)
_ACKS: tuple[type[Message], ...] = (
    RoundAnnouncementAck,
    StandingsUpdateAck,
    RoundCompletedAck,
    LeagueCompletedAck,
    GameOverAck,
    GameErrorAck,
    LeagueErrorAck,
    MatchResultAck,
)


def _by_type(classes: tuple[type[Message], ...]) -> dict[str, type[Message]]:
    # msgspec knows a class's tag; the rest of the code asks for its `type`.
    for cls in classes:
        cls.type = str(cls.__struct_config__.tag)
    return {cls.type: cls for cls in classes}


THE_EIGHTEEN = _by_type(_THE_EIGHTEEN)
"""The protocol's 18 messages, in the documents' order."""
MOVES = _by_type(_MOVES)
"""The generic twins of CHOOSE_PARITY_*, for games other than even_odd (R-38)."""
AMONG_OURS = _by_type(_AMONG_OURS)
"""Messages that pass only between a manager and a referee that both declared them when the referee registered."""
ACKS = _by_type(_ACKS)
"""The answers to notifications. Any answer that is not an error counts as one (R-04)."""
MESSAGES: dict[str, type[Message]] = {**THE_EIGHTEEN, **MOVES, **AMONG_OURS, **ACKS}
