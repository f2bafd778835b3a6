"""The player as a role: it passes each request to the part that handles it.

Theory of operation. A player has five parts that share one context:

- `Membership` registers, and knows the manager and our tokens (membership.py);
- `RefereeMessages` and `Choices` play matches (playing/matches.py, playing/choices.py);
- `ManagerMessages` and `ManagerQueries` follow the league and ask the manager (league_queries.py);
- `StatusPoll` asks the manager how the league stands when nothing else happens (status_poll.py);
- `PlayerMemory` is the state that events build (memory.py, history.py).

Its life is that of every agent: INIT, REGISTERED, ACTIVE, SHUTDOWN (lifecycle.py). `Registered` ends the first state,
an announced round or an invitation the second, `LeagueEnded` the third. An invitation to play a match
again makes it ACTIVE once more, and a registration in another league begins a new life with an empty memory.

What must never happen: a change of state outside `apply`; a message by a referee that is kept without a limit on its
size; a reply that tells a stranger whether we have chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec
from msgspec import structs

from league.calling.line import Book, OpenBook
from league.events import (
    AgentState,
    ConditionsStated,
    Event,
    LeagueEnded,
    Registered,
)
from league.machine import (
    Ask,
    Chance,
    Content,
    Information,
    Inquiry,
    Letter,
    Ping,
    Pong,
    Step,
)
from league.membership import LONGEST_NAME, OF_MEMBERSHIP, EarlyLetters, MayPlay, MemberMachine, Membership
from league.player.history import PastMatches
from league.player.league_queries import ManagerMessages, ManagerQueries
from league.player.memory import FailedChoice, PlayerPhase
from league.player.missed_matches import MissedMatches
from league.player.player_context import PlayerContext, with_sender
from league.player.playing.choices import Choices, turn_for_strategy
from league.player.playing.credentials import Credentials, sender_id
from league.player.playing.matches import RefereeMessages
from league.player.strategies import Turn
from league.protocol.errors import PeerError
from league.protocol.message.envelope import Profile, Unsealed
from league.protocol.message.experiment import Conditions, said
from league.protocol.message.judge import shown
from league.protocol.message.messages import (
    ChooseParityCall,
    GameError,
    GameInvitation,
    GameMoveCall,
    GameOver,
    LeagueCompleted,
    LeagueErrorReply,
    LeagueStandingsUpdate,
    Message,
    RoundAnnouncement,
    RoundCompleted,
)
from league.protocol.message.parts import PlayerMeta, QueryParams
from league.protocol.signing.keys import SECRET_BYTES, SIGNING_SECRET, signing_key
from league.protocol.versions import is_of_kit
from league.status_poll import StatusPoll

REFEREE_LIMIT: Final = 10_240
"""Maximum size in bytes of a referee's message, which is kept for long; only the manager's may be larger (R-24)."""
FROM_REFEREES: Final = frozenset({GameInvitation, ChooseParityCall, GameMoveCall, GameOver, GameError})
_encode: Final = msgspec.json.Encoder().encode

Handler = Callable[[Letter, Any, float], None]


class Competitor(MemberMachine):
    """A player of one league. `open_book` is the gateway to third-party managers."""

    def __init__(
        self,
        meta: PlayerMeta,
        manager_endpoint: str,
        chance: Chance,
        secrets: Mapping[str, str] | None = None,
        profile: Profile = "compat",
        wished_id: str = "",
        *,
        may_play: MayPlay = lambda _: False,
        open_book: OpenBook = Book,
    ) -> None:
        super().__init__(chance, secrets)
        context = self._new_context(profile, open_book)
        self._context = context
        self._membership = Membership(meta, manager_endpoint, context, wished_id=wished_id, may_play=may_play)
        context.membership = self._membership
        context.credentials = Credentials(self._membership, self._secrets, context.memory)
        self._memory = context.memory
        self._queries = ManagerQueries(context)
        self._choices = Choices(context)
        self._status = StatusPoll(context, self._membership, self._is_idle, self._learned_end)
        context.show_token = self._status.show_token
        self._league = ManagerMessages(context, self._queries)
        self._league.on_ended = self._ended
        self._missed = MissedMatches(context, self._queries)
        self._league.on_round_ended = self._missed.look
        self._membership.registration.on_registered = self._registered
        self._membership.registration.on_new_league = self._leave_league
        self._early = EarlyLetters(self._membership, self._take)
        self._handlers = self._new_handlers()

    def _new_context(self, profile: Profile, open_book: OpenBook) -> PlayerContext:
        return PlayerContext(
            self._calls,
            self._timers,
            self._secrets,
            chance=self._chance,
            happened=self._happened,
            reply=self._reply,
            keep_secret=self._keep_secret,
            book=open_book(self._happened, lambda: profile == "strict"),
            ask=lambda question: self._step.asks.append(question),
            tell=lambda news: self._step.news.append(news),
            cancel=self._cancel,
            refuse=self._refuse,
            profile=profile,
        )

    def _new_handlers(self) -> Mapping[type[Message], Handler]:
        matches = RefereeMessages(self._context, self._choices, self._league.announced_game)
        return {
            GameInvitation: matches.invited,
            ChooseParityCall: self._choices.called,
            GameMoveCall: self._choices.called,
            GameError: matches.erred,
            GameOver: matches.ended,
            RoundAnnouncement: self._league.round_announced,
            LeagueStandingsUpdate: self._league.standings_updated,
            RoundCompleted: self._league.round_completed,
            LeagueCompleted: self._league.league_completed,
            LeagueErrorReply: self._league.erred,
        }

    def _registered(self, now: float) -> None:
        meta = self._membership.meta
        conditions = said(Conditions, meta.conditions) if isinstance(meta, PlayerMeta) else None
        if conditions:
            self._happened(
                ConditionsStated(
                    at=now,
                    agent_id=self.agent_id,
                    conditions=conditions,
                )
            )
        self._status.begin(now)

    # --- what it shows of itself --------------------------------------------------------------------------------------

    def plays_with_kit(self, match_id: str, referee_id: str) -> bool:
        """Return True if this match belongs to the conformance kit and to no league."""
        match = self._memory.matches.by(match_id, referee_id)
        return match is not None and is_of_kit(match.invitation.conversation_id)

    def is_of_league(self, match_id: str, referee_id: str) -> bool:
        """Return True if this match belongs to the league we are a member of, and not to somebody who spars with us."""
        match = self._memory.matches.by(match_id, referee_id)
        league_id = self._membership.league_id
        return bool(self.agent_id) and match is not None and match.invitation.league_id in ("", league_id)

    @property
    def is_guest(self) -> bool:
        """Return True if our manager is third-party, as far as its tokens show."""
        return not self._membership.agreement.derived_tokens

    @property
    def known_as(self) -> frozenset[str]:
        """The ids by which referees have called us."""
        return self._memory.matches.known_as

    @property
    def display_name(self) -> str:
        """The name we register with."""
        return self._membership.meta.display_name

    @property
    def games(self) -> list[str]:
        """The games that we name when we register."""
        return self._membership.meta.game_types

    @property
    def trouble(self) -> str:
        """Why we are not a member yet, or hear nothing of our league; empty if nothing is wrong."""
        return self._membership.registration.trouble or self._status.trouble

    @property
    def state(self) -> AgentState:
        """Our state in the life of every agent."""
        return self._memory.state

    @property
    def phase(self) -> PlayerPhase:
        """Our state in the documents' own words for players (R-47)."""
        match = self._memory.playing
        # The strategy may be choosing for a later turn than the one we answered.
        is_choosing = match is not None and self._choices.pending(match) is not None
        if is_choosing and self._memory.state == "ACTIVE":
            return "IN_MATCH"
        return self._memory.phase

    @property
    def _public_phase(self) -> PlayerPhase:
        """The phase that anybody may know."""
        phase = self.phase
        # Nobody may learn before the end of the match whether we have answered (S-30).
        if phase == "WAITING_FOR_RESULT":
            return "IN_MATCH"
        return phase

    @property
    def history(self) -> PastMatches:
        """The matches we played, the newest last."""
        return self._memory.history.rows()

    @property
    def failures(self) -> tuple[FailedChoice, ...]:
        """The latest choices that our strategy failed to make."""
        return tuple(self._memory.failures)

    @property
    def standings(self) -> LeagueStandingsUpdate | None:
        """The newest table the manager sent."""
        return self._league.standings

    @property
    def announcement(self) -> RoundAnnouncement | None:
        """The newest round the manager announced."""
        return self._league.announcement

    @property
    def is_asking(self) -> bool:
        """True while the manager has not answered how the league stands, or a question of our own."""
        return self._status.is_asking or self._queries.is_asking

    def turn(self, ask: Ask) -> Turn:
        """Return everything the strategy may know when it answers this question."""
        return turn_for_strategy(ask, self._context)

    # --- a machine ----------------------------------------------------------------------------------------------------

    def apply(self, event: Event) -> None:
        kind = type(event)
        if kind in OF_MEMBERSHIP:
            self._membership.apply(event)  # type: ignore[arg-type]  # it is one of these
            if kind is Registered:
                self._context.credentials.registered()
        effect = self._memory.effects.get(kind)
        if effect is not None:
            effect(event)

    def snapshot(self) -> Mapping[str, Any]:
        return {
            "membership": self._membership.snapshot(),
            **self._memory.snapshot(),
        }

    def resume(self, now: float) -> Step:
        self._step = Step()
        # It is kept with the journal. Without one that outlives the process, a player that comes back has another key:
        # it could not know what it has signed.
        if SIGNING_SECRET not in self._secrets:
            self._keep_secret(SIGNING_SECRET, self._chance(SECRET_BYTES).hex())
        self._context.signing_key = signing_key(bytes.fromhex(self._secrets[SIGNING_SECRET]))
        self._membership.meta = structs.replace(self._membership.meta, public_key=self._context.signing_key.public)
        if self._memory.is_over:
            self._status.ask(now)  # another league may have begun
        else:
            self._membership.registration.resume(now)
            self._status.begin(now)
        return self._conclude(now)

    def answered(self, key: str, value: object, now: float) -> Step:
        self._step = Step()
        self._choices.answered(key, value, now)
        return self._conclude(now)

    def query(self, key: str, query_type: str, params: Mapping[str, Any], now: float) -> Step:
        """Ask the manager. The answer comes as news: a QueryAnswer with this key."""
        self._step = Step()
        self._queries.ask(key, query_type, QueryParams(**params), now)
        return self._conclude(now)

    # --- the end of a league ------------------------------------------------------------------------------------------

    def _is_idle(self) -> bool:
        return self._memory.playing is None

    def _ended(self, event: LeagueEnded, now: float) -> None:
        """Stop everything that goes on: the league is over for us."""
        self._status.stop()
        self._choices.drop_all(
            "E031",
            "the league is over",
            but_replays=not event.withdrawn,
        )
        self._membership.registration.stop()
        self._happened(event)

    def _learned_end(self, event: LeagueEnded, now: float) -> None:
        # The manager says so each time it is asked.
        if not self._memory.is_over:
            self._ended(event, now)

    def _leave_league(self, now: float) -> None:
        """Drop what belongs to our league: the manager has begun another one."""
        self._choices.drop_all("E031", "another league has begun")
        self._league.forget_league()

    # --- requests -----------------------------------------------------------------------------------------------------

    def _requested(self, letter: Letter, now: float) -> None:
        content = letter.content
        if not isinstance(content, Unsealed):
            self._reply(letter, self._answer(content))
            return
        message: Any = content.message or content.open()  # Any: each handler names its own type
        kind = type(message)
        # A round may be announced before the answer to our registration arrives.
        if kind is RoundAnnouncement and self._early.hold(letter):
            return
        handler = self._handlers.get(kind)
        if handler is None:
            raise PeerError("E036", f"{message.type} is not for players")
        if message.sender is None:
            message = with_sender(message, self._memory)
        if kind in FROM_REFEREES and len(_encode(message)) > REFEREE_LIMIT:
            raise PeerError("E037", f"more than {REFEREE_LIMIT} bytes")
        for deviation in content.deviations:
            self._context.record(sender_id(message.sender), deviation, now)
        handler(letter, message, now)

    def _answer(self, content: Content) -> Pong | Information:
        """Answer a request that is not a message of the protocol."""
        if isinstance(content, Ping):
            return Pong(player_id=self.agent_id)
        if isinstance(content, Inquiry):
            return self._inform(content)
        raise PeerError("E036", "a player takes no orders")

    def member_behind(self, content: Content) -> str | None:
        if not isinstance(content, Unsealed) or content.message is None:
            return None
        sender = self._context.proven_sender(content.message)
        return sender.id if sender is not None else None

    def _inform(self, inquiry: Inquiry) -> Information:
        """Answer `get_player_state` with our state, in the documents' words (R-47)."""
        player_id = inquiry.params.get("player_id", self.agent_id)
        if player_id != self.agent_id:
            raise PeerError("E005", f"{shown(player_id)[:LONGEST_NAME]} is not here")
        return Information(
            {
                "player_id": self.agent_id or None,
                "display_name": self.display_name,
                "state": self._public_phase,
                "lifecycle": self.state,
                "matches_played": len(self.history),
            }
        )
