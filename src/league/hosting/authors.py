"""What the author of a player is shown when its code fails: what it did, the message that caused it, what is legal,
and what happens next. What the author's code prints can do no harm."""

from __future__ import annotations

import importlib
import io
import os
import reprlib
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

import msgspec

from league.hosting import strategy_files
from league.player.history import PastMatch
from league.protocol.messages import ChooseParityCall, Message
from league.protocol.safe_text import without_tokens

NOT_THEIRS = (str(Path(__file__).parents[1]) + os.sep, str(importlib.__file__), "<frozen importlib")
"""Where our own code and the importer's is: frames of it, before the author's first, tell the author nothing."""
FAILED = (
    "Your player tells the referee that no choice could be made (E099). A referee calls again, three times at most; "
    "without a legal choice by then the match is a technical loss."
)
SENT = (
    "It is sent as it is: a choice is never repaired. The referee calls it wrong ({code}) and asks again under the "
    "same deadline, three times at most; without a legal choice by then the match is a technical loss."
)
LATE = (
    "An answer still counts while the referee asks again, three times at most; without a legal choice by then the "
    "match is a technical loss."
)
_SHORTENED = reprlib.Repr()
_SHORTENED.maxstring = _SHORTENED.maxother = 500


def raised(who: str, error: BaseException, call: Message, options: Sequence[str]) -> str:
    """The author's code raised instead of choosing."""
    return _report(f"{who} failed: {last_line(error)}", f"{trace_of(error)}{_asked(call, options)}\n{FAILED}")


def no_choice(who: str, value: object, call: Message, options: Sequence[str]) -> str:
    """What the author's code returned is no text that can be sent."""
    forgotten = "; is a return missing?" if value is None else ""
    told = f"{who} returned {shown(value)}, which is no text that can be sent{forgotten}{_meant(value, options)}"
    return _report(told, f"{_asked(call, options)}\n{FAILED}")


def illegal_choice(who: str, value: object, call: Message, options: Sequence[str]) -> str:
    """The author's code chose what is no option."""
    told = f"{who} returned {shown(value)}, which is not legal{_meant(value, options)}"
    code = "E004" if isinstance(call, ChooseParityCall) else "E024"
    return _report(told, f"{_asked(call, options)}\n{SENT.format(code=code)}")


def too_slow(who: str, seconds: float, call: Message, options: Sequence[str]) -> str:
    """The author's code is still thinking at the deadline."""
    return _report(f"{who} has not answered within its {seconds:g} s", f"{_asked(call, options)}\n{LATE}")


def hook_raised(who: str, error: BaseException) -> str:
    """The author's code raised where nobody waits for an answer."""
    return _report(f"{who} failed: {last_line(error)}", f"{trace_of(error)}It costs nothing: nobody waits for it.")


def last_line(error: BaseException) -> str:
    """The exception alone."""
    return traceback.format_exception_only(error)[-1].strip()


def trace_of(error: BaseException) -> str:
    """The traceback from the author's first frame on."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename.startswith(NOT_THEIRS):
        trace = trace.tb_next
    report = traceback.TracebackException(type(error), error, trace)
    # An import statement in a strategy file passes through our code, as it passes through Python's, which hides itself.
    frames = [frame for frame in report.stack if frame.filename != strategy_files.__file__]
    report.stack = traceback.StackSummary.from_list(frames)
    return "".join(report.format())


def shown(value: object) -> str:
    """A value as Python writes it, shortened."""
    return _SHORTENED.repr(value)


def _asked(call: Message, options: Sequence[str]) -> str:
    message = msgspec.json.format(msgspec.json.encode(call), indent=2).decode()
    return f"It was to answer this:\n{message}\nLegal: {', '.join(map(shown, options)) or 'nothing was offered'}."


def _meant(value: object, options: Sequence[str]) -> str:
    """Nothing is repaired, but a slip can be named."""
    if not isinstance(value, str | int):
        return ""
    plain = str(value).strip().lower()
    found = next((one for one in options if one.lower() == plain), None)
    return "" if found is None else f"; did you mean {found!r}?"


def _report(headline: str, body: str) -> str:
    return without_tokens(f"{headline}\n{body}\n")


class _ForgivingOutput(io.TextIOWrapper):
    """An output whose reader may go away: then what is printed is lost, and nothing else."""

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
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self.fileno())
        os.close(nowhere)


def protect_output() -> None:
    """From now on stdout and stderr show each line at once, and printing never fails, even if nobody reads it."""
    if sys.stdout is sys.__stdout__ and isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout = _forgiving(sys.stdout)
    if sys.stderr is sys.__stderr__ and isinstance(sys.stderr, io.TextIOWrapper):
        sys.stderr = _forgiving(sys.stderr)


def _forgiving(stream: io.TextIOWrapper) -> _ForgivingOutput:
    return _ForgivingOutput(stream.buffer, encoding=stream.encoding, errors="backslashreplace", line_buffering=True)


def result(match: PastMatch) -> str:
    """One line about a match that is over."""
    how = {"WIN": "won", "DRAW": "drew", "LOSS": "lost"}[match.outcome]
    technical = match.status == "TECHNICAL_LOSS"
    told = f"{match.match_id}: you {how} against {match.opponent_id}"
    if technical:
        whose = "yours or both" if match.winner is None else "its own" if match.outcome == "WIN" else "yours"
        why = "" if match.outcome == "WIN" else f"; league explain {match.match_id} tells why"
        return f"{told} by a technical loss ({whose}){why}"
    number = f", the number was {match.drawn_number}" if match.drawn_number is not None else ""
    return f"{told}: you said {match.my_choice}, it said {match.opponent_choice}{number}"
