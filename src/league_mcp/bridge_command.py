"""`league mcp`: a local MCP server for assistants that start one; behind it is a running manager."""

from __future__ import annotations

import argparse
import signal
import sys
from contextlib import suppress

from league.cli.source import add_operator_options, manager_url
from league.terminal import Command, examples, print_lines

EXAMPLE = examples(
    "league mcp --manager http://127.0.0.1:8000",
    "league mcp --state league-data/my_league",
    "LEAGUE_PLAYER_KEY=... league mcp --manager http://127.0.0.1:8101",
    note="An assistant starts it: what it reads on stdin is posted to /mcp there, what comes back is on stdout, and\n"
    "what people should know on stderr. It ends with its input.\n"
    "LEAGUE_PLAYER_KEY, or else the admin token, goes with every request if it is given: the tools for your\n"
    "player's turns, and those for operators, need it. It is never shown, and never on the command line.",
)


configure = add_operator_options


def run(args: argparse.Namespace) -> int:
    from league.hosting.kept_secrets import ADMIN_TOKEN, PLAYER_KEY
    from league_mcp.bridge import Bridge, written_to

    url = manager_url(args.manager)
    key = None if args.state else PLAYER_KEY.given_to_command(None)
    token = key or ADMIN_TOKEN.given_to_command(args.state)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    bridge = Bridge(url, token, written_to(sys.stdout.fileno()), _tell)
    with suppress(KeyboardInterrupt):
        bridge.run(sys.stdin.buffer)
    return 0


def _tell(sentence: str) -> None:
    from league.terminal.display import harmless

    print_lines([f"league mcp: {harmless(sentence)}"], sys.stderr)


COMMANDS = (
    Command(
        "mcp",
        "bridge stdin and stdout to a manager, for assistants that start local MCP servers",
        EXAMPLE,
        configure,
        run,
    ),
)
