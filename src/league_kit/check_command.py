"""`league check`: does this agent keep the protocol? A verdict per clause, with evidence."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from league.terminal import USAGE, Command, CommandError, add_json_option, print_lines, print_result
from league.terminal.addresses import split_http

if TYPE_CHECKING:
    from collections.abc import Callable

    from league_kit.kit import Options
    from league_kit.runner import CheckReport

ROLES = ("manager", "referee", "player")
EXAMPLE = """\
examples:
  league check player http://127.0.0.1:8101/mcp
  league check player http://127.0.0.1:8101/mcp --listen 8000 --html report.html
  league check player http://127.0.0.1:8101/mcp --listen 8000 --only REGISTER.retries
  league check player --list
  league check --hostile http://127.0.0.1:8000/mcp
  league check --hostile http://127.0.0.1:8101/mcp --listen 8000 --role player

--hostile sends hundreds of bad inputs, each of which must be refused and change nothing: a manager is to be started
with --players 2 --referees 2 and nobody else, a player or referee with the kit as its manager (--listen PORT). Its role
is found out, or given with --role.

Without --listen the player is called as it is. With --listen PORT the kit is also a manager at that port: start the
player with --manager http://127.0.0.1:PORT/mcp, and its registration is checked too. Three checks need a run of their
own: REGISTER.retries leaves a registration unanswered, REGISTER.stops_when_rejected rejects it, and
REGISTER.waits_for_approval has it wait for the operator.

exit status: 0 no MUST is broken, 1 one is, 2 wrong usage, or nobody listens there"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("role", choices=("player",), nargs="?", help="what the agent is")
    parser.add_argument("url", metavar="URL", nargs="?", help="where it takes requests")
    parser.add_argument(
        "--hostile", metavar="URL", nargs="?", const="", help="send the agent there every bad input of the catalogue"
    )
    parser.add_argument("--role", dest="hostile_role", choices=ROLES, help="with --hostile: what the agent is")
    add_json_option(parser)
    parser.add_argument("--junit", metavar="FILE", type=Path, help="also write the report as JUnit XML")
    parser.add_argument("--html", metavar="FILE", type=Path, help="also write the report as a web page")
    parser.add_argument("--only", metavar="ID", action="append", default=[], help="only this check, or all below it")
    parser.add_argument("--list", action="store_true", help="list the checks and check nothing")
    parser.add_argument(
        "--listen", metavar="PORT", type=_port, help="be a manager at this port, so that it can register"
    )
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen at (default: 127.0.0.1)")
    parser.add_argument(
        "--wait", metavar="SECONDS", type=_positive, default=32.0, help="for a registration (default: 32)"
    )
    parser.add_argument(
        "--time-scale", metavar="N", type=_positive, default=1.0, help="the agent runs N times as fast: shorter limits"
    )


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is no port")
    return int(text)


def _positive(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1e6:
        raise argparse.ArgumentTypeError(f"{text!r} is no number above 0")
    return value


def run(args: argparse.Namespace) -> int:
    if args.hostile is None and (args.role is None or args.hostile_role is not None):
        raise CommandError("say what to check: `player URL`, or `--hostile URL` with or without --role", USAGE)
    if args.list:
        return _list(args)
    from league_kit.documents import json_document
    from league_kit.text import lines

    report = _check(args)
    if report.record.probes and not report.record.is_reached:
        refused = report.record.probes[0].response.detail
        raise CommandError(f"{report.record.target}: {refused}. Is the agent running?", USAGE)
    _write(args, report)
    print_result(args.json, json_document(report), lines(report))
    return 0 if report.passed else 1


def _check(args: argparse.Namespace) -> CheckReport:
    from league_kit.kit import Options
    from league_kit.runner import check_player

    url = args.url if args.hostile is None else args.hostile
    try:
        split_http(url or "")
    except ValueError as error:
        told = f"{url or 'nothing'} is no http address; try http://127.0.0.1:8101/mcp"
        raise CommandError(told, USAGE) from error
    _chosen(args)
    options = Options(url, args.listen, args.host, args.wait, args.time_scale, tuple(args.only))
    stream = sys.stderr if args.json else sys.stdout

    def notify(line: str) -> None:
        print_lines([line], stream)

    try:
        return check_player(options, notify) if args.hostile is None else _send_bad_input(args, options, notify)
    except OSError as error:
        raise CommandError(f"cannot listen at port {args.listen}: {error.strerror or error}") from error


def _send_bad_input(args: argparse.Namespace, options: Options, notify: Callable[[str], None]) -> CheckReport:
    from league_kit.bad_input.hostile import check_hostile

    try:
        return check_hostile(options, args.hostile_role or "", notify)
    except ValueError as error:
        raise CommandError(str(error), USAGE) from error


def _write(args: argparse.Namespace, report: CheckReport) -> None:
    from league_kit.documents import junit_document
    from league_kit.page import html_document

    try:
        if args.junit:
            args.junit.write_bytes(junit_document(report))
        if args.html:
            args.html.write_text(html_document(report), encoding="utf-8")
    except OSError as error:
        raise CommandError(f"cannot write the report: {error}") from error


def _list(args: argparse.Namespace) -> int:
    document = _chosen(args)
    wide = max(len(one["id"]) for one in document)
    lines = (f"{one['id']:<{wide}}  {one['level']:<6}  {one['section']:<5}  {one['sentence']}" for one in document)
    print_result(args.json, document, lines)
    return 0


def _chosen(args: argparse.Namespace) -> list[dict[str, str]]:
    """The checks, or the bad inputs, that are asked for."""
    from league_kit.bad_input import hostile
    from league_kit.clauses import clauses_for
    from league_kit.runner import chosen

    try:
        if args.hostile is not None:
            return hostile.listed(args.hostile_role, args.only)
        clauses = clauses_for("player")
        found = [clauses[name] for name in chosen(tuple(args.only))]
    except ValueError as error:
        raise CommandError(str(error), USAGE) from error
    return [{name: getattr(one, name) for name in ("id", "level", "section", "sentence")} for one in found]


COMMANDS = (Command("check", "check an agent against the protocol, clause by clause", EXAMPLE, configure, run),)
