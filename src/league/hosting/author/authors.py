"""Reports for the author of a player whose code fails: the failure, the message that caused it, the legal choices, and
what happens next. Printing by the author's code does no harm."""

from __future__ import annotations

import importlib
import io
import os
import reprlib
import sys
import traceback
from collections import Counter
from collections.abc import Generator, Hashable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from msgspec import UNSET, Struct

from league.player import history, news, strategies
from league.player.history import PastMatch
from league.protocol.message import messages, parts
from league.protocol.message.messages import ChooseParityCall, Message
from league.protocol.safe_text import printable, without_tokens
from league.terminal import did_you_mean

NOT_THEIRS = (str(Path(__file__).parents[2]) + os.sep, str(importlib.__file__), "<frozen importlib")
"""Files of our own code and the importer's: their frames before the author's first one tell the author nothing."""
FAILED = (
    "Your player tells the referee that it could not choose (E099). The referee asks again, at most three times; "
    "without a legal choice by then, the match is a technical loss."
)
SENT = (
    "It is sent as it is: a choice is never repaired. The referee rejects it ({code}) and asks again with the same "
    "deadline, at most three times; without a legal choice by then, the match is a technical loss."
)
LATE = (
    "An answer still counts while the referee asks again, at most three times; without a legal choice by then, the "
    "match is a technical loss."
)
LONGEST_REASON = 200
OBJECTS = "Messages are objects, not dictionaries: write call.context.opponent_id, with dots and without quotes."
MESSAGE_CLASSES = frozenset(
    name
    for module in (history, messages, news, parts, strategies)
    for name, value in vars(module).items()
    if isinstance(value, type) and not issubclass(value, dict)
)
"""The classes of objects that an author's code gets."""
_SHORTENED = reprlib.Repr()
_SHORTENED.maxstring = _SHORTENED.maxother = 500


class Reports:
    """The reports that an author has read. The same failure is shown in full once, and then in one line."""

    def __init__(self) -> None:
        self._counts: Counter[Hashable] = Counter()

    def once(self, report: str, origin: Hashable) -> str:
        """Return a report about a failure of this kind, or from this place: in full at first, then its headline."""
        self._counts[origin] += 1
        count = self._counts[origin]
        if count == 1:
            return report
        headline, _, _ = report.partition("\n")
        return f"{headline} again (×{count})"


class ErrorOrigin(NamedTuple):
    """The place that an exception comes from."""

    kind: type[BaseException]
    file: str
    line: int


def origin_of(error: BaseException) -> ErrorOrigin:
    """Where an exception was raised. Its text is not part of it: that may name a match, and differ each time."""
    frames = traceback.extract_tb(error.__traceback__)
    if not frames:
        return ErrorOrigin(type(error), "", 0)
    return ErrorOrigin(type(error), frames[-1].filename, frames[-1].lineno or 0)


def raised(player: str, error: BaseException, call: Message, options: Sequence[str]) -> str:
    """The author's code raised an exception instead of choosing."""
    body = f"{trace_of(error)}{_hint(error)}{_question(call, options)}\n{FAILED}"
    return _report(f"{player} failed: {last_line(error)}", body)


def no_choice(player: str, value: object, call: Message, options: Sequence[str]) -> str:
    """The author's code returned something that is not text, or not text that can be sent."""
    headline = f"{player} returned {shown(value)}, which is not text that can be sent{_suggestion(value, options)}"
    if value is None:
        headline += "; is a return missing?"
    elif isinstance(value, Generator):
        headline += "; write return instead of yield"
    elif isinstance(value, int | float) and str(value) in options:
        headline = f'{player} returned {value}: {value} is a number; return "{value}"'
    return _report(headline, f"{_question(call, options)}\n{FAILED}")


def illegal_choice(player: str, value: object, call: Message, options: Sequence[str]) -> str:
    """The author's code returned a choice that is not an option."""
    headline = f"{player} returned {shown(value)}, which is not legal{_suggestion(value, options)}"
    code = "E004" if isinstance(call, ChooseParityCall) else "E024"
    return _report(headline, f"{_question(call, options)}\n{SENT.format(code=code)}")


def too_slow(player: str, seconds: float, call: Message, options: Sequence[str]) -> str:
    """The author's code is still thinking at the deadline."""
    return _report(f"{player} has not answered within its {seconds:g} s", f"{_question(call, options)}\n{LATE}")


def hook_raised(hook: str, error: BaseException) -> str:
    """A hook of the author's code raised an exception."""
    body = f"{trace_of(error)}{_hint(error)}It costs nothing: nobody waits for it."
    return _report(f"{hook} failed: {last_line(error)}", body)


def last_line(error: BaseException) -> str:
    """The exception without its traceback."""
    return traceback.format_exception_only(error)[-1].strip()


def trace_of(error: BaseException) -> str:
    """The traceback from the author's first frame on."""
    # The first frames are those of our own code that called the author's.
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename.startswith(NOT_THEIRS):
        trace = trace.tb_next
    report = traceback.TracebackException(type(error), error, trace)
    from league.hosting.author import strategy_files  # imported here because most players are not files of their own

    # An import statement in a strategy file passes through our code, as it passes through Python's, which hides itself.
    frames = [frame for frame in report.stack if frame.filename != strategy_files.__file__]
    report.stack = traceback.StackSummary.from_list(frames)
    return "".join(report.format())


def shown(value: object) -> str:
    """A value as Python writes it, shortened."""
    return _SHORTENED.repr(value)


def _question(call: Message, options: Sequence[str]) -> str:
    legal = ", ".join(map(shown, options)) or "nothing was offered"
    name = "turn.call"
    heading = f"The question was a {call.type}, which move(self, turn) gets as turn.call:"
    if isinstance(call, ChooseParityCall):
        name = "call"
        heading = f"The question was a {call.type}, which choose_parity(self, call) gets as call:"
    fields = "\n".join(_fields(name, call))
    return f"{heading}\n{fields}\nLegal: {legal}."


def _fields(name: str, value: object) -> Iterator[str]:
    """Every field of a message as the author's code reads it. Fields that the sender left out are None."""
    if isinstance(value, Struct):
        for field in value.__struct_fields__:
            yield from _fields(f"{name}.{field}", getattr(value, field))
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _fields(f"{name}[{shown(key)}]", item)
    elif value is not None and value is not UNSET:
        yield f"  {name} = {shown(value)}"


def _hint(error: BaseException) -> str:
    """What helps against the usual confusion of objects and dictionaries; empty if it is none."""
    text = str(error)
    if isinstance(error, TypeError) and text.endswith("object is not subscriptable"):
        cls = text.split("'")[1] if "'" in text else ""
        if cls in MESSAGE_CLASSES:
            return f"{OBJECTS}\n"
    if isinstance(error, AttributeError):
        if isinstance(error.obj, Struct) and error.name in vars(dict):
            return f"{OBJECTS}\n"
        if isinstance(error.obj, dict) and error.name in error.obj:
            return f"This is a dictionary: write [{error.name!r}] instead of .{error.name}.\n"
        return _name_hint(error)
    return ""


def _name_hint(error: AttributeError) -> str:
    """The attribute that the author probably meant. Python names it itself from 3.12 on."""
    if error.obj is None or sys.version_info >= (3, 12):
        return ""
    names = (name for name in dir(error.obj) if not name.startswith("_"))
    suggestion = did_you_mean(str(error.name), names)
    if not suggestion:
        return ""
    return f"There is no {error.name}{suggestion}\n"


def _suggestion(value: object, options: Sequence[str]) -> str:
    """The option that the author probably meant. It is only named: a choice is never repaired."""
    if not isinstance(value, str | int):
        return ""
    plain = str(value).strip().lower()
    # Only a difference in case, blanks or type is a slip. Guessing more would be wrong too often.
    for option in options:
        if option.lower() == plain:
            return f"; did you mean {option!r}?"
    return ""


def _report(headline: str, body: str) -> str:
    return without_tokens(f"{headline}\n{body}\n")


class _ForgivingOutput(io.TextIOWrapper):
    """An output whose reader may go away. Text printed after that is lost, but printing does not fail."""

    def write(self, text: str, /) -> int:
        try:
            return super().write(text)
        except OSError:
            self._fall_silent()
            return len(text)

    def flush(self) -> None:
        try:
            super().flush()
        except OSError:
            self._fall_silent()

    def _fall_silent(self) -> None:
        # Libraries may write to the descriptor directly, so the descriptor itself is redirected.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self.fileno())
        os.close(nowhere)


def protect_output() -> None:
    """Let stdout and stderr show each line at once and never fail, even if nobody reads them."""
    # A stream that somebody has replaced is left alone: tests and notebooks do that.
    if sys.stdout is sys.__stdout__ and isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout = _forgiving(sys.stdout)
    if sys.stderr is sys.__stderr__ and isinstance(sys.stderr, io.TextIOWrapper):
        sys.stderr = _forgiving(sys.stderr)


def _forgiving(stream: io.TextIOWrapper) -> _ForgivingOutput:
    return _ForgivingOutput(stream.buffer, encoding=stream.encoding, errors="backslashreplace", line_buffering=True)


def result(match: PastMatch, opponent: str = "", explained_by: str = "") -> str:
    """One line about a match that is over; `opponent` is what people call it, `explained_by` what tells why it was lost
    if not `league explain` does."""
    verb = {"WIN": "won", "DRAW": "drew", "LOSS": "lost"}[match.outcome]
    outcome = f"{match.match_id}: you {verb} against {opponent or match.opponent_id}"
    if match.status == "TECHNICAL_LOSS":
        return f"{outcome} by a technical loss {_fault(match, explained_by)}"
    reason = match.game_result.get("reason")
    moves = match.game_result.get("moves")
    # The last moves of a longer game say little.
    if isinstance(moves, list) and len(moves) > 1 and isinstance(reason, str):
        return f"{outcome}: {printable(reason)[:LONGEST_REASON]}"
    choices = f"{outcome}: you said {match.my_choice}, it said {match.opponent_choice}"
    if match.drawn_number is None:
        return choices
    return f"{choices}, the number was {match.drawn_number}"


def _fault(match: PastMatch, explained_by: str) -> str:
    """Names the side at fault, and where to find out why."""
    if match.outcome == "WIN":
        # The author can do nothing about the opponent's faults, so there is nothing to explain.
        return "(its own)"
    side = "of both players" if match.winner is None else "yours"
    return f"({side}); {explained_by or f'league explain {match.match_id}'} tells why"
