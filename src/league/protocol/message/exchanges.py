"""The table of exchanges (spec section 6): each message, its sender, receiver and reply, its limit and its retries.

Theory of operation. An exchange is one message and its reply: the sender makes a JSON-RPC call, and the reply is the
result. Each message that opens an exchange has one row here, and everything about how it is sent follows from that row:
its method names, the seconds its sender waits, what happens without an answer, whether it carries a token, and the
family of its error numbers. The calling engine, the readers, the conformance kit and the specification all read this
table; nobody states these facts a second time.

Times come from the documents (R-16, R-18, R-54). A league may change only the time for a move.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from league.protocol.errors import Family
from league.protocol.table_key import TableKey


class Role(TableKey):
    """The three kinds of agents, by the first word of their `sender`."""

    MANAGER = "league_manager"
    REFEREE = "referee"
    PLAYER = "player"


class RetrySchedule(Struct, frozen=True):
    """What happens without an answer: the pauses before the next attempts."""

    delays_s: tuple[float, ...] = ()
    then_every_s: tuple[float, ...] = ()
    """The pauses after those; the last one repeats forever. Empty: there are no more attempts."""
    early_refusals: int = 0
    """The number of refused connections that are tried again at the first pause: nobody was asked."""
    refused_only: bool = False
    """Retry only if the connection was refused."""

    def delay_before(self, retry: int, is_refused: bool = False) -> float | None:
        """The pause before a retry (the first is 1); None when there is no such retry."""
        if is_refused and retry <= self.early_refusals:
            retry = 1
        if retry <= len(self.delays_s):
            return self.delays_s[retry - 1]
        if not self.then_every_s:
            return None
        later_retry = retry - len(self.delays_s)
        return self.then_every_s[min(later_retry, len(self.then_every_s)) - 1]


THREE = (2.0, 2.0, 2.0)
ONCE = RetrySchedule()
RETRIED = RetrySchedule(THREE)
UNTIL_ANSWERED = RetrySchedule(then_every_s=(2.0, 4.0, 8.0, 16.0, 30.0), early_refusals=30)
UNTIL_ACKNOWLEDGED = RetrySchedule(THREE, then_every_s=(4.0, 8.0, 16.0, 30.0))
IF_REFUSED = RetrySchedule(THREE, refused_only=True)


class Exchange(Struct, frozen=True):
    """One row: a message, its replies, its names as a JSON-RPC method, its limit and its retries."""

    message_type: str
    senders: tuple[Role, ...]
    receivers: tuple[Role, ...]
    replies: tuple[str, ...]
    method: str
    family: Family
    limit_s: float = 10.0
    retries: RetrySchedule = ONCE
    token: bool = True
    other_methods: tuple[str, ...] = ()


_LM = (Role.MANAGER,)
_REF = (Role.REFEREE,)
_PL = (Role.PLAYER,)
_MEMBERS = _PL + _REF

# In the order of the specification's table, which is generated from these rows.
_ROWS = (
    Exchange("REFEREE_REGISTER_REQUEST", _REF, _LM, ("REFEREE_REGISTER_RESPONSE",), "register_referee",
             Family.REFEREE_REGISTRATION, retries=UNTIL_ANSWERED, token=False),
    Exchange("LEAGUE_REGISTER_REQUEST", _PL, _LM, ("LEAGUE_REGISTER_RESPONSE",), "register_player",
             Family.PLAYER_REGISTRATION, retries=UNTIL_ANSWERED, token=False),
    Exchange("ROUND_ANNOUNCEMENT", _LM, _MEMBERS, ("ROUND_ANNOUNCEMENT_ACK",), "notify_round",
             Family.NOTIFICATION, retries=RETRIED),
    Exchange("LEAGUE_STANDINGS_UPDATE", _LM, _MEMBERS, ("STANDINGS_UPDATE_ACK",), "update_standings",
             Family.NOTIFICATION),
    Exchange("ROUND_COMPLETED", _LM, _MEMBERS, ("ROUND_COMPLETED_ACK",), "notify_round_completed",
             Family.NOTIFICATION, retries=RETRIED),
    Exchange("LEAGUE_COMPLETED", _LM, _MEMBERS, ("LEAGUE_COMPLETED_ACK",), "notify_league_completed",
             Family.NOTIFICATION, retries=IF_REFUSED),
    Exchange("GAME_INVITATION", _REF, _PL, ("GAME_JOIN_ACK",), "handle_game_invitation", Family.MATCH,
             limit_s=5.0, retries=RETRIED),
    Exchange("CHOOSE_PARITY_CALL", _REF, _PL, ("CHOOSE_PARITY_RESPONSE",), "parity_choose", Family.MATCH,
             limit_s=30.0, retries=RETRIED, other_methods=("choose_parity",)),
    Exchange("GAME_MOVE_CALL", _REF, _PL, ("GAME_MOVE_RESPONSE",), "choose_move", Family.MATCH,
             limit_s=30.0, retries=RETRIED),
    Exchange("GAME_OVER", _REF, _PL, ("GAME_OVER_ACK",), "notify_match_result", Family.MATCH, limit_s=5.0),
    Exchange("GAME_ERROR", _REF, _PL, ("GAME_ERROR_ACK",), "notify_game_error", Family.MATCH),
    Exchange("LEAGUE_ERROR", _LM, _MEMBERS, ("LEAGUE_ERROR_ACK",), "notify_league_error", Family.NOTIFICATION),
    Exchange("MATCH_RESULT_REPORT", _REF, _LM, ("MATCH_RESULT_ACK",), "report_match_result", Family.REPORT,
             retries=UNTIL_ACKNOWLEDGED),
    Exchange("MATCH_TROUBLE", _REF, _LM, ("MATCH_TROUBLE_RESPONSE",), "report_match_trouble", Family.REPORT,
             limit_s=15.0, retries=UNTIL_ACKNOWLEDGED),
    Exchange("DRAW_REQUEST", _REF, _LM, ("DRAW_RESPONSE",), "request_draw", Family.REPORT,
             retries=UNTIL_ACKNOWLEDGED),
    Exchange("LEAGUE_QUERY", _MEMBERS, _LM, ("LEAGUE_QUERY_RESPONSE",), "league_query",
             Family.QUERY, retries=RETRIED),
)  # fmt: skip

EXCHANGES: Mapping[str, Exchange] = {row.message_type: row for row in _ROWS}

_SPEAKERS: Mapping[str, tuple[Role, ...]] = {
    "REFEREE_REGISTER_RESPONSE": _LM,
    "LEAGUE_REGISTER_RESPONSE": _LM,
    "GAME_JOIN_ACK": _PL,
    "CHOOSE_PARITY_RESPONSE": _PL,
    "GAME_MOVE_RESPONSE": _PL,
    "LEAGUE_QUERY_RESPONSE": _LM,
    "MATCH_RESULT_ACK": _LM,
    "MATCH_TROUBLE_RESPONSE": _LM,
    "DRAW_RESPONSE": _LM,
    "GAME_OVER_ACK": _PL,
    "GAME_ERROR_ACK": _PL,
}
"""The senders of replies, except for those that both players and referees send."""

REPLY_TYPES = ("GAME_JOIN_ACK", "CHOOSE_PARITY_RESPONSE", "GAME_MOVE_RESPONSE")
"""Replies that may also arrive as a POST of their own (R-02)."""


def speakers(message_type: str) -> tuple[Role, ...]:
    """The roles that may send this; acknowledgements of notifications come from players and referees."""
    row = EXCHANGES.get(message_type)
    if row:
        return row.senders
    return _SPEAKERS.get(message_type, _MEMBERS)


def family_of(message_type: str | None) -> Family:
    """The family of an error about this message; an unknown message counts as a notification."""
    if message_type in REPLY_TYPES:
        return Family.MATCH
    row = EXCHANGES.get(message_type or "")
    return row.family if row else Family.NOTIFICATION


METHODS: Mapping[str, str] = {
    **{name: row.message_type for row in _ROWS for name in (row.method, *row.other_methods)},
    **{row.message_type.lower(): row.message_type for row in _ROWS},
    **{name.lower(): name for name in REPLY_TYPES},
}
"""The message type of each JSON-RPC method, which is in lower case here (R-01)."""
_TYPES = frozenset(EXCHANGES) | frozenset(REPLY_TYPES)


def message_type_of(method: str) -> str | None:
    """The message type that a method stands for; None for an unknown method.

    A verb must be spelled exactly; a message type may be written in any case.
    """
    message_type = METHODS.get(method)
    if message_type is not None:
        return message_type
    lower = method.lower()
    # METHODS also contains verbs, which have no other spelling.
    if lower.upper() not in _TYPES:
        return None
    return METHODS.get(lower)
