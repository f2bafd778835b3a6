"""The heads of the manager's chain that others kept: the end of its journal, as it was when a message left.

The manager sends its head with every final table and with LEAGUE_COMPLETED. Players and referees keep those letters. A
head that is not in the chain means that the manager's journal was rewritten afterwards, or that its end was cut off.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from league.events import LeagueEnded, RoundEnded
from league.features.audit.contradictions import Contradiction
from league.features.audit.journal_evidence import LeagueJournals, ReadJournal
from league.features.audit.promises.grounds.event_history import inner, text, whole
from league.storage.chain import Examination, examine
from league.storage.reading import open_for_reading

MESSAGES = ("LEAGUE_STANDINGS_UPDATE", "LEAGUE_COMPLETED")


class KeptHead(NamedTuple):
    """A head in a letter."""

    seq: int
    digest: str


def heads_in(journal: ReadJournal) -> Iterator[KeptHead]:
    """The heads that an agent got from the manager: in its events, and in its letters."""
    for event in journal.events:
        if isinstance(event, RoundEnded | LeagueEnded) and event.head_digest:
            yield KeptHead(event.head_seq, event.head_digest)
    for exchange in journal.transcript.exchanges:
        is_from_manager = exchange.request.direction == "in" and exchange.request.message_type in MESSAGES
        # What an agent refused may be anybody's.
        if not is_from_manager or "error" in exchange.frame:
            continue
        head = inner(exchange.message, "head")
        seq = whole(head, "seq")
        digest = text(head, "digest")
        if seq is not None and digest is not None:
            yield KeptHead(seq, digest)


def unknown_heads(journals: LeagueJournals) -> Iterator[Contradiction]:
    """Heads in other journals that the manager's chain does not contain; one for each journal."""
    manager = journals.manager
    if manager is None:
        return
    chain = _heads_of(manager.chain)
    has_grown = False
    for agent_id, journal in (*journals.referees.items(), *journals.players.items()):
        for head in heads_in(journal):
            if head in chain:
                continue
            if head.seq > manager.chain.sound and not has_grown:
                # A league that is played goes on while its journals are read, the manager's first.
                chain |= _heads_now(manager)
                has_grown = True
            if head not in chain:
                detail = f"{agent_id} was sent the head of event {head.seq}, {head.digest}, which is not in this chain"
                yield Contradiction("", detail, journal.place.name)
                break


def _heads_of(chain: Examination) -> set[KeptHead]:
    return {KeptHead(head.seq, head.digest.hex()) for head in chain.heads}


def _heads_now(manager: ReadJournal) -> set[KeptHead]:
    """The heads of the manager's chain as it is now."""
    with open_for_reading(manager.place) as journal:
        return _heads_of(examine(journal.stored_rows()))
