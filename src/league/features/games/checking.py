"""Checks that a game keeps the contract, for the tests of its author: `check(GAME)` plays it at random, many times.

What it finds is told as a sentence in an AssertionError. It cannot know what the players of a game must not see. The
author of a game with secrets says so with `twin`: a function that takes a state and a seat and returns another state
that differs only in what this seat must not know, or None. Both must look the same to the seat.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random
from typing import Any, Final

from league.games.contract import Game, Mover, Seat
from league.games.wire_fields import packed, unpacked

PLAYERS: Final = ("P01", "P02")
NO_MOVE: Final = "not a move of this or any game"


Twin = Callable[[Any, Seat], Any]
"""Returns a state that a seat cannot tell from this one; None if it sees everything."""


def check(game: Game, matches: int = 100, seed: int = 1, twin: Twin = lambda *_: None) -> None:
    """Play matches with random moves. AssertionError says what is wrong with the game."""
    dice = Random(seed)
    for _ in range(matches):
        _Match(game, dice, twin).play()


class _Match:
    """One match with random moves, and with a look at every state."""

    def __init__(self, game: Game, dice: Random, twin: Twin) -> None:
        self._twin = twin
        self._game = game
        self._rules = game.rules
        self._dice = dice
        self._phases = 0

    def play(self) -> None:
        state = self._rules.start()
        while (mover := self._rules.to_move(state)).kind != "nobody":
            outcome = self._rules.outcome(state)
            assert outcome is None, f"outcome(state) is {outcome}, but to_move(state) is {mover}: {state}"
            self._look(state, mover)
            if mover.kind == "chance":
                state = self._rules.draw(state, self._event(mover))
                continue
            self._phases += 1
            assert self._phases <= self._game.turns, f"the match has more than {self._game.turns} turns: {state}"
            state = self._played(state, mover)
        self._end(state)

    def _event(self, mover: Mover) -> int:
        if not mover.weights:
            return self._dice.randint(1, 10)
        return self._dice.choices(range(len(mover.weights)), mover.weights)[0]

    def _look(self, state: Any, mover: Mover) -> None:
        """Both seats: who may move, and what is seen."""
        for seat in range(self._game.seats):
            moves = self._rules.legal_moves(state, seat)
            assert bool(moves) == (seat in mover.seats), (
                f"seat {seat} has the moves {moves}, but {mover} moves: {state}"
            )
            assert len(set(moves)) == len(moves), f"a move is listed twice: {moves}"
            view = self._rules.view(state, seat)
            assert _is_json(view), f"the view of seat {seat} is not plain JSON: {view}"
            request = self._game.wire.move_request(state, seat)
            assert _is_json(request), f"the question to seat {seat} is not plain JSON: {request}"
            other = self._twin(state, seat)
            if other is not None:
                self._looks_the_same(state, other, seat)

    def _looks_the_same(self, state: Any, other: Any, seat: Seat) -> None:
        for look in (self._rules.view, self._game.wire.move_request, self._rules.role):
            shown = look(state, seat)
            assert shown == look(other, seat), f"seat {seat} is shown {shown}, which tells it a secret of {state}"

    def _played(self, state: Any, mover: Mover) -> Any:
        moves = {seat: self._dice.choice(self._rules.legal_moves(state, seat)) for seat in mover.seats}
        before = repr(state)
        after = self._rules.play(state, moves)
        assert repr(state) == before, f"play changed its state instead of returning a new one: {before}"
        assert repr(self._rules.play(state, moves)) == repr(after), f"the same moves {moves} led to another state"
        for seat in mover.seats:
            self._refuses(state, {**moves, seat: NO_MOVE})
        return after

    def _refuses(self, state: Any, moves: dict[Seat, str]) -> None:
        try:
            self._rules.play(state, moves)
        except ValueError:
            return
        raise AssertionError(f"play must raise ValueError for illegal moves: {moves}")

    def _end(self, state: Any) -> None:
        """The outcome, its points, and that the reported details prove it."""
        game = self._game
        outcome = self._rules.outcome(state)
        assert outcome is not None, f"nobody moves, but there is no outcome: {state}"
        assert len(outcome.returns) == game.seats, f"one return for each seat, not {outcome.returns}"
        assert outcome.explanation(PLAYERS), "an outcome needs a reason"
        scoring = game.scoring
        if scoring.by_margin:
            in_range = all(scoring.worst <= value <= scoring.best for value in outcome.returns)
            assert in_range, f"returns go from {scoring.worst} to {scoring.best}, not {outcome.returns}"
        details = json.loads(json.dumps(packed(game.wire.details(state, PLAYERS, technical=False))))
        verdict = game.wire.verdict(unpacked(details), PLAYERS)
        assert verdict.kind == "confirmed", f"its details do not prove the match: {verdict.note}; {details}"
        assert verdict.winner == outcome.winner, f"the details say that seat {verdict.winner} won, not {outcome.winner}"


def _is_json(value: object) -> bool:
    try:
        return bool(json.loads(json.dumps(value)) == value)
    except TypeError:
        return False
