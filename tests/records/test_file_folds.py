"""The shared files of one agent as a fold of its journal: what `league export` makes of the same journal."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from league import events as e
from league.features.records import exports
from league.features.records.shared.file_folds import UNVERIFIED, FileFold, fold_for
from league.features.records.shared.shared_files import NO_LETTERS, write_files
from league.machine import Machine
from league.reading.journals import Journals, blank_manager
from league.storage.transcripts.transcript import LetterNote
from tests.support import player_rig
from tests.support.managed import Managed
from tests.support.referee_rig import ME, Rig
from tests.support.stories import journals_of, letters_of

MATCH = "SHARED/data/matches/spring/R1M1.json"


class Letters:
    """A transcript of one match."""

    def __init__(self, letters: Sequence[LetterNote]) -> None:
        self._letters = letters

    def letters(self, match_id: str | None = None) -> Any:
        return iter([one for one in self._letters if one.match_id == match_id])

    def remarks(self) -> Any:
        return iter(())


def written(
    machine: Machine, events: Iterable[e.Event], folder: Path, letters: Sequence[LetterNote] | None = None
) -> dict[str, Any]:
    """Every file that changed, as it is after these events."""
    fold: FileFold = fold_for(lambda: machine, folder)
    topics = {topic: None for event in events for topic in fold.apply(event)}
    transcript = None if letters is None else Letters(letters)
    files = [file for topic in topics if (file := fold.file(topic, transcript)) is not None]
    write_files(folder, files)
    return {str(name): json.loads(data) for name, data in files}


def test_a_manager_shows_what_an_export_of_its_journal_would(tmp_path: Path) -> None:
    league = Managed(players=4, referees=2).fill()
    league.play("A")
    files = written(league.manager, league.events, tmp_path)
    made = dict(exports.shared(league.manager, Journals(league.events)))
    assert len(files) == 2
    assert files == {str(place): json.loads(data) for place, data in made.items() if str(place) in files}


def test_a_match_file_is_the_referees_part_of_an_export(tmp_path: Path) -> None:
    rig = Rig().given().plays()
    mine = written(rig.desk, rig.journal, tmp_path, letters_of(rig))[MATCH]
    journals = journals_of(rig)
    created = journals.manager[0]
    assert isinstance(created, e.LeagueCreated)
    manager = blank_manager(created)
    for event in journals.manager:
        manager.apply(event)
    made = {str(place): json.loads(data) for place, data in exports.shared(manager, journals)}[MATCH]
    assert mine["transcript"] == made["transcript"]
    assert mine["lifecycle"] == [one for one in made["lifecycle"] if one["by"] == ME]
    assert mine["result"] == {**made["result"], "evidence": None}
    assert (mine["status"], mine["remarks"]) == ("COMPLETED", [UNVERIFIED])
    assert set(mine) == set(made)


def test_an_attempt_that_came_to_nothing_has_no_result(tmp_path: Path) -> None:
    rig = Rig().given().plays()
    decided = rig.decided
    dropped = e.ReportSettled(at=decided.at + 1, match_id="R1M1", attempt=1, answer="E016")
    until = [event for event in rig.journal if not isinstance(event, e.ReportSettled)]
    match = written(rig.desk, [*until, dropped], tmp_path)[MATCH]
    assert (match["status"], match["result"]) == ("DROPPED", None)
    assert NO_LETTERS in match["remarks"]


def test_who_was_superseded_leaves_the_file_of_whoever_took_over(tmp_path: Path) -> None:
    rig = Rig().given().plays()
    path = tmp_path / MATCH
    path.parent.mkdir(parents=True)
    theirs = {"attempt": 2, "referee_id": "REF02", "last_updated": "2100-01-01T00:00:00Z"}
    path.write_text(json.dumps(theirs), encoding="utf-8")
    assert written(rig.desk, rig.journal, tmp_path) == {}
    assert json.loads(path.read_bytes()) == theirs


def test_the_file_of_an_older_league_is_replaced(tmp_path: Path) -> None:
    rig = Rig().given().plays()
    path = tmp_path / MATCH
    path.parent.mkdir(parents=True)
    for old in ('{"attempt": 2, "referee_id": "REF02", "last_updated": "2001-01-01T00:00:00Z"}', "[]", "{", ""):
        path.write_text(old, encoding="utf-8")
        assert set(written(rig.desk, rig.journal, tmp_path)) == {MATCH}


def test_a_player_counts_its_own_matches_until_it_is_told_the_table(tmp_path: Path) -> None:
    rig = player_rig.Rig().enrolled()
    rig.say(rig.invitation("R1M1"))
    rig.choose(rig.post(rig.call("R1M1"))[1], "even")
    rig.say(rig.over("R1M1"))
    (counted,) = written(rig.player, rig.journal, tmp_path).values()
    (row,) = counted["matches"]
    assert (row["match_id"], row["round_id"], row["choice"]) == ("R1M1", 1, "even")
    assert counted["standing"]["rank"] is None
    assert (counted["standing"]["played"], counted["standing"]["points"]) == (1, row["points"])
    rig.say(rig.standings())
    (told,) = written(rig.player, rig.journal, tmp_path).values()
    assert told["standing"]["rank"] == 1
    assert told["matches"] == counted["matches"]


def test_nothing_is_written_before_there_is_an_id(tmp_path: Path) -> None:
    rig = player_rig.Rig()
    assert written(rig.player, rig.journal, tmp_path) == {}
