"""A player and its manager: rounds, standings and the end of the league as the manager tells them, and what the player
asks it (LEAGUE_QUERY). Of queries nothing survives a crash: whoever asked asks again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol, TypeVar

from league.calling.delivery import Delivery, Ending, FailedAttempt, Interpretation, Policy, Reaction
from league.events import AnnouncedReferee, LeagueEnded, RoundAnnounced, RoundEnded
from league.machine import Content, Failure, Letter, Refusal
from league.player.context import NO_CONVERSATION, NO_MATCH, PlayerContext
from league.player.credentials import SenderIdentity
from league.player.news import error_in, result_in, round_in, standings_in
from league.protocol import timestamps, tokens
from league.protocol.envelope import Unsealed
from league.protocol.errors import ERRORS, PeerError, Retry
from league.protocol.exchanges import EXCHANGES
from league.protocol.messages import (
    LeagueCompleted,
    LeagueCompletedAck,
    LeagueError,
    LeagueErrorAck,
    LeagueQuery,
    LeagueQueryResponse,
    LeagueStandingsUpdate,
    RoundAnnouncement,
    RoundAnnouncementAck,
    RoundCompleted,
    RoundCompletedAck,
    StandingsUpdateAck,
)
from league.protocol.parts import QueryParams
from league.protocol.versions import PROTOCOL

POLICY: Final = Policy(
    EXCHANGES["LEAGUE_QUERY"].limit_s, EXCHANGES["LEAGUE_QUERY"].retries, if_not_understood=Reaction.FAILED
)

RoundNotification = RoundAnnouncement | RoundCompleted | LeagueStandingsUpdate
Notification = RoundNotification | LeagueCompleted
RoundAck = TypeVar("RoundAck", RoundAnnouncementAck, RoundCompletedAck, StandingsUpdateAck)


@dataclass(frozen=True, slots=True)
class QueryAnswer:
    """What became of a query: the manager's response, or the error code it ended with."""

    key: str
    query_type: str
    response: LeagueQueryResponse | None
    error: str | None = None
    detail: str = ""


class ManagerQueries:
    """The queries to the manager; what becomes of each is told, once."""

    def __init__(self, context: PlayerContext) -> None:
        self.announced_league = ""
        """Managers by others may name the league only when they announce a round."""
        self._context = context
        self._membership = context.membership
        self._count = 0

    def ask(self, key: str, query_type: str, params: QueryParams, now: float) -> None:
        """What becomes of it will be told under this key."""

        def tell(response: LeagueQueryResponse | None, error: str | None = None, detail: str = "") -> None:
            self._context.tell(QueryAnswer(key, query_type, response, error, detail))

        if not self._membership.is_registered:
            tell(None, "E023", "we are not registered yet")
            return
        query = self._query(query_type, params, now)
        query.on_end = lambda one, outcome, _: _ended(one, outcome, tell)
        query.on_attempt_failed = lambda one, failed, _: _attempt_failed(one, failed, tell)
        self._context.calls.deliver([query], now)

    def _query(self, query_type: str, params: QueryParams, now: float) -> Delivery:
        self._count += 1
        us, label = self._membership, f"query/{self._count}"
        message = LeagueQuery(
            **us.sealed(now, f"conv-{us.agent_id}-query-{self._count}".lower()),
            league_id=us.league_id or self.announced_league,
            query_type=query_type,
            query_params=params,
        )
        return Delivery(tokens.MANAGER, label, message, POLICY, address=lambda: us.manager, interpret=self._interpret)

    def _interpret(self, _: Delivery, content: Content, now: float) -> Interpretation:
        if isinstance(content, Refusal):
            if not self._context.memory.is_over:
                self._membership.registration.request_refused(content.code, now)
            # Asking again may help: later, or with the token of a new registration.
            may_help = content.code == "E012" or ERRORS[content.code].retry in (Retry.YES, Retry.LATER)
            return Interpretation(Reaction.FAILED if may_help else Reaction.REFUSED, content.detail)
        self._membership.registration.request_accepted()
        return Interpretation(Reaction.ANSWERED if _response_in(content) else Reaction.REFUSED)


class _Told(Protocol):
    """Tells whoever asked what became of the query."""

    def __call__(self, response: LeagueQueryResponse | None, error: str | None = None, detail: str = "") -> None: ...


def _attempt_failed(query: Delivery, failed: FailedAttempt, tell: _Told) -> None:
    if failed.retry_at is not None:
        return
    if failed.failure is Failure.ERROR:
        tell(None, *_error_in(query.answer))
    else:
        code = "E001" if failed.failure is Failure.TIMEOUT else "E009"
        tell(None, code, ERRORS[code].when)


def _ended(query: Delivery, outcome: Ending, tell: _Told) -> None:
    if outcome is Ending.ANSWERED:
        tell(_response_in(query.answer))
    elif outcome is Ending.REFUSED:
        tell(None, *_error_in(query.answer))


def _response_in(content: Content | None) -> LeagueQueryResponse | None:
    message = content.message if isinstance(content, Unsealed) else None
    return message if isinstance(message, LeagueQueryResponse) else None


def _error_in(content: Content | None) -> tuple[str, str]:
    """Error code and sentence of an answer that is no response."""
    if isinstance(content, Refusal):
        return content.code, content.detail
    if isinstance(content, Unsealed) and content.violations:
        return content.violations[0].code, content.violations[0].detail
    return "E038", "the answer is no LEAGUE_QUERY_RESPONSE"


class ManagerMessages:
    """Follows the league; every notification is acknowledged."""

    def __init__(self, context: PlayerContext, queries: ManagerQueries) -> None:
        self.announcement: RoundAnnouncement | None = None
        self.standings: LeagueStandingsUpdate | None = None
        self.on_ended: Callable[[LeagueEnded, float], None] = lambda *_: None
        self._context = context
        self._memory = context.memory
        self._queries = queries

    def forget(self) -> None:
        """We are in another league."""
        self.announcement = self.standings = None
        self._queries.announced_league = ""

    def round_announced(self, letter: Letter, message: RoundAnnouncement, now: float) -> None:
        context, sender = self._context, self._identify(message, now)
        if not context.membership.is_registered:
            raise PeerError("E005", "this player is not registered")
        is_again = self.announcement is not None and self.announcement.matches == message.matches
        if message.round_id >= self._memory.announced_round:
            self.announcement = message
            self._queries.announced_league = message.league_id
            if not is_again:
                context.tell(round_in(message, context.membership.agent_id))
        referees = self._new_referees(message) if sender.trusted else {}
        if message.round_id > self._memory.announced_round or referees:
            context.happened(RoundAnnounced(at=now, round_id=message.round_id, referees=referees))
        context.reply(letter, self._acknowledgement(RoundAnnouncementAck, message, sender, now))

    def _new_referees(self, message: RoundAnnouncement) -> dict[str, AnnouncedReferee]:
        """Of our matches in it. A manager that proved who it is may name another one later."""
        us, known = self._context.membership, self._memory.referees
        me, may_change, new = us.agent_id, us.derived_tokens, {}
        for one in message.matches:
            if one.player_A_id == me or one.player_B_id == me:
                digests = None if one.referee_tokens is None else tuple(one.referee_tokens)
                named, before = AnnouncedReferee(one.referee_endpoint, digests), known.get(one.match_id)
                if before is None or (may_change and before != named):
                    new[one.match_id] = named
        return new

    def round_completed(self, letter: Letter, message: RoundCompleted, now: float) -> None:
        context, sender = self._context, self._identify(message, now)
        if message.round_id > self._memory.ended_round:
            context.happened(RoundEnded(at=now, round_id=message.round_id))
        context.reply(letter, self._acknowledgement(RoundCompletedAck, message, sender, now))

    def standings_updated(self, letter: Letter, message: LeagueStandingsUpdate, now: float) -> None:
        context, sender = self._context, self._identify(message, now)
        known = self.standings.version if self.standings else None
        if known is None or message.version is None or message.version > known:
            self.standings = message
            context.tell(standings_in(message, context.membership.agent_id))
        context.reply(letter, self._acknowledgement(StandingsUpdateAck, message, sender, now))

    def league_completed(self, letter: Letter, message: LeagueCompleted, now: float) -> None:
        # The end is final, so whoever says it must be the manager wherever that can be known.
        sender = self._identify(message, now, must_prove=True)
        fields = self._context.acknowledgement(message, sender, now)
        if self._memory.state != "INIT":
            self._end(message, now)
        self._context.reply(letter, LeagueCompletedAck(**fields))

    def _end(self, message: LeagueCompleted, now: float) -> None:
        """The league is over. It may be said again, with another table when a match was replayed."""
        memory, result = self._memory, result_in(message, self._context.membership.agent_id)
        if memory.is_over and (memory.champion, memory.final) == (result.champion_id, (result.rank, result.points)):
            return
        self.on_ended(LeagueEnded(at=now, champion=result.champion_id, rank=result.rank, points=result.points), now)
        self._context.tell(result)

    def erred(self, letter: Letter, error: LeagueError, now: float) -> None:
        """LEAGUE_ERROR as a message of its own: acknowledged and shown, and nothing else comes of it."""
        context = self._context
        sender = context.credentials.identify((error.sender, error.auth_token, *NO_MATCH))
        context.check_token(sender, error, now)
        context.tell(error_in(error, sender.trusted))
        context.reply(letter, LeagueErrorAck(**context.acknowledgement(error, sender, now)))

    def _acknowledgement(
        self, kind: type[RoundAck], message: RoundNotification, sender: SenderIdentity, now: float
    ) -> RoundAck:
        us = self._context.membership
        return kind(
            protocol=PROTOCOL,
            sender=us.sender,
            timestamp=timestamps.write(now),
            conversation_id=message.conversation_id or NO_CONVERSATION,
            auth_token=self._context.token_for(sender),
            status="ACKNOWLEDGED",
            player_id=us.agent_id or None,
            round_id=message.round_id,
        )

    def _identify(self, message: Notification, now: float, *, must_prove: bool = False) -> SenderIdentity:
        """Whoever says this as our manager, about our league."""
        context = self._context
        sender = context.credentials.identify((message.sender, message.auth_token, *NO_MATCH))
        if not sender.trusted:
            context.show_token(now)
            context.check_token(sender, message, now, must_prove=must_prove)
        if message.league_id != context.membership.league_id:
            context.check_league(message.league_id)
        return sender
