"""The pages of docs/reference/ that are tables of the code: messages, errors, settings, commands."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path

from league.cli.main import command_parsers
from league.features.records.fault_words import advice_for
from league.hosting.settings.options import Option
from league.hosting.settings.settings_file import ALL, all_options
from league.protocol.errors import ERRORS, ErrorRow, Retry
from league.protocol.message.exchanges import EXCHANGES, speakers
from league.protocol.message.messages import MESSAGES
from scripts.tables import number_list, people, retry_words, table

SPEC = Path(__file__).parents[1] / "spec" / "league-v2.md"
FROM_HERE = "../../spec/league-v2.md"
WRITTEN = "`make generate` writes this page.\n"


def pages() -> Iterator[tuple[str, str]]:
    """Every page by its file name."""
    yield "messages.md", messages_page()
    yield "errors.md", errors_page()
    yield "settings.md", settings_page()
    yield "commands.md", commands_page()


# --- messages ---------------------------------------------------------------------------------------------------------

MESSAGES_HEAD = f"""\
# Messages

This page lists all {len(MESSAGES)} messages of `league.v2`, each with a link to its fields and an example. A request
goes to the receiver's endpoint by HTTP POST, as JSON-RPC 2.0; its answer is the `result`. A request that gets no answer
within the limit is repeated as the last column says. Every message has a JSON Schema of the same name in
[`spec/schemas`](../../spec/schemas), and `league validate FILE` judges any message. {WRITTEN}"""


def messages_page() -> str:
    """Who says what to whom, and who answers what."""
    sections = spec_sections()
    asked = (
        [
            linked(name, sections),
            f"{people(row.senders)} → {people(row.receivers)}",
            ", ".join(f"`{method}`" for method in (row.method, *row.other_methods)),
            ", ".join(linked(reply, sections) for reply in row.replies),
            f"{row.limit_s:g} s",
            retry_words(row.retries),
        ]
        for name, row in EXCHANGES.items()
    )
    answers = ([linked(name, sections), people(speakers(name)), answers_what(name)] for name in replies())
    return (
        f"{MESSAGES_HEAD}\n## Requests\n\n"
        + table(("message", "from → to", "method", "answer", "limit", "repeated"), asked)
        + "\n`--move-seconds` changes the limit of a choice.\n\n## Answers\n\n"
        + table(("message", "from", "answers"), answers)
    )


def replies() -> list[str]:
    return [name for name in MESSAGES if name not in EXCHANGES]


def answers_what(message_type: str) -> str:
    """The requests this message answers."""
    found = [name for name, row in EXCHANGES.items() if message_type in row.replies]
    return ", ".join(found) or "any wrong message, as the `data` of a JSON-RPC error"


def spec_sections() -> dict[str, str]:
    """Message type to the anchor of its section; acknowledgements share one."""
    text = SPEC.read_text(encoding="utf-8")
    titles = re.findall(r"^### (5\.[0-9]+ .+)$", text, re.MULTILINE)
    found = {title.partition(" ")[2]: anchor(title) for title in titles}
    return {name: found.get(name, found["Acknowledgements"]) for name in MESSAGES}


def anchor(title: str) -> str:
    """What a heading is linked by."""
    return re.sub(r"[^a-z0-9 _-]", "", title.lower()).replace(" ", "-")


def linked(message_type: str, sections: dict[str, str]) -> str:
    return f"[{message_type}]({FROM_HERE}#{sections[message_type]})"


# --- errors -----------------------------------------------------------------------------------------------------------

RETRY_WORDS = {
    Retry.NO: "no: the same message gets the same answer",
    Retry.YES: "yes",
    Retry.IN_WINDOW: "yes, before the deadline",
    Retry.LATER: "later; `Retry-After` says when, if it is present",
    Retry.COUNTS_AS_ACK: "no need: it counts as an acknowledgement",
}
ERRORS_HEAD = f"""\
# Errors

An error is a JSON-RPC error object: `code` is the number, `message` the name, and `data` has the `error_code` and, in
`error_detail`, a sentence about this very case. `f` is the family of the exchange: 1 a referee registers, 2 a player
registers, 3 the manager's notifications, 4 a match, 5 a report, 6 a query ([section 10]({FROM_HERE}#10-errors)).
Severity: *critical*, somebody cannot be reached or cannot work; *high*, the request is lost, and repetition costs the
match or the place in the league; *medium*, something has to be put right; *low*, wait or go on.
{WRITTEN}"""
FAULTS_HEAD = """
## What to change if one of these cost you a match

`league explain MATCH_ID` says the same about your own match, with the answer that was wrong beside the right one.

"""


def errors_page() -> str:
    """The catalogue, and what helps against those that lose matches."""
    rows = (
        [
            *(row.code, row.name, row.severity.value, row.when),
            *(RETRY_WORDS[row.retry], number_list(row), str(row.http_status or 200)),
        ]
        for row in ERRORS.values()
    )
    head = ("code", "name", "severity", "when", "try again?", "JSON-RPC number", "HTTP")
    helped = ([f"{row.code} {row.name}", phase, told] for row in ERRORS.values() for phase, told in advice(row))
    return f"{ERRORS_HEAD}\n{table(head, rows)}{FAULTS_HEAD}{table(('error', 'at', 'what to change'), helped)}"


def advice(row: ErrorRow) -> Iterator[tuple[str, str]]:
    """What `league explain` advises, where it has more to say than the catalogue."""
    told = {phase: advice_for(row.code, phase, "") for phase in ("join", "move")}
    if told["join"].startswith(f"{row.name}: "):
        return
    if told["join"] == told["move"]:
        yield "any time", told["join"]
        return
    yield from told.items()


# --- settings ---------------------------------------------------------------------------------------------------------

SETTINGS_HEAD = f"""\
# Settings

This page lists all settings of `league manager`, `league referee` and `league player`. An option on the command line
overrides the key of the same name in the file given with `--config`, and the key overrides the default. `serve()` of
your own player takes the options of `league player`, except `--strategy` and `--count`. {WRITTEN}
```toml
# league.toml, for: league manager --config league.toml
players = 12
referees = 2
double = true
move_seconds = 10.0
retry_delays_s = [1.0, 2.0, 4.0]
tiebreakers = ["points", "wins", "head_to_head"]
```

One file may serve all three roles: each uses the keys meant for it, and keys for only one role go into its table,
`[manager]`, `[referee]` or `[player]`. An unknown key is an error.

"""


def settings_page() -> str:
    """One row for each setting."""
    head = ("key", "option", "default", "for", "meaning")
    return SETTINGS_HEAD + table(head, map(setting_cells, all_options()))


def setting_cells(one: Option) -> list[str]:
    flag = f"`{one.flag}`"
    if one.only_in_file:
        flag = f"only in the file, and `{one.variable}`" if one.variable else "only in the file"
    roles = "all" if one.roles == ALL else ", ".join(one.roles)
    return [f"`{one.name}`", flag, default_words(one.default), roles, one.help + bounds(one)]


def default_words(value: object) -> str:
    if value in (None, "", ()):
        return "–"
    if isinstance(value, bool):
        return "`true`" if value else "`false`"
    if isinstance(value, tuple):
        return ", ".join(default_words(one) for one in value)
    return f"`{value:g}`" if isinstance(value, float) else f"`{value}`"


def bounds(one: Option) -> str:
    """What a value must be, where the meaning does not say it."""
    if one.choices:
        return f" ({', '.join(f'`{choice}`' for choice in one.choices)})"
    if one.least is not None:
        return f" (from {one.least:g}{f' to {one.most:g}' if one.most is not None else ''})"
    return ""


# --- commands ---------------------------------------------------------------------------------------------------------

COMMANDS_HEAD = f"""\
# Commands

`league COMMAND --help` prints the same. Every command exits with 0 on success, 1 on failure and 2 on wrong usage, and
reports errors in one sentence on stderr. Commands that print data take `--json`: one JSON document on stdout and
nothing else. A long-running command prints `ready: URL` once it serves, and exits cleanly on Ctrl-C. {WRITTEN}
"""


def commands_page() -> str:
    """Every command with its arguments and examples."""
    parsers = list(command_parsers().items())
    listed = table(
        ("command", "does"), ([f"[`league {name}`](#league-{name})", one.description or ""] for name, one in parsers)
    )
    return COMMANDS_HEAD + listed + "".join(command_section(name, one) for name, one in parsers)


def command_section(name: str, parser: argparse.ArgumentParser) -> str:
    rows = [argument_cells(one) for one in parser._actions if "--help" not in one.option_strings]
    examples = f"\n```text\n{parser.epilog}\n```\n" if parser.epilog else ""
    return f"\n## league {name}\n\n{parser.description}\n\n{table(('argument', 'meaning'), rows)}{examples}"


def argument_cells(one: argparse.Action) -> list[str]:
    value = "" if one.nargs == 0 else argument_value(one)
    shown = ", ".join(f"{flag} {value}".strip() for flag in one.option_strings) or value
    required = " (required)" if one.required and one.option_strings else ""
    return [f"`{shown}`".replace("|", "\\|"), (one.help or "") + required]


def argument_value(one: argparse.Action) -> str:
    if one.choices and one.metavar is None:
        return "|".join(str(choice) for choice in one.choices)
    name = str(one.metavar or one.dest.upper())
    return f"[{name}]" if one.nargs == "?" else name
