"""Tokens are told apart."""

from __future__ import annotations

import pytest

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
