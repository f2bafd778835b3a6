"""`league player --ask`: makes a player that asks a model, a program or an MCP server, from what the user wrote."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Final

from league.agent.sources import Clock
from league.features.minds.asked import mcp_server
from league.features.minds.asked.a2a_agent import AskedAgent
from league.features.minds.asked.chat import ProviderOfModels, request_fields
from league.features.minds.asked.program import AnsweringProgram
from league.features.minds.asked.transports import Transport
from league.features.minds.asking import AskingPlayer, Time
from league.features.minds.cache import AnswerCache
from league.features.minds.model_options import ModelOptions
from league.features.minds.prompts import PROMPT, Prompt
from league.features.minds.spending import Budget, Price, price_in
from league.games import registry
from league.hosting.member.players import Entrant
from league.hosting.settings.player_options import PlayerOptions
from league.protocol.message.experiment import written
from league.terminal import USAGE, CommandError

CORRECTIONS: Final = 1
"""How often a player asks again after an answer without a legal choice."""
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._:/-]{0,39}")


def entrant(options: PlayerOptions) -> Entrant:
    """Make a player whose choices somebody else makes."""
    model_options = ModelOptions.of(options)
    clock = Clock(options.time_scale)

    async def sleep(seconds: float) -> None:
        await asyncio.sleep(seconds / options.time_scale)

    player = AskingPlayer(
        transport=_transport(model_options),
        prompt=_prompt(model_options),
        corrections=CORRECTIONS,
        time=Time(clock.now, sleep, options.time_scale),
        rules=registry.rules_text,
        budget=_budget(model_options),
        cache=AnswerCache(model_options.cache) if model_options.cache else None,
        temperature=model_options.temperature,
        request=model_options.request,
    )
    return entrant_of(player)


def entrant_of(player: AskingPlayer, name: str = "") -> Entrant:
    """Enter a player that asks."""
    return Entrant(
        player,
        title_of(player.transport.model),
        name=name,
        conditions=written(player.conditions),
        session=player.session,
    )


def title_of(model: str) -> str:
    """Return the default name of a player with this model."""
    # Names of models may be longer than names of players, or contain other characters.
    return model if _NAME.fullmatch(model) else "Model"


def transport_for(spec: str, tool: str = "") -> Transport | None:
    """Return the transport that a text names, such as exec:COMMAND; None if it names a model or nothing we know."""
    kind, _, rest = spec.partition(":")
    if kind == "exec":
        return AnsweringProgram(rest)
    if kind == "mcp":
        return mcp_server.server_started_by(rest, tool)
    if kind in ("mcp+http", "mcp+https"):
        return mcp_server.server_at(spec.removeprefix("mcp+"), tool)
    if kind in ("a2a+http", "a2a+https"):
        return AskedAgent(spec.removeprefix("a2a+"))
    return None


def _transport(model_options: ModelOptions) -> Transport:
    spec = model_options.ask
    transport = transport_for(spec, model_options.tool)
    if transport is not None:
        return transport
    model = model_options.model
    if spec:
        kind, _, model = spec.partition(":")
        if kind != "llm" or not model:
            raise CommandError(
                f"--ask: {spec!r} is not llm:MODEL, exec:COMMAND, mcp:COMMAND, mcp+http(s)://… or a2a+http(s)://…",
                USAGE,
            )
    if not (model_options.base_url and model):
        needed = "--base-url" if spec else "--base-url and --model"
        raise CommandError(f"{'--ask llm' if spec else '--strategy llm'} needs {needed}", USAGE)
    return ProviderOfModels(
        model,
        model_options.base_url,
        temperature=model_options.temperature,
        more=request_fields(model_options.request),
    )


def _prompt(options: ModelOptions) -> Prompt:
    try:
        prompt = Path(options.prompt).read_text("utf-8") if options.prompt else PROMPT
        system = Path(options.system).read_text("utf-8") if options.system else ""
        return Prompt(prompt, system=system)
    except OSError as error:
        raise CommandError(f"cannot read {error.filename}: {error.strerror}", USAGE) from error
    except ValueError as error:
        raise CommandError(f"{options.prompt or options.system} is not a prompt: {error}", USAGE) from error


def _budget(options: ModelOptions) -> Budget:
    model = options.model or options.ask.removeprefix("llm:")
    price: Price | None = None
    if options.prices:
        price = price_in(options.prices, model)
    elif options.max_cost is not None:
        raise CommandError("--max-cost needs --prices FILE, with the price of the model", USAGE)
    return Budget(options.max_tokens, options.max_cost, price)
