"""How the answer of a model is read.

The reader never guesses. It knows a few ways to mark an answer: nothing but the option; JSON with a field for it; a
tag; a LaTeX box; a label such as "Final answer:"; bold type; a last line that holds nothing else. A mark counts if the
words before it do not leave open whose choice it is. If the words after it take it back, or name another option without
an excuse, nothing is chosen; nor if two marks disagree. Whatever else mentions an option, however clear it looks, is
unreadable, and the model is asked once more. That costs little; a choice that it did not make would spoil a study.

`league.features.audit.replies` reads the same answers by rules of its own, so that a mistake of this file is found.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

BARE: Final = "bare"
JSON: Final = "json"
TAG: Final = "tag"
BOXED: Final = "boxed"
LABEL: Final = "label"
BOLD: Final = "bold"
LAST_LINE: Final = "last_line"
"""The rules."""

_THOUGHTS: Final = re.compile(r"<(think|thinking|thought|reasoning)>.*?(</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_REST_OF_THOUGHTS: Final = re.compile(r"\A.*</(?:think|thinking|thought|reasoning)>", re.DOTALL | re.IGNORECASE)
"""Some servers drop the tag that opens the thoughts."""
_FENCE: Final = re.compile(r"^[ \t]*(```|~~~)\w*[ \t]*$", re.MULTILINE)
_HALF_WIDTH: Final[dict[int, int]] = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {0x3000: 32, 0x2019: 39}
_BLANKS: Final = " \t\r\n\u00a0\u200b\ufeff"
_DECORATION: Final = f"{_BLANKS}*_`#"
_PAIRS: Final = ("****", "____", "**", "__", "``", '""', "''", "$$", "“”", "‘’", "«»", "「」", "()", "[]", "{}", "<>")
_FULL_STOPS: Final = ".!。…"
_ENDS: Final = (".", "!", "?", "。", "…", ")", '"', "”", "|", "}", "]", "$", "`")
"""With one of these a line comes to its end: what follows is no part of its sentence."""

_LABEL: Final = re.compile(
    r"(?:(?:so|thus|therefore|hence|ok|okay|then|and),? )?(?:here is |here's )?(?:my |the )?"
    r"(?P<final>final )?(?:best |chosen )?(?:answer|choice|move|pick|decision|selection|action|bid)[*_`]*"
    r"(?: is\b:?| ?(?::|=|->|→))[\s*_`]*"
    r"|(?:(?:meine|die|ma|la|mon|le|mi|mia|mio|minha|o|a|mijn|het|mitt|moja|мой|окончательный|我的|私の|最终"
    r"|最終|最后|나의|최종)"
    r" ?)*(?:endgültige |letzte )?(?:antwort|wahl|zug|réponse|choix|respuesta|elección|resposta|escolha"
    r"|risposta|scelta"
    r"|antwoord|keuze|svar|val|odpowiedź|wybór|ответ|выбор|cevap|jawaban|答案|回答|选择|選択|答え|정답|답|선택"
    r"|उत्तर|الجواب|الإجابة)"
    r"(?: finale?| final| definitiva| définitive| akhir)?[*_`]*(?: ?[:=]|是|は)[\s*_`]*",
    re.IGNORECASE,
)
_DECLARES: Final = re.compile(
    r"(?:^|[,;:—–-] ?|\b(?:so|thus|therefore|hence|then|and) )"
    r"(?:(?:my|the) (?:final )?(?:answer|choice|move|pick) is|i(?:'ll| will| now)? (?:choose|play|pick|select"
    r"|go with|take"
    r"|answer|bid|move to)|let's (?:go with|play|pick)|ich (?:wähle|nehme|spiele)|je (?:choisis|joue)|elijo"
    r"|escolho|scelgo"
    r"|ik kies|jag väljer|wybieram|я выбираю|我选择|so|thus|therefore|hence)"
    r"(?: (?:the )?(?:cell|square|position|option|column|number|move))?[:,]?$",
    re.IGNORECASE,
)
"""How a sentence goes on with the choice of its author."""
_DOUBTS: Final = re.compile(
    r"\b(?:not|never|nor|neither|no|if|unless|when|while|would|could|might|may|avoid\w*|wrong|bad|worse|worst"
    r"|except|either"
    r"|opponent|rival|enemy|he|she|they|previous\w*|last|before|earlier|suppose|imagine|example|refus\w+"
    r"|declin\w+|cannot"
    r"|reject\w*|rule out|threat\w*|block\w*|told|asked|instruct\w+|said|says|write|ignore|rather than|nicht"
    r"|kein\w*|nie"
    r"|gegner|pas|jamais|adversaire|nunca|não|non|mai|niet|geen|inte|не|нет|соперник)\b"
    r"|n't\b|~~|❌|🚫|不|别|没|对手|ない|相手|않|안 ",
    re.IGNORECASE,
)
"""Words before a mark that leave open whose choice it is."""
_RETRACTS: Final = re.compile(
    r"\b(?:wait|actually|hmm+|scratch that|on second thoughts?|chang\w+ my mind|correction|kidding|joking|oops"
    r"|never ?mind"
    r"|ignore (?:this|that|it)|take (?:it|that) back|i mean|i meant|undecided|unsure|disregard"
    r"|(?:i|i'd|we) (?:rather|refuse|decline|cannot|can't|won't|don't|do not|will not|would not|wouldn't|am not)"
    r"|not (?:my|what|the one|final|sure|chosen|choosing|really|going)|(?:is|was|are) (?:false|wrong|a lie"
    r"|an example|what"
    r"|my opponent|the opponent))\b"
    r"|(?:^|[.!?…\n,—–-]) *(?:no|nope|not|nein|doch|nee|nej|нет|but|or|however|aber|oder|sondern|mais|ou|pero"
    r"|sino|но|但"
    r"|不|いや|아니)(?!\w)",
    re.IGNORECASE,
)
"""Words after a mark that take it back."""
_EXPLAINS: Final = re.compile(
    r"[\W_]*(?:let me know|feel free|would you like|do you want|if you|please|tell me|good luck|i hope|thank"
    r"|because|since"
    r"|this|that|reason|explanation|why|note|which|so that|it)\b",
    re.IGNORECASE,
)
"""How a sentence may begin that names another option after the answer."""
_SENTENCES: Final = re.compile(r"(?<=[.!?。…])\s+|\n")
_BREAK: Final = re.compile(r"[.!。…]+(?=[\s*_`]|$)|\s+[(…]|,? (?:because|since|as|—|–|-) ")
_TAGGED: Final = re.compile(r"<(answer|final_answer|choice|move)>(?P<held>.*?)(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_BOXED: Final = re.compile(r"\\(?:boxed|fbox)\s*\{(?P<held>(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)\}")
_LATEX: Final = re.compile(r"\\(?:text|mathrm|mathbf|textbf|textit|texttt|mathit)\s*\{(.*)\}")
_BOLD: Final = re.compile(r"(\*\*|__)(?=\S)(?P<held>[^*\n]+?)\1")
_NOUNS: Final = frozenset(
    [
        "choice",
        "parity",
        "answer",
        "move",
        "data",
        "option",
        "action",
        "result",
        "decision",
        "pick",
        "selection",
        "play",
        "response",
        "output",
        "value",
        "cell",
        "square",
        "position",
        "column",
        "bid",
        "card",
        "guess",
        "chosen",
        "selected",
    ]
)
_BESIDE_NOUNS: Final = frozenset(
    [
        "my",
        "your",
        "final",
        "best",
        "the",
        "next",
        "player",
        "arguments",
        "args",
        "input",
        "parameters",
        "content",
        "body",
        "json",
    ]
)
"""The words of the names of fields that may hold a choice. `opponent_move` has another word, and holds none."""


class ReplyReading(NamedTuple):
    """The option that an answer names, and the rule by which it does."""

    option: str
    rule: str


class _Mark(NamedTuple):
    """A marked answer. Without an option, it is something else, or was taken back."""

    rule: str
    option: str | None


def read_answer(text: str, options: Sequence[str]) -> str | None:
    """Return the option that an answer names; None if that is unclear."""
    reading = reading_of(text, options)
    return None if reading is None else reading.option


def reading_of(text: str, options: Sequence[str], *, is_cut: bool = False) -> ReplyReading | None:
    """Return how an answer is read; None if it is unclear. One that was cut off might have gone on differently."""
    answer = _REST_OF_THOUGHTS.sub("", _THOUGHTS.sub("", text))
    answer = _FENCE.sub("", answer).strip(_BLANKS)
    if "\n" not in answer and not is_cut:
        option = option_in(answer, options)
        if option is not None:
            return ReplyReading(option, BARE)
    marks = list(_Reader(answer.translate(_HALF_WIDTH), options, is_cut).marks())
    # Two answers are none.
    if len({mark.option for mark in marks}) != 1 or marks[0].option is None:
        return None
    return ReplyReading(marks[0].option, marks[0].rule)


# --- options ----------------------------------------------------------------------------------------------------------


def option_in(text: str, options: Sequence[str]) -> str | None:
    """Return the option that this text is, with marks and a full stop around it; None if it is anything else."""
    forms = [text]
    while (form := _unwrapped(forms[-1])) != forms[-1]:
        forms.append(form)
    for form in forms:
        if form in options:
            return form
    for form in forms:
        words = _folded(form).split()
        same = [option for option in options if words and _folded(option).split() == words]
        if same:
            return same[0] if len(same) == 1 else None
    return None


def mentions(text: str, option: str) -> bool:
    """True if an option is among the words of a text."""
    return re.search(rf"(?<!\w){re.escape(_folded(option))}(?!\w)", _folded(text)) is not None


def _folded(text: str) -> str:
    return text.translate(_HALF_WIDTH).casefold()


def _unwrapped(text: str) -> str:
    """Take one layer off a text: blanks, a pair of marks, or a full stop."""
    form = text.strip(_BLANKS).translate(_HALF_WIDTH)
    for pair in _PAIRS:
        begin = pair[: len(pair) // 2]
        end = pair[len(pair) // 2 :]
        if len(form) > len(pair) and form.startswith(begin) and form.endswith(end):
            return form[len(begin) : -len(end)]
    if form == text:
        return form.rstrip(_FULL_STOPS)
    return form


# --- marks ------------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Reader:
    """Looks for the marked answers in a text."""

    text: str
    options: Sequence[str]
    is_cut: bool

    def marks(self) -> Iterator[_Mark]:
        yield from self._json()
        for rule, pattern in ((TAG, _TAGGED), (BOXED, _BOXED)):
            for match in pattern.finditer(self.text):
                is_whole = rule == BOXED or match[0].endswith(">") or not self.is_cut
                if is_whole and not _DOUBTS.search(self._before(match.start())):
                    held = _LATEX.sub(r"\1", match["held"].strip())
                    yield self._mark(rule, option_in(held, self.options), match.end())
        if not self.is_cut:
            yield from self._lines()

    def _json(self) -> Iterator[_Mark]:
        decoder = json.JSONDecoder(object_pairs_hook=_Fields)
        end = 0
        while (begin := self.text.find("{", end)) >= 0:
            try:
                value, end = decoder.raw_decode(self.text, begin)
            except (ValueError, RecursionError):
                end = begin + 1
                continue
            if _DOUBTS.search(self._before(begin)):
                continue
            for leaf in _choices(value):
                option = option_in(leaf, self.options)
                if option is not None:
                    yield self._mark(JSON, option, end)

    def _lines(self) -> Iterator[_Mark]:
        """Yield labels, bold type, and lines that are nothing but an option."""
        lines = [match for match in re.finditer(r"[^\n]+", self.text) if match[0].strip(_BLANKS)]
        alone = set()
        for place, line in enumerate(lines):
            is_outer = place in (0, len(lines) - 1)
            yield from self._labels(line, is_outer or place == len(lines) - 2)
            yield from self._bold(line)
            option = option_in(line[0], self.options)
            if option is not None:
                alone.add(option)
        if len(alone) > 1:
            yield _Mark(LAST_LINE, None)
        last = option_in(lines[-1][0], self.options) if lines else None
        if last is not None and self._stands_alone(lines[-1].start()):
            yield _Mark(LAST_LINE, last)

    def _labels(self, line: re.Match[str], is_outer: bool) -> Iterator[_Mark]:
        start = len(line[0]) - len(line[0].lstrip(_DECORATION))
        places = [start, *(found.end() for found in re.finditer(r"[.!?…] +(?=\S)", line[0]))]
        for place in places:
            label = _LABEL.match(line[0], place)
            # A line such as "Choice: even" in the middle may be about an earlier match.
            if label is None or not (label["final"] or (is_outer and place == start)):
                continue
            if place == start and _DOUBTS.search(self._before(line.start())):
                continue
            begin = line.start() + label.end()
            rest = self.text[begin : line.end()]
            if not rest.strip(_DECORATION):
                rest = self.text[begin:].lstrip(_DECORATION).partition("\n")[0]
                begin = self.text.index(rest, begin) if rest else begin
            named = _leading_option(rest, self.options)
            if named is not None:
                yield self._mark(LABEL, named[0], begin + named[1])
            elif label["final"]:
                yield _Mark(LABEL, None)

    def _bold(self, line: re.Match[str]) -> Iterator[_Mark]:
        for bold in _BOLD.finditer(line[0]):
            option = option_in(bold["held"], self.options)
            if option is None:
                continue
            words = _SENTENCES.split(line[0][: bold.start()])[-1].strip(_DECORATION)
            is_line = option_in(line[0], self.options) is not None and self._stands_alone(line.start())
            is_declared = _DECLARES.search(words) is not None and not _DOUBTS.search(words)
            if is_line or is_declared:
                yield self._mark(BOLD, option, line.start() + bold.end())

    def _mark(self, rule: str, option: str | None, end: int) -> _Mark:
        """Return a mark, without its option if the words after it take that back."""
        words = self.text[end:]
        if option is None or _RETRACTS.search(words):
            return _Mark(rule, None)
        for other in self.options:
            if other != option and mentions(words, other):
                naming = [sentence for sentence in _SENTENCES.split(words) if mentions(sentence, other)]
                if not all(_EXPLAINS.match(sentence) for sentence in naming):
                    return _Mark(rule, None)
        return _Mark(rule, option)

    def _before(self, place: int) -> str:
        """Return the sentence that a mark ends: in its line, or in the line above if that has not come to its end."""
        above, _, words = self.text[:place].rpartition("\n")
        if words.strip(f"{_DECORATION}$\\[("):
            return _SENTENCES.split(words)[-1]
        line = above.rstrip(_BLANKS).rpartition("\n")[2].rstrip(_DECORATION)
        if line.endswith(_ENDS):
            return ""
        # A paragraph ends without a sign, too.
        is_apart = "\n" in above[len(above.rstrip(_BLANKS)) :]
        return "" if is_apart and not line.endswith((":", ",")) else _SENTENCES.split(line)[-1]

    def _stands_alone(self, place: int) -> bool:
        """True if a line does not go on with a sentence, unless with one that announces the choice."""
        words = self._before(place).strip(_DECORATION)
        if not words:
            return True
        is_announced = _DECLARES.search(words.rstrip(":")) or _LABEL.fullmatch(words)
        return is_announced is not None and not _DOUBTS.search(words)


def _leading_option(text: str, options: Sequence[str]) -> tuple[str, int] | None:
    """Return the option with which a text begins before it explains itself, and where that ends."""
    for end in (len(text), *(found.start() for found in _BREAK.finditer(text))):
        for part in (text[:end], text[:end].strip(_DECORATION)):
            option = option_in(part, options)
            if option is not None:
                return option, end
    return None


class _Fields(list[tuple[str, Any]]):
    """The fields of an object. One name may come twice, with two values."""


def _choices(value: Any) -> Iterator[str]:
    """Yield the values of fields whose names say that they hold a choice (Any: JSON)."""
    if isinstance(value, list) and not isinstance(value, _Fields):
        for item in value:
            if isinstance(item, _Fields):
                yield from _choices(item)
        return
    for name, held in value:
        words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).casefold().replace("-", "_").replace(" ", "_").split("_")
        if not set(words) <= _NOUNS | _BESIDE_NOUNS:
            continue
        if isinstance(held, list):
            yield from _choices(held)
        elif not _NOUNS.isdisjoint(words) and type(held) in (str, int):
            yield str(held)
