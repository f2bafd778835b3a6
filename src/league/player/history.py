"""What a player remembers of the matches it played: one row each, the newest last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal, overload

from league.events import GameEnded, Status
from league.protocol.parts import Object

REMEMBERED: Final = 10_000
"""A player that lives for ever still fits into memory: beyond this the oldest matches are forgotten."""

MatchOutcome = Literal["WIN", "DRAW", "LOSS"]


@dataclass(frozen=True, slots=True)
class PastMatch:
    """A match that is over, as its referee told it in GAME_OVER."""

    match_id: str
    game_type: str
    attempt: int
    opponent_id: str
    role: str
    status: Status
    winner: str | None
    """The id of the player who won; None for a draw, and where both lost."""
    my_choice: str | None
    """What we chose (in games of several turns: last); None where no valid choice was received."""
    opponent_choice: str | None
    drawn_number: int | None
    """Even/Odd: the number that was drawn; None after a technical loss, and in games without a draw."""
    number_parity: str | None
    """Even/Odd: "even" or "odd", what the drawn number was."""
    game_result: Object
    """All that GAME_OVER said of the result; `moves` has every move of a game of several turns."""

    @property
    def outcome(self) -> MatchOutcome:
        """How it ended for us; without a winner a technical loss is one for both."""
        if self.winner is None:
            return "DRAW" if self.status == "DRAW" else "LOSS"
        return "LOSS" if self.winner == self.opponent_id else "WIN"


def past_match(ended: GameEnded, me: str, role: str) -> PastMatch:
    """The row that an ended game makes."""
    result = ended.game_result
    choices = result.get("choices")
    chosen: Mapping[str, object] = choices if isinstance(choices, dict) else {}
    number = result.get("drawn_number")
    return PastMatch(
        match_id=ended.match_id,
        game_type=ended.game_type,
        attempt=ended.attempt,
        opponent_id=ended.opponent_id,
        role=role,
        status=ended.status,
        winner=ended.winner,
        my_choice=_text(chosen.get(me)),
        opponent_choice=_text(chosen.get(ended.opponent_id)),
        drawn_number=number if isinstance(number, int) else None,
        number_parity=_text(result.get("number_parity")),
        game_result=result,
    )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


class PastMatches(Sequence[PastMatch]):
    """The matches up to some moment; later ones do not change what was handed out, and nothing is copied."""

    __slots__ = ("_count", "_rows")

    def __init__(self, rows: list[PastMatch]) -> None:
        self._rows, self._count = rows, len(rows)

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> PastMatch: ...
    @overload
    def __getitem__(self, index: slice) -> list[PastMatch]: ...
    def __getitem__(self, index: int | slice) -> PastMatch | list[PastMatch]:
        places = range(self._count)[index]
        if isinstance(places, range):
            return [self._rows[place] for place in places]
        return self._rows[places]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self[:]})"


class History:
    """All rows in the order in which the matches ended; a match that was played again moves to the end."""

    def __init__(self) -> None:
        self._rows: list[PastMatch] = []
        self._by_match: dict[str, PastMatch] = {}

    def add(self, row: PastMatch) -> None:
        """Add a match, or replace what was known of it (R-52)."""
        # Rows that were handed out share the list: it may grow, but nothing in it may move.
        if self._by_match.pop(row.match_id, None) is not None:
            self._rows = [one for one in self._rows if one.match_id != row.match_id]
        elif len(self._rows) == REMEMBERED:
            self._forget(REMEMBERED // 10)
        self._rows.append(row)
        self._by_match[row.match_id] = row

    def _forget(self, how_many: int) -> None:
        """Many at once, so that an endless league does not copy the list with every match."""
        for row in self._rows[:how_many]:
            del self._by_match[row.match_id]
        self._rows = self._rows[how_many:]

    def of(self, match_id: str) -> PastMatch | None:
        """The row of a match."""
        return self._by_match.get(match_id)

    def rows(self) -> PastMatches:
        """The rows as they are now."""
        return PastMatches(self._rows)

    def snapshot(self) -> list[dict[str, Any]]:
        """The rows as plain data."""
        return [asdict(row) for row in self._rows]
