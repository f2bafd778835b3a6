"""`league verify`: nothing that was changed after it was written passes, and honest journals do."""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from league.cli.main import main
from league.cli.operating import backup
from league.features.audit.audit import Audit, audit
from league.features.audit.heads import unknown_heads
from league.features.audit.journal_evidence import read_league
from league.features.audit.promises.grounds.promise_findings import PromiseReport
from league.storage.urls import FilePlace
from tests.support import played
from tests.support.player_keys import key_of

MUTATIONS = 40
DEEP_MUTATIONS = 400
NEVER_SEEN_IN_JOURNALS = {"15", "18"}


@pytest.fixture(scope="module")
def journals(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return played.play(tmp_path_factory.mktemp("played"))


@pytest.fixture
def copied(journals: Path, tmp_path: Path) -> Path:
    return played.copy(journals, tmp_path / "copy")


def audited(folder: Path, head: str | None = None) -> Audit:
    return audit(read_league(str(folder)), head)


def verified(
    folder: Path, capsys: pytest.CaptureFixture[str], *options: str, status: int | None = None
) -> dict[str, Any]:
    ended = main(["verify", str(folder), "--json", *options])
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert ended == (0 if document["ok"] else 1)
    if status is not None:
        assert ended == status, document
    return document


def test_an_honest_league_is_whole_and_everything_that_journals_show_was_seen(
    copied: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = verified(copied, capsys, status=0)
    assert document["chain"] == "whole"
    assert document["results"]["proven"] == sum(document["results"].values()) == document["matches"] == 6
    assert document["contradictions"] == []
    unseen = {promise for promise, verdict in document["promises"].items() if verdict != "kept"}
    assert unseen == NEVER_SEEN_IN_JOURNALS


def cut_off(folder: Path) -> None:
    """Take the last events of the manager away, whole groups of them."""
    with played.opened(folder / "manager.db") as connection:
        (last,) = connection.execute("SELECT max(seq) FROM events").fetchone()
        ends = connection.execute("SELECT seq FROM events WHERE digest != x'' AND seq < ?", (last // 2,)).fetchall()
        connection.execute("DELETE FROM events WHERE seq > ?", ends[-1])


def test_a_league_that_goes_on_while_it_is_read_contradicts_nothing(copied: Path, journals: Path) -> None:
    complete = read_league(str(journals))
    cut_off(copied)
    read_before = read_league(str(copied))
    assert list(unknown_heads(read_before)), "members know more than the manager: its end was cut off"
    assert read_before.manager is not None
    assert complete.manager is not None
    # The journal has grown since.
    read_before.manager = replace(read_before.manager, place=complete.manager.place)
    assert list(unknown_heads(read_before)) == []


def test_a_backup_of_a_running_league_is_made_again_until_its_journals_agree(
    copied: Path, journals: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    older = played.copy(journals, tmp_path / "older")
    cut_off(older)
    (copied / "manager.db").rename(copied / "journal.db")
    copies = 0
    copy = backup._copy

    def copy_while_it_is_played(copied: backup.Copied) -> None:
        nonlocal copies
        copies += 1
        if copies == 1:
            copied = copied._replace(source=FilePlace(older / "manager.db"))
        copy(copied)

    monkeypatch.setattr(backup, "_copy", copy_while_it_is_played)
    assert main(["backup", str(copied), f"{tmp_path}/backup/"]) == 0
    assert copies == 2 * len(list(copied.glob("*.db")))
    assert list(unknown_heads(read_league(f"{tmp_path}/backup"))) == []


@pytest.mark.parametrize("name", ["manager.db", "referee.db", "player-1.db"])
def test_no_random_change_to_a_journal_passes(name: str, journals: Path, tmp_path: Path) -> None:
    assert_found(name, MUTATIONS, journals, tmp_path)


@pytest.mark.deep
@pytest.mark.parametrize("name", ["manager.db", "referee.db", "player-1.db"])
def test_none_of_many_random_changes_passes(name: str, journals: Path, tmp_path: Path) -> None:
    assert_found(name, DEEP_MUTATIONS, journals, tmp_path)


def assert_found(name: str, mutations: int, journals: Path, tmp_path: Path) -> None:
    dice = random.Random(f"{name} {mutations}")
    head = head_on_page(journals)
    made = 0
    while made < mutations:
        folder = played.copy(journals, tmp_path / "changed")
        with played.opened(folder / name) as connection:
            mutation = played.mutate(connection, dice)
        if not mutation:
            continue
        made += 1
        if is_cut_at_a_group(journals / name, folder / name):
            # Only a head shows that the end is missing, and only the manager tells its head to others. What came after
            # the head may be missing without a trace.
            if name == "manager.db" and not holds(folder / name, head):
                assert audited(folder, head).chain_problems, mutation
            continue
        league = read_league(str(folder))
        assert [journal.place.name for journal in league.broken] == [name], mutation


def holds(journal: Path, head: str) -> bool:
    with played.opened(journal) as connection:
        query = "SELECT count(*) FROM events WHERE digest = ?"
        count: int = connection.execute(query, (bytes.fromhex(head),)).fetchone()[0]
    return count == 1


def is_cut_at_a_group(whole: Path, changed: Path) -> bool:
    """Whether only the end is missing, from the end of a group on."""
    rows = []
    for journal in (whole, changed):
        with played.opened(journal) as connection:
            rows.append(connection.execute("SELECT seq, body, digest FROM events ORDER BY seq").fetchall())
    before, after = rows
    return after == before[: len(after)] and (not after or bool(after[-1][-1]))


def head_on_page(journals: Path) -> str:
    """The head of the manager's journal, as the page of the league told it under the final table."""
    page = (journals.parent / played.PAGE).read_text("utf-8")
    heads = re.findall(r"Head of the manager&#39;s journal: event \d+, ([0-9a-f]{64})\.", page)
    assert len(heads) == 1, page
    head: str = heads[0]
    return head


def test_the_head_on_the_page_finds_rewritten_history(
    journals: Path, copied: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    head = head_on_page(journals)
    assert verified(copied, capsys, "--head", head, status=0)["chain"] == "whole"
    assert main(["export", str(copied), "--format", "site", "--to", str(tmp_path / "site")]) == 0
    capsys.readouterr()
    # The league was closed since: the exported page tells a later head of the same chain.
    exported = re.findall(r"--head ([0-9a-f]{64})", (tmp_path / "site" / "index.html").read_text("utf-8"))
    assert verified(copied, capsys, "--head", exported[0], status=0)["head"] == exported[0]
    keep_only_the_manager(copied)
    played.change(copied / "manager.db", "ScheduleMade", lambda event: event.update(at=event["at"] + 1))
    assert verified(copied, capsys, status=0)["chain"] == "whole"
    assert verified(copied, capsys, "--head", head, status=1)["chain"] == "broken"


def test_a_head_without_a_journal_of_the_manager_fails(
    journals: Path, copied: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (copied / "manager.db").unlink()
    document = verified(copied, capsys, "--head", head_on_page(journals), status=1)
    assert "there is no manager's journal" in document["first_broken"]["detail"]


def test_a_broken_chain_is_told_with_its_place_and_fails(copied: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with played.opened(copied / "manager.db") as connection:
        connection.execute("UPDATE events SET at = at + 1 WHERE seq = 9")
    document = verified(copied, capsys, status=1)
    assert document["chain"] == "broken"
    assert document["first_broken"]["where"] == "manager.db"
    assert "is not as it was written" in document["first_broken"]["detail"]
    main(["verify", str(copied)])
    assert "the chain is BROKEN" in capsys.readouterr().out


@pytest.mark.parametrize(
    "command",
    [
        ["standings", "FOLDER"],
        ["schedule", "FOLDER"],
        ["match", "R1M1", "FOLDER"],
        ["explain", "R1M1", "FOLDER"],
        ["statistics", "FOLDER"],
        ["replay", "FOLDER"],
        ["view", "FOLDER"],
        ["export", "FOLDER", "--to", "FOLDER/out"],
        ["export", "FOLDER", "--to", "FOLDER/out.bundle", "--format", "bundle"],
    ],
    ids=lambda command: " ".join(command[:1] + command[4:]),
)
def test_no_command_shows_a_journal_that_was_changed(
    command: list[str], copied: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (copied / "manager.db").rename(copied / "journal.db")
    with played.opened(copied / "journal.db") as connection:
        body = "CAST(replace(body, '\"attempt\":1', '\"attempt\":2') AS BLOB)"
        connection.execute(f"UPDATE events SET body = {body} WHERE kind = 'ResultAccepted'")
        (changed,) = connection.execute("SELECT changes()").fetchone()
        assert changed
    assert main([word.replace("FOLDER", str(copied)) for word in command]) == 1
    said = capsys.readouterr()
    assert "is not as it was written" in said.err
    assert said.out == ""
    assert not list(copied.glob("out*"))


def keep_only_the_manager(folder: Path) -> None:
    for journal in folder.glob("*.db"):
        if journal.name != "manager.db":
            journal.unlink()


def test_heads_in_the_journals_of_players_find_rewritten_history(copied: Path) -> None:
    played.change(copied / "manager.db", "LeagueCreated", lambda event: event.update(at=event["at"] - 1))
    details = [found.detail for found in audited(copied).contradictions]
    assert sum("which is not in this chain" in detail for detail in details) >= 4


def test_heads_in_the_journals_of_players_find_an_end_that_was_cut_off(copied: Path) -> None:
    with played.opened(copied / "manager.db") as connection:
        seq = connection.execute("SELECT seq FROM events WHERE kind = 'LeagueFinished'").fetchone()[0]
        query = "SELECT max(seq) FROM events WHERE seq < ? AND digest <> x''"
        connection.execute("DELETE FROM events WHERE seq > ?", connection.execute(query, (seq,)).fetchone())
    assert any("which is not in this chain" in found.detail for found in audited(copied).contradictions)


def test_a_head_that_was_kept_finds_rewritten_history(copied: Path, capsys: pytest.CaptureFixture[str]) -> None:
    head = verified(copied, capsys)["head"]
    assert verified(copied, capsys, "--head", head.upper(), status=0)["chain"] == "whole"
    keep_only_the_manager(copied)
    played.change(copied / "manager.db", "LeagueCreated", lambda event: event.update(at=event["at"] - 1))
    assert verified(copied, capsys, status=0)["chain"] == "whole"
    assert verified(copied, capsys, "--head", head, status=1)["chain"] == "broken"
    assert main(["verify", str(copied), "--head", "abc"]) == 2
    assert "64 hexadecimal digits" in capsys.readouterr().err


def test_an_end_that_was_cut_off_shows_by_a_head(copied: Path, capsys: pytest.CaptureFixture[str]) -> None:
    head = verified(copied, capsys)["head"]
    with played.opened(copied / "manager.db") as connection:
        ends = connection.execute("SELECT seq FROM events WHERE digest <> x'' ORDER BY seq DESC LIMIT 2").fetchall()
        connection.execute("DELETE FROM events WHERE seq > ?", ends[-1])
    assert audited(copied, head).chain_problems


def rewritten_champion(folder: Path) -> None:
    """Somebody makes another player the champion, everywhere in the manager's journal, with fresh digests."""

    def edit(event: dict[str, Any]) -> None:
        winner, loser = event["points"]
        event.update(status="WIN", winner=loser, points={winner: 0, loser: 3})

    for number in range(6):
        played.change(folder / "manager.db", "ResultAccepted", edit, number)


def test_a_rewritten_champion_does_not_pass(copied: Path) -> None:
    rewritten_champion(copied)
    outcome = audited(copied)
    assert not outcome.chain_problems
    assert {4} <= {finding.promise for finding in outcome.promises.broken}


def test_a_rewritten_champion_does_not_pass_by_the_managers_journal_alone(copied: Path) -> None:
    rewritten_champion(copied)
    keep_only_the_manager(copied)
    assert {4} <= {finding.promise for finding in audited(copied).promises.broken}


def swap_choice(event: dict[str, Any]) -> None:
    player = next(iter(event["details"]["choices"]))
    event["details"]["choices"][player] = opposite(event["details"]["choices"][player])


def pick_number(event: dict[str, Any]) -> None:
    event["details"]["drawn_number"] = event["details"]["drawn_number"] % 10 + 1


def pick_seed(event: dict[str, Any]) -> None:
    """A referee that chose its seed when it knew the choices, and wrote the commitment that fits."""
    seed = "00" * 32
    match = f"{event['match_id']}|{event['attempt']}"
    event["details"]["draw_seed"] = seed
    event["details"]["draw_commitment"] = hashlib.sha256(bytes.fromhex(seed) + match.encode()).hexdigest()


def spoil_signature(event: dict[str, Any]) -> None:
    signatures = event["details"]["signatures"]
    player = next(iter(signatures))
    signatures[player] = signatures[player][::-1]


def swap_signatures(event: dict[str, Any]) -> None:
    signatures = event["details"]["signatures"]
    first, second = signatures
    event["details"]["signatures"] = {first: signatures[second], second: signatures[first]}


def drop_signatures(event: dict[str, Any]) -> None:
    del event["details"]["signatures"]


def turn_the_result(event: dict[str, Any]) -> None:
    first, second = event["points"]
    event.update(status="WIN", winner=second, points={first: 0, second: 3})


@pytest.mark.parametrize(
    "edit",
    [
        swap_choice,
        pick_number,
        pick_seed,
        spoil_signature,
        swap_signatures,
        drop_signatures,
        turn_the_result,
    ],
)
def test_every_change_to_a_proven_result_is_found_although_all_digests_fit(
    edit: Callable[[dict[str, Any]], None], copied: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the manager's journal alone, and without its letters."""
    keep_only_the_manager(copied)
    with played.opened(copied / "manager.db") as connection:
        connection.execute("DELETE FROM letters")
    assert verified(copied, capsys, status=0)["results"]["proven"] == 6
    for number in range(6):
        played.change(copied / "manager.db", "ResultAccepted", edit, number)
    document = verified(copied, capsys, status=1)
    assert document["chain"] == "whole"


@pytest.mark.parametrize("seed", range(16))
def test_every_random_change_to_what_is_proven_is_found_although_all_digests_fit(
    seed: int, copied: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keep_only_the_manager(copied)
    with played.opened(copied / "manager.db") as connection:
        connection.execute("DELETE FROM letters")
    dice = random.Random(seed)
    played.change(copied / "manager.db", "ResultAccepted", lambda event: change_a_leaf(event, dice), dice.randrange(6))
    verified(copied, capsys, status=1)


def change_a_leaf(event: dict[str, Any], dice: random.Random) -> None:
    """Change one value of a result, or of the details that prove it."""
    details = event["details"]
    names = ("choices", "drawn_number", "draw_seed", "draw_commitment", "signatures")
    place = {"result": {name: event[name] for name in ("status", "winner", "points")}}
    place["details"] = {name: details[name] for name in names}
    branch: Any = place
    parent: Any = place
    key: Any = ""
    while isinstance(branch, dict | list):
        parent = branch
        key = dice.choice(list(branch)) if isinstance(branch, dict) else dice.randrange(len(branch))
        branch = branch[key]
    others = [
        value for value in (None, 0, 1, 3, "even", "odd", "P01", "P02", "WIN", "DRAW", "ab" * 32) if value != branch
    ]
    parent[key] = dice.choice(others)
    event.update(place["result"])
    details.update(place["details"])


def test_a_key_that_was_exchanged_is_noticed(copied: Path) -> None:
    def edit(event: dict[str, Any]) -> None:
        event["keys"]["P01"] = key_of("somebody").public

    played.change(copied / "manager.db", "MatchAssigned", edit)
    outcome = audited(copied)
    assert any("is stored as proven, but the signature of P01" in found.detail for found in outcome.contradictions)


def opposite(choice: str) -> str:
    return {"even": "odd", "odd": "even"}[choice]


def test_a_match_without_the_keys_of_its_players_is_not_proven(copied: Path) -> None:
    """Journals of 0.3.0 name no keys, and call nothing proven."""
    played.change(copied / "manager.db", "MatchAssigned", lambda event: event.pop("keys"))
    outcome = audited(copied)
    assert outcome.unproven == ["R1M1"]
    assert any("R1M1 is stored as proven, but" in found.detail for found in outcome.contradictions)


def test_a_choice_that_its_player_denies_is_contradicted(copied: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The player's own journal is the only one that tells the truth."""

    def edit(event: dict[str, Any]) -> None:
        event["choice"] = opposite(event["choice"])

    played.change(copied / "player-1.db", "ChoiceGiven", edit)
    document = verified(copied, capsys, status=1)
    contradiction = document["contradictions"][0]
    assert "by its own journal" in contradiction["detail"]
    assert document["results"]["proven"] == document["matches"], "it accuses nobody but its player"
    assert sum(document["results"].values()) == document["matches"]
    assert {promise for promise, verdict in document["promises"].items() if verdict == "broken"} <= {"4", "21"}


def test_a_player_that_never_chose_contradicts_an_invented_match(copied: Path) -> None:
    with played.opened(copied / "player-1.db") as connection:
        # It was registered, and never called.
        connection.execute("DELETE FROM events WHERE seq > 1")
        connection.execute("UPDATE events SET digest = zeroblob(32) WHERE seq = 1")
        played.reseal(connection)
    details = [contradiction.detail for contradiction in audited(copied).contradictions]
    assert len(details) == 3
    assert all("chose nothing by its own journal" in detail for detail in details)


def test_a_player_that_was_told_another_number_contradicts(copied: Path) -> None:
    def edit(event: dict[str, Any]) -> None:
        event["game_result"]["drawn_number"] = event["game_result"]["drawn_number"] % 10 + 1

    played.change(copied / "player-2.db", "GameEnded", edit)
    assert any("was told drawn_number" in found.detail for found in audited(copied).contradictions)


def test_a_record_must_be_what_the_referees_journal_says(copied: Path) -> None:
    def edit(event: dict[str, Any]) -> None:
        move = next(line for line in event["record"] if line["event"] == "MoveMade")
        move["choice"] = opposite(move["choice"])

    played.change(copied / "manager.db", "MatchRecordKept", edit)
    assert any("the record of" in found.detail for found in audited(copied).contradictions)


def test_journals_that_do_not_belong_together_are_not_held_against_each_other(copied: Path, tmp_path: Path) -> None:
    """A player whose journal begins after a match contradicts nothing."""

    def edit(event: dict[str, Any]) -> None:
        event["at"] += 1e6

    with played.opened(copied / "player-1.db") as connection:
        connection.execute("DELETE FROM events WHERE seq > 1")
        connection.execute("UPDATE events SET digest = zeroblob(32) WHERE seq = 1")
    played.change(copied / "player-1.db", "Registered", edit)
    assert audited(copied).contradictions == []


def test_proofs_can_be_required(copied: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(copied), "--require", "proven"]) == 0

    def edit(event: dict[str, Any]) -> None:
        event["evidence"] = "by_referee"

    played.change(copied / "manager.db", "ResultJudged", edit)
    assert main(["verify", str(copied), "--require", "proven"]) == 1
    assert "not proven" in capsys.readouterr().out


def test_letters_with_gaps_judge_nobody(copied: Path) -> None:
    """Without whole transcripts the promises about traffic are unobservable, never broken."""
    with played.opened(copied / "manager.db") as connection:
        connection.execute("DELETE FROM letters WHERE id % 3 = 0")
        connection.execute("UPDATE meta SET value = '5' WHERE key = 'opened'")
    report: PromiseReport = audited(copied).promises
    assert [finding.promise for finding in report.broken] == []
    assert report.verdict(5) == "unobservable"


def test_a_table_that_was_never_true_breaks_its_promise(copied: Path) -> None:
    """The transcript is judged: a letter with a wrong table is found."""
    with played.opened(copied / "manager.db") as connection:
        query = (
            "SELECT id, body FROM letters WHERE message_type = 'LEAGUE_COMPLETED' AND kind = 'request' AND same_as = 0"
        )
        number, body = connection.execute(query).fetchone()
        message = json.loads(body)
        message["final_standings"][0]["points"] += 3
        connection.execute("UPDATE letters SET body = ? WHERE id = ?", (json.dumps(message).encode(), number))
    assert audited(copied).promises.verdict(5) == "broken"
