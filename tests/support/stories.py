"""Matches to be explained: a referee's account from a real referee, a manager's written around it, and journals on
disk."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from league import events as e
from league.features.records.explain import Explanation, explain
from league.features.records.match_facts import MatchFacts, facts_of
from league.machine import Entry
from league.reading.journals import Journals, RefereeJournal
from league.storage.files.sqlite import SqliteJournal
from league.storage.transcripts.transcript import LetterNote
from tests.support.referee_rig import ENDPOINTS, LEAGUE, ME, PLAYERS, START, Rig

SECRET = "tok_P02_c2VjcmV0IHNlY3JldCBzZWNyZXQgc2VjcmV0"


def registered(agent_id: str) -> e.AgentRegistered:
    role: e.AgentRole = "referee" if agent_id.startswith("REF") else "player"
    return e.AgentRegistered(
        at=START - 10,
        role=role,
        agent_id=agent_id,
        display_name=f"Name of {agent_id}",
        version="1.0.0",
        endpoint=ENDPOINTS.get(agent_id, "http://10.0.0.2:8001/mcp"),
        origin="10.0.0.1",
        game_types=("even_odd",),
        serial=1,
        verify="0" * 64,
    )


def around(rig: Rig, *more: e.Event, game: str = "even_odd") -> list[e.Event]:
    """The manager's account of the one match of a referee, with its result if it was reported."""
    pairing = e.Pairing("R1M1", "P01", "P02")
    at = START - 1
    told: list[e.Event] = [
        e.LeagueCreated(at=START - 20, settings=e.LeagueSettings(league_id=LEAGUE, game_type=game, players=2)),
        *map(registered, (ME, "REF02", "REF03", *PLAYERS[:2])),
        e.ScheduleMade(at=at, rounds=((pairing,),), byes=(None,)),
        e.RoundOpened(at=at, round_id=1),
        e.MatchAssigned(at=at, match_id="R1M1", referee_id=ME, attempt=1),
    ]
    reported = rig.of(e.MatchDecided) if rig.of(e.ReportSettled) else []
    return [*told, *map(accepted, reported), *more]


def accepted(decided: e.MatchDecided, **changed: Any) -> e.ResultAccepted:
    fields: dict[str, Any] = {
        "at": decided.at + 0.5,
        "match_id": decided.match_id,
        "attempt": decided.attempt,
        "referee_id": ME,
        "status": decided.status,
        "winner": decided.winner,
        "points": decided.points,
        "details": decided.details,
        "verified": True,
        "reported_at": "",
    }
    return e.ResultAccepted(**{**fields, **changed})


def finished(rig: Rig) -> Rig:
    """Both players hear how it ended, and the manager takes the report."""
    rig.hears_game_over("P01", "P02")
    rig.acknowledge()
    return rig


def letters_of(rig: Rig) -> list[LetterNote]:
    """What a referee sent about its match, as its transcript has it."""
    return [
        LetterNote(START + one.at, "out", one.to.agent_id, one.message.type, "R1M1", "request", "", _body(one.message))
        for one in rig.sent
        if getattr(one.message, "match_id", None) == "R1M1"
    ]


def _body(message: Any) -> bytes:
    return msgspec.json.encode(message)


def answer(at: float, player: str, body: object, status: str = "200", asked: str = "CHOOSE_PARITY_CALL") -> LetterNote:
    """What a player said."""
    raw = body if isinstance(body, bytes) else json.dumps({"jsonrpc": "2.0", "id": 1, "result": body}).encode()
    return LetterNote(START + at, "in", player, asked, "R1M1", "response", status, raw)


def journals_of(rig: Rig, *more: e.Event, letters: Sequence[LetterNote] = (), game: str = "even_odd") -> Journals:
    told = [*letters_of(rig), *letters]
    record = RefereeJournal(rig.journal, {"R1M1": sorted(told, key=lambda one: one.at)})
    return Journals(around(rig, *more, game=game), {ME: record})


def facts_in(journals: Journals, match_id: str = "R1M1") -> MatchFacts:
    found = facts_of(match_id, journals)
    assert found is not None
    return found


def story(rig: Rig, *more: e.Event, letters: Sequence[LetterNote] = (), game: str = "even_odd") -> Explanation:
    return explain(facts_in(journals_of(rig, *more, letters=letters, game=game)))


def lines_of(told: Explanation) -> list[str]:
    return [line.text for attempt in told.attempts for line in attempt.lines]


def clauses_of(told: Explanation) -> list[str]:
    return [one.requirement for one in told.verdict.clauses]


def on_disk(path: Path, events: Sequence[e.Event], letters: Sequence[LetterNote] = ()) -> Path:
    """A journal of these events, with a secret beside them."""
    with SqliteJournal(path, lambda _: None) as journal:
        journal.append(Entry(tuple(events), {"token/1": SECRET}))
        for letter in letters:
            journal.note(letter)
    return path
