"""Tables with words in braces: `{P01}` stands for a word that is known only when the kit runs."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import Any

Find = Callable[[str], Any]
"""Returns the word with this name; None if there is none (Any: any JSON)."""
NULL = "{null}"
_NAME = re.compile(r"\{([^{}]+)\}")
_REPEATED = re.compile(r"\{([^{}]+?) \* (\d+)\}")


@cache
def table(package: str, name: str) -> dict[str, Any]:
    """Return a table of the kit (Any: TOML). In it, {A# * 2} is A0A1."""
    text = files(f"league.features.kit.{package}").joinpath(name).read_text(encoding="utf-8")
    return tomllib.loads(_REPEATED.sub(_repeat, text))


def _repeat(text: re.Match[str]) -> str:
    return "".join(text[1].replace("#", str(number)) for number in range(int(text[2])))


def fields_of(value: object) -> dict[str, Any]:
    """Return a JSON object (Any: any JSON); an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def filled(text: str, find: Find) -> str:
    """Return a text with words in place of their names in braces; a name that stands for no word stays."""

    def word(name: re.Match[str]) -> str:
        meaning = find(name[1])
        return name[0] if meaning is None else str(meaning)

    return _NAME.sub(word, text)


def with_words(value: Any, find: Find) -> Any:
    """Return the same JSON with words in place of their names (Any: JSON). A text that is nothing but a name becomes
    the word itself, of whatever type."""
    if isinstance(value, dict):
        return {filled(name, find): with_words(item, find) for name, item in value.items()}
    if isinstance(value, list):
        return [with_words(item, find) for item in value]
    if not isinstance(value, str):
        return value
    if value == NULL:
        return None
    name = _NAME.fullmatch(value)
    word = find(name[1]) if name else None
    return filled(value, find) if word is None else word
