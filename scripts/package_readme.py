"""The README as a package index shows it. The build of the package runs this (pyproject.toml, tool.hatch.metadata).

In the repository, links of the README lead to files beside it. An index has none of these files, and there is no public
address yet where they can be read, so a link to a file becomes its text and a picture is left out: a page that shows
less is better than one whose links lead nowhere. Once there is a public repository, link to it here, and name it in
`[project.urls]`.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_CODE_BLOCK = re.compile(r"(^```.*?^```$)", re.DOTALL | re.MULTILINE)
_IMAGE = re.compile(r"!\[[^\]]*\]\((?!https?://)[^)]*\)\n*")
_LINK = re.compile(r"\[([^\]]*)\]\((?!https?://)[^)]*\)")
_WHERE_FILES_ARE = "\nThe files that this page names are in the source distribution.\n"


class ReadmeHook(MetadataHookInterface):
    """Gives the package its description and leaves all other metadata as pyproject.toml has them."""

    def update(self, metadata: dict[str, Any]) -> None:
        readme = Path(self.root, "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": without_relative_links(readme)}


def without_relative_links(page: str) -> str:
    """The page with absolute links only; code blocks stay as they are."""
    # The pattern has a group, so every other part is a code block.
    parts = _CODE_BLOCK.split(page)
    for place in range(0, len(parts), 2):
        parts[place] = _LINK.sub(r"\1", _IMAGE.sub("", parts[place]))
    return "".join(parts).rstrip("\n") + "\n" + _WHERE_FILES_ARE
