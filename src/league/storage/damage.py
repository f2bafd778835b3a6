"""The sentence about a damaged journal. It is the same for every kind of journal."""

from __future__ import annotations

import re

from league.storage.notices import UnfitEventError
from league.version import __version__


def sentence(journal: object, why: object, sound: int, written_by: str = "") -> str:
    """Say what is wrong with a journal, how much of it is sound, and what to do.

    `written_by` is the version that opened it last to write it. A later one may know events that this one does not.
    """
    if is_later(written_by):
        return f"{journal} was written by version {written_by}, and this version, {__version__}, cannot read it: {why}"
    advice = "to go on, put a copy made by 'league backup' in its place"
    if not sound:
        return f"{journal} is damaged: {why}; none of its events can be read; {advice}"
    return (
        f"{journal} is damaged: {why}; its events 1 to {sound} can be read; "
        f"'league replay {journal} --until {sound}' shows the league as it was then; {advice}"
    )


def is_later(version: str) -> bool:
    """True if a version is later than this one."""
    return _numbers(version) > _numbers(__version__)


def _numbers(version: str) -> list[int]:
    return [int(number) for number in re.findall("[0-9]+", version)]


def unfit(journal: object, error: UnfitEventError) -> str:
    """Say that an event cannot have happened after those before it."""
    return sentence(journal, error, error.seq - 1)
