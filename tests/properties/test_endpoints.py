"""Whatever text is given as an address: it is read or refused, as the schemas do, and reading it tells one host."""

from __future__ import annotations

import re
from contextlib import suppress

from hypothesis import example, given
from hypothesis import strategies as st

from league.features.mcp import message_schemas as schemas
from league.protocol.endpoints import BadAddressError, EndpointPolicy, parse

WORDS = (
    r"http:// https:// 127 0x7f 0177 0 1 255 256 . : / @ %31 \ # ? a - _ localhost 8101 65536 é [ ] ::1 ::ffff: "
    "b.example $"
)
PIECES = st.sampled_from((*WORDS.split(), " ", "\t"))
TEXTS = st.lists(PIECES, max_size=8).map("".join)
URLS = TEXTS.map("http://{}".format)
PATTERN = schemas.schema("LEAGUE_REGISTER_REQUEST")["$defs"]["url"]["pattern"]


def is_read(text: str) -> bool:
    try:
        parse(text)
    except BadAddressError as error:
        return not str(error)
    return True


@given(st.one_of(URLS, TEXTS, st.text()))
@example("http://127.0.0.1\n")
@example("http://0x")
@example("http://a.0x/")
def test_a_text_is_an_address_exactly_if_the_schemas_say_so(text: str) -> None:
    if "[" not in text:  # what is within brackets is beyond the schemas
        assert is_read(text) == bool(re.search(PATTERN, text))
    elif is_read(text):
        assert re.search(PATTERN, text)


@given(URLS)
def test_the_host_that_is_read_stands_in_the_text_between_the_slashes(text: str) -> None:
    with suppress(BadAddressError):
        endpoint = parse(text)
        authority = text.partition("://")[2].partition("/")[0].partition("?")[0].lower()
        assert authority.strip("[").startswith(endpoint.host)
        assert 1 <= endpoint.port <= 65535
        assert endpoint.target.startswith("/")


@given(URLS, st.sampled_from(["", "127.0.0.1", "10.0.0.7", "::1", "::ffff:127.0.0.1", "nonsense"]))
def test_where_less_is_allowed_nothing_more_is(text: str, origin: str) -> None:
    with suppress(BadAddressError):
        endpoint = parse(text)
        refused = [
            bool(EndpointPolicy(reach, "same").objection(endpoint, origin)) for reach in ("local", "lan", "public")
        ]
        assert refused == sorted(refused, reverse=True)
