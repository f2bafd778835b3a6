"""A series: matches of two strategies, one after the other, which both remember. The same seed, the same series.

A series is what one process plays. Each begins with strategies that were made anew and remember nothing, so that it
does not matter how many processes share the work.
"""

from __future__ import annotations

import asyncio
import inspect
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import lru_cache
from random import Random
from typing import Any, Final, overload

from league.games.contract import PLAYER_A, PLAYER_B, SEATS, Game, Players, Seat, opponent
from league.player.history import MatchHistory, PastMatch
from league.player.strategies import CHANCE_BYTES, BuiltIn, Strategy, Turn
from league.protocol.messages import ChooseParityCall, GameMoveCall
from league.protocol.parts import CallContext, MoveRequest

NAMES: Final[Players] = ("P01", "P02")
"""What the two strategies of a series are called in it."""
REFEREE: Final = "referee:tournament"
LONG_AGO: Final = "2000-01-01T00:00:00Z"
LONGER_AGO: Final = "2000-01-01T00:00:30Z"
FAILED: Final = ("failed",)
LOWEST, HIGHEST = 1, 10
"""The numbers that are drawn."""

Make = Callable[[], Strategy]


class MatchEnd(IntEnum):
    """How a match ended, for the first and the second strategy of its series."""

    DRAW = 0
    FIRST_WON = 1
    SECOND_WON = 2
    FIRST_FAILED = 3
    """A technical loss: its code raised, or chose what is not legal."""
    SECOND_FAILED = 4
    BOTH_FAILED = 5


@dataclass(frozen=True, slots=True)
class SeriesPlan:
    """Which matches: `count` of them, the first being number `start` of their pair. With every match the two change
    seats, with every other match the opening changes."""

    game: Game
    seed: str
    start: int
    count: int
    openings: tuple[tuple[str, ...], ...] = ((),)

    def opening(self, number: int) -> int:
        """Which opening match `number` begins with."""
        return number // 2 % len(self.openings)

    def first_seat(self, number: int) -> Seat:
        """Where the first strategy sits."""
        return PLAYER_A if number % 2 == 0 else PLAYER_B


@dataclass(slots=True)
class SeriesResult:
    """What came of a series."""

    ends: bytearray = field(default_factory=bytearray)
    """A MatchEnd for each match."""
    moves: dict[tuple[int, int], Counter[tuple[str, ...]]] = field(default_factory=dict)
    """Matches without chance, by opening and seat of the first strategy: which moves were made, or FAILED."""
    failures: dict[str, int] = field(default_factory=dict)
    """What the strategies' own code did wrong, and how often: "0 ValueError: …" (0: the first strategy's)."""


class StrategyFailed(Exception):  # noqa: N818 - what happened in somebody's code, not an error of ours
    """A strategy came to no legal choice."""


@dataclass(slots=True)
class _Played:
    """A match as it is remembered."""

    number: int
    seat: Seat
    """Where the first strategy sat."""
    state: Any
    moves: dict[Seat, str]
    """The last move of each seat."""
    winner: Seat | None
    failed: bool


class SeriesHistory(MatchHistory):
    """The matches of a series as one of its strategies remembers them; rows are made when they are asked for."""

    __slots__ = ("_choices", "_game", "_last", "_me", "_played")

    def __init__(self, game: Game, me: int) -> None:
        self._game, self._me = game, me
        self._played: list[_Played] = []
        self._choices: Counter[str] = Counter()
        self._last: str | None = None

    def add(self, played: _Played) -> None:
        self._played.append(played)
        chosen = played.moves.get(opponent(self._seat(played)))
        if chosen is not None:
            self._choices[chosen] += 1
            self._last = chosen

    def _seat(self, played: _Played) -> Seat:
        return played.seat if self._me == 0 else opponent(played.seat)

    def played(self, game_type: str) -> int:
        return len(self._played) if game_type == self._game.name else 0

    def choices(self, game_type: str, opponent_id: str) -> Mapping[str, int]:
        return self._choices if self._is_ours(game_type, opponent_id) else {}

    def last_choice(self, game_type: str, opponent_id: str) -> str | None:
        return self._last if self._is_ours(game_type, opponent_id) else None

    def _is_ours(self, game_type: str, opponent_id: str) -> bool:
        return game_type == self._game.name and opponent_id == NAMES[1 - self._me]

    def __len__(self) -> int:
        return len(self._played)

    @overload
    def __getitem__(self, index: int) -> PastMatch: ...
    @overload
    def __getitem__(self, index: slice) -> list[PastMatch]: ...
    def __getitem__(self, index: int | slice) -> PastMatch | list[PastMatch]:
        if isinstance(index, slice):
            return [self._row(one) for one in self._played[index]]
        return self._row(self._played[index])

    def _row(self, played: _Played) -> PastMatch:
        seat, players = self._seat(played), NAMES if played.seat == PLAYER_A else (NAMES[1], NAMES[0])
        result = self._game.wire.game_result(played.state, players, played.failed, played.moves)
        number, parity = result.get("drawn_number"), result.get("number_parity")
        is_draw = played.winner is None and not played.failed
        return PastMatch(
            match_id=_match_id(played.number),
            game_type=self._game.name,
            attempt=1,
            opponent_id=NAMES[1 - self._me],
            role=("PLAYER_A", "PLAYER_B")[seat],
            status="TECHNICAL_LOSS" if played.failed else "DRAW" if is_draw else "WIN",
            winner=None if played.winner is None else players[played.winner],
            my_choice=played.moves.get(seat),
            opponent_choice=played.moves.get(opponent(seat)),
            drawn_number=number if isinstance(number, int) else None,
            number_parity=parity if isinstance(parity, str) else None,
            game_result=dict(result),
        )


@lru_cache(maxsize=4)  # asked for several times in a match
def _match_id(number: int) -> str:
    return f"M{number + 1}"


class Side:
    """One strategy of a series: asked, told, and remembered for."""

    def __init__(self, game: Game, me: int, strategy: Strategy, wait: Callable[[Any], Any]) -> None:
        self.history = SeriesHistory(game, me)
        self._game, self._me, self._strategy, self._wait = game, me, strategy, wait
        self._needs_call = not isinstance(strategy, BuiltIn)
        self._match_over = getattr(strategy, "match_over", None)

    def choose(self, state: Any, seat: Seat, options: tuple[str, ...], number: int, turn: int, chance: bytes) -> str:
        """The strategy's choice; StrategyFailed if it comes to none that is legal."""
        match_id, rival = _match_id(number), NAMES[1 - self._me]
        view = self._game.rules.view(state, seat)
        call = self._call(match_id, rival, options, view) if self._needs_call else None
        asked = Turn(self._game.name, match_id, rival, options, chance, turn, view, history=self.history, call=call)
        try:
            chosen = self._strategy.choose(asked)
            if inspect.isawaitable(chosen):
                chosen = self._wait(chosen)
        except (Exception, SystemExit) as error:  # the author's code: whatever it raises is a technical loss
            raise StrategyFailed(f"{type(error).__name__}: {error}") from error
        if chosen not in options:
            raise StrategyFailed(f"chose {chosen!r}, which is none of {', '.join(options)}")
        return chosen

    def _call(
        self, match_id: str, rival: str, options: tuple[str, ...], view: dict[str, Any]
    ) -> ChooseParityCall | GameMoveCall:
        """The message a referee would ask with: players of the SDK are handed it."""
        envelope: dict[str, Any] = {
            "sender": REFEREE,
            "timestamp": LONG_AGO,
            "conversation_id": match_id,
            "match_id": match_id,
            "player_id": NAMES[self._me],
            "game_type": self._game.name,
            "deadline": LONGER_AGO,
        }
        if self._game.wire.response_type == "CHOOSE_PARITY_RESPONSE":
            return ChooseParityCall(**envelope, context=CallContext(opponent_id=rival))
        request = MoveRequest(move_type=self._game.wire.move_type, valid_options=list(options), context=view)
        return GameMoveCall(**envelope, move_request=request)

    def remember(self, played: _Played) -> None:
        """The match is over."""
        self.history.add(played)
        if self._match_over is not None:
            told = self._match_over(self.history[-1], self.history)
            if inspect.isawaitable(told):
                self._wait(told)


def play(plan: SeriesPlan, make: tuple[Make, Make]) -> SeriesResult:
    """Play a series."""
    with asyncio.Runner() as runner:

        async def waited(value: Any) -> Any:
            return await value

        sides = tuple(Side(plan.game, me, make[me](), lambda value: runner.run(waited(value))) for me in (0, 1))
        result, dice = SeriesResult(), Random(plan.seed)
        for number in range(plan.start, plan.start + plan.count):
            result.ends.append(_Match(plan, sides, dice, number, result).play())
        return result


class _Match:
    """One match of a series."""

    __slots__ = ("_dice", "_failed", "_moves", "_number", "_plan", "_result", "_seat", "_sides", "_told")

    def __init__(
        self, plan: SeriesPlan, sides: tuple[Side, ...], dice: Random, number: int, result: SeriesResult
    ) -> None:
        self._plan, self._sides, self._dice, self._number, self._result = plan, sides, dice, number, result
        self._seat = plan.first_seat(number)
        self._moves: dict[Seat, str] = {}
        self._told: list[str] = []
        self._failed: set[Seat] = set()

    def play(self) -> MatchEnd:
        """Play it, let both remember it, and say how it ended."""
        rules = self._plan.game.rules
        state, by_chance = self._open(rules), False
        turn = 0
        while not self._failed and (mover := rules.to_move(state)).kind != "nobody":
            if mover.kind == "chance":
                state, by_chance = rules.draw(state, self._dice.randint(LOWEST, HIGHEST)), True
                continue
            turn += 1
            moves = self._asked(state, mover.seats, turn)
            if not self._failed:
                state = rules.play(state, moves)
        winner = self._winner(state)
        played = _Played(self._number, self._seat, state, self._moves, winner, bool(self._failed))
        for side in self._sides:
            side.remember(played)
        if not by_chance:
            config = self._plan.opening(self._number), int(self._seat)
            told = FAILED if self._failed else tuple(self._told)
            self._result.moves.setdefault(config, Counter())[told] += 1
        return self._end(winner)

    def _open(self, rules: Any) -> Any:
        state = rules.start()
        for move in self._plan.openings[self._plan.opening(self._number)]:
            (seat,) = rules.to_move(state).seats
            state = rules.play(state, {seat: move})
        return state

    def _asked(self, state: Any, seats: Sequence[Seat], turn: int) -> dict[Seat, str]:
        rules, moves = self._plan.game.rules, dict[Seat, str]()
        for seat in seats:
            me = 0 if seat == self._seat else 1
            options, chance = rules.legal_moves(state, seat), self._dice.randbytes(CHANCE_BYTES)
            try:
                moves[seat] = self._sides[me].choose(state, seat, options, self._number, turn, chance)
            except StrategyFailed as failed:
                self._failed.add(seat)
                self._result.failures[f"{me} {failed}"] = self._result.failures.get(f"{me} {failed}", 0) + 1
        self._moves |= moves
        self._told += moves.values()
        return moves

    def _winner(self, state: Any) -> Seat | None:
        if self._failed:
            return None if len(self._failed) == len(SEATS) else opponent(next(iter(self._failed)))
        outcome = self._plan.game.rules.outcome(state)
        assert outcome is not None, "a game that nobody moves in any more is over"
        return outcome.winner

    def _end(self, winner: Seat | None) -> MatchEnd:
        if len(self._failed) == len(SEATS):
            return MatchEnd.BOTH_FAILED
        if self._failed:
            return MatchEnd.FIRST_FAILED if self._seat in self._failed else MatchEnd.SECOND_FAILED
        if winner is None:
            return MatchEnd.DRAW
        return MatchEnd.FIRST_WON if winner == self._seat else MatchEnd.SECOND_WON


def openings(game: Game, how_many: int, seed: str) -> tuple[tuple[str, ...], ...]:
    """So many different openings: two moves each, at random. ValueError for a game that has no such thing."""
    return tuple(_openings(game, how_many, Random(seed))) if how_many else ((),)


OPENING_MOVES: Final = 2
TRIES: Final = 200


def _openings(game: Game, how_many: int, dice: Random) -> Iterator[tuple[str, ...]]:
    found: set[tuple[str, ...]] = set()
    for _ in range(TRIES * how_many):
        opening, state = list[str](), game.rules.start()
        for _ in range(OPENING_MOVES):
            mover = game.rules.to_move(state)
            if len(mover.seats) != 1:
                raise ValueError(f"{game.name} has no openings: its players do not take turns")
            opening.append(dice.choice(game.rules.legal_moves(state, mover.seats[0])))
            state = game.rules.play(state, {mover.seats[0]: opening[-1]})
        if tuple(opening) not in found and game.rules.to_move(state).seats:
            found.add(tuple(opening))
            yield tuple(opening)
            if len(found) == how_many:
                return
    raise ValueError(f"{game.name} has only {len(found)} openings of {OPENING_MOVES} moves")
