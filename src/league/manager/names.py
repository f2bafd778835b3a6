"""When two names are the same to whoever reads them, and which names are nobody's (S-31)."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from league.events import AgentRole
from league.manager.confusables import PROTOTYPES
from league.protocol.fields import JOINERS

_JOINERS: Final = re.compile(f"[{JOINERS}]")
_SEPARATORS: Final = re.compile(r"[\s_.-]+")
_IDS: Final = re.compile(r"(?:p|ref|a|r[0-9]+m)[0-9]+|(?:p|ref)(?=[ol]?[0-9])[0-9ol]{2}")
"""The ids of players, referees, applicants and matches; and "PO1", which reads like one."""


def folded(name: str) -> str:
    """A name as it is looked up (R-20): NFKC, case folded, single blanks."""
    return _plain(name).casefold()


def skeletons(name: str) -> tuple[str, ...]:
    """Names that share one of these look alike (UTS #39, section 4). There are two: of the name as it is, where I looks
    like l, and of the name in lower case."""
    plain = _plain(name)
    return tuple(dict.fromkeys((_skeleton(plain.casefold()).casefold(), _skeleton(plain).casefold())))


def reserved(role: AgentRole, name: str) -> str | None:
    """Why nobody may be called so, if that is so."""
    words = _RESERVED if role == "referee" else _RESERVED | _ROLES
    if any(one in words for one in skeletons(_SEPARATORS.sub("", name))):
        return "it stands for those who run a league"
    return "it looks like an id" if _IDS.fullmatch("".join(map(_in_an_id, folded(name)))) else None


def _plain(name: str) -> str:
    return " ".join(_JOINERS.sub("", unicodedata.normalize("NFKC", name)).split())


def _skeleton(text: str) -> str:
    mapped = unicodedata.normalize("NFD", text).translate(PROTOTYPES)
    return unicodedata.normalize("NFD", mapped)


def _in_an_id(char: str) -> str:
    """What it reads as in an id: the digits of all scripts are digits. (The prototype of m is rn.)"""
    digit = unicodedata.decimal(char, None)
    if digit is not None:
        return str(digit)
    return char if char == "m" else _skeleton(char).casefold()


_ROLES: Final = frozenset({_skeleton("referee")})
_RESERVED: Final = frozenset(
    map(_skeleton, ("league", "leaguemanager", "manager", "admin", "administrator", "operator", "system"))
)
