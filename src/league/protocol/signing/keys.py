"""Keys and signatures: Ed25519 over the canonical bytes of a statement.

Whoever signs keeps 32 secret bytes; everything else follows from them. A public key is 64 lower-case hexadecimal
digits, which are also its fingerprint. A signature is 86 characters of base64url. Both have one spelling, so that two
different texts are two keys, or two signatures.

Statements are made of texts, whole numbers below 2**53, null, lists and objects with ASCII names. Of these
msgspec writes the bytes of RFC 8785 when it sorts the names, in a tenth of the time of `canonical_json`: the two differ
in fractions, in larger numbers, and in the order of names beyond U+FFFF, and statements have none of them.

PyNaCl is imported when the first key is made or the first signature is checked: an agent that never signs does not pay
for it.
"""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from msgspec import Struct, json

SECRET_BYTES: Final = 32
REMEMBERED: Final = 8
"""Number of checked signatures that are remembered."""
SIGNING_SECRET: Final = "signing_secret"
"""The name under which an agent keeps its secret bytes."""
_PUBLIC_KEY: Final = re.compile(r"[0-9a-f]{64}")
_SIGNATURE: Final = re.compile(r"[A-Za-z0-9_-]{86}")
_SIGNATURE_BYTES: Final = 64
_ENCODER: Final = json.Encoder(order="sorted")
Statement = Struct | Mapping[str, Any] | bytes
"""What is signed; as JSON (Any) if it was received or kept, as bytes if they are at hand."""


class SigningKey(Struct, frozen=True):
    """A key that signs. Only its public half is ever shown."""

    public: str
    expanded: bytes
    """The secret bytes with the public key behind them, as libsodium wants them."""

    def __repr__(self) -> str:
        return f"SigningKey({self.public})"


def signing_key(secret: bytes) -> SigningKey:
    """Return the key that follows from 32 secret bytes."""
    from nacl.bindings import crypto_sign_seed_keypair

    if len(secret) != SECRET_BYTES:
        raise ValueError(f"a key is made from {SECRET_BYTES} secret bytes, not from {len(secret)}")
    public, expanded = crypto_sign_seed_keypair(secret)
    return SigningKey(public.hex(), expanded)


def is_public_key(text: object) -> bool:
    """True if signatures can be checked with this key: well written, on the curve, and not of small order."""
    # A key of small order makes one signature fit every statement.
    from nacl.bindings import crypto_core_ed25519_is_valid_point

    if not isinstance(text, str) or not _PUBLIC_KEY.fullmatch(text):
        return False
    return crypto_core_ed25519_is_valid_point(bytes.fromhex(text))


def statement_bytes(statement: Statement) -> bytes:
    """Return what is signed: the statement as RFC 8785 writes it."""
    return statement if isinstance(statement, bytes) else _ENCODER.encode(statement)


def sign(key: SigningKey, statement: Statement) -> str:
    """Return the signature under a statement. The same key and statement give the same signature."""
    from nacl.bindings import crypto_sign

    signed = crypto_sign(statement_bytes(statement), key.expanded)
    return _text(signed[:_SIGNATURE_BYTES])


def is_signed(signature: object, public_key: str, statement: Statement) -> bool:
    """True if the owner of this public key signed exactly this statement."""
    if not isinstance(signature, str) or not _SIGNATURE.fullmatch(signature) or not _PUBLIC_KEY.fullmatch(public_key):
        return False
    raw = urlsafe_b64decode(signature + "==")
    # The last character has bits that decoders ignore; only one of its spellings counts.
    if _text(raw) != signature:
        return False
    try:
        return _opens(raw + statement_bytes(statement), public_key)
    except UnicodeEncodeError:  # half a character has no bytes
        return False


# All agents of a process get the same statement about a round.
@lru_cache(maxsize=REMEMBERED)
def _opens(signed: bytes, public_key: str) -> bool:
    from nacl.bindings import crypto_sign_open
    from nacl.exceptions import BadSignatureError

    try:
        crypto_sign_open(signed, bytes.fromhex(public_key))
    except BadSignatureError:
        return False
    return True


def _text(raw: bytes) -> str:
    return urlsafe_b64encode(raw).rstrip(b"=").decode()
