"""A series: matches of two strategies, one after the other, which both remember. The same seed gives the same series.

Theory of operation. A series is played by one process. Each one begins with new strategies that remember nothing, so
it makes no difference how many processes share the work. With every match the two strategies change seats, and after
every two matches the opening changes. All chance comes from one generator, which is seeded for the series: the numbers
of a game and the random bytes of the strategies are drawn from it in the order in which they are needed. That order
must never change, or an old seed would give new results.

A strategy is code by somebody else. An exception, an illegal choice or a choice that takes too long is a technical loss
of that match, and the series goes on. `time_limit.py` says how long is too long.
"""

from __future__ import annotations

import asyncio
import inspect
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import lru_cache
from random import Random
from typing import Any, Final, NamedTuple, overload

from league.events import Status
from league.games.contract import PLAYER_A, PLAYER_B, SEATS, Game, Players, Seat, opponent
from league.player.history import MatchHistory, PastMatch
from league.player.strategies import CHANCE_BYTES, BuiltIn, Strategy, Turn
from league.protocol.messages import ChooseParityCall, GameMoveCall
from league.protocol.parts import CallContext, MoveRequest
from league_experiments.time_limit import OFF, TooSlow, Watch, watching

NAMES: Final[Players] = ("P01", "P02")
"""The ids of the two strategies of a series."""
SWAPPED: Final[Players] = ("P02", "P01")
ROLES: Final = ("PLAYER_A", "PLAYER_B")
REFEREE: Final = "referee:tournament"
LONG_AGO: Final = "2000-01-01T00:00:00Z"
DEADLINE: Final = "2000-01-01T00:00:30Z"
FAILED: Final = ("failed",)  # in place of the moves of a match
LOWEST: Final = 1
HIGHEST: Final = 10
"""The range of the numbers that are drawn."""
MOVE_SECONDS: Final = 30.0
"""How long a strategy may take for a choice: as long as in a league."""

Make = Callable[[], Strategy]


class MatchEnd(IntEnum):
    """How a match ended, for the first and the second strategy of its series."""

    DRAW = 0
    FIRST_WON = 1
    SECOND_WON = 2
    FIRST_FAILED = 3
    """A technical loss: its code raised an exception, made an illegal choice, or took too long."""
    SECOND_FAILED = 4
    BOTH_FAILED = 5


class Start(NamedTuple):
    """How a match begins: the number of its opening, and the seat of the first strategy."""

    opening: int
    first_seat: int


@dataclass(frozen=True, slots=True)
class SeriesPlan:
    """Which matches to play: `count` of them. `start` is the number of the first one among all matches of the pair."""

    game: Game
    seed: str
    start: int
    count: int
    openings: tuple[tuple[str, ...], ...] = ((),)
    move_seconds: float = MOVE_SECONDS
    """How long a strategy may take for a choice."""
    names: tuple[str, str] = ("the first strategy", "the second strategy")

    def opening(self, number: int) -> int:
        """Return the number of the opening of match `number`."""
        return number // 2 % len(self.openings)

    def first_seat(self, number: int) -> Seat:
        """Return the seat of the first strategy in match `number`."""
        # Both seats equally often: some games favour one of them.
        return PLAYER_B if number % 2 else PLAYER_A


@dataclass(slots=True)
class SeriesResult:
    """The results of a series."""

    ends: bytearray = field(default_factory=bytearray)
    """A MatchEnd for each match."""
    moves: dict[Start, Counter[tuple[str, ...]]] = field(default_factory=dict)
    """Matches without chance, by how they began: how often each sequence of moves was played, or FAILED."""
    failures: Counter[str] = field(default_factory=Counter)
    """How often a strategy's code failed in which way: "0 ValueError: …" (0 is the first strategy)."""


class StrategyFailed(Exception):  # noqa: N818 - something that happened in code of others, not an error of ours
    """A strategy did not make a legal choice."""


@dataclass(slots=True)
class PlayedMatch:
    """A match as it is remembered."""

    number: int
    seat: Seat
    """The seat of the first strategy."""
    state: Any
    moves: dict[Seat, str]
    """The last move of each seat."""
    winner: Seat | None
    failed: bool

    @property
    def status(self) -> Status:
        if self.failed:
            return "TECHNICAL_LOSS"
        if self.winner is None:
            return "DRAW"
        return "WIN"


class SeriesHistory(MatchHistory):
    """The matches of a series as one of its strategies remembers them. Rows are made when they are asked for."""

    __slots__ = ("_choices", "_game", "_last", "_place", "_played")

    def __init__(self, game: Game, place: int) -> None:
        self._game = game
        self._place = place
        self._played: list[PlayedMatch] = []
        self._choices: Counter[str] = Counter()
        self._last: str | None = None

    def add(self, match: PlayedMatch) -> None:
        self._played.append(match)
        choice = match.moves.get(opponent(self._seat(match)))
        if choice is not None:
            self._choices[choice] += 1
            self._last = choice

    def _seat(self, match: PlayedMatch) -> Seat:
        if self._place == 0:
            return match.seat
        return opponent(match.seat)

    def played(self, game_type: str) -> int:
        if game_type != self._game.name:
            return 0
        return len(self._played)

    def choices(self, game_type: str, opponent_id: str) -> Mapping[str, int]:
        if not self._is_ours(game_type, opponent_id):
            return {}
        return self._choices

    def last_choice(self, game_type: str, opponent_id: str) -> str | None:
        if not self._is_ours(game_type, opponent_id):
            return None
        return self._last

    def _is_ours(self, game_type: str, opponent_id: str) -> bool:
        return game_type == self._game.name and opponent_id == NAMES[1 - self._place]

    def __len__(self) -> int:
        return len(self._played)

    @overload
    def __getitem__(self, index: int) -> PastMatch: ...
    @overload
    def __getitem__(self, index: slice) -> list[PastMatch]: ...
    def __getitem__(self, index: int | slice) -> PastMatch | list[PastMatch]:
        if isinstance(index, slice):
            return [self._row(match) for match in self._played[index]]
        return self._row(self._played[index])

    def _row(self, match: PlayedMatch) -> PastMatch:
        seat = self._seat(match)
        players = NAMES if match.seat == PLAYER_A else SWAPPED
        winner = None
        if match.winner is not None:
            winner = players[match.winner]
        result = self._game.wire.game_result(match.state, players, match.failed, match.moves)
        # Only some games have these, and each decides what it puts there.
        number = result.get("drawn_number")
        parity = result.get("number_parity")
        return PastMatch(
            match_id=_match_id(match.number),
            game_type=self._game.name,
            attempt=1,
            opponent_id=NAMES[1 - self._place],
            role=ROLES[seat],
            status=match.status,
            winner=winner,
            my_choice=match.moves.get(seat),
            opponent_choice=match.moves.get(opponent(seat)),
            drawn_number=number if isinstance(number, int) else None,
            number_parity=parity if isinstance(parity, str) else None,
            game_result=dict(result),
        )


@lru_cache(maxsize=4)  # several calls in each match
def _match_id(number: int) -> str:
    return f"M{number + 1}"


class Side:
    """One strategy of a series: makes its choices, and keeps its history. `place` is 0 or 1."""

    def __init__(
        self,
        plan: SeriesPlan,
        place: int,
        strategy: Strategy,
        wait: Callable[[Any], Any],
        watch: Watch,
    ) -> None:
        self.history = SeriesHistory(plan.game, place)
        self._game = plan.game
        self._name = plan.names[place]
        self._watch = watch
        self._was_slow = False
        self._place = place
        self._strategy = strategy
        self._wait = wait
        # Making the message takes longer than a built-in strategy needs to choose, and it never looks at one.
        self._needs_call = not isinstance(strategy, BuiltIn)
        self._match_over = getattr(strategy, "match_over", None)

    def choose(
        self,
        state: Any,
        seat: Seat,
        options: tuple[str, ...],
        number: int,
        turn: int,
        chance: bytes,
    ) -> str:
        """Return the strategy's choice. StrategyFailed if it makes no legal one."""
        watch = self._watch
        match_id = _match_id(number)
        rival = NAMES[1 - self._place]
        view = self._game.rules.view(state, seat)
        call = None
        if self._needs_call:
            call = self._call(match_id, rival, options, view)
        question = Turn(
            self._game.name,
            match_id,
            rival,
            options,
            chance,
            turn,
            view,
            seconds=watch.seconds,
            history=self.history,
            call=call,
        )
        try:
            # The inner block: the signal may come at any line until the watch is off.
            try:
                watch.ticks = 0
                choice = self._strategy.choose(question)
                if inspect.isawaitable(choice):
                    choice = self._wait(choice)
            finally:
                watch.ticks = OFF
        except TooSlow:
            watch.ticks = OFF
            raise StrategyFailed(self._too_slow("no choice", match_id)) from None
        except (Exception, SystemExit) as error:  # code of others: whatever it raises is a technical loss
            raise StrategyFailed(f"{type(error).__name__}: {error}") from error
        if choice not in options:
            raise StrategyFailed(f"chose {choice!r}, which is not one of {', '.join(options)}")
        return choice

    def _call(
        self,
        match_id: str,
        rival: str,
        options: tuple[str, ...],
        view: dict[str, Any],
    ) -> ChooseParityCall | GameMoveCall:
        """Return the message that a referee would send: players of the SDK get it."""
        envelope: dict[str, Any] = {
            "sender": REFEREE,
            "timestamp": LONG_AGO,
            "conversation_id": match_id,
            "match_id": match_id,
            "player_id": NAMES[self._place],
            "game_type": self._game.name,
            "deadline": DEADLINE,
        }
        if self._game.wire.response_type == "CHOOSE_PARITY_RESPONSE":
            return ChooseParityCall(**envelope, context=CallContext(opponent_id=rival))
        request = MoveRequest(
            move_type=self._game.wire.move_type,
            valid_options=list(options),
            context=view,
        )
        return GameMoveCall(**envelope, move_request=request)

    def _too_slow(self, failure: str, match_id: str) -> str:
        """Describe the failure. Say it at once, too: with every match like this one, the tournament takes longer."""
        limit = f"within {self._watch.seconds:g} s"
        if not self._was_slow:
            self._was_slow = True
            warning = f"{self._name} in {match_id}: {failure} {limit}; --move-seconds sets the limit"
            print(warning, file=sys.stderr, flush=True)
        return f"{failure} {limit}"

    def remember(self, match: PlayedMatch) -> str | None:
        """Add a match to the history, and tell the strategy if it wants to know. Return how its code failed, if so."""
        self.history.add(match)
        if self._match_over is None:
            return None
        try:
            try:
                self._watch.ticks = 0
                waits = self._match_over(self.history[-1], self.history)
                if inspect.isawaitable(waits):
                    self._wait(waits)
            finally:
                self._watch.ticks = OFF
        except TooSlow:
            self._watch.ticks = OFF
            # The match is over already: this costs nothing but time.
            return self._too_slow("no end of on_match_over", _match_id(match.number))
        return None


class Waiter:
    """Waits for `async` strategies, in one event loop for the whole series."""

    def __init__(self, runner: asyncio.Runner) -> None:
        self._runner = runner
        self._task: asyncio.Task[Any] | None = None

    def wait(self, value: Any) -> Any:
        """Return the value of an awaitable."""
        try:
            return self._runner.run(self._waited(value))
        except TooSlow:
            # It must not go on while the strategy is asked next.
            if self._task is not None:
                self._task.cancel()
            raise

    async def _waited(self, value: Any) -> Any:
        self._task = asyncio.current_task()
        return await value


def play(plan: SeriesPlan, make: tuple[Make, Make]) -> SeriesResult:
    """Play a series."""
    # One loop for the whole series: a strategy may keep connections that belong to it.
    with asyncio.Runner() as runner, watching(plan.move_seconds) as watch:
        waiter = Waiter(runner)
        sides = tuple(Side(plan, place, make[place](), waiter.wait, watch) for place in (0, 1))
        result = SeriesResult()
        dice = Random(plan.seed)
        for number in range(plan.start, plan.start + plan.count):
            match = _Match(plan, sides, dice, number, result)
            result.ends.append(match.play())
        return result


class _Match:
    """One match of a series."""

    __slots__ = (
        "_dice",
        "_failed",
        "_last_moves",
        "_moves",
        "_number",
        "_plan",
        "_result",
        "_seat",
        "_sides",
    )

    def __init__(
        self,
        plan: SeriesPlan,
        sides: tuple[Side, ...],
        dice: Random,
        number: int,
        result: SeriesResult,
    ) -> None:
        self._plan = plan
        self._sides = sides
        self._dice = dice
        self._number = number
        self._result = result
        self._seat = plan.first_seat(number)
        self._last_moves: dict[Seat, str] = {}
        self._moves: list[str] = []
        self._failed: set[Seat] = set()

    def play(self) -> MatchEnd:
        """Play the match, let both strategies remember it, and return how it ended."""
        rules = self._plan.game.rules
        state = self._open(rules)
        has_chance = False
        turn = 0
        while not self._failed:
            mover = rules.to_move(state)
            if mover.kind == "nobody":
                break
            if mover.kind == "chance":
                state = rules.draw(state, self._dice.randint(LOWEST, HIGHEST))
                has_chance = True
                continue
            turn += 1
            moves = self._choices(state, mover.seats, turn)
            if not self._failed:
                state = rules.play(state, moves)
        winner = self._winner(state)
        match = PlayedMatch(
            self._number,
            self._seat,
            state,
            self._last_moves,
            winner,
            bool(self._failed),
        )
        for place, side in enumerate(self._sides):
            failure = side.remember(match)
            if failure is not None:
                self._result.failures[f"{place} {failure}"] += 1
        # With chance, equal moves are no sign that the two always play so.
        if not has_chance:
            self._count_moves()
        return self._end(winner)

    def _count_moves(self) -> None:
        start = Start(self._plan.opening(self._number), int(self._seat))
        moves = tuple(self._moves)
        if self._failed:
            moves = FAILED
        self._result.moves.setdefault(start, Counter())[moves] += 1

    def _open(self, rules: Any) -> Any:
        state = rules.start()
        for move in self._plan.openings[self._plan.opening(self._number)]:
            (seat,) = rules.to_move(state).seats
            state = rules.play(state, {seat: move})
        return state

    def _choices(self, state: Any, seats: Sequence[Seat], turn: int) -> dict[Seat, str]:
        rules = self._plan.game.rules
        moves: dict[Seat, str] = {}
        for seat in seats:
            place = 0 if seat == self._seat else 1
            options = rules.legal_moves(state, seat)
            chance = self._dice.randbytes(CHANCE_BYTES)
            try:
                moves[seat] = self._sides[place].choose(
                    state,
                    seat,
                    options,
                    self._number,
                    turn,
                    chance,
                )
            except StrategyFailed as failure:
                # The other one is still asked: both may fail.
                self._failed.add(seat)
                self._result.failures[f"{place} {failure}"] += 1
        self._last_moves |= moves
        self._moves += moves.values()
        return moves

    def _winner(self, state: Any) -> Seat | None:
        if len(self._failed) == len(SEATS):
            return None
        if self._failed:
            return opponent(next(iter(self._failed)))
        outcome = self._plan.game.rules.outcome(state)
        assert outcome is not None, "a game in which nobody moves any more is over"
        return outcome.winner

    def _end(self, winner: Seat | None) -> MatchEnd:
        if len(self._failed) == len(SEATS):
            return MatchEnd.BOTH_FAILED
        if self._failed:
            return MatchEnd.FIRST_FAILED if self._seat in self._failed else MatchEnd.SECOND_FAILED
        if winner is None:
            return MatchEnd.DRAW
        if winner == self._seat:
            return MatchEnd.FIRST_WON
        return MatchEnd.SECOND_WON


OPENING_MOVES: Final = 2
TRIES: Final = 200


def openings(game: Game, count: int, seed: str) -> tuple[tuple[str, ...], ...]:
    """Return this many different random openings of two moves each. ValueError if the game has too few."""
    if count == 0:
        return ((),)
    return tuple(_openings(game, count, Random(seed)))


def _openings(game: Game, count: int, dice: Random) -> Iterator[tuple[str, ...]]:
    openings: set[tuple[str, ...]] = set()
    # A small game may not have as many as were ordered.
    for _ in range(TRIES * count):
        moves: list[str] = []
        state = game.rules.start()
        for _ in range(OPENING_MOVES):
            mover = game.rules.to_move(state)
            if len(mover.seats) != 1:
                raise ValueError(f"{game.name} has no openings: its players do not take turns")
            (seat,) = mover.seats
            move = dice.choice(game.rules.legal_moves(state, seat))
            moves.append(move)
            state = game.rules.play(state, {seat: move})
        opening = tuple(moves)
        # An opening that ends the game leaves nothing to play.
        if opening not in openings and game.rules.to_move(state).seats:
            openings.add(opening)
            yield opening
            if len(openings) == count:
                return
    raise ValueError(f"{game.name} has only {len(openings)} openings of {OPENING_MOVES} moves")
