"""Kuhn poker: three cards, two players, one round of betting. A match has ten hands, and the dealer changes.

Each player puts in one chip and gets a card; the third one stays hidden. The first player checks or bets a chip. After
a bet the other one calls or folds; after a check it checks too, or bets. The higher card wins the chips. A hand is
worth one chip or two, and a match is scored by the chips that were won.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import permutations
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from league.features.games.sub_games import SubGames, SubGameState
from league.games.boards import Cards, Picture
from league.games.contract import (
    NOBODY,
    PLAYER_B,
    SEATS,
    TURN,
    BaseRules,
    Game,
    GameStrategy,
    Mover,
    Outcome,
    Seat,
    chance,
    margin,
    opponent,
    require_legal,
)
from league.games.moves import MoveWire

if TYPE_CHECKING:
    from league.player.strategies import Turn

CARDS: Final = ("J", "Q", "K")
DEALS: Final = tuple(permutations(CARDS, 2))
DEAL: Final = chance([1] * len(DEALS))
HANDS: Final = 10
MOST: Final = 2
"""Chips that a hand can cost."""
ENDS: Final = {("check", "check"): 1, ("bet", "call"): 2, ("check", "bet", "call"): 2}
"""How many chips the lower card loses, by the bets that lead to a showdown."""


class Hand(Struct, frozen=True):
    """The cards of both seats, once they are dealt, and the bets."""

    cards: tuple[str, str] | None = None
    bets: tuple[str, ...] = ()

    @property
    def is_folded(self) -> bool:
        return self.bets[-1:] == ("fold",)


class KuhnHand(BaseRules):
    """The rules of one hand. Seat 0 bets first."""

    def start(self) -> Hand:
        return Hand()

    def to_move(self, state: Hand) -> Mover:
        if state.cards is None:
            return DEAL
        if state.is_folded or state.bets in ENDS:
            return NOBODY
        return TURN[len(state.bets) % 2]

    def legal_moves(self, state: Hand, seat: Seat) -> tuple[str, ...]:
        if seat not in self.to_move(state).seats:
            return ()
        if state.bets[-1:] == ("bet",):
            return "call", "fold"
        return "check", "bet"

    def play(self, state: Hand, moves: Mapping[Seat, str]) -> Hand:
        require_legal(self, state, moves)
        return Hand(state.cards, (*state.bets, *moves.values()))

    def draw(self, state: Hand, number: int) -> Hand:
        if state.cards is not None:
            raise ValueError("cards are drawn once, before the first bet")
        return Hand(DEALS[number])

    def outcome(self, state: Hand) -> Outcome | None:
        if state.cards is None:
            return None
        if state.is_folded:
            # A player who folds loses the chip it put in first.
            winner = len(state.bets) % 2
            chips = 1
        elif state.bets in ENDS:
            ranks = [CARDS.index(card) for card in state.cards]
            winner = ranks.index(max(ranks))
            chips = ENDS[state.bets]
        else:
            return None
        if winner == PLAYER_B:
            chips = -chips
        # What one player wins, the other one loses.
        return Outcome((chips, -chips), "the hand is over")

    def view(self, state: Hand, seat: Seat) -> dict[str, object]:
        """A player sees its own card; the other one only at a showdown."""
        if state.cards is None:
            return {"bets": []}
        # The third card, and after a fold the other's, are never shown.
        view: dict[str, object] = {
            "your_card": state.cards[seat],
            "bets": list(state.bets),
        }
        if state.bets in ENDS:
            view["opponent_card"] = state.cards[opponent(seat)]
        return view

    def role(self, state: Hand, seat: Seat) -> str:
        return ("first", "second")[seat]


def board(state: SubGameState) -> Picture:
    """The cards of both players, what they bet, and the chips that they have won."""
    return _picture(state, shows_all=True)


def public_board(state: SubGameState) -> Picture:
    """The same for everybody who watches: only a showdown turns cards over."""
    return _picture(state, shows_all=False)


def _picture(state: SubGameState, *, shows_all: bool) -> Picture:
    hand: Hand
    hand, is_swapped = RULES.shown(state)
    hands = []
    for seat, chips in zip(SEATS, RULES.returns(state), strict=True):
        role = opponent(seat) if is_swapped else seat
        faces: tuple[str, ...] = ()
        if hand.cards is not None:
            faces = (hand.cards[role] if shows_all or hand.bets in ENDS else "",)
        hands.append(Cards(seat, faces, ", ".join((*hand.bets[role::2], f"{chips:+g} chips"))))
    begun = len(state.finished) + (state.current != RULES.rules.start())
    text = f"Hand {min(max(begun, 1), HANDS)} of {HANDS}"
    # The next hand is dealt at once: who watches has not seen the cards of a showdown.
    last: Hand | None = state.finished[-1].state if state.finished else None
    if last is not None and last.bets in ENDS and last is not hand:
        text += f". Showdown of the last one: {' against '.join(last.cards or ())}"
    return Picture(hands=tuple(hands), text=text)


# --- a strategy that nobody can exploit -------------------------------------------------------------------------------

THIRD: Final = 1 / 3
BOLD: Final = ("bet", "call")
CAREFUL: Final = ("check", "fold")
AGGRESSION: Final = {
    # By card and the bets so far: how often an equilibrium player bets or calls.
    ("J", ()): THIRD,
    ("Q", ()): 0.0,
    ("K", ()): 1.0,
    ("J", ("check",)): THIRD,
    ("Q", ("check",)): 0.0,
    ("K", ("check",)): 1.0,
    ("J", ("bet",)): 0.0,
    ("Q", ("bet",)): THIRD,
    ("K", ("bet",)): 1.0,
    ("J", ("check", "bet")): 0.0,
    ("Q", ("check", "bet")): 2 * THIRD,
    ("K", ("check", "bet")): 1.0,
}


def equilibrium(turn: Turn) -> str:
    """Bluffs with a third of its jacks and calls with a third of its queens, or two: nobody can exploit it."""
    bets = tuple(turn.view["bets"])
    is_bold = turn.random.random() < AGGRESSION[turn.view["your_card"], bets]
    # Two of the four words are options: one bold, one careful.
    words = BOLD if is_bold else CAREFUL
    return next(word for word in turn.options if word in words)


RULES: Final = SubGames(KuhnHand(), HANDS)
RULES_TEXT: Final = (
    f"A match has {HANDS} hands. In each, both players put in one chip and get one of three cards: J, Q or K, K being "
    'the highest; the third card stays hidden. The first player says "check" or "bet", which puts in another chip. '
    'After a bet the other player says "call", which also puts in a chip, or "fold", which loses the hand. After a '
    "check the second player may check too, or bet. If nobody folds, the higher card wins the chips. The players take "
    "turns at being first. The chips of all hands are added up: winning many matters, not winning often."
)
GAME: Final = Game(
    "kuhn_poker",
    RULES,
    MoveWire(RULES, move_type="bet"),
    turns=3 * HANDS,
    measure="margin",
    rules_text=RULES_TEXT,
    board=board,
    public_board=public_board,
    scoring=margin(worst=-MOST * HANDS, best=MOST * HANDS),
    match_seconds=300.0,
    title="Kuhn poker",
    strategies={"equilibrium": GameStrategy("bets and calls as often as game theory says", equilibrium)},
)
