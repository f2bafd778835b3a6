"""Dishonest referees of a simulated league: real referees whose messages are changed on their way.

They were admitted like any other, so the manager must take their word. Each favours one friend, the player of a match
with the lower id. There are eleven kinds:

    grind, invent, swap, losses   lie in their reports
    frame                         reports signatures that do not fit, so that players seem to have spoiled them
    deal                          picks another seed than the promised one when it asks for the manager's share
    hand in                       invents a choice when it asks for the share, and would rather not report
    lie                           shows the opponent another position than the true one
    leak                          tells its friend the number before it chooses; says nothing untrue
    peek                          takes the share, looks at the draws to come, and forgets the match
    drop                          says nothing about matches that its friend did not win, and so loses them

What must never happen: that the manager calls a result proven that the players did not sign, or whose draw was known in
an earlier attempt; that a match begins anew after a draw that decided it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec import structs

from league.games import draw
from league.games.even_odd import parity
from league.machine import Ask
from league.manager.state.ledger import ScheduledMatch
from league.protocol.message.messages import (
    DrawRequest,
    GameInvitation,
    GameMoveCall,
    GameOver,
    Message,
)
from league.protocol.message.messages import MatchResultReport as Report
from league.protocol.message.parts import ResultDetails
from league.referee.desk import RefereeDesk

if TYPE_CHECKING:
    from league.features.lab.simulation.node import Node
    from league.features.lab.simulation.world import World

KIND: Final = "dishonest referee"
"""How the fault is counted and excluded."""
OTHER: Final = {"even": "odd", "odd": "even"}
LEAK: Final = "leak"
DROP: Final = "drop"
PEEK: Final = "peek"
DROPPED_FOR_S: Final = 3600.0
"""After that it gives up. Its match was taken away long before, if there is anybody else to play it."""
MOST_DROPPED: Final = 3
"""How many matches of a league are dropped; each takes minutes, until somebody else has it."""


class DroppedAttempt(NamedTuple):
    """An attempt that its referee says nothing about for a while."""

    attempt: int
    until: float


class Rogues:
    """The dishonest referees of a league; `share` is that of the leagues that have one."""

    def __init__(self, world: World, share: float) -> None:
        self.kinds: dict[str, str] = {}
        """The kind of each dishonest referee, by node."""
        self._world = world
        self._dice = Random(f"{world.seed}/rogues")
        self._share = 0.0 if KIND in world.faults.excluded else share
        self._tips: dict[tuple[str, str], str] = {}
        """The choices that win, by player and match."""
        self._dropped: dict[str, DroppedAttempt] = {}
        """By match."""

    def cast(self) -> None:
        """Decide whether the last referee is dishonest. Somebody honest must be left for matches that are dropped."""
        if self._dice.random() >= self._share:
            return
        kinds = [*LIES, *QUIET_LIES, LEAK]
        if len(self._world.referees) > 1:
            kinds += [DROP, PEEK]
        kind = self._dice.choice(sorted(kinds))
        self.kinds[self._world.referees[-1].name] = kind
        self._world.faults.counts[f"{kind} by a referee"] += 1

    def says(self, referee: Node, message: object) -> object | None:
        """Return what a node says in place of an honest message; None if it says nothing."""
        kind = self.kinds.get(referee.name)
        if kind is None:
            return message
        if kind == LEAK and isinstance(message, GameInvitation):
            self._leak(referee, message)
        if self._is_forgotten(kind, referee, message):
            return None
        match = self._world.league.ledger.matches.get(getattr(message, "match_id", ""))
        if kind in QUIET_LIES and match is not None:
            return QUIET_LIES[kind](message, match, self._dice)
        # In other games there is no number to pick and no two choices to swap, and points by margin are no 3 and 0.
        if kind not in LIES or not isinstance(message, Report) or message.game_type != "even_odd":
            return message
        return LIES[kind](message, message.result.details or ResultDetails(), self._dice)

    def tip(self, player: Node, ask: Ask) -> str | None:
        """Return the choice that a referee told this player, if it did."""
        agent_id = getattr(player.machine, "agent_id", "")
        match_id = getattr(ask.call, "match_id", "")
        return self._tips.get((agent_id, match_id))

    def _leak(self, referee: Node, invitation: GameInvitation) -> None:
        """Work out the number from the referee's own seed, which in a shared draw is not all there is to it."""
        assert isinstance(referee.machine, RefereeDesk)
        attempt = invitation.attempt or 1
        match = referee.machine.matches.get((invitation.match_id, attempt))
        if match is None or match.game.name != "even_odd":
            return
        taken = match.taken
        number = draw.number(bytes.fromhex(taken.seed), taken.league_id, taken.match_id, attempt)
        friend = min(taken.players)
        self._tips[friend, taken.match_id] = parity(number)

    def _is_forgotten(self, kind: str, referee: Node, message: object) -> bool:
        """True if the referee says nothing more about this attempt: it did not like the result, or looked at draws."""
        if kind == DROP and isinstance(message, Report | GameOver):
            return self._is_dropped(message.match_id, _winner(message))
        match_id = getattr(message, "match_id", "")
        match = self._world.league.ledger.matches.get(match_id)
        if kind != PEEK or match is None or getattr(referee.machine, "agent_id", "") != match.referee_id:
            return False
        # Only in games with choices after a draw is there anything to gain.
        has_looked = match.current.released is not None and isinstance(message, GameMoveCall)
        return (has_looked or match_id in self._dropped) and self._is_dropped(match_id)

    def _is_dropped(self, match_id: str, winner: object = None) -> bool:
        """True if the friend did not win this attempt. A match is dropped once, and not for ever: perhaps nobody else
        can play it."""
        match = self._world.league.ledger.matches[match_id]
        if match_id in self._dropped:
            dropped = self._dropped[match_id]
            return dropped.attempt == match.attempt and self._world.agenda.now < dropped.until
        if winner == min(match.players) or len(self._dropped) >= MOST_DROPPED:
            return False
        self._dropped[match_id] = DroppedAttempt(match.attempt, self._world.agenda.now + DROPPED_FOR_S)
        self._world.faults.counts["match dropped by its referee"] += 1
        return True


def _winner(message: Report | GameOver) -> object:
    return message.result.winner if isinstance(message, Report) else message.game_result.winner_player_id


def _deal(message: object, match: ScheduledMatch, dice: Random) -> object:
    """Promise another seed to the manager than to the players."""
    if not isinstance(message, DrawRequest):
        return message
    seed = dice.randbytes(draw.SEED_BYTES)
    name = (message.league_id, message.match_id, message.attempt)
    promise = draw.commitment(seed, *name, match.current.share_commitment)
    return structs.replace(message, draw_seed=seed.hex(), draw_commitment=promise)


def _hand_in(message: object, match: ScheduledMatch, _: Random) -> object:
    """Hand in that the opponent chose as the friend did not."""
    if not isinstance(message, DrawRequest) or not message.choices:
        return message
    friend = min(match.players)
    choices = dict.fromkeys(match.players, OTHER.get(str(message.choices[friend])))
    return structs.replace(message, choices={**choices, friend: message.choices[friend]})


def _lie(message: object, match: ScheduledMatch, _: Random) -> object:
    """Show the opponent another position: other numbers, and boards from behind. Only the turn is true."""
    if not isinstance(message, GameMoveCall) or message.player_id == min(match.players):
        return message
    request = message.move_request
    numbers = {name: value + 1 for name, value in request.context.items() if type(value) is int}
    boards = {name: value[::-1] for name, value in request.context.items() if isinstance(value, list | str)}
    lie = {**request.context, **numbers, **boards, "turn": message.turn}
    return structs.replace(message, move_request=structs.replace(request, context=lie))


def _frame(message: object, _: ScheduledMatch, __: Random) -> object:
    """Report the signature of each player as that of the other."""
    if not isinstance(message, Report) or message.result.details is None:
        return message
    signatures = message.result.details.signatures or {}
    exchanged = dict(zip(signatures, reversed(signatures.values()), strict=True))
    lie = structs.replace(message.result.details, signatures=exchanged)
    return structs.replace(message, result=structs.replace(message.result, details=lie))


def _grind(report: Report, details: ResultDetails, dice: Random) -> Message:
    """Show another seed, by which the friend wins."""
    friend = min(report.result.score)
    choice = (details.choices or {}).get(friend)
    while True:
        seed = dice.randbytes(draw.SEED_BYTES)
        number = draw.number(seed, report.league_id, report.match_id, report.attempt or 1)
        # Half of all seeds will do.
        if OTHER.get(str(choice)) != parity(number):
            break
    return _reported(report, details, draw_seed=seed.hex(), drawn_number=number)


def _invent(report: Report, details: ResultDetails, _: Random) -> Message:
    """Report a match that nobody played: choices and signatures are made up."""
    first, second = report.result.score
    choices = {first: "even", second: "odd"}
    signatures = dict.fromkeys(choices, "A" * 86)
    return _reported(
        report,
        details,
        choices=choices,
        drawn_number=details.drawn_number or 4,
        signatures=signatures,
    )


def _swap(report: Report, details: ResultDetails, _: Random) -> Message:
    """Report the other choice of each player, with their signatures."""
    choices = details.choices or {}
    swapped = {player: OTHER.get(str(choice)) for player, choice in choices.items()}
    return _reported(report, details, choices=swapped)


def _lose(report: Report, details: ResultDetails, _: Random) -> Message:
    """Report that a player did not answer."""
    winner, loser = sorted(report.result.score)
    fault = {"code": "E001", "phase": "move", "turn": 1, "detail": "no answer"}
    lie = structs.replace(
        details,
        drawn_number=None,
        choices={winner: "even", loser: None},
        status="TECHNICAL_LOSS",
        faults={loser: fault},
    )
    result = structs.replace(report.result, winner=winner, score={winner: 3, loser: 0}, details=lie)
    return structs.replace(report, result=result)


def _reported(report: Report, details: ResultDetails, **changed: object) -> Message:
    """Return the report with these details, and the winner that follows from them."""
    lie = structs.replace(details, **changed)
    number = lie.drawn_number
    choices = lie.choices or {}
    if not isinstance(number, int) or None in choices.values():
        return report
    right = [player for player, choice in choices.items() if choice == parity(number)]
    # If both chose the same, it is a draw.
    winner = None
    status = "DRAW"
    score = dict.fromkeys(choices, 1)
    if len(right) == 1:
        winner = right[0]
        status = "WIN"
        score = dict.fromkeys(choices, 0)
        score[winner] = 3
    lie = structs.replace(lie, status=status)
    result = structs.replace(report.result, winner=winner, score=score, details=lie)
    return structs.replace(report, result=result)


LIES: Final[Mapping[str, Callable[[Report, ResultDetails, Random], Message]]] = {
    "grind": _grind,
    "invent": _invent,
    "swap": _swap,
    "losses": _lose,
}
QUIET_LIES: Final[Mapping[str, Callable[[object, ScheduledMatch, Random], object]]] = {
    "deal": _deal,
    "frame": _frame,
    "hand in": _hand_in,
    "lie": _lie,
}
"""Lies that leave the report's result as it is."""
