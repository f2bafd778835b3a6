"""Judge a document: a message, or a JSON-RPC request, result or error around one."""

# The document is one of three things, found out in this order: a bare message, a JSON-RPC answer around a message or an
# error, or else a JSON-RPC request. A broken frame must not pass as a bare message, so anything that looks like
# JSON-RPC is read as such. An error without a message is not judged; the verdict only says how it is read.

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

from league.games import report_judging
from league.protocol.errors import PeerError, Violation, read_foreign
from league.protocol.message.envelope import STRICT, Reading, Unsealed, unseal
from league.protocol.message.exchanges import Role, speakers
from league.protocol.message.judge import ENVELOPE
from league.protocol.message.messages import MESSAGES, MatchResultReport
from league.protocol.wire.jsonrpc import (
    MANAGER_LIMIT,
    MESSAGE_LIMIT,
    BadRequestError,
    decode_answer,
    decode_call,
    read_call,
    too_large,
)
from league.protocol.wire.strict_json import parse

_ERROR_NAME = re.compile("[A-Z]+(?:_[A-Z]+)*")
_ERROR_TYPES = ("LEAGUE_ERROR", "GAME_ERROR")


@dataclass(frozen=True, slots=True)
class DocumentVerdict:
    """The verdict on a document. `reads_as` is the catalogue code of an error that carries no message."""

    message_type: str | None
    violations: tuple[Violation, ...] = ()
    deviations: tuple[Violation, ...] = ()
    reads_as: str | None = None

    @property
    def valid(self) -> bool:
        return not self.violations


def judge(raw: bytes, reading: Reading = STRICT) -> DocumentVerdict:
    """Judge the bytes of one document."""
    try:
        return _document(raw, _parsed(raw), reading)
    except BadRequestError as bad:
        return _refused(bad.error)
    except PeerError as error:
        return _refused(error)


def _refused(error: PeerError) -> DocumentVerdict:
    path = str(error.context.get("field", ""))
    return DocumentVerdict(None, (Violation(error.code, path, error.detail, error.requirement),))


def _parsed(raw: bytes) -> object:
    """Parse a document. Size decides first; only the manager's messages may be larger than others (R-24)."""
    if len(raw) <= MESSAGE_LIMIT:
        return parse(raw)
    if len(raw) > MANAGER_LIMIT:
        raise too_large(len(raw), MANAGER_LIMIT, "")
    value: object = None
    with suppress(PeerError):
        value = parse(raw)
    kind = _kind(value)
    if kind is not None and speakers(kind) == (Role.MANAGER,):
        return value
    is_reply = kind is not None and MESSAGES[kind].is_reply
    raise too_large(len(raw), MESSAGE_LIMIT, "SIZE.replies" if is_reply else "SIZE.requests")


def _kind(document: object) -> str | None:
    """Return the type of the message in a document, if it is a known one."""
    content = document
    if isinstance(document, dict) and _is_wrapped(document):
        content = document.get("params", document.get("result"))
    kind = content.get("message_type") if isinstance(content, dict) else None
    return kind if isinstance(kind, str) and kind in MESSAGES else None


def _document(raw: bytes, value: object, reading: Reading) -> DocumentVerdict:
    if isinstance(value, dict):
        if not _is_wrapped(value):
            return _judged(unseal(value, reading), reading)
        if "method" not in value and ("result" in value or "error" in value):
            return _answer(raw, value, reading)
    return _judged(read_call(decode_call(raw, MANAGER_LIMIT), reading), reading)


def _is_wrapped(value: Mapping[str, object]) -> bool:
    """Is this a JSON-RPC object, perhaps a broken one? A message has fields called `result` and `error` too."""
    if "jsonrpc" in value or any(name in value for name in ENVELOPE):
        return "jsonrpc" in value
    return any(name in value for name in ("method", "params", "result", "error"))


def _answer(raw: bytes, value: Mapping[str, object], reading: Reading) -> DocumentVerdict:
    answer = decode_answer(raw, MANAGER_LIMIT)
    if not answer.is_error:
        return _judged(unseal(answer.content, reading), reading)
    data = answer.content if isinstance(answer.content, dict) else {}
    if "message_type" in data:
        return _judged(unseal(data, reading, _ERROR_TYPES), reading)
    name = _name(data, value["error"])
    return DocumentVerdict(None, reads_as=read_foreign(_code(data), name, answer.number))


def _code(data: Mapping[str, object]) -> str | None:
    code = data.get("error_code")
    return code if isinstance(code, str) else None


def _name(data: Mapping[str, object], error: object) -> str | None:
    """Return the error's name, wherever it is; a sentence is not a name."""
    message = error.get("message") if isinstance(error, dict) else None
    for name in (data.get("error_name"), data.get("error_description"), message):
        if isinstance(name, str) and _ERROR_NAME.fullmatch(name):
            return name
    return None


def _judged(read: Unsealed, reading: Reading) -> DocumentVerdict:
    violations = list(read.violations)
    deviations = list(read.deviations)
    if isinstance(read.message, MatchResultReport):
        for contradiction in report_judging.contradictions(read.message):
            if contradiction.lenient and reading.profile == "compat":
                deviations.append(contradiction)
            else:
                violations.append(contradiction)
    return DocumentVerdict(read.message_type, tuple(violations), tuple(deviations))
