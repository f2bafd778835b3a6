"""`league completion`: a script that lets a shell complete commands, options and their values.

It is written from the parsers of the commands, so it knows what they know.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from shlex import quote

from league.terminal import Command, examples

EXAMPLE = examples(
    'eval "$(league completion bash)"     in ~/.bashrc',
    'eval "$(league completion zsh)"      in ~/.zshrc, after compinit',
    "league completion fish               its output is for ~/.config/fish/completions/league.fish",
)


@dataclass(frozen=True, slots=True)
class Argument:
    """An option by its names, or an argument without any; `values` are those it must have one of."""

    flags: tuple[str, ...]
    help: str
    values: tuple[str, ...]
    takes_value: bool


Commands = Mapping[str, tuple[str, list[Argument]]]
"""Every command with its sentence and its arguments."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=list(SHELLS), help="the shell to write for")


def run(args: argparse.Namespace) -> int:
    from league.cli.main import command_parsers

    commands = {
        name: (parser.description or "", [_argument(one) for one in parser._actions if one.help != argparse.SUPPRESS])
        for name, parser in command_parsers().items()
    }
    print("\n".join(SHELLS[args.shell](commands)))  # a script: its lines stay as they are
    return 0


def _argument(action: argparse.Action) -> Argument:
    help_text = (action.help or "").replace("%%", "%")
    return Argument(tuple(action.option_strings), help_text, tuple(map(str, action.choices or ())), action.nargs != 0)


def _offered(arguments: list[Argument]) -> str:
    """What may come next in a command: its options, and the values of arguments without a name."""
    return " ".join(word for one in arguments for word in one.flags or one.values)


def _valued(commands: Commands) -> Iterator[tuple[str, tuple[str, ...]]]:
    """`COMMAND --option` for every option that is followed by a value, and the values it may have, if they are few."""
    for name, (_, arguments) in commands.items():
        for one in arguments:
            if one.takes_value:
                yield from ((f"{name} {flag}", one.values) for flag in one.flags)


def bash(commands: Commands) -> Iterator[str]:
    """Where nothing is offered, bash completes file names."""
    yield "_league() {"
    yield '    local words= command="${COMP_WORDS[1]}"'
    yield '    case "$COMP_CWORD:$command ${COMP_WORDS[COMP_CWORD-1]}" in'
    yield f"        1:*) words={quote(' '.join((*commands, '--help', '--version')))} ;;"
    for said, values in _valued(commands):
        yield f"        *:{quote(said)}) words={quote(' '.join(values))} ;;"
    yield '        *) case "$command" in'
    for name, (_, arguments) in commands.items():
        yield f"            {name}) words={quote(_offered(arguments))} ;;"
    yield "        esac ;;"
    yield "    esac"
    yield '    COMPREPLY=($(compgen -W "$words" -- "${COMP_WORDS[COMP_CWORD]}"))'
    yield "}"
    yield "complete -o default -F _league league"


def zsh(commands: Commands) -> Iterator[str]:
    """zsh takes the script of bash."""
    yield "autoload -U +X bashcompinit && bashcompinit"
    yield from bash(commands)


def fish(commands: Commands) -> Iterator[str]:
    """A line for each thing that may be said."""
    for name, (told, arguments) in commands.items():
        yield f"complete -c league -n __fish_use_subcommand -f -a {name} -d {_fish(told)}"
        here = f"complete -c league -n '__fish_seen_subcommand_from {name}'"
        for one in arguments:
            values = f" -f -a {_fish(' '.join(one.values))}" if one.values else ""
            flags = "".join(f" -l {flag[2:]}" if flag.startswith("--") else f" -s {flag[1:]}" for flag in one.flags)
            if flags or values:
                needs = " -r" if flags and one.takes_value else ""
                yield f"{here}{flags}{needs}{values} -d {_fish(one.help)}"


def _fish(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


SHELLS: Mapping[str, Callable[[Commands], Iterator[str]]] = {"bash": bash, "zsh": zsh, "fish": fish}


COMMANDS = (Command("completion", "print what lets your shell complete commands and options", EXAMPLE, configure, run),)
