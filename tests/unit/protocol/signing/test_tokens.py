"""Tokens are told apart."""

from __future__ import annotations

import hmac

import pytest
from hypothesis import given
from hypothesis import strategies as st

from league.protocol.signing import tokens


@pytest.mark.parametrize("token", ["tok_P01_abc", "tok_Jürgen", ""])
def test_a_token_is_the_same_as_itself_only(token: str) -> None:
    assert tokens.same(token, token)
    for other in ("tok_P01_abd", "tok_Jurgen", "tok_Jürgens", None):
        assert not tokens.same(other, token)


def test_a_token_fits_one_of_several_digests() -> None:
    digests = [tokens.verifier(one) for one in ("tok_a", "tok_b")]
    assert tokens.fits("tok_b", digests)
    assert not tokens.fits("tok_c", digests)
    assert not tokens.fits("tok_a", ())
    assert not tokens.fits(None, digests)


@given(key=st.binary(max_size=tokens.BLOCK), message=st.binary(max_size=300))
def test_our_seal_is_the_hmac_of_the_standard_library(key: bytes, message: bytes) -> None:
    assert tokens.hmac_sha256(key, message) == hmac.digest(key, message, "sha256")


def test_a_key_that_is_too_long_is_refused() -> None:
    with pytest.raises(ValueError, match="at most 64 bytes"):
        tokens.hmac_sha256(bytes(tokens.BLOCK + 1), b"")
