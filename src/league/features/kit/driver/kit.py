"""The kit: sends requests to the agent, waits for answers that come as requests of their own, and records all."""

# Theory of operation
#
# The kit plays manager and referee against one agent. Scenarios (the room `scenarios`) call
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
from typing import Any, Final

from league.features.kit.driver.conventions import FORMS, CallForm, Object
from league.features.kit.driver.messages import MessageWriter
from league.features.kit.driver.record import (
    BUSY,
    OPPONENT,
    Arrival,
    Probe,
    RunRecord,
    is_bare_acknowledgement,
    parse_answer,
)
from league.features.kit.driver.server import MANAGER, REFEREE, KitServer, new_token
from league.features.kit.driver.templates import fields_of
from league.features.kit.driver.wire import RawRequest, RawResponse, send_request
from league.protocol.conventions import Convention
from league.protocol.message.exchanges import EXCHANGES

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
            time_scale=self.options.time_scale,
        )

    @property
    def manager_url(self) -> str:
        return self.server.url + MANAGER

    @property
    def forms(self) -> tuple[CallForm, ...]:
        """The forms in which the agent may understand a call: one, if that is known."""
        return FORMS if self.record.convention is None else (self.form,)

    def limit_s(self, kind: str) -> float:
        limit_s = EXCHANGES[kind].limit_s if kind in EXCHANGES else PROBE_S
        return limit_s / self.options.time_scale

    def next_id(self) -> int:
        self.numbers += 1
        return self.numbers

    # --- calling ------------------------------------------------------------------------------------------------------

    async def say(self, label: str, name: str, number: int = 0, *, plain: bool = True, **words: Any) -> Probe:
        """Send a message of the table messages.toml, in the form the agent understands (Any: its words)."""
        return await self.send_message(label, self.writer.write(name, number, **words), plain=plain)

    async def send_message(
        self,
        label: str,
        message: Object,
        *,
        plain: bool = True,
        form: CallForm | None = None,
        method: str | None = None,
    ) -> Probe:
        """Send a message; an invitation or a call waits for its answer. The agent may not understand another form than
        the usual one, or another method."""
        form = form or self.form
        number = self.next_id()
        is_rpc = form.convention is not Convention.BARE
        probe = await self._post(
            label,
            form.wrap(number, message, method),
            message=message,
            proper=is_rpc,
            plain=plain and is_rpc,
            convention=form.convention,
        )
        is_taken = probe.is_readable and probe.parsed.error is None
        if (probe.is_empty or is_taken) and is_bare_acknowledgement(message, probe.parsed.content):
            probe = await self._with_posted_answer(probe)
        return self._recorded(probe)

    async def send_in_any_form(
        self,
        label: str,
        message: Object,
        is_taken: Callable[[Probe], bool],
        *,
        likely: Convention = Convention.SPEC,
        plain: bool = True,
    ) -> Probe:
        """Send a message in each form until it is taken, in a likely convention first. The agent is called so from then
        on, and the requests that it did not understand are set aside."""
        forms = sorted(self.forms, key=lambda form: form.convention is not likely)
        for form in forms:
            probe = await self.send_message(label, message, form=form, plain=plain)
            if is_taken(probe):
                self.form = form
                self.record.convention = form.convention
                break
            if form is not forms[-1]:
                self.record.set_aside(probe)
        return probe

    async def send_document(self, label: str, document: object, proper: bool = True) -> Probe:
        """Send a JSON document that is not a message of ours."""
        return self._recorded(await self._post(label, document, proper=proper))

    async def send_bad(self, label: str, request: RawRequest, limit_s: float = PROBE_S) -> Probe:
        """Send these bytes, whatever they are, and read the answer as that of a message."""
        return self._recorded(await self.send_aside(label, request, limit_s))

    async def send_aside(
        self,
        label: str,
        request: RawRequest,
        limit_s: float = PROBE_S,
        convention: Convention = Convention.SPEC,
        **facts: Any,
    ) -> Probe:
        """Do the same without recording it, because it is not judged. Any: the other fields of the probe."""
        response = await self._send(request, limit_s)
        parsed = parse_answer(response, convention, facts.get("message", {}))
        return Probe(label, request.raw(), response, limit_s, parsed, **facts)

    async def _post(self, label: str, document: object, message: Object | None = None, **facts: Any) -> Probe:
        """Post a JSON document (Any: fields of the probe)."""
        message = message or {}
        kind = str(message.get("message_type", ""))
        fields = fields_of(document)
        method = str(fields.get("method", ""))
        headers = self.form.headers(method, kind)
        request = RawRequest(self.options.target, json.dumps(document).encode(), headers=headers)
        facts |= {"method": method, "request_id": fields.get("id"), "message": message}
        return await self.send_aside(label, request, self.limit_s(kind), **facts)

    async def _send(self, request: RawRequest, limit_s: float) -> RawResponse:
        """Send a request; ask a busy agent again when it said, for that is not a fault (section 6.3)."""
        retries = BUSY_RETRIES
        while True:
            response = await send_request(request, limit_s)
            if response.status not in BUSY or retries == 0:
                return response
            retries -= 1
            pause_s = response.reply.retry_after
            pause_s = USUAL_RETRY_AFTER_S if pause_s is None else min(pause_s, LONGEST_WAIT_S)
            await asyncio.sleep(pause_s / self.options.time_scale)

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
