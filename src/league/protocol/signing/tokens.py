"""Tokens (spec section 9): each one is good for a single sender and receiver, so that a leaked token opens nothing.

An agent shows its registration token to the manager only. All other tokens are derived from it, each for one sender,
one receiver, one league, match and attempt. The manager stores no registration token: it keeps V to recognise a token
(`verifier`) and K to derive others (`deriver`).
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from collections.abc import Iterable
from functools import lru_cache, partial
from typing import Final

MANAGER = "league_manager"
# The same few tokens are derived for every message of a match.
REMEMBERED = 4096
FORMAT = "tok_{agent_id}_{hash}"
_TOKEN = re.compile(r"tok_[\w-]*")
BLOCK: Final = 64
"""Bytes of a block of SHA-256; longer keys would have to be hashed first, and nobody here has one."""
_INNER: Final = bytes(byte ^ 0x36 for byte in range(256))
_OUTER: Final = bytes(byte ^ 0x5C for byte in range(256))


def mint(agent_id: str, random: bytes) -> str:
    """A registration token from 256 random bits."""
    return f"tok_{agent_id}_{_text(random)}"


@lru_cache(maxsize=REMEMBERED)
def verifier(token: str) -> str:
    """V, which the manager keeps to recognise a token."""
    return hashlib.sha256(b"verify\0" + token.encode()).hexdigest()


@lru_cache(maxsize=REMEMBERED)
def deriver(token: str) -> str:
    """K, from which the manager and the token's owner derive further tokens."""
    return hashlib.sha256(b"derive\0" + token.encode()).hexdigest()


@lru_cache(maxsize=REMEMBERED)
def derive(
    key: str,
    sender: str,
    receiver: str,
    league_id: str,
    match_id: str = "-",
    attempt: int = 0,
) -> str:
    """The token `sender` shows `receiver`. `key` is K of the receiver; between player and referee, K of the player."""
    # The text binds the token to its use: with another sender, receiver or match it would not fit.
    text = f"league.v2|{sender}|{receiver}|{league_id}|{match_id}|{attempt}"
    return f"tok_{sender}_{_text(hmac_sha256(bytes.fromhex(key), text.encode()))}"


def same(token: str | None, other: str) -> bool:
    """Whether two tokens are equal, compared in constant time."""
    if token is None:
        return False
    try:
        return hmac.compare_digest(token, other)
    except TypeError:
        # It compares texts only if they are ASCII, as nearly every token is.
        return hmac.compare_digest(token.encode(), other.encode())


def fits(token: str | None, digests: Iterable[str]) -> bool:
    """Whether this token has one of these digests."""
    if token is None:
        return False
    return any(map(partial(hmac.compare_digest, verifier(token)), digests))


def masked(token: str) -> str:
    """The part of a token that may be shown."""
    return token[:4] + "…" if len(token) > 8 else "…"


def hidden_in(text: str) -> str:
    """The text without anything that looks like a token."""
    return _TOKEN.sub("…", text)


def refused(token: str) -> dict[str, object]:
    """The context of an error about an invalid token."""
    return {"provided_token": masked(token), "expected_format": FORMAT}


def hmac_sha256(key: bytes, message: bytes) -> bytes:
    """Return HMAC-SHA-256 (RFC 2104), the seal of every token and draw. ValueError if the key is longer than a block.

    It gives what `hmac.digest` gives, in half the time: that function looks up and sets up OpenSSL's HMAC for every
    call, and a match makes a dozen of them.
    """
    if len(key) > BLOCK:
        raise ValueError(f"a key has at most {BLOCK} bytes, not {len(key)}")
    padded = key.ljust(BLOCK, b"\0")
    inner = hashlib.sha256(padded.translate(_INNER) + message).digest()
    return hashlib.sha256(padded.translate(_OUTER) + inner).digest()


def _text(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()
