"""The matches a player has played: one row each, the newest last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, overload

from msgspec import Struct, structs

from league.protocol.message.parts import Object

if TYPE_CHECKING:  # a player's module is imported quickly without them
    from league.events import GameEnded

REMEMBERED: Final = 10_000
"""Maximum number of remembered matches; the oldest are forgotten first, so that a player may live forever."""

MatchOutcome = Literal["WIN", "DRAW", "LOSS"]


class PastMatch(Struct, frozen=True):
    """A match that is over, as its referee described it in GAME_OVER."""

    match_id: str
    game_type: str
    attempt: int
    opponent_id: str
    role: str
    status: Literal["WIN", "DRAW", "TECHNICAL_LOSS"]
    winner: str | None
    """The id of the winner; None after a draw, and if both players lost."""
    my_choice: str | None
    """Our choice, the last one in games with several turns; None if the referee received no valid choice."""
    opponent_choice: str | None
    drawn_number: int | None
    """Even/Odd: the number that was drawn; None after a technical loss, and in other games."""
    number_parity: str | None
    """Even/Odd: "even" or "odd", the parity of the drawn number."""
    game_result: Object
    """The whole result in GAME_OVER; in games with several turns, `moves` has every move."""

    @property
    def outcome(self) -> MatchOutcome:
        """How the match ended for us."""
        if self.winner is None:
            # A technical loss without a winner is a loss for both players.
            return "DRAW" if self.status == "DRAW" else "LOSS"
        return "LOSS" if self.winner == self.opponent_id else "WIN"


def past_match(ended: GameEnded, player_id: str, role: str) -> PastMatch:
    """Return the row of a game that has ended for this player."""
    result = ended.game_result
    choices = result.get("choices")
    if not isinstance(choices, dict):
        choices = {}
    # Third-party referees may write anything here: values of another type count as missing.
    my_choice = choices.get(player_id)
    if not isinstance(my_choice, str):
        my_choice = None
    opponent_choice = choices.get(ended.opponent_id)
    if not isinstance(opponent_choice, str):
        opponent_choice = None
    drawn_number = result.get("drawn_number")
    if not isinstance(drawn_number, int):
        drawn_number = None
    number_parity = result.get("number_parity")
    if not isinstance(number_parity, str):
        number_parity = None
    return PastMatch(
        match_id=ended.match_id,
        game_type=ended.game_type,
        attempt=ended.attempt,
        opponent_id=ended.opponent_id,
        role=role,
        status=ended.status,
        winner=ended.winner,
        my_choice=my_choice,
        opponent_choice=opponent_choice,
        drawn_number=drawn_number,
        number_parity=number_parity,
        game_result=result,
    )


class MatchHistory(Sequence[PastMatch]):
    """Matches, the newest last, with quick answers to the most common questions of strategies."""

    __slots__ = ()

    def played(self, game_type: str) -> int:
        """Return the number of matches of this game."""
        raise NotImplementedError

    def choices(self, game_type: str, opponent_id: str) -> Mapping[str, int]:
        """Return how often this opponent made each choice against us (its last one, in games with several turns)."""
        raise NotImplementedError

    def last_choice(self, game_type: str, opponent_id: str) -> str | None:
        """Return the opponent's choice in our last match against it."""
        raise NotImplementedError


class ChoiceIndex:
    """Counts of the matches in a history. Each match is counted once, when somebody asks for a count after it."""

    __slots__ = ("_counted", "_rows", "choices", "last", "played")

    def __init__(self, rows: Sequence[PastMatch]) -> None:
        self.played: dict[str, int] = {}
        self.choices: dict[tuple[str, str], dict[str, int]] = {}
        self.last: dict[tuple[str, str], str] = {}
        self._rows = rows
        self._counted = 0

    def up_to_date(self) -> ChoiceIndex:
        """Count the matches that are new since the last call, and return the index."""
        for row in self._rows[self._counted :]:
            self._count(row)
        self._counted = len(self._rows)
        return self

    def _count(self, row: PastMatch) -> None:
        self.played[row.game_type] = self.played.get(row.game_type, 0) + 1
        choice = row.opponent_choice
        if choice is not None:
            opponent = (row.game_type, row.opponent_id)
            counts = self.choices.setdefault(opponent, {})
            counts[choice] = counts.get(choice, 0) + 1
            self.last[opponent] = choice


class PastMatches(MatchHistory):
    """The matches up to some moment. Later matches do not change it, although it shares their list."""

    __slots__ = ("_count", "_index", "_rows")

    def __init__(self, rows: list[PastMatch], index: ChoiceIndex | None = None) -> None:
        self._rows = rows
        self._count = len(rows)
        self._index = index

    def _indexed(self) -> ChoiceIndex:
        """Return an index of exactly these matches."""
        # The shared index also counts later matches, as soon as there are any.
        if self._index is not None and self._count == len(self._rows):
            return self._index.up_to_date()
        return ChoiceIndex(self[:]).up_to_date()

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
        try:
            places = range(self._count)[index]
        except IndexError:
            # Most players stumble here once, in their first match.
            held = "is empty before your first match is over" if not self._count else f"has {self._count} matches"
            raise IndexError(f"history[{index}]: the history {held}") from None
        if isinstance(places, range):
            return [self._rows[place] for place in places]
        return self._rows[places]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self[:]})"


def scanned(rows: Sequence[PastMatch]) -> MatchHistory:
    """Return any matches as a history."""
    return PastMatches(list(rows))


class History:
    """All rows, in the order in which the matches ended; a match that is played again moves to the end."""

    def __init__(self) -> None:
        self._rows: list[PastMatch] = []
        self.by_match: dict[str, PastMatch] = {}
        """The row of each match."""
        self._index = ChoiceIndex(self._rows)

    def add(self, row: PastMatch) -> None:
        """Add a match, or replace its earlier row (R-52)."""
        # The rows that were handed out share the list: it may grow, but nothing in it may move.
        if self.by_match.pop(row.match_id, None) is not None:
            rows = [earlier for earlier in self._rows if earlier.match_id != row.match_id]
            self._replace_rows(rows)
        elif len(self._rows) == REMEMBERED:
            self._forget_oldest()
        self._rows.append(row)
        self.by_match[row.match_id] = row

    def _forget_oldest(self) -> None:
        # Many at once, so that an endless league does not copy the list with every match.
        count = REMEMBERED // 10
        for row in self._rows[:count]:
            del self.by_match[row.match_id]
        self._replace_rows(self._rows[count:])

    def _replace_rows(self, rows: list[PastMatch]) -> None:
        self._rows = rows
        self._index = ChoiceIndex(rows)

    def rows(self) -> PastMatches:
        """Return the rows as they are now."""
        return PastMatches(self._rows, self._index)

    def snapshot(self) -> list[dict[str, Any]]:
        """Return the rows as plain data."""
        return [structs.asdict(row) for row in self._rows]
