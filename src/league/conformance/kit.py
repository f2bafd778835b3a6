"""The kit at work: calls the agent, waits for answers that come as requests of their own, and records everything."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import dataclass, field, replace
from typing import Final

from league.conformance.conventions import Convention, Object, Way
from league.conformance.house import MANAGER, REFEREE, House, new_token
from league.conformance.messages import Speaker
from league.conformance.record import OPPONENT, Arrival, Exchange, Heard, Record, hear, is_mere
from league.conformance.wire import Request, Response, exchange
from league.protocol.exchanges import EXCHANGES

PROBE_S: Final = 10.0
"""The limit of what has none of its own (`ping`, wrong requests)."""
KNOCK_S: Final = 2.0
"""The limit of what is wrong already as HTTP; some answer a GET with a stream that never ends."""
FIND_OUT_S: Final = 1.0
"""So long an answer as a request of its own is awaited while the convention is not proven (section 13.1)."""
HARDLY_S: Final = 0.2
"""The same with an agent that has always answered at once."""
LONGEST_WAIT_S: Final = 10.0
TRIES_LATER: Final = 3


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
    """The first registration gets no answer, to see the player repeat it. Many try once and give up."""


@dataclass(slots=True)
class Kit:
    """Plays manager and referee against one player."""

    options: Options
    record: Record
    house: House
    way: Way = field(default_factory=Way)
    speaker: Speaker = field(init=False)
    numbers: int = 0

    def __post_init__(self) -> None:
        self.record.own_tokens |= (own := {new_token("league_manager"), new_token("REF01")})
        manager, referee = sorted(own, key=lambda token: token.startswith("tok_REF01"))
        url = self.house.url
        self.speaker = Speaker("P01", url + REFEREE, url + OPPONENT, manager, referee, names_player=False)

    @property
    def manager_url(self) -> str:
        return self.house.url + MANAGER

    def limit_s(self, kind: str) -> float:
        row = EXCHANGES.get(kind)
        return (row.limit_s if row else PROBE_S) / self.options.time_scale

    def next_id(self) -> int:
        self.numbers += 1
        return self.numbers

    # --- calling ------------------------------------------------------------------------------------------------------

    async def tell(self, label: str, message: Object, plain: bool = True) -> Exchange:
        """Send a message the way the agent understands; an invitation or a call waits for its answer."""
        return await self.call(label, message, self.way, None, plain)

    async def call(
        self, label: str, message: Object, way: Way, method: str | None = None, plain: bool = False
    ) -> Exchange:
        """The same in a way, and by a method, that it may not understand."""
        number = self.next_id()
        document = way.wrap(number, message, method)
        kind = str(message["message_type"])
        made = await self._call(label, document, kind, message, number, way)
        first = replace(made, plain=plain and made.proper)
        if is_mere(kind, first.heard.content) and first.is_readable and first.heard.refusal is None:
            return await self._followed(first, self._patience_s(first))
        self.record.exchanges.append(first)
        return first

    def _patience_s(self, first: Exchange) -> float:
        """How long an answer as a request of its own may still take; short where none is to be expected."""
        left = self.limit_s(first.kind) - first.response.seconds
        alike = ("CHOOSE_PARITY_CALL", "GAME_MOVE_CALL") if first.kind == "GAME_MOVE_CALL" else (first.kind,)
        before = [one for one in self.record.of_kind(*alike) if one.is_answered]
        habit = bool(before) and before[-1].posted is None
        if habit:
            return min(left, HARDLY_S)
        return min(left, FIND_OUT_S) if self.record.convention is None else left

    async def send(self, label: str, document: object, proper: bool = True) -> Exchange:
        """Send a JSON document that is no message of ours."""
        fields = document if isinstance(document, dict) else {}
        method = str(fields.get("method", ""))
        made = await self._post(label, json.dumps(document).encode(), "", {}, fields.get("id"), method, proper)
        self.record.exchanges.append(made)
        return made

    async def send_raw(self, label: str, body: bytes, request_id: object = None) -> Exchange:
        """Send bytes that are no proper request."""
        made = await self._post(label, body, "", {}, request_id, "", proper=False)
        self.record.exchanges.append(made)
        return made

    async def knock(self, label: str, request: Request) -> Exchange:
        """Make a request that is wrong already as HTTP."""
        at = time.time()
        response = await exchange(request, KNOCK_S)
        made = Exchange(label, "", {}, None, request.method, False, request.raw(), response, at, KNOCK_S, Heard())
        self.record.exchanges.append(made)
        return made

    async def _call(self, label: str, document: Object, kind: str, message: Object, number: int, way: Way) -> Exchange:
        method = str(document.get("method", ""))
        is_rpc = way.convention is not Convention.BARE
        return await self._post(
            label, json.dumps(document).encode(), kind, message, number, method, is_rpc, way.convention
        )

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
    ) -> Exchange:
        request = Request(self.options.target, body, headers=self.way.headers)
        limit_s = self.limit_s(kind)
        at = time.time()
        response = await exchange(request, limit_s)
        if response.status in (429, 503):
            response, at = await self._later(request, response, limit_s)
        heard = hear(response, convention)
        return Exchange(label, kind, message, request_id, method, proper, request.raw(), response, at, limit_s, heard)

    async def _later(self, request: Request, response: Response, limit_s: float) -> tuple[Response, float]:
        """The agent has no time now: ask again when it said, nobody is blamed (section 6.3)."""
        at = time.time()
        for _ in range(TRIES_LATER):
            told = response.headers.get("retry-after", "2")
            pause = float(told) if told.isdecimal() else 2.0
            await asyncio.sleep(min(pause, LONGEST_WAIT_S) / self.options.time_scale)
            at = time.time()
            response = await exchange(request, limit_s)
            if response.status not in (429, 503):
                break
        return response, at

    async def _followed(self, first: Exchange, left_s: float) -> Exchange:
        """The same exchange with the answer that came as a request of its own, if one did."""
        wanted = EXCHANGES[first.kind].replies

        def fits(arrival: Arrival) -> bool:
            same = arrival.message.get("match_id") == first.message.get("match_id")
            return arrival.kind in wanted and same and arrival.at >= first.at

        taken = {id(one.posted) for one in self.record.exchanges if one.posted is not None}
        there = [one for one in self.record.arrivals if fits(one) and id(one) not in taken]
        posted = there[0] if there else await self.house.wait_for(fits, left_s)
        made = replace(first, posted=posted)
        self.record.exchanges.append(made)
        return made
