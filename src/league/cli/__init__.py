"""The command line: one module per command, and what all commands share."""

from __future__ import annotations

import argparse
import json
import sys

USAGE = 2
"""The exit status of wrong usage; 0 is success, 1 failure."""


class CommandError(Exception):
    """What keeps a command from its work, as one sentence for the person who gave it."""

    def __init__(self, sentence: str, status: int = 1) -> None:
        super().__init__(sentence)
        self.status = status


def add_json_option(parser: argparse.ArgumentParser) -> None:
    """`--json`: one JSON document on stdout, nothing else."""
    parser.add_argument("--json", action="store_true", help="print one JSON document and nothing else")


def print_json(document: object) -> None:
    """Print the one document of `--json`."""
    json.dump(document, sys.stdout, indent=2)
    sys.stdout.write("\n")
