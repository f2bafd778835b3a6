"""`--strategy llm`: connects a language model to its provider, and makes a player of it.

Requests go through our own HTTP client. The key comes from the environment and is never shown: not in a log, not in an
error that quotes it.
"""

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
from league_minds.model_options import ModelOptions
from league_minds.prompts import PROMPT, Prompt

KEY_VARIABLE: Final = "LEAGUE_LLM_KEY"
LARGEST_ANSWER: Final = 1_048_576
GREETING: Final = "Answer with the word ready."
GREETING_S: Final = 20.0
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._:/-]{0,39}")
_KEY: Final = re.compile(r"[!-~]+")


class Provider:
    """A provider: its address, the key, a connection and the time. The answers it returns never contain the key."""

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
            raise CommandError(f"{KEY_VARIABLE} is not a key: it contains blanks or letters outside ASCII", USAGE)

    @property
    def surroundings(self) -> Surroundings:
        return Surroundings(self.post, self._clock.now, self._sleep)

    async def _sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds / self._options.time_scale)

    async def post(self, request: bytes, seconds: float) -> Reply | NoReply:
        """Post a request, and wait this many seconds of the league's time for the answer."""
        assert self._client is not None, "the session has begun"
        headers = b""
        if self._key:
            headers = f"Authorization: Bearer {self._key}\r\n".encode()
        # A demo may run faster than real time, and so must its deadlines.
        limit_s = seconds / self._options.time_scale
        try:
            reply = await self._client.post(self._url, request, limit_s, LARGEST_ANSWER, headers)
        except CallFailed as error:
            return NoReply(f"the provider cannot be reached: {error}", error.failure is Failure.TIMEOUT)
        body = reply.body
        # Errors are shown to people, and may quote the key.
        if self._key and reply.status != OK:
            body = body.replace(self._key.encode(), b"***")
        return Reply(reply.status, body, reply.retry_after)

    @asynccontextmanager
    async def session(self, model: LanguageModel) -> AsyncIterator[None]:
        """Connect to the provider for as long as this lasts; begin with a greeting."""
        # A client of its own: the calls of the league must never wait for a slow provider.
        self._client = HttpClient(tls=trusted(self._options))
        try:
            await self._greet(model)
            yield
        finally:
            await self._client.close()

    async def _greet(self, model: LanguageModel) -> None:
        """Ask once before the player registers: a wrong key, model or address ends the command; an outage may pass."""
        self._warn_if_unencrypted()
        body = model.request([{"role": "user", "content": GREETING}])
        reply = await self.post(body, GREETING_S)
        if completed(reply, body) is not None:
            return
        trouble = trouble_of(reply) or f"the provider has not answered within {GREETING_S:g} s"
        # Without a reply there is an outage, which may pass.
        if isinstance(reply, Reply) and (hint := _hint(reply.status)):
            raise CommandError(f"{model.model} cannot play: {trouble}; {hint}")
        console.complain(f"{trouble}; {model.model} declines its matches until that is over")

    def _warn_if_unencrypted(self) -> None:
        ip = self.endpoint.ip
        is_local = ip is not None and ip.is_loopback
        if self._key and self.endpoint.scheme == "http" and not is_local:
            console.complain(f"{KEY_VARIABLE} is sent to {self.endpoint.host} unencrypted: use https")


def _hint(status: int) -> str:
    """Say what the user must change, if this status shows that waiting will not help; otherwise an empty text."""
    if status in (401, 403):
        return f"{KEY_VARIABLE} must hold the key of this provider"
    if status == 404:
        return "--base-url must be the part before /chat/completions, and --model one of the provider's models"
    if status == OK or 300 <= status < 400:
        return "--base-url leads to something else"
    if status in (400, 405, 422):
        return "it does not accept such requests: check --model and --temperature"
    return ""


def entrant(options: PlayerOptions) -> Entrant:
    """Make a player whose choices a language model makes."""
    model_options = ModelOptions.of(options)
    if not (model_options.base_url and model_options.model):
        raise CommandError("--strategy llm needs --base-url and --model", USAGE)
    provider = Provider(options, model_options.base_url)
    model = LanguageModel(
        model=model_options.model,
        prompt=_prompt(model_options),
        corrections=model_options.corrections,
        temperature=model_options.temperature,
        around=provider.surroundings,
        rules=_rules,
        cap=model_options.max_tokens,
    )
    return Entrant(
        model,
        title_of(model.model),
        conditions=written(model.conditions(provider.endpoint.host)),
        session=partial(provider.session, model),
    )


def title_of(model: str) -> str:
    """Return the default name of a player with this model."""
    # Names of models may be longer than names of players, or contain other characters.
    return model if _NAME.fullmatch(model) else "Model"


def _prompt(options: ModelOptions) -> Prompt:
    prompt = PROMPT
    try:
        if options.prompt:
            prompt = Path(options.prompt).read_text("utf-8")
        return Prompt(prompt, options_shown=not options.no_options)
    except OSError as error:
        raise CommandError(f"cannot read {options.prompt}: {error.strerror}", USAGE) from error
    except ValueError as error:
        raise CommandError(f"{options.prompt} is not a prompt: {error}", USAGE) from error


def _rules(game_type: str) -> str:
    game = registry.find(game_type)
    return game.rules_text if game else ""
