"""Text for terminals: tables, bars, and a league while it is played. What others wrote cannot upset them."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from textwrap import wrap
from typing import Any, TextIO

from league.terminal.display import Style, harmless, is_capable, paint, show, shown, width

GAP = "  "
SHORTEST_BAR = 10
LEAST_FOR_TWO_LINES = 40
"""In a terminal of fewer columns there is no bar."""
BLOCK_GAP = "    "


def plain(value: object) -> str:
    """A value as one line that leaves a terminal as it is."""
    return "–" if value is None else harmless(value)


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


MOST_NAMED = 10
STANDINGS = ("rank", "player", "name", "points", "played", "won", "drawn", "lost", "technical")
NAME = STANDINGS.index("name")
SHORTEST_NAME = 8
"""Names are not cut to less than this many columns."""


def render_standings(document: Mapping[str, Any], columns: int | None = None) -> list[str]:
    """The table of /api/standings, and the notes below it. Names are cut if the table is wider than `columns`."""
    return [*standings_table(document, columns), *map(plain, document["notes"])]


def standings_table(document: Mapping[str, Any], columns: int | None = None) -> list[str]:
    """The table of /api/standings alone."""
    numbers = ("points", "played", "wins", "draws", "losses")
    technical = document["technical_losses"]
    rows = []
    for row in document["standings"]:
        player_id = row["player_id"]
        name = plain(row["display_name"])
        rows.append([row["rank"], player_id, name, *(row[number] for number in numbers), technical[player_id]])
    lines = table(STANDINGS, rows)
    excess = 0
    if columns is not None:
        excess = width(lines[0]) - columns
    if excess > 0 and rows:
        longest = max(width(row[NAME]) for row in rows)
        for row in rows:
            row[NAME] = fit(row[NAME], max(SHORTEST_NAME, longest - excess))
        lines = table(STANDINGS, rows)
    return lines


def ending(document: Mapping[str, Any]) -> list[str]:
    """The champion, or that nobody won, by /api/standings; nothing until the league is over."""
    if document["ending"] is None:
        return []
    return [paint(plain(document["ending"]), Style.STRONG)]


def unverified(matches: Sequence[str]) -> str:
    """A note under a table: which of its results nothing proves."""
    named = ", ".join(map(plain, matches[:MOST_NAMED])) + (" …" if len(matches) > MOST_NAMED else "")
    return f"{counted(len(matches), 'result')} unverified, without a seed that proves the draw: {named}"


def title(league: Mapping[str, Any]) -> str:
    """The title of a league, or its id, by its /api/league."""
    return plain(league["title"] or league["league_id"])


def progress(league: Mapping[str, Any]) -> str:
    """How far a league is, by its /api/league."""
    reason = league["waiting_reason"]
    waiting = f", {league['waiting']}" + (f" ({reason})" if reason else "") if league["waiting"] else ""
    if not league["rounds"]:
        return f"waiting for registrations{waiting}"
    over = ", completed" if league["state"] == "LEAGUE_COMPLETED" else waiting
    return (
        f"round {league['round']} of {league['rounds']}, "
        f"{league['matches_completed']} of {league['matches_total']} matches{over}"
    )


# --- a league while it is played --------------------------------------------------------------------------------------


class Screen:
    """Whoever shows a league; this one shows nothing (for --json)."""

    def show(self, league: Mapping[str, Any], standings: Mapping[str, Any]) -> None:
        """The league as it is now, and its table (/api/league, /api/standings)."""

    def end(self) -> None:
        """There is nothing more to show."""


def screen_for(stream: TextIO) -> Screen:
    """What fits where the output goes."""
    return LiveScreen(stream) if is_capable(stream) else LineScreen(stream)


def _in_blocks(lines: Sequence[str], columns: int, room: int) -> list[list[str]]:
    """A table as one block, or as several that stand beside each other, if it is longer than there is room."""
    head, *rows = lines
    fitting = max(1, (columns + len(BLOCK_GAP)) // (max(map(width, lines)) + len(BLOCK_GAP)))
    rows_each = max(1, room - 1)
    if len(rows) <= rows_each or fitting == 1:
        return [list(lines)]
    blocks = []
    for number in range(fitting):
        part = rows[number * rows_each : (number + 1) * rows_each]
        if part:
            blocks.append([head, *part])
    # Rows that fit nowhere stay below the last block, where they are counted.
    blocks[-1] += rows[fitting * rows_each :]
    return blocks


def _total_width(blocks: Sequence[Sequence[str]]) -> int:
    widths = [max(map(width, block)) for block in blocks]
    return sum(widths) + len(BLOCK_GAP) * (len(widths) - 1)


def _side_by_side(blocks: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(width, block)) for block in blocks]
    lines = []
    for cells in zip_longest(*blocks, fillvalue=""):
        padded = [cell + " " * (columns - width(cell)) for cell, columns in zip(cells, widths, strict=True)]
        lines.append(BLOCK_GAP.join(padded).rstrip())
    return lines


class LineScreen(Screen):
    """One line whenever a round is over."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._shown = -1

    def show(self, league: Mapping[str, Any], standings: Mapping[str, Any]) -> None:
        finished = league["round"] - (league["state"] != "LEAGUE_COMPLETED")
        if finished > self._shown and league["rounds"]:
            self._shown = finished
            show(progress(league), self._stream)


class LiveScreen(Screen):
    """Progress bar, what is awaited, and the table, drawn over what was drawn before.

    If the table is longer than the terminal, it goes on beside itself as far as the width allows. Matches in play stand
    beside it if there is room, and otherwise above it, in one line.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._drawn = 0

    def show(self, league: Mapping[str, Any], standings: Mapping[str, Any]) -> None:
        size = shutil.get_terminal_size()
        columns = size.columns - 1
        bar_line, above = self._progress(league, columns)
        if league["title"]:
            above.append(title(league))
        awaited = [plain(sentence) for sentence in league["awaited"]]
        room = size.lines - 2 - len(bar_line) - len(above) - 1
        blocks = _in_blocks(standings_table(standings, columns), columns, room - len(awaited[:1]))
        beside = ["awaited", *awaited[: room - 1]]
        if len(awaited) > 1 and _total_width([*blocks, beside]) <= columns:
            blocks.append(beside)
        elif awaited:
            above.append(f"awaited: {'; '.join(awaited)}")
        body = [*_side_by_side(blocks), *map(plain, standings["notes"])]
        room = size.lines - 2 - len(bar_line) - len(above) - 1
        if len(body) > room:
            body = [*body[: room - 1], f"… and {len(body) - room + 1} more"]
        self._draw([*bar_line, *(fit(line, columns) for line in (*above, "", *body))])

    def _progress(self, league: Mapping[str, Any], columns: int) -> tuple[list[str], list[str]]:
        """The line with the bar, in colour, and the lines below it; either may be missing."""
        text = progress(league)
        beside_text = columns - width(text) - len(GAP)
        # A long reason has lines of its own: cut off, it would say nothing.
        bar_columns = columns
        if beside_text >= SHORTEST_BAR:
            bar_columns = beside_text
        drawn = shown(
            paint(bar(league["matches_completed"], league["matches_total"], bar_columns), Style.GOOD), self._stream
        )
        if beside_text >= SHORTEST_BAR:
            return [f"{drawn}{GAP}{text}"], []
        if columns < LEAST_FOR_TWO_LINES:
            return [], wrap(text, columns)
        return [drawn], wrap(text, columns)

    def _draw(self, lines: Sequence[str]) -> None:
        up = f"\x1b[{self._drawn}A" if self._drawn else ""
        self._stream.write(up + "".join(f"\x1b[2K{line}\n" for line in lines) + "\x1b[J")
        self._stream.flush()
        self._drawn = len(lines)

    def end(self) -> None:
        """The last picture is taken away: what follows says it all."""
        if self._drawn:
            self._stream.write(f"\x1b[{self._drawn}A\x1b[J")
            self._stream.flush()
            self._drawn = 0
