"""`league mcp`: a local MCP server for assistants that start one, in front of a running agent."""

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
    note="An assistant starts this command. It posts what it reads on stdin to /mcp there, prints the answers on\n"
    "stdout and messages for people on stderr, and ends when its input ends.\n"
    "It sends LEAGUE_PLAYER_KEY, or else the admin token, with every request if you set one: the tools for your\n"
    "player's turns and the operator's tools need it. It never prints the secret, and never takes it from the\n"
    "command line.",
)


configure = add_operator_options


def run(args: argparse.Namespace) -> int:
    from league.features.mcp.bridge import Bridge, written_to
    from league.hosting.manager.kept_secrets import ADMIN_TOKEN, PLAYER_KEY

    url = manager_url(args.manager)
    key = None if args.state else PLAYER_KEY.given_to_command(None)
    token = key or ADMIN_TOKEN.given_to_command(args.state)
    # Assistants end their servers with SIGTERM: it ends the loop as Ctrl-C does.
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
        "connect assistants that start local MCP servers to a running manager or player",
        EXAMPLE,
        configure,
        run,
    ),
)
