"""The objects inside messages (spec section 5), and the marks a field may carry.

A field without a default is mandatory in *every* document that defines the message. A field that only some of them
require is optional here and marked SAID: our own messages always have it. NEEDED fields are mandatory in `strict`;
in `compat` their absence is recorded.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from league.protocol.message.fields import (
    Count,
    DisplayName,
    ErrorCode,
    Int32,
    Ordinal,
    Parity,
    ProtocolVersion,
    Seconds,
    Text,
    Timestamp,
    Token,
    Url,
    Version,
)

# Marks are plain data for `judge`, the schemas and the generated tables.
SAID = Meta(extra={"said": True})
NEEDED = Meta(extra={"needed": True, "said": True})

Object = dict[str, Any]
"""A JSON object whose members are not judged here (Any: the codec's edge)."""


class Part(Struct, omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """An object inside a message."""


class AgentMeta(Part, kw_only=True, frozen=True):
    display_name: DisplayName
    version: Version
    game_types: Annotated[list[Text], Meta(min_length=1)]
    contact_endpoint: Url
    protocol_version: ProtocolVersion | None = None


class PlayerMeta(AgentMeta, kw_only=True, frozen=True):
    conditions: Object | None = None
    public_key: Text | None = None


class RefereeMeta(AgentMeta, kw_only=True, frozen=True):
    max_concurrent_matches: Annotated[Ordinal | None, SAID] = None
    enrolment_key: Text | None = None
    token_scheme: Text | None = None
    trouble: Text | None = None
    draw_scheme: Text | None = None


class Record(Part, kw_only=True, frozen=True):
    """A player's record so far; it becomes `context.your_standings` of a choice call."""

    wins: Annotated[Count | None, SAID] = None
    losses: Annotated[Count | None, SAID] = None
    draws: Annotated[Count | None, SAID] = None
    points: Annotated[Count | None, SAID] = None


class AnnouncedMatch(Part, kw_only=True, frozen=True):
    """A match of a round. `referee_tokens` (section 9.2) and names are for its players. Only the copy for the match's
    referee has the other fields from `referee_id` on (R-22, section 9)."""

    match_id: Text
    game_type: Text
    player_A_id: Text  # noqa: N815 - the documents' spelling
    player_B_id: Text  # noqa: N815
    referee_endpoint: Url
    referee_tokens: list[Text] | None = None
    referee_id: Text | None = None
    player_A_endpoint: Url | None = None  # noqa: N815
    player_B_endpoint: Url | None = None  # noqa: N815
    player_A_standings: Record | None = None  # noqa: N815
    player_B_standings: Record | None = None  # noqa: N815
    player_A_token: Token | None = None  # noqa: N815
    player_B_token: Token | None = None  # noqa: N815
    player_A_other_tokens: list[Text] | None = None  # noqa: N815
    player_B_other_tokens: list[Text] | None = None  # noqa: N815
    player_A_answers: list[Text] | None = None  # noqa: N815
    player_B_answers: list[Text] | None = None  # noqa: N815
    player_A_replies: list[Text] | None = None  # noqa: N815
    player_B_replies: list[Text] | None = None  # noqa: N815
    player_A_suspended: bool | None = None  # noqa: N815
    player_B_suspended: bool | None = None  # noqa: N815
    player_A_convention: Text | None = None  # noqa: N815
    player_B_convention: Text | None = None  # noqa: N815
    player_A_name: Text | None = None  # noqa: N815
    player_B_name: Text | None = None  # noqa: N815
    player_A_known_as: Text | None = None  # noqa: N815
    player_B_known_as: Text | None = None  # noqa: N815
    player_A_signs: bool | None = None  # noqa: N815
    player_B_signs: bool | None = None  # noqa: N815
    player_A_told: list[Text] | None = None  # noqa: N815
    player_B_told: list[Text] | None = None  # noqa: N815
    attempt: Ordinal | None = None
    move_seconds: Seconds | None = None
    retry_delays_s: list[Seconds] | None = None
    record_wanted: bool | None = None
    trust: Text | None = None
    fallbacks_refused: bool | None = None
    share_commitment: Text | None = None


class Correction(Part, kw_only=True, frozen=True):
    """What the manager changed in a report, and why."""

    field: Text
    reason: Text


class RoundSummary(Part, kw_only=True, frozen=True):
    total_matches: Annotated[Count | None, NEEDED] = None
    wins: Annotated[Count | None, NEEDED] = None
    draws: Annotated[Count | None, NEEDED] = None
    technical_losses: Annotated[Count | None, NEEDED] = None


class StandingsRow(Part, kw_only=True, frozen=True):
    rank: Ordinal
    player_id: Text
    display_name: str
    played: Count
    wins: Count
    draws: Count
    losses: Count
    points: Count


class Champion(Part, kw_only=True, frozen=True):
    player_id: Text
    display_name: Annotated[str | None, NEEDED] = None
    points: Annotated[Count | None, NEEDED] = None


class FinalRow(Part, kw_only=True, frozen=True):
    rank: Ordinal
    player_id: Text
    points: Count
    display_name: Annotated[str | None, SAID] = None
    played: Annotated[Count | None, SAID] = None
    wins: Annotated[Count | None, SAID] = None
    draws: Annotated[Count | None, SAID] = None
    losses: Annotated[Count | None, SAID] = None


class CallContext(Part, kw_only=True, frozen=True):
    opponent_id: Annotated[Text | None, SAID] = None
    round_id: Annotated[Ordinal | None, SAID] = None
    your_standings: Annotated[Record | None, SAID] = None


class MoveRequest(Part, kw_only=True, frozen=True):
    move_type: Text
    valid_options: list[str]
    context: Object
    role: Text | None = None
    move_format: Text | None = None
    talk: list[Any] | None = None
    talk_limit: Ordinal | None = None


class MoveData(Part, kw_only=True, frozen=True):
    move_type: Text
    choice: Annotated[str, Meta(extra={"code": "E024"})]
    talk: str | None = None


class GameResult(Part, kw_only=True, frozen=True):
    status: Literal["WIN", "DRAW", "TECHNICAL_LOSS"]
    winner_player_id: Annotated[Text | UnsetType | None, SAID] = UNSET
    drawn_number: Int32 | UnsetType | None = UNSET
    number_parity: Parity | UnsetType | None = UNSET
    choices: dict[str, Any]
    reason: Annotated[str | None, SAID] = None
    moves: list[Any] | None = None
    draws: list[Any] | None = None
    returns: Object | None = None
    game_details: Object | None = None
    draw_seed: Text | None = None
    draw_share: Text | None = None
    share_commitment: Text | None = None
    attempt: Ordinal | None = None


class ResultDetails(Part, kw_only=True, frozen=True):
    drawn_number: Int32 | UnsetType | None = UNSET
    choices: Annotated[dict[str, Any] | None, NEEDED] = None
    status: Annotated[Literal["WIN", "DRAW", "TECHNICAL_LOSS"] | None, SAID] = None
    number_parity: Parity | UnsetType | None = UNSET
    moves: list[Any] | None = None
    draws: list[Any] | None = None
    returns: Object | None = None
    talk: list[Any] | None = None
    game_details: Object | None = None
    draw_seed: Text | None = None
    faults: Object | None = None
    provenance: Object | None = None
    draw_commitment: Text | None = None
    draw_share: Text | None = None
    share_commitment: Text | None = None
    signatures: Object | None = None


class Result(Part, kw_only=True, frozen=True):
    winner: Text | None
    score: dict[str, Int32]
    details: Annotated[ResultDetails | None, NEEDED] = None


class QueryParams(Part, kw_only=True, frozen=True):
    player_id: Text | None = None
    round_id: Ordinal | None = None
    match_id: Text | None = None


class Head(Part, kw_only=True, frozen=True):
    """The end of the manager's journal when a message left: whoever kept it can tell if the journal is rewritten."""

    seq: Count
    digest: Text


class QueryError(Part, kw_only=True, frozen=True):
    error_code: ErrorCode
    error_name: Annotated[Text | None, SAID] = None
    error_description: Annotated[str | None, SAID] = None
    rpc_code: Int32 | None = None


class RetryInfo(Part, kw_only=True, frozen=True):
    retry_count: Count | None = None
    max_retries: Count | None = None
    next_retry_at: Timestamp | None = None
    time_remaining: Seconds | None = None
