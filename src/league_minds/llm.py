"""A language model as a player: its provider is asked for every choice, within the time of the turn.

A turn is a conversation. It begins with the prompt; an answer without a legal choice is corrected a few times. While
the provider fails, it is asked again after longer and longer pauses. A turn ends in one of three ways:

- with the model's choice;
- with any legal option (a *fallback*), when the model takes too long or never answers with a choice;
- without a choice, when the provider fails until the time is over, or the spending cap is reached. The player declines
  then: an outage must not count as a choice of the model.

Any endpoint that speaks OpenAI's chat completions will do. The connection comes from outside; nothing here opens one.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import msgspec

from league.machine import Considered, NoChoice
from league.protocol.experiment import Conditions, Provenance
from league_minds.prompts import Playing, Prompt, correction, read_answer

OK: Final = 200
RATE_LIMITED: Final = 429
FIRST_PAUSE_S: Final = 0.5
"""Before the provider is asked again after a failure; it doubles with each failure."""
MARGIN: Final = 0.1
"""The share of a turn's time that is kept for the way back to the referee."""
LONGEST_MARGIN_S: Final = 1.0
BYTES_A_TOKEN: Final = 4
"""For an estimate where the provider does not count tokens."""
LONGEST_TROUBLE: Final = 300
UNREADABLE: Final = (msgspec.DecodeError, RecursionError, LookupError, TypeError)
"""The errors that reading an unexpected document can raise."""


class Reply(NamedTuple):
    """An answer of a provider."""

    status: int
    body: bytes
    retry_after: float | None = None


class NoReply(NamedTuple):
    """A provider did not answer. `is_late`: not in time."""

    detail: str
    is_late: bool = False


Post = Callable[[bytes, float], Awaitable[Reply | NoReply]]
"""Posts a request to the provider, and waits this many seconds for its answer."""


class Surroundings(NamedTuple):
    """What a model is asked through: a connection to its provider, and time."""

    post: Post
    now: Callable[[], float]
    sleep: Callable[[float], Awaitable[None]]


class Completion(NamedTuple):
    """The words of a model, and their cost."""

    text: str
    tokens: int


@dataclass(slots=True)
class LanguageModel:
    """A strategy that asks a model."""

    model: str
    prompt: Prompt
    corrections: int
    temperature: float | None
    around: Surroundings
    rules: Callable[[str], str]
    """Returns the rules of a game, by its name."""
    cap: int | None = None
    """The number of tokens after which the model is no longer asked in a league; a turn may go a little beyond it."""
    not_before: float = 0.0
    """When the provider may be asked again, as it said itself."""

    def conditions(self, provider: str) -> Conditions:
        """Return the conditions under which the model plays (spec section 8.17)."""
        return Conditions(
            model=self.model,
            provider=provider,
            prompt=self.prompt.text,
            prompt_sha256=self.prompt.sha256,
            options_shown=self.prompt.options_shown,
            corrections=self.corrections,
            temperature=self.temperature,
        )

    def request(self, messages: list[dict[str, str]]) -> bytes:
        """Write a request to the provider."""
        body: dict[str, Any] = {"model": self.model, "messages": messages, "stream": False}
        if self.temperature is not None:
            body["temperature"] = self.temperature
        return msgspec.json.encode(body)

    async def choose(self, turn: Playing) -> Considered | NoChoice:
        """Return a choice in time, or the reason why there is none."""
        if not turn.options:
            return NoChoice("the referee offers no options")
        if self.is_spent(turn.tokens_spent):
            return NoChoice(f"the spending cap of {self.cap} tokens (--max-tokens) is reached: the model is not asked")
        return await _Choosing(self, turn).choose()

    def is_spent(self, tokens: int) -> bool:
        """Return whether the cap is reached with this many tokens."""
        return self.cap is not None and tokens >= self.cap


@dataclass(slots=True)
class _Choosing:
    """One choice of a model."""

    model: LanguageModel
    turn: Playing
    deadline: float = 0.0
    tokens: int = 0
    thinking_s: float = 0.0
    waited_s: float = 0.0
    has_failed: bool = False
    """The provider has failed once, even if it answered after that."""
    outage: str = ""
    """Why the last request got no answer; empty if it got one, or if the model only took too long."""
    messages: list[dict[str, str]] = field(default_factory=list)

    async def choose(self) -> Considered | NoChoice:
        turn = self.turn
        # The answer must still travel to the referee, who may be slow.
        margin_s = min(turn.seconds * MARGIN, LONGEST_MARGIN_S)
        self.deadline = self.model.around.now() + turn.seconds - margin_s
        question = self.model.prompt.filled(turn, self.model.rules(turn.game_type))
        self.messages = [{"role": "user", "content": question}]
        choice = await self._converse()
        if choice is not None:
            return Considered(choice, self._provenance())
        if self.outage:
            self.has_failed = True
            return NoChoice(self.outage, self._provenance(), is_outage=True)
        # The player's own chance decides, so that a replay decides the same.
        number = int.from_bytes(turn.chance, "big")
        fallback = turn.options[number % len(turn.options)]
        return Considered(fallback, self._provenance(fallbacks=1))

    async def _converse(self) -> str | None:
        """Ask and correct the model; return its choice, or None if it makes none."""
        for _ in range(1 + self.model.corrections):
            answer = await self._ask()
            if answer is None:
                return None
            choice = read_answer(answer, self.turn.options)
            # A correction costs tokens too.
            if choice is not None or self.model.is_spent(self.turn.tokens_spent + self.tokens):
                return choice
            self.messages += correction(answer, self.turn, self.model.prompt.options_shown)
        return None

    async def _ask(self) -> str | None:
        """Ask until the provider answers or the time is over; return the model's words."""
        around = self.model.around
        body = self.model.request(self.messages)
        pause_s = FIRST_PAUSE_S
        while await self._may_ask():
            began = around.now()
            reply = await around.post(body, self.deadline - began)
            self.thinking_s += around.now() - began
            completion = completed(reply, body)
            if completion is not None:
                self.outage = ""
                self.tokens += completion.tokens
                return completion.text
            # A model that is only slow gets no second request: the time is over.
            self.outage = trouble_of(reply)
            if not self.outage:
                return None
            await self._pause(reply, pause_s)
            pause_s *= 2
        return None

    async def _may_ask(self) -> bool:
        """Wait until the provider may be asked again; return whether there is time left then."""
        around = self.model.around
        wait_s = min(self.model.not_before, self.deadline) - around.now()
        if wait_s > 0:
            self.outage = self.outage or "the provider limits the rate of requests"
            self.waited_s += wait_s
            await around.sleep(wait_s)
        return around.now() < self.deadline

    async def _pause(self, reply: Reply | NoReply, pause_s: float) -> None:
        """Wait before the provider is asked again, or note how long it wants us to wait."""
        around = self.model.around
        if isinstance(reply, Reply) and reply.status == RATE_LIMITED:
            if reply.retry_after is not None:
                pause_s = reply.retry_after
            # Kept beyond this turn: the limit holds for all matches of the player.
            self.model.not_before = around.now() + pause_s
            return
        self.has_failed = True
        left_s = self.deadline - around.now()
        await around.sleep(max(0.0, min(pause_s, left_s)))

    def _provenance(self, fallbacks: int = 0) -> Provenance:
        return Provenance(
            fallbacks=fallbacks,
            provider_errors=int(self.has_failed),
            tokens=self.tokens,
            thinking_s=round(self.thinking_s, 3),
            waited_s=round(self.waited_s, 3),
        )


# --- answers of providers ---------------------------------------------------------------------------------------------


def trouble_of(reply: Reply | NoReply) -> str:
    """Say what is wrong with the provider; empty if the model only takes too long."""
    if isinstance(reply, NoReply):
        if reply.is_late:
            return ""
        return reply.detail
    sentence = f"the provider answered with status {reply.status}"
    if reply.status == OK:
        return f"{sentence}, but not with a chat completion"
    return f"{sentence}: {refusal_in(reply)}"


def completed(reply: Reply | NoReply, request: bytes) -> Completion | None:
    """Read a chat completion; None if this is none. A model that said nothing said the empty text."""
    if isinstance(reply, NoReply) or reply.status != OK:
        return None
    try:
        document = msgspec.json.decode(reply.body)
        content = document["choices"][0]["message"].get("content")
    except (*UNREADABLE, AttributeError):
        return None
    text = _text_in(content)
    usage = document.get("usage")
    tokens = None
    if isinstance(usage, dict):
        tokens = usage.get("total_tokens")
    # To Python true is a whole number, to a budget it is none.
    if type(tokens) is not int or tokens < 0:
        tokens = (len(request) + len(text.encode())) // BYTES_A_TOKEN
    return Completion(text, tokens)


def _text_in(content: object) -> str:
    # Some providers send a text in parts.
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    texts = [part.get("text") for part in content if isinstance(part, dict)]
    return "".join(text for text in texts if isinstance(text, str))


def refusal_in(reply: Reply) -> str:
    """Return the sentence in an answer that is an error."""
    try:
        error = msgspec.json.decode(reply.body)["error"]
        sentence = error["message"] if isinstance(error, dict) else error
    except UNREADABLE:
        # A proxy in between may answer with a page instead of JSON.
        sentence = reply.body[:LONGEST_TROUBLE].decode("utf-8", "replace")
    one_line = " ".join(str(sentence).split())
    return one_line[:LONGEST_TROUBLE] or "no reason given"
