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
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import lru_cache
from numbers import Number
from random import Random
from typing import Any, Final, NamedTuple, overload

import msgspec

from league.events import Status
from league.features.experiments.playing.time_limit import OFF, TooSlow, Watchdog, watching
from league.games.contract import PLAYER_A, PLAYER_B, SEATS, Game, Mover, Outcome, Players, Seat, opponent
from league.games.wire_fields import Spoken, move_request, talk_in
from league.player.history import MatchHistory, PastMatch
from league.player.strategies import CHANCE_BYTES, BuiltIn, Considered, Strategy, TalkLine, Turn
from league.protocol.message.experiment import Provenance
from league.protocol.message.messages import ChooseParityCall, GameMoveCall
from league.protocol.message.parts import CallContext, MoveRequest
from league.terminal import CommandError

NAMES: Final[Players] = ("P01", "P02")
"""The ids of the two strategies of a series."""
SWAPPED: Final[Players] = ("P02", "P01")
ROLES: Final = ("PLAYER_A", "PLAYER_B")
REFEREE: Final = "referee:tournament"
LONG_AGO: Final = "2000-01-01T00:00:00Z"
DEADLINE: Final = "2000-01-01T00:00:30Z"
FAILED: Final = "failed"
"""In place of the moves of a match that was not played to its end."""
LOWEST: Final = 1
HIGHEST: Final = 10
"""The range of the numbers that are drawn."""
BITS: Final = HIGHEST.bit_length()
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


WHOLE: Final = (MatchEnd.DRAW, MatchEnd.FIRST_WON, MatchEnd.SECOND_WON)
"""The ends of matches that were played to their end."""


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


class MindReport(NamedTuple):
    """What was said for the choices of a strategy that asks, and how they came about."""

    conversations: tuple[str, ...]
    provenance: Provenance

    def plus(self, other: MindReport) -> MindReport:
        conversations = self.conversations + other.conversations
        provenance = self.provenance.plus(other.provenance)
        return MindReport(conversations, provenance)


@dataclass(slots=True)
class SeriesResult:
    """The results of a series."""

    ends: bytearray = field(default_factory=bytearray)
    """A MatchEnd for each match."""
    moves: list[str] = field(default_factory=list)
    """The moves of the strategies in each match, in their order, separated by spaces. See `moves_text`."""
    chance: list[str] = field(default_factory=list)
    """The numbers that chance drew in each match, separated by spaces."""
    scores: list[tuple[int, int]] = field(default_factory=list)
    """The points of the first and the second strategy in each match, in games that are scored by their margin."""
    failures: Counter[str] = field(default_factory=Counter)
    """How often a strategy's code failed in which way: "0 ValueError: …" (0 is the first strategy)."""
    minds: dict[int, MindReport] = field(default_factory=dict)
    """What strategies that ask others report, by their places."""


def moves_text(moves: Sequence[str]) -> str:
    """Return moves as one text: separated by spaces, or as a JSON list if a move has spaces of its own."""
    text = " ".join(moves)
    if text.count(" ") >= max(len(moves), 1) or "" in moves or text.startswith("["):
        return json.dumps(moves, ensure_ascii=False)
    return text


def starts(plan: SeriesPlan, result: SeriesResult) -> Iterator[tuple[Start, str]]:
    """Yield how each match without chance began, and its moves, or FAILED."""
    for place, end in enumerate(result.ends):
        # With chance, equal moves are no sign that the two always play so.
        if result.chance and result.chance[place]:
            continue
        number = plan.start + place
        moves = result.moves[place] if end in WHOLE else FAILED
        yield Start(plan.opening(number), int(plan.first_seat(number))), moves


class PlayedSeries(NamedTuple):
    """A series, and how each match without chance began and went."""

    result: SeriesResult
    games: list[tuple[Start, str]]


class StrategyFailed(Exception):  # noqa: N818 - something that happened in code of others, not an error of ours
    """A strategy did not make a legal choice."""


@dataclass(slots=True)
class RememberedMatch:
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
        self._played: list[RememberedMatch] = []
        self._choices: Counter[str] = Counter()
        self._last: str | None = None

    def add(self, match: RememberedMatch) -> None:
        self._played.append(match)
        choice = match.moves.get(opponent(self._seat(match)))
        if choice is not None:
            self._choices[choice] += 1
            self._last = choice

    def _seat(self, match: RememberedMatch) -> Seat:
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

    def _row(self, match: RememberedMatch) -> PastMatch:
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
        watch: Watchdog,
    ) -> None:
        self.history = SeriesHistory(plan.game, place)
        self._game = plan.game
        self._name = plan.names[place]
        self._watch = watch
        self._was_slow = False
        self._place = place
        self._strategy = strategy
        self._wait = wait
        self.line = ""
        """What the strategy said with its last choice."""
        # Making the message takes longer than a built-in strategy needs to choose, and it never looks at one.
        self._sees = not isinstance(strategy, BuiltIn)
        self._match_over = getattr(strategy, "match_over", None)
        self._asks = self.mind_report() is not None
        self.series_over: Callable[[], None] = getattr(strategy, "series_over", _nothing)
        """Called at the end of the series: a strategy may hold a process."""

    def choose(
        self,
        state: Any,
        seat: Seat,
        options: tuple[str, ...],
        number: int,
        turn: int,
        chance: bytes,
        talk: Sequence[Spoken],
    ) -> str:
        """Return the strategy's choice. StrategyFailed if it makes no legal one."""
        watch = self._watch
        match_id = _match_id(number)
        question = Turn(
            self._game.name,
            match_id,
            NAMES[1 - self._place],
            options,
            chance,
            turn,
            seconds=watch.seconds,
            history=self.history,
        )
        if self._sees:
            question = self._seen(question, state, seat, talk)
        try:
            # The inner block: the signal may come at any line until the watch is off.
            try:
                watch.ticks = 0
                choice = self._strategy.choose(question)
                if not isinstance(choice, str) and inspect.isawaitable(choice):
                    choice = self._wait(choice)
            finally:
                watch.ticks = OFF
        except TooSlow:
            watch.ticks = OFF
            raise StrategyFailed(self._too_slow("no choice", match_id)) from None
        except CommandError as error:
            # Whom it asks cannot be asked any more: that is no loss, and ends the tournament.
            if self._asks:
                raise
            raise StrategyFailed(f"{type(error).__name__}: {error}") from error
        except (Exception, SystemExit) as error:  # code of others: whatever it raises is a technical loss
            raise StrategyFailed(f"{type(error).__name__}: {error}") from error
        if choice in options:
            return choice
        if isinstance(choice, Considered):
            self.line = talk_in(choice.talk, self._game)
            choice = choice.choice
        if isinstance(choice, str) and self._game.permits(state, seat, choice, options):
            return choice
        if isinstance(choice, Number) and str(choice) in options:
            raise StrategyFailed(f'chose {choice}: {choice} is a number; return "{choice}"')
        raise StrategyFailed(f"chose {choice!r}, which is not one of {', '.join(options)}")

    def _seen(self, question: Turn, state: Any, seat: Seat, talk: Sequence[Spoken]) -> Turn:
        """Return the turn with what a referee would show: the view, the role, the talk, and the whole message."""
        players = NAMES if seat == self._place else SWAPPED
        request = None
        fields = move_request(self._game, state, seat, question.number, talk, players)
        view = self._game.rules.view(state, seat)
        if fields is not None:
            request = msgspec.convert(fields, MoveRequest)
            view = request.context
        return msgspec.structs.replace(
            question,
            view=view,
            call=self._call(question.match_id, question.opponent_id, request),
            role=(request and request.role) or ROLES[seat],
            move_format=self._game.move_format,
            talk=msgspec.convert((request and request.talk) or (), tuple[TalkLine, ...]),
            talk_limit=self._game.talk,
        )

    def _call(self, match_id: str, rival: str, request: MoveRequest | None) -> ChooseParityCall | GameMoveCall:
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
        if request is None:
            return ChooseParityCall(**envelope, context=CallContext(opponent_id=rival))
        return GameMoveCall(**envelope, move_request=request)

    def mind_report(self) -> MindReport | None:
        """Return what a strategy that asks others has to report; None for any other strategy."""
        conversations: list[str] | None = getattr(self._strategy, "conversations", None)
        provenance = getattr(self._strategy, "provenance", None)
        if conversations is None or not isinstance(provenance, Provenance):
            return None
        return MindReport(tuple(conversations), provenance)

    def _too_slow(self, failure: str, match_id: str) -> str:
        """Describe the failure. Say it at once, too: with every match like this one, the tournament takes longer."""
        limit = f"within {self._watch.seconds:g} s"
        if not self._was_slow:
            self._was_slow = True
            warning = f"{self._name} in {match_id}: {failure} {limit}; --move-seconds sets the limit"
            print(warning, file=sys.stderr, flush=True)
        return f"{failure} {limit}"

    def remember(self, match: RememberedMatch) -> str | None:
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


def _nothing() -> None:
    """Most strategies do nothing at the end of a series."""


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
        make_first, make_second = make
        sides = (
            Side(plan, 0, make_first(), waiter.wait, watch),
            Side(plan, 1, make_second(), waiter.wait, watch),
        )
        result = SeriesResult()
        dice = Random(plan.seed)
        try:
            for number in range(plan.start, plan.start + plan.count):
                match = _Match(plan, sides, dice, number, result)
                result.ends.append(match.play())
        finally:
            for side in sides:
                side.series_over()
        for place, side in enumerate(sides):
            report = side.mind_report()
            if report is not None:
                result.minds[place] = report
        return result


class _Match:
    """One match of a series."""

    __slots__ = (
        "_chance",
        "_dice",
        "_failed",
        "_last_moves",
        "_moves",
        "_number",
        "_plan",
        "_result",
        "_seat",
        "_sides",
        "_talk",
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
        self._talk: list[Spoken] = []
        self._chance: list[str] = []

    def play(self) -> MatchEnd:
        """Play the match, let both strategies remember it, and return how it ended."""
        rules = self._plan.game.rules
        opening = self._plan.openings[self._plan.opening(self._number)]
        state = self._plan.game.opened(opening)
        turn = 0
        while not self._failed:
            mover = rules.to_move(state)
            if mover.kind == "nobody":
                break
            if mover.kind == "chance":
                state = rules.draw(state, self._draw(mover))
                continue
            turn += 1
            moves = self._choices(state, mover.seats, turn)
            if not self._failed:
                state = rules.play(state, moves)
        outcome = self._outcome(state)
        winner = self._winner(outcome)
        match = RememberedMatch(
            self._number,
            self._seat,
            state,
            self._last_moves,
            winner,
            bool(self._failed),
        )
        self._remember(match)
        self._result.moves.append(moves_text(self._moves))
        self._result.chance.append(" ".join(self._chance))
        if self._plan.game.scoring.by_margin:
            self._count_score(outcome, winner)
        return self._end(winner)

    def _count_score(self, outcome: Outcome | None, winner: Seat | None) -> None:
        returns = () if outcome is None else outcome.returns
        score = self._plan.game.scoring.points(winner, bool(self._failed), returns)
        if self._seat == PLAYER_B:
            # The first strategy comes first, wherever it sits.
            score = score[::-1]
        self._result.scores.append(score)

    def _draw(self, mover: Mover) -> int:
        """Let chance move: the number of an event, or a number from 1 to 10."""
        if mover.weights:
            number = self._dice.choices(range(len(mover.weights)), mover.weights)[0]
        else:
            # The number that randint(1, 10) would give, without the three calls in which it finds it.
            number = self._dice.getrandbits(BITS)
            while number >= HIGHEST:
                number = self._dice.getrandbits(BITS)
            number += LOWEST
        self._chance.append(str(number))
        return number

    def _remember(self, match: RememberedMatch) -> None:
        for place, side in enumerate(self._sides):
            failure = side.remember(match)
            if failure is not None:
                self._result.failures[f"{place} {failure}"] += 1

    def _choices(self, state: Any, seats: Sequence[Seat], turn: int) -> dict[Seat, str]:
        rules = self._plan.game.rules
        has_talk = self._plan.game.talk > 0
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
                    number=self._number,
                    turn=turn,
                    chance=chance,
                    talk=self._talk,
                )
                if has_talk:
                    self._talk.append(Spoken(turn, seat, self._sides[place].line))
                    self._sides[place].line = ""
            except StrategyFailed as failure:
                # The other one is still asked: both may fail.
                self._failed.add(seat)
                self._result.failures[f"{place} {failure}"] += 1
        self._last_moves |= moves
        self._moves += moves.values()
        return moves

    def _outcome(self, state: Any) -> Outcome | None:
        """Return how the game ended; None if somebody failed before its end."""
        if self._failed:
            return None
        outcome: Outcome | None = self._plan.game.rules.outcome(state)
        assert outcome is not None, "a game in which nobody moves any more is over"
        return outcome

    def _winner(self, outcome: Outcome | None) -> Seat | None:
        if outcome is not None:
            return outcome.winner
        if len(self._failed) == len(SEATS):
            return None
        return opponent(next(iter(self._failed)))

    def _end(self, winner: Seat | None) -> MatchEnd:
        if len(self._failed) == len(SEATS):
            return MatchEnd.BOTH_FAILED
        if self._failed:
            if self._seat in self._failed:
                return MatchEnd.FIRST_FAILED
            return MatchEnd.SECOND_FAILED
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
                raise ValueError(
                    f"{game.name} has no openings: it begins with chance, or its players do not take turns"
                )
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
