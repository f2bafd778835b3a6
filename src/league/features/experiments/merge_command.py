"""`league merge`: put the parts of a tournament together."""

from __future__ import annotations

import argparse
from pathlib import Path

from league.terminal import Command, add_json_option, examples, print_result

EXAMPLE = examples(
    "league merge part-1 part-2 part-3 --to results",
    note="All folders must be of one plan (the same strategies, game, seed and settings), in any order. The result is\n"
    "what one run would have written, byte for byte. If series are missing, nothing is written.",
)


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folders", metavar="DIR", nargs="+", help="folders of `league tournament --shard I/N --to DIR`")
    parser.add_argument("--to", metavar="DIR", required=True, help="write the results there")
    add_json_option(parser)


def run(args: argparse.Namespace) -> int:
    from league.features.experiments.outcome.merging import merge
    from league.features.experiments.tournament_command import result_lines, written_files

    result = merge(args.folders, args.to)
    files = written_files(Path(args.to))
    lines = result_lines(result.document, files)
    print_result(args.json, result.document, lines)
    return 0


COMMANDS = (Command("merge", "put the shards of a tournament together", EXAMPLE, configure, run),)
