"""`league validate`: is this message valid? If not, it names every violated clause, the decisive one first."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from league.terminal import USAGE, Command, CommandError, add_json_option, print_result

if TYPE_CHECKING:
    from league.features.kit.message_verdicts import DocumentVerdict
    from league.protocol.errors import Violation

EXAMPLE = """\
examples:
  league validate message.json
  echo '{"jsonrpc": "2.0", "id": 1, "method": "league_query"}' | league validate --json

exit status: 0 the message is valid, 1 it is not, 2 the file cannot be read"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file",
        metavar="FILE",
        nargs="?",
        default="-",
        help="the file to read (default: -, standard input)",
    )
    parser.add_argument(
        "--profile",
        choices=("strict", "compat"),
        default="strict",
        help="strict: league.v2 as its specification has it; compat: note known habits of agents (default: strict)",
    )
    add_json_option(parser)


def run(args: argparse.Namespace) -> int:
    from league.features.kit.message_verdicts import judge
    from league.protocol.message.envelope import Reading

    verdict = judge(_read(args.file), Reading(args.profile))
    document = _as_json(verdict, with_deviations=args.profile == "compat")
    print_result(args.json, document, _as_lines(verdict))
    return 0 if verdict.valid else 1


def _read(file: str) -> bytes:
    try:
        if file == "-":
            return sys.stdin.buffer.read()
        return Path(file).read_bytes()
    except OSError as error:
        raise CommandError(f"cannot read {file}: {error.strerror or error}", USAGE) from error


def _as_json(verdict: DocumentVerdict, with_deviations: bool) -> dict[str, object]:
    document: dict[str, object] = {
        "valid": verdict.valid,
        "message_type": verdict.message_type,
        "violations": [_violation_as_json(violation) for violation in verdict.violations],
    }
    if with_deviations:
        document["deviations"] = [_violation_as_json(deviation) for deviation in verdict.deviations]
    if verdict.reads_as is not None:
        document["reads_as"] = verdict.reads_as
    return document


def _violation_as_json(violation: Violation) -> dict[str, str]:
    return {name: getattr(violation, name) for name in ("code", "name", "path", "detail", "requirement")}


def _as_lines(verdict: DocumentVerdict) -> list[str]:
    lines = [_line(violation) for violation in verdict.violations]
    if verdict.valid:
        lines.append(f"valid: {_description(verdict)}")
    return lines + [f"recorded: {_line(deviation)}" for deviation in verdict.deviations]


def _description(verdict: DocumentVerdict) -> str:
    from league.protocol.errors import ERRORS

    if verdict.reads_as is None:
        return str(verdict.message_type)
    name = ERRORS[verdict.reads_as].name
    return f"a JSON-RPC error without a message; it reads as {verdict.reads_as} {name}"


def _line(violation: Violation) -> str:
    from league.protocol.safe_text import escaped

    # A message may hold line breaks and escape sequences: a violation stays one line, and the terminal as it is.
    place = violation.path or "the document"
    text = f"{violation.code} {violation.name} {place}: {violation.detail} [{violation.requirement}]"
    return escaped(text)


COMMANDS = (
    Command(
        "validate",
        "check whether a message is valid, bare or in JSON-RPC",
        EXAMPLE,
        configure,
        run,
    ),
)
