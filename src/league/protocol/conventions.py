"""The ways agents call each other (spec section 13.1): the documents name two, people built three more of them."""

from __future__ import annotations

from collections.abc import Mapping

from league.protocol.table_key import TableKey


class Convention(TableKey):
    """How a message is wrapped in a request."""

    SPEC = "SPEC"
    """`method` is a verb, `params` the message."""
    TYPE = "TYPE"
    """`method` is the message type, `params` the message."""
    TOOLS = "TOOLS"
    """MCP: `tools/call` with the name of a tool and the message as its arguments."""
    NESTED = "NESTED"
    """One method for everything, the message one level deeper."""
    BARE = "BARE"
    """The message itself, without JSON-RPC."""
    LOWER = "LOWER"
    """`method` is the message type in small letters; who takes it in capitals too is spoken to as TYPE."""


DOCUMENTED = frozenset({Convention.SPEC, Convention.TYPE, Convention.LOWER, Convention.TOOLS})
"""What R-01 accepts from everybody; the others are recorded, or refused in `strict`."""


WAYS: Mapping[Convention, tuple[Convention, ...]] = {
    first: (first, *(one for one in Convention if one is not first)) for first in Convention
}
"""In which order to try them with an agent that seems to speak the first."""

_BY_NAME: Mapping[str | None, Convention] = {one.name: one for one in Convention}


def convention_of(name: str | None) -> Convention:
    """By its name; one that we do not know is where everybody begins."""
    return _BY_NAME.get(name, Convention.SPEC)
