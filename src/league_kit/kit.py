"""The kit: sends requests to the agent, waits for answers that come as requests of their own, and records all."""

# Theory of operation
#
# The kit plays manager and referee against one agent. Scenarios (scenarios.py, malformed.py, registering.py) call
# `send_…`; every call makes one request on a connection of its own and appends one Probe to the record.
#
# Two things make one request take longer than its answer. A busy agent (429, 503) is asked again when it said: that is
# not a fault, and only the last answer counts. And an invitation or a call may be acknowledged first and answered
# later, by a request of the agent's own: the kit then waits for that request, at most as long as the time limit of the
# exchange allows, and less where the agent has always answered at once. One posted answer counts for one probe only.
#
# The kit never judges here, and it never raises for what an agent does: whatever happens becomes part of the record.

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Final

from league.protocol.conventions import Convention
from league.protocol.exchanges import EXCHANGES
from league_kit.kit_conventions import CallForm, Object
from league_kit.kit_messages import MessageWriter
from league_kit.kit_server import MANAGER, REFEREE, KitServer, new_token
from league_kit.kit_wire import RawRequest, RawResponse, send_request
from league_kit.record import (
    BUSY,
    OPPONENT,
    Arrival,
    Probe,
    RunRecord,
    is_bare_acknowledgement,
    parse_answer,
)

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
USUAL_RETRY_AFTER_S: Final = 2.0
LAST_MATCH: Final = 1_000_000
"""The number of a run's matches is drawn up to this one."""
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
    profile: str = "compat"
    """Of the agent; more is bad input in `strict`."""
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
        manager_token = new_token("league_manager")
        referee_token = new_token("REF01")
        self.record.own_tokens |= {manager_token, referee_token}
        self.writer = MessageWriter(
            player_id="P01",
            referee_url=self.server.url + REFEREE,
            opponent_url=self.server.url + OPPONENT,
            manager_token=manager_token,
            referee_token=referee_token,
            match_number=secrets.randbelow(LAST_MATCH) + 1,
            names_player=False,
            shown_tokens=self.record.own_tokens,
        )

    @property
    def manager_url(self) -> str:
        return self.server.url + MANAGER

    def limit_s(self, kind: str) -> float:
        limit_s = EXCHANGES[kind].limit_s if kind in EXCHANGES else PROBE_S
        return limit_s / self.options.time_scale

    def next_id(self) -> int:
        self.numbers += 1
        return self.numbers

    # --- calling ------------------------------------------------------------------------------------------------------

    async def send_message(self, label: str, message: Object, plain: bool = True) -> Probe:
        """Send a message in the form the agent understands; an invitation or a call waits for its answer."""
        return await self.send_as(label, message, self.form, plain=plain)

    async def send_as(
        self,
        label: str,
        message: Object,
        form: CallForm,
        method: str | None = None,
        plain: bool = False,
    ) -> Probe:
        """Send a message in a form, and with a method, that the agent may not understand."""
        number = self.next_id()
        document = form.wrap(number, message, method)
        is_rpc = form.convention is not Convention.BARE
        probe = await self._post(
            label,
            json.dumps(document).encode(),
            str(document.get("method", "")),
            request_id=number,
            message=message,
            proper=is_rpc,
            convention=form.convention,
        )
        probe = replace(probe, plain=plain and is_rpc)
        is_taken = probe.is_readable and probe.parsed.error is None
        if (probe.is_empty or is_taken) and is_bare_acknowledgement(message, probe.parsed.content):
            probe = await self._with_posted_answer(probe)
        return self._recorded(probe)

    async def send_document(self, label: str, document: object, proper: bool = True) -> Probe:
        """Send a JSON document that is not a message of ours."""
        fields = document if isinstance(document, dict) else {}
        probe = await self._post(
            label,
            json.dumps(document).encode(),
            str(fields.get("method", "")),
            request_id=fields.get("id"),
            proper=proper,
        )
        return self._recorded(probe)

    async def send_raw(self, label: str, body: bytes) -> Probe:
        """Send bytes that are not a proper request."""
        return self._recorded(await self._post(label, body))

    async def send_bad(self, label: str, request: RawRequest, limit_s: float = PROBE_S) -> Probe:
        """Send these bytes, whatever they are, and read the answer as that of a message."""
        return self._recorded(await self.send_aside(request, label, limit_s))

    async def send_aside(self, request: RawRequest, label: str = "", limit_s: float = PROBE_S) -> Probe:
        """Do the same without recording it, because it is not judged."""
        response = await self._send(request, limit_s)
        parsed = parse_answer(response, Convention.SPEC, {})
        return Probe(label, request.raw(), response, limit_s, parsed, request.method)

    async def _post(
        self,
        label: str,
        body: bytes,
        method: str = "",
        request_id: object = None,
        message: Object | None = None,
        proper: bool = False,
        convention: Convention = Convention.SPEC,
    ) -> Probe:
        message = message or {}
        kind = str(message.get("message_type", ""))
        request = RawRequest(self.options.target, body, headers=self.form.headers(method, kind))
        limit_s = self.limit_s(kind)
        response = await self._send(request, limit_s)
        parsed = parse_answer(response, convention, message)
        return Probe(
            label,
            request.raw(),
            response,
            limit_s,
            parsed,
            method,
            request_id,
            message,
            proper,
        )

    async def _send(self, request: RawRequest, limit_s: float) -> RawResponse:
        """Send a request; ask a busy agent again when it said, for that is not a fault (section 6.3)."""
        retries = BUSY_RETRIES
        while True:
            response = await send_request(request, limit_s)
            if response.status not in BUSY or retries == 0:
                return response
            retries -= 1
            retry_after = response.headers.get("retry-after", "")
            pause_s = float(retry_after) if retry_after.isdecimal() else USUAL_RETRY_AFTER_S
            await asyncio.sleep(min(pause_s, LONGEST_WAIT_S) / self.options.time_scale)

    # --- answers as requests of their own -----------------------------------------------------------------------------

    async def _with_posted_answer(self, probe: Probe) -> Probe:
        """Return the same probe with the answer that came as a request of its own, if one did."""
        replies = EXCHANGES[probe.kind].replies
        match_id = probe.message.get("match_id")
        used = {id(earlier.posted) for earlier in self.record.probes if earlier.posted is not None}

        def fits(arrival: Arrival) -> bool:
            is_reply = arrival.kind in replies and arrival.message.get("match_id") == match_id
            return is_reply and arrival.at >= probe.at and id(arrival) not in used

        return replace(probe, posted=await self.server.wait_for(fits, self._posted_wait_s(probe)))

    def _posted_wait_s(self, probe: Probe) -> float:
        """Return how long to wait for an answer as a request of its own; short where none is to be expected."""
        remaining_s = self.limit_s(probe.kind) - probe.response.seconds
        kinds = {probe.kind}
        if probe.kind == "GAME_MOVE_CALL":
            kinds.add("CHOOSE_PARITY_CALL")
        answered = [earlier for earlier in self.record.of_kind(*kinds) if earlier.is_answered]
        if answered and answered[-1].posted is None:
            return min(remaining_s, UNLIKELY_WAIT_S)
        if self.record.convention is None:
            return min(remaining_s, POSTED_WAIT_S)
        return remaining_s

    def _recorded(self, probe: Probe) -> Probe:
        self.record.probes.append(probe)
        return probe


@asynccontextmanager
async def open_kit(options: Options, server: KitServer, record: RunRecord, notify: Notify) -> AsyncIterator[Kit]:
    """Open a kit that agents can register with as long as the block lasts."""
    await server.open(options.host, options.listen or 0)
    try:
        kit = Kit(options, record, server)
        if options.listen is not None:
            notify(f"ready: {kit.manager_url}")
        yield kit
    finally:
        await server.close()
