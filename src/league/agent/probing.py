"""Ask an address how the agent there wants to be spoken to, for commands that look before they begin.

Roles probe their peers through the calling engine instead (`manager/members/probes.py`, `referee/questions/asking.py`).
What is found out is the same, and so are the words (`protocol/message/findings.py`).
"""

from __future__ import annotations

import msgspec

from league.agent.caller import Caller
from league.calling.delivery import in_words
from league.gateway.words import EndpointWords
from league.machine import Address, DialectProbe, Failure
from league.protocol.conventions import Convention
from league.protocol.message.findings import Findings, unanswered, unusable
from league.protocol.wire import jsonrpc
from league.transport.http_client import CallFailed, HttpClient


async def probe(url: str, client: HttpClient, limit_s: float, game: str = "even_odd") -> Findings:
    """Probe a player's address once."""
    return await _probed(Caller(client), Address("probe", url), limit_s, game)


async def words_at(url: str, client: HttpClient, limit_s: float) -> EndpointWords:
    """Find out which tools an address lists, and in which session: with MCP's handshake, if it wants one."""
    caller = Caller(client)
    await _probed(caller, Address("probe", url, convention=Convention.TOOLS), limit_s)
    return caller.words.of(url)


async def _probed(caller: Caller, address: Address, limit_s: float, game: str = "even_odd") -> Findings:
    url = address.endpoint
    try:
        reply = await caller.call(1, DialectProbe("player", game), b"", address, limit_s, jsonrpc.MESSAGE_LIMIT)
    except CallFailed as failed:
        if failed.failure is Failure.UNUSABLE:
            return unusable(url, failed.unreadable)
        return unanswered(
            url,
            in_words(failed.failure, failed.detail),
            is_refused=failed.failure is Failure.REFUSED,
            hangs_up=failed.failure is Failure.BROKEN,
        )
    return msgspec.json.decode(reply.body, type=Findings)
