"""Mailboxes: how an agent takes part that nobody can call, because it is behind a router.

A mailbox is an endpoint at the manager's server. Others call it like any agent's `/mcp`; the agent fetches these calls
and posts the answers, over connections that it opened itself (spec/mailboxes.md). Letters pass as they are: this room
reads none of them, and no role knows about it.

- `boxes`: the letters of each mailbox, and their limits;
- `post_office`: the manager's side: the pages under `/mailbox`, and the manager's own calls to mailboxes;
- `reader`: the agent's side.
"""

from __future__ import annotations

PUBLIC = ("addresses", "post_office", "reader")
"""The modules that other packages may import."""
