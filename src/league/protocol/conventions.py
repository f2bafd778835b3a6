"""The ways agents call each other (spec section 13.1): the documents name two, people built three more of them."""

from __future__ import annotations

from enum import Enum


class Convention(Enum):
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


def ways(first: Convention) -> tuple[Convention, ...]:
    """In which order to try them with an agent that seems to speak the first."""
    return (first, *(one for one in Convention if one is not first))


def convention_of(name: str | None) -> Convention:
    """By its name; one that we do not know is where everybody begins."""
    return Convention.__members__.get(name or "", Convention.SPEC)
