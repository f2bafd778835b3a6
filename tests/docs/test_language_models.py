"""The page "Play with a language model", typed in; the stand-in is the provider."""

from __future__ import annotations

from pathlib import Path

from tests.support.language_models import stand_in
from tests.support.pages import ROOT, Reader, blocks
from tests.support.processes import Processes

PAGE = (ROOT / "docs" / "how-to" / "play-with-a-language-model.md").read_text(encoding="utf-8")


def test_the_page_leads_to_a_league_with_a_model_and_its_statistics(tmp_path: Path) -> None:
    with stand_in() as server, Processes(tmp_path) as processes:
        text = PAGE.replace("http://127.0.0.1:11434/v1", server.base_url).replace("llm:llama3.2", "llm:prose")
        assert text.count(server.base_url) == 2
        reader = Reader(processes)
        reader.follow(blocks(text.replace(": llama3.2, at", ": prose, at")))
        reader.leave()
        assert processes.bugs == []
    assert len(server.prompts) == 3
