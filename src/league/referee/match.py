"""One match and attempt as its events made it: who joined, who chose, who is at fault, and what comes next.

Nothing here waits or sends; `playing` does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

import msgspec

from league.events import (
    AttemptFailed,
    Event,
    MatchBegun,
    MatchDecided,
    MatchDropped,
    MatchTaken,
    MoveMade,
    NumberDrawn,
    Phase,
    PlayerDeviated,
    PlayerFaulted,
    PlayerJoined,
    PlayersTold,
    ReportSettled,
    WrongAnswer,
)
from league.games import registry
from league.games.contract import SEATS, Mover, Seat

GameState = Literal["WAITING_FOR_PLAYERS", "COLLECTING_CHOICES", "DRAWING_NUMBER", "FINISHED"]
DECLINED: Final = "DECLINED"
"""The `code` of a fault that is no error: the player said no (R-34)."""


@dataclass(slots=True)
class Seated:
    """A player in this match. The counts are those of the question it is asked now."""

    joined: bool = False
    failed: int = 0
    wrong: int = 0
    last: AttemptFailed | WrongAnswer | None = None
    fault: PlayerFaulted | None = None

    def asked_anew(self) -> None:
        """The next question: nothing has gone wrong with it yet."""
        self.failed, self.wrong, self.last = 0, 0, None


class Match:
    """The state of one attempt. Only `apply` changes it."""

    def __init__(self, taken: MatchTaken) -> None:
        game = registry.find(taken.game_type)
        if game is None:
            raise LookupError(f"the game {taken.game_type!r} of match {taken.match_id} is not installed any more")
        self.taken = taken
        self.game = game
        self.seated = (Seated(), Seated())
        self.turn = 0
        """0 while players join; then the turn they are asked about."""
        self.pending: dict[Seat, str] = {}
        """Valid choices of the open turn, which the game does not know yet."""
        self.numbers: list[int] = []
        self.begun = False
        self.decided: MatchDecided | None = None
        self.told = False
        self.settled: str | None = None
        self.dropped: str | None = None
        self.events: list[Event] = [taken]
        """All that happened, for whoever wants to know why it ended so."""
        # Any: only the game knows the type of its state.
        self.position: Any = game.rules.start()
        self._effects: Mapping[type[Event], Callable[[Any], None]] = {
            MatchBegun: self._begun,
            AttemptFailed: self._attempt_failed,
            WrongAnswer: self._wrong_answer,
            PlayerJoined: self._joined,
            MoveMade: self._moved,
            PlayerDeviated: lambda _: None,
            PlayerFaulted: self._faulted,
            NumberDrawn: self._drawn,
            MatchDecided: self._decided,
            PlayersTold: self._told,
            ReportSettled: self._settled,
            MatchDropped: self._dropped,
        }

    # --- what it means ------------------------------------------------------------------------------------------------

    @property
    def match_id(self) -> str:
        return self.taken.match_id

    @property
    def attempt(self) -> int:
        return self.taken.attempt

    @property
    def name(self) -> str:
        """This attempt of this match, in keys and secrets."""
        return f"{self.match_id}/{self.attempt}"

    @property
    def named(self) -> dict[str, Any]:
        """How events name it (Any: ready to be spread into one)."""
        return {"match_id": self.match_id, "attempt": self.attempt}

    @property
    def conversation_id(self) -> str:
        return f"conv-{self.match_id.lower()}-{self.attempt}"

    @property
    def phase(self) -> Phase:
        return "move" if self.turn else "join"

    @property
    def game_state(self) -> GameState:
        if self.decided is not None:
            return "FINISHED"
        if not self.turn:
            return "WAITING_FOR_PLAYERS"
        return "COLLECTING_CHOICES" if self.to_move.kind == "players" else "DRAWING_NUMBER"

    @property
    def to_move(self) -> Mover:
        return self.game.rules.to_move(self.position)

    @property
    def awaited(self) -> tuple[Seat, ...]:
        """Who still has to answer before this phase can be judged (R-42)."""
        if self.decided is not None:
            return ()
        asked = self.to_move.seats if self.turn else SEATS
        return tuple(seat for seat in asked if not self._is_settled(seat))

    @property
    def faults(self) -> tuple[PlayerFaulted, ...]:
        return tuple(one.fault for one in self.seated if one.fault is not None)

    def seat_of(self, player_id: str) -> Seat | None:
        return next((seat for seat in SEATS if self.taken.players[seat] == player_id), None)

    def snapshot(self) -> dict[str, Any]:
        """Everything, as plain data."""
        return {
            "seated": [msgspec.to_builtins(one) for one in self.seated],
            "turn": self.turn,
            "pending": dict(self.pending),
            "numbers": list(self.numbers),
            "position": repr(self.position),
            "state": self.game_state,
            "begun": self.begun,
            "told": self.told,
            "settled": self.settled,
            "dropped": self.dropped,
            "events": [msgspec.to_builtins(event) for event in self.events],
        }

    def _is_settled(self, seat: Seat) -> bool:
        one = self.seated[seat]
        return one.fault is not None or (seat in self.pending if self.turn else one.joined)

    # --- what events do -----------------------------------------------------------------------------------------------

    def apply(self, event: Event) -> None:
        self.events.append(event)
        self._effects[type(event)](event)

    def _player(self, player_id: str) -> Seated:
        return self.seated[self.taken.players.index(player_id)]

    def _begun(self, event: MatchBegun) -> None:
        self.begun = True

    def _attempt_failed(self, event: AttemptFailed) -> None:
        player = self._player(event.player_id)
        player.failed += 1
        player.last = event

    def _wrong_answer(self, event: WrongAnswer) -> None:
        player = self._player(event.player_id)
        player.wrong += 1
        player.last = event

    def _joined(self, event: PlayerJoined) -> None:
        self._player(event.player_id).joined = True
        if all(one.joined for one in self.seated):
            self._next_turn()

    def _moved(self, event: MoveMade) -> None:
        self.pending[SEATS[self.taken.players.index(event.player_id)]] = event.choice
        if set(self.pending) == set(self.to_move.seats):
            self.position = self.game.rules.play(self.position, self.pending)
            self.pending = {}
            self._next_turn()

    def _next_turn(self) -> None:
        self.turn += 1
        for one in self.seated:
            one.asked_anew()

    def _faulted(self, event: PlayerFaulted) -> None:
        self._player(event.player_id).fault = event

    def _drawn(self, event: NumberDrawn) -> None:
        self.numbers.append(event.number)
        self.position = self.game.rules.draw(self.position, event.number)

    def _decided(self, event: MatchDecided) -> None:
        self.decided = event

    def _told(self, event: PlayersTold) -> None:
        self.told = True

    def _settled(self, event: ReportSettled) -> None:
        self.settled = event.answer

    def _dropped(self, event: MatchDropped) -> None:
        self.dropped = event.why
