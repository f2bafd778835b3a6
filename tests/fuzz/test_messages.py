"""Whatever the bytes, as a request or as an answer: they are read, or refused with an error of the catalogue, and never
a bug of ours. A run prints its seed; `FUZZ_SEED=N` repeats it."""

from __future__ import annotations

import asyncio
import json
import os
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import league
from league import letters
from league.letters import Speaker
from league.machine import Answering, Ping
from league.protocol.errors import ERRORS, as_error
from league.protocol.message.envelope import Reading, Unsealed
from league.protocol.message.exchanges import Role
from league.protocol.message.messages import Message
from league.protocol.wire.jsonrpc import BadRequestError
from tests.properties.test_foreign_shapes import sent_messages
from tests.support.fuzzing import Coverage, Mutator
from tests.support.http_wire import free_port, hang_up, one_answer
from tests.support.processes import WATCHDOG_S, Process, Processes

MESSAGES = 20_000
OVER_HTTP = 1_500
DEEP_PARTS, DEEP_PART = 20, 50_000
GUIDED = 40_000
NOW = 1_750_000_000.0
READINGS = (Reading("compat"), Reading("strict"))
SPEAKERS = tuple(Speaker(role, f"{role.value}:X", reading) for role in Role for reading in READINGS)
ASKED: tuple[Message | Ping, ...] = (*sent_messages(), Ping())
STATUSES = {200, 202, 400, 413, 429}
"""What a request gets whose HTTP is right: 202 is MCP's answer to a notification."""


def seed() -> int:
    """The seed of this run, printed so that a failure can be repeated."""
    chosen = int(os.environ.get("FUZZ_SEED", random.randrange(2**31)))
    print(f"FUZZ_SEED={chosen}")
    return chosen


def take(raw: bytes) -> None:
    """Read it as whoever gets it would, and write what it is answered."""
    for speaker in SPEAKERS:
        _judge(_refusal(raw, speaker))
    for sent in ASKED:
        for reading in READINGS:
            letters.read_answer(raw, sent, reading)


def _refusal(raw: bytes, speaker: Speaker) -> bytes | None:
    """What it is answered; None if it is right as far as the codec can tell."""
    try:
        asked = letters.read_request(raw, speaker)
    except BadRequestError as bad:
        return letters.write_bad_request(bad, speaker, NOW)
    content = asked.content
    if isinstance(content, Unsealed) and content.message is None:
        return letters.write_answer(asked, Answering(1, as_error(content.violations[0])), speaker, NOW)
    return None


def _judge(answer: bytes | None) -> None:
    """A refusal is JSON and names a row of the catalogue, whatever it quotes; E099 would be a bug of ours."""
    if answer is not None:
        told: dict[str, Any] = json.loads(answer)
        data = told["error"]["data"] if "error" in told else told
        assert data["error_code"] in ERRORS.keys() - {"E099"}


def take_all(mutator: Mutator, count: int) -> None:
    for number in range(count):
        raw = mutator.next()
        try:
            take(raw)
        except Exception as error:
            raise AssertionError(f"message {number} of this seed: {raw!r}") from error


@pytest.mark.requirement("PLAYER.survives_nonsense")
def test_twenty_thousand_messages_by_chance_are_read_or_refused() -> None:
    take_all(Mutator(seed()), MESSAGES)


@pytest.mark.deep
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("part", range(DEEP_PARTS))
def test_a_million_messages_by_chance_are_read_or_refused(part: int) -> None:
    take_all(Mutator(seed() + part), DEEP_PART)


@pytest.mark.deep
@pytest.mark.timeout(3600)
def test_a_hunt_for_lines_nobody_reached_finds_no_bug() -> None:
    """What takes a new way through the code is kept, and made worse from there."""
    mutator = Mutator(seed())
    coverage = Coverage(Path(league.__file__).parent)
    for raw in tuple(mutator.pool):
        coverage.finds(lambda raw=raw: take(raw))  # type: ignore[misc]
    at_first, kept = len(coverage.seen), []
    for _ in range(GUIDED):
        raw = mutator.next()
        if coverage.finds(lambda raw=raw: take(raw)):  # type: ignore[misc]
            kept.append(raw)
            mutator.pool += [raw] * 5
    print(f"{len(coverage.seen)} steps, {len(coverage.seen) - at_first} of them by {len(kept)} new messages")
    assert kept


def test_the_guide_notices_a_new_way_and_only_once() -> None:
    coverage = Coverage(Path(league.__file__).parent)
    assert coverage.finds(lambda: take(b"{}"))
    assert not coverage.finds(lambda: take(b"{}"))
    assert coverage.finds(lambda: take(b"["))


def test_the_same_seed_makes_the_same_messages() -> None:
    one, other = Mutator(7), Mutator(7)
    made = [one.next() for _ in range(200)]
    assert made == [other.next() for _ in range(200)]
    assert len(set(made)) > 150


# --- over HTTP --------------------------------------------------------------------------------------------------------


async def post_all(port: int, messages: list[bytes]) -> Counter[int]:
    """Post them one after the other, over one connection as long as it lasts; how often which status came."""
    found: Counter[int] = Counter()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for raw in messages:
        head = b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
        writer.write(head % len(raw) + raw)
        try:
            status, body = await one_answer(reader)
        except asyncio.IncompleteReadError as error:
            raise AssertionError(f"no answer to {raw!r}") from error
        assert b"E099" not in body, raw
        found[status] += 1
        if status == 413:  # the rest of it is not read
            await hang_up(writer)
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
    await hang_up(writer)
    return found


def agents(processes: Processes) -> list[Process]:
    """One of each role; nobody plays."""
    manager = processes.manager(players=60)
    nobody = f"http://127.0.0.1:{free_port()}/mcp"
    return [manager, processes.referee(nobody), processes.players(nobody)]


def test_thousands_of_messages_by_chance_over_http_all_get_an_answer(tmp_path: Path) -> None:
    mutator = Mutator(seed())
    with Processes(tmp_path) as processes:
        for agent in agents(processes):
            messages = [mutator.next() for _ in range(OVER_HTTP)]
            found = asyncio.run(asyncio.wait_for(post_all(agent.port, messages), WATCHDOG_S))
            assert set(found) <= STATUSES, found
            assert min(found[200], found[400]) > 0, found
        assert [one.stop() for one in processes.started] == [0, 0, 0]
    assert processes.bugs == []
