"""When two names look the same to whoever reads them, and which names nobody may have (S-31)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Final

from league.events import AgentRole
from league.protocol.fields import JOINERS

_JOINERS: Final = re.compile(f"[{JOINERS}]")
_SEPARATORS: Final = re.compile(r"[\s_.-]+")
_IDS: Final = re.compile(r"(?:p|ref|a|r[0-9]+m)[0-9]+|(?:p|ref)(?=[ol]?[0-9])[0-9ol]{2}")
"""The ids of players, referees, applicants and matches; and "PO1", which reads like one."""
_RESERVED: Final = (
    "league",
    "leaguemanager",
    "manager",
    "admin",
    "administrator",
    "operator",
    "system",
)


def folded(name: str) -> str:
    """Return a name as it is looked up (R-20): NFKC, case folded, single blanks."""
    return _plain(name).casefold()


def skeletons(name: str) -> tuple[str, ...]:
    """Return the two skeletons of a name. Names that share one of them look alike (UTS #39, section 4).

    One is that of the name as it is, where I looks like l; the other is that of the name in lower case.
    """
    # Without duplicates and in a fixed order: the skeletons become keys of the ledger.
    plain = _plain(name)
    return tuple(
        dict.fromkeys(
            (
                _skeleton(plain.casefold()).casefold(),
                _skeleton(plain).casefold(),
            )
        )
    )


def reserved(role: AgentRole, name: str) -> str | None:
    """Return why nobody may have this name, or None if it is fine."""
    words = _reserved_skeletons(role)
    if any(skeleton in words for skeleton in skeletons(_SEPARATORS.sub("", name))):
        return "it stands for those who run a league"
    if _IDS.fullmatch("".join(map(_in_an_id, folded(name)))):
        return "it looks like an id"
    return None


@cache
def _reserved_skeletons(role: AgentRole) -> frozenset[str]:
    words = _RESERVED if role == "referee" else (*_RESERVED, "referee")
    return frozenset(map(_skeleton, words))


def _plain(name: str) -> str:
    return " ".join(_JOINERS.sub("", unicodedata.normalize("NFKC", name)).split())


def _skeleton(text: str) -> str:
    mapped = unicodedata.normalize("NFD", text).translate(_prototypes())
    return unicodedata.normalize("NFD", mapped)


@cache
def _prototypes() -> Mapping[int, str]:
    """Read which character looks like which. Processes that register nobody never need the table."""
    prototypes: dict[int, str] = {}
    table = (files("league.manager") / "confusables.txt").read_text("utf-8")
    for line in table.splitlines():
        if line.startswith("#"):
            continue
        prototype, _, lookalikes = line.partition("=")
        text = "".join(chr(int(code, 16)) for code in prototype.split())
        for code in lookalikes.split():
            prototypes[int(code, 16)] = text
    return prototypes


def _in_an_id(char: str) -> str:
    """Return what a character reads as in an id: the digits of all scripts are digits."""
    digit = unicodedata.decimal(char, None)
    if digit is not None:
        return str(digit)
    # The prototype of m is rn, which no id has.
    return char if char == "m" else _skeleton(char).casefold()
