"""The tables of the protocol as Markdown: what the specification and the reference both show."""

from __future__ import annotations

from collections.abc import Iterable

from league.protocol.errors import ErrorRow, Family
from league.protocol.message.exchanges import RetrySchedule, Role

ROLE_WORDS = {Role.MANAGER: "manager", Role.REFEREE: "referee", Role.PLAYER: "player"}


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A Markdown table."""
    names = list(head)
    lines = [names, ["---"] * len(names), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def people(roles: Iterable[Role]) -> str:
    """Who, in words."""
    return " and ".join(ROLE_WORDS[role] for role in roles)


def retry_words(retries: RetrySchedule) -> str:
    first = f"{len(retries.delays_s)} times, {retries.delays_s[0]:g} s apart" if retries.delays_s else ""
    if retries.refused_only:
        return f"{first}, only if the connection was refused"
    if not retries.then_every_s:
        return first or "never"
    pauses = ", ".join(f"{pause:g}" for pause in retries.then_every_s)
    return f"{first}{', then ' if first else ''}after {pauses} s, and every {retries.then_every_s[-1]:g} s from then on"


def number_list(row: ErrorRow) -> str:
    """The JSON-RPC numbers of an error; `f` stands for its family."""
    if isinstance(row.numbers, int):
        return str(row.numbers)
    listed = [str(number) for number in row.numbers.values()]
    rest = row.suffix is not None and len(listed) < len(Family)
    if rest:
        listed.append(f"else f{row.suffix:03}" if listed else f"f{row.suffix:03}")
    return ", ".join(listed)
