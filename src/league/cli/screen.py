"""A league while it is played: in place on a terminal, a line per round elsewhere, or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TextIO

from league.cli import tables

BAR_COLUMNS = 30

Row = dict[str, Any]


class Screen(Protocol):
    """Whoever shows a league."""

    def show(self, league: Mapping[str, Any], rows: Sequence[Row]) -> None:
        """The league as it is now, and its table."""

    def end(self) -> None:
        """There is nothing more to show."""


def screen_for(stream: TextIO) -> Screen:
    """What fits where the output goes."""
    is_terminal = stream.isatty() and os.environ.get("TERM", "dumb") != "dumb"
    return Live(stream) if is_terminal else Lines(stream)


class Silence:
    """For --json."""

    def show(self, league: Mapping[str, Any], rows: Sequence[Row]) -> None: ...

    def end(self) -> None: ...


class Lines:
    """One line whenever a round is over."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._shown = -1

    def show(self, league: Mapping[str, Any], rows: Sequence[Row]) -> None:
        finished = league["round"] - (league["state"] != "LEAGUE_COMPLETED")
        if finished > self._shown and league["rounds"]:
            self._shown = finished
            print(tables.progress(league), file=self._stream, flush=True)

    def end(self) -> None: ...


class Live:
    """Progress bar and table, drawn over what was drawn before."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._drawn = 0

    def show(self, league: Mapping[str, Any], rows: Sequence[Row]) -> None:
        size = shutil.get_terminal_size()
        bar = tables.bar(league["matches_completed"], league["matches_total"], min(BAR_COLUMNS, size.columns // 3))
        lines = [f"{bar}  {tables.progress(league)}", "", *tables.table(tables.STANDINGS, tables.standings_rows(rows))]
        room = size.lines - 2
        if len(lines) > room:
            lines = [*lines[: room - 1], f"… and {len(lines) - room + 1} more"]
        self._draw([tables.fit(line, size.columns - 1) for line in lines])

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
