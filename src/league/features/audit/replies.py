"""Whether the reply of a model says what a player read from it.

The player reads replies by marks (`league.features.minds.reading`). If the audit asked the same reader, it would repeat
its mistakes. So this file looks at words instead: where does the option stand, what stands right before and after it,
does its sentence deny it, and is another option set off like it further down? It is no second reader. It can say only
that a reading has nothing to stand on.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

_MARKUP: Final = " \t*_`\"'“”‘’«»「」#$\\()[]{}<>|^"
_SETS_OFF: Final = (":", "=", ">", "{", "*", "_", "`", "是", "は")
"""Signs in front of an answer."""
_LEADS_TO: Final = frozenset(
    ["is", "choose", "pick", "play", "select", "take", "with", "so", "therefore", "cell", "answer", "move"]
)
"""Words in front of an answer."""
_DENIALS: Final = [
    "not",
    "never",
    "no",
    "if",
    "unless",
    "would",
    "opponent",
    "avoid",
    "against",
    "than",
    "nicht",
    "kein",
    "nie",
    "pas",
    "jamais",
    "nunca",
    "não",
    "non",
    "niet",
    "inte",
    "не",
    "нет",
    "不",
    "ない",
    "않",
]
_CLOSES: Final = ('"', "*", "<", "}", "`")
_GOES_ON: Final = frozenset(["because", "since", "as", "for"])
_THOUGHTS: Final = ("think", "thinking", "thought", "reasoning")
_SENTENCE_ENDS: Final = (".", "!", "?", "。", "…", "\n")


class _Place(NamedTuple):
    """Where an option stands in a reply."""

    begin: int
    end: int


def objection(reply: str, options: Sequence[str], read: str | None) -> str:
    """Say why a reply does not say what was read from it (None: nothing); empty if it may."""
    text = _normal(_without_thoughts(reply))
    if read is None:
        alone = [option for option in options if text == _normal(option)]
        return f"it says nothing but {alone[0]!r}, which was not read" if len(alone) == 1 else ""
    own = [place for place in _places(text, read, options) if _is_set_off(text, place)]
    if not own:
        return f"nowhere does it set {read!r} off as its answer"
    for option in options:
        if _normal(option) == _normal(read):
            continue
        below = text.find("\n", own[-1].end)
        if below >= 0 and any(
            place.begin > below and _is_set_off(text, place) for place in _places(text, option, options)
        ):
            return f"after {read!r} it sets {option!r} off as its answer"
    return ""


def _normal(text: str) -> str:
    lines = unicodedata.normalize("NFKC", text).casefold().strip(" \n\ufeff\u200b").split("\n")
    return "\n".join(" ".join(line.split()) for line in lines)


def _without_thoughts(reply: str) -> str:
    text = reply
    for name in _THOUGHTS:
        lowered = text.lower()
        end = lowered.rfind(f"</{name}>")
        if end >= 0:
            text = text[end + len(name) + 3 :]
        text = text[: len(text) if (begin := text.lower().find(f"<{name}>")) < 0 else begin]
    return text


def _places(text: str, option: str, options: Sequence[str]) -> Iterator[_Place]:
    """Yield where an option stands, unless it is only a part of a word or of a longer option."""
    words = _normal(option)
    longer = [_normal(other) for other in options if words in _normal(other) and words != _normal(other)]
    begin = text.find(words)
    while words and begin >= 0:
        end = begin + len(words)
        before = text[begin - 1 : begin]
        is_word = not (before.isalnum() and before.isascii()) and not text[end : end + 1].isalnum()
        if is_word and not any(_covers(text, other, begin) for other in longer):
            yield _Place(begin, end)
        begin = text.find(words, end)


def _covers(text: str, other: str, place: int) -> bool:
    """True if a longer option stands around this place."""
    return text.find(other, max(0, place - len(other)), place + len(other) + 1) >= 0


def _is_set_off(text: str, place: _Place) -> bool:
    """True if an option stands where an answer stands, and its sentence does not deny it."""
    line = text[text.rfind("\n", 0, place.begin) + 1 : place.begin]
    sentence = line
    for sign in (". ", "! ", "? ", "。"):
        sentence = sentence.rpartition(sign)[2]
    words = [word.strip(f"{_MARKUP},.:;") for word in sentence.split()]
    if any(denial in words or (not denial.isascii() and denial in sentence) for denial in _DENIALS):
        return False
    bare = sentence.rstrip(" \"'“‘«「$([")
    has_lead = not sentence.strip(_MARKUP) or bare.endswith(_SETS_OFF) or bool(words and words[-1] in _LEADS_TO)
    rest = text[place.end :].split("\n", 1)[0]
    following = rest.strip(_MARKUP)
    has_end = not following or following.startswith((*_SENTENCE_ENDS, ",", ";")) or rest.lstrip()[:1] in _CLOSES
    return has_lead and (has_end or following.split()[0] in _GOES_ON or rest.lstrip().startswith("("))
