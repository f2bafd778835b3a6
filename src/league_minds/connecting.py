"""`league player --ask`: makes a player that asks a model, a program or an MCP server, from what the user wrote."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Final

from league.agent.sources import Clock
from league.games import registry
from league.hosting.player_options import PlayerOptions
from league.hosting.players import Entrant
from league.hosting.serving import trusted
from league.protocol.experiment import written
from league.terminal import USAGE, CommandError
from league_minds import mcp_server
from league_minds.asking import AskingPlayer, Time
from league_minds.cache import AnswerCache
from league_minds.chat import ProviderOfModels
from league_minds.model_options import ModelOptions
from league_minds.program import AnsweringProgram
from league_minds.prompts import PROMPT, Prompt
from league_minds.spending import Budget, Price, price_in
from league_minds.transports import Transport

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._:/-]{0,39}")


def entrant(options: PlayerOptions) -> Entrant:
    """Make a player whose choices somebody else makes."""
    model_options = ModelOptions.of(options)
    clock = Clock(options.time_scale)

    async def sleep(seconds: float) -> None:
        await asyncio.sleep(seconds / options.time_scale)

    player = AskingPlayer(
        transport=_transport(model_options, options),
        prompt=_prompt(model_options),
        corrections=model_options.corrections,
        time=Time(clock.now, sleep, options.time_scale),
        rules=registry.rules_text,
        budget=_budget(model_options),
        cache=AnswerCache(model_options.cache) if model_options.cache else None,
        temperature=model_options.temperature,
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
    return None


def _transport(model_options: ModelOptions, options: PlayerOptions) -> Transport:
    spec = model_options.ask
    transport = transport_for(spec, model_options.tool)
    if transport is not None:
        return transport
    model = model_options.model
    if spec:
        kind, _, model = spec.partition(":")
        if kind != "llm" or not model:
            raise CommandError(
                f"--ask: {spec!r} is not llm:MODEL, exec:COMMAND, mcp:COMMAND, mcp+http://… or mcp+https://…", USAGE
            )
    if not (model_options.base_url and model):
        needed = "--base-url" if spec else "--base-url and --model"
        raise CommandError(f"{'--ask llm' if spec else '--strategy llm'} needs {needed}", USAGE)
    return ProviderOfModels(
        model,
        model_options.base_url,
        temperature=model_options.temperature,
        tls=trusted(options),
    )


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


def _budget(options: ModelOptions) -> Budget:
    model = options.model or options.ask.removeprefix("llm:")
    price: Price | None = None
    if options.prices:
        price = price_in(options.prices, model)
    elif options.max_cost is not None:
        raise CommandError("--max-cost needs --prices FILE, with the price of the model", USAGE)
    return Budget(options.max_tokens, options.max_cost, price)
