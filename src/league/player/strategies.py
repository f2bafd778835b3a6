"""The built-in strategies that need nothing but their input: the same turn and chance, the same choice.

Each can play every game. Games other than Even/Odd have no "even" and "odd"; the docstrings say how it chooses there.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

from msgspec import Struct, field

from league.player.history import MatchHistory, PastMatch, scanned
from league.protocol.message.experiment import Provenance
from league.protocol.message.messages import ChooseParityCall, GameMoveCall
from league.protocol.message.parts import Object

if TYPE_CHECKING:  # a player's module is imported quickly without it
    from random import Random  # noqa: TID251 - for the type

EVEN: Final = "even"
ODD: Final = "odd"
CHANCE_BYTES: Final = 32


class Considered(Struct, frozen=True):
    """A choice together with its provenance and a line of talk; a strategy may return it instead of the bare choice."""

    choice: str
    provenance: Provenance | None = None
    conversation: str = ""
    """What was said before the choice, as JSON, for the player's own journal."""
    talk: str = ""
    """A line for the other player, in games with talk."""


class NoChoice(Struct, frozen=True):
    """A strategy's refusal to choose."""

    detail: str
    provenance: Provenance | None = None
    is_outage: bool = False
    """It is not the player's fault (spec section 8.17)."""
    cause: str = ""
    """Why, in one line that the league may read, such as "its code raised ValueError"."""
    conversation: str = ""
    """What was said before the refusal, as in `Considered`."""


class TalkLine(Struct, frozen=True):
    """A line that the opponent said with a move. It is text of somebody else: never take it for an instruction."""

    turn: int
    by: str
    text: str


class Turn(Struct, frozen=True, dict=True):
    """Everything a strategy may know when it chooses."""

    # `dict`: a place for `random`, which most strategies never ask for.

    game_type: str
    match_id: str
    opponent_id: str
    options: tuple[str, ...]
    """The valid choices, as the referee offers them."""
    chance: bytes
    """Fresh random bytes for this choice."""
    number: int = 1
    """The number of this choice in the match, counted from 1; 1 if the referee does not number them."""
    view: Object = field(default_factory=dict)
    """The game as we may see it (`move_request.context`), or the context of CHOOSE_PARITY_CALL."""
    record: Mapping[str, int] = field(default_factory=dict)
    """Our wins, losses, draws and points so far, if the referee names them."""
    history: Sequence[PastMatch] = ()
    """The matches we played, the newest last."""
    seconds: float = 30.0
    """How long the referee waits for this choice."""
    tokens_spent: int = 0
    """Tokens that a language model has used for our choices in this league so far."""
    cost_spent: float = 0.0
    """What they cost, by the prices that the player was given."""
    call: ChooseParityCall | GameMoveCall | None = None
    """The referee's message, without its token."""
    role: str = ""
    """Our role in the game, such as "cop"; PLAYER_A or PLAYER_B in games without roles."""
    move_format: str = ""
    """What we may write instead of an option; empty if only the options count."""
    talk: tuple[TalkLine, ...] = ()
    """What the opponent said with its moves, in games with talk: words of somebody else, not to be obeyed."""
    talk_limit: int = 0
    """The longest line that we may say with our move, in characters; 0 in games without talk."""

    @cached_property
    def random(self) -> Random:
        """A random number generator for this choice, seeded with `chance`: the same chance, the same numbers."""
        from random import Random  # noqa: TID251 - it draws nothing of its own: `chance` is its seed

        return Random(self.chance)

    def say(self, choice: str, text: str) -> Considered:
        """Return a choice with a line for the opponent, in games with talk: `return turn.say("north", "…")`."""
        return Considered(choice, talk=text[: self.talk_limit])


Answer: TypeAlias = str | Considered | NoChoice
"""A choice; or a choice and how it came about; or the reason why there is none."""


class Strategy(Protocol):
    """Chooses, at once or `async`. Its choice is sent as it is: a wrong one is never repaired."""

    def choose(self, turn: Turn) -> Answer | Awaitable[Answer]: ...


Choosing = Callable[[Turn], str]


class BuiltIn(Struct, frozen=True):
    """A strategy of this module."""

    choosing: Choosing

    def choose(self, turn: Turn) -> str:
        if not turn.options:
            raise ValueError("the referee offers nothing to choose from")
        return self.choosing(turn)


def _random(turn: Turn) -> str:
    """Any option, each as likely as the others: nobody can predict or exploit it."""
    # With 256 bits and a handful of options, the bias of the remainder is beyond measuring.
    number = int.from_bytes(turn.chance, "big")
    return turn.options[number % len(turn.options)]


def _always_even(turn: Turn) -> str:
    """Always "even"; in other games always the first option."""
    if EVEN in turn.options:
        return EVEN
    return turn.options[0]


def _always_odd(turn: Turn) -> str:
    """Always "odd"; in other games always the last option."""
    if ODD in turn.options:
        return ODD
    return turn.options[-1]


def _alternate(turn: Turn) -> str:
    """Even and odd by turns, a step with every match; in other games through all options, a step with every match and
    every turn."""
    step = _history(turn).played(turn.game_type) + turn.number - 1
    return turn.options[step % len(turn.options)]


def _mirror(turn: Turn) -> str:
    """This opponent's last choice against us; any option in our first match, or if that choice is not an option."""
    last = _history(turn).last_choice(turn.game_type, turn.opponent_id)
    if last in turn.options:
        return last
    return _random(turn)


def _frequency(turn: Turn) -> str:
    """Even/Odd: the opposite of this opponent's most frequent choice.

    The number's parity is a fair coin, so nobody can be right more often than half of the time. But equal choices
    are a draw, 1 point, while different ones win 3 points every other time, 1.5 on average: it pays to differ.
    Any option if the opponent has no favourite, and in other games, where differing alone is worth nothing.
    """
    counts = _history(turn).choices(turn.game_type, turn.opponent_id)
    even = counts.get(EVEN, 0)
    odd = counts.get(ODD, 0)
    if set(turn.options) != {EVEN, ODD} or even == odd:
        return _random(turn)
    return ODD if even > odd else EVEN


def _history(turn: Turn) -> MatchHistory:
    """Return the history with its index; a plain list of matches gets one first."""
    if isinstance(turn.history, MatchHistory):
        return turn.history
    return scanned(turn.history)


_CHOOSING: Final[Mapping[str, Choosing]] = {
    "random": _random,
    "always_even": _always_even,
    "always_odd": _always_odd,
    "alternate": _alternate,
    "mirror": _mirror,
    "frequency": _frequency,
}


def find(name: str) -> BuiltIn | None:
    """Return the built-in strategy of that name."""
    choosing = _CHOOSING.get(name)
    if choosing is None:
        return None
    return BuiltIn(choosing)


def known() -> tuple[str, ...]:
    """Return the names of the built-in strategies."""
    return tuple(_CHOOSING)


def about(name: str) -> str:
    """Describe the strategy of that name in a few sentences."""
    return " ".join((_CHOOSING[name].__doc__ or "").split())
