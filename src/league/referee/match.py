"""Matches as their events made them, and the docket of all matches that a referee was ever given.

    waiting ──▶ running: players join, choose turn by turn, numbers are drawn ──▶ decided ──▶ told ──▶ reported
       └───────────┴──▶ dropped: a newer attempt was given out, or the league is over

Only `Docket.apply` changes a match, live and in replay; `Match.next_step` says what it needs next, from its events
alone. Nothing here waits or sends; `conduct.py` does. What must never happen: a match whose next step depends on
anything that a crash could lose.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal

import msgspec
from msgspec import Struct

from league.events import (
    AgentState,
    AnswerRefused,
    AssignmentCompleted,
    AttemptFailed,
    DrawRequested,
    Event,
    LeagueEnded,
    MatchBegun,
    MatchDecided,
    MatchDropped,
    MatchTaken,
    MoveMade,
    NumberDrawn,
    Phase,
    PlayerAwaited,
    PlayerDeviated,
    PlayerFaulted,
    PlayerJoined,
    PlayersTold,
    Registered,
    ReportSettled,
    ShareReceived,
    WrongAnswer,
)
from league.games import registry
from league.games.contract import SEATS, Game, Mover, Seat, opponent
from league.games.wire_fields import Spoken
from league.lifecycle import after
from league.protocol.message.experiment import Provenance
from league.protocol.signing.tokens import hmac_sha256

Step = Literal["INVITE", "ASK", "DRAW", "DECIDE", "TELL", "REPORT", "DONE"]
"""What a match needs next."""
GameState = Literal["WAITING_FOR_PLAYERS", "COLLECTING_CHOICES", "DRAWING_NUMBER", "FINISHED"]
MAX_REFUSED_ANSWERS: Final = 3
"""Maximum number of refused answers noted for each player and turn: strangers can send as many as they like."""
REFUSED_BECAUSE: Final = "an answer came and was refused, because "
"""Begins the reason in the details of a fault."""
ANSWERED_EMPTY: Final = "the call was answered with an empty body"
"""Ends the details of a fault of a player that answers, but says nothing."""
DECLINED: Final = "DECLINED"
"""The `code` of a fault that is not an error: the player said no (R-34)."""


class Seated(Struct):
    """A player in this match. The counts are those of the question it is asked now."""

    joined: bool = False
    failed: int = 0
    wrong: int = 0
    last: AttemptFailed | WrongAnswer | None = None
    fault: PlayerFaulted | None = None
    is_awaited: bool = False
    """True if the manager had the match wait for its answer to this question."""
    provenance: Provenance | None = None
    """How its choices came about, as far as it says so."""
    refused: AnswerRefused | None = None
    """The last answer that came in its name as a request and was refused."""
    signature: str | None = None
    """Its last signature, which covers all its choices."""
    spent: float = 0.0
    """Seconds it has taken for its choices, in games with a clock."""

    @property
    def is_finally_wrong(self) -> bool:
        """True if its last answer was wrong, and no correction is left."""
        return isinstance(self.last, WrongAnswer) and not self.last.left

    def add(self, provenance: Provenance) -> None:
        """Add how another choice came about."""
        if self.provenance is not None:
            provenance = self.provenance.plus(provenance)
        self.provenance = provenance


class Course:
    """How the game has gone so far, beginning with the moves of an opening."""

    def __init__(self, game: Game, opening: Sequence[str]) -> None:
        self._rules = game.rules
        # Any: only the game knows the type of its state.
        self.position: Any = game.opened(opening)
        self.to_move: Mover = game.rules.to_move(self.position)
        self.pending: dict[Seat, str] = {}
        """Valid choices of the open turn, which the game does not know yet."""
        self.talk: list[Spoken] = []
        """What the players said to each other with their moves."""

    def choose(self, seat: Seat, choice: str) -> bool:
        """Take a choice; True if it completes the turn."""
        self.pending[seat] = choice
        # The game learns the choices of a turn together: it must not see who was quick.
        if len(self.pending) != len(self.to_move.seats):
            return False
        moves = self.pending
        if len(moves) > 1:
            # In the order of the seats, whoever was quicker.
            moves = dict(sorted(moves.items()))
        self._go_to(self._rules.play(self.position, moves))
        self.pending = {}
        return True

    def draw(self, number: int) -> None:
        self._go_to(self._rules.draw(self.position, number))

    def _go_to(self, position: Any) -> None:
        self.position = position
        self.to_move = self._rules.to_move(position)


class Draws(Struct):
    """The numbers that were drawn, and the manager's share of them."""

    is_requested: bool = False
    """True if the manager was asked for its share."""
    share: str | None = None
    """The manager's share, once we have it."""
    numbers: list[int] = []


class Match:
    """The state of one attempt. Only events that the docket applies change it. `opening` are moves before its start."""

    def __init__(self, assignment: MatchTaken, opening: Sequence[str] = ()) -> None:
        game = registry.find(assignment.game_type)
        if game is None:
            game_type = assignment.game_type
            raise LookupError(f"the game {game_type!r} of match {assignment.match_id} is not installed any more")
        self.taken = assignment
        self.name = f"{assignment.match_id}/{assignment.attempt}"
        """This attempt of this match, in keys and secrets."""
        self.named: dict[str, Any] = {
            "match_id": assignment.match_id,
            "attempt": assignment.attempt,
        }
        """How events name it (Any: ready to be spread into one)."""
        self.conversations = _conversations(assignment)
        """The conversation with each player. Nobody can guess it: a sender that repeats it has received a call."""
        self.game = game
        self.seated = (Seated(), Seated())
        self.turn = 0
        """0 while players join; then the turn they are asked about."""
        self.awaited: list[Seat] = list(SEATS)
        """The players that have to answer before this phase can be judged (R-42)."""
        self.faults: list[PlayerFaulted] = []
        """The faults by which players lost, in the order of their seats."""
        self.course = Course(game, opening)
        self.draws = Draws()
        self.decided: MatchDecided | None = None
        self.told = False
        self.ended: ReportSettled | MatchDropped | None = None
        """Set when the manager has its result, or nobody wants it any more."""
        self.events: list[Event] = [assignment]
        """All that happened, so that people can see why the match ended as it did."""

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
        """Are the addresses of both players known?"""
        return all(self.taken.endpoints)

    @property
    def phase(self) -> Phase:
        if self.turn:
            return "move"
        return "join"

    @property
    def game_state(self) -> GameState:
        if self.decided is not None:
            return "FINISHED"
        if not self.turn:
            return "WAITING_FOR_PLAYERS"
        if self.course.to_move.kind == "players":
            return "COLLECTING_CHOICES"
        return "DRAWING_NUMBER"

    @property
    def next_step(self) -> Step:
        """The next step, from the match's events alone: also after a restart."""
        if self.ended is not None:
            return "DONE"
        if self.decided is not None:
            return "REPORT" if self.told else "TELL"
        if self.awaited:
            return "ASK" if self.turn else "INVITE"
        # A player that did not join or choose has lost: no number is drawn any more.
        if self.turn and self.course.to_move.kind == "chance" and not self.faults:
            return "DRAW"
        return "DECIDE"

    def asked(self, player_id: str) -> dict[str, Any]:
        """Return how events name the question that a player is asked now (Any: ready to be spread into one)."""
        return {**self.named, "player_id": player_id, "phase": self.phase, "turn": self.turn}

    def is_behind(self, seat: Seat) -> bool:
        """True if the opponent is ahead, in a game in which one can be."""
        leader = self.game.leader
        if leader is None:
            return False
        return leader(self.course.position) == opponent(seat)

    def seat_of(self, player_id: str) -> Seat | None:
        for seat in SEATS:
            if self.taken.players[seat] == player_id:
                return seat
        return None

    def notes_refused(self, player_id: str, detail: str) -> bool:
        """True if another refused answer of this player is worth a note in this turn."""
        noted = [event for event in self.events if isinstance(event, AnswerRefused)]
        details = [event.detail for event in noted if (event.player_id, event.turn) == (player_id, self.turn)]
        return len(details) < MAX_REFUSED_ANSWERS and detail not in details

    def has_proven_answer(self, player_id: str) -> bool:
        """True if this player joined or chose in a way that shows more than its address."""
        for event in self.events:
            if isinstance(event, PlayerJoined | MoveMade) and event.player_id == player_id and not event.by_address:
                return True
        return False

    def snapshot(self) -> dict[str, Any]:
        """Return everything as plain data."""
        ended = None
        if self.ended is not None:
            ended = msgspec.to_builtins(self.ended)
        return {
            "seated": [msgspec.to_builtins(player) for player in self.seated],
            "turn": self.turn,
            "pending": dict(self.course.pending),
            "share": self.draws.share,
            "numbers": list(self.draws.numbers),
            "position": repr(self.course.position),
            "state": self.game_state,
            "told": self.told,
            "ended": ended,
            "events": self.record(),
        }

    def record(self) -> list[dict[str, Any]]:
        """Return all that happened in it (Any: events as JSON objects)."""
        record: list[dict[str, Any]] = msgspec.to_builtins(self.events)
        return record

    # --- what events do -----------------------------------------------------------------------------------------------

    def _player(self, player_id: str) -> Seated:
        return self.seated[self.taken.players.index(player_id)]

    def _completed(self, event: AssignmentCompleted) -> None:
        taken = self.taken
        self.taken = msgspec.structs.replace(
            taken, endpoints=event.endpoints or taken.endpoints, records=event.records or taken.records
        )

    def _attempt_failed(self, event: AttemptFailed) -> None:
        player = self._player(event.player_id)
        player.failed += 1
        player.last = event

    def _wrong_answer(self, event: WrongAnswer) -> None:
        player = self._player(event.player_id)
        player.wrong += 1
        player.last = event

    def _answer_refused(self, event: AnswerRefused) -> None:
        seat = self.seat_of(event.player_id)
        if seat is not None:
            self.seated[seat].refused = event

    def _settled(self, player_id: str) -> Seat:
        """Await this player no longer: it has answered, or lost by its own fault."""
        seat = SEATS[self.taken.players.index(player_id)]
        if seat in self.awaited:
            self.awaited.remove(seat)
        return seat

    def _joined(self, event: PlayerJoined) -> None:
        seat = self._settled(event.player_id)
        self.seated[seat].joined = True
        first, second = self.seated
        if first.joined and second.joined:
            self._next_turn()

    def _moved(self, event: MoveMade) -> None:
        seat = self._settled(event.player_id)
        if event.provenance is not None:
            self.seated[seat].add(event.provenance)
        if event.signature is not None:
            self.seated[seat].signature = event.signature
        if event.talk:
            self.course.talk.append(Spoken(event.turn, seat, event.talk))
        if event.took:
            self.seated[seat].spent += event.took
        if self.course.choose(seat, event.choice):
            self._next_turn()

    def _next_turn(self) -> None:
        """Ask the players that move now."""
        self.turn += 1
        # Another question: nothing has gone wrong with it yet.
        for player in self.seated:
            player.failed = 0
            player.wrong = 0
            player.last = None
            player.refused = None
            player.is_awaited = False
        self.awaited = list(self.course.to_move.seats)

    def _faulted(self, event: PlayerFaulted) -> None:
        seat = self._settled(event.player_id)
        self.seated[seat].fault = event
        if event.provenance is not None:
            self.seated[seat].add(event.provenance)
        self.faults = [player.fault for player in self.seated if player.fault is not None]

    def _draw_requested(self, event: DrawRequested) -> None:
        self.draws.is_requested = True

    def _share_received(self, event: ShareReceived) -> None:
        self.draws.share = event.share

    def _paused(self, event: PlayerAwaited) -> None:
        self._player(event.player_id).is_awaited = True

    def _drawn(self, event: NumberDrawn) -> None:
        self.draws.numbers.append(event.number)
        self.course.draw(event.number)
        self.awaited = list(self.course.to_move.seats)

    def _decided(self, event: MatchDecided) -> None:
        self.decided = event
        self.awaited = []

    def _told(self, event: PlayersTold) -> None:
        self.told = True

    def _ended(self, event: ReportSettled | MatchDropped) -> None:
        self.ended = event

    def _unchanged(self, event: MatchBegun | PlayerDeviated) -> None:
        """Change nothing: the event is only kept in the record."""


def _conversation_of(assignment: MatchTaken) -> str:
    return f"conv-{assignment.match_id.lower()}-{assignment.attempt}"


def _conversations(assignment: MatchTaken) -> tuple[str, str]:
    """Return the ids of the conversations with both players, which nobody can guess."""
    # The seed is drawn once per attempt and stays secret until the attempt is decided; so does all that is derived
    # from it.
    name = _conversation_of(assignment)
    seed = bytes.fromhex(assignment.seed)
    derived = hmac_sha256(seed, b"conversations").hex()
    half = len(derived) // 2
    return f"{name}-{derived[:half]}", f"{name}-{derived[half:]}"


_EFFECTS: Final[Mapping[type[Event], Callable[[Match, Any], None]]] = {
    AssignmentCompleted: Match._completed,
    MatchBegun: Match._unchanged,
    AttemptFailed: Match._attempt_failed,
    WrongAnswer: Match._wrong_answer,
    AnswerRefused: Match._answer_refused,
    PlayerJoined: Match._joined,
    MoveMade: Match._moved,
    PlayerDeviated: Match._unchanged,
    PlayerFaulted: Match._faulted,
    DrawRequested: Match._draw_requested,
    ShareReceived: Match._share_received,
    PlayerAwaited: Match._paused,
    NumberDrawn: Match._drawn,
    MatchDecided: Match._decided,
    PlayersTold: Match._told,
    ReportSettled: Match._ended,
    MatchDropped: Match._ended,
}


Opening = Callable[[str], Sequence[str]]
"""Returns the moves that a match of this id begins with. In a league there are none."""


class Docket:
    """All matches of one referee in one league. Only `apply` changes it. `open` holds the newest attempt of each match
    until it is reported or dropped. `on_absent` is called with the endpoint of a player that did not join, `opening`
    with the id of a match: it returns the moves that the match begins with."""

    def __init__(self, on_absent: Callable[[str], None] = lambda _: None, opening: Opening = lambda _: ()) -> None:
        self._on_absent = on_absent
        self._opening = opening
        self._begin_league()

    def _begin_league(self) -> None:
        """Forget everything."""
        # Another league uses the same match ids again.
        self.state: AgentState = "INIT"
        self.champion: str | None = None
        self.matches: dict[tuple[str, int], Match] = {}
        self.open: dict[str, Match] = {}
        self.queue: dict[str, None] = {}
        self.running: dict[str, None] = {}
        self.players: set[str] = set()
        """All players that ever played here: their ids in another player's answer are wrong (R-43)."""
        self.deviations: set[tuple[str, str, str]] = set()
        """Player, error code and clause of each deviation."""
        self._attempts: dict[str, int] = {}

    def attempt_of(self, match_id: str) -> int:
        """Return the newest attempt of a match we were given; 0 for none."""
        return self._attempts.get(match_id, 0)

    def next(self, may_begin: Callable[[Match], bool]) -> Match | None:
        """Return the first waiting match that can be played."""
        # A match without addresses does not hold up those behind it.
        for match_id in self.queue:
            match = self.open[match_id]
            if match.is_located and may_begin(match):
                return match
        return None

    def newest(self, match_id: str) -> Match | None:
        return self.matches.get((match_id, self.attempt_of(match_id)))

    def apply(self, event: Any) -> None:
        """Make an event true (Any: every event that is not about the league names its match and attempt)."""
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

    def _league_ended(self, event: LeagueEnded) -> None:
        if event.withdrawn:
            self.state = after(self.state, "withdraw")
        else:
            self.state = after(self.state, "league_end")
            self.champion = event.champion

    def _taken(self, event: MatchTaken) -> None:
        # A league may be reopened: a match is played again after its end.
        if self.state != "ACTIVE":
            self.state = after(after(self.state, "reopen"), "league_start")
        match = Match(event, self._opening(event.match_id))
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
        # Only then may somebody else be at its address: a player that joined is known to live there.
        if event.phase == "join":
            assignment = self.matches[event.match_id, event.attempt].taken
            seat = assignment.players.index(event.player_id)
            self._on_absent(assignment.endpoints[seat])

    def snapshot(self) -> dict[str, Any]:
        """Return everything as plain data."""
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
    LeagueEnded: Docket._league_ended,
    MatchTaken: Docket._taken,
}
"""Effects of the events that concern no known match."""
_OF_MATCH: Final[DocketEffects] = {
    MatchBegun: Docket._begun,
    PlayersTold: Docket._told,
    ReportSettled: Docket._closed,
    MatchDropped: Docket._closed,
    PlayerDeviated: Docket._deviated,
    PlayerFaulted: Docket._faulted,
}
"""Effects of a match's events on the docket, beside those on the match."""
