"""The results of tournaments and comparisons in words: the same for the terminal, for `print` and for notebooks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from league.terminal import tables as terminal

Document = dict[str, Any]

HEAD: Final = ("strategy", "played", "won", "drawn", "lost", "technical", "points/match", "95 % interval")
NOT_RATED: Final = "not rated"
COUNTS: Final = ("played", "wins", "draws", "losses", "technical_losses")
MOST_FAILURES: Final = 10
DECISIONS: Final = {
    "better": "{new} is better than {old}.",
    "not_better": "{new} is not better than {old}: a gain of {elo1:g} Elo is ruled out.",
    "undecided": "Undecided: these matches do not tell a gain of {elo1:g} Elo from one of {elo0:g}.",
}


def standings_head(row: Document) -> list[str]:
    """Return the names of the cells of a strategy: a game that is scored by its margin shows returns."""
    if "return_per_match" not in row:
        return list(HEAD)
    return ["return/match" if name == "points/match" else name for name in HEAD]


def standings_cells(row: Document) -> list[object]:
    """Return the cells of a strategy, as `standings_head` names them."""
    name = f"{row['strategy']} ({NOT_RATED})" if row["not_rated"] else row["strategy"]
    cells = [name, *(row[count] for count in COUNTS)]
    if row["interval"] is None:
        return [*cells, None, None]
    mean, (low, high) = row["points_per_match"], row["interval"]
    if "return_per_match" in row:
        mean, (low, high) = row["return_per_match"], row["return_interval"]
    return [*cells, f"{mean:.3f}", f"{low:.3f} … {high:.3f}"]


def tournament_lines(document: Document) -> Iterator[str]:
    """Yield the table of a tournament and whatever a reader must know about it. A shard has no table."""
    if "shard" in document:
        yield f"shard {document['shard']}: {document['series']} series, {document['matches']} matches"
        yield "When all shards are played, put them together: league merge DIR… --to DIR"
        return
    standings = document["standings"]
    yield from terminal.table(standings_head(standings[0]), list(map(standings_cells, standings)))
    matches = document["matches"]
    yield f"\n{matches} matches of {document['game']} in {document['seconds']:.1f} s, seed {document['seed']}"
    if document["game"] == "even_odd":
        yield "In Even/Odd the number decides: differences within the intervals are luck."
    yield from document["notes"]
    if document["not_repeatable"]:
        yield f"Not repeatable, so the same seed gives other results: {', '.join(document['not_repeatable'])}"
    yield from _failure_lines(document)


def not_rated_note(name: str, reason: str) -> str:
    return f"{name} is {NOT_RATED}: {reason}. Its matches count for nobody."


def result_notes(document: Document) -> Iterator[str]:
    """Yield what readers of the numbers must know: which matches count for nothing, and which count once."""
    for row in document["standings"]:
        if row["not_rated"]:
            yield not_rated_note(row["strategy"], row["not_rated"])
    matches = document["matches"]
    distinct = document["distinct_matches"]
    if distinct < matches:
        yield (
            f"Only {distinct} of {matches} matches differ. The others repeat a match, move for move, and intervals "
            "count it once: --openings shows more."
        )


def comparison_lines(document: Document) -> Iterator[str]:
    """Yield the answer of a comparison and the matches that it rests on."""
    yield DECISIONS[document["decision"]].format(**document)
    low, high = document["interval"]
    matches = document["matches"]
    yield f"The difference is {document['elo']:+.0f} Elo in {matches} matches (95 %: {low:+.0f} to {high:+.0f})."
    distinct = document["distinct_matches"]
    if distinct < matches:
        yield f"Only {distinct} of them say something new. The others repeat a match, move for move."
    yield f"{document['game']}, {document['openings']} openings, seed {document['seed']}"
    yield from document["notes"]
    yield from _failure_lines(document)


def _failure_lines(document: Document) -> Iterator[str]:
    for failure in document["failures"][:MOST_FAILURES]:
        # The text of an exception may hold anything, so it is made harmless.
        yield terminal.plain(f"{failure['strategy']} failed {failure['times']} times: {failure['failure']}")
