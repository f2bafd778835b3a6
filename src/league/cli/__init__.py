"""The command line: one module per command, and what all commands share."""

from __future__ import annotations

import argparse
import json
import sys

from league.hosting import USAGE, CommandError

__all__ = ["USAGE", "CommandError", "add_json_option", "print_json"]


def add_json_option(parser: argparse.ArgumentParser) -> None:
    """`--json`: one JSON document on stdout, nothing else."""
    parser.add_argument("--json", action="store_true", help="print one JSON document and nothing else")


def print_json(document: object) -> None:
    """Print the one document of `--json`."""
    json.dump(document, sys.stdout, indent=2)
    sys.stdout.write("\n")
