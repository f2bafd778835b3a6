"""How much a model may cost: a budget in tokens and in money, and the prices that the user states."""

from __future__ import annotations

import math
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from league.features.minds.asked.transports import Usage
from league.terminal import USAGE, CommandError

A_MILLION: Final = 1_000_000


class Price(NamedTuple):
    """The price of a million tokens, in whatever currency the user counts."""

    prompt: float
    completion: float

    def of(self, usage: Usage) -> float:
        return (self.prompt * usage.prompt + self.completion * usage.completion) / A_MILLION


@dataclass(slots=True)
class Budget:
    """What a player has spent in a league or a tournament, and the most it may spend. A turn may go a little beyond."""

    max_tokens: int | None = None
    max_cost: float | None = None
    price: Price | None = None
    tokens: int = 0
    cost: float = 0.0
    _stated_tokens: int = 0

    def remember(self, tokens: int, cost: float) -> None:
        """Take note of what the player's journal says was spent before."""
        # A smaller sum than before means that another league has begun.
        if tokens < self._stated_tokens:
            self.tokens = tokens
            self.cost = cost
        self._stated_tokens = tokens
        self.tokens = max(self.tokens, tokens)
        self.cost = max(self.cost, cost)

    def spend(self, usage: Usage) -> float:
        """Add a request, and return what it cost."""
        cost = self.price.of(usage) if self.price else 0.0
        self.tokens += usage.total
        self.cost += cost
        return cost

    @property
    def exhausted(self) -> str:
        """Why nothing more may be spent; empty while it may."""
        if self.max_tokens is not None and self.tokens >= self.max_tokens:
            return f"the spending cap of {self.max_tokens} tokens (--max-tokens) is reached"
        if self.max_cost is not None and self.cost >= self.max_cost:
            return f"the spending cap of {self.max_cost:g} (--max-cost) is reached"
        return ""


def price_in(file: str, model: str) -> Price:
    """Read the price of a model from a TOML file. CommandError if it is not there."""
    try:
        table: dict[str, Any] = tomllib.loads(Path(file).read_text("utf-8"))
    except OSError as error:
        raise CommandError(f"cannot read {file}: {error.strerror}", USAGE) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise CommandError(f"{file} is not TOML: {error}", USAGE) from error
    row = table.get(model)
    if not isinstance(row, dict):
        raise CommandError(f'{file} has no table ["{model}"] with the price of this model', USAGE)
    return Price(_amount(file, model, row, "prompt"), _amount(file, model, row, "completion"))


def _amount(file: str, model: str, row: dict[str, Any], name: str) -> float:
    amount = row.get(name)
    # To Python, true is a number.
    if isinstance(amount, int | float) and not isinstance(amount, bool) and 0 <= amount < math.inf:
        return float(amount)
    raise CommandError(f'{file}: {name} in ["{model}"] must be the price of a million tokens', USAGE)
