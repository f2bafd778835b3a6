"""The kit: sends requests to the agent, waits for answers that come as requests of their own, and records all."""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Final

from league.protocol.exchanges import EXCHANGES
from league_kit.conventions import CallForm, Convention, Object
from league_kit.kit_server import MANAGER, REFEREE, KitServer, new_token
from league_kit.messages import MessageWriter
from league_kit.record import (
    BUSY,
    OPPONENT,
    Arrival,
    ParsedAnswer,
    Probe,
    RunRecord,
    is_bare_acknowledgement,
    parse_answer,
)
from league_kit.wire import RawRequest, RawResponse, send_request

PROBE_S: Final = 10.0
"""The time limit of requests that have none of their own (`ping`, wrong requests)."""
HTTP_PROBE_S: Final = 2.0
"""The time limit of wrong HTTP requests; some agents answer a GET with a stream that never ends."""
POSTED_WAIT_S: Final = 1.0
"""How long to wait for an answer as a request of its own while the convention is not known (section 13.1)."""
UNLIKELY_WAIT_S: Final = 0.2
"""The same for an agent that has always answered in the result."""
LONGEST_WAIT_S: Final = 10.0
BUSY_RETRIES: Final = 3
LAST_MATCH: Final = 1_000_000
"""Out of so many the number of the matches of a run is drawn."""
Notify = Callable[[str], None]
"""Gets lines for the person who waits."""


@dataclass(frozen=True, slots=True)
class Options:
    """How a run is made."""

    target: str
    listen: int | None = None
    host: str = "127.0.0.1"
    wait_s: float = 32.0
    """For a registration; the longest pause between two is 30 seconds."""
    time_scale: float = 1.0
    only: tuple[str, ...] = ()
    drops_first: bool = False
    """Leave the first registration without an answer, to see the player retry. Many try once and give up."""


@dataclass(slots=True)
class Kit:
    """Plays manager and referee against one player."""

    options: Options
    record: RunRecord
    server: KitServer
    form: CallForm = field(default_factory=CallForm)
    writer: MessageWriter = field(init=False)
    numbers: int = 0

    def __post_init__(self) -> None:
        self.record.own_tokens |= (own := {new_token("league_manager"), new_token("REF01")})
        manager, referee = sorted(own, key=lambda token: token.startswith("tok_REF01"))
        url = self.server.url
        number = secrets.randbelow(LAST_MATCH) + 1
        self.writer = MessageWriter("P01", url + REFEREE, url + OPPONENT, manager, referee, number, names_player=False)

    @property
    def manager_url(self) -> str:
        return self.server.url + MANAGER

    def limit_s(self, kind: str) -> float:
        row = EXCHANGES.get(kind)
        return (row.limit_s if row else PROBE_S) / self.options.time_scale

    def next_id(self) -> int:
        self.numbers += 1
        return self.numbers

    # --- calling ------------------------------------------------------------------------------------------------------

    async def send_message(self, label: str, message: Object, plain: bool = True) -> Probe:
        """Send a message in the form the agent understands; an invitation or a call waits for its answer."""
        return await self.send_as(label, message, self.form, None, plain)

    async def send_as(
        self, label: str, message: Object, form: CallForm, method: str | None = None, plain: bool = False
    ) -> Probe:
        """Send a message in a form, and with a method, that the agent may not understand."""
        number = self.next_id()
        document = form.wrap(number, message, method)
        kind = str(message["message_type"])
        name, is_rpc = str(document.get("method", "")), form.convention is not Convention.BARE
        body = json.dumps(document).encode()
        made = await self._post(label, body, kind, message, number, name, is_rpc, form.convention)
        first = replace(made, plain=plain and made.proper)
        may_follow = first.is_empty or (first.is_readable and first.parsed.error is None)
        if may_follow and is_bare_acknowledgement(kind, first.parsed.content):
            return await self._with_posted_answer(first, self._posted_wait_s(first))
        return self._recorded(first)

    def _posted_wait_s(self, first: Probe) -> float:
        """How long to wait for an answer as a request of its own; short where none is to be expected."""
        left = self.limit_s(first.kind) - first.response.seconds
        alike = ("CHOOSE_PARITY_CALL", "GAME_MOVE_CALL") if first.kind == "GAME_MOVE_CALL" else (first.kind,)
        before = [one for one in self.record.of_kind(*alike) if one.is_answered]
        habit = bool(before) and before[-1].posted is None
        if habit:
            return min(left, UNLIKELY_WAIT_S)
        return min(left, POSTED_WAIT_S) if self.record.convention is None else left

    async def send_document(self, label: str, document: object, proper: bool = True) -> Probe:
        """Send a JSON document that is no message of ours."""
        fields = document if isinstance(document, dict) else {}
        method = str(fields.get("method", ""))
        return self._recorded(
            await self._post(label, json.dumps(document).encode(), "", {}, fields.get("id"), method, proper)
        )

    async def send_raw(self, label: str, body: bytes, request_id: object = None) -> Probe:
        """Send bytes that are no proper request."""
        return self._recorded(await self._post(label, body, "", {}, request_id, "", proper=False))

    async def send_http(self, label: str, request: RawRequest) -> Probe:
        """Send a request that is wrong as HTTP already."""
        at = time.time()
        response = await send_request(request, HTTP_PROBE_S)
        return self._recorded(
            Probe(label, "", {}, None, request.method, False, request.raw(), response, at, HTTP_PROBE_S, ParsedAnswer())
        )

    async def send_bad(self, label: str, request: RawRequest) -> Probe:
        """Send whatever this is, and read the answer as that of a message."""
        return self._recorded(await self.send_aside(request, label))

    async def send_aside(self, request: RawRequest, label: str = "") -> Probe:
        """The same for what is not judged, and so not recorded."""
        response, at = await self._send(request, PROBE_S)
        parsed = parse_answer(response, Convention.SPEC, {})
        return Probe(label, "", {}, None, request.method, False, request.raw(), response, at, PROBE_S, parsed)

    async def _post(
        self,
        label: str,
        body: bytes,
        kind: str,
        message: Object,
        request_id: object,
        method: str,
        proper: bool,
        convention: Convention = Convention.SPEC,
    ) -> Probe:
        request = RawRequest(self.options.target, body, headers=self.form.headers(method, kind))
        limit_s = self.limit_s(kind)
        response, at = await self._send(request, limit_s)
        parsed = parse_answer(response, convention, message)
        return Probe(label, kind, message, request_id, method, proper, request.raw(), response, at, limit_s, parsed)

    async def _send(self, request: RawRequest, limit_s: float) -> tuple[RawResponse, float]:
        """The answer, and when what it answers was sent. A busy agent is asked again when it said: that is no fault
        (section 6.3)."""
        retries = BUSY_RETRIES
        while True:
            at = time.time()
            response = await send_request(request, limit_s)
            if response.status not in BUSY or retries == 0:
                return response, at
            retries -= 1
            told = response.headers.get("retry-after", "2")
            pause = float(told) if told.isdecimal() else 2.0
            await asyncio.sleep(min(pause, LONGEST_WAIT_S) / self.options.time_scale)

    async def _with_posted_answer(self, first: Probe, left_s: float) -> Probe:
        """The same probe with the answer that came as a request of its own, if one did."""
        wanted = EXCHANGES[first.kind].replies

        def fits(arrival: Arrival) -> bool:
            same = arrival.message.get("match_id") == first.message.get("match_id")
            return arrival.kind in wanted and same and arrival.at >= first.at

        taken = {id(one.posted) for one in self.record.probes if one.posted is not None}
        there = [one for one in self.record.arrivals if fits(one) and id(one) not in taken]
        posted = there[0] if there else await self.server.wait_for(fits, left_s)
        return self._recorded(replace(first, posted=posted))

    def _recorded(self, probe: Probe) -> Probe:
        self.record.probes.append(probe)
        return probe


@asynccontextmanager
async def open_kit(options: Options, server: KitServer, record: RunRecord, notify: Notify) -> AsyncIterator[Kit]:
    """A kit that can be registered with, as long as the block lasts."""
    await server.open(options.host, options.listen or 0)
    try:
        kit = Kit(options, record, server)
        if options.listen is not None:
            notify(f"ready: {kit.manager_url}")
        yield kit
    finally:
        await server.close()
