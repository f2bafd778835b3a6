"""A player that asks: somebody else makes every choice, within the time of the turn.

A turn is a conversation. It begins with the prompt; an answer without a legal choice is corrected a few times. While
the other side fails, it is asked again after longer and longer pauses. A turn ends in one of three ways:

- with the model's choice;
- with any legal option (a *fallback*), when the model takes too long or never answers with a choice;
- without a choice, when its provider fails until the time is over, or for good, or the budget is spent. The player
  declines then: an outage must not count as a choice of the model.

A model that is late after an outage was only slow if it had its fair share of the turn. Otherwise the provider has used
up its time, and the outage remains an outage. It also lasts beyond its turn, until the provider answers: the next turn
may be late only because it goes on.

Whether a model, a program or an MCP server is asked is the transport's business. There is one prompt, one reader of
answers and one record for all of them. What must never happen: a choice that the model did not make and that is not
marked as a fallback; a request that is not in the record.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import msgspec

from league.features.minds import conversations
from league.features.minds.asked.transports import (
    CHOICE,
    EMPTY,
    LATE,
    PROVIDER_FAILURE,
    REFUSAL,
    TRUNCATED,
    UNREADABLE,
    Answer,
    Document,
    Message,
    MindQuestion,
    NoAnswer,
    Transport,
)
from league.features.minds.cache import AnswerCache
from league.features.minds.conversations import Conversation, MindExchange
from league.features.minds.prompts import Prompt, correction
from league.features.minds.reading import ReplyReading, mentions, reading_of
from league.features.minds.spending import Budget
from league.player.strategies import Considered, NoChoice, Turn
from league.protocol.message.experiment import Conditions, Provenance
from league.terminal import CommandError, console

FIRST_PAUSE_S: Final = 0.5
"""Before the provider is asked again after a failure; it doubles with each failure. With less time left, it is not."""
FAIR_SHARE: Final = 0.5
"""A model that had this share of the turn's time, and did not answer, is slow."""
MARGIN: Final = 0.1
"""The share of a turn's time that is kept for the way back to the referee."""
LONGEST_MARGIN_S: Final = 1.0
BUDGET_SPENT: Final = "its budget for the model is spent"
"""What the league is told then. The amounts are for the author."""
CUT_OFF: Final = ("length", "max_tokens")
"""Why an answer ended that a limit cut off."""
_REFUSING: Final = re.compile(
    r"\b(I|we)\b.{0,20}\b(can't|cannot|can not|won't|will not|unable to|must decline|am not able to|refuse to)\b"
    r"|\bI'm sorry\b|\bI apologi[sz]e\b",
    re.IGNORECASE,
)
"""Words of a model that refuses. They are only looked for in an answer without a choice."""


class Time(NamedTuple):
    """The time of the league, which may run faster than that of the world."""

    now: Callable[[], float]
    sleep: Callable[[float], Awaitable[None]]
    scale: float = 1.0
    """Seconds of the league in a second of the world, where transports live."""


@dataclass(slots=True)
class AskingPlayer:
    """A strategy that asks through a transport."""

    transport: Transport
    prompt: Prompt
    corrections: int
    time: Time
    rules: Callable[[str], str]
    """Returns the rules of a game, by its name."""
    budget: Budget = field(default_factory=Budget)
    cache: AnswerCache | None = None
    temperature: float | None = None
    request: str = ""
    """Both are for the conditions: the transport sends them."""
    not_before: float = 0.0
    """When the provider may be asked again, as it said itself."""
    failing: str = ""
    """Why the last choice was declined, as long as the provider has not answered since."""
    declined: int = 0
    """How many choices were declined since then."""
    is_hopeless: bool = False
    """The provider refuses for good: waiting cannot help."""

    @property
    def conditions(self) -> Conditions:
        """The conditions under which the model plays (spec section 8.17)."""
        return Conditions(
            model=self.transport.model,
            provider=self.transport.provider,
            prompt=self.prompt.text,
            prompt_sha256=self.prompt.sha256,
            system=self.prompt.system,
            request=self.request,
            options_shown=self.prompt.options_shown,
            corrections=self.corrections,
            temperature=self.temperature,
        )

    @asynccontextmanager
    async def session(self) -> AsyncIterator[None]:
        """Connect for as long as this lasts. CommandError if the player could never play; an outage may pass."""
        async with self.transport.session():
            trouble = await self.transport.greet()
            if trouble is not None:
                self._complain(trouble)
            try:
                yield
            finally:
                if self.cache is not None:
                    self.cache.close()

    def _complain(self, trouble: NoAnswer) -> None:
        model = self.transport.model
        # With a cache there may be nothing left to ask.
        if trouble.advice and self.cache is None:
            raise CommandError(f"{model} cannot play: {trouble.detail}; {trouble.advice}")
        console.complain(f"{trouble.detail}; {model} declines its matches until that is over")

    async def choose(self, turn: Turn, experiment: str = "") -> Considered | NoChoice:
        """Return a choice in time, or the reason why there is none.

        `experiment` tells matches from those of other experiments that have the same ids: the cache keeps them apart.
        """
        if not turn.options:
            return NoChoice("the referee offers no options")
        self.budget.remember(turn.tokens_spent, turn.cost_spent)
        if self.budget.exhausted:
            return NoChoice(f"{self.budget.exhausted}: the model is not asked", cause=BUDGET_SPENT)
        return await _Choosing(self, turn, experiment).choose()


@dataclass(slots=True)
class _Choosing:
    """One choice."""

    player: AskingPlayer
    turn: Turn
    experiment: str
    deadline: float = 0.0
    tokens: int = 0
    tokens_estimated: int = 0
    cost: float = 0.0
    thinking_s: float = 0.0
    waited_s: float = 0.0
    has_failed: bool = False
    """The provider has failed once, even if it answered after that."""
    outage: str = ""
    """Why the last request got no answer; empty if it got one, or if the model only took too long."""
    messages: list[Message] = field(default_factory=list)
    exchanges: list[MindExchange] = field(default_factory=list)

    async def choose(self) -> Considered | NoChoice:
        turn = self.turn
        player = self.player
        # The answer must still travel to the referee, who may be slow.
        margin_s = min(turn.seconds * MARGIN, LONGEST_MARGIN_S)
        self.deadline = player.time.now() + turn.seconds - margin_s
        self.messages = player.prompt.messages(turn, player.rules(turn.game_type))
        choice = await self._converse()
        if choice is not None:
            return self._chosen(choice)
        if self.outage:
            self.has_failed = True
            self.player.failing = self.outage
            self.player.declined += 1
            text = self._kept(declined=self.outage)
            return NoChoice(self.outage, self._provenance(text), is_outage=True, conversation=text)
        # The player's own chance decides, so that a replay decides the same.
        number = int.from_bytes(turn.chance, "big")
        # Without a request, the provider kept us waiting for too long to make one.
        reason = self.exchanges[-1].outcome if self.exchanges else LATE
        return self._chosen(turn.options[number % len(turn.options)], reason)

    def _chosen(self, choice: str, fallback_reason: str = "") -> Considered:
        text = self._kept(choice=choice, fallback_reason=fallback_reason)
        return Considered(choice, self._provenance(text, fallback_reason), text)

    async def _converse(self) -> str | None:
        """Ask and correct the model; return its choice, or None if it makes none."""
        for _ in range(1 + self.player.corrections):
            answer = await self._ask()
            if answer is None:
                return None
            reading = reading_in(answer, self.turn.options)
            if reading is not None:
                return reading.option
            # A correction costs tokens too.
            if self.player.budget.exhausted:
                return None
            self.messages += correction(answer.text, self.turn, self.player.prompt.options_shown)
        return None

    async def _ask(self) -> Answer | None:
        """Ask until there is an answer or the time is over."""
        question = self._question()
        document = self.player.transport.request(question)
        key = self._key(document)
        answer = None
        # A cached answer costs nothing, so it is looked up even when nobody may be asked any more.
        if self.player.cache is not None:
            answer = self.player.cache.get(key)
        if answer is not None:
            self._note(document, answer, 0.0, 1, is_cached=True)
            return answer
        answer = await self._ask_until_answered(question)
        if answer is None:
            return None
        if answer.usage is not None:
            self.cost += self.player.budget.spend(answer.usage)
            self.tokens += answer.usage.total
            if answer.usage.is_estimate:
                self.tokens_estimated += answer.usage.total
        if self.player.cache is not None:
            # The transport may know more by now than when the question was looked up.
            self.player.cache.put(self._key(self.player.transport.request(question)), answer)
        return answer

    async def _ask_until_answered(self, question: MindQuestion) -> Answer | None:
        time = self.player.time
        pause_s = FIRST_PAUSE_S
        attempt = 0
        while await self._may_ask():
            attempt += 1
            began = time.now()
            limit_s = self.deadline - began
            # Made anew for each attempt: the transport may have learned with the last one how to ask.
            document = self.player.transport.request(question)
            reply = await self.player.transport.ask(document, limit_s / time.scale)
            latency_s = time.now() - began
            self.thinking_s += latency_s
            self._note(document, reply, latency_s, attempt)
            if isinstance(reply, Answer):
                self.outage = ""
                self.player.failing = ""
                self.player.declined = 0
                self.player.is_hopeless = False
                return reply
            # A model that is only late gets no second request: the time is over.
            if reply.is_late:
                if limit_s >= self.turn.seconds * FAIR_SHARE:
                    self.outage = self.player.failing
                return None
            self.outage = reply.detail
            if reply.is_final:
                self.outage = "; ".join(filter(None, (reply.detail, reply.advice)))
                self.player.is_hopeless = True
                return None
            await self._pause(reply, pause_s)
            pause_s *= 2
        return None

    async def _may_ask(self) -> bool:
        """Wait until the provider may be asked again; return whether there is enough time left then."""
        time = self.player.time
        wait_s = min(self.player.not_before, self.deadline) - time.now()
        if wait_s > 0:
            self.outage = self.outage or "the provider limits the rate of requests"
            self.waited_s += wait_s
            await time.sleep(wait_s)
        remaining_s = self.deadline - time.now()
        if self.outage:
            # Timers may fire a little early: such a request could only be late.
            return remaining_s >= FIRST_PAUSE_S
        return remaining_s > 0

    async def _pause(self, trouble: NoAnswer, pause_s: float) -> None:
        """Wait before the provider is asked again, or note how long it wants us to wait."""
        time = self.player.time
        if trouble.is_rate_limit:
            if trouble.retry_after is not None:
                pause_s = trouble.retry_after
            # Kept beyond this turn: the limit holds for all matches of the player.
            self.player.not_before = time.now() + pause_s
            return
        self.has_failed = True
        remaining_s = self.deadline - time.now()
        await time.sleep(max(0.0, min(pause_s, remaining_s)))

    # --- what is asked, and what is kept ------------------------------------------------------------------------------

    def _question(self) -> MindQuestion:
        turn = self.turn
        call: dict[str, Any] = msgspec.to_builtins(turn.call)
        fields = {
            **turn.view,
            "game_type": turn.game_type,
            "match_id": turn.match_id,
            "opponent_id": turn.opponent_id,
            "turn": turn.number,
            **(call or {}),
        }
        is_parity = fields.get("message_type") == "CHOOSE_PARITY_CALL"
        return MindQuestion(self.messages, turn.options, is_parity, fields)

    @property
    def _player_id(self) -> str:
        return getattr(self.turn.call, "player_id", "")

    def _key(self, document: Document) -> str:
        turn = self.turn
        place = f"{self.experiment}/{self._player_id}/{turn.match_id}/{turn.number}"
        return AnswerCache.key(self.player.transport.identity, document, place)

    def _note(
        self,
        document: Document,
        reply: Answer | NoAnswer,
        latency_s: float,
        attempt: int,
        *,
        is_cached: bool = False,
    ) -> None:
        reading = reading_in(reply, self.turn.options) if isinstance(reply, Answer) else None
        self.exchanges.append(
            conversations.exchange(
                document,
                reply,
                outcome_of(reply, self.turn.options),
                rule=reading.rule if reading else "",
                latency_s=latency_s,
                attempt=attempt,
                is_cached=is_cached,
            )
        )

    def _kept(self, **ending: Any) -> str:
        turn = self.turn
        conversation = Conversation(
            match_id=turn.match_id,
            turn=turn.number,
            player_id=self._player_id,
            game_type=turn.game_type,
            options=tuple(turn.options),
            asked=f"{self.player.transport.model} at {self.player.transport.provider}",
            exchanges=self.exchanges,
            **ending,
        )
        return conversations.kept(conversation)

    def _provenance(self, text: str, fallback_reason: str = "") -> Provenance:
        return Provenance(
            fallbacks=int(bool(fallback_reason)),
            provider_errors=int(self.has_failed),
            tokens=self.tokens,
            tokens_estimated=self.tokens_estimated,
            thinking_s=round(self.thinking_s, 3),
            waited_s=round(self.waited_s, 3),
            cost=round(self.cost, 9),
            fallback_reason=fallback_reason,
            conversation_sha256=conversations.digest_of(text),
        )


def reading_in(answer: Answer, options: Sequence[str]) -> ReplyReading | None:
    """Return how an answer is read; None if it is unclear."""
    return reading_of(answer.text, options, is_cut=answer.finish_reason in CUT_OFF)


def outcome_of(reply: Answer | NoAnswer, options: Sequence[str]) -> str:
    """Say what became of a request."""
    if isinstance(reply, NoAnswer):
        return LATE if reply.is_late else PROVIDER_FAILURE
    if reading_in(reply, options) is not None:
        return CHOICE
    if reply.instead:
        return reply.instead
    if reply.finish_reason in CUT_OFF:
        return TRUNCATED
    if not reply.text.strip():
        return EMPTY
    # A model that weighs the options has not refused.
    is_refusal = _REFUSING.search(reply.text) and not any(mentions(reply.text, option) for option in options)
    return REFUSAL if is_refusal else UNREADABLE
