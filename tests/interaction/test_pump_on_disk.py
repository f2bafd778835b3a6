"""The pump on the journal on disk: nothing leaves before it is durable, and a full disk is answered with E041."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from league.agent.pump import Actions, Pump
from league.events import Event, LeagueEnded
from league.machine import Letter, Machine, Operate, Ping, Pong, Step, Undelivered
from league.protocol.errors import PeerError
from league.storage.files.sqlite import Settings, SqliteJournal
from league.storage.notices import Durable, WriteFailed
from tests.support.journals import Notices, fast_folder, locked_by_another


class Clerk(Machine):
    """Notes what it is told, and says what it has noted."""

    def __init__(self) -> None:
        super().__init__(bytes, {})
        self.noted: list[str] = []

    def apply(self, event: Event) -> None:
        assert isinstance(event, LeagueEnded)
        self.noted.append(event.champion)

    def resume(self, now: float) -> Step:
        return Step()

    def handle(self, letter: Letter, now: float) -> Step:
        self._step = Step()
        if isinstance(letter.content, Operate):
            self._happened(LeagueEnded(at=now, champion=letter.content.target))
        self._reply(letter, Pong(tuple((name, 1) for name in self.noted)))
        return self._step

    def undelivered(self, failed: Undelivered, now: float) -> Step:
        return Step()

    def answered(self, key: str, value: object, now: float) -> Step:
        return Step()

    def tick(self, now: float) -> Step:
        return Step()

    def snapshot(self) -> Mapping[str, Any]:
        return {"noted": self.noted}


class Desk:
    """What the shell does with the two of them, one notice at a time."""

    def __init__(self, folder: Path) -> None:
        self.notices = Notices()
        self.journal = SqliteJournal(folder / "journal.db", self.notices, settings=Settings(busy_s=0))
        self.pump = Pump(self._load)
        self.answers: dict[int, object] = {}

    def _load(self) -> Clerk:
        clerk = Clerk()
        for event in self.journal.events():
            clerk.apply(event)
        return clerk

    def ask(self, content: Operate | Ping) -> int:
        letter_id, actions = self.pump.request(content, "", 0.0)
        self._carry_out(actions)
        return letter_id

    def note(self, text: str) -> int:
        return self.ask(Operate("note", "key", text))

    def hear(self) -> Durable | WriteFailed:
        """Take the journal's next notice."""
        notice = self.notices.next()
        match notice:
            case Durable(_, entries):
                self._carry_out(self.pump.durable(entries))
            case WriteFailed():
                self._carry_out(self.pump.storage_failed())
        return notice

    def go_on(self, failed: WriteFailed) -> None:
        assert self.journal.try_again(failed)
        self._carry_out(self.pump.storage_back(0.0))

    def _carry_out(self, actions: Actions) -> None:
        for entry in actions.append:
            self.journal.append(entry)
        self.answers |= {one.letter_id: one.content for one in actions.replies}


@pytest.fixture
def desk() -> Iterator[Desk]:
    with fast_folder() as folder:
        made = Desk(folder)
        yield made
        made.journal.close()


def _code(answer: object) -> str | None:
    return answer.code if isinstance(answer, PeerError) else None


def _noted(*names: str) -> Pong:
    return Pong(tuple((name, 1) for name in names))


@pytest.mark.requirement("KEEPING.acknowledged_survives")
def test_an_answer_waits_until_the_disk_holds_what_it_says(desk: Desk) -> None:
    written, read = desk.note("first"), desk.ask(Ping())
    assert desk.answers == {}
    desk.hear()
    assert desk.answers == {written: _noted("first"), read: _noted("first")}


@pytest.mark.requirement("KEEPING.storage_unavailable")
def test_after_a_failure_answers_count_from_the_new_epoch(desk: Desk) -> None:
    for number in range(5):
        desk.note(f"before {number}")
        desk.hear()
    with locked_by_another(desk.journal.path):
        lost = desk.note("lost")
        # The disk has failed, but the shell has not heard of it yet.
        failed = desk.notices.next()
        behind = desk.note("behind it")
    assert isinstance(failed, WriteFailed)
    desk._carry_out(desk.pump.storage_failed())
    assert [_code(desk.answers[one]) for one in (lost, behind)] == ["E041", "E041"]
    desk.go_on(failed)
    after = desk.note("after")
    # Five entries were durable before; none of this epoch is.
    assert after not in desk.answers
    assert desk.hear() == Durable(epoch=1, entries=1)
    expected = [*(f"before {number}" for number in range(5)), "after"]
    assert desk.answers[after] == _noted(*expected)
    assert desk._load().noted == expected
