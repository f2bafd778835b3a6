"""Writes src/league/manager/confusables.py from confusables.txt of Unicode's Security Mechanisms (UTS #39).

Run it as `python -m scripts.confusables confusables.txt`, with that file of the version of Unicode that is wanted.
What NFKC folds anyway is left out: names are normalised before they are compared.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Iterator
from pathlib import Path

TARGET = Path(__file__).parents[1] / "src" / "league" / "manager" / "confusables.py"
WIDTH = 112
HEAD = """\
\"\"\"Which characters look like which, by Unicode Security Mechanisms (UTS #39), version {version}.

Written by scripts/confusables.py from data © Unicode, Inc., under the Unicode License
(https://www.unicode.org/license.txt). Each line is a prototype, an equals sign and the characters that look like it.
\"\"\"

LINES = (
"""
TAIL = """\
)

PROTOTYPES = {
    ord(char): prototype
    for prototype, _, chars in (line.partition("=") for line in LINES.split("\\n") if line)
    for char in chars
}
"""


def main() -> None:
    text = Path(sys.argv[1]).read_text("utf-8-sig")
    version = re.search(r"# Version: (\S+)", text)
    assert version is not None, "this is no confusables.txt"
    lines = "".join(f'    "{line}"\n' for line in _lines(_pieces(text)))
    TARGET.write_text(HEAD.format(version=version[1]) + lines + TAIL)


def _pieces(text: str) -> Iterator[str]:
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        fields = [part.strip() for part in line.partition("#")[0].split(";")]
        if len(fields) < 3:
            continue
        source, prototype = (_text(one) for one in fields[:2])
        if unicodedata.normalize("NFKC", source) == source:
            found.setdefault(prototype, []).append(source)
    for prototype, chars in sorted(found.items()):
        yield _escaped(prototype) + "="
        yield from map(_escaped, sorted(chars))
        yield "\\n"


def _text(codes: str) -> str:
    return "".join(chr(int(code, 16)) for code in codes.split())


def _escaped(text: str) -> str:
    return "".join(char if char.isascii() and char.isalnum() else _code(char) for char in text)


def _code(char: str) -> str:
    return f"\\u{ord(char):04x}" if ord(char) < 0x10000 else f"\\U{ord(char):08x}"


def _lines(pieces: Iterator[str]) -> Iterator[str]:
    line = ""
    for piece in pieces:
        if len(line) + len(piece) > WIDTH:
            yield line
            line = ""
        line += piece
    yield line


if __name__ == "__main__":
    main()
