"""Pictures of results, with matplotlib (the extra `plot`): ratings with their intervals, a heat map of pairs, and the
difference that a comparison found.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

from league.terminal import CommandError

NO_MATPLOTLIB: Final = "matplotlib is not installed: pip install 'agent-league[plot]'"
WIDTH: Final = 10.0
ROW: Final = 0.35
"""Inches."""


def tournament_figure(
    document: Mapping[str, Any], ratings: Sequence[Mapping[str, Any]], shares: Mapping[tuple[str, str], float]
) -> Any:
    """Return the ratings with 95 % intervals, and beside them the share of points of each against each other."""
    rated = [row for row in ratings if row["rating"] is not None]
    by_margin = "return_per_match" in document["standings"][0]
    height = 2 + ROW * len(document["standings"])
    figure, (left, right) = _subplots(2, height)
    _draw_intervals(left, [row["strategy"] for row in rated], [row["rating"] for row in rated], rated)
    left.set_xlabel("return per match, 95 % interval" if by_margin else "rating, 95 % interval")
    _draw_pairs(figure, right, [row["strategy"] for row in document["standings"]], shares)
    figure.suptitle(f"{document['matches']} matches of {document['game']}")
    return figure


def comparison_figure(document: Mapping[str, Any]) -> Any:
    """Return the difference that was found with its interval, and the two it was held against."""
    figure, axes = _subplots(1, 2.5)
    _draw_intervals(axes, [f"{document['new']} – {document['old']}"], [document["elo"]], [document])
    for name in ("elo0", "elo1"):
        axes.axvline(document[name], linestyle="--", color="0.5")
        axes.annotate(name, (document[name], 0.4), rotation=90, ha="right", color="0.4")
    axes.set_xlabel("Elo difference, 95 % interval")
    axes.set_title(f"{document['decision']} after {document['matches']} matches of {document['game']}")
    return figure


def require_matplotlib() -> None:
    if find_spec("matplotlib") is None:
        raise CommandError(NO_MATPLOTLIB)


def _subplots(count: int, height: float) -> tuple[Any, Any]:
    pyplot = import_module("matplotlib.pyplot")
    figure, axes = pyplot.subplots(1, count, figsize=(WIDTH, height), layout="constrained")
    # Whoever gets the figure shows it: a notebook would show an open one twice.
    pyplot.close(figure)
    return figure, axes


def _draw_intervals(
    axes: Any, names: Sequence[str], values: Sequence[float], rows: Sequence[Mapping[str, Any]]
) -> None:
    """Draw a value and its interval for each name, the first one on top."""
    for place, (value, row) in enumerate(zip(values, rows, strict=True)):
        low, high = row["interval"] or (value, value)
        # Results may set no limit to one side: a triangle points there.
        marker = "<" if low is None else ">" if high is None else "o"
        ends = [value if end is None else end for end in (low, high)]
        axes.plot(ends, [place, place], color="tab:blue", linewidth=2)
        axes.plot([value], [place], marker, color="tab:blue")
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.grid(axis="x", alpha=0.3)


def _draw_pairs(figure: Any, axes: Any, names: Sequence[str], shares: Mapping[tuple[str, str], float]) -> None:
    """Draw a cell for each strategy (row) against each other one (column)."""
    cells = [[shares.get((first, second), math.nan) for second in names] for first in names]
    image = axes.imshow(cells, cmap="viridis", vmin=0, vmax=1)
    for (first, second), share in shares.items():
        box = {"facecolor": "white", "alpha": 0.6, "edgecolor": "none", "pad": 1}
        place = (names.index(second), names.index(first))
        axes.text(*place, f"{share:.2f}", ha="center", va="center", fontsize=8, bbox=box)
    axes.set_xticks(range(len(names)), names, rotation=45, ha="right")
    axes.set_yticks(range(len(names)), names)
    figure.colorbar(image, ax=axes, label="wins and half of the draws, of the row")
