"""Tokens (spec section 9): what an agent shows whom, so that a leaked one opens nothing.

An agent shows its registration token to the manager only. Everything else is derived for one sender, one receiver, one
league, match and attempt.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from collections.abc import Iterable
from functools import lru_cache, partial

MANAGER = "league_manager"
REMEMBERED = 4096
"""The same few tokens are derived for every message of a match."""
FORMAT = "tok_{agent_id}_{hash}"
_TOKEN = re.compile(r"tok_[\w-]*")


def mint(agent_id: str, random: bytes) -> str:
    """A registration token from 256 random bits."""
    return f"tok_{agent_id}_{_text(random)}"


@lru_cache(maxsize=REMEMBERED)
def verifier(token: str) -> str:
    """V: what the manager keeps to recognise a token."""
    return hashlib.sha256(b"verify\0" + token.encode()).hexdigest()


@lru_cache(maxsize=REMEMBERED)
def deriver(token: str) -> str:
    """K: what manager and owner derive further tokens from."""
    return hashlib.sha256(b"derive\0" + token.encode()).hexdigest()


@lru_cache(maxsize=REMEMBERED)
def derive(key: str, sender: str, receiver: str, league_id: str, match_id: str = "-", attempt: int = 0) -> str:
    """The token `sender` shows `receiver`, with K of the receiver (or of the player, between player and referee)."""
    text = f"league.v2|{sender}|{receiver}|{league_id}|{match_id}|{attempt}"
    return f"tok_{sender}_{_text(hmac.digest(bytes.fromhex(key), text.encode(), hashlib.sha256))}"


def same(one: str | None, other: str) -> bool:
    """Equal, compared in constant time."""
    if one is None:
        return False
    try:
        return hmac.compare_digest(one, other)
    except TypeError:  # of texts it takes ASCII only, which nearly every token is
        return hmac.compare_digest(one.encode(), other.encode())


def fits(token: str | None, digests: Iterable[str]) -> bool:
    """Is this one of the tokens these digests stand for?"""
    if token is None:
        return False
    return any(map(partial(hmac.compare_digest, verifier(token)), digests))


def masked(token: str) -> str:
    """What of a token may be shown."""
    return token[:4] + "…" if len(token) > 8 else "…"


def hidden_in(text: str) -> str:
    """The same words without what looks like a token."""
    return _TOKEN.sub("…", text)


def refused(token: str) -> dict[str, object]:
    """What an error about a token that is not valid tells of it."""
    return {"provided_token": masked(token), "expected_format": FORMAT}


def _text(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()
