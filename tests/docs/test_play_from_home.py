"""Whoever follows "Play from home" plays, and the page about mailboxes says what the code does."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from league.mailbox import addresses
from league.mailbox.post_office import Fetch, PostedAnswer
from league.mailbox.reader import Letters
from tests.support.pages import ROOT, Reader, blocks
from tests.support.processes import Processes

SPEC = (ROOT / "spec" / "mailboxes.md").read_text(encoding="utf-8")
PAGE = (ROOT / "docs" / "how-to" / "play-from-home.md").read_text(encoding="utf-8")


def test_whoever_follows_the_page_has_a_mailbox(tmp_path: Path) -> None:
    with Processes(tmp_path) as processes:
        reader = Reader(processes)
        reader.follow(blocks(PAGE))
        assert addresses.PREFIX in reader.terminals["ann"].endpoint
        reader.leave()
        assert processes.bugs == []


def test_the_examples_of_the_specification_are_requests_and_answers() -> None:
    examples = {block.note: block.text for block in blocks(SPEC) if block.language == "json"}
    assert msgspec.json.decode(examples["fetch"], type=Fetch) == Fetch(reader="5c1f0a7e", after=0, wait_s=20)
    (letter,) = msgspec.json.decode(examples["letters"], type=Letters).letters
    answer = msgspec.json.decode(examples["answer"], type=PostedAnswer)
    assert answer == PostedAnswer(letter=letter.letter, body=letter.body)


def test_the_example_of_an_address_is_right() -> None:
    rows = dict(re.findall(r"^\| (manager|key|endpoint) \| `(.+)` \|$", SPEC, re.MULTILINE))
    name = addresses.name_of(rows["key"])
    assert rows["endpoint"] == f"{addresses.root_of(rows['manager'])}/mailbox/{name}/mcp"
