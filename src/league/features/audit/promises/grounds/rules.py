"""The promises' own rules: scoring of the games, verifiable draws, rows of the table and their order.

They are written a second time on purpose: a check must not share the logic of the machines that it checks.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec import Struct, ValidationError, convert

Players = tuple[str, str]
Moves = Sequence[Mapping[str, str]]
"""The moves in order: of one player, or of both when they moved at the same time."""


class MatchOutcome(NamedTuple):
    """How a match ended. Technical without a winner means that both players were at fault."""

    winner: str | None
    technical: bool = False
    score: tuple[int, int] | None = None
    """The points of the match's players, in games that are scored by their margin."""

    @property
    def kind(self) -> tuple[str | None, bool]:
        """The winner of a match, and whether a fault decided it."""
        return self.winner, self.technical


class CannotJudgeError(Exception):
    """These details are not those of a match that was played to its end."""


def points(players: Players, outcome: MatchOutcome) -> dict[str, int]:
    """3 for the winner, 1 each for a draw, nothing for a fault."""
    shares = dict.fromkeys(players, 0)
    if outcome.winner in shares:
        shares[outcome.winner] = 3
    elif outcome.winner is None and not outcome.technical:
        shares = dict.fromkeys(players, 1)
    return shares


def by_faults(players: Players, at_fault: set[str]) -> MatchOutcome:
    """The other player wins; nobody wins if both were at fault."""
    innocent = [player for player in players if player not in at_fault]
    winner = innocent[0] if len(innocent) == 1 else None
    return MatchOutcome(winner, technical=True)


# --- games ------------------------------------------------------------------------------------------------------------


def even_odd(
    players: Players,
    choices: Mapping[str, str],
    number: int,
) -> str | None:
    """The player who alone named the parity of the number."""
    parities = [choices[player] for player in players]
    if not set(parities) <= {"even", "odd"} or not 1 <= number <= 10:
        raise CannotJudgeError(f"choices {parities}, number {number}")
    if parities[0] == parities[1]:
        return None
    correct = "odd" if number % 2 else "even"
    return players[parities.index(correct)]


_BEATS = {("rock", "scissors"), ("scissors", "paper"), ("paper", "rock")}


def rock_paper_scissors(players: Players, moves: Moves) -> str | None:
    """The player who won more throws."""
    first, second = players
    throws = [(move.get(first, ""), move.get(second, "")) for move in moves]
    shapes = {shape for throw in throws for shape in throw}
    if not throws or not shapes <= {"rock", "paper", "scissors"}:
        raise CannotJudgeError(f"throws {throws}")
    won_by_first = sum(throw in _BEATS for throw in throws)
    won_by_second = sum(throw[::-1] in _BEATS for throw in throws)
    if won_by_first == won_by_second:
        return None
    return first if won_by_first > won_by_second else second


_LINES = ("012", "345", "678", "036", "147", "258", "048", "246")


def tic_tac_toe(players: Players, moves: Moves) -> str | None:
    """The player who got three in a row; PLAYER_A begins, and they take turns."""
    cells = [move.get(players[turn % 2], "") for turn, move in enumerate(moves)]
    is_repeated = len(set(cells)) < len(cells)
    if is_repeated or not set(cells) <= set("012345678"):
        raise CannotJudgeError(f"cells {cells}")
    for last in range(len(cells)):
        # All cells that the player of the last move has marked so far.
        marked = set(cells[last % 2 : last + 1 : 2])
        if any(set(line) <= marked for line in _LINES):
            if last + 1 < len(cells):
                raise CannotJudgeError(f"over after {last + 1} moves, not {len(cells)}")
            return players[last % 2]
    if len(cells) < 9:
        raise CannotJudgeError(f"not over after {len(cells)} moves")
    return None


_PLAYED_BY_MOVES: Mapping[str, Callable[[Players, Moves], str | None]] = {
    "rock_paper_scissors": rock_paper_scissors,
    "tic_tac_toe": tic_tac_toe,
}
WRITTEN_TWICE = frozenset({"even_odd", *_PLAYED_BY_MOVES})
"""The games whose rules are here once more; the others are judged by their own."""
SIMULTANEOUS = frozenset({"even_odd", "rock_paper_scissors"})


def judge(
    game_type: str,
    players: Players,
    details: Mapping[str, Any],
) -> MatchOutcome | None:
    """The outcome that follows from these details; None if they leave it open.

    They do so for an unknown game, and for a technical loss without reported faults.
    """
    if game_type == "even_odd":
        is_played = details.get("drawn_number") is not None
    else:
        is_played = details.get("status") != "TECHNICAL_LOSS"
    if not is_played:
        return _judge_faults(players, details.get("faults"))
    if game_type == "even_odd":
        return MatchOutcome(_judge_even_odd(players, details))
    rule = _PLAYED_BY_MOVES.get(game_type)
    if rule is None:
        return None
    return MatchOutcome(rule(players, _moves(details)))


def _judge_faults(players: Players, faults: object) -> MatchOutcome | None:
    if not isinstance(faults, dict):
        return None
    at_fault = set(players).intersection(faults)
    if not at_fault:
        # Nobody says whose fault it was.
        return None
    return by_faults(players, at_fault)


def _judge_even_odd(
    players: Players,
    details: Mapping[str, Any],
) -> str | None:
    choices = details.get("choices")
    number = details["drawn_number"]
    if not isinstance(choices, dict):
        raise CannotJudgeError(f"a number, but choices {choices}")
    if not all(isinstance(choices.get(player), str) for player in players):
        raise CannotJudgeError(f"a number, but choices {choices}")
    if type(number) is not int:
        raise CannotJudgeError(f"number {number!r}")
    return even_odd(players, choices, number)


def _moves(details: Mapping[str, Any]) -> Moves:
    moves = details.get("moves")
    if not isinstance(moves, list | tuple) or not all(isinstance(move, dict) for move in moves):
        raise CannotJudgeError("the moves are not listed")
    return moves


# --- draws ------------------------------------------------------------------------------------------------------------


def commitment(
    seed: str,
    league_id: str,
    match_id: str,
    attempt: int,
    share_commitment: str = "",
) -> str:
    """What the referee promises before anybody chooses: SHA-256(seed, m), or (seed, m, the promise of the share)."""
    bound = f"{league_id}|{match_id}|{attempt}"
    if share_commitment:
        bound = f"{bound}|{share_commitment}"
    return hashlib.sha256(bytes.fromhex(seed) + bound.encode()).hexdigest()


def shared_seed(seed: str, share: str) -> str:
    """What takes the place of the seed in a shared draw: SHA-256(seed, share)."""
    return hashlib.sha256(bytes.fromhex(seed) + bytes.fromhex(share)).hexdigest()


def drawn(
    seed: str,
    league_id: str,
    match_id: str,
    attempt: int,
) -> int:
    """The number of this seed: the first byte below 250 of HMAC(seed, m|0), HMAC(seed, m|1) and so on."""
    place = 0
    while True:
        text = f"{league_id}|{match_id}|{attempt}|{place}"
        digest = hmac.new(bytes.fromhex(seed), text.encode(), hashlib.sha256).digest()
        byte = digest[0]
        # Larger bytes would favour the numbers 1 to 6.
        if byte < 250:
            return byte % 10 + 1
        place += 1


def drawn_event(
    seed: str,
    label: str,
    index: int,
    weights: Sequence[int],
) -> int:
    """The event of a chance step: HMAC(seed, label|event|index|try) as a number falls into one of the weights."""
    if not weights:
        raise CannotJudgeError("only Even/Odd draws without weights")
    total = sum(weights)
    whole_stretches = 2**256 // total * total
    attempt = 0
    while True:
        digest = hmac.new(
            bytes.fromhex(seed),
            f"{label}|event|{index}|{attempt}".encode(),
            hashlib.sha256,
        )
        value = int(digest.hexdigest(), 16)
        if value < whole_stretches:
            break
        attempt += 1
    remainder = value % total
    for event, weight in enumerate(weights):
        if remainder < weight:
            return event
        remainder -= weight
    raise AssertionError("the remainder is below the sum of the weights")


# --- the table --------------------------------------------------------------------------------------------------------


class Row(Struct, frozen=True):
    """A player's row of the table, without its rank."""

    player_id: str
    played: int
    wins: int
    draws: int
    losses: int
    points: int

    def after(self, outcome: MatchOutcome, players: Sequence[str], times: int = 1) -> Row:
        """The row after a match of these players with this outcome; `times` -1 takes a voided match back."""
        won = outcome.winner == self.player_id
        drew = outcome.winner is None and not outcome.technical
        points = 3 * won + drew
        if outcome.score is not None:
            points = outcome.score[players.index(self.player_id)]
        return Row(
            player_id=self.player_id,
            played=self.played + times,
            wins=self.wins + times * won,
            draws=self.draws + times * drew,
            losses=self.losses + times * (not won and not drew),
            points=self.points + times * points,
        )


def first_row(player: str) -> Row:
    """The row of a player before its first match."""
    return Row(player, played=0, wins=0, draws=0, losses=0, points=0)


def row_in(content: object) -> Row:
    """The row that somebody sent; if a column is missing or wrong, one that no table contains."""
    try:
        return convert(content, Row)
    except ValidationError:
        return first_row("")


HeadToHead = Callable[[Sequence[str]], Mapping[str, int]]
"""The points that the players of a group won against each other."""


def ranked(
    rows: Sequence[Row],
    tiebreakers: Sequence[str],
    head_to_head: HeadToHead,
) -> list[str]:
    """The players in the order of the table (R-30): each tiebreaker splits the groups still tied, then the id does."""
    groups = [sorted(rows, key=lambda row: _by_number(row.player_id))]
    for name in tiebreakers:
        groups = [part for group in groups for part in _split(group, name, head_to_head)]
    return [row.player_id for group in groups for row in group]


def _split(
    group: list[Row],
    name: str,
    head_to_head: HeadToHead,
) -> list[list[Row]]:
    if len(group) == 1:
        return [group]
    if name == "head_to_head":
        values = head_to_head([row.player_id for row in group])
    else:
        values = {row.player_id: getattr(row, name, 0) for row in group}
    parts: dict[int, list[Row]] = {}
    for row in group:
        parts.setdefault(values[row.player_id], []).append(row)
    return [parts[value] for value in sorted(parts, reverse=True)]


def _by_number(player_id: str) -> tuple[int, str]:
    # P10 comes after P9.
    digits = player_id.lstrip("P")
    number = int(digits) if digits.isdecimal() else 0
    return number, player_id
