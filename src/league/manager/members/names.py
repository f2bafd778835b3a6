"""When two names look the same to their readers, and which names nobody may have (T-07).

Nobody has the name of a sender of the protocol. Names that look like an id, like another name, or like those who run a
league are refused in `strict`. In `compat` they are taken, recorded, and shown with the id in front where they could be
taken for somebody else.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Final

from league.events import AgentRole
from league.protocol.message.fields import JOINERS, NAME_MAX

_JOINERS: Final = re.compile(f"[{JOINERS}]")
_SEPARATORS: Final = re.compile(r"[\s_.-]+")
_IDS: Final = re.compile(r"(?:p|ref|a|r[0-9]+m)[0-9]+|(?:p|ref)(?=[ol]?[0-9])[0-9ol]{2}")
"""The ids of players, referees, applicants and matches; and "PO1", which reads like one."""
_SENDERS: Final = ("league_manager:", "referee:", "player:")
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


def is_sender(name: str) -> bool:
    """True for a name that stands for a sender of the protocol."""
    word = folded(name)
    return word == "league_manager" or word.startswith(_SENDERS)


def id_in(name: str) -> str:
    """Return the id that a name reads as, in the form of our ids; an empty text if it does not look like one."""
    text = "".join(map(_in_an_id, folded(name)))
    if not _IDS.fullmatch(text):
        return ""
    # PO1 reads as P01, and Pl2 as P12.
    letters = text.rstrip("0123456789ol")
    digits = text[len(letters) :].replace("o", "0").replace("l", "1")
    return f"{letters.upper()}{int(digits):02d}"


def numbered(name: str, number: int) -> str:
    """Return a name with a number, within the length of names."""
    suffix = f" {number}"
    return name.strip()[: NAME_MAX - len(suffix)].rstrip() + suffix


def objection(role: AgentRole, name: str) -> str | None:
    """Return why a strict league does not take this name, or None if it is fine."""
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
    table = (files("league.manager.members") / "confusables.txt").read_text("utf-8")
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
