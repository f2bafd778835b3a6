"""Every command of `league` is run by some test."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

from league.cli.main import modules

TESTS = Path(__file__).parents[1]


def first_words(code: str) -> Iterator[str]:
    """The first words of all texts in this code: a command line is a list of words, or a text."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value.partition(" ")[0]


def untested(commands: Iterable[str], tests: Iterable[str]) -> set[str]:
    """The commands that no test names as a word of a command line."""
    return set(commands).difference(*map(first_words, tests))


def test_every_command_has_a_test() -> None:
    tests = [path.read_text(encoding="utf-8") for path in sorted(TESTS.rglob("test_*.py"))]
    missing = sorted(untested(modules(), tests))
    assert not missing, (
        f"no test runs `league {missing[0]}`: add one that calls league.cli.main.main([{missing[0]!r}, ...]) and looks "
        "at what it prints and returns, or that starts it as a process (tests/support/processes.py)"
    )


def test_a_command_without_a_test_is_found() -> None:
    tests = ['"""About `league grade`."""\nmain(["explain", "R1M1"])', 'run("simulate --leagues 3".split())']
    assert untested(["explain", "grade", "simulate"], tests) == {"grade"}
