"""Text for terminals: tables, bars, and a live view of a league. Third-party text is made harmless first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from textwrap import wrap
from typing import Any, TextIO

from league.terminal import terminal_size
from league.terminal.display import Style, harmless, is_capable, paint, show, shown, width

GAP = "  "
SHORTEST_BAR = 10
LEAST_FOR_TWO_LINES = 40
"""In a terminal of fewer columns there is no bar."""
BLOCK_GAP = "    "


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
NAME = STANDINGS.index("name")
SHORTEST_NAME = 8
"""Names are not cut to less than this many columns."""


def render_standings(document: Mapping[str, Any]) -> list[str]:
    """The table of /api/standings, and the notes below it."""
    return [*standings_table(document), *map(plain, document["notes"])]


def standings_table(document: Mapping[str, Any], columns: int | None = None) -> list[str]:
    """The table of /api/standings alone. Names are cut off if it is wider than `columns`."""
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


def by_word(matches: Sequence[str]) -> str:
    """A note under a table that names the results for which nobody but a referee stands."""
    names = ", ".join(map(plain, matches[:MOST_NAMED]))
    if len(matches) > MOST_NAMED:
        names += " …"
    return f"{counted(len(matches), 'result')} by the referee's word, not signed by both players: {names}"


def title(league: Mapping[str, Any]) -> str:
    """The title of a league, or its id, by its /api/league."""
    return plain(league["title"] or league["league_id"])


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
    """Progress bar, what is awaited, and the table, drawn over what was drawn before.

    If the table is longer than the terminal, it goes on beside itself as far as the width allows. Matches in play stand
    beside it if there is room, and otherwise above it, in one line.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._drawn_lines = 0

    def show(self, league: Mapping[str, Any], standings: Mapping[str, Any]) -> None:
        size = terminal_size()
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
