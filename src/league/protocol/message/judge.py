"""Why a message is wrong: a walk along its message class that collects *all* violated clauses.

Theory of operation. A field is described in one place, its message class. From the class this module builds, once, two
things. For the slow way: a walk per field (`specs`, `check`), which follows the parsed object and reports every
violation with its place. For the quick way: a short list of tests (`quick`) for the rules that msgspec does not know;
they run on converted messages, and only say whether anything is wrong.

Both are built from the same annotations, so a message passes the tests exactly if the walk finds nothing. `envelope`
runs the walk only when the tests or the conversion failed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache, partial
from operator import attrgetter, is_not, ne
from typing import Any, NamedTuple

from msgspec import Struct, structs
from msgspec import inspect as ms

from league.protocol.errors import Stage, Violation
from league.protocol.message.fields import RULES, Rule
from league.protocol.message.messages import Message

ENVELOPE = ("protocol", "message_type", "sender", "timestamp", "conversation_id")
_JSON_NAMES = {
    type(None): "null",
    str: "a string",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    list: "an array",
    dict: "an object",
}


def json_name(value: object) -> str:
    """What JSON calls this value."""
    return _JSON_NAMES.get(type(value), type(value).__name__)


def shown(value: object) -> str:
    """A value as its author wrote it, if it is a single word or number."""
    if isinstance(value, dict | list):
        return json_name(value)
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    return repr(value)


class Place(Struct, frozen=True):
    """A place in a message: the path for people, and the clause for the requirement (without indices and keys)."""

    path: str
    clause: str
    stage: Stage = Stage.FIELDS

    def item(self, index: int) -> Place:
        return Place(f"{self.path}[{index}]", f"{self.clause}[]", self.stage)

    def key(self, name: str) -> Place:
        return Place(f"{self.path}.{name}", f"{self.clause}.*", self.stage)

    def member(self, name: str) -> Place:
        return Place(f"{self.path}.{name}", f"{self.clause}.{name}", self.stage)

    def violation(
        self,
        code: str,
        detail: str,
        lenient: bool = False,
        expected: str = "",
    ) -> Violation:
        return Violation(
            code,
            self.path,
            detail,
            requirement=self.clause,
            stage=self.stage,
            lenient=lenient,
            expected=expected,
        )


Report = list[Violation]
Walk = Callable[[object, Place, Report], None]
"""Judges a value at a place, and appends what it finds to the report."""


class FieldSpec(Struct, frozen=True):
    """One field of a class, as the walk, the schemas and the documentation see it."""

    name: str
    type: ms.Type
    required: bool
    needed: bool
    said: bool
    nullable: bool
    code: str | None
    rule: str | None
    walk: Walk


class Peeled(NamedTuple):
    """A field's bare type, its annotations (rule, code, said, needed), and whether it may be null."""

    bare: ms.Type
    extra: dict[str, Any]
    nullable: bool


def peel(info: ms.Type) -> Peeled:
    """Take annotations and `| None` off a type."""
    extra: dict[str, Any] = {}
    nullable = False
    while True:
        if isinstance(info, ms.Metadata):
            extra = {**extra, **(info.extra or {})}
            info = info.type
        elif isinstance(info, ms.UnionType):
            inner = [option for option in info.types if not isinstance(option, ms.NoneType)]
            nullable = nullable or len(inner) < len(info.types)
            # No field of the protocol may have one of two types.
            (info,) = inner
        else:
            return Peeled(info, extra, nullable)


# --- the walk ---------------------------------------------------------------------------------------------------------


def _wrong_type(expected: str) -> Walk:
    def walk(value: object, place: Place, report: Report) -> None:
        report.append(place.violation("E007", f"must be {expected}, not {json_name(value)}", expected=expected))

    return walk


def _string(info: ms.StrType, rule: Rule | None) -> Walk:
    wrong_type = _wrong_type("a string")

    def walk(value: object, place: Place, report: Report) -> None:
        if not isinstance(value, str):
            wrong_type(value, place, report)
        elif info.min_length is not None and len(value) < info.min_length:
            report.append(place.violation("E008", "must not be empty", expected="a non-empty string"))
        elif rule is not None:
            finding = rule(value)
            if finding is not None:
                report.append(place.violation(*finding))

    return walk


def _number(info: ms.IntType | ms.FloatType) -> Walk:
    is_whole = isinstance(info, ms.IntType)
    wrong_type = _wrong_type(_JSON_NAMES[int if is_whole else float])
    low = info.ge
    high = info.le
    bounds = f"at least {low}" if high is None else f"from {low} to {high}"

    def walk(value: object, place: Place, report: Report) -> None:
        # To Python, True is a whole number.
        if isinstance(value, bool) or not isinstance(value, int | float) or (is_whole and isinstance(value, float)):
            wrong_type(value, place, report)
        elif low is not None and value < low:
            report.append(place.violation("E008", f"must be at least {low}, not {value}", expected=bounds))
        elif high is not None and value > high:
            report.append(place.violation("E008", f"must be at most {high}, not {value}", expected=bounds))

    return walk


def _literal(info: ms.LiteralType) -> Walk:
    wrong_type = _wrong_type("a string")
    quoted = ", ".join(f'"{option}"' for option in info.values)
    plain = ", ".join(map(str, info.values))

    def walk(value: object, place: Place, report: Report) -> None:
        if not isinstance(value, str):
            wrong_type(value, place, report)
        elif value not in info.values:
            # Another protocol has an error code of its own.
            code = "E018" if place.clause == "ENVELOPE.protocol" else "E008"
            report.append(place.violation(code, f"must be exactly {quoted}, not {value!r}", expected=plain))

    return walk


def _array(info: ms.ListType) -> Walk:
    wrong_type = _wrong_type("an array")
    inner = _walk(info.item_type)

    def walk(value: object, place: Place, report: Report) -> None:
        if not isinstance(value, list):
            wrong_type(value, place, report)
            return
        if len(value) < (info.min_length or 0):
            minimum = f"at least {info.min_length} element"
            report.append(place.violation("E008", f"needs {minimum}", expected=minimum))
        for index, element in enumerate(value):
            _present(inner, element, place.item(index), report)

    return walk


def _mapping(info: ms.DictType) -> Walk:
    wrong_type = _wrong_type("an object")
    inner = _walk(info.value_type)

    def walk(value: object, place: Place, report: Report) -> None:
        if not isinstance(value, dict):
            wrong_type(value, place, report)
            return
        for name, member in value.items():
            _present(inner, member, place.key(name), report)

    return walk


def _present(inner: Walk, value: object, place: Place, report: Report) -> None:
    """Judge an element of an array or a value of a map, which must not be null unless anything is allowed there."""
    if value is None and inner is not _anything:
        report.append(place.violation("E003", "must not be null"))
    else:
        inner(value, place, report)


def _struct(info: ms.StructType) -> Walk:
    wrong_type = _wrong_type("an object")
    specs = tuple(map(_spec, info.fields))

    def walk(value: object, place: Place, report: Report) -> None:
        if not isinstance(value, dict):
            wrong_type(value, place, report)
            return
        for spec in specs:
            check(spec, value, place.member(spec.name), report)

    return walk


def _boolean(_info: ms.BoolType) -> Walk:
    wrong_type = _wrong_type("true or false")

    def walk(value: object, place: Place, report: Report) -> None:
        if not isinstance(value, bool):
            wrong_type(value, place, report)

    return walk


def _anything(value: object, place: Place, report: Report) -> None:
    """A place where the protocol allows anything."""


def _walk(info: ms.Type) -> Walk:
    peeled = peel(info)
    if isinstance(peeled.bare, ms.StrType):
        return _string(peeled.bare, RULES.get(peeled.extra.get("rule", "")))
    build = _BUILDERS.get(type(peeled.bare))
    if build is None:
        return _anything
    return build(peeled.bare)


_BUILDERS: Mapping[type[ms.Type], Callable[[Any], Walk]] = {
    ms.IntType: _number,
    ms.FloatType: _number,
    ms.BoolType: _boolean,
    ms.LiteralType: _literal,
    ms.ListType: _array,
    ms.DictType: _mapping,
    ms.StructType: _struct,
}


def _spec(info: ms.Field) -> FieldSpec:
    bare, extra, nullable = peel(info.type)
    return FieldSpec(
        name=info.encode_name,
        type=bare,
        required=info.required,
        needed=extra.get("needed", False),
        said=info.required or extra.get("said", False),
        nullable=nullable,
        code=extra.get("code"),
        rule=extra.get("rule"),
        walk=_walk(info.type),
    )


def check(
    spec: FieldSpec,
    parent: Mapping[str, object],
    place: Place,
    report: Report,
) -> None:
    """Judge one field of one object: E003 before E007 before E004, E008 and E021."""
    value = parent.get(spec.name)
    absent = spec.name not in parent
    if value is None and (absent or spec.code is None):
        if spec.needed or (spec.required and (absent or not spec.nullable)):
            problem = "is missing" if absent else "must not be null"
            report.append(place.violation("E003", f"{spec.name} {problem}", lenient=spec.needed))
        return
    before = len(report)
    spec.walk(value, place, report)
    if spec.rule in ("reply_timestamp", "reply_sender"):
        # A reply never fails because of its time or its sender, whatever stands there: we called its address.
        report[before:] = [structs.replace(violation, lenient=True) for violation in report[before:]]
    if spec.code is not None and len(report) > before:
        # One error with the field's own code takes the place of all others.
        first = report[before]
        detail = f"{shown(value)} is not a choice here; {first.detail}"
        report[before:] = [place.violation(spec.code, detail, expected=first.expected)]


@cache
def specs(cls: type) -> tuple[FieldSpec, ...]:
    """The fields of a message class or of an object inside one, in the order of its table."""
    info = ms.type_info(cls)
    assert isinstance(info, ms.StructType)
    return tuple(map(_spec, info.fields))


def place_of(message_type: str, name: str) -> Place:
    """The place of a top-level field; the envelope's fields have clauses and stages of their own."""
    if name == "auth_token":
        return Place(name, "ENVELOPE.auth_token", Stage.AUTHORITY)
    if name in ENVELOPE:
        return Place(name, f"ENVELOPE.{name}", Stage.ENVELOPE)
    return Place(name, f"{message_type}.{name}")


# --- the quick way: tests of converted messages by the rules msgspec does not know ------------------------------------

Test = Callable[[Any], bool]
Check = tuple[Callable[[Any], Any], Test]
"""A getter of a value in a message, and the test that the value must pass."""
# Bounds of the memory below: the length of a text, and the number of texts.
LONG = 200
KEPT = 1024


class Remembered(dict[Any, bool]):
    """A test of texts that remembers its verdicts: names, addresses and times recur in every row and every message.

    Long texts are not remembered. Values that are not texts, such as None and UNSET, pass.
    """

    __slots__ = ("_is_right",)

    def __init__(self, is_right: Callable[[str], bool]) -> None:
        self._is_right = is_right

    def __missing__(self, text: Any) -> bool:
        is_text = isinstance(text, str)
        verdict = not is_text or self._is_right(text)
        if len(self) >= KEPT:
            # Simpler than forgetting the oldest, and it happens rarely.
            self.clear()
        if not is_text or len(text) <= LONG:
            self[text] = verdict
        return verdict


@cache
def quick(cls: type[Message]) -> tuple[Check, ...]:
    """The tests of a converted message; if one fails, the walk finds out why."""
    info = ms.type_info(cls)
    assert isinstance(info, ms.StructType)
    return _checks(info)


def _checks(info: ms.StructType) -> tuple[Check, ...]:
    checks: list[Check] = []
    needed: list[str] = []
    for struct_field in info.fields:
        test = _test(struct_field.type)
        if test is not None:
            checks.append((attrgetter(struct_field.name), test))
        if peel(struct_field.type).extra.get("needed", False):
            needed.append(struct_field.name)
    if len(needed) == 1:
        checks.insert(0, (attrgetter(*needed), partial(is_not, None)))
    elif needed:
        checks.insert(0, (attrgetter(*needed), _has_no_gap))
    return tuple(checks)


def _has_no_gap(values: tuple[object, ...]) -> bool:
    """True if no field is missing: one look at all of them."""
    return None not in values


@cache
def _remembered(rule: str) -> Test:
    if rule == "token":
        # Tokens change too often to be remembered, and only an empty one is wrong.
        return partial(ne, "")
    return Remembered(lambda text: RULES[rule](text) is None).__getitem__


def _all_of(checks: tuple[Check, ...]) -> Test:
    def are_right(value: Any) -> bool:
        if value:  # neither None nor UNSET
            for get, is_right in checks:
                if not is_right(get(value)):
                    return False
        return True

    return are_right


def _test(info: ms.Type) -> Test | None:
    """The test of values of this type; None if there is no rule about them."""
    bare, extra, _ = peel(info)
    if "rule" in extra:
        return _remembered(extra["rule"])
    if isinstance(bare, ms.StructType) and (checks := _checks(bare)):
        return _all_of(checks)
    if isinstance(bare, ms.ListType) and (inner := _test(bare.item_type)) is not None:
        return lambda items: not items or all(map(inner, items))
    return None
