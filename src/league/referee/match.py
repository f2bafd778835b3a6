"""Matches as their events made them: who joined, who chose, who is at fault, what comes next; and all matches a referee
was ever given: which wait, which are played, which are reported.

Nothing here waits or sends; `conduct` does.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal

import msgspec
from msgspec import Struct

from league.events import (
    AgentState,
    AttemptFailed,
    Event,
    LeagueEnded,
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
    PlayersLocated,
    PlayersTold,
    RecordsShown,
    Registered,
    ReportSettled,
    Withdrawn,
    WrongAnswer,
)
from league.games import registry
from league.games.contract import SEATS, Mover, Seat
from league.lifecycle import after
from league.protocol.experiment import Provenance

Step = Literal["INVITE", "ASK", "DRAW", "DECIDE", "TELL", "REPORT", "DONE"]
"""What a match needs next."""
GameState = Literal["WAITING_FOR_PLAYERS", "COLLECTING_CHOICES", "DRAWING_NUMBER", "FINISHED"]
DECLINED: Final = "DECLINED"
"""The `code` of a fault that is no error: the player said no (R-34)."""


class Seated(Struct):
    """A player in this match. The counts are those of the question it is asked now."""

    joined: bool = False
    failed: int = 0
    wrong: int = 0
    last: AttemptFailed | WrongAnswer | None = None
    fault: PlayerFaulted | None = None
    provenance: Provenance | None = None
    """How its choices came about, as far as it says so."""


class Match:
    """The state of one attempt. Only what the docket applies to it changes it."""

    def __init__(self, taken: MatchTaken) -> None:
        game = registry.find(taken.game_type)
        if game is None:
            raise LookupError(f"the game {taken.game_type!r} of match {taken.match_id} is not installed any more")
        self.taken = taken
        self.name = f"{taken.match_id}/{taken.attempt}"
        """This attempt of this match, in keys and secrets."""
        self.named: dict[str, Any] = {
            "match_id": taken.match_id,
            "attempt": taken.attempt,
        }
        """How events name it (Any: ready to be spread into one)."""
        self.conversations = _conversations(taken)
        """Of all messages to each player. Nobody can guess it: who repeats it has received a call."""
        self.game = game
        self.seated = (Seated(), Seated())
        self.turn = 0
        """0 while players join; then the turn they are asked about."""
        self.awaited: list[Seat] = list(SEATS)
        """The players that have to answer before this phase can be judged (R-42)."""
        self.pending: dict[Seat, str] = {}
        """Valid choices of the open turn, which the game does not know yet."""
        self.faults: list[PlayerFaulted] = []
        """Of players who lost by their own fault, in the order of their seats."""
        self.numbers: list[int] = []
        self.decided: MatchDecided | None = None
        self.told = False
        self.ended: ReportSettled | MatchDropped | None = None
        """The manager has its result, or nobody wants it any more."""
        self.events: list[Event] = [taken]
        """All that happened, for whoever wants to know why it ended so."""
        # Any: only the game knows the type of its state.
        self.position: Any = game.rules.start()
        self.to_move: Mover = game.rules.to_move(self.position)

    # --- what it means ------------------------------------------------------------------------------------------------

    @property
    def match_id(self) -> str:
        return self.taken.match_id

    @property
    def attempt(self) -> int:
        return self.taken.attempt

    @property
    def conversation_id(self) -> str:
        """That of the report."""
        return _conversation_of(self.taken)

    @property
    def is_located(self) -> bool:
        """Is it known where its players live?"""
        return all(self.taken.endpoints)

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
    def next_step(self) -> Step:
        """What is due now, from what has happened alone: also after a restart."""
        if self.ended is not None:
            return "DONE"
        if self.decided is not None:
            return "REPORT" if self.told else "TELL"
        if self.awaited:
            return "ASK" if self.turn else "INVITE"
        return "DRAW" if self.turn and self.to_move.kind == "chance" and not self.faults else "DECIDE"

    def seat_of(self, player_id: str) -> Seat | None:
        return next(
            (seat for seat in SEATS if self.taken.players[seat] == player_id),
            None,
        )

    def snapshot(self) -> dict[str, Any]:
        """Everything, as plain data."""
        return {
            "seated": [msgspec.to_builtins(one) for one in self.seated],
            "turn": self.turn,
            "pending": dict(self.pending),
            "numbers": list(self.numbers),
            "position": repr(self.position),
            "state": self.game_state,
            "told": self.told,
            "ended": None if self.ended is None else msgspec.to_builtins(self.ended),
            "events": self.record(),
        }

    def record(self) -> list[dict[str, Any]]:
        """All that happened in it (Any: events as JSON objects)."""
        told: list[dict[str, Any]] = msgspec.to_builtins(self.events)
        return told

    # --- what events do -----------------------------------------------------------------------------------------------

    def _player(self, player_id: str) -> Seated:
        return self.seated[self.taken.players.index(player_id)]

    def _located(self, event: PlayersLocated) -> None:
        self.taken = msgspec.structs.replace(self.taken, endpoints=event.endpoints)

    def _records_shown(self, event: RecordsShown) -> None:
        self.taken = msgspec.structs.replace(self.taken, records=event.records)

    def _attempt_failed(self, event: AttemptFailed) -> None:
        player = self._player(event.player_id)
        player.failed += 1
        player.last = event

    def _wrong_answer(self, event: WrongAnswer) -> None:
        player = self._player(event.player_id)
        player.wrong += 1
        player.last = event

    def _settled(self, player_id: str) -> Seat:
        """This player has answered, or lost by its own fault."""
        seat = SEATS[self.taken.players.index(player_id)]
        if seat in self.awaited:
            self.awaited.remove(seat)
        return seat

    def _joined(self, event: PlayerJoined) -> None:
        self.seated[self._settled(event.player_id)].joined = True
        first, second = self.seated
        if first.joined and second.joined:
            self._next_turn()

    def _moved(self, event: MoveMade) -> None:
        seat = self._settled(event.player_id)
        if event.provenance is not None:
            before = self.seated[seat].provenance
            self.seated[seat].provenance = before.plus(event.provenance) if before else event.provenance
        self.pending[seat] = event.choice
        if not self.awaited and len(self.pending) == len(self.to_move.seats):
            self._go_to(self.game.rules.play(self.position, self.pending))
            self.pending = {}
            self._next_turn()

    def _go_to(self, position: Any) -> None:
        self.position = position
        self.to_move = self.game.rules.to_move(position)

    def _next_turn(self) -> None:
        """Another question: nothing has gone wrong with it yet."""
        self.turn += 1
        for one in self.seated:
            one.failed = 0
            one.wrong = 0
            one.last = None
        self.awaited = list(self.to_move.seats)

    def _faulted(self, event: PlayerFaulted) -> None:
        self.seated[self._settled(event.player_id)].fault = event
        self.faults = [one.fault for one in self.seated if one.fault is not None]

    def _drawn(self, event: NumberDrawn) -> None:
        self.numbers.append(event.number)
        self._go_to(self.game.rules.draw(self.position, event.number))
        self.awaited = list(self.to_move.seats)

    def _decided(self, event: MatchDecided) -> None:
        self.decided = event
        self.awaited = []

    def _told(self, event: PlayersTold) -> None:
        self.told = True

    def _ended(self, event: ReportSettled | MatchDropped) -> None:
        self.ended = event

    def _unchanged(self, event: MatchBegun | PlayerDeviated) -> None:
        """It is kept among the events, and changes nothing."""


def _conversation_of(taken: MatchTaken) -> str:
    return f"conv-{taken.match_id.lower()}-{taken.attempt}"


def _conversations(taken: MatchTaken) -> tuple[str, str]:
    """The seed is drawn once per attempt and kept secret until the attempt is decided; so is what is derived of it."""
    name, derived = (
        _conversation_of(taken),
        hmac.digest(bytes.fromhex(taken.seed), b"conversations", "sha256").hex(),
    )
    half = len(derived) // 2
    return f"{name}-{derived[:half]}", f"{name}-{derived[half:]}"


_EFFECTS: Final[Mapping[type[Event], Callable[[Match, Any], None]]] = {
    PlayersLocated: Match._located,
    RecordsShown: Match._records_shown,
    MatchBegun: Match._unchanged,
    AttemptFailed: Match._attempt_failed,
    WrongAnswer: Match._wrong_answer,
    PlayerJoined: Match._joined,
    MoveMade: Match._moved,
    PlayerDeviated: Match._unchanged,
    PlayerFaulted: Match._faulted,
    NumberDrawn: Match._drawn,
    MatchDecided: Match._decided,
    PlayersTold: Match._told,
    ReportSettled: Match._ended,
    MatchDropped: Match._ended,
}


class Docket:
    """Only `apply` changes it. `open` holds the newest attempt of each match until it is reported or dropped.
    `on_absent` is told the endpoint of a player that did not join its match."""

    def __init__(self, on_absent: Callable[[str], None] = lambda _: None) -> None:
        self._on_absent = on_absent
        self._begin_league()

    def _begin_league(self) -> None:
        """Nothing is known of this league yet. Match ids of another one come again in it: none of them is kept."""
        self.state: AgentState = "INIT"
        self.champion: str | None = None
        self.matches: dict[tuple[str, int], Match] = {}
        self.open: dict[str, Match] = {}
        self.queue: dict[str, None] = {}
        self.running: dict[str, None] = {}
        self.players: set[str] = set()
        """Everybody who ever played here: whose id in an answer is somebody else's (R-43)."""
        self.deviations: set[tuple[str, str, str]] = set()
        """Player, error code and clause of each deviation."""
        self._attempts: dict[str, int] = {}

    def attempt_of(self, match_id: str) -> int:
        """The newest attempt of a match we were given; 0 for none."""
        return self._attempts.get(match_id, 0)

    @property
    def next(self) -> Match | None:
        """The first that waits and can be played."""
        for match_id in self.queue:
            match = self.open[match_id]
            if match.is_located:
                return match
        return None

    def newest(self, match_id: str) -> Match | None:
        return self.matches.get((match_id, self.attempt_of(match_id)))

    def apply(self, event: Any) -> None:
        """Any: whatever is not about the league names its match and attempt."""
        kind = type(event)
        effect = _OF_LEAGUE.get(kind)
        if effect is None:
            match = self.matches[event.match_id, event.attempt]
            match.events.append(event)
            _EFFECTS[kind](match, event)
            effect = _OF_MATCH.get(kind)
        if effect is not None:
            effect(self, event)

    def _registered(self, event: Registered) -> None:
        if event.new_league:
            self._begin_league()
        self.state = after(self.state, "register")

    def _withdrawn(self, event: Withdrawn) -> None:
        self.state = after(self.state, "withdraw")

    def _league_ended(self, event: LeagueEnded) -> None:
        self.state = after(self.state, "league_end")
        self.champion = event.champion

    def _taken(self, event: MatchTaken) -> None:
        if self.state != "ACTIVE":
            self.state = after(after(self.state, "reopen"), "league_start")
        match = Match(event)
        self.matches[event.match_id, event.attempt] = match
        self.open[event.match_id] = match
        self.queue[event.match_id] = None
        self.players.update(event.players)
        self._attempts[event.match_id] = event.attempt

    def _begun(self, event: MatchBegun) -> None:
        del self.queue[event.match_id]
        self.running[event.match_id] = None

    def _told(self, event: PlayersTold) -> None:
        del self.running[event.match_id]

    def _closed(self, event: ReportSettled | MatchDropped) -> None:
        del self.open[event.match_id]
        self.queue.pop(event.match_id, None)
        self.running.pop(event.match_id, None)

    def _deviated(self, event: PlayerDeviated) -> None:
        self.deviations.add((event.player_id, event.code, event.requirement))

    def _faulted(self, event: PlayerFaulted) -> None:
        if event.phase == "join":
            taken = self.matches[event.match_id, event.attempt].taken
            self._on_absent(taken.endpoints[taken.players.index(event.player_id)])

    def snapshot(self) -> dict[str, Any]:
        """Everything, as plain data."""
        return {
            "state": self.state,
            "champion": self.champion,
            "open": [match.name for match in self.open.values()],
            "queue": list(self.queue),
            "running": list(self.running),
            "players": sorted(self.players),
            "deviations": sorted(self.deviations),
            "matches": {match.name: match.snapshot() for match in self.matches.values()},
        }


DocketEffects = Mapping[type[Event], Callable[[Docket, Any], None]]

_OF_LEAGUE: Final[DocketEffects] = {
    Registered: Docket._registered,
    Withdrawn: Docket._withdrawn,
    LeagueEnded: Docket._league_ended,
    MatchTaken: Docket._taken,
}
"""What concerns no match that is known yet."""
_OF_MATCH: Final[DocketEffects] = {
    MatchBegun: Docket._begun,
    PlayersTold: Docket._told,
    ReportSettled: Docket._closed,
    MatchDropped: Docket._closed,
    PlayerDeviated: Docket._deviated,
    PlayerFaulted: Docket._faulted,
}
"""What the events of a match change beside the match."""
