"""Tables, bars and other text for terminals; what others wrote cannot upset them."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

GAP = "  "


def plain(value: object) -> str:
    """A value as one line that leaves a terminal as it is."""
    if value is None:
        return "–"
    return "".join(char if char.isprintable() else "�" for char in str(value))


def width(text: str) -> int:
    """How many columns a text takes."""
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text
    )


def fit(text: str, columns: int) -> str:
    """The text in at most so many columns."""
    if width(text) <= columns:
        return text
    kept = ""
    for char in text:
        if width(kept + char) >= columns:
            break
        kept += char
    return f"{kept}…" if columns > 0 else ""


def counted(number: int, what: str) -> str:
    """1 match, 2 matches."""
    ending = "" if number == 1 else "es" if what.endswith(("ch", "ss")) else "s"
    return f"{number} {what}{ending}"


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> list[str]:
    """Aligned lines: numbers to the right, everything else to the left."""
    texts = [[plain(cell) for cell in row] for row in rows]
    right = [bool(rows) and all(type(row[at]) in (int, float) for row in rows) for at in range(len(head))]
    widths = [max(width(row[at]) for row in (list(head), *texts)) for at in range(len(head))]
    return [_line(row, widths, right) for row in (list(head), *texts)]


def _line(cells: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    padded = []
    for cell, columns, to_the_right in zip(cells, widths, right, strict=True):
        blanks = " " * (columns - width(cell))
        padded.append(blanks + cell if to_the_right else cell + blanks)
    return GAP.join(padded).rstrip()


def bar(done: int, total: int, columns: int) -> str:
    """How far something is, as a bar."""
    filled = columns * done // total if total else 0
    return "█" * filled + "░" * (columns - filled)


STANDINGS = ("rank", "player", "name", "points", "played", "won", "drawn", "lost")


def standings_rows(rows: Sequence[dict[str, object]]) -> list[list[object]]:
    """Rows of LEAGUE_STANDINGS_UPDATE as cells under STANDINGS."""
    names = ("rank", "player_id", "display_name", "points", "played", "wins", "draws", "losses")
    return [[row.get(name) for name in names] for row in rows]


def progress(league: Mapping[str, Any]) -> str:
    """How far a league is, by its /api/league."""
    waiting = f", {league['waiting']}" if league["waiting"] else ""
    if not league["rounds"]:
        return f"waiting for registrations{waiting}"
    over = ", completed" if league["state"] == "LEAGUE_COMPLETED" else waiting
    return (
        f"round {league['round']} of {league['rounds']}, "
        f"{league['matches_completed']} of {league['matches_total']} matches{over}"
    )
