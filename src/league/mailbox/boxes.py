"""The letters of mailboxes.

Theory of operation. A letter is a call to the owner of a mailbox. It stays in the box from its arrival (`put`) until
it is answered, its caller has given up (`drop`), or it is too old. A reader asks for the letters after the last one
that it knows, and waits if there are none. Nothing is marked as read: a reader that lost an answer asks again, a new
one begins at 0 and gets every letter that has no answer yet.

A box has one reader. Readers have ids; the one that came last is the reader, and those before it are told so for good.

What must never happen: that a letter ends twice or never, that a box holds more than its share, or that a caller learns
whether anybody reads.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from league.agent.sources import chance
from league.letters import HttpReply

LETTERS: Final = 128
"""The most letters in a box: twice the matches that a referee conducts at once."""
BYTES: Final = 4 * 1024 * 1024
"""The most bytes in a box, its letters and unfinished answers together."""
AGE_S: Final = 3600.0
"""A letter that nobody answered for so long is dropped, also if its caller still waits."""
IDLE_S: Final = 600.0
"""A box without letters or readers is forgotten after this time; its owner does not notice."""
BOXES: Final = 4096
AT_ONCE: Final = 32
"""The most letters that are fetched at once, after the first one with at most `PIECE` bytes together."""
PIECE: Final = 1024 * 1024
_READERS: Final = 8


class BoxedLetter(Struct, eq=False):
    """A call on its way. `on_end` gets the answer, once, or None if there will be none."""

    body: bytes
    headers: dict[str, str]
    sender: str
    """The caller's address; "" if the manager calls."""
    on_end: Callable[[HttpReply | None], None]
    number: int = 0
    since: float = 0.0
    answer: bytearray = field(default_factory=bytearray)
    """The beginning of an answer that comes in pieces."""

    @property
    def size(self) -> int:
        return len(self.body) + len(self.answer)


OnFetched = Callable[[list[BoxedLetter] | None], None]
"""Gets letters, or None if another reader has taken over the box."""


class _Waiting(Struct, eq=False):
    """A reader that waits for letters."""

    reader: str
    after: int
    on_end: OnFetched
    timer: asyncio.TimerHandle


class Box:
    """One mailbox."""

    def __init__(self, now: float) -> None:
        self.letters: dict[int, BoxedLetter] = {}
        """Letters without an answer, the oldest first."""
        self.used_at = now
        self._reader = ""
        self._ousted: deque[str] = deque(maxlen=_READERS)
        self._waiting: _Waiting | None = None
        # Two managers, or two lives of one, must not give different letters the same number.
        self._last = int.from_bytes(chance(5))

    def is_idle(self, now: float) -> bool:
        """True if there are no letters, and was no reader lately."""
        return not self.letters and self._waiting is None and self.used_at + IDLE_S < now

    def put(self, letter: BoxedLetter, now: float) -> bool:
        """Add a letter, and wake the reader; False if there is no room."""
        if self.letters:
            self.drop_old(now)
            used = letter.size + sum(other.size for other in self.letters.values())
            if len(self.letters) >= LETTERS or used > BYTES:
                return False
        self._last += 1
        letter.number = self._last
        letter.since = self.used_at = now
        self.letters[letter.number] = letter
        self._wake()
        return True

    def drop(self, letter: BoxedLetter) -> None:
        """Forget a letter: its caller has gone."""
        self.letters.pop(letter.number, None)

    def drop_old(self, now: float) -> None:
        """End the letters that nobody answered in time."""
        while self.letters:
            oldest = next(iter(self.letters.values()))
            if oldest.since + AGE_S > now:
                return
            del self.letters[oldest.number]
            oldest.on_end(None)

    def answered(self, number: int, reply: HttpReply, *, is_whole: bool) -> bool:
        """Take the answer to a letter, or its next piece; False if nobody waits for it or it is too large."""
        letter = self.letters.get(number)
        if letter is None or len(letter.answer) + len(reply.body) > BYTES // 2:
            return False
        if not is_whole:
            letter.answer += reply.body
            return True
        if letter.answer:
            reply = replace(reply, body=bytes(letter.answer + reply.body))
        del self.letters[number]
        letter.on_end(reply)
        return True

    def fetch(self, reader: str, after: int, wait_s: float, now: float, on_end: OnFetched) -> None:
        """Give `on_end` the letters after this number; if there are none, wait for one."""
        if reader in self._ousted:
            on_end(None)
            return
        # The same reader may come twice, when a connection of its own was lost.
        self._wake()
        if reader != self._reader and self._reader:
            self._ousted.append(self._reader)
        self._reader = reader
        self.used_at = now
        self.drop_old(now)
        letters = self._after(after)
        if letters or wait_s <= 0:
            on_end(letters)
            return
        timer = asyncio.get_running_loop().call_later(wait_s, self._wake)
        self._waiting = _Waiting(reader, after, on_end, timer)

    def _after(self, number: int) -> list[BoxedLetter]:
        letters: list[BoxedLetter] = []
        size = 0
        for letter in self.letters.values():
            if letter.number > number:
                size += len(letter.body)
                if letters and (size > PIECE or len(letters) == AT_ONCE):
                    break
                letters.append(letter)
        return letters

    def _wake(self) -> None:
        waiting = self._waiting
        self._waiting = None
        if waiting is not None:
            waiting.timer.cancel()
            # A moment later: letters often come together.
            asyncio.get_running_loop().call_soon(self._hand_over, waiting)

    def _hand_over(self, waiting: _Waiting) -> None:
        waiting.on_end(self._after(waiting.after) if waiting.reader == self._reader else None)

    def close(self) -> None:
        """Let the reader go, and end all letters."""
        self._wake()
        letters, self.letters = self.letters, {}
        for letter in letters.values():
            letter.on_end(None)


class Boxes:
    """The mailboxes of a manager, by name."""

    def __init__(self) -> None:
        self._boxes: dict[str, Box] = {}

    def __len__(self) -> int:
        return len(self._boxes)

    def find(self, name: str) -> Box | None:
        """Return a mailbox that was used lately."""
        return self._boxes.get(name)

    def open(self, name: str, now: float, limit: int = BOXES) -> Box | None:
        """Return a mailbox; None if there are so many that no other one can be opened."""
        box = self._boxes.get(name)
        if box is None:
            if len(self._boxes) >= limit:
                self._forget_idle(now)
            if len(self._boxes) >= limit:
                return None
            box = self._boxes[name] = Box(now)
        return box

    def _forget_idle(self, now: float) -> None:
        for name, box in list(self._boxes.items()):
            box.drop_old(now)
            if box.is_idle(now):
                del self._boxes[name]

    def close(self) -> None:
        """Let all readers and callers go."""
        for box in self._boxes.values():
            box.close()
