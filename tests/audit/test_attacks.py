"""Attacks on journals and bundles by somebody who writes them anew, digests and all, without the manager's key.

Each attack makes one change to the events of a manager's journal. If readers would then be told another result, choice,
table or order than before, `league verify --key` must fail. If only the end was cut off, it must say that rounds are
missing. Orders after the last signed round are not covered.
"""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from msgspec import to_builtins

from league.cli.main import main
from league.events import LeagueFinished, OrderCarriedOut, Registered, ResultAccepted, ResultVoided, RoundFinished
from league.features.audit.journal_evidence import read_league
from league.features.audit.signed_rounds import check_rounds
from league.protocol.signing.keys import sign, signing_key
from league.protocol.signing.rounds import digest_of
from league.reading.journals import read_events, replay
from league.storage.chain import digest_after
from tests.support import played
from tests.support.managed import MANAGER_KEY, Managed
from tests.support.stories import on_disk

ATTACKS = 40
DEEP_ATTACKS = 400
FORGER = signing_key(b"forger".ljust(32))
Json = dict[str, Any]
TOLD = (
    "AgentRegistered",
    "ResultAccepted",
    "ResultJudged",
    "WalkoverDecided",
    "RoundFinished",
    "LeagueFinished",
    "OrderCarriedOut",
    "ResultVoided",
)
"""The events that half of the attacks aim at; the others aim at any."""


class Row(NamedTuple):
    """An event as it is stored, and whether a group ends with it."""

    entry: int
    at: float
    kind: str
    body: Json
    ends_group: bool


class League(NamedTuple):
    journal: Path
    key: str


@pytest.fixture(scope="module")
def really_played(tmp_path_factory: pytest.TempPathFactory) -> League:
    """A league of real processes, whose players signed."""
    journals = played.play(tmp_path_factory.mktemp("played"))
    keys = [event.manager_key for event in read_events(journals / "player-1.db") if isinstance(event, Registered)]
    return League(journals / "manager.db", keys[0])


@pytest.fixture(scope="module")
def much_ordered(tmp_path_factory: pytest.TempPathFactory) -> League:
    """A league with a match that was played again, a withdrawal, technical losses and a pause."""
    league = Managed(players=5).fill()
    league.answer_all()
    league.answer_pings()
    for match_id, winner in (("R1M1", "A"), ("R1M2", "-B")):
        league.report(match_id, winner)
    league.operate("replay-match", "R1M1")
    league.operate("pause")
    league.operate("resume")
    league.operate("withdraw", "P05")
    league.play("B")
    league.operate("replay-match", "R2M1")
    league.play("A")
    journal = tmp_path_factory.mktemp("ordered") / "journal.db"
    on_disk(journal, league.events)
    return League(journal, MANAGER_KEY)


# --- what readers are told --------------------------------------------------------------------------------------------


def told(journal: Path) -> object:
    """The results with all that belongs to them, the orders and the table; None if the journal cannot be replayed."""
    try:
        manager = replay(str(journal)).manager
        events = read_events(journal)
    except Exception:  # noqa: BLE001 - whatever is wrong with it
        return None
    ends = [place for place, event in enumerate(events) if isinstance(event, RoundFinished | LeagueFinished)]
    signed = max(ends, default=0)
    orders = [
        (event.order, event.target, event.named) for event in events[:signed] if isinstance(event, OrderCarriedOut)
    ]
    voids = [event.match_id for event in events if isinstance(event, ResultVoided)]
    results = [
        (
            match.match_id,
            match.players,
            result and result.winner,
            result and result.points,
            _details(result),
            to_builtins(match.basis if result else None),
        )
        for match in manager.ledger.matches.values()
        for result in (match.result,)
    ]
    return results, orders, voids, manager.ledger.champion, to_builtins(manager.standings)


def _details(result: object) -> object:
    if not isinstance(result, ResultAccepted):
        return None
    return result.status, result.attempt, result.referee_id, result.details


# --- attacks ----------------------------------------------------------------------------------------------------------


def attack(rows: list[Row], dice: random.Random) -> str:
    """Change the events; return what was done."""
    deed = dice.choices(DEEDS, WEIGHTS)[0]
    aims = [place for place, row in enumerate(rows) if row.kind in TOLD]
    place = dice.choice(aims) if dice.random() < 0.5 else dice.randrange(len(rows))
    kind = rows[place].kind
    deed(rows, place, dice)
    return f"{deed.__name__} {kind} {place + 1}"


def _places_in(value: object, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths to all values in a body that are no containers."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    inner = list(items)
    if not inner:
        yield path
    for name, part in inner:
        yield from _places_in(part, (*path, name))


def _other(value: object, dice: random.Random) -> object:
    if isinstance(value, bool) or value is None:
        return dice.choice([True, False, None, "P01"])
    if isinstance(value, int | float):
        return value + dice.choice([-1, 1, 3])
    if isinstance(value, str):
        twins = {"even": "odd", "odd": "even", "WIN": "DRAW", "DRAW": "WIN", "TECHNICAL_LOSS": "WIN"}
        return twins.get(value) or dice.choice(
            ["P01", "P02", "P03", "REF01", "R1M1", "proven", value[::-1], f"{value}0"]
        )
    return dice.choice([[], {}, "P01", 7])


def change_value(rows: list[Row], place: int, dice: random.Random) -> None:
    body = rows[place].body
    *path, last = dice.choice([path for path in _places_in(body) if path != ("event",)])
    part: Any = body
    for name in path:
        part = part[name]
    part[last] = _other(part[last], dice)


def remove_value(rows: list[Row], place: int, dice: random.Random) -> None:
    body = rows[place].body
    del body[dice.choice([name for name in body if name != "event"])]


def remove_event(rows: list[Row], place: int, _: random.Random) -> None:
    del rows[place]


def repeat_event(rows: list[Row], place: int, dice: random.Random) -> None:
    rows.insert(dice.randrange(place, len(rows)) + 1, rows[place])


def move_event(rows: list[Row], place: int, dice: random.Random) -> None:
    rows.insert(dice.randrange(len(rows) - 1), rows.pop(place))


def exchange_events(rows: list[Row], place: int, dice: random.Random) -> None:
    alike = [other for other, row in enumerate(rows) if row.kind == rows[place].kind]
    other = dice.choice(alike)
    rows[place], rows[other] = rows[other], rows[place]


def cut_off(rows: list[Row], place: int, _: random.Random) -> None:
    del rows[place + 1 :]


def swap_players(rows: list[Row], place: int, dice: random.Random) -> None:
    """Two players take each other's place in everything that follows."""
    first, second = dice.sample(["P01", "P02", "P03", "P04"], 2)
    for number in range(place, len(rows)):
        text = json.dumps(rows[number].body)
        swapped = text.replace(first, "P??").replace(second, first).replace("P??", second)
        rows[number] = rows[number]._replace(body=json.loads(swapped))


def turn_result(rows: list[Row], _: int, dice: random.Random) -> None:
    """The other player wins a match, everywhere in its event."""
    place = dice.choice([place for place, row in enumerate(rows) if row.kind == "ResultAccepted"])
    body = rows[place].body
    first, second = body["points"]
    winner = second if body["winner"] == first else first
    body.update(status="WIN", winner=winner, points={first: 0, second: 0, winner: 3})


def forge_statements(rows: list[Row], place: int, dice: random.Random) -> None:
    """A result is turned, and every statement is made to fit and signed with another key."""
    turn_result(rows, place, dice)
    previous = None
    for row in rows:
        statement = row.body.get("statement")
        if statement and "results" in statement:
            for stated in statement["results"]:
                results = [one.body for one in rows if one.kind == "ResultAccepted"]
                mine = next((one for one in results if one["match_id"] == stated["match_id"]), None)
                if mine is not None and stated["status"] is not None:
                    stated.update(winner=mine["winner"], points=mine["points"], status=mine["status"])
            statement["previous"] = previous
            previous = digest_of(statement)
            row.body["signature"] = sign(FORGER, statement)


DEEDS: tuple[Callable[[list[Row], int, random.Random], None], ...] = (
    change_value,
    remove_value,
    remove_event,
    repeat_event,
    move_event,
    exchange_events,
    cut_off,
    swap_players,
    turn_result,
    forge_statements,
)
WEIGHTS = (12, 3, 2, 2, 2, 2, 1, 1, 3, 2)


def rows_of(journal: Path) -> list[Row]:
    with closing(sqlite3.connect(journal)) as connection:
        query = "SELECT entry, at, kind, body, length(digest) > 0 FROM events ORDER BY seq"
        return [
            Row(entry, at, kind, json.loads(body), bool(is_end))
            for entry, at, kind, body, is_end in connection.execute(query)
        ]


def write(journal: Path, rows: list[Row]) -> None:
    """Write a journal of these events, in the same groups, with fresh digests."""
    with played.opened(journal) as connection:
        connection.execute("DELETE FROM letters")
        connection.execute("DELETE FROM events")
        digest = b""
        group: list[tuple[Any, ...]] = []
        for seq, row in enumerate(rows, start=1):
            body = json.dumps(row.body, separators=(",", ":"), ensure_ascii=False).encode()
            group.append((seq, row.entry, row.at, row.kind, body))
            stored = b""
            if row.ends_group or seq == len(rows):
                digest = stored = digest_after(digest, group)
                group = []
            connection.execute(
                "INSERT INTO events (seq, entry, at, kind, body, digest) VALUES (?, ?, ?, ?, ?, ?)",
                (seq, row.entry, row.at, row.kind, body, stored),
            )


def is_found(journal: Path, key: str, *, in_bundle: bool) -> bool:
    """True if `league verify --key` fails."""
    if not in_bundle:
        return main(["verify", str(journal), "--key", key, "--json"]) == 1
    bundle = journal.with_suffix(".bundle")
    bundle.unlink(missing_ok=True)
    if main(["export", str(journal), "--format", "bundle", "--to", str(bundle)]) != 0:
        return True
    return main(["verify", str(bundle), "--key", key, "--json"]) == 1


def assert_all_found(league: League, attacks: int, folder: Path) -> None:
    dice = random.Random(f"{league.journal.name} {attacks}")
    before = told(league.journal)
    journal = folder / "journal.db"
    shutil.copy(league.journal, journal)
    write(journal, rows_of(league.journal))
    assert not is_found(journal, league.key, in_bundle=False), "a copy is no attack"
    assert not is_found(journal, league.key, in_bundle=True)
    misleading = 0
    unnoticed = []
    for number in range(attacks):
        rows = rows_of(league.journal)
        deed = attack(rows, dice)
        if not rows:
            continue
        shutil.copy(league.journal, journal)
        write(journal, rows)
        if told(journal) != before:
            misleading += 1
            is_noticed = is_found(journal, league.key, in_bundle=number % 2 == 1)
            if rows == rows_of(league.journal)[: len(rows)]:
                is_noticed = is_noticed or not check_rounds(read_league(str(journal)), league.key).is_finished
            if not is_noticed:
                unnoticed.append(f"{number}: {deed}")
    assert unnoticed == []
    assert misleading > attacks // 3


@pytest.mark.parametrize("league", ["really_played", "much_ordered"])
def test_a_sample_of_attacks_is_found(league: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    assert_all_found(request.getfixturevalue(league), ATTACKS, tmp_path)


@pytest.mark.deep
@pytest.mark.parametrize("league", ["really_played", "much_ordered"])
def test_all_attacks_are_found(league: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    assert_all_found(request.getfixturevalue(league), DEEP_ATTACKS, tmp_path)
