"""A league at any position of its manager's journal, replayed from the nearest checkpoint before it.

Checkpoints are kept at multiples of a spacing. If there are too many, the spacing doubles and every second one is
dropped, so that they stay spread over the journal however long it gets.
"""

from __future__ import annotations

from dataclasses import dataclass
from threading import Lock
from typing import Final

import msgspec

from league.events import Event, RoundFinished
from league.manager.league_manager import LeagueManager
from league.manager.state.ledger import Ledger
from league.reading.journals import apply, first_manager, manager_with
from league.storage.reading import JournalReader, named

CHECKPOINTS: Final = 8
"""The most that are kept: those of 99 players take some ten megabytes."""
SPACING: Final = 256
"""Events between two checkpoints, at first."""
_STATE = msgspec.msgpack.Encoder()
_LEDGER = msgspec.msgpack.Decoder(Ledger)


@dataclass(frozen=True, slots=True)
class Moment:
    """The league after `seq` events of a journal that holds `last`; `event` is the newest of the former."""

    manager: LeagueManager
    seq: int
    last: int
    event: Event


class LeagueHistory:
    """May be asked from any thread; one replays at a time. A journal that is being written may be read."""

    def __init__(self, journal: JournalReader) -> None:
        self.journal = journal
        self._replaying = Lock()
        self._checkpoints: dict[int, bytes] = {}
        """States of the league, by the number of events that led to them."""
        self._spacing = SPACING

    def at(self, seq: int) -> Moment | None:
        """The league after that many events; None if the journal does not hold as many."""
        last = self.journal.last_seq
        if not 1 <= seq <= last:
            return None
        with self._replaying:
            manager, event = self._replay(seq)
        return Moment(manager, seq, last, event)

    def after_round(self, round_id: int) -> Moment | None:
        """The league when this round was over for the first time; None if it is not yet."""
        for seq, event in self.journal.of_kind(RoundFinished, named("round_id", round_id)):
            if event.round_id == round_id:
                return self.at(seq)
        return None

    def _replay(self, until: int) -> tuple[LeagueManager, Event]:
        # Never from the checkpoint at `until` itself: its last event is asked for too.
        earlier = [seq for seq in self._checkpoints if seq < until]
        start = max(earlier, default=0)
        manager = None
        if start:
            manager = manager_with(_LEDGER.decode(self._checkpoints[start]))
        event: Event | None = None
        for seq, event in self.journal.events_after(start, until):
            manager = manager or first_manager(event, self.journal.place)
            apply(manager.ledger, [(seq, event)], self.journal.place)
            if seq % self._spacing == 0 and seq not in self._checkpoints:
                self._keep(seq, manager)
        assert manager is not None, "the journal holds them"
        assert event is not None, "a checkpoint is before what is asked for"
        return manager, event

    def _keep(self, seq: int, manager: LeagueManager) -> None:
        # Encoded, since the manager goes on changing its ledger.
        self._checkpoints[seq] = _STATE.encode(manager.ledger)
        while len(self._checkpoints) > CHECKPOINTS:
            self._spacing *= 2
            for place in list(self._checkpoints):
                if place % self._spacing:
                    del self._checkpoints[place]
