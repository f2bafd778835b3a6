"""The wire of games played with GAME_MOVE_CALL, and the replay that confirms their results.

It serves every game whose state remembers its course: the moves of each turn, and the numbers that chance drew. Such a
game only says how to read them. Whoever has the reported moves and draws plays the game once more: the rules refuse a
move or a draw that could not have been, and the end decides the match.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, ClassVar, Final, Generic, NamedTuple

import msgspec

from league.games.contract import (
    LETTERS,
    NOTHING_PENDING,
    ChanceStep,
    Mover,
    Players,
    Rules,
    Seat,
    State,
    Verdict,
)

Moves = Mapping[Seat, str]
"""The move of the seat whose turn it was, or the moves of all that moved at the same time."""
Step = Moves | int
"""What happened in one step of a game: moves, or the number that chance drew."""

LARGEST_LIST: Final = 4_000
"""Moves that take more bytes than this are listed without the names of their players."""
LARGEST_BARE_LIST: Final = 6_000
"""If they still take more than this, each is listed as the number of its place among the legal moves, from 0."""
LONGEST_HISTORY: Final = 400
"""Maximum number of steps in a public history; the oldest are left out first."""
SHORT_HISTORY: Final = 50
"""The number of steps that fit into every question. A longer history has as many as fit into LARGEST_QUESTION."""
LARGEST_QUESTION: Final = 8_000


def own_history(state: Any) -> tuple[Step, ...]:
    """The steps of a game whose state has them in its attribute `history`."""
    steps: tuple[Step, ...] = state.history
    return steps


class Position(NamedTuple, Generic[State]):
    """A state of a game, and the step that led to it: moves, a draw, or neither at the start."""

    state: State
    moves: Moves = NOTHING_PENDING
    chance: ChanceStep | None = None


class Replayed(NamedTuple, Generic[State]):
    """A game that was played once more from its moves and draws."""

    state: State
    draws: tuple[ChanceStep, ...]


class MoveWire(msgspec.Struct, Generic[State], frozen=True):
    """The wire of such a game; `history` reads the steps from its state.

    With `public_history` every player sees all steps in its view. It is only for games in which nothing is hidden.
    """

    rules: Rules[State]
    history: Callable[[State], tuple[Step, ...]] = own_history
    move_type: str = "move"
    public_history: bool = False
    response_type: ClassVar[str] = "GAME_MOVE_RESPONSE"
    illegal_move: ClassVar[str] = "E024"

    def move_request(self, state: State, seat: Seat) -> dict[str, object]:
        return {
            "move_type": self.move_type,
            "valid_options": list(self.rules.legal_moves(state, seat)),
            "context": self.context(state, seat),
        }

    def context(self, state: State, seat: Seat) -> dict[str, object]:
        """What this seat may see, with the steps so far if they are public."""
        view = self.rules.view(state, seat)
        if self.public_history:
            steps = [_lettered(step) for step in self.history(state)[-LONGEST_HISTORY:]]
            if len(steps) > SHORT_HISTORY:
                room = LARGEST_QUESTION - _size([view, self.rules.legal_moves(state, seat)])
                while steps and _size(steps) > room:
                    del steps[: len(steps) // 10 + 1]
            view = {**view, "seat": LETTERS[seat], "history": steps}
        return view

    def game_result(
        self, state: State, players: Players, technical: bool, pending: Moves = NOTHING_PENDING
    ) -> dict[str, object]:
        moves = []
        draws = []
        for step in self.history(state):
            if isinstance(step, int):
                draws.append(step)
            else:
                moves.append(step)
        counted = [*moves, pending] if technical else moves
        result: dict[str, object] = {
            "choices": _choices(counted, players),
            "moves": self._listed(moves, draws, players),
        }
        if draws:
            result["draws"] = draws
        return result

    def _listed(self, moves: list[Moves], draws: list[int], players: Players) -> list[object]:
        """The moves with the names of their players; bare if the list is long, and as numbers if it still is."""
        named: list[object] = [{players[seat]: move for seat, move in step.items()} for step in moves]
        if _size(named) <= LARGEST_LIST:
            return named
        bare = [_bare([step[seat] for seat in sorted(step)]) for step in moves]
        if _size(bare) <= LARGEST_BARE_LIST:
            return bare
        places: list[object] = []
        state = self.rules.start()
        for position in course(self.rules, bare, draws, players):
            if position.moves:
                movers = sorted(position.moves.items())
                places.append(_bare([self._place(state, seat, move) for seat, move in movers]))
            state = position.state
        return places

    def _place(self, state: State, seat: Seat, move: str) -> int | str:
        """The place of a move among the legal ones; the move itself if it is in free words."""
        legal = self.rules.legal_moves(state, seat)
        return legal.index(move) if move in legal else move

    def details(
        self, state: State, players: Players, technical: bool, pending: Moves = NOTHING_PENDING
    ) -> dict[str, object]:
        return self.game_result(state, players, technical, pending)

    def verdict(self, details: Mapping[str, object], players: Players) -> Verdict:
        moves = details.get("moves")
        choices = details.get("choices")
        draws = details.get("draws")
        if not isinstance(moves, list):
            return Verdict("insufficient", None, "the moves are not listed")
        # Moves and draws decide; the choices only have to agree with them.
        try:
            if choices is not None and not (isinstance(choices, Mapping) and set(choices) <= set(players)):
                raise ValueError("choices may only name the two players")
            if draws is not None and not isinstance(draws, list):
                raise ValueError("draws must be a list")
            replayed = replay(self.rules, moves, draws or [], players)
            if choices is not None and not self._agrees(choices, replayed.state, players):
                raise ValueError("the choices are not the last moves of their players")
        except ValueError as error:
            return Verdict("impossible", None, str(error))
        state = replayed.state
        outcome = self.rules.outcome(state)
        if outcome is None:
            # A referee stops early only because a player failed.
            note = f"the game stopped after {len(moves)} moves, before its end"
            return Verdict("technical", None, note, draws=replayed.draws)
        return Verdict(
            "confirmed",
            outcome.winner,
            outcome.explanation(players),
            returns=outcome.returns,
            draws=replayed.draws,
        )

    def _agrees(
        self,
        choices: Mapping[str, object],
        state: State,
        players: Players,
    ) -> bool:
        """Whether each choice is its player's last move, or a legal one in the phase in which the game stopped."""
        moves = [step for step in self.history(state) if not isinstance(step, int)]
        last_moves = _choices(moves, players)
        for player, choice in choices.items():
            if choice is None or choice == last_moves[player]:
                continue
            seat = players.index(player)
            is_legal = choice in self.rules.legal_moves(state, seat)
            if not is_legal and not (isinstance(choice, str) and self.rules.accepts(state, seat, choice)):
                return False
        return True


def course(
    rules: Rules[State], moves: Sequence[object], draws: Sequence[object], players: Players
) -> Iterator[Position[State]]:
    """Play a game once more from its reported moves and draws: every position after a step, the first one first.

    Raises ValueError at the first step that cannot have been.
    """
    position: Position[State] = Position(rules.start())
    yield position
    drawn = 0
    played = 0
    while True:
        mover = rules.to_move(position.state)
        if mover.kind == "chance" and drawn < len(draws):
            step = _chance_step(mover, draws[drawn], drawn + 1)
            position = Position(rules.draw(position.state, step.number), chance=step)
            drawn += 1
        elif mover.kind != "chance" and played < len(moves):
            played += 1
            try:
                step_moves = by_seat(rules, position.state, moves[played - 1], players)
                position = Position(rules.play(position.state, step_moves), moves=step_moves)
            except ValueError as error:
                raise ValueError(f"move {played}: {error}") from error
        else:
            break
        yield position
    # A game that stopped early lacks steps, but none may be too many.
    if drawn < len(draws) or played < len(moves):
        raise ValueError(f"the game stops after {played} moves and {drawn} draws, and more are listed")


def replay(rules: Rules[State], moves: Sequence[object], draws: Sequence[object], players: Players) -> Replayed[State]:
    """Play a game once more to the end of its moves and draws."""
    position: Position[State] | None = None
    steps: list[ChanceStep] = []
    for position in course(rules, moves, draws, players):
        if position.chance is not None:
            steps.append(position.chance)
    assert position is not None, "the first position always comes"
    return Replayed(position.state, tuple(steps))


def reported_choices(rules: Rules[Any], details: Mapping[str, Any], players: Players) -> list[Mapping[str, object]]:
    """The choices that a result names, turn by turn: those of all players that chose in it, by their ids.

    Long lists of moves do not name their players. Then only the rules tell whose move each was, as far as it is legal.
    """
    moves = details.get("moves")
    if not isinstance(moves, list):
        moves = [details.get("choices")]
    # As JSON has them, objects are dicts. This is much quicker than to look for any Mapping.
    if all(isinstance(step, dict) for step in moves):
        return moves
    choices: list[Mapping[str, object]] = []
    # The result may have any shape.
    with suppress(ValueError, KeyError, TypeError, AttributeError):
        for position in course(rules, moves, details.get("draws") or [], players):
            if position.moves:
                # What comes before a step that cannot be replayed counts.
                choices.append({players[seat]: move for seat, move in position.moves.items()})  # noqa: PERF401
    return choices


def _chance_step(mover: Mover, number: object, place: int) -> ChanceStep:
    if type(number) is not int:  # true is not 1
        raise ValueError(f"draw {place}: not a whole number")
    if mover.weights and not (0 <= number < len(mover.weights) and mover.weights[number]):
        raise ValueError(f"draw {place}: there is no event {number}")
    return ChanceStep(mover.weights, number)


def _bare(step: list[Any]) -> object:
    """A step without names: what each mover did, in the order of the seats."""
    return step if len(step) > 1 else step[0]


def _size(value: object) -> int:
    return len(msgspec.json.encode(value))


def _lettered(step: Step) -> object:
    """A step of a public history: {"A": "3"}, or the number that chance drew."""
    if isinstance(step, int):
        return step
    return {LETTERS[seat]: move for seat, move in step.items()}


def _choices(
    steps: list[Moves],
    players: Players,
) -> dict[str, object]:
    """The last valid choice received from each player, null if there was none (R-09)."""
    last_moves: dict[Seat, str] = {}
    for step in steps:
        last_moves.update(step)
    return {player: last_moves.get(seat) for seat, player in enumerate(players)}


def by_seat(rules: Rules[State], state: State, move: object, players: Players) -> dict[Seat, str]:
    """Read one entry of `moves`: it names players, or has the bare moves, or their places, of the seats to move."""
    if isinstance(move, dict):
        if not all(player in players and isinstance(choice, str) for player, choice in move.items()):
            raise ValueError("not a choice of one of the two players")
        return {players.index(player): choice for player, choice in move.items()}
    seats = sorted(rules.to_move(state).seats)
    bare = move if isinstance(move, list) else [move]
    if len(bare) != len(seats):
        raise ValueError("not an object of player ids and choices")
    return {seat: _chosen(rules, state, seat, choice) for seat, choice in zip(seats, bare, strict=True)}


def _chosen(rules: Rules[State], state: State, seat: Seat, choice: object) -> str:
    """A choice that is listed as it is, or as the number of its place among the legal moves."""
    if type(choice) is int:  # true is not 1
        legal = rules.legal_moves(state, seat)
        if choice in range(len(legal)):
            return legal[choice]
    elif isinstance(choice, str):
        return choice
    raise ValueError(f"{choice!r} is not a choice")
