"""A player and its manager: the rounds, the standings and the end of the league, as the manager announces them, and the
player's own queries (LEAGUE_QUERY). Queries do not survive a crash: the player's code asks again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Protocol, TypeVar

from msgspec import Struct, structs

from league.calling.delivery import (
    Delivery,
    Ending,
    FailedAttempt,
    Interpretation,
    Policy,
    Reaction,
)
from league.events import AnnouncedReferee, LeagueEnded, RoundAnnounced, RoundEnded
from league.machine import Content, Failure, Letter, Refusal
from league.player.news import error_in, result_in, round_in, standings_in
from league.player.player_context import NO_CONVERSATION, NO_MATCH, PlayerContext
from league.player.playing.credentials import SenderIdentity
from league.protocol import timestamps
from league.protocol.errors import ERRORS, PeerError, Retry, Violation
from league.protocol.message.envelope import Unsealed
from league.protocol.message.exchanges import EXCHANGES
from league.protocol.message.messages import (
    LeagueCompleted,
    LeagueCompletedAck,
    LeagueErrorAck,
    LeagueErrorReply,
    LeagueQuery,
    LeagueQueryResponse,
    LeagueStandingsUpdate,
    RoundAnnouncement,
    RoundAnnouncementAck,
    RoundCompleted,
    RoundCompletedAck,
    StandingsUpdateAck,
)
from league.protocol.message.parts import Head, QueryParams
from league.protocol.signing import tokens
from league.protocol.signing.keys import is_signed
from league.protocol.versions import PROTOCOL

POLICY: Final = Policy(
    EXCHANGES["LEAGUE_QUERY"].limit_s,
    EXCHANGES["LEAGUE_QUERY"].retries,
    if_not_understood=Reaction.FAILED,
)

RoundNotification = RoundAnnouncement | RoundCompleted | LeagueStandingsUpdate
Notification = RoundNotification | LeagueCompleted
RoundAck = TypeVar("RoundAck", RoundAnnouncementAck, RoundCompletedAck, StandingsUpdateAck)


class QueryAnswer(Struct, frozen=True):
    """The end of a query: the manager's response, or the error code it ended with."""

    key: str
    query_type: str
    response: LeagueQueryResponse | None
    error: str | None = None
    detail: str = ""


class ManagerQueries:
    """The queries to the manager. Each ends with exactly one QueryAnswer."""

    def __init__(self, context: PlayerContext) -> None:
        self.announced_league = ""
        """The league of the newest round: third-party managers may not name it earlier."""
        self._context = context
        self._membership = context.membership
        self._count = 0
        self._open_for_us = 0

    @property
    def is_asking(self) -> bool:
        """True while a question of our own has no answer. A player stays until then."""
        return self._open_for_us > 0

    def ask(self, key: str, query_type: str, params: QueryParams, now: float) -> None:
        """Ask the manager; the QueryAnswer will have this key."""

        def tell(
            response: LeagueQueryResponse | None,
            error: str | None = None,
            detail: str = "",
        ) -> None:
            self._context.tell(QueryAnswer(key, query_type, response, error, detail))

        if not self._membership.is_registered:
            tell(None, "E023", "we are not registered yet")
            return
        query = self._query(query_type, params, now)
        query.on_end = lambda query, outcome, _: _ended(query, outcome, tell)
        query.on_attempt_failed = lambda query, failed, _: _attempt_failed(query, failed, tell)
        self._context.calls.deliver([query], now)

    def ask_for_us(
        self,
        query_type: str,
        params: QueryParams,
        now: float,
        then: Callable[[QueryAnswer, float], None] = lambda *_: None,
    ) -> None:
        """Ask the manager for our own purposes: the player's code is not told of it."""

        def ended(query: Delivery, outcome: Ending, later: float) -> None:
            self._open_for_us -= 1
            if outcome is Ending.ANSWERED:
                then(QueryAnswer("", query_type, _response_in(query.answer)), later)

        query = self._query(query_type, params, now)
        query.on_end = ended
        self._open_for_us += 1
        self._context.calls.deliver([query], now)

    def _query(self, query_type: str, params: QueryParams, now: float) -> Delivery:
        self._count += 1
        membership = self._membership
        conversation_id = f"conv-{membership.agent_id}-query-{self._count}".lower()
        message = LeagueQuery(
            **membership.sealed(now, conversation_id),
            league_id=membership.league_id or self.announced_league,
            query_type=query_type,
            query_params=params,
        )
        return Delivery(
            tokens.MANAGER,
            f"query/{self._count}",
            message,
            POLICY,
            address=lambda: membership.manager,
            interpret=self._interpret,
        )

    def _interpret(self, _: Delivery, content: Content, now: float) -> Interpretation:
        registration = self._membership.registration
        if isinstance(content, Refusal):
            if not self._context.memory.is_over:
                registration.request_refused(content.code, now)
            # Another attempt may help: later, or with the token of a new registration.
            if content.code == "E012" or ERRORS[content.code].retry in (
                Retry.YES,
                Retry.LATER,
            ):
                return Interpretation(Reaction.FAILED, content.detail)
            return Interpretation(Reaction.REFUSED, content.detail)
        registration.request_accepted()
        if _response_in(content):
            return Interpretation(Reaction.ANSWERED)
        return Interpretation(Reaction.REFUSED)


class _Tell(Protocol):
    """Tells the player's code how its query ended."""

    def __call__(
        self,
        response: LeagueQueryResponse | None,
        error: str | None = None,
        detail: str = "",
    ) -> None: ...


def _attempt_failed(query: Delivery, failed: FailedAttempt, tell: _Tell) -> None:
    if failed.retry_at is not None:
        return
    if failed.failure is Failure.ERROR:
        tell(None, *_error_in(query.answer))
    elif failed.failure is Failure.TIMEOUT:
        tell(None, "E001", ERRORS["E001"].when)
    else:
        tell(None, "E009", ERRORS["E009"].when)


def _ended(query: Delivery, outcome: Ending, tell: _Tell) -> None:
    if outcome is Ending.ANSWERED:
        tell(_response_in(query.answer))
    elif outcome is Ending.REFUSED:
        tell(None, *_error_in(query.answer))


def _response_in(content: Content | None) -> LeagueQueryResponse | None:
    if isinstance(content, Unsealed) and isinstance(content.message, LeagueQueryResponse):
        return content.message
    return None


def _error_in(content: Content | None) -> tuple[str, str]:
    """Return the error code and the sentence of an answer that is not a response."""
    if isinstance(content, Refusal):
        return content.code, content.detail
    if isinstance(content, Unsealed) and content.violations:
        violation = content.violations[0]
        return violation.code, violation.detail
    return "E038", "the answer is no LEAGUE_QUERY_RESPONSE"


def _fields_of(head: Head | None) -> dict[str, Any]:
    """Return the head of the manager's journal as events have it (Any: spread into one)."""
    if head is None:
        return {}
    return {"head_seq": head.seq, "head_digest": head.digest}


class ManagerMessages:
    """Follows the league; every notification is acknowledged."""

    def __init__(self, context: PlayerContext, queries: ManagerQueries) -> None:
        self.announcement: RoundAnnouncement | None = None
        self.standings: LeagueStandingsUpdate | None = None
        self.on_ended: Callable[[LeagueEnded, float], None] = lambda *_: None
        self.on_round_ended: Callable[[LeagueStandingsUpdate | None, float], None] = lambda *_: None
        """Called with the newest table, of this round or an earlier one."""
        self._context = context
        self._memory = context.memory
        self._queries = queries

    def forget_league(self) -> None:
        """Forget what the manager said: we are in another league."""
        self.announcement = None
        self.standings = None
        self._queries.announced_league = ""

    def announced_game(self, match_id: str) -> str | None:
        """Return the game of a match of the last announcement."""
        matches = self.announcement.matches if self.announcement else ()
        return next((match.game_type for match in matches if match.match_id == match_id), None)

    # --- rounds -------------------------------------------------------------------------------------------------------

    def round_announced(self, letter: Letter, message: RoundAnnouncement, now: float) -> None:
        """Handle ROUND_ANNOUNCEMENT."""
        context = self._context
        sender = self._identify(message, now)
        if not context.membership.is_registered:
            raise PeerError("E005", "this player is not registered")
        if message.round_id >= self._memory.announced_round:
            is_repeated = self.announcement is not None and self.announcement.matches == message.matches
            self.announcement = message
            self._queries.announced_league = message.league_id
            if not is_repeated:
                context.tell(round_in(message, context.membership.agent_id))
        referees = self._new_referees(message) if sender.trusted else {}
        # A round that is announced again tells us nothing, unless it names other referees.
        if message.round_id > self._memory.announced_round or referees:
            context.happened(RoundAnnounced(at=now, round_id=message.round_id, referees=referees))
        context.reply(
            letter,
            self._acknowledgement(RoundAnnouncementAck, message, sender, now),
        )

    def _new_referees(self, message: RoundAnnouncement) -> dict[str, AnnouncedReferee]:
        """Return the referees of our matches in this round that are not known yet."""
        player_id = self._context.membership.agent_id
        # A manager that proved who it is may name another referee later.
        may_change = self._context.membership.agreement.derived_tokens
        referees = {}
        for match in message.matches:
            if match.player_A_id == player_id or match.player_B_id == player_id:
                digests = None if match.referee_tokens is None else tuple(match.referee_tokens)
                promise = match.share_commitment or ""
                referee = AnnouncedReferee(match.referee_endpoint, digests, match.attempt or 0, promise)
                earlier = self._memory.referees.get(match.match_id)
                if earlier is None or (may_change and earlier != referee):
                    referees[match.match_id] = referee
        return referees

    def round_completed(self, letter: Letter, message: RoundCompleted, now: float) -> None:
        """Handle ROUND_COMPLETED."""
        context = self._context
        sender = self._identify(message, now)
        if message.round_id > self._memory.ended_round:
            table = self.standings
            head = table.head if table is not None and table.round_id == message.round_id else None
            signed = self._signed(message, now)
            context.happened(RoundEnded(at=now, round_id=message.round_id, **_fields_of(head), **signed))
            self.on_round_ended(table, now)
        context.reply(letter, self._acknowledgement(RoundCompletedAck, message, sender, now))

    def _signed(self, message: RoundCompleted | LeagueCompleted, now: float) -> dict[str, Any]:
        """Return the manager's statement to be kept, as events have it (Any: spread into one); nothing if it is not
        signed with the key that the manager named when we registered."""
        membership = self._context.membership
        if not membership.manager_key or message.statement is None:
            return {}
        is_of_league = message.statement.get("league_id") == membership.league_id
        if is_of_league and is_signed(message.signature, membership.manager_key, message.statement):
            return {"statement": message.statement, "signature": message.signature}
        detail = f"the statement is not signed with the manager's key {membership.manager_key}"
        membership.record([Violation("E008", "signature", detail, f"{message.type}.signature")], now)
        return {}

    def standings_updated(self, letter: Letter, message: LeagueStandingsUpdate, now: float) -> None:
        """Handle LEAGUE_STANDINGS_UPDATE."""
        context = self._context
        sender = self._identify(message, now)
        newest = self.standings.version if self.standings else None
        # Tables may overtake each other. Without versions, the last to arrive counts.
        if newest is None or message.version is None or message.version > newest:
            self.standings = message
            context.tell(standings_in(message, context.membership.agent_id))
        context.reply(letter, self._acknowledgement(StandingsUpdateAck, message, sender, now))

    def _acknowledgement(
        self,
        kind: type[RoundAck],
        message: RoundNotification,
        sender: SenderIdentity,
        now: float,
    ) -> RoundAck:
        membership = self._context.membership
        return kind(
            protocol=PROTOCOL,
            sender=membership.sender,
            timestamp=timestamps.write(now),
            conversation_id=message.conversation_id or NO_CONVERSATION,
            auth_token=self._context.token_for(sender),
            status="ACKNOWLEDGED",
            player_id=membership.agent_id or None,
            round_id=message.round_id,
        )

    # --- the end, and errors ------------------------------------------------------------------------------------------

    def league_completed(self, letter: Letter, message: LeagueCompleted, now: float) -> None:
        """Handle LEAGUE_COMPLETED."""
        sender = self._identify(message, now)
        fields = self._context.acknowledgement(message, sender, now)
        # A player that never was a member has no league that could end.
        if self._memory.state != "INIT":
            self._end(message, now)
        self._context.reply(letter, LeagueCompletedAck(**fields))

    def _end(self, message: LeagueCompleted, now: float) -> None:
        """End the league; it may end once more, with another table, after a match was played again."""
        memory = self._memory
        result = result_in(message, self._context.membership.agent_id)
        event = LeagueEnded(
            at=now,
            champion=result.champion_id,
            players=len(result.table),
            **_fields_of(message.head),
            **self._signed(message, now),
        )
        row = result.mine
        if row is not None:
            event = structs.replace(
                event,
                rank=row.rank,
                points=row.points,
                played=row.played,
                wins=row.wins,
                draws=row.draws,
                losses=row.losses,
            )
        end = memory.end
        if memory.is_over and end is not None and structs.replace(event, at=end.at) == end:
            return
        self.on_ended(event, now)
        self._context.tell(result)

    def erred(self, letter: Letter, error: LeagueErrorReply, now: float) -> None:
        """Handle LEAGUE_ERROR as a message of its own: show it to the player's code, and do nothing else."""
        context = self._context
        sender = context.credentials.identify((error.sender, error.auth_token, *NO_MATCH))
        context.check_token(sender, error, now, must_prove=context.membership.agreement.derived_tokens)
        context.tell(error_in(error, sender.trusted))
        context.reply(letter, LeagueErrorAck(**context.acknowledgement(error, sender, now)))

    def _identify(self, message: Notification, now: float) -> SenderIdentity:
        """Identify the sender of what only our manager says, about our league.

        A manager that derives tokens shows one with everything it says, so anybody else is refused in every profile.
        """
        context = self._context
        sender = context.credentials.identify((message.sender, message.auth_token, *NO_MATCH))
        if not sender.trusted:
            # Perhaps the manager goes by another token of ours than we do.
            context.show_token(now)
            context.check_token(sender, message, now, must_prove=context.membership.agreement.derived_tokens)
        if message.league_id != context.membership.league_id:
            context.check_league(message.league_id)
        return sender
