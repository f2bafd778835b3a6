"""The player as a pure machine: a member of a league that plays (playing.py), listens, asks the manager, remembers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from league.events import AgentState, DeviationRecorded, Enrolled, Event, LeagueEnded, RoundTold
from league.machine import (
    Ask,
    Chance,
    Content,
    Information,
    Inquiry,
    Letter,
    Outgoing,
    Ping,
    Pong,
    Refusal,
    Step,
    Undelivered,
)
from league.player.credentials import Speaker, name_of
from league.player.history import Rows
from league.player.membership import LONGEST_NAME
from league.player.memory import Failed, Phase
from league.player.playing import Playing, StrategyFailed
from league.player.queries import Queries, QueryAnswer
from league.player.questions import Call, options_of, seconds_of
from league.player.strategies import CHANCE_BYTES, Turn
from league.protocol.envelope import Profile, Unsealed, seal
from league.protocol.errors import PeerError
from league.protocol.messages import (
    ChooseParityCall,
    GameError,
    GameInvitation,
    GameMoveCall,
    GameOver,
    LeagueCompleted,
    LeagueCompletedAck,
    LeagueQuery,
    LeagueStandingsUpdate,
    Message,
    RoundAnnouncement,
    RoundAnnouncementAck,
    RoundCompleted,
    RoundCompletedAck,
    StandingsUpdateAck,
)
from league.protocol.parts import Object, PlayerMeta, QueryParams

__all__ = ["Competitor", "StrategyFailed"]

REFEREE_LIMIT: Final = 10_240
"""Only the manager's messages may be larger (R-24): what referees say is kept for long."""
FROM_REFEREES: Final = (GameInvitation, ChooseParityCall, GameMoveCall, GameOver, GameError)

TAKE_UP_S: Final = 60.0
"""Not more often than this we show the manager which token we go by."""
RECORD: Final = ("wins", "losses", "draws", "points")

Broadcast = RoundAnnouncement | RoundCompleted | LeagueStandingsUpdate | LeagueCompleted
Handler = Callable[[Letter, Any, float], None]


class Competitor(Playing):
    """A player of one league."""

    def __init__(
        self,
        meta: PlayerMeta,
        manager_endpoint: str,
        chance: Chance,
        secrets: Mapping[str, str] | None = None,
        profile: Profile = "compat",
        wished_id: str = "",
    ) -> None:
        super().__init__(meta, manager_endpoint, chance, secrets, profile, wished_id)
        self._queries = Queries(self._to_manager)
        self._next_take_up = -math.inf
        self._announcement: RoundAnnouncement | None = None
        self._standings: LeagueStandingsUpdate | None = None
        self._handlers: Mapping[type[Message], Handler] = {
            GameInvitation: self._invited,
            ChooseParityCall: self._called,
            GameMoveCall: self._called,
            GameError: self._game_error,
            GameOver: self._game_over,
            RoundAnnouncement: self._round_announced,
            LeagueStandingsUpdate: self._standings_updated,
            RoundCompleted: self._round_completed,
            LeagueCompleted: self._league_completed,
        }

    # --- what it is ---------------------------------------------------------------------------------------------------

    @property
    def agent_id(self) -> str:
        """The id the manager gave us; empty before."""
        return self._enrolment.agent_id

    @property
    def display_name(self) -> str:
        """The name we register under."""
        return self._enrolment.meta.display_name

    @property
    def rejected(self) -> Refusal | None:
        """Why the manager does not want us, if it said so for good."""
        return self._enrolment.rejected

    @property
    def pending(self) -> Refusal | None:
        """What the manager says while its operator has not approved us."""
        return self._enrolment.pending

    @property
    def trouble(self) -> str:
        """Why we are no member yet, as far as something is wrong."""
        return self._enrolment.trouble

    @property
    def lifecycle(self) -> AgentState:
        """Where we are in the life of every agent."""
        return self._memory.state

    @property
    def phase(self) -> Phase:
        """Where we are in the documents' own words for players (R-47)."""
        match = self._memory.playing
        # A later turn than the one we answered is being thought about.
        thinking = match is not None and self._questions.about(match) is not None
        return "IN_MATCH" if thinking and self._memory.state == "ACTIVE" else self._memory.phase

    @property
    def history(self) -> Rows:
        """The matches we played, the newest last."""
        return self._memory.history.rows()

    @property
    def failures(self) -> tuple[Failed, ...]:
        """The last questions our strategy had no answer to."""
        return tuple(self._memory.failures)

    @property
    def standings(self) -> LeagueStandingsUpdate | None:
        """The newest table we were told."""
        return self._standings

    @property
    def announcement(self) -> RoundAnnouncement | None:
        """The newest round we were told of."""
        return self._announcement

    @property
    def query_answers(self) -> tuple[QueryAnswer, ...]:
        """What became of the last queries."""
        return tuple(self._queries.answers)

    def turn(self, ask: Ask) -> Turn:
        """What the strategy may know when it answers this."""
        call = ask.call
        assert isinstance(call, ChooseParityCall | GameMoveCall)
        match = self._memory.matches.by(call.match_id, name_of(call.sender))
        view, record, number = _shown(call)
        return Turn(
            game_type=call.game_type,
            match_id=call.match_id,
            opponent_id=match.opponent_id if match else "",
            options=options_of(call),
            chance=self._chance(CHANCE_BYTES),
            number=number,
            view=view,
            record=record,
            history=self.history,
            seconds=seconds_of(call),
            call=call,
        )

    # --- a machine ----------------------------------------------------------------------------------------------------

    def apply(self, event: Event) -> None:
        if isinstance(event, Enrolled | DeviationRecorded):
            self._enrolment.apply(event)
        self._memory.apply(event)

    def snapshot(self) -> Mapping[str, Any]:
        return {"enrolment": self._enrolment.snapshot(), **self._memory.snapshot()}

    def resume(self, now: float) -> Step:
        self._begin()
        if not self._is_over:
            self._enrolment.resume(now)
        return self._finish()

    def undelivered(self, failed: Undelivered, now: float) -> Step:
        self._begin()
        if self._enrolment.owns(failed.key):
            self._enrolment.failed(failed, now)
        else:
            self._queries.undelivered(failed, now)
        return self._finish()

    @property
    def deadline(self) -> float | None:
        registering = None if self._is_over else self._enrolment.deadline
        times = [at for at in (registering, self._queries.deadline) if at is not None]
        return min(times, default=None)

    def tick(self, now: float) -> Step:
        self._begin()
        if not self._is_over:
            self._enrolment.tick(now)
        for outgoing in self._queries.due(now):
            self._send(outgoing)
        return self._finish()

    @property
    def _is_over(self) -> bool:
        return self._memory.state == "SHUTDOWN"

    def handle(self, letter: Letter, now: float) -> Step:
        self._begin()
        content = letter.content
        if letter.answers is not None:
            self._answered_by_manager(letter.answers, letter, now)
        elif isinstance(content, Ping):
            self._reply(letter, Pong())
        elif isinstance(content, Unsealed):
            self._requested(letter, content, now)
        else:
            self._reply(letter, self._inform(content))
        return self._finish()

    def _inform(self, asked: Content) -> Information | PeerError:
        """`get_player_state`: where we are, in the documents' words (R-47)."""
        if not isinstance(asked, Inquiry):
            return PeerError("E036", "a player takes no orders")
        meant = asked.params.get("player_id", self.agent_id)
        if meant != self.agent_id:
            return PeerError("E005", f"{str(meant)[:LONGEST_NAME]!r} is not here")
        return Information(
            {
                "player_id": self.agent_id or None,
                "display_name": self.display_name,
                "state": self.phase,
                "lifecycle": self.lifecycle,
                "matches_played": len(self.history),
            }
        )

    def _answered_by_manager(self, key: str, letter: Letter, now: float) -> None:
        if self._enrolment.owns(key):
            self._enrolment.answered(letter, now)
        elif self._queries.answered(key, letter.content, now):
            if isinstance(letter.content, Refusal):
                self._enrolment.refused(letter.content.code, now)
            else:
                self._enrolment.accepted()

    def _requested(self, letter: Letter, content: Unsealed, now: float) -> None:
        try:
            message = content.open()
            handler = self._handlers.get(type(message))
            if handler is None:
                raise PeerError("E036", f"{message.type} is not for players")
            if isinstance(message, FROM_REFEREES) and len(msgspec.json.encode(message)) > REFEREE_LIMIT:
                raise PeerError("E037", f"more than {REFEREE_LIMIT} bytes")
            for deviation in content.deviations:
                self._record(name_of(getattr(message, "sender", None)), deviation, now)
            handler(letter, message, now)
        except PeerError as error:
            self._reply(letter, error, content.message_type)

    # --- what the manager tells ---------------------------------------------------------------------------------------

    def _round_announced(self, letter: Letter, message: RoundAnnouncement, now: float) -> None:
        speaker = self._from_manager(message, now)
        if message.round_id >= self._memory.announced:
            self._announcement = message
        if message.round_id > self._memory.announced:
            self._happened(RoundTold(at=now, round_id=message.round_id, completed=False))
        fields = self._acknowledging(message, speaker, now)
        self._reply(letter, RoundAnnouncementAck(**fields, round_id=message.round_id))

    def _round_completed(self, letter: Letter, message: RoundCompleted, now: float) -> None:
        speaker = self._from_manager(message, now)
        if message.round_id > self._memory.completed:
            self._happened(RoundTold(at=now, round_id=message.round_id, completed=True))
        fields = self._acknowledging(message, speaker, now)
        self._reply(letter, RoundCompletedAck(**fields, round_id=message.round_id))

    def _standings_updated(self, letter: Letter, message: LeagueStandingsUpdate, now: float) -> None:
        speaker = self._from_manager(message, now)
        known = self._standings.version if self._standings else None
        if known is None or message.version is None or message.version > known:
            self._standings = message
        fields = self._acknowledging(message, speaker, now)
        self._reply(letter, StandingsUpdateAck(**fields, round_id=message.round_id))

    def _league_completed(self, letter: Letter, message: LeagueCompleted, now: float) -> None:
        # The end is final, so whoever says it must be the manager wherever that can be known.
        speaker = self._from_manager(message, now, must=True)
        if self._memory.state not in ("INIT", "SHUTDOWN"):
            for question in self._questions.all():
                self._drop(question.match, PeerError("E031", "the league is over"))
            self._happened(LeagueEnded(at=now, champion=message.champion.player_id))
        self._reply(letter, LeagueCompletedAck(**self._acknowledging(message, speaker, now)))

    def _from_manager(self, message: Broadcast, now: float, must: bool = False) -> Speaker:
        if not self._credentials.recognise(message.sender, message.auth_token).trusted:
            self._take_up_token(now)
        speaker = self._recognise(message, now, must=must)
        self._check_league(message.league_id)
        return speaker

    def _take_up_token(self, now: float) -> None:
        """A registration that was delivered twice leaves the manager with a newer token than ours. Any request shows it
        which one we go by (R-36)."""
        if now >= self._next_take_up:
            self._next_take_up = now + TAKE_UP_S
            self._send(self._queries.ask(*self._query("GET_STATUS", QueryParams(), now), now, wanted=False))

    # --- what we ask the manager --------------------------------------------------------------------------------------

    def query(self, query_type: str, params: Mapping[str, Any] | None, now: float) -> Step:
        """Ask the manager. What becomes of it will be in `query_answers`, under the key of the call up to its last
        part."""
        self._begin()
        name, message = self._query(query_type, QueryParams(**(params or {})), now)
        if self._enrolment.is_enrolled:
            self._send(self._queries.ask(name, message, now))
        else:
            self._queries.give_up(name, query_type, "E023", "we are not registered yet")
        return self._finish()

    def _query(self, query_type: str, params: QueryParams, now: float) -> tuple[str, LeagueQuery]:
        name = self._queries.next_name()
        message = LeagueQuery(
            **seal(self._enrolment.sender, now, f"conv-{self.agent_id}-{name}".lower().replace("/", "-")),
            league_id=self._enrolment.league_id or (self._announcement.league_id if self._announcement else ""),
            query_type=query_type,
            query_params=params,
        )
        return name, message

    def _to_manager(self, key: str, message: LeagueQuery, deadline: float) -> Outgoing:
        return Outgoing(key, (self._enrolment.manager,), message, deadline)


def _shown(call: Call) -> tuple[Object, dict[str, int], int]:
    """What a call shows of the game, of our record, and its number among the match's calls."""
    if isinstance(call, GameMoveCall):
        context = call.move_request.context
        number = context.get("turn")
        return context, _record(context.get("your_standings")), number if type(number) is int else 1
    context = msgspec.to_builtins(call.context) if call.context else {}
    return context, _record(context.get("your_standings")), 1


def _record(standings: object) -> dict[str, int]:
    given = standings if isinstance(standings, dict) else {}
    return {name: given[name] for name in RECORD if isinstance(given.get(name), int)}
