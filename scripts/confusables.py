"""Writes src/league/manager/members/confusables.txt from confusables.txt of Unicode's Security Mechanisms (UTS #39).

Run it as `python -m scripts.confusables confusables.txt`, with that file in the version of Unicode you want. Characters
that NFKC folds anyway are left out: names are normalised before they are compared.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Mapping, Sequence
from pathlib import Path

TARGET = Path(__file__).parents[1] / "src" / "league" / "manager" / "members" / "confusables.txt"
HEAD = """\
# Which characters look alike, by Unicode Security Mechanisms (UTS #39), version {version}.
# Written by scripts/confusables.py from data © Unicode, Inc.; confusables-license.txt has its licence.
# Each line is a prototype, an equals sign, and the characters that look like it, all as code points.
"""


def main() -> None:
    text = Path(sys.argv[1]).read_text("utf-8-sig")
    version = re.search(r"# Version: (\S+)", text)
    assert version is not None, "this is not Unicode's confusables.txt"
    TARGET.write_text(table(_lookalikes(text), version[1]), "utf-8")


def table(lookalikes: Mapping[str, Sequence[str]], version: str) -> str:
    """Return the text of the file."""
    lines = [f"{_codes(prototype)} = {_codes(sorted(chars))}\n" for prototype, chars in sorted(lookalikes.items())]
    return HEAD.format(version=version) + "".join(lines)


def _lookalikes(text: str) -> Mapping[str, Sequence[str]]:
    lookalikes: dict[str, list[str]] = {}
    for line in text.splitlines():
        fields = [part.strip() for part in line.partition("#")[0].split(";")]
        if len(fields) < 3:
            continue
        char = _text(fields[0])
        prototype = _text(fields[1])
        if unicodedata.normalize("NFKC", char) == char:
            lookalikes.setdefault(prototype, []).append(char)
    return lookalikes


def _text(codes: str) -> str:
    return "".join(chr(int(code, 16)) for code in codes.split())


def _codes(chars: str | Sequence[str]) -> str:
    return " ".join(f"{ord(char):04X}" for char in chars)


if __name__ == "__main__":
    main()
