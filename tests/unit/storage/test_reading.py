"""Reading a journal, or the part of it that is about one match."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from league.storage.reading import open_for_reading
from tests.support.old_journals import unpack


def test_what_is_read_about_a_match_leaves_out_others_and_who_was_told(tmp_path: Path) -> None:
    path = unpack(4, "finished", tmp_path) / "journal.db"
    with open_for_reading(path) as journal:
        whole = Counter(type(event).__name__ for event in journal.events())
        part = Counter(type(event).__name__ for event in journal.events_about("R1M1"))
    assert whole["BulletinsDelivered"] > 1
    assert part["BulletinsDelivered"] == 0
    assert whole["ResultAccepted"] > part["ResultAccepted"] == 1
    everything_else = (
        "LeagueCreated",
        "AgentRegistered",
        "ScheduleMade",
        "RoundOpened",
        "RoundFinished",
        "LeagueFinished",
    )
    assert {kind: part[kind] for kind in everything_else} == {kind: whole[kind] for kind in everything_else}
