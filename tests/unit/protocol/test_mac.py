"""Our HMAC-SHA-256 is the one of the standard library."""

from __future__ import annotations

import hmac

import pytest
from hypothesis import given
from hypothesis import strategies as st

from league.protocol.signing.mac import BLOCK, hmac_sha256


@given(key=st.binary(max_size=BLOCK), message=st.binary(max_size=300))
def test_it_is_hmac(key: bytes, message: bytes) -> None:
    assert hmac_sha256(key, message) == hmac.digest(key, message, "sha256")


def test_a_key_that_is_too_long_is_refused() -> None:
    with pytest.raises(ValueError, match="at most 64 bytes"):
        hmac_sha256(bytes(BLOCK + 1), b"")
