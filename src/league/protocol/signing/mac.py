"""HMAC-SHA-256 (RFC 2104) for short keys: the seal of every token, receipt and draw.

It gives what `hmac.digest` gives, in half the time: that function looks up and sets up OpenSSL's HMAC for every call,
and a match makes a dozen of them.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Final

BLOCK: Final = 64
"""Bytes of a block of SHA-256; longer keys would have to be hashed first, and nobody here has one."""
_INNER: Final = bytes(byte ^ 0x36 for byte in range(256))
_OUTER: Final = bytes(byte ^ 0x5C for byte in range(256))


def hmac_sha256(key: bytes, message: bytes) -> bytes:
    """Return the code of a message. ValueError if the key is longer than a block."""
    if len(key) > BLOCK:
        raise ValueError(f"a key has at most {BLOCK} bytes, not {len(key)}")
    padded = key.ljust(BLOCK, b"\0")
    inner = sha256(padded.translate(_INNER) + message).digest()
    return sha256(padded.translate(_OUTER) + inner).digest()
