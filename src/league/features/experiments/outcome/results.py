"""The views of a tournament's results for scripts and notebooks: rows, ratings, data frames and HTML.

All views are made of the tournament's document and of the rows of its matches, and change neither. Rows are made when
somebody asks for them, because a tournament may have millions of matches.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from html import escape
from importlib import import_module
from importlib.util import find_spec
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final, Literal, overload

from league.features.experiments.outcome.result_text import standings_cells, standings_head, tournament_lines
from league.terminal import CommandError

if TYPE_CHECKING:
    from league.features.statistics.findings import PlayerRating

Row = dict[str, Any]
TableName = Literal["matches", "pairs", "standings", "ratings"]
TABLES: Final = ("matches", "pairs", "standings", "ratings")


class MatchRows(Sequence[Row]):
    """The rows of all matches, pair after pair. A row is made when it is asked for."""

    def __init__(self, lengths: Iterable[int], make_row: Callable[[int, int], Row]) -> None:
        # The number of the first match of each pair, and at the end the number of all matches.
        self._starts = [0, *accumulate(lengths)]
        self._make_row = make_row

    def __len__(self) -> int:
        return self._starts[-1]

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> list[Row]: ...
    def __getitem__(self, index: int | slice) -> Row | list[Row]:
        numbers = range(len(self))[index]
        if isinstance(numbers, range):
            return [self._row(number) for number in numbers]
        return self._row(numbers)

    def _row(self, number: int) -> Row:
        pair = bisect_right(self._starts, number) - 1
        return self._make_row(pair, number - self._starts[pair])


class ResultViews:
    """What a result shows of itself. A result has a document, and rows of its matches."""

    __slots__ = ()

    document: dict[str, Any]

    @property
    def matches(self) -> Sequence[Row]:
        """A row for each match, as in `matches.csv`."""
        raise NotImplementedError

    @property
    def standings(self) -> list[Row]:
        """A row for each strategy, the best one first."""
        rows: list[Row] = self.document["standings"]
        return rows

    @property
    def pairs(self) -> list[Row]:
        """A row for each pair of strategies; its numbers are those of the first one."""
        rows: list[Row] = self.document["pairs"]
        return rows

    def ratings(self) -> list[Row]:
        """Return the rating of each strategy with its 95 % interval, the best one first.

        Ratings are Elo points with an average of 1500. In a game that is scored by its margin, the rating is the
        average return of a match. LeagueError if NumPy is needed and not installed.
        """
        if "return_per_match" in self.standings[0]:
            return [_return_row(row) for row in self.standings]
        from league.features.statistics import analysis, tournaments

        if find_spec("numpy") is None:
            raise CommandError(analysis.NO_NUMPY)
        tournament = tournaments.read(self.document)
        table = analysis.rate(tournaments.observe(tournament, tournament.game))
        return [_rating_row(player) for player in table.players]

    def statistics(self) -> dict[str, Any]:
        """Return ratings or points with intervals, who is tied and what is luck, as `league statistics --json` does."""
        from league.features.statistics import analysis, tournaments

        tournament = tournaments.read(self.document)
        return analysis.document(tournaments.statistics(tournament, tournament.game))

    def to_pandas(self, table: TableName = "matches") -> Any:
        """Return a table as a DataFrame of pandas: "matches", "pairs", "standings" or "ratings"."""
        return self._frame("pandas", table)

    def to_polars(self, table: TableName = "matches") -> Any:
        """Return a table as a DataFrame of Polars: "matches", "pairs", "standings" or "ratings"."""
        return self._frame("polars", table)

    def _frame(self, library: str, table: str) -> Any:
        # Any: neither library is a dependency, so type checkers may not know its DataFrame.
        if table not in TABLES:
            raise CommandError(f"there is no table {table!r}; choose one of {', '.join(TABLES)}")
        if find_spec(library) is None:
            raise CommandError(f"{library} is not installed: pip install {library}")
        # All tables but the ratings are there already.
        rows = self.ratings() if table == "ratings" else getattr(self, table)
        return import_module(library).DataFrame(columns(rows))

    def __repr__(self) -> str:
        """Show the result as `league tournament` does: thousands of fields would not help anybody who prints it."""
        return "\n".join(tournament_lines(self.document))

    def _repr_html_(self) -> str:
        """Show the standings in a notebook."""
        document = self.document
        if "shard" in document:
            return escape(repr(self))
        lines = [_html_row("th", standings_head(self.standings[0]))]
        lines += [_html_row("td", standings_cells(row)) for row in self.standings]
        sentences = [f"{document['matches']} matches of {document['game']}, seed {document['seed']}"]
        caption = "; ".join([*sentences, *document["notes"]])
        return f"<table><caption>{escape(caption)}</caption>{''.join(lines)}</table>"


def columns(rows: Iterable[Row]) -> dict[str, list[Any]]:
    """Return the columns of a table."""
    table: dict[str, list[Any]] = {}
    for row in rows:
        for name, value in flat(row).items():
            table.setdefault(name, []).append(value)
    return table


def flat(row: Row) -> Row:
    """Return a row for a table: an interval has two columns of its own, and tables within the row are left out."""
    values: Row = {}
    for name, value in row.items():
        if name.endswith("interval"):
            low, high = value or (None, None)
            values[f"{name}_low"] = low
            values[f"{name}_high"] = high
        elif name == "tied_with":
            values[name] = ", ".join(value)
        elif not isinstance(value, list):
            values[name] = value
    return values


def _rating_row(player: PlayerRating) -> Row:
    record = player.record
    interval = player.interval or (None, None)
    best, worst = player.rank_range or (None, None)
    return {
        "strategy": record.player_id,
        "rating": player.rating,
        "interval": list(interval),
        "best_rank": best,
        "worst_rank": worst,
        "first": player.first,
        "tied_with": list(player.tied_with),
        "rated_matches": record.played,
    }


def _return_row(row: Row) -> Row:
    return {
        "strategy": row["strategy"],
        "rating": row["return_per_match"],
        "interval": row["return_interval"],
        "rated_matches": row["played"],
    }


def _html_row(cell: str, values: Iterable[object]) -> str:
    cells = "".join(f"<{cell}>{escape(str(value))}</{cell}>" for value in values)
    return f"<tr>{cells}</tr>"
