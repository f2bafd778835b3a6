"""Text for terminals: tables, bars, and a league while it is played. What others wrote cannot upset them."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from typing import Any, TextIO

from league.terminal.display import Style, harmless, is_capable, paint, show, shown, width

GAP = "  "
BAR_COLUMNS = 30


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


def render_standings(document: Mapping[str, Any]) -> list[str]:
    """The table of /api/standings."""
    names = ("rank", "player_id", "display_name", "points", "played", "wins", "draws", "losses")
    technical = document["technical_losses"]
    rows = [[*(row[name] for name in names), technical[row["player_id"]]] for row in document["standings"]]
    return table(STANDINGS, rows)


def champion(row: Mapping[str, Any]) -> str:
    """Who won, by the first row of a table."""
    return paint(f"Champion: {row['display_name']} ({row['player_id']}), {row['points']} points", Style.STRONG)


def unverified(matches: Sequence[str]) -> str:
    """A note under a table: which of its results nothing proves."""
    named = ", ".join(map(plain, matches[:MOST_NAMED])) + (" …" if len(matches) > MOST_NAMED else "")
    return f"{counted(len(matches), 'result')} unverified, without a seed that proves the draw: {named}"


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
    """Progress bar and table, drawn over what was drawn before."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._drawn = 0

    def show(self, league: Mapping[str, Any], standings: Mapping[str, Any]) -> None:
        size = shutil.get_terminal_size()
        drawn = bar(league["matches_completed"], league["matches_total"], min(BAR_COLUMNS, size.columns // 3))
        lines = [f"{drawn}  {progress(league)}", "", *render_standings(standings)]
        room = size.lines - 2
        if len(lines) > room:
            lines = [*lines[: room - 1], f"… and {len(lines) - room + 1} more"]
        lines = [fit(line, size.columns - 1) for line in lines]
        self._draw([shown(paint(drawn, Style.GOOD), self._stream) + lines[0].removeprefix(drawn), *lines[1:]])

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
