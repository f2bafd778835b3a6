"""What all pages for people must keep: links lead somewhere, commands parse, code compiles, nothing is left out."""

from __future__ import annotations

import argparse
import ast
import re
import shlex
from collections.abc import Iterator
from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path

import pytest

from league.cli.main import command_parsers, full_parser, modules
from league.hosting.settings.settings_file import all_options
from league.protocol.errors import ERRORS
from league.protocol.message.messages import MESSAGES
from scripts.reference import anchor
from tests.support.pages import ROOT, blocks

DOCS = ROOT / "docs"
PAGES = sorted(
    path
    for pattern in ("*.md", "docs/**/*.md", "spec/**/*.md", "examples/**/*.md", "src/**/*.md", "benchmarks/*.md")
    for path in ROOT.glob(pattern)
)
TEXTS = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in PAGES}
PARSER = full_parser()
OF_EXAMPLES = {
    command
    for path in (ROOT / "examples" / "features").rglob("__init__.py")
    for command in re.findall(r'CommandRow\("([a-z-]+)"', path.read_text(encoding="utf-8"))
}
"""Commands that only exist once an example is installed."""

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
SHELLS = ("sh", "console", "text", "")
COMMAND_LINE = re.compile(r"^(?:\$ )?(?:[A-Z_]+=\S+ )*(?:\.venv/bin/)?league (?P<rest>[a-z-].*)$")
"""A command alone on its line, as typed; what follows two blanks is a remark."""
CODE = re.compile(r"`(?:\.venv/bin/)?league (?P<rest>[a-z][^`]*)`")
MACHINE_PATH = re.compile(r"(?<![\w.:/])/(?:home|root|Users|work|tmp|usr|opt|var)/\w")


def reference(name: str) -> str:
    return TEXTS[f"docs/reference/{name}.md"]


# --- links ------------------------------------------------------------------------------------------------------------


def without_blocks(text: str) -> str:
    return re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)


def headings(text: str) -> set[str]:
    return {anchor(title) for title in re.findall(r"^#+ (.+)$", text, re.MULTILINE)}


def broken_links(path: Path, text: str) -> Iterator[str]:
    for link in LINK.findall(without_blocks(text)):
        name, _, place = link.partition("#")
        target = path if not name else (path.parent / name).resolve()
        if "://" not in link and (not target.exists() or (place and place not in headings(target.read_text("utf-8")))):
            yield link


@pytest.mark.parametrize("name", TEXTS)
def test_every_link_leads_somewhere(name: str) -> None:
    assert list(broken_links(ROOT / name, TEXTS[name])) == []


def test_a_link_to_nowhere_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("[a](#there) [b](page.md) [c](nowhere.md) [d](#nowhere) [e](page.md#nowhere)\n\n## There\n")
    assert list(broken_links(page, page.read_text())) == ["nowhere.md", "#nowhere", "page.md#nowhere"]


def test_every_page_can_be_reached_from_the_index() -> None:
    """By itself, or with the folder it is in."""
    index, listed = DOCS / "README.md", TEXTS["docs/README.md"]
    linked = {(index.parent / link.partition("#")[0]).resolve() for link in LINK.findall(listed)}
    pages = (path for path in PAGES if DOCS in path.parents and path != index)
    assert [path for path in pages if not {path, path.parent} & linked] == []


# --- commands ---------------------------------------------------------------------------------------------------------


def typed(text: str) -> Iterator[str]:
    """The arguments of every `league` command in the blocks of a page."""
    for block in blocks(text):
        if block.language in SHELLS:
            for line in re.sub(r"\\\n\s*", "", block.text).splitlines():
                if found := COMMAND_LINE.match(line.strip()):
                    yield re.split(r"\s{2,}| #", found["rest"])[0]


def mentioned(text: str) -> Iterator[str]:
    """The arguments of every `league` command between backticks."""
    yield from (found["rest"] for found in CODE.finditer(" ".join(without_blocks(text).split())))


def wrong_usage(arguments: str) -> str | None:
    """What the real parser says against it; commands of examples are beyond it."""
    if arguments.split()[0] in OF_EXAMPLES:
        return None
    told = StringIO()
    try:
        with redirect_stderr(told):
            unknown = PARSER.parse_known_args(shlex.split(arguments))[1]
    except SystemExit:
        return told.getvalue() or None
    return f"unknown: {unknown}" if unknown else None


@pytest.mark.parametrize("name", TEXTS)
def test_every_command_line_is_one_that_the_program_takes(name: str) -> None:
    said = {line: wrong_usage(line) for line in typed(TEXTS[name]) if not _is_of_the_example(name, line)}
    assert {line: wrong for line, wrong in said.items() if wrong} == {}


def _is_of_the_example(page: str, line: str) -> bool:
    """True for the command that the page on features adds; tests/docs/test_write_a_feature.py runs it."""
    return page == "docs/how-to/write-a-feature.md" and line.split()[0] == "streaks"


@pytest.mark.parametrize("name", TEXTS)
def test_every_command_that_is_mentioned_exists(name: str) -> None:
    """It may be named without its arguments."""
    said = {line: wrong_usage(line) for line in mentioned(TEXTS[name]) if not _is_of_the_example(name, line)}
    assert {line: wrong for line, wrong in said.items() if wrong and "arguments are required" not in wrong} == {}


def test_a_wrong_command_line_is_found() -> None:
    page = "```console\n$ league standings --colour\n$ league frobnicate\n$ league standings   the table\n```\n"
    assert [line for line in typed(page) if wrong_usage(line)] == ["standings --colour", "frobnicate"]


# --- code -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TEXTS)
def test_every_block_of_python_compiles(name: str) -> None:
    for block in blocks(TEXTS[name]):
        if block.language == "python":
            ast.parse(block.text)


@pytest.mark.parametrize("name", TEXTS)
def test_no_page_names_a_place_on_somebodys_machine(name: str) -> None:
    assert MACHINE_PATH.findall(TEXTS[name]) == []


# --- nothing is left out ----------------------------------------------------------------------------------------------


def test_every_message_is_documented() -> None:
    rows = set(re.findall(r"^\| \[([A-Z_]+)\]", reference("messages"), re.MULTILINE))
    assert rows == set(MESSAGES)


def test_every_error_is_documented() -> None:
    rows = dict(re.findall(r"^\| (E[0-9]{3}) \| ([A-Z_]+) \|", reference("errors"), re.MULTILINE))
    assert rows == {code: row.name for code, row in ERRORS.items()}


def test_every_setting_is_documented() -> None:
    rows = re.findall(
        r"^\| `([a-z_]+)` \| (?:only in the file(?:, and `[A-Z_]+`)?|`(--[a-z-]+)`) \|",
        reference("settings"),
        re.MULTILINE,
    )
    assert rows == [(one.name, "" if one.only_in_file else one.flag) for one in all_options()]


def test_every_command_and_option_is_documented() -> None:
    page = reference("commands")
    parts = dict(re.findall(r"^## league (\S+)\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL))
    assert list(parts) == list(modules())
    for name, parser in command_parsers().items():
        assert [flag for flag in flags(parser) if f"`{flag}" not in parts[name]] == []


def flags(parser: argparse.ArgumentParser) -> list[str]:
    return [flag for one in parser._actions for flag in one.option_strings if flag not in ("-h", "--help")]


def test_every_test_that_the_security_page_names_exists() -> None:
    named = set(re.findall(r"`([a-z]\w*/[\w/.]+)`", (ROOT / "SECURITY.md").read_text("utf-8")))
    assert len(named) > 15
    assert [one for one in sorted(named) if not (ROOT / "tests" / one).exists()] == []
