"""The options of a player, with those of the strategies of our features."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from league import rows
from league.hosting.settings.options import FLAG, STANDBY, TEXT, WHOLE, MemberOptions, Option, option, options_in
from league.rows import StrategyRow


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class PlayerOptions(MemberOptions):
    """The options of a player."""

    role: ClassVar[str] = "player"
    usual_port: ClassVar[int] = 8101
    useful: ClassVar[tuple[str, ...]] = ("manager", "strategy", "name", "port", "count")

    game: str = option(
        TEXT, "", "the game to play (default: the player's own, otherwise the league's)", placeholder="NAME"
    )
    strategy: str = option(
        TEXT,
        "random",
        "a built-in strategy, or module:Class; several, separated by commas, take turns",
        placeholder="NAME|module:Class",
    )
    standby: bool = option(FLAG, False, STANDBY, only_in_file=True)
    seed: int | None = option(WHOLE, None, "make the choices of random strategies repeatable")
    more: Mapping[str, Any] = field(default_factory=lambda: PlayerOptions.of_strategies({}))
    """The options of features' strategies, by name (Any: each has its own type)."""

    @classmethod
    def more_options(cls) -> Iterator[Option]:
        """The options of our features' strategies: each row names the class that declares them."""
        for row in rows.own(StrategyRow):
            if row.options:
                yield from options_in(rows.load(row.options), (cls.role,))

    @classmethod
    def completed(cls, values: dict[str, Any]) -> dict[str, Any]:
        """Move the options of strategies into a mapping of their own. One of them may also choose the strategy."""
        more = cls.of_strategies(values)
        completed = {name: value for name, value in values.items() if name not in more}
        for row in rows.own(StrategyRow):
            if row.chosen_by in values:
                completed.setdefault("strategy", row.name)
        return {**completed, "more": more}

    @classmethod
    def of_strategies(cls, values: Mapping[str, Any]) -> dict[str, Any]:
        """The options of strategies, with their defaults where no value is given."""
        return {row.name: values.get(row.name, row.default) for row in cls.more_options()}
