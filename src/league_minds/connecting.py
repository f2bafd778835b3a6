"""`--strategy llm`: a language model as a player. Its provider is asked through our own HTTP client, with a key that is
read from the environment and shown nowhere."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Final

from league.agent.sources import Clock
from league.games import registry
from league.hosting.options import PlayerOptions
from league.hosting.players import Entrant
from league.hosting.serving import trusted
from league.machine import Failure
from league.protocol.endpoints import BadAddressError, parse
from league.protocol.experiment import written
from league.terminal import USAGE, CommandError, console
from league.transport.http_client import CallFailed, HttpClient
from league_minds.llm import OK, LanguageModel, NoReply, Reply, Surroundings, completed, trouble_of
from league_minds.options import ModelOptions
from league_minds.prompts import Prompt

KEY_VARIABLE: Final = "LEAGUE_LLM_KEY"
LARGEST_ANSWER: Final = 1_048_576
GREETING: Final = "Answer with the word ready."
GREETING_S: Final = 20.0
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._:/-]{0,39}")
_KEY: Final = re.compile(r"[!-~]+")


class Provider:
    """A provider as it is asked: its address, the key and the time. What it says never shows the key."""

    def __init__(self, options: PlayerOptions, base_url: str) -> None:
        self._url = f"{base_url.rstrip('/')}/chat/completions"
        self._options = options
        self._key = os.environ.get(KEY_VARIABLE, "")
        self._clock = Clock(options.time_scale)
        self._client: HttpClient | None = None
        try:
            self.endpoint = parse(self._url)
        except BadAddressError as error:
            raise CommandError(f"--base-url: {error}", USAGE) from error
        if self._key and not _KEY.fullmatch(self._key):
            raise CommandError(f"{KEY_VARIABLE} holds what no key has: blanks or other letters", USAGE)

    @property
    def surroundings(self) -> Surroundings:
        async def sleep(seconds: float) -> None:
            await asyncio.sleep(seconds / self._options.time_scale)

        return Surroundings(self.post, self._clock.now, sleep)

    async def post(self, request: bytes, seconds: float) -> Reply | NoReply:
        assert self._client is not None, "it is asked while its session lasts"
        headers = f"Authorization: Bearer {self._key}\r\n".encode() if self._key else b""
        try:
            reply = await self._client.post(
                self._url, request, seconds / self._options.time_scale, LARGEST_ANSWER, headers
            )
        except CallFailed as error:
            return NoReply(f"the provider cannot be reached: {error}", error.failure is Failure.TIMEOUT)
        is_told = reply.status != OK and self._key  # errors may quote the key, and are shown
        body = reply.body.replace(self._key.encode(), b"***") if is_told else reply.body
        return Reply(reply.status, body, reply.retry_after)

    @asynccontextmanager
    async def session(self, model: LanguageModel) -> AsyncIterator[None]:
        """While it lasts the provider can be asked; it begins with a greeting."""
        self._client = HttpClient(tls=trusted(self._options))
        try:
            await self._greet(model)
            yield
        finally:
            await self._client.close()

    async def _greet(self, model: LanguageModel) -> None:
        """A wrong key, model or address is refused before anybody registers; an outage may be over soon."""
        if self._key and self.endpoint.scheme == "http" and not (self.endpoint.ip and self.endpoint.ip.is_loopback):
            console.complain(f"{KEY_VARIABLE} is sent to {self.endpoint.host} unencrypted: use https")
        body = model.request([{"role": "user", "content": GREETING}])
        reply = await self.post(body, GREETING_S)
        if completed(reply, body) is not None:
            return
        told = trouble_of(reply) or f"the provider has not answered within {GREETING_S:g} s"
        if isinstance(reply, Reply) and (hint := _hint(reply.status)):
            raise CommandError(f"cannot play by {model.model}: {told}; {hint}")
        console.complain(f"{told}; {model.model} declines its matches until that is over")


def _hint(status: int) -> str:
    """What is wrong for good, if this status says so."""
    if status in (401, 403):
        return f"{KEY_VARIABLE} must hold the key of this provider"
    if status == 404:
        return "--base-url must be what comes before /chat/completions, and --model a model it has"
    if status == 200 or 300 <= status < 400:
        return "--base-url leads to something else"
    return "it does not take such requests: look at --model and --temperature" if status in (400, 405, 422) else ""


def entrant(options: PlayerOptions) -> Entrant:
    """A player whose choices a language model makes."""
    own = ModelOptions.of(options)
    if not (own.base_url and own.model):
        raise CommandError("--strategy llm needs --base-url and --model", USAGE)
    provider = Provider(options, own.base_url)
    model = LanguageModel(
        model=own.model,
        prompt=_prompt(own),
        corrections=own.corrections,
        temperature=own.temperature,
        around=provider.surroundings,
        rules=_rules,
        cap=own.max_tokens,
    )
    return Entrant(
        model,
        title_of(own.model),
        conditions=written(model.conditions(provider.endpoint.host)),
        session=partial(provider.session, model),
    )


def title_of(model: str) -> str:
    """What a player of this model is called that has no name."""
    return model if _NAME.fullmatch(model) else "Model"


def _prompt(options: ModelOptions) -> Prompt:
    try:
        text = {"text": Path(options.prompt).read_text("utf-8")} if options.prompt else {}
        return Prompt(**text, options_shown=not options.no_options)
    except OSError as error:
        raise CommandError(f"cannot read {options.prompt}: {error.strerror}", USAGE) from error
    except ValueError as error:
        raise CommandError(f"{options.prompt} is no prompt: {error}", USAGE) from error


def _rules(game_type: str) -> str:
    game = registry.find(game_type)
    return game.rules_text if game else ""
