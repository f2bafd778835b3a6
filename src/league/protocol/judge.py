"""Why a message is wrong: walks a parsed object along its message class and collects *all* violated clauses.

Built once per class from the class itself, so that a field is described in exactly one place. `quick` are the quick
checks of the rules msgspec does not know; only when they or the conversion fail does anybody pay for the walk.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, partial
from operator import attrgetter, is_not, ne
from typing import Any

from msgspec import inspect as ms

from league.protocol.errors import Stage, Violation
from league.protocol.fields import RULES, Rule
from league.protocol.messages import Message

ENVELOPE = ("protocol", "message_type", "sender", "timestamp", "conversation_id")
_JSON_NAMES = {
    str: "a string",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    list: "an array",
    dict: "an object",
}


def json_name(value: object) -> str:
    """What JSON calls this value."""
    return "null" if value is None else _JSON_NAMES.get(type(value), type(value).__name__)


def shown(value: object) -> str:
    """A value as its author wrote it, where that is one word."""
    if isinstance(value, dict | list):
        return json_name(value)
    return json.dumps(value) if value is None or isinstance(value, bool) else repr(value)


@dataclass(frozen=True, slots=True)
class Place:
    """Where we are: the path for people, the clause for the requirement (indices and keys left out)."""

    path: str
    clause: str
    stage: Stage = Stage.FIELDS

    def item(self, index: int) -> Place:
        return Place(f"{self.path}[{index}]", f"{self.clause}[]", self.stage)

    def key(self, name: str) -> Place:
        return Place(f"{self.path}.{name}", f"{self.clause}.*", self.stage)

    def member(self, name: str) -> Place:
        return Place(f"{self.path}.{name}", f"{self.clause}.{name}", self.stage)

    def violation(self, code: str, detail: str, lenient: bool = False, expected: str = "") -> Violation:
        return Violation(code, self.path, detail, self.clause, self.stage, lenient, expected)


Report = list[Violation]
Walk = Callable[[object, Place, Report], None]


@dataclass(frozen=True, slots=True)
class FieldSpec:
    """One field of a class, as the walk, the schemas and the documentation see it."""

    name: str
    type: ms.Type
    required: bool
    needed: bool
    said: bool
    nullable: bool
    code: str | None
    rule: str | None
    walk: Walk = field(repr=False)


def peel(info: ms.Type) -> tuple[ms.Type, dict[str, Any], bool]:
    """A field's bare type, what its annotations say (rule, code, said, needed), and whether null is allowed."""
    extra: dict[str, Any] = {}
    nullable = False
    while True:
        if isinstance(info, ms.Metadata):
            extra = {**extra, **(info.extra or {})}
            info = info.type
        elif isinstance(info, ms.UnionType):
            nullable = nullable or any(isinstance(one, ms.NoneType) for one in info.types)
            (info,) = (one for one in info.types if not isinstance(one, ms.NoneType))
        else:
            return info, extra, nullable


def _wrong_type(wanted: str) -> Walk:
    def walk(value: object, place: Place, report: Report) -> None:
        report.append(place.violation("E007", f"must be {wanted}, not {json_name(value)}", expected=wanted))

    return walk


def _string(info: ms.StrType, rule: Rule | None) -> Walk:
    wrong = _wrong_type("a string")

    def walk(value: object, place: Place, report: Report) -> None:
        if not isinstance(value, str):
            wrong(value, place, report)
        elif info.min_length is not None and len(value) < info.min_length:
            report.append(place.violation("E008", "must not be empty", expected="a non-empty string"))
        elif rule is not None and (found := rule(value)) is not None:
            report.append(place.violation(*found))

    return walk


def _number(info: ms.IntType | ms.FloatType) -> Walk:
    whole = isinstance(info, ms.IntType)
    wrong = _wrong_type("a whole number" if whole else "a number")
    low, high = info.ge, info.le
    within = f"at least {low}" if high is None else f"from {low} to {high}"

    def walk(value: object, place: Place, report: Report) -> None:
        if isinstance(value, bool) or not isinstance(value, int if whole else (int, float)):
            wrong(value, place, report)
        elif low is not None and value < low:
            report.append(place.violation("E008", f"must be at least {low}, not {value}", expected=within))
        elif high is not None and value > high:
            report.append(place.violation("E008", f"must be at most {high}, not {value}", expected=within))

    return walk


def _literal(info: ms.LiteralType) -> Walk:
    wrong = _wrong_type("a string")
    options, words = ", ".join(f'"{value}"' for value in info.values), ", ".join(map(str, info.values))

    def walk(value: object, place: Place, report: Report) -> None:
        if not isinstance(value, str):
            wrong(value, place, report)
        elif value not in info.values:
            code = "E018" if place.clause == "ENVELOPE.protocol" else "E008"
            report.append(place.violation(code, f"must be exactly {options}, not {value!r}", expected=words))

    return walk


def _array(info: ms.ListType) -> Walk:
    wrong = _wrong_type("an array")
    inner = _walk(info.item_type)

    def walk(value: object, place: Place, report: Report) -> None:
        if not isinstance(value, list):
            wrong(value, place, report)
            return
        if len(value) < (info.min_length or 0):
            few = f"at least {info.min_length} element"
            report.append(place.violation("E008", f"needs {few}", expected=few))
        for index, one in enumerate(value):
            _present(inner, one, place.item(index), report)

    return walk


def _mapping(info: ms.DictType) -> Walk:
    wrong = _wrong_type("an object")
    inner = _walk(info.value_type)

    def walk(value: object, place: Place, report: Report) -> None:
        if not isinstance(value, dict):
            wrong(value, place, report)
            return
        for name, one in value.items():
            _present(inner, one, place.key(name), report)

    return walk


def _present(inner: Walk, value: object, place: Place, report: Report) -> None:
    """An element or a map's value: null stands for a missing one, unless anything goes."""
    if value is None and inner is not _anything:
        report.append(place.violation("E003", "must not be null"))
    else:
        inner(value, place, report)


def _struct(info: ms.StructType) -> Walk:
    wrong = _wrong_type("an object")
    specs = tuple(map(_spec, info.fields))

    def walk(value: object, place: Place, report: Report) -> None:
        if not isinstance(value, dict):
            wrong(value, place, report)
            return
        for spec in specs:
            check(spec, value, place.member(spec.name), report)

    return walk


def _anything(value: object, place: Place, report: Report) -> None:
    """A place where the protocol says nothing."""


def _walk(info: ms.Type) -> Walk:
    info, extra, _ = peel(info)
    if isinstance(info, ms.StrType):
        return _string(info, RULES.get(extra.get("rule", "")))
    build = _BUILDERS.get(type(info))
    return build(info) if build else _anything


def _wrong_unless(kind: type, wanted: str) -> Walk:
    wrong = _wrong_type(wanted)

    def walk(value: object, place: Place, report: Report) -> None:
        if not isinstance(value, kind):
            wrong(value, place, report)

    return walk


_BUILDERS: Mapping[type[ms.Type], Callable[[Any], Walk]] = {
    ms.IntType: _number,
    ms.FloatType: _number,
    ms.BoolType: lambda _: _wrong_unless(bool, "true or false"),
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


def check(spec: FieldSpec, parent: Mapping[str, object], place: Place, report: Report) -> None:
    """One field of one object: E003 before E007 before E004/E008/E021."""
    value = parent.get(spec.name)
    absent = spec.name not in parent
    if value is None and (absent or spec.code is None):
        if spec.needed or (spec.required and (absent or not spec.nullable)):
            word = "is missing" if absent else "must not be null"
            report.append(place.violation("E003", f"{spec.name} {word}", lenient=spec.needed))
        return
    before = len(report)
    spec.walk(value, place, report)
    if spec.rule == "reply_timestamp":
        # a reply never fails for its time, whatever stands there.
        report[before:] = [replace(one, lenient=True) for one in report[before:]]
    if spec.code is not None and len(report) > before:
        found = report[before]
        detail = f"{shown(value)} is not a choice here; {found.detail}"
        report[before:] = [place.violation(spec.code, detail, expected=found.expected)]


@cache
def specs(cls: type) -> tuple[FieldSpec, ...]:
    """The fields of a message class or of an object inside one, in the order of its table."""
    info = ms.type_info(cls)
    assert isinstance(info, ms.StructType)
    return tuple(map(_spec, info.fields))


def place_of(message_type: str, name: str) -> Place:
    """Where a top-level field stands; the envelope's fields answer to the envelope's clauses."""
    if name == "auth_token":
        return Place(name, "ENVELOPE.auth_token", Stage.AUTHORITY)
    if name in ENVELOPE:
        return Place(name, f"ENVELOPE.{name}", Stage.ENVELOPE)
    return Place(name, f"{message_type}.{name}")


# --- the quick way: is a converted message right by the rules msgspec does not know? ---------------------------------

Test = Callable[[Any], bool]
Check = tuple[Callable[[Any], Any], Test]
"""What of a message is looked at, and the test it must pass."""
LONG = 200
KEPT = 1024


class Remembered(dict[Any, bool]):
    """A test of texts, by its earlier verdicts: names, addresses and times come again in every row and every message.
    A text that is long is not kept; where there is none, as in None and UNSET, nothing is wrong with it."""

    __slots__ = ("_is_right",)

    def __init__(self, is_right: Callable[[str], bool]) -> None:
        self._is_right = is_right

    def __missing__(self, text: Any) -> bool:
        is_text = isinstance(text, str)
        verdict = not is_text or self._is_right(text)
        if len(self) >= KEPT:
            self.clear()
        if not is_text or len(text) <= LONG:
            self[text] = verdict
        return verdict


@cache
def quick(cls: type[Message]) -> tuple[Check, ...]:
    """The checks of an already converted message; one that fails sends it to the walk."""
    info = ms.type_info(cls)
    assert isinstance(info, ms.StructType)
    return _checks(info)


def _checks(info: ms.StructType) -> tuple[Check, ...]:
    tests = ((one.name, _test(one.type)) for one in info.fields)
    found = tuple((attrgetter(name), test) for name, test in tests if test is not None)
    needed = [one.name for one in info.fields if peel(one.type)[1].get("needed", False)]
    if not needed:
        return found
    # Several are texts, none of which may be empty.
    return ((attrgetter(*needed), all if len(needed) > 1 else partial(is_not, None)), *found)


@cache
def _remembered(rule: str) -> Test:
    # No token is empty, and none comes again for long.
    return partial(ne, "") if rule == "token" else Remembered(lambda text: RULES[rule](text) is None).__getitem__


def _all_of(checks: tuple[Check, ...]) -> Test:
    def are_right(value: Any) -> bool:
        if value:  # neither None nor UNSET
            for get, is_right in checks:
                if not is_right(get(value)):
                    return False
        return True

    return are_right


def _test(info: ms.Type) -> Test | None:
    """Is a value of this type right? None if there is no rule about it."""
    info, extra, _ = peel(info)
    if "rule" in extra:
        return _remembered(extra["rule"])
    if isinstance(info, ms.StructType) and (checks := _checks(info)):
        return _all_of(checks)
    if isinstance(info, ms.ListType) and (inner := _test(info.item_type)) is not None:
        return lambda items: not items or all(map(inner, items))
    return None
