"""What a player remembers of the matches it played: one row each, the newest last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, overload

from msgspec import Struct, structs

from league.protocol.parts import Object

if TYPE_CHECKING:  # whoever writes a player need not load them
    from league.events import GameEnded, Status

REMEMBERED: Final = 10_000
"""A player that lives for ever still fits into memory: beyond this the oldest matches are forgotten."""

MatchOutcome = Literal["WIN", "DRAW", "LOSS"]


class PastMatch(Struct, frozen=True):
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
    mine, theirs = chosen.get(me), chosen.get(ended.opponent_id)
    number, parity = result.get("drawn_number"), result.get("number_parity")
    return PastMatch(
        match_id=ended.match_id,
        game_type=ended.game_type,
        attempt=ended.attempt,
        opponent_id=ended.opponent_id,
        role=role,
        status=ended.status,
        winner=ended.winner,
        my_choice=mine if isinstance(mine, str) else None,
        opponent_choice=theirs if isinstance(theirs, str) else None,
        drawn_number=number if isinstance(number, int) else None,
        number_parity=parity if isinstance(parity, str) else None,
        game_result=result,
    )


class MatchHistory(Sequence[PastMatch]):
    """Matches, the newest last, and what strategies ask about them most often."""

    __slots__ = ()

    def played(self, game_type: str) -> int:
        """How many matches of this game there are."""
        raise NotImplementedError

    def choices(self, game_type: str, opponent_id: str) -> Mapping[str, int]:
        """How often this opponent made which choice against us (in games of several turns: last)."""
        raise NotImplementedError

    def last_choice(self, game_type: str, opponent_id: str) -> str | None:
        """What this opponent chose when we last met."""
        raise NotImplementedError


class ChoiceIndex:
    """What is asked of a history most often. Each match is counted once, when somebody asks after it: reading all of
    them costs more with each."""

    __slots__ = ("_counted", "_rows", "choices", "last", "played")

    def __init__(self, rows: Sequence[PastMatch]) -> None:
        self.played: dict[str, int] = {}
        self.choices: dict[tuple[str, str], dict[str, int]] = {}
        self.last: dict[tuple[str, str], str] = {}
        self._rows, self._counted = rows, 0

    def up_to_date(self) -> ChoiceIndex:
        """The index, with the matches that have come since somebody last asked."""
        for row in self._rows[self._counted :]:
            self._count(row)
        self._counted = len(self._rows)
        return self

    def _count(self, row: PastMatch) -> None:
        self.played[row.game_type] = self.played.get(row.game_type, 0) + 1
        choice = row.opponent_choice
        if choice is not None:
            against = row.game_type, row.opponent_id
            counts = self.choices.setdefault(against, {})
            counts[choice] = counts.get(choice, 0) + 1
            self.last[against] = choice


class PastMatches(MatchHistory):
    """The matches up to some moment; later ones do not change what was handed out, and nothing is copied."""

    __slots__ = ("_count", "_index", "_rows")

    def __init__(self, rows: list[PastMatch], index: ChoiceIndex | None = None) -> None:
        self._rows, self._count, self._index = rows, len(rows), index

    def _indexed(self) -> ChoiceIndex:
        """The index of exactly these matches: the shared one knows later ones too, once there are any."""
        is_newest = self._index is not None and self._count == len(self._rows)
        index = self._index if is_newest and self._index is not None else ChoiceIndex(self[:])
        return index.up_to_date()

    def played(self, game_type: str) -> int:
        return self._indexed().played.get(game_type, 0)

    def choices(self, game_type: str, opponent_id: str) -> Mapping[str, int]:
        return self._indexed().choices.get((game_type, opponent_id), {})

    def last_choice(self, game_type: str, opponent_id: str) -> str | None:
        return self._indexed().last.get((game_type, opponent_id))

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


def scanned(rows: Sequence[PastMatch]) -> MatchHistory:
    """Any matches as a history."""
    return PastMatches(list(rows))


class History:
    """All rows in the order in which the matches ended; a match that was played again moves to the end."""

    def __init__(self) -> None:
        self._rows: list[PastMatch] = []
        self.by_match: dict[str, PastMatch] = {}
        """The row of each match."""
        self._index = ChoiceIndex(self._rows)

    def add(self, row: PastMatch) -> None:
        """Add a match, or replace what was known of it (R-52)."""
        # Rows that were handed out share the list: it may grow, but nothing in it may move.
        if self.by_match.pop(row.match_id, None) is not None:
            self._rows = [one for one in self._rows if one.match_id != row.match_id]
            self._index = ChoiceIndex(self._rows)
        elif len(self._rows) == REMEMBERED:
            self._forget(REMEMBERED // 10)
        self._rows.append(row)
        self.by_match[row.match_id] = row

    def _forget(self, how_many: int) -> None:
        """Many at once, so that an endless league does not copy the list with every match."""
        for row in self._rows[:how_many]:
            del self.by_match[row.match_id]
        self._rows = self._rows[how_many:]
        self._index = ChoiceIndex(self._rows)

    def rows(self) -> PastMatches:
        """The rows as they are now."""
        return PastMatches(self._rows, self._index)

    def snapshot(self) -> list[dict[str, Any]]:
        """The rows as plain data."""
        return [structs.asdict(row) for row in self._rows]
