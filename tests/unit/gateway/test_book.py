"""In which convention an endpoint is called next."""

from __future__ import annotations

from league.calling.line import Sign
from league.gateway.book import FormLine, forms_of
from league.protocol.conventions import Convention


def test_after_a_silence_the_convention_that_was_tried_last_is_still_the_one_an_answer_belongs_to() -> None:
    line = FormLine(forms_of("http://127.0.0.1:8101/mcp", Convention.SPEC))
    assert line.next_form(Sign.NOT_JSON_RPC, None, False) is not None
    assert line.form.convention is Convention.BARE
    line.begin_again()
    assert line.answering_form.convention is Convention.BARE
    assert line.next_form(Sign.REFUSED, None, False) is not None
    assert line.form.convention not in (Convention.BARE, Convention.SPEC)
