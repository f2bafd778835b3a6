"""Ask an address how the agent there wants to be spoken to, for commands that look before they begin.

Roles probe their peers through the calling engine instead (`manager/members/probes.py`, `referee/questions/asking.py`).
What is found out is the same, and so are the words (`protocol/message/findings.py`).
"""

from __future__ import annotations

import msgspec

from league.agent.caller import Caller
from league.calling.delivery import in_words
from league.machine import Address, DialectProbe, Failure
from league.protocol.message.findings import Findings, unanswered, unusable
from league.protocol.wire import jsonrpc
from league.transport.http_client import CallFailed, HttpClient


async def probe(url: str, client: HttpClient, limit_s: float, role: str = "player", game: str = "even_odd") -> Findings:
    """Probe an address once."""
    caller = Caller(client)
    try:
        reply = await caller.call(
            1, DialectProbe(role, game), b"", Address("probe", url), limit_s, jsonrpc.MESSAGE_LIMIT
        )
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
