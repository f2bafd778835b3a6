"""What the checks share: what must have worked before a check makes sense, and how errors are judged."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Concatenate, ParamSpec

from league.protocol.errors import ERRORS
from league.protocol.exchanges import EXCHANGES
from league.protocol.messages import ACKS
from league_kit.outcome import CheckOutcome, broken, kept, untestable
from league_kit.record import Probe, RunRecord
from league_kit.wire import Trouble

Given = ParamSpec("Given")

STRANGER_CODES = ("E011", "E012", "E028", "E032", "E005", "E033")
"""Error codes with which a member of another league rightly refuses the kit."""


Judge = Callable[Concatenate[RunRecord, Given], CheckOutcome]


def unreachable(record: RunRecord) -> CheckOutcome | None:
    """Untestable, if there was no HTTP answer at all."""
    if not record.probes:
        return untestable("the kit did not get as far as asking")
    if not record.is_reached:
        return untestable(f"nobody can be reached at {record.target} [HTTP.post_mcp]")
    if not record.has_endpoint:
        return untestable(f"nobody takes messages at {record.target} [HTTP.post_mcp]")
    return None


def not_joined(record: RunRecord) -> CheckOutcome | None:
    """Untestable, if the player never joined a match of the kit."""
    missing = unreachable(record)
    if missing is not None:
        return missing
    first = record.of("invitation")
    answered = [one for one in first if one.is_answered]
    if not answered:
        return untestable(f"the invitation was not answered: {first[0].why_not()}" if first else "nobody was invited")
    if accepted(answered[-1]) is False:
        return untestable("the player declined the invitation")
    return None


def _unless(missing: Callable[[RunRecord], CheckOutcome | None], judge: Judge[Given]) -> Judge[Given]:
    @wraps(judge)
    def judged(record: RunRecord, /, *args: Given.args, **kwargs: Given.kwargs) -> CheckOutcome:
        return missing(record) or judge(record, *args, **kwargs)

    return judged


def if_reached(judge: Judge[Given]) -> Judge[Given]:
    """Judge only if there was an HTTP answer; otherwise the clause is untestable."""
    return _unless(unreachable, judge)


def if_joined(judge: Judge[Given]) -> Judge[Given]:
    """Judge only if the player joined a match of the kit; otherwise the clause is untestable."""
    return _unless(not_joined, judge)


def accepted(one: Probe) -> object:
    """What the answer to an invitation says, under either name."""
    return one.answer.get("accept", one.answer.get("accepted"))


def chosen(one: Probe) -> object:
    """What the answer to a call says, under either name."""
    return one.answer.get("parity_choice", one.answer.get("choice"))


def refuses_stranger(record: RunRecord, probe: Probe) -> bool:
    """Does a player that never registered with the kit refuse it as a stranger? It may."""
    refusal = probe.parsed.error
    return record.member is None and refusal is not None and any(refusal.means(code) for code in STRANGER_CODES)


def is_empty_ack(one: Probe) -> bool:
    """An empty answer to a notification: two of the documents expect no response, the others an acknowledgement."""
    return one.is_empty and one.kind in EXCHANGES and EXCHANGES[one.kind].replies[0] in ACKS


def not_busy(probes: Iterable[Probe]) -> list[Probe]:
    """Those that were not answered with "busy" (429, 503)."""
    return [one for one in probes if not one.is_busy]


@if_reached
def refused(record: RunRecord, label: str, code: str, advice: str) -> CheckOutcome:
    """Every request with this label is refused with this code."""
    asked = not_busy(record.of(label))
    if not asked:
        return untestable("it was not asked, or the player put it off (429, 503)")
    for one in asked:
        problem = _not_refused(one, code)
        if problem:
            return broken(f"{_what(one)}: {problem}", advice, one)
    return kept(f"refused with {code} {ERRORS[code].name}", asked)


def _what(one: Probe) -> str:
    return one.label.partition(": ")[2] or one.label


def _not_refused(one: Probe, code: str) -> str:
    wanted = f"{code} {ERRORS[code].name} was expected"
    if one.trouble is Trouble.TIMEOUT:
        return f"no answer; {wanted}"
    if one.trouble is not None or one.parsed.trouble:
        return f"{one.why_not()}; {wanted} as a JSON-RPC error"
    if one.parsed.error is None:
        return f"taken as if it were right; {wanted}"
    if not one.parsed.error.means(code):
        return f"refused as {one.parsed.error}; {wanted}"
    return ""


@if_joined
def understood(record: RunRecord, labels: tuple[str, ...], advice: str) -> CheckOutcome:
    """Every request with one of these labels is answered as the plain one was."""
    asked = not_busy(record.of(*labels))
    if not asked:
        return untestable("it was not asked, or the player put it off (429, 503)")
    for one in asked:
        if not one.is_answered:
            return broken(f"{_what(one)}: {one.why_not()}", advice, one)
    return kept("understood", asked)


def own_id(record: RunRecord) -> str | None:
    """The id the player uses: the one the kit gave it, or another that is the same in all its messages."""
    ids = [said.get("player_id") for _, said, _ in record.messages()]
    known = [one for one in ids if isinstance(one, str) and one]
    if record.member is not None and len(set(known)) != 1:
        return record.member.id
    return next(iter(known), None)
