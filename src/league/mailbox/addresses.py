"""Where a mailbox is: the manager's address, followed by the digest of the key that opens it.

So a mailbox needs no registration and no storage: whoever shows the key is its owner, at any manager of the league,
before and after a restart. Nobody finds the key from the address, which others are told.
"""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache
from typing import Final

PREFIX: Final = "/mailbox/"
FETCH: Final = "/mailbox/fetch"
ANSWER: Final = "/mailbox/answer"
_LETTERS: Final = re.compile(r"/mailbox/([0-9a-f]{32})/mcp")


@lru_cache(maxsize=4096)  # shown with each request
def name_of(key: str) -> str:
    """Return the name of the mailbox that this key opens."""
    return hashlib.sha256(key.encode()).hexdigest()[:32]


def name_in(path: str) -> str:
    """Return the name of the mailbox that letters for this path go to; "" if it is another path."""
    found = _LETTERS.fullmatch(path)
    return found[1] if found else ""


def root_of(manager: str) -> str:
    """Return the address of a manager without the path of its messages."""
    scheme, _, rest = manager.partition("://")
    return f"{scheme}://{rest.partition('/')[0]}"


def key_for(manager: str, secret: str) -> str:
    """Return the key of the mailbox that the owner of this secret has at a manager. Every manager is shown another
    one: none can open the owner's mailboxes elsewhere."""
    return hashlib.sha256(f"{secret}\n{root_of(manager)}".encode()).hexdigest()


def endpoint_at(manager: str, secret: str) -> str:
    """Return the endpoint of that mailbox."""
    return f"{root_of(manager)}{PREFIX}{name_of(key_for(manager, secret))}/mcp"
