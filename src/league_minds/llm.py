"""A language model as a player: its provider is asked for every choice, in the time the turn has, through any endpoint
that speaks OpenAI's chat completions. Who asks over the network is handed in; nothing here opens a connection."""

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
"""Before the provider is asked again after a failure; it doubles with each."""
MARGIN: Final = 0.1
LONGEST_MARGIN_S: Final = 1.0
"""So much of a turn's time is kept for the way back to the referee."""
BYTES_A_TOKEN: Final = 4
"""How tokens are estimated where the provider does not count them."""
LONGEST_TROUBLE: Final = 300
UNREADABLE: Final = (msgspec.DecodeError, RecursionError, LookupError, TypeError)
"""What comes of reading something else than what was expected."""


class Reply(NamedTuple):
    """What a provider answered."""

    status: int
    body: bytes
    retry_after: float | None = None


class NoReply(NamedTuple):
    """It answered nothing. `is_late`: not in the time there was."""

    detail: str
    is_late: bool = False


Post = Callable[[bytes, float], Awaitable[Reply | NoReply]]
"""Posts a request to the provider, and waits so many seconds for its answer."""


class Surroundings(NamedTuple):
    """What a model is asked through: a connection to its provider, and time."""

    post: Post
    now: Callable[[], float]
    sleep: Callable[[float], Awaitable[None]]


class Completion(NamedTuple):
    """What the model said, and what that cost."""

    text: str
    tokens: int


@dataclass(slots=True)
class LanguageModel:
    """Chooses by asking a model. When its answers cannot be read, or none comes in time, it falls back on any option;
    when the provider fails, it declines. `cap`: so many tokens are spent in a league, and not many more."""

    model: str
    prompt: Prompt
    corrections: int
    temperature: float | None
    around: Surroundings
    rules: Callable[[str], str]
    """Those of a game, by its name."""
    cap: int | None = None
    not_before: float = 0.0
    """When the provider may be asked again, by its own word."""

    def conditions(self, provider: str) -> Conditions:
        """Under which conditions the model plays (spec section 8.17)."""
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
        body: dict[str, Any] = {"model": self.model, "messages": messages, "stream": False}
        if self.temperature is not None:
            body["temperature"] = self.temperature
        return msgspec.json.encode(body)

    async def choose(self, turn: Playing) -> Considered | NoChoice:
        """The model's choice, in time."""
        if not turn.options:
            return NoChoice("the referee offers nothing to choose from")
        if self.is_spent(turn.tokens_spent):
            return NoChoice(f"the spending cap of {self.cap} tokens is reached (--max-tokens): the model is not asked")
        return await _Choosing(self, turn).choose()

    def is_spent(self, tokens: int) -> bool:
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
    failed: bool = False
    """Has the provider failed, even if it answered then?"""
    outage: str = ""
    """Why the last request was not answered; empty if it was, or if it only took too long."""
    messages: list[dict[str, str]] = field(default_factory=list)

    async def choose(self) -> Considered | NoChoice:
        seconds, model = self.turn.seconds, self.model
        self.deadline = model.around.now() + seconds - min(seconds * MARGIN, LONGEST_MARGIN_S)
        question = model.prompt.filled(self.turn, model.rules(self.turn.game_type))
        self.messages = [{"role": "user", "content": question}]
        choice = await self._asked()
        if choice is not None:
            return Considered(choice, self._provenance())
        if self.outage:
            self.failed = True
            return NoChoice(self.outage, self._provenance(), is_outage=True)
        fallback = self.turn.options[int.from_bytes(self.turn.chance, "big") % len(self.turn.options)]
        return Considered(fallback, self._provenance(fallbacks=1))

    async def _asked(self) -> str | None:
        """The model's choice; None if there is none."""
        for _ in range(1 + self.model.corrections):
            answer = await self._answer()
            if answer is None:
                return None
            choice = read_answer(answer, self.turn.options)
            if choice is not None or self.model.is_spent(self.turn.tokens_spent + self.tokens):
                return choice
            self.messages += correction(answer, self.turn, self.model.prompt.options_shown)
        return None

    async def _answer(self) -> str | None:
        """What the model says, asked until the provider answers or the time is over."""
        body, pause, around = self.model.request(self.messages), FIRST_PAUSE_S, self.model.around
        while await self._may_ask():
            began = around.now()
            reply = await around.post(body, self.deadline - began)
            self.thinking_s += around.now() - began
            completion = completed(reply, body)
            self.outage = "" if completion else trouble_of(reply)
            if completion is not None:
                self.tokens += completion.tokens
                return completion.text
            if not self.outage:
                return None
            await self._pause(reply, pause)
            pause *= 2
        return None

    async def _may_ask(self) -> bool:
        """Is there time left, once the provider may be asked again?"""
        around = self.model.around
        wait = min(self.model.not_before, self.deadline) - around.now()
        if wait > 0:
            self.outage = self.outage or "the provider limits the rate of requests"
            self.waited_s += wait
            await around.sleep(wait)
        return around.now() < self.deadline

    async def _pause(self, reply: Reply | NoReply, pause: float) -> None:
        """Before the provider is asked again: as long as it says, or longer each time."""
        around = self.model.around
        if isinstance(reply, Reply) and reply.status == RATE_LIMITED:
            self.model.not_before = around.now() + (pause if reply.retry_after is None else reply.retry_after)
        else:
            self.failed = True
            await around.sleep(max(0.0, min(pause, self.deadline - around.now())))

    def _provenance(self, fallbacks: int = 0) -> Provenance:
        return Provenance(
            fallbacks=fallbacks,
            provider_errors=int(self.failed),
            tokens=self.tokens,
            thinking_s=round(self.thinking_s, 3),
            waited_s=round(self.waited_s, 3),
        )


# --- what providers say -----------------------------------------------------------------------------------------------


def trouble_of(reply: Reply | NoReply) -> str:
    """Why the provider is out of order; empty if the model only takes too long."""
    if isinstance(reply, NoReply):
        return "" if reply.is_late else reply.detail
    said = f": {refusal_in(reply)}" if reply.status != OK else ", but with no chat completion"
    return f"the provider answered with status {reply.status}{said}"


def completed(reply: Reply | NoReply, request: bytes) -> Completion | None:
    """What the model said; None if this is no chat completion. A model that said nothing said the empty text."""
    if isinstance(reply, NoReply) or reply.status != OK:
        return None
    try:
        document = msgspec.json.decode(reply.body)
        content = document["choices"][0]["message"].get("content")
    except (*UNREADABLE, AttributeError):
        return None
    if isinstance(content, list):
        content = "".join(one["text"] for one in content if isinstance(one, dict) and isinstance(one.get("text"), str))
    text = content if isinstance(content, str) else ""
    usage = document.get("usage")
    counted = usage.get("total_tokens") if isinstance(usage, dict) else None
    estimated = (len(request) + len(text.encode())) // BYTES_A_TOKEN
    return Completion(text, counted if type(counted) is int and counted >= 0 else estimated)


def refusal_in(reply: Reply) -> str:
    """The sentence in an answer that is an error."""
    try:
        error = msgspec.json.decode(reply.body)["error"]
        said = error["message"] if isinstance(error, dict) else error
    except UNREADABLE:
        said = reply.body[:LONGEST_TROUBLE].decode("utf-8", "replace")
    return " ".join(str(said).split())[:LONGEST_TROUBLE] or "no reason given"
