"""What a mailbox keeps, for whom, and for how long."""

from __future__ import annotations

import asyncio

from league.letters import HttpReply
from league.mailbox import boxes
from league.mailbox.boxes import Box, BoxedLetter, Boxes

OK = HttpReply(200, b"yes")


class Caller:
    """Somebody who waits for the answer to a letter."""

    def __init__(self, body: bytes = b"?") -> None:
        self.replies: list[HttpReply | None] = []
        self.letter = BoxedLetter(body, {}, "", self.replies.append)


def fetched(box: Box, reader: str = "r", after: int = 0, now: float = 0.0) -> list[bytes] | None:
    """The letters that a reader gets which does not wait; None if it was ousted."""
    (letters,) = begun(box, reader, after, 0.0, now)
    return None if letters is None else [letter.body for letter in letters]


def begun(
    box: Box, reader: str, after: int = 0, wait_s: float = 60.0, now: float = 0.0
) -> list[list[BoxedLetter] | None]:
    """What the reader gets will be in this list."""
    ends: list[list[BoxedLetter] | None] = []
    box.fetch(reader, after, wait_s, now, ends.append)
    return ends


def full_of(box: Box, *bodies: bytes) -> list[Caller]:
    callers = [Caller(body) for body in bodies]
    assert all(box.put(caller.letter, 0.0) for caller in callers)
    return callers


def test_a_letter_stays_until_it_is_answered() -> None:
    box = Box(0.0)
    first, second = full_of(box, b"1", b"2")
    assert fetched(box) == fetched(box) == [b"1", b"2"]
    assert box.answered(first.letter.number, OK, is_whole=True)
    assert not box.answered(first.letter.number, OK, is_whole=True)
    assert first.replies == [OK]
    assert second.replies == []
    assert fetched(box) == [b"2"]


def test_a_reader_gets_what_came_after_the_last_letter_it_knows() -> None:
    box = Box(0.0)
    first, _ = full_of(box, b"1", b"2")
    assert fetched(box, after=first.letter.number) == [b"2"]


def test_two_lives_of_a_manager_number_letters_differently() -> None:
    callers = [full_of(Box(0.0), b"1")[0] for _ in range(20)]
    assert len({caller.letter.number for caller in callers}) == 20


def test_the_newest_reader_wins_for_good() -> None:
    box = Box(0.0)
    full_of(box, b"1")
    assert fetched(box, "old") == [b"1"]
    assert fetched(box, "new") == [b"1"]
    assert fetched(box, "old") is fetched(box, "old") is None
    assert fetched(box, "new") == [b"1"]


def test_a_reader_that_waits_gets_the_letters_that_come_together() -> None:
    async def scenario() -> None:
        box = Box(0.0)
        waiting = begun(box, "r")
        assert not box.is_idle(boxes.IDLE_S + 1)
        callers = full_of(box, b"1", b"2")
        await asyncio.sleep(0)
        assert waiting == [[caller.letter for caller in callers]]

    asyncio.run(scenario())


def test_a_reader_waits_no_longer_than_it_wants_to() -> None:
    async def scenario() -> None:
        box = Box(0.0)
        waiting = begun(box, "r", wait_s=0.01)
        await asyncio.sleep(0.05)
        assert waiting == [[]]

    asyncio.run(scenario())


def test_a_reader_that_waits_is_told_of_a_newer_one() -> None:
    async def scenario() -> None:
        box = Box(0.0)
        old = begun(box, "old")
        new = begun(box, "new")
        await asyncio.sleep(0)
        assert (old, new) == ([None], [])
        box.close()
        await asyncio.sleep(0)
        assert new == [[]]

    asyncio.run(scenario())


def test_a_box_holds_no_more_than_its_share() -> None:
    box = Box(0.0)
    full_of(box, *[b"?"] * boxes.LETTERS)
    assert not box.put(Caller().letter, 0.0)
    box = Box(0.0)
    full_of(box, b"x" * boxes.BYTES)
    assert not box.put(Caller(b"x").letter, 0.0)


def test_an_answer_in_pieces_has_an_end() -> None:
    box = Box(0.0)
    (caller,) = full_of(box, b"?")
    number = caller.letter.number
    assert box.answered(number, HttpReply(200, b"ab"), is_whole=False)
    assert box.answered(number, HttpReply(200, b"c"), is_whole=True)
    assert caller.replies == [HttpReply(200, b"abc")]
    (caller,) = full_of(box, b"?")
    piece = HttpReply(200, b"x" * (boxes.BYTES // 4))
    taken = [box.answered(caller.letter.number, piece, is_whole=False) for _ in range(4)]
    assert taken == [True, True, False, False]


def test_letters_grow_too_old() -> None:
    box = Box(0.0)
    (caller,) = full_of(box, b"?")
    assert fetched(box, now=boxes.AGE_S) == []
    assert caller.replies == [None]


def test_a_caller_that_leaves_takes_its_letter_along() -> None:
    box = Box(0.0)
    (caller,) = full_of(box, b"?")
    box.drop(caller.letter)
    assert fetched(box) == []
    assert caller.replies == []


def test_much_is_fetched_in_several_goes() -> None:
    box = Box(0.0)
    callers = full_of(box, *[b"x" * (boxes.PIECE // 2)] * 3)
    half = b"x" * (boxes.PIECE // 2)
    assert fetched(box) == [half] * 2
    assert fetched(box, after=callers[1].letter.number) == [half]


def test_idle_boxes_make_room() -> None:
    mailboxes = Boxes()
    assert mailboxes.open("a", 0.0, limit=1)
    assert mailboxes.open("b", 1.0, limit=1) is None
    assert mailboxes.open("b", boxes.IDLE_S + 1, limit=1)
    assert mailboxes.find("a") is None
