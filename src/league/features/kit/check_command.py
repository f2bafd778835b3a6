"""`league check`: does this agent follow the protocol? A verdict per clause, with evidence."""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from league.terminal import (
    USAGE,
    Command,
    CommandError,
    add_json_option,
    print_lines,
    print_result,
)
from league.terminal.addresses import split_http

if TYPE_CHECKING:
    from league.features.kit.runner import CheckReport

ROLES = ("manager", "referee", "player")
LISTED = ("id", "level", "section", "sentence")
EXAMPLE = """\
examples:
  league check player http://127.0.0.1:8101/mcp
  league check player http://127.0.0.1:8101/mcp --listen 8000 --html report.html
  league check player http://127.0.0.1:8101/mcp --listen 8000 --only REGISTER.retries
  league check player --list
  league check referee http://127.0.0.1:8001/mcp --listen 8000
  league check manager http://127.0.0.1:8000/mcp
  league check --hostile http://127.0.0.1:8000/mcp
  league check --hostile http://127.0.0.1:8101/mcp --listen 8000 --role player

Without --listen, the kit calls the player as it is. With --listen PORT, the kit also serves as a manager at that port:
start the player with --manager http://127.0.0.1:PORT/mcp, and its registration is checked too. Three checks need a run
of their own: REGISTER.retries does not answer a registration, REGISTER.stops_when_rejected rejects it, and
REGISTER.waits_for_approval makes it wait for the operator.

A referee must register: start it with --manager http://127.0.0.1:PORT/mcp. The kit gives it four matches between
players of its own, and takes its reports. With --listen 8000 these players are also at 8101 and 8102, where the
documents have them. In a manager's league the kit plays two players and a referee, and two more
players and another referee if the league does not begin; start the manager anew for each check.

--hostile sends hundreds of bad inputs. The agent must refuse each of them, and none may change its state. Start a
manager with --players 2 --referees 2 and let nobody else register; start a player or a referee with the kit as its
manager (--listen PORT). The kit finds out the agent's role; --role overrides it. With --profile strict, it also sends
what only a strict agent refuses, such as names that look like another name.

exit status: 0 no MUST is broken, 1 at least one is, 2 wrong usage or the agent cannot be reached"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("role", choices=("player", "referee", "manager"), nargs="?", help="the agent's role")
    parser.add_argument("url", metavar="URL", nargs="?", help="the address at which the agent takes requests")
    parser.add_argument(
        "--hostile",
        metavar="URL",
        nargs="?",
        const="",
        help="send every bad input of the catalogue to the agent at this address",
    )
    parser.add_argument("--role", dest="hostile_role", choices=ROLES, help="with --hostile: the agent's role")
    parser.add_argument(
        "--profile",
        choices=("compat", "strict"),
        default="compat",
        help="with --hostile: the agent's profile (default: compat)",
    )
    add_json_option(parser)
    parser.add_argument("--junit", metavar="FILE", type=Path, help="also write the report as JUnit XML")
    parser.add_argument("--html", metavar="FILE", type=Path, help="also write the report as a web page")
    parser.add_argument(
        "--only",
        metavar="ID",
        action="append",
        default=[],
        help="run only this check, or all checks below it",
    )
    parser.add_argument("--list", action="store_true", help="list the checks without running them")
    parser.add_argument(
        "--listen",
        metavar="PORT",
        type=_port,
        help="serve as a manager at this port, so that the agent can register",
    )
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen at (default: 127.0.0.1)")
    parser.add_argument(
        "--wait",
        metavar="SECONDS",
        type=_positive,
        default=32.0,
        help="how long to wait for a registration (default: 32)",
    )
    parser.add_argument(
        "--time-scale",
        metavar="N",
        type=_positive,
        default=1.0,
        help="divide all time limits by N, for agents that run N times as fast",
    )


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port number")
    return int(text)


def _positive(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1e6:
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive number")
    return value


def run(args: argparse.Namespace) -> int:
    if args.hostile is None and (args.role is None or args.hostile_role is not None):
        raise CommandError("say what to check: `ROLE URL`, or `--hostile URL` with or without --role", USAGE)
    try:
        rows = _chosen(args)
        if args.list:
            return _list(args, rows)
        report = asyncio.run(_check(args))
    except ValueError as error:
        raise CommandError(str(error), USAGE) from error
    except OSError as error:
        raise CommandError(f"cannot listen at port {args.listen}: {error.strerror or error}") from error
    return _tell(args, report)


async def _check(args: argparse.Namespace) -> CheckReport:
    from league.features.kit import runner
    from league.features.kit.bad_input import hostile
    from league.features.kit.driver.kit import Options

    url = args.url if args.hostile is None else args.hostile
    try:
        split_http(url or "")
    except ValueError as error:
        raise ValueError(f"{url or 'nothing'} is not an http address; try http://127.0.0.1:8101/mcp") from error
    options = Options(
        target=url,
        listen=args.listen,
        host=args.host,
        wait_s=args.wait,
        time_scale=args.time_scale,
        only=tuple(args.only),
        profile=args.profile,
    )
    # With --json, stdout holds one document and nothing else.
    stream = sys.stderr if args.json else sys.stdout

    def notify(line: str) -> None:
        print_lines([line], stream)

    if args.hostile is None:
        return await runner.run(options, notify, args.role)
    return await hostile.run(options, args.hostile_role or "", notify=notify)


def _tell(args: argparse.Namespace, report: CheckReport) -> int:
    from league.features.kit.reports.evidence import json_document
    from league.features.kit.reports.text import lines

    record = report.record
    # Nobody was judged, so this is no verdict: a wrong address should not look like a failed check.
    if record.probes and not record.is_reached:
        raise CommandError(f"{record.target}: {record.probes[0].response.detail}. Is the agent running?", USAGE)
    _write(args, report)
    print_result(args.json, json_document(report), lines(report))
    return 0 if report.passed else 1


def _write(args: argparse.Namespace, report: CheckReport) -> None:
    try:
        if args.junit:
            from league.features.kit.reports.page import junit_document

            args.junit.write_text(junit_document(report), encoding="utf-8")
        if args.html:
            from league.features.kit.reports.page import html_document

            args.html.write_text(html_document(report), encoding="utf-8")
    except OSError as error:
        raise CommandError(f"cannot write the report: {error}") from error


def _list(args: argparse.Namespace, rows: list[dict[str, str]]) -> int:
    width = max(len(row["id"]) for row in rows)
    lines = (f"{row['id']:<{width}}  {row['level']:<6}  {row['section']:<5}  {row['sentence']}" for row in rows)
    print_result(args.json, rows, lines)
    return 0


def _chosen(args: argparse.Namespace) -> list[dict[str, str]]:
    """Return the checks, or the bad inputs, that --only names; all of them without it."""
    from league.features.kit.bad_input import hostile
    from league.features.kit.clauses import clauses_for
    from league.features.kit.runner import chosen

    if args.hostile is not None:
        return hostile.listed(args.hostile_role, args.only, args.profile)
    clauses = clauses_for(args.role)
    ids = chosen(tuple(args.only), args.role)
    return [{name: getattr(clauses[check_id], name) for name in LISTED} for check_id in ids]


COMMANDS = (Command("check", "check an agent against the protocol, clause by clause", EXAMPLE, configure, run),)
