"""The built-in strategies that need nothing but their input: the same turn and chance, the same choice.

Each is legal in every game. Outside Even/Odd, where "even" and "odd" mean nothing, each says what it does with the
options the referee offers.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

from msgspec import Struct, field

from league.player.history import MatchHistory, PastMatch, scanned
from league.protocol.messages import ChooseParityCall, GameMoveCall
from league.protocol.parts import Object

if TYPE_CHECKING:  # whoever writes a player need not load it
    from league.machine import Considered, NoChoice

EVEN: Final = "even"
ODD: Final = "odd"
CHANCE_BYTES: Final = 32


class Turn(Struct, frozen=True):
    """Everything a strategy may know when it chooses."""

    game_type: str
    match_id: str
    opponent_id: str
    options: tuple[str, ...]
    """The valid choices, as the referee offers them."""
    chance: bytes
    """Fresh random bytes for this choice."""
    number: int = 1
    """Which choice of this match it is, where the referee says so."""
    view: Object = field(default_factory=dict)
    """What the game shows us of itself (`move_request.context`), or the context of CHOOSE_PARITY_CALL."""
    record: Mapping[str, int] = field(default_factory=dict)
    """Our wins, losses, draws and points so far, as far as the referee told us."""
    history: Sequence[PastMatch] = ()
    """The matches we played, the newest last."""
    seconds: float = 30.0
    """How long the referee waits for this choice."""
    tokens_spent: int = 0
    """What our choices of this league have cost so far, where a language model makes them."""
    call: ChooseParityCall | GameMoveCall | None = None
    """The message that asks, without its token."""


Answer: TypeAlias = "str | Considered | NoChoice"
"""The choice; or the choice and how it came about; or why there is none."""


class Strategy(Protocol):
    """Whoever chooses, at once or `async`. What it returns goes out as it is: a wrong choice is never repaired."""

    def choose(self, turn: Turn) -> Answer | Awaitable[Answer]: ...


Choosing = Callable[[Turn], str]


@dataclass(frozen=True, slots=True)
class BuiltIn:
    """A strategy of this module."""

    choosing: Choosing

    def choose(self, turn: Turn) -> str:
        if not turn.options:
            raise ValueError("the referee offers nothing to choose from")
        return self.choosing(turn)


def _random(turn: Turn) -> str:
    """Any option, each as likely as the others; nobody can predict it, nobody can exploit it."""
    # 256 bits over a handful of options: the remainder's bias is beyond measuring.
    return turn.options[int.from_bytes(turn.chance, "big") % len(turn.options)]


def _always_even(turn: Turn) -> str:
    """Always "even"; in other games always the first option."""
    return EVEN if EVEN in turn.options else turn.options[0]


def _always_odd(turn: Turn) -> str:
    """Always "odd"; in other games always the last option."""
    return ODD if ODD in turn.options else turn.options[-1]


def _alternate(turn: Turn) -> str:
    """Even and odd by turns, a step with every match; in other games round the options, a step with every match and
    every turn."""
    return turn.options[(_remembered(turn).played(turn.game_type) + turn.number - 1) % len(turn.options)]


def _mirror(turn: Turn) -> str:
    """What this opponent chose last time we met; anything at our first meeting, or where that is no option now."""
    last = _remembered(turn).last_choice(turn.game_type, turn.opponent_id)
    return last if last in turn.options else _random(turn)


def _frequency(turn: Turn) -> str:
    """Even/Odd: the opposite of what this opponent has chosen most often.

    The number's parity is a fair coin, so nobody can be right more often than half of the time. But equal choices
    are a draw, 1 point, while different ones win 3 points every other time, 1.5 on average: it pays to differ.
    Without a favourite to go by, and in other games, where differing is worth nothing in itself, any option.
    """
    counted = _remembered(turn).choices(turn.game_type, turn.opponent_id)
    even, odd = counted.get(EVEN, 0), counted.get(ODD, 0)
    if set(turn.options) != {EVEN, ODD} or even == odd:
        return _random(turn)
    return ODD if even > odd else EVEN


def _remembered(turn: Turn) -> MatchHistory:
    """The history with its index; one that is only a list of matches is read through."""
    return turn.history if isinstance(turn.history, MatchHistory) else scanned(turn.history)


_CHOOSING: Final[Mapping[str, Choosing]] = {
    "random": _random,
    "always_even": _always_even,
    "always_odd": _always_odd,
    "alternate": _alternate,
    "mirror": _mirror,
    "frequency": _frequency,
}


def find(name: str) -> BuiltIn | None:
    """The built-in strategy of that name."""
    choosing = _CHOOSING.get(name)
    return BuiltIn(choosing) if choosing else None


def known() -> tuple[str, ...]:
    """The names of the built-in strategies of this module."""
    return tuple(_CHOOSING)


def about(name: str) -> str:
    """What the strategy of that name does, in a sentence or a few."""
    return " ".join((_CHOOSING[name].__doc__ or "").split())
