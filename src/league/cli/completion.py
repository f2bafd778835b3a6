"""`league completion`: a script that lets a shell complete commands, options and their values.

shtab makes it from the parsers of the commands, so it is always up to date.
"""

from __future__ import annotations

import argparse

from league.terminal import Command, examples

SHELLS = ("bash", "zsh", "fish", "tcsh", "powershell")
FILES = ("FILE", "JOURNAL", "URL")
FOLDERS = ("DIR",)
"""Placeholders of values that are completed as names of files and folders."""
EXAMPLE = examples(
    'eval "$(league completion bash)"     in ~/.bashrc',
    'eval "$(league completion zsh)"      in ~/.zshrc, after compinit',
    "league completion fish               its output is for ~/.config/fish/completions/league.fish",
)


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=SHELLS, help="the shell to write for")


def run(args: argparse.Namespace) -> int:
    import shtab

    from league.cli.main import full_parser, subparsers_of

    parser = full_parser(with_others=True)
    for subparser in subparsers_of(parser).values():
        for action in subparser._actions:
            if action.metavar in FILES:
                action.complete = shtab.FILE  # type: ignore[attr-defined] # shtab reads this attribute
            elif action.metavar in FOLDERS:
                action.complete = shtab.DIRECTORY  # type: ignore[attr-defined]
    print(shtab.complete(parser, args.shell))  # a script: its lines stay as they are
    return 0


COMMANDS = (
    Command("completion", "print a script that completes commands and options in your shell", EXAMPLE, configure, run),
)
