"""The glossary explains words that somebody needs."""

from __future__ import annotations

import re

from tests.support.pages import ROOT

GLOSSARY = ROOT / "docs" / "explanation" / "glossary.md"


def test_a_word_is_in_use_elsewhere() -> None:
    others = (*ROOT.glob("docs/*/*.md"), *ROOT.glob("src/**/*.py"))
    text = "\n".join(path.read_text(encoding="utf-8") for path in others if path != GLOSSARY).lower()
    rows = re.findall(r"^\| ([a-z, ]+) \|", GLOSSARY.read_text(encoding="utf-8"), re.MULTILINE)
    words = {word for row in rows for word in row.split(", ")} - {"word"}
    assert len(words) > 40
    assert [word for word in words if not re.search(rf"\b{word}s?\b", text)] == []
