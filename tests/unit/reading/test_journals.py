"""Whose journal it is: one rule for every report, whatever the agents are called."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from league import events as e
from league.features.audit.journal_evidence import evidence_in, read_league
from league.features.records.match_facts import MatchFacts, facts_of
from league.machine import Entry
from league.protocol.message.exchanges import Role
from league.reading.journals import read_journals, role_of
from league.storage.files.sqlite import SqliteJournal
from league.storage.notices import JournalError
from tests.support import player_rig
from tests.support.old_journals import OLD_FORMATS, unpack
from tests.support.referee_rig import ME, Rig
from tests.support.stories import around


def enrolled(agent_id: str) -> e.Registered:
    return e.Registered(at=1.0, agent_id=agent_id, league_id="spring", serial=1, derived_tokens=True)


def game_ended(match_id: str = "R1M1") -> e.Event:
    return next(event for event in players_events() if isinstance(event, e.GameEnded) and event.match_id == match_id)


def players_events() -> Sequence[e.Event]:
    rig = player_rig.Rig().enrolled()
    rig.say(rig.invitation("R1M1"))
    rig.choose(rig.post(rig.call("R1M1"))[1], "even")
    rig.say(rig.over("R1M1"))
    return rig.journal


def written(path: Path, events: Sequence[e.Event], role: str | None = None) -> Path:
    with SqliteJournal(path, lambda _: None, identity={"role": role} if role else None) as journal:
        journal.append(Entry(tuple(events)))
    return path


@pytest.mark.parametrize(
    ("agent_id", "stated", "role"),
    [
        ("REF01", "referee", Role.REFEREE),
        ("R7", "referee", Role.REFEREE),
        ("P01", "player", Role.PLAYER),
        ("REFLEX", "player", Role.PLAYER),
        ("REF01", None, None),
        ("P01", None, None),
    ],
)
def test_an_agent_without_matches_is_what_its_file_says(agent_id: str, stated: str | None, role: Role | None) -> None:
    assert role_of([enrolled(agent_id)], stated) is role


def test_a_file_that_says_nothing_is_told_by_what_only_one_role_writes() -> None:
    assert role_of(Rig().given().plays().journal) is Role.REFEREE
    assert role_of(players_events()) is Role.PLAYER
    assert role_of([enrolled("REF01"), game_ended()]) is Role.PLAYER


def test_a_managers_journal_begins_with_its_league_whatever_the_file_says() -> None:
    assert role_of(around(Rig().given().plays()), "player") is Role.MANAGER
    assert role_of([]) is None


def test_explanations_and_promises_see_the_same_journals(tmp_path: Path) -> None:
    rig = Rig().given().plays()
    written(tmp_path / "journal.db", around(rig))
    written(tmp_path / "a.db", rig.journal, "referee")
    written(tmp_path / "b.db", [enrolled("R7")], "referee")
    written(tmp_path / "c.db", [enrolled("REFLEX")], "player")
    seen = evidence_in(read_league(str(tmp_path)))
    assert set(seen.referees) == {ME, "R7"}
    assert set(seen.players) == {"REFLEX"}
    read = read_journals(str(tmp_path))
    assert set(read.referees) == {ME, "R7"}
    assert list(seen.manager) == list(read.manager)


def test_a_referee_without_matches_alone_explains_nothing(tmp_path: Path) -> None:
    path = written(tmp_path / "referee.db", [enrolled("REF01")], "referee")
    with pytest.raises(JournalError, match="nor that of a referee with matches"):
        read_journals(str(path))


def test_a_folder_with_two_leagues_is_refused_by_both(tmp_path: Path) -> None:
    for name in ("one.db", "two.db"):
        written(tmp_path / name, around(Rig().given().plays()))
    for read in (read_league, read_journals):
        with pytest.raises(JournalError, match="more than one league"):
            read(str(tmp_path))


@pytest.mark.parametrize(
    ("number", "league"),
    [
        *((number, league) for number in OLD_FORMATS for league in ("finished", "unfinished")),
        *((4, league) for league in ("addresses", "orders", "outages")),
    ],
)
def test_a_match_looks_the_same_whether_all_events_are_read_or_only_what_is_about_it(
    number: int, league: str, tmp_path: Path
) -> None:
    folder = str(unpack(number, league, tmp_path))
    whole = read_journals(folder)
    match_ids = [pairing.match_id for pairings in schedule_in(whole.manager).rounds for pairing in pairings]
    for match_id in match_ids:
        read = read_journals(folder, match_id)
        assert len(read.manager) < len(whole.manager)
        facts, of_whole = facts_of(match_id, read), facts_of(match_id, whole)
        assert facts is not None
        assert of_whole is not None
        assert told(facts) == told(of_whole)


def schedule_in(manager: Sequence[e.Event]) -> e.ScheduleMade:
    return next(event for event in manager if isinstance(event, e.ScheduleMade))


def told(facts: MatchFacts) -> MatchFacts:
    """The facts with the letters of this match alone."""
    records = {
        referee: replace(record, letters={facts.match_id: record.letters.get(facts.match_id, ())})
        for referee, record in facts.records.items()
    }
    return replace(facts, records=records)
