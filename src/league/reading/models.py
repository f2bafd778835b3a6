"""Play by language models: under which conditions, how much of it was the model's own, and whether it may be rated
(spec section 8.17)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from league.manager.league_manager import LeagueManager
from league.manager.state.ledger import ModelChoices
from league.manager.state.roster import Member
from league.protocol.message.experiment import Conditions

MOST_FALLBACKS: Final = 0.2
MOST_PROVIDER_ERRORS: Final = 0.1
"""A player with larger shares of such choices is not rated."""


@dataclass(frozen=True, slots=True)
class ModelPlay:
    """How a language model played for a player, by the player's own account (spec section 8.17)."""

    player_id: str
    display_name: str
    conditions: tuple[Conditions, ...]
    """The newest come last; there are several if they were changed."""
    choices: int
    fallbacks: int
    """Choices that the player made without the model."""
    provider_errors: int
    """Choices for which its provider failed."""
    declined: int
    """Choices that were not made at all because its provider failed."""
    tokens: int
    tokens_estimated: int
    """The part of them that the provider did not report."""
    thinking_s: float
    """The average time for a choice, without waiting for rate limits."""
    waited_s: float
    """The total time of waiting for rate limits."""
    not_rated: str
    """Why the player is not rated; empty if it is."""


def models(manager: LeagueManager) -> tuple[ModelPlay, ...]:
    """The play of every player that says it leaves its choices to a language model."""
    plays = (model_play(manager, player) for player in manager.ledger.roster.of_role("player"))
    return tuple(play for play in plays if play is not None)


def model_play(manager: LeagueManager, player: Member) -> ModelPlay | None:
    """How a language model played for this player; None if the player does not use one."""
    total = manager.ledger.sums.models.get(player.agent_id, ModelChoices())
    lost = player.attendance.declined + total.lost
    if not player.conditions and not total.choices:
        return None
    # A declined choice appears in no referee's report, but the provider failed in it, too.
    choices = total.choices + lost
    errors = total.provider_errors + lost
    thinking_s = 0.0
    if total.choices:
        thinking_s = round(total.thinking_s / total.choices, 3)
    return ModelPlay(
        player_id=player.agent_id,
        display_name=player.name.display_name,
        conditions=player.conditions,
        choices=choices,
        fallbacks=total.fallbacks,
        provider_errors=errors,
        declined=lost,
        tokens=total.tokens,
        tokens_estimated=total.tokens_estimated,
        thinking_s=thinking_s,
        waited_s=round(total.waited_s, 3),
        not_rated=why_not_rated(choices, total.fallbacks, errors, len(player.conditions)),
    )


def why_not_rated(choices: int, fallbacks: int, errors: int, conditions: int = 1) -> str:
    """Return why a model is not rated, in a league or a tournament; empty if it is."""
    return "; ".join(_objections(choices, fallbacks, errors, conditions))


def _objections(choices: int, fallbacks: int, errors: int, conditions: int) -> Iterator[str]:
    # A rating of such a player would be one of its fallback, of its provider, or of two models at once.
    if fallbacks > MOST_FALLBACKS * choices:
        yield f"{fallbacks / choices:.0%} of its choices are not the model's"
    if errors > MOST_PROVIDER_ERRORS * choices:
        yield f"its provider failed in {errors / choices:.0%} of its choices"
    if conditions > 1:
        yield "its conditions were changed during the league"
