"""What a language model is asked, and how its answer is read: one prompt for any game, and a lenient reader, so that a
model is judged by its choices and not by its manners."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from string import Template
from typing import Any, Final, Protocol

from league_minds.human import Offered

PROMPT: Final = """\
You are a player in a league. The game is $game.

The rules:
$rules

You play match $match against $opponent, and this is your choice number $turn in it.
What you can see of the game: $view
Your record in this league: $record

The last matches you played, the newest last:
$history

$options
Answer with your choice alone, in one word and without any explanation."""
PLACES: Final = frozenset({"game", "rules", "match", "opponent", "turn", "view", "record", "history", "options"})
"""What a prompt may name."""
LONGEST_PROMPT: Final = 6_000
"""In bytes: it travels with the registration (spec section 8.17), which has 10,240."""
REMEMBERED: Final = 10
"""So many matches are told."""
LONGEST_QUOTE: Final = 500


class Playing(Offered, Protocol):
    """What a model is told of a turn, and what it takes to choose without it."""

    @property
    def game_type(self) -> str: ...

    @property
    def number(self) -> int: ...

    @property
    def record(self) -> Mapping[str, int]: ...

    @property
    def history(self) -> Sequence[Any]: ...  # Any: matches as the player remembers them

    @property
    def chance(self) -> bytes: ...

    @property
    def seconds(self) -> float: ...

    @property
    def tokens_spent(self) -> int: ...


# --- asking -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Prompt:
    """A text with places ($game, $rules, …) that are filled in for every turn."""

    text: str = PROMPT
    options_shown: bool = True

    def __post_init__(self) -> None:
        """ValueError if it cannot be filled in."""
        template = Template(self.text)
        if not template.is_valid():
            raise ValueError("a $ stands before a name, such as $rules; write a dollar sign as $$")
        unknown = sorted(set(template.get_identifiers()) - PLACES)
        if unknown:
            raise ValueError(f"there is no ${unknown[0]}; there are {', '.join(f'${one}' for one in sorted(PLACES))}")
        size = len(json.dumps(self.text, ensure_ascii=False).encode())
        if not self.text.strip() or size > LONGEST_PROMPT:
            raise ValueError(f"it must have some text, and {LONGEST_PROMPT} bytes of JSON at most, not {size}")

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()

    def filled(self, turn: Playing, rules: str) -> str:
        """The question for this turn."""
        record = ", ".join(f"{count} {name}" for name, count in turn.record.items())
        return Template(self.text).substitute(
            game=turn.game_type,
            rules=rules or "(You know them.)",
            match=turn.match_id,
            opponent=turn.opponent_id or "somebody",
            turn=turn.number,
            view=json.dumps(turn.view, ensure_ascii=False),
            record=record or "nothing yet",
            history="\n".join(map(_told, turn.history[-REMEMBERED:])) or "(none)",
            options=f"You may choose one of: {', '.join(turn.options)}." if self.options_shown else "",
        )


def _told(match: Any) -> str:
    number = "" if match.drawn_number is None else f", the number was {match.drawn_number}"
    chose = f"you chose {match.my_choice or 'nothing'}, it chose {match.opponent_choice or 'nothing'}{number}"
    return f"- against {match.opponent_id}: {chose}: {match.outcome.lower()}"


def correction(answer: str, turn: Playing, options_shown: bool) -> list[dict[str, str]]:
    """What the conversation goes on with after an answer in which no legal choice can be found."""
    legal = f"Your choice must be one of: {', '.join(turn.options)}. " if options_shown else ""
    again = f"No legal choice can be read from this. {legal}Answer with your choice alone, in one word."
    return [
        {"role": "assistant", "content": answer[:LONGEST_QUOTE] or "(nothing)"},
        {"role": "user", "content": again},
    ]


# --- reading ----------------------------------------------------------------------------------------------------------

_THOUGHTS: Final = re.compile(r"<(think|thinking|thought|reasoning)>.*?(</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_LEFT_OVER: Final = re.compile(r"\A.*</(?:think|thinking|thought|reasoning)>", re.DOTALL | re.IGNORECASE)
_AROUND: Final = " \t\r\n`*_\"'“”‘’.,:;!?()[]{}<>#-"


def read_answer(text: str, options: Sequence[str]) -> str | None:
    """The one option that an answer names, in any case and with whatever around it; None if that is not clear."""
    answer = _LEFT_OVER.sub("", _THOUGHTS.sub("", text)).strip()
    lines = answer.splitlines()
    last = lines[-1] if lines else ""
    for part in (answer, *_in_json(answer), last):
        if (option := _same(part.strip(_AROUND), options)) is not None:
            return option
    for part in (answer, last):
        mentioned = [one for one in options if re.search(rf"(?<!\w){re.escape(one)}(?!\w)", part, re.IGNORECASE)]
        if len(mentioned) == 1:
            return mentioned[0]
    return None


def _same(text: str, options: Sequence[str]) -> str | None:
    if text in options:
        return text
    found = [one for one in options if one.casefold() == text.casefold()]
    return found[0] if len(found) == 1 else None


def _in_json(answer: str) -> Iterator[str]:
    """The value of {"choice": …}, if that is what was answered."""
    found = re.search(r"\{[^{}]*\}", answer)
    try:
        document = json.loads(found[0]) if found else None
    except ValueError:
        return
    values = list(document.values()) if isinstance(document, dict) else []
    if len(values) == 1:
        yield str(values[0])
