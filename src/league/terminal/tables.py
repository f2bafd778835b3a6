"""Text for terminals: tables, bars, and a live view of a league. Text by others is made harmless first."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from typing import Any, TextIO

from league.terminal.display import Style, harmless, is_capable, paint, show, shown, width

GAP = "  "
BAR_COLUMNS = 30


def plain(value: object) -> str:
    """A value as one line that does no harm to a terminal."""
    return "–" if value is None else harmless(value)


def fit(text: str, columns: int) -> str:
    """The text, cut off to fit into this many columns."""
    if width(text) <= columns:
        return text
    if columns <= 0:
        return ""
    beginning = ""
    for char in text:
        # One column is left for the ellipsis.
        if width(beginning + char) >= columns:
            break
        beginning += char
    return f"{beginning}…"


def counted(number: int, noun: str) -> str:
    """A number and its noun: 1 match, 2 matches."""
    if number == 1:
        return f"1 {noun}"
    if noun.endswith(("ch", "ss")):
        return f"{number} {noun}es"
    return f"{number} {noun}s"


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> list[str]:
    """Aligned lines: columns of numbers to the right, all others to the left."""
    texts = [list(head)]
    texts += [[plain(cell) for cell in row] for row in rows]
    # The text of a number does not tell whether it is one, so the values themselves decide.
    widths = []
    are_numbers = []
    for column in range(len(head)):
        widths.append(max(width(row[column]) for row in texts))
        are_numbers.append(bool(rows) and all(type(row[column]) in (int, float) for row in rows))
    return [_line(row, widths, are_numbers) for row in texts]


def _line(cells: Sequence[str], widths: Sequence[int], are_numbers: Sequence[bool]) -> str:
    padded = []
    for cell, columns, is_number in zip(cells, widths, are_numbers, strict=True):
        blanks = " " * (columns - width(cell))
        if is_number:
            padded.append(blanks + cell)
        else:
            padded.append(cell + blanks)
    return GAP.join(padded).rstrip()


def bar(done: int, total: int, columns: int) -> str:
    """A bar that shows how much is done."""
    filled = 0
    if total:
        filled = columns * done // total
    return "█" * filled + "░" * (columns - filled)


MOST_NAMED = 10
STANDINGS = ("rank", "player", "name", "points", "played", "won", "drawn", "lost", "technical")
STANDINGS_FIELDS = ("rank", "player_id", "display_name", "points", "played", "wins", "draws", "losses")


def render_standings(document: Mapping[str, Any]) -> list[str]:
    """The table of /api/standings."""
    technical_losses = document["technical_losses"]
    rows = []
    for standing in document["standings"]:
        row = [standing[name] for name in STANDINGS_FIELDS]
        row.append(technical_losses[standing["player_id"]])
        rows.append(row)
    return table(STANDINGS, rows)


def champion(row: Mapping[str, Any]) -> str:
    """A line that names the champion, made from the first row of the final table."""
    return paint(f"Champion: {row['display_name']} ({row['player_id']}), {row['points']} points", Style.STRONG)


def unverified(matches: Sequence[str]) -> str:
    """A note under a table that names its unverified results."""
    names = ", ".join(map(plain, matches[:MOST_NAMED]))
    if len(matches) > MOST_NAMED:
        names += " …"
    return f"{counted(len(matches), 'result')} unverified, without a seed that proves the draw: {names}"


def progress(league: Mapping[str, Any]) -> str:
    """The progress of a league in words, from its /api/league."""
    waiting = ""
    if league["waiting"]:
        waiting = f", {league['waiting']}"
        reason = league["waiting_reason"]
        if reason:
            waiting += f" ({reason})"
    if not league["rounds"]:
        return f"waiting for registrations{waiting}"
    ending = ", completed" if league["state"] == "LEAGUE_COMPLETED" else waiting
    return (
        f"round {league['round']} of {league['rounds']}, "
        f"{league['matches_completed']} of {league['matches_total']} matches{ending}"
    )


# --- a league while it is played --------------------------------------------------------------------------------------


class Screen:
    """Shows a league while it is played. This one shows nothing (for --json)."""

    def show(self, league: Mapping[str, Any], standings: Mapping[str, Any]) -> None:
        """Show the league and its table, as in /api/league and /api/standings."""

    def end(self) -> None:
        """Clean up after the last picture."""


def screen_for(stream: TextIO) -> Screen:
    """The screen that suits a stream."""
    if is_capable(stream):
        return LiveScreen(stream)
    return LineScreen(stream)


class LineScreen(Screen):
    """Prints one line whenever a round is over."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._printed_round = -1

    def show(self, league: Mapping[str, Any], standings: Mapping[str, Any]) -> None:
        if not league["rounds"]:
            return
        finished = league["round"]
        if league["state"] != "LEAGUE_COMPLETED":
            finished -= 1
        if finished > self._printed_round:
            self._printed_round = finished
            show(progress(league), self._stream)


class LiveScreen(Screen):
    """Draws a progress bar and the table, each time over the last picture."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._drawn_lines = 0

    def show(self, league: Mapping[str, Any], standings: Mapping[str, Any]) -> None:
        size = shutil.get_terminal_size()
        columns = min(BAR_COLUMNS, size.columns // 3)
        progress_bar = bar(league["matches_completed"], league["matches_total"], columns)
        lines = [f"{progress_bar}  {progress(league)}", "", *render_standings(standings)]
        # A picture as high as the terminal would scroll, and could not be drawn over.
        room = size.lines - 2
        if len(lines) > room:
            lines = [*lines[: room - 1], f"… and {len(lines) - room + 1} more"]
        lines = [fit(line, size.columns - 1) for line in lines]
        # The bar is painted last: a colour code must not count as columns when lines are cut off.
        painted_bar = shown(paint(progress_bar, Style.GOOD), self._stream)
        lines[0] = painted_bar + lines[0].removeprefix(progress_bar)
        self._draw(lines)

    def _draw(self, lines: Sequence[str]) -> None:
        # Each line is cleared before it is drawn, and everything below the last one at the end.
        text = "".join(f"\x1b[2K{line}\n" for line in lines) + "\x1b[J"
        if self._drawn_lines:
            text = f"\x1b[{self._drawn_lines}A{text}"
        self._stream.write(text)
        self._stream.flush()
        self._drawn_lines = len(lines)

    def end(self) -> None:
        """Remove the last picture: the lines that follow say it all."""
        if self._drawn_lines:
            self._stream.write(f"\x1b[{self._drawn_lines}A\x1b[J")
            self._stream.flush()
            self._drawn_lines = 0
