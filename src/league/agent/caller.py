"""Calls over HTTP: the shell's runner of the gateway's words. Every request of a call shares the call's deadline."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from league import letters
from league.gateway.words import COUNTED, NOTIFICATIONS, HttpPost, Words
from league.letters import HttpReply
from league.machine import Address, DialectProbe, Ping
from league.protocol.conventions import Convention
from league.protocol.message.messages import Message
from league.transport.http_call import CallFailed, PendingCall
from league.transport.http_client import HttpClient

PROBING: Final = 0.9
"""The part of its time that a probe may use: what it found out by then must arrive before the time is over."""


class Caller:
    """The calls of one agent of ours."""

    def __init__(self, client: HttpClient) -> None:
        self._client = client
        self._now = asyncio.get_running_loop().time
        self.words = Words()
        self._endpoints = self.words.endpoints

    def send(
        self,
        request_id: int,
        message: Message | Ping,
        body: bytes,
        to: Address,
        wait: float,
        limit: int,
        on_end: Callable[[HttpReply | CallFailed], None],
    ) -> PendingCall | None:
        """Make a call to an endpoint of which nothing special is known, as nearly all are; None for any other. `on_end`
        is told the answer, which counts if it `is_final`, or the failure."""
        if to.convention is Convention.TOOLS or to.endpoint in self._endpoints or isinstance(message, Ping):
            return None
        raw = letters.write_call(request_id, message, body, to)
        return self._client.send(
            to.endpoint,
            raw,
            wait,
            limit=limit,
            on_end=on_end,
            origin=to.origin,
            gives_way=message.type in NOTIFICATIONS,
            is_once=message.type == COUNTED,
        )

    async def call(
        self,
        request_id: int,
        message: Message | Ping,
        body: bytes,
        to: Address,
        wait: float,
        limit: int,
        first: HttpReply | None = None,
    ) -> HttpReply:
        """Make a call, in whatever words are known there; CallFailed if nobody answers in time. `first`: the answer to
        the usual request, if it was not final."""
        if isinstance(message, DialectProbe):
            wait *= PROBING
        deadline = self._now() + wait
        exchange = self.words.begin(request_id, message, body, to, was_sent=first is not None)
        result = exchange.first if first is None else exchange.step(first)
        while isinstance(result, HttpPost):
            try:
                reply = await self._post(result, deadline, limit)
            except CallFailed:
                last = exchange.fail()
                if last is None:
                    raise
                return last
            result = exchange.step(reply)
        return result

    async def _post(self, post: HttpPost, deadline: float, limit: int) -> HttpReply:
        seconds_left = max(deadline - self._now(), 0.0)
        return await self._client.post(
            post.url,
            post.raw,
            seconds_left,
            limit=post.limit or limit,
            headers=post.headers,
            origin=post.origin,
            gives_way=post.gives_way,
            is_once=post.is_once,
        )
