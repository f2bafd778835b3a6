"""The manager's signatures: whose league it is, and what differs from what was signed, although all digests fit."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from league.cli.main import main
from league.events import AgentRegistered, Registered
from league.features.audit.journal_evidence import read_league
from league.features.audit.signed_rounds import SignedRounds, check_rounds
from league.protocol.signing.keys import SigningKey, sign, signing_key
from league.protocol.signing.rounds import digest_of
from league.reading.journals import read_events
from tests.support import played

Event = dict[str, Any]
FORGER = signing_key(bytes(range(32)))


@pytest.fixture(scope="module")
def journals(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return played.play(tmp_path_factory.mktemp("played"))


@pytest.fixture(scope="module")
def key(journals: Path) -> str:
    """The key of the manager, as a player was told it."""
    keys = [event.manager_key for event in read_events(journals / "player-1.db") if isinstance(event, Registered)]
    return keys[0]


@pytest.fixture
def copied(journals: Path, tmp_path: Path) -> Path:
    return played.copy(journals, tmp_path / "copy")


@pytest.fixture
def alone(copied: Path) -> Path:
    """The journal of the manager alone."""
    for journal in copied.glob("*.db"):
        if journal.name != "manager.db":
            journal.unlink()
    return copied


def checked(folder: Path, key: str | None = None) -> SignedRounds:
    return check_rounds(read_league(str(folder)), key)


def verified(capsys: pytest.CaptureFixture[str], *arguments: object, status: int) -> Event:
    capsys.readouterr()
    assert main(["verify", *map(str, arguments), "--json"]) == status
    document: Event = json.loads(capsys.readouterr().out)
    return document


def resign(folder: Path, forger: SigningKey) -> None:
    """Sign everything anew with another key, as somebody who publishes another history would."""
    previous = None
    for kind, count in (("LeagueCreated", 1), ("RoundFinished", 3)):
        for number in range(count):

            def edit(event: Event) -> None:
                nonlocal previous
                if "statement" not in event:
                    event["manager_key"] = forger.public
                    return
                event["statement"] |= {"manager_key": forger.public, "previous": previous}
                event["signature"] = sign(forger, event["statement"])
                previous = digest_of(event["statement"])

            played.change(folder / "manager.db", kind, edit, number)


def test_an_honest_league_is_signed_and_its_players_pin_the_key(
    copied: Path, key: str, capsys: pytest.CaptureFixture[str]
) -> None:
    rounds = checked(copied)
    assert (rounds.key, rounds.signed, rounds.rounds, rounds.is_finished) == (key, 3, 3, True)
    assert rounds.is_pinned
    assert rounds.contradictions == []
    document = verified(capsys, copied, status=0)
    assert (document["key"], document["pinned"]) == (key, True)
    main(["verify", str(copied)])
    assert "signed: 3 of 3 rounds" in capsys.readouterr().out


def test_without_a_pin_the_verdict_says_that_nobody_knows_the_key(
    alone: Path, key: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert verified(capsys, alone, status=0)["pinned"] is False
    main(["verify", str(alone)])
    assert ": signed by an unknown key; " in capsys.readouterr().out
    assert verified(capsys, alone, "--key", key.upper(), status=0)["pinned"] is True
    assert verified(capsys, alone, "--key", FORGER.public, status=1)["pinned"] is False
    assert main(["verify", str(alone), "--key", "abc"]) == 2


def test_a_league_that_was_signed_anew_passes_only_without_a_pin(
    copied: Path, key: str, capsys: pytest.CaptureFixture[str]
) -> None:
    resign(copied, FORGER)
    found = [contradiction.detail for contradiction in checked(copied).contradictions]
    assert any(f"signed with the key {FORGER.public}" in detail for detail in found)
    for journal in copied.glob("*.db"):
        if journal.name != "manager.db":
            journal.unlink()
    assert checked(copied).contradictions == []
    assert checked(copied, key).contradictions
    document = verified(capsys, copied, "--require", "proven", status=1)
    assert document["pinned"] is False


def set_winner(event: Event) -> None:
    first, second = event["points"]
    winner = second if event["winner"] == first else first
    event.update(status="WIN", winner=winner, points={first: 0, second: 0, winner: 3})


def set_points(event: Event) -> None:
    event["points"][next(iter(event["points"]))] += 1


def set_choice(event: Event) -> None:
    choices = event["details"]["choices"]
    player = next(iter(choices))
    choices[player] = {"even": "odd", "odd": "even"}[choices[player]]


def set_signed_choice(event: Event) -> None:
    event["statement"]["results"][0]["winner"] = "P09"


def set_row(event: Event) -> None:
    event["statement"]["table"][0]["points"] += 3


def drop_signature(event: Event) -> None:
    event.pop("signature")
    event.pop("statement")


@pytest.mark.parametrize(
    ("kind", "edit"),
    [
        ("ResultAccepted", set_winner),
        ("ResultAccepted", set_points),
        ("ResultAccepted", set_choice),
        ("ResultAccepted", lambda event: event.update(attempt=2)),
        ("ResultJudged", lambda event: event.update(evidence="by_referee")),
        ("ResultJudged", lambda event: event.update(doubt="P01 cheated")),
        ("ResultJudged", lambda event: event.update(unsigned=["P01"])),
        ("ResultAccepted", lambda event: event.update(referee_id="REF07")),
        ("RoundFinished", set_signed_choice),
        ("RoundFinished", set_row),
        ("RoundFinished", drop_signature),
        ("RoundFinished", lambda event: event.update(signature="A" * 86)),
        ("LeagueFinished", lambda event: event.update(champion="P09")),
        ("LeagueCreated", lambda event: event.update(manager_key=FORGER.public)),
        ("OrderCarriedOut", lambda event: event.update(order="withdraw", target="P01")),
    ],
)
def test_what_differs_from_a_signed_round_is_found_although_all_digests_fit(
    kind: str, edit: Callable[[Event], None], alone: Path, key: str
) -> None:
    played.change(alone / "manager.db", kind, edit)
    assert checked(alone, key).contradictions


def test_a_name_that_was_changed_is_found_with_its_player(alone: Path, key: str) -> None:
    def rename(event: Event) -> None:
        event["display_name"] = "Mallory"

    roles = [event.role for event in read_events(alone / "manager.db") if isinstance(event, AgentRegistered)]
    played.change(alone / "manager.db", "AgentRegistered", rename, roles.index("player"))
    found = checked(alone, key).contradictions
    assert len(found) == 3, "one for each round"
    assert all("'Mallory'" in contradiction.detail for contradiction in found)


def test_results_in_another_order_are_found(alone: Path, key: str) -> None:
    with played.opened(alone / "manager.db") as connection:
        query = "SELECT seq, body FROM events WHERE kind = 'ResultAccepted' ORDER BY seq LIMIT 2"
        (first, first_body), (second, second_body) = connection.execute(query).fetchall()
        connection.execute("UPDATE events SET body = ? WHERE seq = ?", (second_body, first))
        connection.execute("UPDATE events SET body = ? WHERE seq = ?", (first_body, second))
        played.reseal(connection)
    assert any("another order" in found.detail for found in checked(alone, key).contradictions)


def test_a_key_without_anything_that_it_signed_fails(copied: Path, key: str) -> None:
    (copied / "manager.db").unlink()
    assert any("nothing here is signed" in found.detail for found in checked(copied, key).contradictions)
    assert checked(copied).contradictions == []


def test_results_that_nobody_signed_yet_are_named(alone: Path, key: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Whoever has the end of a journal can write another one; no signature covers it."""
    with played.opened(alone / "manager.db") as connection:
        query = "SELECT seq FROM events WHERE kind = 'RoundFinished' ORDER BY seq LIMIT 1 OFFSET 1"
        (second_end,) = connection.execute(query).fetchone()
        connection.execute("DELETE FROM events WHERE seq >= ?", (second_end,))
        connection.execute("DELETE FROM letters")
        # The last event that is left ends a group, whichever group it was in.
        connection.execute("UPDATE events SET digest = x'00' WHERE seq = ?", (second_end - 1,))
        played.reseal(connection)
    rounds = checked(alone, key)
    assert (rounds.signed, sorted(rounds.uncovered), rounds.contradictions) == (1, ["R2M1", "R2M2"], [])
    main(["verify", str(alone), "--key", key])
    assert "signed: 1 of 3 rounds; not signed yet: R2M" in capsys.readouterr().out


def test_an_end_that_was_cut_off_shows_by_what_players_kept(copied: Path, key: str) -> None:
    with played.opened(copied / "manager.db") as connection:
        query = "SELECT max(seq) FROM events WHERE kind = 'RoundFinished'"
        (seq,) = connection.execute(query).fetchone()
        query = "SELECT max(seq) FROM events WHERE seq < ? AND digest <> x''"
        connection.execute("DELETE FROM events WHERE seq > ?", connection.execute(query, (seq,)).fetchone())
    rounds = checked(copied, key)
    assert not rounds.is_finished
    assert any("no such statement about round 3" in found.detail for found in rounds.contradictions)


def test_the_journal_of_somebody_else_pins_no_key(copied: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whoever publishes a forged league can add the journals of players that never were."""
    for journal in copied.glob("player-*.db"):
        with played.opened(journal) as connection:
            connection.execute("UPDATE secrets SET value = ? WHERE name = 'signing_secret'", ("ab" * 32,))
    rounds = checked(copied)
    assert (rounds.is_pinned, rounds.contradictions) == (False, [])
    assert verified(capsys, copied, "--require", "proven", status=1)["pinned"] is False


def test_a_player_pins_the_key_of_a_bundle(journals: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bundle = tmp_path / "league.bundle"
    assert main(["export", str(journals / "manager.db"), "--format", "bundle", "--to", str(bundle)]) == 0
    assert verified(capsys, bundle, status=0)["pinned"] is False
    own = ("--player", journals / "player-1.db")
    assert verified(capsys, bundle, *own, "--require", "proven", status=0)["pinned"] is True


@pytest.mark.parametrize("kind", ["RoundEnded", "LeagueEnded"])
def test_a_statement_that_was_changed_in_a_players_journal_is_found(kind: str, copied: Path) -> None:
    played.change(copied / "player-1.db", kind, set_row)
    assert any("is not signed with the manager's key" in found.detail for found in checked(copied).contradictions)


def test_another_key_in_a_players_journal_is_found(copied: Path, key: str) -> None:
    played.change(copied / "player-1.db", "Registered", lambda event: event.update(manager_key=FORGER.public))
    assert checked(copied).contradictions
    assert checked(copied, key).contradictions


def test_proofs_are_missing_without_matches_without_a_last_round_and_without_a_pin(
    alone: Path, key: str, capsys: pytest.CaptureFixture[str]
) -> None:
    require = ("--require", "proven")
    assert verified(capsys, alone, *require, status=1)["ok"] is False
    assert verified(capsys, alone, *require, "--key", key, status=0)["ok"] is True
    for kind in ("RoundFinished", "MatchAssigned"):
        with played.opened(alone / "manager.db") as connection:
            (seq,) = connection.execute(f"SELECT max(seq) FROM events WHERE kind = '{kind}'").fetchone()
            if kind == "MatchAssigned":
                (seq,) = connection.execute("SELECT min(seq) FROM events WHERE kind = 'ScheduleMade'").fetchone()
            connection.execute("DELETE FROM events WHERE seq >= ?", (seq,))
            connection.execute("UPDATE events SET digest = x'00' WHERE seq = (SELECT max(seq) FROM events)")
            played.reseal(connection)
        document = verified(capsys, alone, *require, "--key", key, status=1)
        assert document["chain"] == "whole"
