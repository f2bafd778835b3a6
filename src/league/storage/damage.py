"""The sentence about a damaged journal. It is the same for every kind of journal."""

from __future__ import annotations

from league.storage.notices import UnfitEventError


def sentence(journal: object, why: object, sound: int) -> str:
    """Say what is wrong with a journal, how much of it is sound, and what to do."""
    advice = "to go on, put a copy made by 'league backup' in its place"
    if not sound:
        return f"{journal} is damaged: {why}; none of its events can be read; {advice}"
    return (
        f"{journal} is damaged: {why}; its events 1 to {sound} can be read; "
        f"'league replay {journal} --until {sound}' shows the league as it was then; {advice}"
    )


def unfit(journal: object, error: UnfitEventError) -> str:
    """Say that an event cannot have happened after those before it."""
    return sentence(journal, error, error.seq - 1)
