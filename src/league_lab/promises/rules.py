"""The promises' own rules: scoring of the games, verifiable draws, rows of the table and their order.

Written a second time on purpose: a check must not share the logic of the machines it checks.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

Players = tuple[str, str]
Moves = Sequence[Mapping[str, str]]
"""The moves in order: of one player, or of both when they moved at the same time."""


class MatchOutcome(NamedTuple):
    """How a match ended. Technical without a winner: both were at fault."""

    winner: str | None
    technical: bool = False


class CannotJudgeError(Exception):
    """These details are not those of a match that was played to its end."""


def points(players: Players, outcome: MatchOutcome) -> dict[str, int]:
    """3 to the winner, 1 each for a draw, nothing for a fault."""
    if outcome.winner is None:
        return dict.fromkeys(players, 0 if outcome.technical else 1)
    return {player: 3 if player == outcome.winner else 0 for player in players}


def by_faults(players: Players, at_fault: set[str]) -> MatchOutcome:
    """The other one wins; nobody, if both were at fault."""
    innocent = [player for player in players if player not in at_fault]
    return MatchOutcome(innocent[0] if len(innocent) == 1 else None, technical=True)


# --- games ------------------------------------------------------------------------------------------------------------


def even_odd(players: Players, choices: Mapping[str, str], number: int) -> str | None:
    """Who alone named the number's parity."""
    named = [choices[player] for player in players]
    if not set(named) <= {"even", "odd"} or not 1 <= number <= 10:
        raise CannotJudgeError(f"choices {named}, number {number}")
    if named[0] == named[1]:
        return None
    return players[named.index("odd" if number % 2 else "even")]


_BEATS = {("rock", "scissors"), ("scissors", "paper"), ("paper", "rock")}


def rock_paper_scissors(players: Players, moves: Moves) -> str | None:
    """Who won more throws."""
    first, second = players
    throws = [(move.get(first, ""), move.get(second, "")) for move in moves]
    if not throws or not {shape for throw in throws for shape in throw} <= {"rock", "paper", "scissors"}:
        raise CannotJudgeError(f"throws {throws}")
    lead = sum((throw in _BEATS) - (throw[::-1] in _BEATS) for throw in throws)
    return None if lead == 0 else players[lead < 0]


_LINES = ("012", "345", "678", "036", "147", "258", "048", "246")


def tic_tac_toe(players: Players, moves: Moves) -> str | None:
    """Who got three in a row; A begins, and they take turns."""
    cells = [move.get(players[turn % 2], "") for turn, move in enumerate(moves)]
    if len(set(cells)) < len(cells) or not set(cells) <= set("012345678"):
        raise CannotJudgeError(f"cells {cells}")
    for last in range(len(cells)):
        if any(set(line) <= set(cells[last % 2 : last + 1 : 2]) for line in _LINES):
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
SIMULTANEOUS = frozenset({"even_odd", "rock_paper_scissors"})


def judge(game_type: str, players: Players, details: Mapping[str, Any]) -> MatchOutcome | None:
    """The outcome that these details prove; None when they leave it open (an unknown game, a fault not reported)."""
    if game_type == "even_odd":
        played = details.get("drawn_number") is not None
    else:
        played = details.get("status") != "TECHNICAL_LOSS"
    if not played:
        faults = details.get("faults")
        at_fault = set(faults) & set(players) if isinstance(faults, dict) else set()
        return by_faults(players, at_fault) if at_fault else None
    if game_type == "even_odd":
        return MatchOutcome(_judge_even_odd(players, details))
    rule = _PLAYED_BY_MOVES.get(game_type)
    return MatchOutcome(rule(players, _moves(details))) if rule else None


def _judge_even_odd(players: Players, details: Mapping[str, Any]) -> str | None:
    choices, number = details.get("choices"), details["drawn_number"]
    if not isinstance(choices, dict) or not all(isinstance(choices.get(player), str) for player in players):
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


def commitment(seed: str, league_id: str, match_id: str, attempt: int) -> str:
    """What the referee promises before anybody chooses: SHA-256(seed, m)."""
    return hashlib.sha256(bytes.fromhex(seed) + f"{league_id}|{match_id}|{attempt}".encode()).hexdigest()


def drawn(seed: str, league_id: str, match_id: str, attempt: int) -> int:
    """The number of this seed: the first byte below 250 of HMAC(seed, m|0), HMAC(seed, m|1) and so on."""
    place = 0
    while True:
        text = f"{league_id}|{match_id}|{attempt}|{place}"
        byte = hmac.new(bytes.fromhex(seed), text.encode(), hashlib.sha256).digest()[0]
        if byte < 250:
            return byte % 10 + 1
        place += 1


# --- the table --------------------------------------------------------------------------------------------------------


class Row(NamedTuple):
    """What the table says of a player, but for its rank."""

    player_id: str
    played: int = 0
    wins: int = 0
    draws: int = 0
    losses: int = 0
    points: int = 0

    def after(self, outcome: MatchOutcome, times: int = 1) -> Row:
        """The row after a match with this outcome; `times` -1 takes a voided one back."""
        won = outcome.winner == self.player_id
        drew = outcome.winner is None and not outcome.technical
        change = (1, int(won), int(drew), int(not won and not drew), 3 * won + drew)
        return Row(self.player_id, *(had + times * more for had, more in zip(self[1:], change, strict=True)))


HeadToHead = Callable[[Sequence[str]], Mapping[str, int]]
"""The points that the players of a group won against each other."""


def ranked(rows: Sequence[Row], tiebreakers: Sequence[str], head_to_head: HeadToHead) -> list[str]:
    """The players in the order of the table (R-30): each tiebreaker splits the groups still tied, then the id does."""
    groups = [sorted(rows, key=lambda row: _by_number(row.player_id))]
    for name in tiebreakers:
        groups = [part for group in groups for part in _split(group, name, head_to_head)]
    return [row.player_id for group in groups for row in group]


def _split(group: list[Row], name: str, head_to_head: HeadToHead) -> list[list[Row]]:
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
    digits = player_id.lstrip("P")
    return (int(digits) if digits.isdecimal() else 0, player_id)
