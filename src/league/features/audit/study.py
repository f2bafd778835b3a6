"""`league.audit`: checks a study of models from its folder alone.

The folder of a tournament (`--to`) holds its results and everything that was said. The audit believes neither. It
checks the digest of every conversation, reads every reply again, also by rules that are not the player's
(`league.features.audit.replies`), and plays every match again by the rules of its game. Whatever does not fit is named.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from league.features.audit.replies import objection
from league.features.minds import conversations
from league.features.minds.asked.chat import read_completion
from league.features.minds.asked.mcp_server import text_in_result
from league.features.minds.asked.transports import CHOICE, TRUNCATED, Answer
from league.features.minds.asking import outcome_of, reading_in
from league.features.minds.conversations import Conversation, MindExchange
from league.games import registry
from league.games.contract import PLAYER_A, PLAYER_B, Game, Seat
from league.terminal import CommandError

RESULTS: Final = "tournament.json"
MATCHES: Final = "matches.csv"
CONVERSATIONS: Final = "conversations.jsonl"
FAILED: Final = "FAILED"


@dataclass(slots=True)
class StudyAudit:
    """What an audit found. `problems` is empty if everything fits."""

    matches: int = 0
    replayed: int = 0
    """Matches that were played again: all choices in them were asked for, and the game has no chance."""
    choices: int = 0
    fallbacks: int = 0
    problems: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return not self.problems


class MatchKey(NamedTuple):
    """The names of a pair, and the number of its match."""

    first: str
    second: str
    number: int

    def __str__(self) -> str:
        return f"match {self.number} of {self.first} and {self.second}"


class RecordedChoice(NamedTuple):
    """A choice as its conversation has it."""

    turn: int
    strategy: str
    choice: str


def audit(folder: str | Path) -> StudyAudit:
    """Check a tournament of models, from its folder. LeagueError if the folder holds none."""
    place = Path(folder)
    try:
        document = json.loads((place / RESULTS).read_text("utf-8"))
        with (place / MATCHES).open(encoding="utf-8", newline="") as stream:
            matches = list(csv.DictReader(stream))
        lines = (place / CONVERSATIONS).read_text("utf-8").splitlines()
    except (OSError, ValueError) as error:
        raise CommandError(f"{folder} does not hold a tournament of models: {error}") from error
    report = StudyAudit(matches=len(matches))
    choices: dict[MatchKey, list[RecordedChoice]] = {}
    for number, line in enumerate(lines, start=1):
        try:
            _check_line(json.loads(line), report, choices)
        except (ValueError, LookupError, TypeError, msgspec.MsgspecError) as error:
            report.problems.append(f"line {number} of {CONVERSATIONS} cannot be read: {error}")
    _check_results(document, matches, choices, report)
    return report


def _check_line(row: dict[str, Any], report: StudyAudit, choices: dict[MatchKey, list[RecordedChoice]]) -> None:
    key = MatchKey(row["first"], row["second"], row["number"])
    where = f"turn {row['turn']} of {row['strategy']} in {key}"
    text = row["conversation"]
    if conversations.digest_of(text) != row["sha256"]:
        report.problems.append(f"{where}: the conversation does not have its digest")
    conversation = conversations.read(text)
    if f"M{key.number}" != conversation.match_id or row["turn"] != conversation.turn:
        report.problems.append(f"{where}: the conversation is about another choice")
    problem = problem_in(conversation)
    if problem:
        report.problems.append(f"{where}: {problem}")
    # A choice that was declined in an outage is asked for once more.
    if conversation.choice is not None:
        report.choices += 1
        report.fallbacks += bool(conversation.fallback_reason)
        choices.setdefault(key, []).append(RecordedChoice(row["turn"], row["strategy"], conversation.choice))


def problem_in(conversation: Conversation) -> str:
    """Say what is wrong with a conversation: its outcomes and its choice must follow from its replies."""
    for exchange in conversation.exchanges:
        problem = _problem_of_exchange(exchange, conversation.options)
        if problem:
            return problem
    if conversation.choice is None:
        return "" if conversation.declined else "there is neither a choice nor a reason why not"
    last = conversation.exchanges[-1] if conversation.exchanges else None
    if (last is not None and last.outcome == CHOICE) == bool(conversation.fallback_reason):
        return "a choice of the model is marked as a fallback, or a fallback is not"
    answer = answer_in(last) if last is not None and last.outcome == CHOICE else None
    if answer is not None and last is not None:
        read = (conversation.choice, last.rule)
        if reading_in(answer, conversation.options) != read:
            return f"the model did not choose {conversation.choice!r} by the rule {last.rule!r}"
    if conversation.choice not in conversation.options:
        return f"{conversation.choice!r} is not one of the options"
    return ""


def _problem_of_exchange(exchange: MindExchange, options: Sequence[str]) -> str:
    answer = answer_in(exchange)
    if answer is None:
        return ""
    if outcome_of(answer, options) != exchange.outcome:
        return f"a reply was read as {exchange.outcome!r}, which it is not"
    if exchange.outcome == TRUNCATED:
        return ""
    reading = reading_in(answer, options)
    doubt = objection(answer.text, options, reading.option if reading else None)
    return f"a reply was misread: {doubt}" if doubt else ""


def answer_in(exchange: MindExchange) -> Answer | None:
    """Read the reply of an exchange again; None if there was no answer, or not all of it was kept."""
    if exchange.reply_length or exchange.detail:
        return None
    if "messages" in exchange.request:
        return read_completion(exchange.reply.encode(), 0)
    if "tool" in exchange.request:
        return Answer(text_in_result(json.loads(exchange.reply)), exchange.reply)
    return Answer(exchange.reply, exchange.reply)


# --- the results ------------------------------------------------------------------------------------------------------


def _check_results(
    document: dict[str, Any],
    matches: list[dict[str, str]],
    choices: dict[MatchKey, list[RecordedChoice]],
    report: StudyAudit,
) -> None:
    game = registry.find(document["game"])
    if game is None:
        report.problems.append(f"the game {document['game']!r} is not installed here, so no match was played again")
        return
    minds = {row["strategy"] for row in document["minds"]}
    played = set()
    for row in matches:
        key = MatchKey(row["first"], row["second"], int(row["number"]))
        played.add(key)
        # Matches that failed ended before their end.
        is_whole = not row["ended"].endswith(FAILED)
        # What other strategies chose is nowhere on record.
        if is_whole and {key.first, key.second} <= minds:
            problem = _problem_of_match(game, row, choices.get(key, []), report)
            if problem:
                report.problems.append(f"{key}: {problem}")
    for key in choices.keys() - played:
        report.problems.append(f"there are conversations about {key}, which is not among the results")
    for row in document["standings"]:
        wins = sum(_won(match) == row["strategy"] for match in matches)
        if wins != row["wins"]:
            report.problems.append(f"{row['strategy']} has {wins} wins in {MATCHES}, and not {row['wins']}")


def _problem_of_match(game: Game, row: dict[str, str], choices: list[RecordedChoice], report: StudyAudit) -> str:
    """Play a match again, and say what does not fit."""
    try:
        ended = _replayed(game, row, choices)
    except (LookupError, ValueError) as error:
        return str(error.args[0])
    if not ended:
        return ""
    report.replayed += 1
    if ended != row["ended"]:
        return f"it ended with {ended} by the rules, and not with {row['ended']}"
    return ""


def _replayed(game: Game, row: dict[str, str], choices: list[RecordedChoice]) -> str:
    """Return how a match ends that is played again; an empty text if chance decides.

    LookupError if a choice is missing, ValueError if one is illegal.
    """
    rules = game.rules
    opening = row["opening"]
    state: Any = game.opened(tuple(json.loads(opening) if opening.startswith("[") else opening.split()))
    by_turn = {(choice.turn, choice.strategy): choice.choice for choice in choices}
    for turn in count(1):
        mover = rules.to_move(state)
        if mover.kind == "chance":
            return ""
        if mover.kind == "nobody":
            break
        moves: dict[Seat, str] = {}
        for seat in mover.seats:
            strategy = _strategy_at(seat, row)
            move = by_turn.get((turn, strategy))
            if move is None:
                raise LookupError(f"there is no conversation about turn {turn} of {strategy}")
            moves[seat] = move
        state = rules.play(state, moves)
    outcome = rules.outcome(state)
    if outcome is None or outcome.winner is None:
        return "DRAW"
    return "FIRST_WON" if _strategy_at(outcome.winner, row) == row["first"] else "SECOND_WON"


def _strategy_at(seat: Seat, row: dict[str, str]) -> str:
    """Return the strategy that sat there."""
    other = {row["first"]: row["second"], row["second"]: row["first"]}
    return {PLAYER_A: row["player_a"], PLAYER_B: other[row["player_a"]]}[seat]


def _won(row: dict[str, str]) -> str | None:
    """Return the strategy that won a match."""
    return {
        "FIRST_WON": row["first"],
        "SECOND_FAILED": row["first"],
        "SECOND_WON": row["second"],
        "FIRST_FAILED": row["second"],
    }.get(row["ended"])
