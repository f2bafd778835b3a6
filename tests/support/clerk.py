"""A machine that does what it is told, and a pump on a memory journal around it: for tests of the pump alone."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from league.agent.pump import Actions, Pump
from league.events import ConventionLearned, Event, LeagueEnded
from league.machine import Address, Ask, Letter, Machine, Operate, Outgoing, Ping, Pong, Step, Undelivered
from league.storage.journal import MemoryJournal

ANN, BEN = Address("P01", "http://127.0.0.1:8101/mcp"), Address("P02", "http://127.0.0.1:8102/mcp")


class Clerk(Machine):
    """A machine that does what it is told: `Operate.order` names the method to run."""

    def __init__(self, secrets: Mapping[str, str] | None = None) -> None:
        super().__init__(bytes, secrets)
        self.noted: list[str] = []
        self.seen: list[object] = []
        self.kept: list[Letter] = []
        self.resumed = 0

    def apply(self, event: Event) -> None:
        assert isinstance(event, LeagueEnded | ConventionLearned)
        self.noted.append(event.champion if isinstance(event, LeagueEnded) else event.agent_id)

    def resume(self, now: float) -> Step:
        self.resumed += 1
        return Step()

    def handle(self, letter: Letter, now: float) -> Step:
        self._step = Step()
        if isinstance(letter.content, Operate):
            getattr(self, f"_{letter.content.order}")(letter, now)
        elif isinstance(letter.content, Ping):
            self._reply(letter, Pong(tuple((name, 1) for name in self.noted)))
        else:
            self.seen.append(letter)
        return self._step

    def _note(self, letter: Letter, now: float) -> None:
        assert isinstance(letter.content, Operate)
        self._happened(LeagueEnded(at=now, champion=letter.content.target))
        self._reply(letter, Pong())

    def _note_lazily(self, letter: Letter, now: float) -> None:
        assert isinstance(letter.content, Operate)
        learned = ConventionLearned(at=now, agent_id=letter.content.target, endpoint="", convention="SPEC")
        self._happened(learned)
        self._reply(letter, Pong())

    def _note_and_tell(self, letter: Letter, now: float) -> None:
        self._note(letter, now)
        self._tell(letter, now)

    def _tell(self, letter: Letter, now: float) -> None:
        self._send(Outgoing("tell/1", (ANN, BEN), Ping(), now + 5))

    def _ask(self, letter: Letter, now: float) -> None:
        self._happened(LeagueEnded(at=now, champion="asked"))
        call: Any = None
        self._step.asks.append(Ask("ask/1", "even_odd", call, now + 30))

    def _call_off(self, letter: Letter, now: float) -> None:
        self._step.cancel += ("tell/1",)

    def _take_back(self, letter: Letter, now: float) -> None:
        self._step.cancel += ("ask/1",)

    def _keep(self, letter: Letter, now: float) -> None:
        self.kept.append(letter)

    def _answer_kept(self, letter: Letter, now: float) -> None:
        for one in self.kept:
            self._reply(one, Pong())

    def _wake_later(self, letter: Letter, now: float) -> None:
        self.deadline = now + 3
        self._reply(letter, Pong())

    def undelivered(self, failed: Undelivered, now: float) -> Step:
        self.seen.append(failed)
        return Step()

    def answered(self, key: str, value: object, now: float) -> Step:
        self.seen.append((key, value))
        return Step()

    def tick(self, now: float) -> Step:
        self.seen.append(("tick", now))
        self.deadline = None
        return Step()

    def snapshot(self) -> Mapping[str, Any]:
        return {"noted": self.noted}


class Desk:
    """A pump on a memory journal, with the clerk inside."""

    def __init__(self, gap_s: float = math.inf, *, is_volatile: bool = False) -> None:
        self.journal = MemoryJournal()
        self.pump = Pump(self._load, gap_s, is_volatile=is_volatile)
        self.base = 0

    def _load(self) -> Machine:
        clerk = Clerk(self.journal.secrets())
        for event in self.journal.events():
            clerk.apply(event)
        return clerk

    @property
    def clerk(self) -> Clerk:
        assert isinstance(self.pump.machine, Clerk)
        return self.pump.machine

    def order(self, name: str, target: str = "", now: float = 0.0) -> tuple[int, Actions]:
        letter_id, actions = self.pump.request(Operate(name, "key", target), "here", now)
        self.store(actions)
        return letter_id, actions

    def store(self, actions: Actions) -> None:
        for entry in actions.append:
            self.journal.append(entry)

    def sync(self) -> Actions:
        return self.pump.durable(self.journal.sync() - self.base)

    def fail(self) -> Actions:
        self.journal.fail()
        self.base = self.journal.entries
        return self.pump.storage_failed()
