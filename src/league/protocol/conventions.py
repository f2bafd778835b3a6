"""The calling conventions of agents (spec section 13.1): the documents describe some, people built others."""

from __future__ import annotations

from collections.abc import Mapping

from league.protocol.table_key import TableKey


class Convention(TableKey):
    """A way to put a message into a request."""

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
    """`method` is the message type in lower case; agents that accept capitals too are called as TYPE."""


DOCUMENTED = frozenset({Convention.SPEC, Convention.TYPE, Convention.LOWER, Convention.TOOLS})
"""What R-01 accepts from everybody; the others are recorded as deviations, or rejected in `strict`."""

WAYS: Mapping[Convention, tuple[Convention, ...]] = {
    first: (first, *(other for other in Convention if other is not first)) for first in Convention
}
"""The order in which to try all conventions with an agent that seems to speak the first."""

_BY_NAME: Mapping[str | None, Convention] = {convention.name: convention for convention in Convention}


def convention_of(name: str | None) -> Convention:
    """The convention of this name; SPEC, where everybody begins, if there is none."""
    return _BY_NAME.get(name, Convention.SPEC)
