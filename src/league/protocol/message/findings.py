"""What a probe found out about an agent, and the one place where that is put into words.

A probe asks an endpoint how it wants to be spoken to, before anything depends on the answer. The manager probes every
agent from its registration to the start of the league; `league check` and `league spar` probe an agent before they
begin. All of them tell people the same sentences, which are made here.

A finding is a *trouble* if the agent would lose its matches, or get none, as it is. Everything else is for information.
An agent that answers at all, also with an error, is never said to be out of reach. No document has our ping: that an
agent breaks over it is a remark, and no trouble.
"""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

MOST_TOOLS: Final = 8
"""Maximum number of tools that are named in a sentence."""
_MOVED: Final = range(300, 400)
_WITHOUT_CREDENTIALS: Final = ": let requests in without credentials; our token is in the message, as auth_token"
_BUSY: Final = ": it is busy, and is asked again"
_REMEDIES: Final = {
    401: f"{_WITHOUT_CREDENTIALS}. Or play by `league player --ask mcp+URL`, with its token in LEAGUE_MCP_TOKEN",
    403: _WITHOUT_CREDENTIALS,
    404: ": nothing is served at this path. Register the path that takes messages, usually /mcp",
    405: ": this path does not take POST. Serve POST there, or register the path that does",
    429: _BUSY,
    503: _BUSY,
}
"""What to do about a status, as the end of a sentence."""


_MAY_PLAY: Final = (
    "No document has this probe, and it may play well all the same; if it does not, look into the log of the agent"
)
_VARYING: Final = re.compile(r"[0-9a-fA-F-]*[0-9][0-9a-fA-F-]*")


def alike(words: str) -> str:
    """Return words without ids and times, which differ between two answers that say the same."""
    return _VARYING.sub("#", words)


class OfferedTools(Struct, frozen=True):
    """The tools of an agent that is called through them: an MCP server."""

    names: tuple[str, ...] = ()
    invitation: str = ""
    """The name of the tool that takes an invitation."""
    choice: str = ""
    """The name of the tool that takes a choice."""
    version: str = ""
    """The version of MCP that it speaks, if it needs a session or a version."""
    usual_names: tuple[str, ...] = ()
    """The names that a tool for the choice usually has, and the arguments that it may declare."""
    usual_arguments: tuple[str, ...] = ()

    def in_words(self, *, is_player: bool) -> str:
        names = ", ".join(self.names[:MOST_TOOLS])
        if len(self.names) > MOST_TOOLS:
            names += " …"
        version = f" ({self.version})" if self.version else ""
        sentence = f"it is an MCP server{version}; its tools are: {names}"
        if not is_player:
            return sentence
        if not self.choice:
            return (
                f"{sentence}; none takes a choice. Name a tool {' or '.join(self.usual_names)}; it may declare "
                f"any of these arguments: {', '.join(self.usual_arguments)}"
            )
        sentence += f"; {self.choice} is asked for the choice"
        if not self.invitation:
            return f"{sentence}, none takes the invitation: it joins every match"
        return f"{sentence}, {self.invitation} takes the invitation"


class PingAnswer(Struct, frozen=True):
    """The answer to the ping."""

    status: int = 200
    """Its HTTP status."""
    quote: str = ""
    """Its beginning, if it is not JSON."""
    is_json: bool = True
    is_empty: bool = False
    lists_matches: bool = False
    """It lists matches, as those of our referees do."""

    @property
    def quoted(self) -> str:
        return f' "{self.quote}"' if self.quote else ""


class Findings(Struct, frozen=True):
    """The result of one probe. Without a `failure` somebody answered."""

    endpoint: str
    failure: str = ""
    """Why nobody answered, in words."""
    is_refused: bool = False
    """Nobody listens there, as the system says; otherwise somebody may only be slow."""
    hangs_up: bool = False
    """Somebody took the connection, and closed it without an answer."""
    unusable: str = ""
    """Why its answer could not be read, as the end of a sentence about it."""
    answer: PingAnswer = PingAnswer()
    moved_to: str = ""
    """The address on the same server that takes its messages, if it is not the one that was named."""
    location: str = ""
    """The address that it redirects to, if that is not followed."""
    tools: OfferedTools | None = None
    """Set if it is called through its tools."""
    is_player: bool = True
    is_incomplete: bool = False
    """There was no time to find out more: another probe is given longer."""

    @property
    def is_trouble(self) -> bool:
        """True if the agent cannot play, or conduct a match, as it is."""
        if self.failure or self.location or self.unusable:
            return not self.hangs_up
        if self.tools is not None:
            return self.is_player and not self.tools.choice
        status = self.answer.status
        if _REMEDIES.get(status) == _BUSY:
            return False
        return status in _REMEDIES or (status < 500 and not self.answer.is_json)

    @property
    def is_elsewhere(self) -> bool:
        """True if no agent takes messages at this very address."""
        return bool(self.location) or self.answer.status in (404, 405)

    def in_words(self) -> str:
        """Return what its author and the operator should know, in full sentences; nothing if all is as usual."""
        if self.hangs_up:
            return f"the agent at {self.endpoint} does not answer a ping ({self.failure}). {_MAY_PLAY}"
        if self.failure:
            return (
                f"nobody answers at {self.endpoint}: {self.failure}. Start the agent, or give the address at which it "
                "listens"
            )
        if self.unusable:
            return f"the agent at {self.endpoint} {self.unusable}. Answer with a short JSON object, without compression"
        sentences = []
        if self.moved_to:
            sentences.append(f"messages to {self.endpoint} belong to {self.moved_to}, and go there from now on")
        if self.tools is not None:
            sentences.append(self.tools.in_words(is_player=self.is_player))
        else:
            sentences.append(self._answer_in_words())
        return "; ".join(filter(None, sentences))

    def _answer_in_words(self) -> str:
        answer = self.answer
        status = answer.status
        remedy = _REMEDIES.get(status, "")
        if status in _MOVED:
            place = self.location or "nowhere"
            remedy = f" and sends us to {place}, on another server or in a circle: register the right address"
        elif not remedy and status >= 500:
            remedy = f"{answer.quoted} when it is pinged. {_MAY_PLAY}"
        elif not remedy and not answer.is_json:
            remedy = f", but{answer.quoted} is not JSON. Answer with a JSON object"
        elif not remedy and answer.is_empty and self.is_player:
            remedy = (
                " and an empty body, which is enough for a ping only: answer invitations and calls for a choice with a "
                "JSON object, or send each answer to the referee as a request"
            )
        if not remedy:
            return ""
        return f"the agent at {self.moved_to or self.endpoint} answers with HTTP status {status}{remedy}"


def unanswered(endpoint: str, failure: str, *, is_refused: bool = False, hangs_up: bool = False) -> Findings:
    """Return the findings of a probe that nobody answered."""
    return Findings(endpoint, failure=failure, is_refused=is_refused, hangs_up=hangs_up)


def unusable(endpoint: str, why: str) -> Findings:
    """Return the findings of a probe whose answer could not be read."""
    return Findings(endpoint, unusable=why)
