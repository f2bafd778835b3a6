"""`league export --format conversations`: what was said for each choice, tied to match and turn.

Conversations are in the journals of the players that asked. The league's record holds a digest of those that counted in
each match: `in_league_record` says whether it fits what the player kept.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator, Sequence
from functools import reduce
from importlib.util import find_spec
from pathlib import PurePosixPath
from typing import Any, Final, NamedTuple

import msgspec

from league.events import ConversationKept, ResultAccepted
from league.features.minds import conversations
from league.manager.league_manager import LeagueManager
from league.manager.state.ledger import provenance_in
from league.reading.journals import Journals
from league.terminal import CommandError

NAME: Final = "conversations"
Row = dict[str, Any]
File = tuple[PurePosixPath, bytes]


def export(manager: LeagueManager, journals: Journals) -> Iterator[File]:
    """Write all conversations as JSON Lines, and as Parquet where pyarrow is installed."""
    rows = list(conversation_rows(manager, journals))
    if not rows:
        raise CommandError(
            "no player's journal here holds a conversation: they are beside the manager's, in its folder"
        )
    lines = b"".join(msgspec.json.encode(row) + b"\n" for row in rows)
    yield PurePosixPath(f"{NAME}.jsonl"), lines
    if find_spec("pyarrow") is not None:
        yield PurePosixPath(f"{NAME}.parquet"), _parquet(rows)


def conversation_rows(manager: LeagueManager, journals: Journals) -> Iterator[Row]:
    """A row for each conversation, in the order in which players kept them."""
    for player_id, events in sorted(journals.players.items()):
        kept = [event for event in events if isinstance(event, ConversationKept)]
        by_attempt: dict[MatchAttempt, list[ConversationKept]] = {}
        for event in kept:
            by_attempt.setdefault(MatchAttempt(event.match_id, event.attempt), []).append(event)
        recorded = {
            attempt: digest_of_match(about) == _recorded_digest(manager, player_id, attempt)
            for attempt, about in by_attempt.items()
        }
        for event in kept:
            yield {
                "match_id": event.match_id,
                "attempt": event.attempt,
                "turn": event.turn,
                "player_id": player_id,
                "at": event.at,
                "sha256": conversations.digest_of(event.conversation),
                "in_league_record": recorded[MatchAttempt(event.match_id, event.attempt)],
                "conversation": event.conversation,
            }


class MatchAttempt(NamedTuple):
    """An attempt to play a match."""

    match_id: str
    number: int


def _recorded_digest(manager: LeagueManager, player_id: str, attempt: MatchAttempt) -> str | None:
    """The digest in the league's result; None if another attempt counts, or none does."""
    match = manager.ledger.matches.get(attempt.match_id)
    if match is None or not isinstance(match.result, ResultAccepted) or match.result.attempt != attempt.number:
        return None
    provenance = provenance_in(match.result.details, player_id)
    return None if provenance is None else provenance.conversation_sha256


def digest_of_match(kept: Sequence[ConversationKept]) -> str:
    """Return the digest of all conversations of an attempt that led to a choice."""
    # A choice that was declined is asked for once more: the last conversation of a turn led to the choice.
    by_turn: dict[int, str] = {}
    for event in kept:
        if conversations.read(event.conversation).choice is not None:
            by_turn[event.turn] = conversations.digest_of(event.conversation)
    digests = [by_turn[turn] for turn in sorted(by_turn)]
    return reduce(_chained, digests) if digests else ""


def _chained(before: str, digest: str) -> str:
    return hashlib.sha256(f"{before}{digest}".encode()).hexdigest()


def _parquet(rows: Sequence[Row]) -> bytes:
    # An extra that few have installed.
    import pyarrow
    from pyarrow import parquet

    stream = io.BytesIO()
    parquet.write_table(pyarrow.Table.from_pylist(list(rows)), stream)
    return stream.getvalue()
