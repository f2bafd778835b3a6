"""What an asking player asks through: a provider of models, a program, or an MCP server.

A transport writes a question as the JSON document that it sends (`request`), and sends it (`ask`). What comes back is
an `Answer` or a `NoAnswer`. Nothing here knows about games, turns or leagues beyond what a question contains, and no
document contains a credential: documents are recorded, and they are the keys of the cache.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, Protocol

Document = Mapping[str, Any]
"""A request as it is sent (Any: JSON)."""
Message = dict[str, str]
"""A message of a conversation: its `role` and its `content`."""

CHOICE: Final = "choice"
REFUSAL: Final = "refusal"
TOOL_CALL: Final = "tool_call"
EMPTY: Final = "empty"
TRUNCATED: Final = "truncated"
UNREADABLE: Final = "unreadable"
LATE: Final = "late"
PROVIDER_FAILURE: Final = "provider_failure"
"""What became of a request. All but the first are reasons why a model did not choose."""


@dataclass(frozen=True, slots=True)
class MindQuestion:
    """What is asked: the conversation so far, and facts for servers that want them one by one."""

    messages: Sequence[Message]
    options: Sequence[str]
    is_parity: bool = False
    """The choice is asked for by CHOOSE_PARITY_CALL."""
    fields: Document = field(default_factory=dict)
    """The referee's call, and what the player sees of the game."""

    @property
    def prompt(self) -> str:
        """The whole conversation as one text, for those that take no other."""
        return "\n\n".join(message["content"] for message in self.messages)


class Usage(NamedTuple):
    """The tokens of a request."""

    prompt: int
    completion: int
    is_estimate: bool = False

    @property
    def total(self) -> int:
        return self.prompt + self.completion


@dataclass(frozen=True, slots=True)
class Answer:
    """The words that came back, and what was said about them."""

    text: str
    raw: str
    """All that came back."""
    usage: Usage | None = None
    """None if tokens mean nothing here, as with a program."""
    finish_reason: str = ""
    model: str = ""
    """The model that the reply names."""
    instead: str = ""
    """REFUSAL or TOOL_CALL, if the reply says that it is one."""


@dataclass(frozen=True, slots=True)
class NoAnswer:
    """Why there is no answer."""

    detail: str
    raw: str = ""
    is_late: bool = False
    """It took too long. Nobody knows whether there would have been an answer."""
    is_final: bool = False
    """Waiting cannot help."""
    retry_after: float | None = None
    is_rate_limit: bool = False
    advice: str = ""
    """What the user must change; empty if that is not known."""


class Transport(Protocol):
    """Asks somebody. All requests of a session may be made at the same time."""

    @property
    def model(self) -> str:
        """The name of the model, program or tool. The league sees it."""

    @property
    def provider(self) -> str:
        """Where it is. The league sees it, so it contains no credentials and no command line."""

    @property
    def identity(self) -> str:
        """Everything that tells it from others. Only the cache uses it, as part of a digest."""

    def session(self) -> AbstractAsyncContextManager[None]:
        """Be ready to ask, as long as this lasts."""

    async def greet(self) -> NoAnswer | None:
        """Ask for nothing in particular, before the first match. A trouble with an advice will not pass."""

    def request(self, question: MindQuestion) -> Document: ...

    async def ask(self, document: Document, seconds: float) -> Answer | NoAnswer:
        """Send a document and wait this many seconds for an answer."""
