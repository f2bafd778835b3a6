"""What a check finds: breaches while it looks, a finding per promise, a report over all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from league.promises.evidence import Evidence, Exchanged

Verdict = Literal["kept", "broken", "unobservable"]


@dataclass(frozen=True, slots=True)
class Breach:
    """One violation: what is wrong, and which event or message shows it."""

    detail: str
    where: str


@dataclass(frozen=True, slots=True)
class Promise:
    """A promise, the search for its breaches, and why the evidence may not do to call it kept (None if it does)."""

    number: int
    sentence: str
    breaches: Callable[[Evidence], Iterator[Breach]]
    blind: Callable[[Evidence], str | None]


@dataclass(frozen=True, slots=True)
class Finding:
    """The verdict on one promise; of a broken one, the first breach."""

    promise: int
    verdict: Verdict
    detail: str = ""
    where: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """A finding for every promise."""

    findings: Sequence[Finding]

    @property
    def broken(self) -> Sequence[Finding]:
        return [one for one in self.findings if one.verdict == "broken"]

    def verdict(self, promise: int) -> Verdict:
        return next(one.verdict for one in self.findings if one.promise == promise)

    def __str__(self) -> str:
        lines = [f"{one.promise:2} {one.verdict}: {one.detail}".rstrip(": ") for one in self.findings]
        shown = [f" [{one.where}]" if one.where else "" for one in self.findings]
        return "\n".join(line + place for line, place in zip(lines, shown, strict=True))


def event_at(journal: str, position: int) -> str:
    """The name of an event for people: its journal and its place in it, from 1 on."""
    return f"{journal} #{position + 1}"


def call_at(call: Exchanged) -> str:
    """The name of a call for people."""
    return f"{call.kind or 'call'} {call.sender_node} to {call.receiver_node} at {call.sent_at:.3f}"
