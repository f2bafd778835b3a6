"""`league.LLM` and `league.Ask`: players that ask, for scripts and notebooks.

In `league.run` such a player is served like any other. In `league.tournament` nobody serves it: there it answers from
an event loop in a thread of its own, so that many matches can wait for answers at the same time. All of them share its
connection, its budget and its cache.
"""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any, Final

import msgspec

from league.features.minds.asked.chat import KEY_VARIABLE, ProviderOfModels, request_fields
from league.features.minds.asking import AskingPlayer, Time
from league.features.minds.cache import AnswerCache
from league.features.minds.connecting import CORRECTIONS, entrant_of, transport_for
from league.features.minds.prompts import PROMPT, Prompt
from league.features.minds.spending import Budget, Price
from league.games import registry
from league.hosting.member.players import Entrant
from league.player.strategies import Considered, NoChoice, Turn
from league.protocol.message.experiment import Provenance
from league.terminal import CommandError

AT_ONCE: Final = 8
"""How many questions a provider gets at the same time."""
IN_THIS_PROCESS: Final = Time(monotonic, asyncio.sleep)
OUTAGES: Final = 5
"""After so many declined choices in a row, of one match or of several, a study ends."""


def LLM(  # noqa: N802 - to scripts it is a class
    model: str,
    base_url: str,
    prompt: str = PROMPT,
    *,
    name: str = "",
    system: str = "",
    temperature: float | None = None,
    request: Mapping[str, Any] | None = None,
    corrections: int = CORRECTIONS,
    options_shown: bool = True,
    max_tokens: int | None = None,
    max_cost: float | None = None,
    price: tuple[float, float] | None = None,
    cache: str | Path | None = None,
    at_once: int = AT_ONCE,
    key_variable: str = KEY_VARIABLE,
) -> AskedPlayer:
    """A language model as a player. `price` is that of a million tokens of prompt, and of a million of completion.

    `system` is a system prompt, and `request` has further fields for the body of each request. The key of the provider
    is in the environment variable `key_variable`. At most `at_once` questions are asked at the same time. LeagueError
    if it could never play.
    """
    if max_cost is not None and price is None:
        raise CommandError("max_cost needs price=(prompt, completion), each for a million tokens")
    text = msgspec.json.encode(request).decode() if request else ""
    filled = _prompt(prompt, options_shown, system)

    def player() -> AskingPlayer:
        more = request_fields(text)
        return AskingPlayer(
            ProviderOfModels(model, base_url, temperature=temperature, key_variable=key_variable, more=more),
            filled,
            corrections=corrections,
            time=IN_THIS_PROCESS,
            rules=registry.rules_text,
            budget=Budget(max_tokens, max_cost, Price(*price) if price else None),
            cache=AnswerCache(cache) if cache else None,
            temperature=temperature,
            request=text,
        )

    return AskedPlayer(player, name, at_once)


def Ask(  # noqa: N802 - to scripts it is a class
    spec: str,
    prompt: str = PROMPT,
    *,
    tool: str = "",
    name: str = "",
    system: str = "",
    corrections: int = CORRECTIONS,
    options_shown: bool = True,
    cache: str | Path | None = None,
    at_once: int = AT_ONCE,
) -> AskedPlayer:
    """A program, an MCP server or an A2A agent as a player: "exec:COMMAND", "mcp:COMMAND", "mcp+http://…", "a2a+http://…"."""
    filled = _prompt(prompt, options_shown, system)

    def player() -> AskingPlayer:
        transport = transport_for(spec, tool)
        if transport is None:
            raise CommandError(
                f"{spec!r} is not exec:COMMAND, mcp:COMMAND, mcp+http://… or a2a+http://…; a model is a league.LLM"
            )
        return AskingPlayer(
            transport,
            filled,
            corrections=corrections,
            time=IN_THIS_PROCESS,
            rules=registry.rules_text,
            cache=AnswerCache(cache) if cache else None,
        )

    return AskedPlayer(player, name, at_once)


def _prompt(text: str, options_shown: bool, system: str) -> Prompt:
    try:
        return Prompt(text, options_shown, system)
    except ValueError as error:
        raise CommandError(f"this is not a prompt: {error}") from error


def _as_arguments(error: CommandError) -> CommandError:
    sentence = re.sub(r"--([a-z][a-z-]*)", lambda option: option[1].replace("-", "_"), str(error))
    return CommandError(sentence, error.status)


class AskedPlayer:
    """A player that asks, before it plays. It can play in several leagues and tournaments, one after the other."""

    def __init__(self, make: Callable[[], AskingPlayer], name: str, at_once: int) -> None:
        if at_once < 1:
            raise CommandError("at_once must be at least 1")
        self._make = make
        self._serving: _Serving | None = None
        self.at_once = at_once
        # Made once here, so that mistakes are found now, and not in the middle of a study.
        try:
            model = make().transport.model
        except CommandError as error:
            raise _as_arguments(error) from error
        self.__name__ = name or model
        """As of a class: tournaments take the names of strategies from it."""

    def entrant(self) -> Entrant:
        """Enter it in a league."""
        return entrant_of(self._make(), self.__name__)

    # --- in tournaments -----------------------------------------------------------------------------------------------

    @contextmanager
    def playing(self) -> Iterator[None]:
        """Be ready for the questions of a tournament as long as this lasts."""
        serving = _Serving(self._make())
        serving.start()
        self._serving = serving
        try:
            yield
        finally:
            self._serving = None
            serving.stop()

    def seat(self, experiment: str) -> SeatedMind:
        """Return the strategy for one series of matches; `experiment` tells it from all others."""
        assert self._serving is not None, "it is playing"
        return SeatedMind(self._serving, experiment)


class _Serving:
    """Runs an asking player in an event loop of its own."""

    def __init__(self, player: AskingPlayer) -> None:
        self._player = player
        self._ready: Future[asyncio.AbstractEventLoop] = Future()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)
        self._stopping = asyncio.Event()

    def start(self) -> None:
        """Connect. CommandError if it could never play."""
        # A daemon thread: a script that is interrupted must not hang at its end.
        self._thread.start()
        self._ready.result()

    def stop(self) -> None:
        self._ready.result().call_soon_threadsafe(self._stopping.set)
        self._thread.join()

    async def _serve(self) -> None:
        try:
            async with self._player.session():
                self._ready.set_result(asyncio.get_running_loop())
                await self._stopping.wait()
        except CommandError as error:
            self._ready.set_exception(_as_arguments(error))

    @property
    def model(self) -> str:
        return self._player.transport.model

    @property
    def given_up(self) -> str:
        """Why asking again cannot help, or has not helped for too long; empty as long as it may."""
        player = self._player
        if player.is_hopeless or player.declined >= OUTAGES:
            return player.failing
        return ""

    def choose(self, turn: Turn, experiment: str) -> Considered | NoChoice:
        """Ask, and wait for the answer in this thread."""
        asking = self._player.choose(turn, experiment)
        return asyncio.run_coroutine_threadsafe(asking, self._ready.result()).result()


@dataclass(slots=True)
class SeatedMind:
    """A strategy for one series of a tournament. It keeps what was said."""

    serving: _Serving
    experiment: str
    conversations: list[str] = field(default_factory=list)
    provenance: Provenance = field(default_factory=lambda: Provenance(choices=0))

    def choose(self, turn: Turn) -> str:
        """Return the choice. CommandError if there can be none: an outage must never look like a lost match."""
        detail = self.serving.given_up
        tries = 0
        while not detail:
            tries += 1
            value = self.serving.choose(turn, self.experiment)
            if value.conversation:
                self.conversations.append(value.conversation)
            if value.provenance is not None:
                self.provenance = self.provenance.plus(value.provenance)
            if isinstance(value, Considered):
                return value.choice
            detail = self.serving.given_up
            # A budget that is spent stays spent; and one question may fail while others are answered.
            if not value.is_outage or tries >= OUTAGES:
                detail = value.detail
        raise _as_arguments(CommandError(f"{self.serving.model} cannot play on: {detail}"))
