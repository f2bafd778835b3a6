"""An agent behind its port."""

from __future__ import annotations

import asyncio
import json

from league.hosting.serving import HostedAgent


def test_until_its_journal_is_read_an_agent_asks_callers_to_try_later() -> None:
    answer = asyncio.run(HostedAgent().post(b"{}", "127.0.0.1"))
    assert (answer.status, dict(answer.headers)["retry-after"]) == (503, "1")
    body = json.loads(answer.body)
    assert (body["jsonrpc"], body["error"]["data"]["error_code"]) == ("2.0", "E042")
