"""In which convention an endpoint is called next."""

from __future__ import annotations

from league.dialects.negotiation import Negotiation, routes
from league.protocol.conventions import Convention


def test_after_a_silence_the_convention_that_was_tried_last_is_still_the_one_an_answer_belongs_to() -> None:
    search = Negotiation(routes("http://127.0.0.1:8101/mcp", Convention.SPEC))
    assert search.not_understood(prefer_bare=True)
    assert search.route.convention is Convention.BARE
    search.begin_again()
    assert search.answering_route.convention is Convention.BARE
    assert search.not_understood()
    assert search.route.convention not in (Convention.BARE, Convention.SPEC)
